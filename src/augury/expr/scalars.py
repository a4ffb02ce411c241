"""What operators and functions mean for single values: plain Python that Numba compiles as it stands.

The interpreter and the generated kernels call these same functions. None raises: whoever calls one has
tested what the comment demands, and everything else has an answer. Integers are below 64 bits, and no
step on the way leaves them, because compiled code would wrap around where Python would not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_MIN, _MAX = -(2**63), 2**63 - 1
_LARGEST_EXPONENT = 709.782712893384  # exp of the next double is infinite


# ------------------------------------------------------------------ integers


def add_overflows(x: int, y: int) -> bool:
    return x > _MAX - y if y >= 0 else x < _MIN - y


def subtract_overflows(x: int, y: int) -> bool:
    return x < _MIN + y if y >= 0 else x > _MAX + y


def multiply_overflows(x: int, y: int) -> bool:
    if y > 0:
        return x > _MAX // y or x < _MIN // y + (1 if _MIN % y != 0 else 0)
    if y < -1:
        return x > _MIN // y or x < _MAX // y + (1 if _MAX % y != 0 else 0)
    return y == -1 and x == _MIN


def remainder(x: int, y: int) -> int:
    """x - y * trunc(x / y): the sign is the dividend's. y is not 0."""
    if y == -1:
        return 0
    rest = x % y
    return rest - y if rest != 0 and (x < 0) != (y < 0) else rest


def round_overflows(x: int, scale: int) -> bool:
    largest = _MAX - _MAX % scale  # of the multiples; scale is even
    return x - largest >= scale // 2 if x >= 0 else -largest - x >= scale // 2


def round_whole(x: int, scale: int) -> int:
    """To a multiple of scale, 10 or a higher power, half away from zero; not where that overflows."""
    rest = x % scale
    up = rest >= scale // 2 if x >= 0 else rest > scale // 2
    return x + (scale - rest) if up else x - rest


def to_signed(x: int) -> int:
    """A uint64 below 2**63 as an int64."""
    return int(np.int64(x))


# ------------------------------------------------------------------ doubles


def float_remainder(x: float, y: float) -> float:
    """C's fmod. y is not 0."""
    return math.copysign(abs(x) % abs(y), x)


def fits_integer(x: float) -> bool:
    """Whether floor and ceil of it are int64: not for NaN."""
    return -9223372036854775808.0 <= x < 9223372036854775808.0


def floor(x: float) -> int:
    return math.floor(x)


def ceil(x: float) -> int:
    return math.ceil(x)


# Both compare doubles with doubles, the multiples and halves being what correctly rounded division and
# multiplication give: round(2.675, 2) is 2.68 because 2.675 is written so. With up to 15 digits a multiple
# or a half is one double, which prints as it; and what is a multiple stays.


def round_tens(x: float, scale: float) -> float:
    """To a multiple of scale, 1 or a power of ten, half away from zero."""
    size = abs(x)
    if not size < 4503599627370496.0 * scale:  # no digit below is left
        return x
    k = float(math.floor(size / scale))
    up = k * scale != size and size >= (k + 0.5) * scale
    return math.copysign((k + 1.0 if up else k) * scale, x)


def round_places(x: float, scale: float) -> float:
    """To a multiple of 1 / scale, a power of ten, half away from zero."""
    size = abs(x)
    if not size * scale < 4503599627370496.0:
        return x
    k = float(math.floor(size * scale))
    while k / scale > size:
        k -= 1.0
    while (k + 1.0) / scale <= size:
        k += 1.0
    up = k / scale != size and size >= (2.0 * k + 1.0) / (2.0 * scale)
    return math.copysign((k + 1.0 if up else k) / scale, x)


