"""The vectorised reading: a checked expression over a whole batch.

Constants are columns of one row, which NumPy spreads over the others. Numbers and times are computed by
NumPy, texts by Arrow on their distinct values where they have a dictionary. Where a library's answer is not
that of `interpret` to the last bit (NumPy's exp, Arrow's casts of decimals) the way taken here is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.expr import decimals, functions, texts
from augury.expr.physical import (
    NUMPY_FORMS,
    Column,
    Lists,
    Mask,
    from_arrow,
    from_values,
    nulls,
    physical_values,
    plain,
    result_type,
    spread,
    take,
    to_arrow,
    values,
)
from augury.expr.tree import (
    COMPARISONS,
    Agg,
    Attr,
    Binary,
    Call,
    Cast,
    Expr,
    In,
    IsNull,
    Len,
    Like,
    Literal,
    Logic,
    Unary,
    typed,
    walk,
)
from augury.expr.types import INT64_MAX, INT64_MIN, INTEGERS, MICROSECONDS_PER_DAY, Kind, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Column", "evaluate", "from_arrow", "physical_values", "result_type", "to_arrow", "truth"]

Leaf = Callable[[Attr | Len | Agg], Column]
"""The column that a reference has."""


def evaluate(node: Expr, leaf: Leaf, rows: int | None = None) -> Column:
    """The values of a checked expression; `rows` says how many where no reference does."""
    if rows is None:
        rows = next((len(leaf(n)) for n in walk(node) if isinstance(n, Attr | Len | Agg)), 1)
    with np.errstate(all="ignore"):
        found = spread(_evaluate(node, leaf, rows), rows)
    valid = found.valid
    if valid is None or bool(valid.all()):
        return Column(found.values)
    # A constant decided: its one row stands for all.
    return found if len(valid) == rows else Column(found.values, np.broadcast_to(valid, rows))


def truth(column: Column) -> Mask:
    """Where a predicate's column is true: null is not."""
    found: Mask = column.values if column.valid is None else column.values & column.valid
    return found


def _evaluate(node: Expr, leaf: Leaf, rows: int) -> Column:
    column = _value(node, leaf, rows)
    if column.valid is None or len(column.valid) == len(column):
        return column
    if len(column) == 1:
        return Column(spread(Column(column.values), len(column.valid)).values, column.valid)
    return Column(column.values, np.repeat(column.valid, len(column)))


def _value(node: Expr, leaf: Leaf, rows: int) -> Column:
    match node:
        case Literal():
            return from_values([node.value], typed(node))
        case Attr() | Len() | Agg():
            return leaf(node)
        case Logic():
            return _logic(node, leaf, rows)
        case Call():
            return _call(node, [_evaluate(a, leaf, rows) for a in node.args], rows)
        case Binary():
            left, right = _evaluate(node.left, leaf, rows), _evaluate(node.right, leaf, rows)
            if node.op in COMPARISONS:
                return compare(node.op, left, right, typed(node.left).kind, typed(node.right).kind)
            return _arithmetic(node, left, right)
        case Like():
            return texts.like(
                _evaluate(node.arg, leaf, rows), node.pattern, _evaluate(node.pattern, leaf, rows)
            )
        case Unary() | In() | IsNull() | Cast():
            return _of_one(node, _evaluate(node.arg, leaf, rows))
    raise AssertionError(f"not a checked expression: {node}")


def _of_one(node: Unary | In | IsNull | Cast, arg: Column) -> Column:
    match node:
        case Unary(op="NOT"):
            return Column(~arg.values, arg.valid)
        case Unary() if typed(node).kind is Kind.FLOAT:
            return Column(-arg.values, arg.valid)
        case Unary():
            return Column(-arg.values, _also(arg.valid, arg.values != INT64_MIN))
        case In():
            return _member(node, arg)
        case IsNull():
            return Column(arg.mask() if node.negated else ~arg.mask())
        case Cast():
            return cast(arg, typed(node.arg).kind, typed(node))


def both(*columns: Column) -> Mask | None:
    """Where all columns have a value."""
    valid = None
    for column in columns:
        valid = _also(valid, column.valid)
    return valid


