"""The helpers of generated code: exact at the edges, and none raises."""

import dis
import itertools
import math
import random
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow.compute as pc
import pytest

from augury.expr import scalars
from augury.expr.functions import round_half_away, round_integer
from augury.expr.like import is_like

MIN, MAX = -(2**63), 2**63 - 1
EDGES = [MIN, MIN + 1, -(2**62), -(10**18), -3, -2, -1, 0, 1, 2, 3, 10**18, 2**62, MAX - 1, MAX]
EDGES += [
    MAX // 2,
    MAX // 3,
    MIN // 2,
    MIN // 3,
    3_037_000_499,
    3_037_000_500,
    -3_037_000_500,
    2**32,
    -(2**32),
]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    2.0,
    3.0,
    -3.0,
    2.5,
    1e-320,
    5e-324,
    1e300,
    -1e300,
    709.782712893384,
    709.7827128933841,
]
FLOATS += [2.0**63, -(2.0**63), 9223372036854774784.0, math.inf, -math.inf, math.nan, -745.2, 1 / 3]


def test_overflow_of_sums_and_products():
    for x, y in itertools.product(EDGES, repeat=2):
        assert scalars.add_overflows(x, y) == (not MIN <= x + y <= MAX), (x, y)
        assert scalars.subtract_overflows(x, y) == (not MIN <= x - y <= MAX), (x, y)
        assert scalars.multiply_overflows(x, y) == (not MIN <= x * y <= MAX), (x, y)


def test_a_remainder_has_the_dividends_sign():
    for x, y in itertools.product(EDGES, repeat=2):
        if y != 0:
            size = abs(x) % abs(y)
            assert scalars.remainder(x, y) == (size if x >= 0 else -size), (x, y)


@pytest.mark.parametrize("digits", range(-18, 0))
def test_integers_are_rounded_half_away(digits):
    for x in (*EDGES, 5 * 10 ** (-digits - 1), -5 * 10 ** (-digits - 1), 15 * 10 ** (-digits - 1)):
        exact = (
            int(Decimal(x).scaleb(digits).to_integral_value(ROUND_HALF_UP, Context(prec=50))) * 10**-digits
        )
        assert round_integer(x, digits) == (exact if MIN <= exact <= MAX else None), x


def rounded(x, digits):
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(repr(x)).quantize(step, ROUND_HALF_UP, Context(prec=60)))


@pytest.mark.parametrize("digits", range(-18, 19))
def test_doubles_are_rounded_half_away_in_the_digits_they_are_written_with(digits):
    draw = random.Random(digits)
    numbers = [draw.randint(-(10**6), 10**6) / 10**3 for _ in range(300)] + [2.675, 1.005, -2.5, 0.5]
    for _ in range(1000):
        written = draw.randint(1, 10 ** draw.randint(1, 15)) * 10 + draw.choice([0, 4, 5, 6])
        numbers.append(float(f"{written}e{draw.randint(-20, 5)}"))
    for x in numbers:
        if len(Decimal(repr(x)).normalize().as_tuple().digits) <= 15:
            assert round_half_away(x, digits) == rounded(x, digits), x


@pytest.mark.parametrize("digits", range(-18, 19))
def test_of_more_digits_than_a_double_has_the_nearest_stays_near(digits):
    draw = random.Random(digits)
    for _ in range(1000):
        x = draw.uniform(-1, 1) * 10.0 ** draw.randint(-3, 17)
        assert abs(round_half_away(x, digits) - x) <= 0.5 * 10.0**-digits + 2 * math.ulp(x)


@pytest.mark.parametrize("x", [2.0**52 + 1, 2.0**53 - 1, 8352540236067053.0, 2.0**53 + 2, 4503599627370495.5])
def test_whole_numbers_stay(x):
    assert round_half_away(x) == math.ceil(x)
    assert round_half_away(x, 5) == x


@pytest.mark.parametrize("x", [math.inf, -math.inf, math.nan, 1e300])
@pytest.mark.parametrize("digits", [-18, 0, 18])
def test_what_has_no_digits_stays(x, digits):
    assert repr(round_half_away(x, digits)) == repr(x)


def test_the_float_remainder_is_that_of_c():
    for x, y in itertools.product(FLOATS, repeat=2):
        if y != 0:
            exact = math.nan if math.isinf(x) else math.fmod(x, y)
            assert repr(scalars.float_remainder(x, y)) == repr(exact), (x, y)


def test_powers_and_exponentials_do_not_raise():
    with np.errstate(all="ignore"):
        for x, y in itertools.product(FLOATS, repeat=2):
            assert repr(scalars.power(x, y)) == repr(pc.power(x, y).as_py()), (x, y)
        for x in FLOATS:
            assert repr(scalars.exponential(x)) == repr(pc.exp(x).as_py()), x
            assert repr(scalars.square_root(x)) in (repr(pc.sqrt(x).as_py()), "nan")


def test_members_are_found_by_bisection():
    for items in ([], [1], [1, 3], [1, 3, 5, 7]):
        assert [x for x in range(9) if scalars.member(items, x)] == items
    assert not scalars.member([-math.inf, 1.0, math.inf], math.nan)
    assert scalars.member([-0.0], 0.0)


PIECES = ["", "a", "b", "%", "_", "\\%", "\\_", "\\\\", "ß", "😀"]


@pytest.mark.parametrize("text", ["", "a", "b", "ab", "aab", "%", "_", "a%", "\\", "ß", "aß", "😀", "ß😀b"])
def test_the_matcher_of_bytes_is_the_regular_expression(text):
    for pattern in {"".join(p) for p in itertools.product(PIECES, repeat=3)}:
        utf8 = text.encode() + pattern.encode() + b"\0"
        size, end = len(text.encode()), len(utf8) - 1
        assert scalars.like(utf8, 0, size, size, end) is is_like(text, pattern), pattern


def test_no_helper_calls_another_or_needs_more_than_math():
    for fn in scalars.COMPILABLE.values():
        used = {i.argval for i in dis.get_instructions(fn) if i.opname == "LOAD_GLOBAL"}
        assert used - {"abs", "float", "int", "bool", "len", "range"} - {"OverflowError", "ValueError"} <= {
            "math",
            "np",
            "_MIN",
            "_MAX",
            "_LARGEST_EXPONENT",
        }, fn.__name__