def square_root(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


def logarithm(x: float) -> float:
    """x is above 0, or NaN."""
    return math.log(x)


def exponential(x: float) -> float:
    return math.inf if x > _LARGEST_EXPONENT else math.exp(x)


def power(x: float, y: float) -> float:
    """As C's pow: no exceptions, but infinities and NaN."""
    try:
        return math.pow(x, y)
    except OverflowError:
        negative = x < 0 and math.fmod(y, 2.0) in (1.0, -1.0)
        return -math.inf if negative else math.inf
    except ValueError:
        if x == 0:  # a pole
            odd = math.fmod(y, 2.0) in (1.0, -1.0)
            return math.copysign(math.inf, x) if odd else math.inf
        return math.nan


def _compiled_power(x: float, y: float) -> float:
    """Compiled, math.pow is C's; only Python's own raises."""
    return math.pow(x, y)


def double(x: float) -> float:
    """What a registered function returned, which is not None."""
    return float(x)


def _compiled_double(x: float) -> float:
    """Compiled, what may be None is no number until it is computed with; -0.0 stays."""
    return x * 1.0


def is_less(x: float, y: float) -> bool:
    """The order of least and greatest: NaN is above all."""
    return x < y or (y != y and x == x)  # NaN alone is not itself


# ------------------------------------------------------------------ decimals, sets, lists, patterns


def order_mixed(x: int, y: int) -> int:
    """The sign of x - y, an int64 and a uint64, which compiled code would compare as doubles."""
    if x < 0:
        return -1
    unsigned = np.uint64(x)
    if unsigned < y:
        return -1
    return 1 if unsigned > y else 0


def order(x: int, whole: int, part: int) -> int:
    """The sign of x - d, where d is `whole` and, if `part` is not 0, something less than 1 more."""
    if x < whole:
        return -1
    return 1 if x > whole else -part


def member(items: Sequence[Any], x: Any) -> bool:
    """Whether a sorted array holds x."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < x:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(items) and items[low] == x)


def correlation(
    items: Sequence[float], present: Sequence[bool], x: int, x_end: int, y: int, y_end: int
) -> tuple[float, bool]:
    """Pearson's, of the pairs without a null, and whether it is null: lengths differ or it is not defined."""
    length = x_end - x
    if y_end - y != length:
        return 0.0, True
    n = 0
    sum_x = sum_y = 0.0
    for k in range(length):
        if present[x + k] and present[y + k]:
            n += 1
            sum_x += items[x + k]
            sum_y += items[y + k]
    if n < 2:
        return 0.0, True
    mean_x, mean_y = sum_x / n, sum_y / n
    xx = yy = xy = 0.0
    for k in range(length):
        if present[x + k] and present[y + k]:
            dx, dy = items[x + k] - mean_x, items[y + k] - mean_y
            xx += dx * dx
            yy += dy * dy
            xy += dx * dy
    denominator = math.sqrt(xx) * math.sqrt(yy)
    if denominator == 0.0:
        return 0.0, True
    return xy / denominator, False


def like(utf8: Sequence[int], text: int, text_end: int, pattern: int, pattern_end: int) -> bool:
    """Whether utf8[text:text_end] matches the valid LIKE pattern utf8[pattern:pattern_end].

    Greedy: after a %, what follows is tried at the next place, and only the last % is ever moved.
    """
    retry_text = retry_pattern = -1
    while True:
        sign = utf8[pattern] if pattern < pattern_end else 0
        if pattern < pattern_end and sign == 37:  # %
            pattern += 1
            retry_text, retry_pattern = text, pattern
            continue
        if text >= text_end:
            return pattern >= pattern_end
        if pattern < pattern_end:
            if sign == 95:  # _
                text += 1
                while text < text_end and 128 <= utf8[text] < 192:  # the rest of a code point
                    text += 1
                pattern += 1
                continue
            escaped = 1 if sign == 92 else 0
            if utf8[pattern + escaped] == utf8[text]:
                text += 1
                pattern += 1 + escaped
                continue
        if retry_pattern < 0:
            return False
        retry_text += 1
        while retry_text < text_end and 128 <= utf8[retry_text] < 192:
            retry_text += 1
        text, pattern = retry_text, retry_pattern


HELPERS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        add_overflows,
        subtract_overflows,
        multiply_overflows,
        remainder,
        round_overflows,
        round_whole,
        to_signed,
        float_remainder,
        fits_integer,
        floor,
        ceil,
        round_tens,
        round_places,
        square_root,
        logarithm,
        exponential,
        power,
        double,
        is_less,
        order,
        order_mixed,
        member,
        correlation,
        like,
    )
}
"""What generated code may call, by name; as it is for a kernel that runs uncompiled."""

COMPILABLE: dict[str, Callable[..., Any]] = {**HELPERS, "power": _compiled_power, "double": _compiled_double}
"""The same for a compiler: none calls another."""