def _also(valid: Mask | None, other: Mask | None) -> Mask | None:
    if valid is None or other is None:
        return other if valid is None else valid
    return valid & other


def _logic(node: Logic, leaf: Leaf, rows: int) -> Column:
    """One value decides, else an unknown one, else the other. Registered functions see what is undecided."""
    decided = np.zeros(rows, np.bool_)
    unknown = np.zeros(rows, np.bool_)
    for arg in node.args:
        if any(isinstance(n, Call) and functions.registered(n.fn) for n in walk(arg)):
            column = _evaluate_at(np.flatnonzero(~decided), arg, leaf, rows)
        else:
            column = _evaluate(arg, leaf, rows)
        hits = column.values if node.op == "OR" else ~column.values
        if column.valid is None:
            decided = decided | hits
        else:
            decided = decided | (hits & column.valid)
            unknown = unknown | ~column.valid
    valid = decided | ~unknown if unknown.any() else None
    return Column(decided if node.op == "OR" else ~decided, valid)


def _evaluate_at(some: NDArray[np.int64], node: Expr, leaf: Leaf, rows: int) -> Column:
    """A predicate in some rows; elsewhere false, as good as anything."""
    found, valid = np.zeros(rows, np.bool_), np.ones(rows, np.bool_)
    if len(some):
        part = spread(_evaluate(node, lambda n: take(leaf(n), some), len(some)), len(some))
        found[some], valid[some] = part.values, part.mask()
    return Column(found, valid)


def compare(op: str, left: Column, right: Column, left_kind: Kind, right_kind: Kind) -> Column:
    valid = both(left, right)
    if left_kind is Kind.NULL:
        return nulls(max(len(left), len(right)), Type(Kind.BOOL))
    if left_kind in texts.KINDS:
        return Column(texts.compare(op, left, right), valid)
    if left_kind is Kind.DECIMAL:
        return Column(_COMPARE[op](decimals.signs(left, right), 0), valid)
    if {left_kind, right_kind} == INTEGERS:
        signs = _mixed_signs(left.values, right.values)
        return Column(_COMPARE[op](signs if left_kind is Kind.INT else -signs, 0), valid)
    return Column(_COMPARE[op](left.values, right.values), valid)


_COMPARE: dict[str, Any] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _mixed_signs(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int8]:
    """The signs of the differences of an int64 and a uint64, in either order by the caller's minus."""
    signed, unsigned = (left, right) if left.dtype == np.int64 else (right, left)
    as_unsigned = signed.view(np.uint64)
    below = (signed < 0) | (as_unsigned < unsigned)
    above = (signed >= 0) & (as_unsigned > unsigned)
    return above.astype(np.int8) - below.astype(np.int8)


def _member(node: In, arg: Column) -> Column:
    constants = [i.value for i in node.items if isinstance(i, Literal)]
    present = [c for c in constants if c is not None]
    kind = typed(node.arg).kind
    if kind in texts.KINDS:
        found = texts.member(arg, present)
    elif kind is Kind.DECIMAL:
        found = np.zeros(len(arg), np.bool_)
        for constant in present:
            found = found | (decimals.signs(arg, from_values([constant], Type(Kind.DECIMAL))) == 0)
    else:
        found = np.isin(arg.values, np.array(present, NUMPY_FORMS[kind]))
    return Column(found, arg.valid if len(present) == len(constants) else _also(arg.valid, found))


def cast(arg: Column, source: Kind, to: Type) -> Column:
    if source is Kind.NULL:
        return nulls(len(arg), to)
    match to.kind:
        case Kind.FLOAT if source is Kind.DECIMAL:
            return Column(decimals.floats(arg), arg.valid)
        case Kind.FLOAT:
            return Column(arg.values.astype(np.float64), arg.valid)
        case Kind.DECIMAL:
            return Column(decimals.whole(arg.values), arg.valid)
        case Kind.INT if source is Kind.UINT:
            return Column(arg.values.view(np.int64), _also(arg.valid, arg.values <= INT64_MAX))
        case Kind.TIMESTAMP if source is Kind.DATE:
            return _multiply(arg, Column(np.array([MICROSECONDS_PER_DAY])))
    return arg


