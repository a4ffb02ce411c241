"""Between which bounds a whole number must lie, from the columns' widths: what cannot overflow is not tested."""

from __future__ import annotations

import pyarrow as pa

from augury.expr.tree import Agg, Attr, Binary, Call, Cast, Expr, Len, Literal, Unary, typed
from augury.expr.types import INT64_MAX, INT64_MIN, MICROSECONDS_PER_DAY, Kind, storage

Range = tuple[int, int]

_ALL: Range = (INT64_MIN, INT64_MAX)
_COUNT: Range = (0, 2**53)  # events


def range_of(node: Expr) -> Range:
    """The bounds of a value that is not null, before its operation's own overflow makes it so.

    Meaningful for kinds of int64; beyond 64 bits only where the node itself can overflow.
    """
    match node:
        case Literal() if isinstance(node.value, int):
            return node.value, node.value
        case Len():
            return _COUNT
        case Agg():
            return _COUNT if node.fn == "count" else _ALL
        case Attr():
            return _of_column(storage(node.type.arrow)) if node.type and node.type.arrow else _ALL
        case Cast() if typed(node.arg).kind is Kind.DATE:
            low, high = _within(node.arg)
            return low * MICROSECONDS_PER_DAY, high * MICROSECONDS_PER_DAY
        case Cast() if typed(node.arg).kind in (Kind.INT, Kind.DURATION):
            return _within(node.arg)
        case Unary(op="-"):
            low, high = _within(node.arg)
            return -high, -low
        case Binary(op="+" | "-" | "*"):
            return _combined(node.op, _within(node.left), _within(node.right))
        case Call(fn="abs"):
            low, high = _within(node.args[0])
            return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    return _ALL


def _within(node: Expr) -> Range:
    low, high = range_of(node)
    return max(low, INT64_MIN), min(high, INT64_MAX)


def _combined(op: str, x: Range, y: Range) -> Range:
    if op == "+":
        return x[0] + y[0], x[1] + y[1]
    if op == "-":
        return x[0] - y[1], x[1] - y[0]
    products = [a * b for a in x for b in y]
    return min(products), max(products)


def _of_column(stored: pa.DataType) -> Range:
    if pa.types.is_integer(stored) and not pa.types.is_uint64(stored):
        bits = stored.bit_width
        return (
            (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            if pa.types.is_signed_integer(stored)
            else (0, 2**bits - 1)
        )
    return (-(2**31), 2**31 - 1) if pa.types.is_date32(stored) else _ALL
