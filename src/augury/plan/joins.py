"""Tests between slots: what of a sequence's predicates is decided by any two or more events, in whatever order
they are bound.

A guard of the automaton is tested where its last variable is bound. Who binds variables in another order asks each
test as soon as all its slots are bound, so here a test says which slots those are:

    Attr(v, FIRST, n)      the event of v's slot, column n of the split

What follows from tests between three or more slots is a test too: of a < b and b < c remains a < c while b is open.
It leaves nothing out that the tests themselves would let through, so it is asked to have fewer partial matches, and
never in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from augury.automaton import Action, Automaton
from augury.expr.tree import At, Attr, Binary, Expr, Literal, rewrite, typed, walk
from augury.expr.types import BOOL, Kind
from augury.pattern import Part
from augury.plan.split import Split

ORDERED = frozenset(
    {Kind.INT, Kind.UINT, Kind.FLOAT, Kind.STRING, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.DURATION}
)
"""The kinds whose values are in one order, which transitivity needs."""

HASHED = frozenset(ORDERED | {Kind.BOOL, Kind.BINARY, Kind.DECIMAL})
"""The kinds whose equal values have equal words, once zeros have one sign."""

ENOUGH = 64  # comparisons after which no more are concluded


@dataclass(frozen=True, slots=True)
class Join:
    """A test that is decided when its slots are bound."""

    expr: Expr
    slots: frozenset[int]
    origins: tuple[Part, ...]
    via: frozenset[int] = frozenset()  # concluded from tests through these slots: of use while one is open

    def decided(self, slot: int, bound: frozenset[int]) -> bool:
        """Whether it is to be asked when a slot is bound after others."""
        if slot not in self.slots or not self.slots - {slot} <= bound:
            return False
        return not self.via or not self.via <= bound | {slot}


@dataclass(frozen=True, slots=True)
class Equality:
    """A test that a column of one slot's event equals one of another's."""

    join: int  # its place among the joins
    slot: int
    column: int
    other: int
    other_column: int


@dataclass(frozen=True, slots=True)
class Joins:
    """What decides about a sequence of singletons besides what guards decide by the event at hand."""

    tests: tuple[Join, ...]  # those of the query, then what follows from them
    alone: tuple[
        tuple[int, Expr], ...
    ]  # parts of a later slot's test that this slot's event decides by itself
    columns: tuple[Expr, ...]  # the split's, and those that are concluded with


def joins_of(automaton: Automaton, split: Split) -> Joins:
    """The tests between slots."""
    found: list[Join] = []
    alone: list[tuple[int, Expr]] = []
    places = {c.var: slot for slot, c in enumerate(automaton.components)}
    for arc, guard in zip(automaton.arcs, split.guards, strict=True):
        if arc.action is not Action.BEGIN:
            continue
        assert arc.component is not None
        own = arc.component.var
        for expr, origin in zip(guard.dynamic, guard.of_run, strict=True):
            named = rewrite(expr, lambda node, own=own: _named(node, own))  # type: ignore[misc]
            slots = frozenset(places[n.var] for n in walk(named) if isinstance(n, Attr))
            if len(slots) == 1:
                (slot,) = slots
                alone.append((slot, rewrite(named, lambda node: _inlined(node, split))))
            else:
                found.append(Join(named, slots, (origin,)))
    columns = _Columns(split.columns)
    found.extend(_concluded(found, columns, places))
    return Joins(tuple(found), tuple(alone), tuple(columns.exprs))


def _inlined(node: Expr, split: Split) -> Expr:
    """A derived column as the expression that it is."""
    return split.columns[int(node.name)] if isinstance(node, Attr) and node.at is At.FIRST else node


def _named(node: Expr, own: str) -> Expr:
    """A reference to the event at hand as one to the slot's event."""
    if isinstance(node, Attr) and not node.var:
        return replace(node, var=own, at=At.FIRST)
    return node


def equalities(joins: tuple[Join, ...], automaton: Automaton) -> Iterator[Equality]:
    """The equalities of two columns, each seen from both sides."""
    places = {c.var: slot for slot, c in enumerate(automaton.components)}
    for place, join in enumerate(joins):
        match join.expr:
            case Binary(op="=", left=Attr() as left, right=Attr() as right):
                kinds = {typed(left).kind, typed(right).kind}
                if len(join.slots) == 2 and len(kinds) == 1 and kinds <= HASHED:
                    for one, other in ((left, right), (right, left)):
                        yield Equality(
                            place, places[one.var], int(one.name), places[other.var], int(other.name)
                        )


# ------------------------------------------------------------------ what follows from comparisons

Node = tuple[int, int]
"""A slot's column."""


