"""Columns of texts: compared by code point, matched, recased, measured.

UTF-8 keeps the order of code points, so Arrow's comparison of bytes is Python's of strings. What Arrow does
otherwise than Python (lower, upper) or not at all is done by Python, once for each distinct value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.expr.like import is_like, like_parts, like_regex
from augury.expr.physical import Coded, Column, Mask, encoded, from_values, plain, spread, values
from augury.expr.tree import Expr, Literal
from augury.expr.types import BOOL, STRING, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = frozenset({Kind.STRING, Kind.BINARY})

_COMPARE: dict[str, Any] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(op: str, left: Column, right: Column) -> Mask:
    if len(right) != 1:
        if len(left) == 1:
            return compare(_MIRRORED[op], right, left)
        return _bools(_COMPARE[op](plain(left), plain(right)))
    constant = plain(right)[0]
    return _bools(_by_value(left, lambda array: _COMPARE[op](array, constant)))


def member(column: Column, constants: list[Any]) -> Mask:
    def found(array: Any) -> Any:
        return pc.is_in(array, value_set=pa.array(constants, array.type))

    return _bools(_by_value(column, found))


def length(column: Column) -> NDArray[np.int64]:
    """Code points of strings, bytes of binaries."""

    def measure(array: Any) -> Any:
        kernel = pc.binary_length if pa.types.is_large_binary(array.type) else pc.utf8_length
        return kernel(array).cast(pa.int64())

    found: NDArray[np.int64] = _by_value(column, measure).fill_null(0).to_numpy(zero_copy_only=False)
    return found


def recased(column: Column, fn: str) -> Any:
    """The texts in lower or upper case, as Python has it."""
    found = column.values
    array = found.distinct if isinstance(found, Coded) else found
    if pc.all(pc.string_is_ascii(array), min_count=0).as_py() is not False:
        # Arrow's kernel reads wrong bytes where the first text does not start at byte 0, as after a slice.
        array = pa.concat_arrays([array, array[:0]])
        array = (pc.ascii_lower if fn == "lower" else pc.ascii_upper)(array)
        return Coded(found.codes, array) if isinstance(found, Coded) else array
    codes, distinct = encoded(column)
    change = str.lower if fn == "lower" else str.upper
    return Coded(
        codes, pa.array([None if v is None else change(v) for v in distinct.to_pylist()], pa.large_string())
    )


def like(column: Column, pattern: Expr, patterns: Column) -> Column:
    valid = column.valid
    if not isinstance(pattern, Literal):
        return _like_each(column, patterns)
    if pattern.value is None:
        return Column(np.zeros(len(column), np.bool_), np.zeros(len(column), np.bool_))
    return Column(_bools(_by_value(column, matcher(str(pattern.value)))), valid)


def matcher(pattern: str) -> Callable[[Any], Any]:
    """What tells for an array of texts which match: an Arrow kernel where the pattern is a plain one."""
    parts = like_parts(pattern)
    literals = [p[1:] for p in parts if p.startswith("=")]
    shape = "".join("=" if p.startswith("=") else p for p in parts)
    while "%%" in shape:
        shape = shape.replace("%%", "%")
    match shape:
        case "" | "=":
            return lambda array: pc.equal(array, pa.scalar("".join(literals), array.type))
        case "%":
            return lambda array: pc.if_else(array.is_valid(), True, None)
        case "=%":
            return lambda array: pc.starts_with(array, literals[0])
        case "%=":
            return lambda array: pc.ends_with(array, literals[0])
        case "%=%":
            return lambda array: pc.match_substring(array, literals[0])
    return lambda array: _like_regex(array, pattern)


def _like_regex(array: Any, pattern: str) -> Any:
    regex = like_regex(pattern)
    assert regex is not None
    codes, distinct = encoded(Column(array))
    found = pa.array(
        [None if v is None else regex.fullmatch(v) is not None for v in distinct.to_pylist()], pa.bool_()
    )
    return found.take(pa.array(codes))


def _like_each(column: Column, patterns: Column) -> Column:
    """Patterns out of the data: each distinct pair once."""
    rows = max(len(column), len(patterns)) if min(len(column), len(patterns)) else 0
    text, pattern = spread(column, rows), spread(patterns, rows)
    pairs, back = np.unique(
        np.stack([encoded(text).codes, encoded(pattern).codes]), axis=1, return_inverse=True
    )
    xs, ys = (values(Column(encoded(c).distinct), STRING) for c in (text, pattern))
    found = [None if xs[x] is None or ys[y] is None else is_like(xs[x], ys[y]) for x, y in pairs.T.tolist()]
    distinct = from_values(found, BOOL)
    back = back.reshape(-1)
    valid = distinct.mask()[back] & text.mask() & pattern.mask()
    return Column(distinct.values[back], valid)


def _by_value(column: Column, fn: Callable[[Any], Any]) -> Any:
    """A function of texts, of the distinct ones alone where they are known."""
    found = column.values
    if isinstance(found, Coded):
        return fn(found.distinct).take(pa.array(found.codes))
    return fn(found)


def _bools(found: Any) -> Mask:
    if isinstance(found, pa.Scalar):
        return np.array([bool(found.as_py())])
    mask: Mask = found.fill_null(False).to_numpy(zero_copy_only=False)
    return mask
