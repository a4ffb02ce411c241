"""What Spark may leave out before the shuffle: rows that no component of the pattern could bind or mean.

The condition is SQL text that is true of every row that counts; it may be true of others. So a part that Spark
would read otherwise than we do, or that it has no words for, is left out: the engine asks everything again.

    (type = A and the tests of a that one event decides) or (type = B and …) or (type of a negated component) …

Under contiguity every row counts. Under the other strategies a run passes over a row that it cannot bind, so
leaving that row out leaves every match as it is, and the order of the others too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from augury.automaton import lower
from augury.expr.tree import COMPARISONS, Attr, Binary, Cast, Expr, In, IsNull, Literal, Logic, Unary, typed
from augury.expr.types import INT64_MIN, Kind, Type
from augury.pattern import Strategy
from augury.plan.split import split
from augury.resolve import Resolved

Named = Callable[[str], str]  # a column's name as Spark has it

# Compared by Spark as here, but that NaN is the greatest there: more rows stay, none is lost.
_COMPARED = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.DATE, Kind.TIMESTAMP})


def needed(query: Resolved, named: Named) -> str | None:
    """A condition that holds of every row the query needs; None where that may be any row."""
    pattern = query.pattern
    if pattern.strategy not in (Strategy.ANY, Strategy.NEXT):
        return None
    automaton = lower(query)
    tests: dict[str, list[str]] = {}  # by type: what each of its components asks
    for arc, guard in zip(automaton.arcs, split(automaton).guards, strict=True):
        if arc.component is not None and not arc.component.negated:
            asked = [text for text in (_implied(e, named) for e in guard.static) if text is not None]
            tests.setdefault(arc.component.type, []).append(" AND ".join(asked))
    for component in pattern.components:
        if component.negated:
            tests.setdefault(component.type, []).append("")
    kinds = [_of_type(query, type_, asked, named) for type_, asked in tests.items()]
    if any(kind is None for kind in kinds):
        return None
    return " OR ".join(f"({kind})" for kind in dict.fromkeys(kinds))


def _of_type(query: Resolved, type_: str, asked: list[str], named: Named) -> str | None:
    parts = []
    if query.roles.type is not None:
        parts.append(f"{named(query.roles.type)} = {text_literal(type_)}")
    if all(asked):
        parts.append("(" + " OR ".join(f"({a})" for a in dict.fromkeys(asked)) + ")")
    return " AND ".join(parts) or None


def _implied(expr: Expr, named: Named) -> str | None:
    """SQL that is true wherever the expression is."""
    match expr:
        case Logic(op="AND", args=args):
            parts = [p for p in (_implied(a, named) for a in args) if p is not None]
            return "(" + " AND ".join(parts) + ")" if parts else None
        case Logic(args=args):
            every = [_implied(a, named) for a in args]
            return None if None in every else "(" + " OR ".join(map(str, every)) + ")"
        case Attr():
            return named(expr.name)
        case Unary(op="NOT", arg=Attr() as arg):
            return f"NOT {named(arg.name)}"
        case IsNull(arg=Attr() as arg):
            return f"{named(arg.name)} IS {'NOT ' if expr.negated else ''}NULL"
        case In(arg=arg, items=items):
            column, values = _column(arg, named), [_constant(i, typed(arg)) for i in items]
            if column is None or None in values or not values:
                return None
            return f"{column} IN ({', '.join(map(str, values))})"
        case Binary(op=op, left=left, right=right) if op in COMPARISONS:
            return _compared(op, left, right, named)
    return None


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _compared(op: str, left: Expr, right: Expr, named: Named) -> str | None:
    if isinstance(left, Literal):
        op, left, right = _TURNED.get(op, op), right, left
    column, value = _column(left, named), _constant(right, typed(left))
    return None if column is None or value is None else f"{column} {op} {value}"


def _column(expr: Expr, named: Named) -> str | None:
    kind = typed(expr).kind
    if isinstance(expr, Attr) and kind in _COMPARED:
        return named(expr.name)
    if (
        isinstance(expr, Cast)
        and isinstance(expr.arg, Attr)
        and (typed(expr.arg).kind, kind) == (Kind.INT, Kind.FLOAT)
    ):
        return f"cast({named(expr.arg.name)} AS double)"
    return None


def _constant(expr: Expr, column: Type) -> str | None:
    """A constant of the column's kind; None where Spark has no such."""
    if not isinstance(expr, Literal) or expr.value is None or typed(expr).kind is not column.kind:
        return None
    value: Any = expr.value
    match column.kind:
        case Kind.STRING:
            return text_literal(value)
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.INT:
            return None if value == INT64_MIN else f"{value}L"
        case Kind.FLOAT:
            return f"cast('{float(value)!r}' AS double)" if math.isfinite(value) else None
        case Kind.DATE:
            return f"date_from_unix_date({value})" if abs(value) < 1 << 31 else None
        case Kind.TIMESTAMP if getattr(column.arrow, "tz", None) is not None:
            return f"timestamp_micros({value}L)"
    return None


def text_literal(value: str) -> str:
    """A string whatever its signs, and whatever the session makes of a backslash."""
    return f"cast(X'{value.encode().hex()}' AS string)"
