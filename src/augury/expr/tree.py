"""The tree: immutable nodes, equal when they say the same.

Where a node stood in the text (`span`) and what `check` found out (`type`) take no part in equality.
References keep the paper's identifiers: `a[i-1].price` is `Attr("a", At.PREVIOUS, "price")`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from enum import Enum
from typing import Any, get_args

from augury.errors import Span
from augury.expr.types import Type


class At(Enum):
    """Which event of a variable is meant."""

    ONE = ""  # a.x: the event of a singleton variable
    FIRST = "[1]"
    CURRENT = "[i]"  # each i > 1
    PREVIOUS = "[i-1]"
    LAST = "[LEN]"
    EACH = "[]"  # each i >= 1; inside an aggregate: all of them
    BEFORE = "[..i-1]"  # only inside an aggregate


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span | None = field(default=None, compare=False, repr=False)
    type: Type | None = field(default=None, compare=False, repr=False)


TAINTED = -1


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant. `kind` keeps apart what Python calls equal: 1, 1.0 and TRUE."""

    kind: (
        str  # "null" | "bool" | "int" | "number" | "string" | "duration" (microseconds); checked: "constant"
    )
    value: bool | int | float | Decimal | str | bytes | None  # of a constant: its physical value
    # Which parameter it is, where many queries are read as one that differ in these alone; TAINTED: it was computed.
    slot: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Param(Node):
    """`:name`, with the value bound to it. The value never becomes text of a query."""

    name: str
    value: Any
    slot: int | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are three values, and NaN is itself.
        return isinstance(other, Param) and (self.name, repr(self.value)) == (other.name, repr(other.value))

    def __hash__(self) -> int:
        return hash(("Param", self.name))


@dataclass(frozen=True, slots=True)
class Attr(Node):
    var: str
    at: At
    name: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A word by itself: in RETURN a variable's whole event; elsewhere what the language makes of it."""

    name: str


@dataclass(frozen=True, slots=True)
class Len(Node):
    """`a.LEN`."""

    var: str


@dataclass(frozen=True, slots=True)
class Agg(Node):
    """`fn(a[].x)` or `fn(a[..i-1].x)`; inside `arg` the references are `Attr(var, over, …)`."""

    fn: str
    var: str
    over: At  # EACH or BEFORE
    arg: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str  # "-" | "NOT"
    arg: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str  # + - * / % = <> < <= > >=
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """A chain of ANDs or of ORs as it was written: parentheses make another node."""

    op: str  # "AND" | "OR"
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class In(Node):
    arg: Expr
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Between(Node):
    arg: Expr
    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    arg: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    arg: Expr
    pattern: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    fn: str  # lower case
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A change of kind that `check` inserts; no language writes it. The target is `type`."""

    arg: Expr


Expr = (
    Literal
    | Param
    | Attr
    | Name
    | Len
    | Agg
    | Unary
    | Binary
    | Logic
    | In
    | Between
    | IsNull
    | Like
    | Call
    | Cast
)
EXPR_TYPES: Any = get_args(Expr)

COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


_PARTS: dict[Any, tuple[str, ...]] = {}


def _parts(node: Node) -> tuple[str, ...]:
    """The fields in which other nodes stand. Looked up once for a kind of node: every pass walks all of them."""
    kind = type(node)
    if kind not in _PARTS:
        _PARTS[kind] = tuple(f.name for f in fields(kind) if "Expr" in str(f.type) or f.type == "Any")
    return _PARTS[kind]


def children(node: Expr) -> Iterator[Expr]:
    for name in _parts(node):
        value = getattr(node, name)
        if isinstance(value, EXPR_TYPES):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, EXPR_TYPES))


def walk(node: Expr) -> Iterator[Expr]:
    """The node and all below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Rebuild bottom-up, `change` applied to every node. What nothing changes in stays the node it is."""
    new: dict[str, Any] | None = None
    for name in _parts(node):
        value = getattr(node, name)
        if isinstance(value, EXPR_TYPES):
            other: Any = rewrite(value, change)
            if other is value:
                continue
        elif isinstance(value, tuple) and value and isinstance(value[0], EXPR_TYPES):
            other = tuple(rewrite(v, change) for v in value)
            if all(map(operator.is_, other, value)):
                continue
        else:
            continue
        new = new or {}
        new[name] = other
    return change(replace(node, **new) if new else node)


def typed(node: Expr) -> Type:
    """The type that `check` gave."""
    assert node.type is not None, f"unchecked expression: {node}"
    return node.type