@dataclass(frozen=True, slots=True)
class _Below:
    """One column lies below another one, and how that is known."""

    low: Node
    high: Node
    strict: bool
    via: frozenset[int]  # the slots between the two
    origins: tuple[Part, ...]


class _Columns:
    """The columns of a split, and those that are made of them."""

    def __init__(self, known: Sequence[Expr]) -> None:
        self.exprs = list(known)

    def number(self, expr: Expr) -> int:
        for k, known in enumerate(self.exprs):
            if known == expr and known.type == expr.type:
                return k
        self.exprs.append(expr)
        return len(self.exprs) - 1

    def step(self, column: int, base: int) -> tuple[str, Literal] | None:
        """How one column is made of another: an operation that keeps the order of what it is done to."""
        match self.exprs[column]:
            case Binary(op="+" | "-" | "*" as op, left=left, right=Literal(value=value) as right):
                good = isinstance(value, int | float) and not isinstance(value, bool)
                if good and left == self.exprs[base] and left.type == self.exprs[base].type:
                    if typed(left).kind is Kind.FLOAT and (op != "*" or value > 0):  # type: ignore[operator]
                        return op, right
                    if typed(left).kind is Kind.INT and op == "+" and value >= 0:  # type: ignore[operator]
                        return op, right
        return None

    def stepped(self, column: int, step: tuple[str, Literal]) -> int:
        """The same operation done to another column."""
        op, right = step
        return self.number(Binary(op, self.exprs[column], right, type=self.exprs[column].type))


def _concluded(joins: list[Join], columns: _Columns, places: dict[str, int]) -> Iterator[Join]:
    """Comparisons that follow from two or more others."""
    names = {slot: var for var, slot in places.items()}
    direct = [below for join in joins for below in _comparisons(join, places)]
    known = list(direct)
    newest = list(direct)
    while newest and len(known) < ENOUGH:
        found = [c for b in newest for d in direct for c in _composed(b, d, columns)]
        newest = []
        for candidate in found:
            if not any(_says_more(k, candidate) for k in known):
                known.append(candidate)
                newest.append(candidate)
    for c in known[len(direct) :]:
        left, right = (
            Attr(names[slot], At.FIRST, str(k), type=columns.exprs[k].type) for slot, k in (c.low, c.high)
        )
        expr = Binary("<" if c.strict else "<=", left, right, type=BOOL)
        yield Join(expr, frozenset({c.low[0], c.high[0]}), c.origins, c.via)


def _says_more(known: _Below, candidate: _Below) -> bool:
    """Whether what is known makes a candidate idle."""
    same = known.low == candidate.low and known.high == candidate.high
    return same and known.via <= candidate.via and (known.strict or not candidate.strict)


def _composed(first: _Below, second: _Below, columns: _Columns) -> Iterator[_Below]:
    """What two comparisons say together, where one ends in the slot in which the other begins.

    a < x and x < c say a < c. So do a < x and x + k < c of a + k, since a rounded sum keeps the order of what is
    added to; and a < x + k and x < c of c + k. A sum of integers may overflow, and is null then: of them only what
    overflows no sooner than the test itself is said.
    """
    (slot, middle), (other, upper) = first.high, second.low
    if slot != other or first.low[0] == second.high[0] or second.high[0] in first.via:
        return
    via = first.via | second.via | {slot}
    origins = tuple(dict.fromkeys((*first.origins, *second.origins)))
    low, high = first.low, second.high
    if middle == upper:
        yield _Below(low, high, first.strict or second.strict, via, origins)
        return
    step = columns.step(upper, middle)
    if step is not None and columns.exprs[low[1]].type == columns.exprs[middle].type:
        yield _Below((low[0], columns.stepped(low[1], step)), high, second.strict, via, origins)
        return
    step = columns.step(middle, upper)
    floats = typed(columns.exprs[upper]).kind is Kind.FLOAT
    if step is not None and floats and columns.exprs[high[1]].type == columns.exprs[upper].type:
        yield _Below(low, (high[0], columns.stepped(high[1], step)), first.strict, via, origins)


def _comparisons(join: Join, places: dict[str, int]) -> Iterator[_Below]:
    """What a test says of two columns."""
    match join.expr:
        case Binary(op=op, left=Attr() as left, right=Attr() as right):
            kinds = {typed(left).kind, typed(right).kind}
            if left.var == right.var or len(kinds) != 1 or not kinds <= ORDERED:
                return
            one, other = ((places[a.var], int(a.name)) for a in (left, right))
            if op in ("<", "<=", "="):
                yield _Below(one, other, op == "<", frozenset(), join.origins)
            if op in (">", ">=", "="):
                yield _Below(other, one, op == ">", frozenset(), join.origins)
