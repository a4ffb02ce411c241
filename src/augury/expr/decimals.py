"""Columns of decimals: compared exactly, turned into doubles as Python does it, rounding once."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.expr.physical import Column, values
from augury.expr.types import Kind, Type, common_decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXACT = Context(prec=2000)
_DECIMAL = Type(Kind.DECIMAL)


def signs(left: Column, right: Column) -> NDArray[np.int8]:
    """The signs of left - right where both have a value."""
    if isinstance(left.values, np.ndarray) and isinstance(right.values, pa.Array):
        return -signs(right, left)
    if isinstance(right.values, np.ndarray) and len(right) == 1 and isinstance(left.values, pa.Array):
        return _signs_against(left.values, right.values[0])
    if isinstance(left.values, pa.Array) and isinstance(right.values, pa.Array):
        common = common_decimal([left.values.type, right.values.type])
        if common is not None:
            x, y = left.values.cast(common), right.values.cast(common)
            x, y = (x[0] if len(x) == 1 else x), (y[0] if len(y) == 1 else y)
            return _bools(pc.greater(x, y)).astype(np.int8) - _bools(pc.less(x, y)).astype(np.int8)
    xs, ys = values(left, _DECIMAL), values(right, _DECIMAL)
    rows = max(len(xs), len(ys)) if xs and ys else 0
    xs, ys = (v * rows if len(v) == 1 else v for v in (xs, ys))
    pairs = zip(xs, ys, strict=True)
    return np.array([0 if x is None or y is None else (x > y) - (x < y) for x, y in pairs], np.int8)


def _signs_against(array: Any, constant: Decimal) -> NDArray[np.int8]:
    whole, is_exact = scaled_floor(constant, array.type.scale)
    limit = 10**array.type.precision
    if not -limit < whole < limit:
        return np.full(len(array), 1 if whole < 0 else -1, np.int8)
    floor = pa.scalar(Decimal(whole).scaleb(-array.type.scale, _EXACT), array.type)
    above = _bools(pc.greater(array, floor)).astype(np.int8)
    below = _bools((pc.less if is_exact else pc.less_equal)(array, floor)).astype(np.int8)
    return above - below


def scaled_floor(value: Decimal, scale: int) -> tuple[int, bool]:
    """The floor of value * 10**scale, and whether it is that product itself."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = exponent + scale
    if shift >= 0:
        return number * 10**shift, True
    whole, rest = divmod(number, 10**-shift)
    return whole, rest == 0


def _bools(found: Any) -> NDArray[np.bool_]:
    if isinstance(found, pa.Scalar):
        return np.array([found.as_py() or False])
    mask: NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def whole(integers: NDArray[Any]) -> Any:
    """Integers as decimals."""
    return pa.array(integers).cast(pa.decimal128(20, 0))


def as_type(column: Column, of: Any) -> Any:
    """The decimals in another Arrow type, which holds them."""
    if isinstance(column.values, np.ndarray):
        return pa.array(values(column, _DECIMAL), of)
    return column.values.cast(of)


def floats(column: Column) -> NDArray[np.float64]:
    """The nearest doubles. A quotient of two exact doubles is one; what has more digits is done by Python."""
    if isinstance(column.values, np.ndarray):
        return np.array(column.values, np.float64)
    array = column.values
    unscaled, is_small = _unscaled(array)
    scale: int = array.type.scale
    found: NDArray[np.float64]
    if -22 <= scale <= 22:
        found = unscaled / 10.0**scale if scale >= 0 else unscaled * 10.0**-scale
    else:
        found, is_small = np.zeros(len(array)), np.zeros(len(array), np.bool_)
    rest = np.flatnonzero(~is_small & column.mask())
    if len(rest):
        found[rest] = [float(v) for v in array.take(pa.array(rest)).to_pylist()]
    return found


def _unscaled(array: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The integers that the decimals are stored as, and which of them a double holds exactly."""
    words, odd = divmod(array.type.byte_width, 8)
    if len(array) == 0:
        return np.zeros(0), np.zeros(0, np.bool_)
    data = np.frombuffer(array.buffers()[1], np.int32 if odd else np.int64)
    words = max(words, 1)
    rows = data[array.offset * words : (array.offset + len(array)) * words].reshape(-1, words)
    low = rows[:, 0].astype(np.int64)
    is_small = (np.abs(low) <= 2**53) & (rows[:, 1:] == (low >> 63)[:, np.newaxis]).all(axis=1)
    return low.astype(np.float64), is_small & (low != -(2**63))
