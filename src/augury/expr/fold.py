"""A checked expression with what is constant computed once, by the reading that defines it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NoReturn

from augury.expr.functions import registered
from augury.expr.interpret import interpret
from augury.expr.tree import EXPR_TYPES, TAINTED, Agg, Attr, Call, Expr, Len, Literal, typed


def fold(node: Expr) -> Expr:
    """Constants in the place of what has no reference; a node below which nothing changes stays itself.

    Registered functions are left to be called where and when the query calls them.
    """
    if isinstance(node, Literal | Attr | Len | Agg):
        return node
    changed: dict[str, Any] = {}
    parts: list[Expr] = []
    for f in fields(node):
        old = getattr(node, f.name)
        if isinstance(old, EXPR_TYPES):
            new: Any = fold(old)
            parts.append(new)
            is_same = new is old
        elif isinstance(old, tuple) and old and isinstance(old[0], EXPR_TYPES):
            new = tuple(map(fold, old))
            parts.extend(new)
            is_same = all(a is b for a, b in zip(old, new, strict=True))
        else:
            continue
        if not is_same:
            changed[f.name] = new
    if changed:
        node = replace(node, **changed)
    if not all(isinstance(p, Literal) for p in parts) or (isinstance(node, Call) and registered(node.fn)):
        return node
    slot = TAINTED if any(isinstance(p, Literal) and p.slot is not None for p in parts) else None
    return Literal("constant", interpret(node, _no_reference), slot=slot, span=node.span, type=typed(node))


def _no_reference(node: Attr | Len | Agg) -> NoReturn:
    raise AssertionError(f"a constant refers to {node}")
