"""CESAR's algebra as data: streams made of streams. The methods that users call build these nodes.

    Base · Where · Project · Rename · Extend          σ π ρ α, one operand
    Union · Then · Iterate                             ∪ ;θ µ, two

A node knows its attributes as far as they follow from itself: a base stream's are the data's, and known when it meets
them. Expressions stand in two frames: over one event (`x`, `DUR`), and over a concatenation e1^e2, where `x` is the
new event's if both have it and `x.last` is e1's. In a tree these are `Attr("", ONE, "x")` and `Attr("last", ONE, "x")`,
and DUR is an attribute, which no stream can have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augury.errors import QueryError
from augury.expr.check import missing
from augury.expr.printing import quoted, text_of
from augury.expr.tree import At, Attr, Expr, Name, Param, rewrite

DUR = "DUR"
LAST = "last"  # the variable of `x.last`
RESERVED = ("start", "end", "query", "op", DUR)


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """An expression: its tree, in which parameters are not bound, what it was written as, and their values."""

    expr: Expr
    text: str | None  # None: a value was given
    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        if self.text is None:
            return str(self.values[0][1])
        return text_of(shown(self.expr))

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are three values.
        return isinstance(other, Text) and self.expr == other.expr and repr(self.values) == repr(other.values)

    def __hash__(self) -> int:
        return hash((self.expr, repr(self.values)))

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.values)


@dataclass(frozen=True, slots=True)
class Base:
    """The rows of one type."""

    type: str


@dataclass(frozen=True, slots=True)
class Hole:
    """What a step is applied to. `names` are its attributes, if they are known."""

    names: tuple[str, ...] | None = field(compare=False, default=None)


@dataclass(frozen=True, slots=True)
class Where:
    arg: Node
    condition: Text


@dataclass(frozen=True, slots=True)
class Project:
    arg: Node
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    arg: Node
    pairs: tuple[tuple[str, str], ...]  # (old, new)


@dataclass(frozen=True, slots=True)
class Extend:
    arg: Node
    values: tuple[tuple[str, Text], ...]


@dataclass(frozen=True, slots=True)
class Union:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Then:
    left: Node
    right: Node
    on: Text | None


@dataclass(frozen=True, slots=True)
class Iterate:
    left: Node
    right: Node
    on: Text | None
    step: Node  # over a Hole
    init: tuple[
        tuple[str, str], ...
    ]  # (x, the attribute of the left operand that is x.last in the first round)


Node = Base | Hole | Where | Project | Rename | Extend | Union | Then | Iterate
UNARY = (Where, Project, Rename, Extend)


def shown(expr: Expr) -> Expr:
    """The tree with references as they are written."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Attr):
            return Attr(node.name, At.ONE, LAST) if node.var == LAST else Name(node.name)
        return node

    return rewrite(expr, change)


def names(node: Node) -> tuple[str, ...] | None:
    """The attributes in their order; None where only the data will tell."""
    match node:
        case Base():
            return None
        case Hole():
            return node.names
        case Where():
            return names(node.arg)
        case Project():
            return node.names
        case Rename():
            known = names(node.arg)
            new = dict(node.pairs)
            return None if known is None else tuple(new.get(n, n) for n in known)
        case Extend():
            known = names(node.arg)
            return None if known is None else joined(known, tuple(n for n, _ in node.values))
        case Union():
            left, right = names(node.left), names(node.right)
            return right if left is None else left
        case Then():
            return both(names(node.left), names(node.right))
        case Iterate():
            return names(node.step)


