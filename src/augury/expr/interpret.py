"""The slow reading: one value at a time, in plain Python. It says what every expression means.

Values are in the physical form of their kind (see `types`), null is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from augury.expr import functions, scalars
from augury.expr.constants import convert, in_range
from augury.expr.like import is_like
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
)
from augury.expr.types import INTEGERS, Kind

Leaf = Callable[[Attr | Len | Agg], Any]
"""The value that a reference has."""


def interpret(node: Expr, leaf: Leaf) -> Any:
    """The value of a checked expression."""
    match node:
        case Literal():
            return node.value
        case Attr() | Len() | Agg():
            return leaf(node)
        case Unary(op="NOT"):
            value = interpret(node.arg, leaf)
            return None if value is None else not value
        case Unary():
            value = interpret(node.arg, leaf)
            return None if value is None else _fit(-value, typed(node).kind)
        case Logic():
            return _logic(node.op, (interpret(a, leaf) for a in node.args))
        case Binary():
            left, right = interpret(node.left, leaf), interpret(node.right, leaf)
            if left is None or right is None:
                return None
            return compare(node.op, left, right) if node.op in COMPARISONS else _arithmetic(node, left, right)
        case In():
            value = interpret(node.arg, leaf)
            return _logic(
                "OR",
                (None if _no(value, i) else value == i for i in (interpret(i, leaf) for i in node.items)),
            )
        case IsNull():
            return (interpret(node.arg, leaf) is None) is not node.negated
        case Like():
            value, pattern = interpret(node.arg, leaf), interpret(node.pattern, leaf)
            return None if _no(value, pattern) else is_like(value, pattern)
        case Cast():
            value = interpret(node.arg, leaf)
            return None if value is None else convert(value, typed(node.arg).kind, typed(node).kind)
        case Call():
            return _call(node, [interpret(a, leaf) for a in node.args])
    raise AssertionError(f"not a checked expression: {node}")


def _no(*values: Any) -> bool:
    return any(v is None for v in values)


def _logic(op: str, values: Iterable[Any]) -> bool | None:
    """Three-valued AND and OR: one value decides, else an unknown one, else the other."""
    decisive = op == "OR"
    unknown = False
    for value in values:
        if value is None:
            unknown = True
        elif value is decisive:
            return op == "OR"
    return None if unknown else not decisive


def compare(op: str, left: Any, right: Any) -> bool:
    match op:
        case "=":
            return bool(left == right)
        case "<>":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def _fit(value: Any, kind: Kind) -> Any:
    return value if kind is Kind.FLOAT else in_range(value)


def _arithmetic(node: Binary, left: Any, right: Any) -> Any:
    kind = typed(node).kind
    match node.op:
        case "+":
            return _fit(left + right, kind)
        case "-":
            return _fit(left - right, kind)
        case "*":
            return _fit(left * right, kind)
        case "/":
            return None if right == 0 else left / right
    if right == 0:
        return None
    if kind is Kind.FLOAT:
        return scalars.float_remainder(left, right)
    return scalars.remainder(left, right)


def is_less(left: Any, right: Any) -> bool:
    """The order of min, max, least and greatest: NaN is above all."""
    if isinstance(left, float) and math.isnan(left):
        return False
    if isinstance(right, float) and math.isnan(right):
        return True
    return bool(left < right)


def extreme(values: Iterable[Any], *, greatest: bool) -> Any:
    """The first of the least (greatest) values; nulls are skipped."""
    best = None
    for value in values:
        if value is not None and (
            best is None or (is_less(best, value) if greatest else is_less(value, best))
        ):
            best = value
    return best


def aggregate(node: Agg, values: list[Any]) -> Any:
    """Fold the argument's values, in stream order. Nulls are skipped, but by first and last."""
    if node.fn in ("first", "last"):
        return values[0 if node.fn == "first" else -1] if values else None
    if node.fn in ("min", "max"):
        return extreme(values, greatest=node.fn == "max")
    present = [v for v in values if v is not None]
    if node.fn == "count":
        return len(present)
    if not present:
        return None
    total: Any = 0 if typed(node.arg).kind is not Kind.FLOAT else 0.0
    for value in present:
        total = _fit(total + value, typed(node.arg).kind)
        if total is None:  # an integer overflow stays one
            return None
    return total if node.fn == "sum" else total / len(present)


def _call(node: Call, args: list[Any]) -> Any:
    user = functions.registered(node.fn)
    if user is not None:
        return functions.call(user, args, typed(node))
    if node.fn == "coalesce":
        return next((a for a in args if a is not None), None)
    if node.fn in ("least", "greatest"):
        return extreme(args, greatest=node.fn == "greatest")
    if node.fn == "corr":
        return functions.correlation(args[0], args[1])
    if _no(*args):
        return None
    x = args[0]
    whole = typed(node.args[0]).kind in INTEGERS | {Kind.DURATION}
    match node.fn:
        case "abs":
            return abs(x) if typed(node).kind is Kind.UINT else _fit(abs(x), typed(node).kind)
        case "ceil" | "floor":
            if whole:
                return x
            return (
                in_range(math.ceil(x) if node.fn == "ceil" else math.floor(x)) if math.isfinite(x) else None
            )
        case "round":
            digits = args[1] if len(args) == 2 else 0
            return functions.round_integer(x, digits) if whole else functions.round_half_away(x, digits)
        case "sqrt":
            return scalars.square_root(x)
        case "ln":
            return None if x <= 0 else scalars.logarithm(x)
        case "exp":
            return scalars.exponential(x)
        case "pow":
            return scalars.power(x, args[1])
        case "length":
            return len(x)
        case "lower":
            return x.lower()
        case "upper":
            return x.upper()
    raise AssertionError(f"no meaning for {node.fn}")