def _arithmetic(node: Binary, left: Column, right: Column) -> Column:
    x, y, valid = left.values, right.values, both(left, right)
    if typed(node).kind is Kind.FLOAT:
        match node.op:
            case "+":
                return Column(x + y, valid)
            case "-":
                return Column(x - y, valid)
            case "*":
                return Column(x * y, valid)
            case "/":
                return Column(x / y, _also(valid, y != 0))
        return Column(np.fmod(x, y), _also(valid, y != 0))
    match node.op:
        case "+":
            found = x + y
            return Column(found, _also(valid, (x ^ found) & (y ^ found) >= 0))
        case "-":
            found = x - y
            return Column(found, _also(valid, (x ^ y) & (x ^ found) >= 0))
        case "*":
            return _multiply(left, right)
    divisor = np.where((y == 0) | (y == -1), 1, y)  # what is over -1 is 0, and the least integer overflows
    return Column(np.fmod(x, divisor), _also(valid, y != 0))


def _multiply(left: Column, right: Column) -> Column:
    x, y = np.broadcast_arrays(left.values, right.values)
    found, valid = x * y, both(left, right)
    suspects = np.flatnonzero(
        np.abs(x.astype(np.float64) * y) >= 2.0**62
    )  # an estimate is enough to clear the rest
    if len(suspects):
        a, b, product = x[suspects], y[suspects], found[suspects]
        least = np.where(a == -1, b, np.where(b == -1, a, 0)) == INT64_MIN
        fits = np.ones(len(found), np.bool_)
        fits[suspects] = (product // a == b) & ~least
        valid = _also(valid, fits)
    return Column(found, valid)


def _call(node: Call, args: list[Column], rows: int) -> Column:
    user = functions.registered(node.fn)
    if user is not None:
        lists = [values(spread(a, rows), typed(n)) for a, n in zip(args, node.args, strict=True)]
        return from_values(
            [functions.call(user, list(row), typed(node)) for row in zip(*lists, strict=True)]
            if lists
            else [functions.call(user, [], typed(node))] * rows,
            typed(node),
        )
    if node.fn in ("coalesce", "least", "greatest"):
        return _choice(node, [spread(a, rows) for a in args])
    x, valid, kind = args[0], both(*args), typed(node.args[0]).kind
    match node.fn:
        case "corr":
            return _correlation(*(_floats(a, n) for a, n in zip(args, node.args, strict=True)))
        case "length" if kind is Kind.LIST:
            return Column(np.diff(x.values.offsets), valid)
        case "length":
            return Column(texts.length(x), valid)
        case "lower" | "upper":
            return Column(texts.recased(x, node.fn), valid)
        case "abs":
            if kind is Kind.UINT:
                return x
            return Column(
                np.abs(x.values), valid if kind is Kind.FLOAT else _also(valid, x.values != INT64_MIN)
            )
        case "ceil" | "floor":
            return _whole(x, node.fn) if kind is Kind.FLOAT else x
        case "round":
            digits = int(args[1].values[0]) if len(args) == 2 else 0
            return (_round if kind is Kind.FLOAT else _round_whole)(x, digits)
        case "sqrt":
            return Column(np.where(x.values >= 0, np.sqrt(x.values), np.nan), valid)
        case "ln":
            fits = ~(x.values <= 0)
            return Column(_libm(pc.ln, np.where(fits, x.values, 1.0)), _also(valid, fits))
        case "exp":
            return Column(_libm(pc.exp, x.values), valid)
        case "pow":
            return Column(_libm(pc.power, *np.broadcast_arrays(x.values, args[1].values)), valid)
    raise AssertionError(f"no meaning for {node.fn}")


def _libm(kernel: Any, *args: NDArray[Any]) -> NDArray[Any]:
    """Arrow's kernels call the C library, as Python's math does; NumPy's are its own and differ in a bit."""
    found: NDArray[Any] = kernel(*(pa.array(a) for a in args)).to_numpy(zero_copy_only=False)
    return found


def _choice(node: Call, args: list[Column]) -> Column:
    kind = typed(node).kind
    if kind is Kind.NULL:
        return args[0]
    if kind is Kind.DECIMAL:
        args = [Column(decimals.as_type(a, result_type(typed(node))), a.valid) for a in args]
    best, valid = args[0], args[0].mask()
    for other in args[1:]:
        better = ~valid
        if node.fn == "greatest":
            better |= _is_less(best, other, kind)
        elif node.fn == "least":
            better |= _is_less(other, best, kind)
        better &= other.mask()
        valid = valid | other.mask()
        best = Column(_where(better, other, best), valid)
    return best


def _is_less(left: Column, right: Column, kind: Kind) -> Mask:
    """The order of least and greatest: NaN is above all."""
    less: Mask = compare("<", left, right, kind, kind).values
    return less | (np.isnan(right.values) & ~np.isnan(left.values)) if kind is Kind.FLOAT else less


def _where(chosen: Mask, column: Column, other: Column) -> Any:
    if isinstance(column.values, np.ndarray):
        return np.where(chosen, column.values, other.values)
    return pc.if_else(pa.array(chosen), plain(column), plain(other))


def _whole(x: Column, fn: str) -> Column:
    found = np.floor(x.values) if fn == "floor" else np.ceil(x.values)
    fits = (found >= -(2.0**63)) & (found < 2.0**63)
    return Column(np.where(fits, found, 0.0).astype(np.int64), _also(x.valid, fits))


def _round(x: Column, digits: int) -> Column:
    """`scalars.round_tens` and `round_places`, step by step."""
    scale, size = 10.0 ** abs(digits), np.abs(x.values)
    if digits <= 0:
        whole = np.floor(size / scale)
        up = (whole * scale != size) & (size >= (whole + 0.5) * scale)
        rounded = np.where(up, whole + 1.0, whole) * scale
        small = size < 4503599627370496.0 * scale
        return Column(np.where(small, np.copysign(rounded, x.values), x.values), x.valid)
    small = size * scale < 4503599627370496.0
    size = np.where(small, size, 0.0)
    whole = np.floor(size * scale)
    while (over := whole / scale > size).any():
        whole[over] -= 1.0
    while (under := (whole + 1.0) / scale <= size).any():
        whole[under] += 1.0
    up = (whole / scale != size) & (size >= (2.0 * whole + 1.0) / (2.0 * scale))
    rounded = np.where(up, whole + 1.0, whole) / scale
    return Column(np.where(small, np.copysign(rounded, x.values), x.values), x.valid)


def _round_whole(x: Column, digits: int) -> Column:
    """`scalars.round_whole` and `round_overflows`."""
    if digits >= 0:
        return x
    scale, half, v = 10**-digits, 10**-digits // 2, x.values
    largest = INT64_MAX - INT64_MAX % scale
    fits = np.where(v >= 0, v - largest < half, -largest - v < half)
    rest = np.mod(v, scale)
    up = np.where(v >= 0, rest >= half, rest > half)
    return Column(np.where(up, v + (scale - rest), v - rest), _also(x.valid, fits))


def _floats(column: Column, node: Expr) -> Column:
    """A column of lists of doubles."""
    element = typed(node).element
    assert element is not None
    lists: Lists = column.values
    return Column(Lists(lists.offsets, cast(lists.items, element.kind, Type(Kind.FLOAT))), column.valid)


def _correlation(left: Column, right: Column) -> Column:
    """`scalars.correlation` for all rows at once; bincount adds each row's terms in their order, as a loop does."""
    rows, valid = len(left), both(left, right)
    lengths = np.diff(left.values.offsets)
    same = lengths == np.diff(right.values.offsets)
    lengths = np.where(same, lengths, 0)
    row = np.repeat(np.arange(rows), lengths)
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    xs = take(left.values.items, left.values.offsets[row] + place)
    ys = take(right.values.items, right.values.offsets[row] + place)
    pairs = both(xs, ys)
    x, y = xs.values, ys.values
    if pairs is not None:
        row, x, y = row[pairs], x[pairs], y[pairs]

    def total(terms: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(row, weights=terms, minlength=rows)

    count = np.bincount(row, minlength=rows)
    dx, dy = x - (total(x) / count)[row], y - (total(y) / count)[row]
    denominator = np.sqrt(total(dx * dx)) * np.sqrt(total(dy * dy))
    defined = same & (count >= 2) & (denominator != 0.0)
    return Column(total(dx * dy) / denominator, _also(valid, defined))