def joined(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """The names of a concatenation: the left one's, then the right one's new ones."""
    return (*left, *(n for n in right if n not in left))


def both(left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if left is None or right is None else joined(left, right)


def bases(node: Node) -> Iterator[Base]:
    """All base streams, from left to right."""
    match node:
        case Base():
            yield node
        case Where() | Project() | Rename() | Extend():
            yield from bases(node.arg)
        case Union() | Then() | Iterate():
            yield from bases(node.left)
            yield from bases(node.right)


def texts(node: Node) -> Iterator[Text]:
    """All expressions in it."""
    match node:
        case Where():
            yield from texts(node.arg)
            yield node.condition
        case Project() | Rename():
            yield from texts(node.arg)
        case Extend():
            yield from texts(node.arg)
            yield from (text for _, text in node.values)
        case Union():
            yield from texts(node.left)
            yield from texts(node.right)
        case Then() | Iterate():
            yield from texts(node.left)
            yield from texts(node.right)
            if node.on is not None:
                yield node.on
            if isinstance(node, Iterate):
                yield from texts(node.step)


# ------------------------------------------------------------------ parameters

_EASY = frozenset({int, float, str, bool})


def shape(node: Node, values: list[Any] | None) -> Any:
    """What a node says but for the values of its parameters, which go into the list, in order.

    Without a list, and where a value is none of a few plain types, values are part of what is said.
    """

    def text(t: Text | None) -> Any:
        if t is None:
            return None
        said: list[Any] = [t.text]
        for name, value in t.values:
            if values is not None and is_easy(value):
                values.append(value)
                said.append((name, type(value)))
            else:
                said.append((name, repr(value)))
        return tuple(said)

    match node:
        case Base():
            return node.type
        case Hole():
            return None
        case Where():
            return "where", shape(node.arg, values), text(node.condition)
        case Project():
            return "project", shape(node.arg, values), node.names
        case Rename():
            return "rename", shape(node.arg, values), node.pairs
        case Extend():
            below = shape(node.arg, values)
            return "extend", below, tuple((n, text(t)) for n, t in node.values)
        case Union():
            return "union", shape(node.left, values), shape(node.right, values)
        case Then():
            return "then", shape(node.left, values), shape(node.right, values), text(node.on)
        case Iterate():
            sides = shape(node.left, values), shape(node.right, values)
            return "iterate", *sides, text(node.on), shape(node.step, values), node.init


def is_easy(value: Any) -> bool:
    """Whether a value may change without a change of what its expression is."""
    return type(value) in _EASY and (type(value) is not int or -(2**63) <= value < 2**63)


def bound(node: Node, slots: Iterator[int] | None) -> Node:
    """The node with its parameters in the trees: each that `shape` counts has its number, where there are any."""

    def text(t: Text) -> Text:
        known = {n: (v, next(slots) if slots is not None and is_easy(v) else None) for n, v in t.values}

        def bind(e: Expr) -> Expr:
            if not isinstance(e, Param):
                return e
            value, slot = known[e.name]
            return replace(e, value=value, slot=slot)

        return Text(rewrite(t.expr, bind), t.text, t.values) if known else t

    def below(**parts: Any) -> Node:
        """The node with these parts; itself where they are its own, so that what is shared stays so."""
        return node if all(getattr(node, n) is p for n, p in parts.items()) else replace(node, **parts)

    match node:
        case Base() | Hole():
            return node
        case Where():
            return below(arg=bound(node.arg, slots), condition=text(node.condition))
        case Project() | Rename():
            return below(arg=bound(node.arg, slots))
        case Extend():
            arg = bound(node.arg, slots)
            found = tuple((n, text(t)) for n, t in node.values)
            same = all(new is old for (_, new), (_, old) in zip(found, node.values, strict=True))
            return below(arg=arg, values=node.values if same else found)
        case Union():
            return below(left=bound(node.left, slots), right=bound(node.right, slots))
        case Then():
            left, right = bound(node.left, slots), bound(node.right, slots)
            return below(left=left, right=right, on=None if node.on is None else text(node.on))
        case Iterate():
            left, right = bound(node.left, slots), bound(node.right, slots)
            on = None if node.on is None else text(node.on)
            return below(left=left, right=right, on=on, step=bound(node.step, slots))


# ------------------------------------------------------------------ what can be wrong with names


def check_name(name: object, what: str) -> str:
    """A name that an attribute may have."""
    if not isinstance(name, str) or not name:
        raise QueryError(f"{what} is a name, not {name!r}", hint="attributes are named by strings")
    if name in RESERVED or name.endswith(".last"):
        raise QueryError(
            f"no attribute can be named {quoted(name)}",
            hint=f"{', '.join(RESERVED)} and names that end in .last have a meaning of their own; take another",
        )
    return name


def check_known(name: str, known: Sequence[str] | None) -> None:
    """That there is such an attribute, as far as attributes are known."""
    if known is not None and name not in known:
        message, hint = missing("attribute", name, known)
        raise QueryError(message, hint=hint)


def check_project(wanted: Sequence[str], known: Sequence[str] | None) -> None:
    for name in wanted:
        check_known(name, known)
        if list(wanted).count(name) > 1:
            raise QueryError(f"project names {quoted(name)} twice", hint="name it once")


def check_rename(pairs: Sequence[tuple[str, str]], known: Sequence[str] | None) -> None:
    """Old names are there, new ones are free once the old ones are gone."""
    old, new = [o for o, _ in pairs], [n for _, n in pairs]
    for name in old:
        check_known(name, known)
    for name in new:
        if new.count(name) > 1:
            raise QueryError(f"two attributes are renamed to {quoted(name)}", hint="give each its own name")
        if known is not None and name in known and name not in old:
            raise QueryError(
                f"there is an attribute {quoted(name)} already, and it stays",
                hint=f"project it away first, or rename it too: {quoted(name)}=…",
            )


def check_union(left: Sequence[str] | None, right: Sequence[str] | None) -> None:
    if left is None or right is None or set(left) == set(right):
        return
    only = [f"the left has {', '.join(quoted(n) for n in left if n not in right)}"] * (
        not set(left) <= set(right)
    )
    only += [f"the right has {', '.join(quoted(n) for n in right if n not in left)}"] * (
        not set(right) <= set(left)
    )
    raise QueryError(
        f"a union needs the same attributes on both sides; {' and '.join(only)} alone",
        hint="project or rename them to the same names first",
    )


# ------------------------------------------------------------------ in the paper's notation


def notation(node: Node) -> str:
    """σ[vol > 10000](Stock) ;[company = company.last] …"""
    match node:
        case Base():
            return quoted(node.type)
        case Hole():
            return "·"
        case Where():
            return f"σ[{node.condition}]{_operand(node.arg)}"
        case Project():
            return f"π[{', '.join(map(quoted, node.names))}]{_operand(node.arg)}"
        case Rename():
            return f"ρ[{', '.join(f'{quoted(o)}→{quoted(n)}' for o, n in node.pairs)}]{_operand(node.arg)}"
        case Extend():
            return f"α[{', '.join(f'{quoted(n)}↦{v}' for n, v in node.values)}]{_operand(node.arg)}"
        case Union():
            return f"{_side(node.left)} ∪ {_side(node.right)}"
        case Then():
            on = "" if node.on is None else f"[{node.on}]"
            return f"{_side(node.left)} ;{on} {_side(node.right)}"
        case Iterate():
            step = "id" if isinstance(node.step, Hole) else notation(node.step)
            parts = [step, "true" if node.on is None else str(node.on)]
            parts += [", ".join(f"{quoted(x)}.last₀ = {quoted(a)}" for x, a in node.init)] * bool(node.init)
            return f"µ[{'; '.join(parts)}]({notation(node.left)}, {notation(node.right)})"


def _operand(node: Node) -> str:
    return f"({notation(node)})"


def _side(node: Node) -> str:
    return _operand(node) if isinstance(node, Union | Then) else notation(node)
