"""What smallest change of a query would have given a match: proposed by leaving a rule out, settled by the definition.

A family is one rule of the query that can be relaxed: the window, the strategy, a predicate, an [attr] test, a negated
component. Leaving it out gives more matches; each of these says how far the rule must be relaxed for it. The least of
these amounts for which the changed query, asked of the definition, has the new match is the family's change. Nothing is
told that was not asked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import LimitError, QueryError
from augury.expr.columns import physical_values
from augury.expr.printing import quoted
from augury.expr.tree import Binary, Expr, Literal, Param, typed
from augury.expr.types import MICROSECONDS_PER_DAY, Kind
from augury.match.rows import taken
from augury.pattern import Component, Pattern, Strategy, references, text_of_condition
from augury.resolve import Resolved, resolve
from augury.semantics import sase
from augury.semantics.sase import Bound
from augury.time import Window
from augury.why.rules import instances
from augury.why.values import shown_span

RUNS = 3_000  # side by side, of one variant
EVALUATIONS = 300_000  # of predicates, and as many steps of runs, for one variant
TRIES = 40  # amounts of one family that the definition is asked about

Edit = Callable[[Pattern], Pattern | None]
Wanted = Callable[[Bound], bool]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the query that gives a match: that match's rows are `bound`."""

    rule: str  # as in `Broken`
    said: str
    pattern: Pattern
    bound: Bound
    size: float  # what is small comes first
    edit: Edit  # what was done to the pattern


class _Bounded(sase.Cost):
    """What may be spent on one variant."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("predicate_evaluations", "run_steps") and value > EVALUATIONS:
            raise LimitError("too many runs to follow them all")
        super().__setattr__(name, value)


class Asked:
    """The definition, asked about variants of a query on one table; rows are those of the table as it was given."""

    def __init__(self, table: pa.Table, query: Resolved) -> None:
        self.table = table
        self.query = query
        self.too_much = False  # whether some variant was too much work
        self._known: dict[Pattern, frozenset[Bound] | None] = {}
        self.base = self.matches(query.pattern)

    def matches(self, pattern: Pattern) -> frozenset[Bound] | None:
        """All matches of a variant; None where that is too much work."""
        if pattern not in self._known:
            try:
                self._known[pattern] = self._asked(pattern)
            except LimitError:
                self._known[pattern] = None
                self.too_much = True
        return self._known[pattern]

    def _asked(self, pattern: Pattern) -> frozenset[Bound]:
        query = resolve(pattern, self.query.columns, self.query.roles)
        order = np.array(sase.stream_order(self.table, query), np.int64)
        ordered = pa.Table.from_arrays(
            [taken(c, order) for c in self.table.columns], schema=self.table.schema
        )
        found = sase.matches(ordered, query, RUNS, _Bounded())
        return frozenset(tuple(tuple(int(order[r]) for r in rows) for rows in m.bound) for m in found)

    def new(self, pattern: Pattern, wanted: Wanted) -> list[Bound]:
        """The matches of a variant that the query has not."""
        found, base = self.matches(pattern), self.base
        if found is None or base is None:
            return []
        return sorted((b for b in found - base if wanted(b)), key=lambda b: (b[-1][-1] - b[0][0], b))


# ------------------------------------------------------------------ families


@dataclass(frozen=True, slots=True)
class Family:
    """One rule that can be relaxed: how the least relaxation is found for a pattern, and the rule left out."""

    rule: str
    loosened: Edit
    least: Callable[[Asked, Pattern, Wanted], Change | None]


def families(pattern: Pattern) -> Iterator[Family]:
    """Every rule of a pattern that can be relaxed."""
    if pattern.within is not None:
        yield Family("window", _widest, _longer_window)
    if pattern.strategy is not Strategy.ANY:
        yield Family("strategy", _as_strategy(Strategy.ANY), _looser_strategy)
    for predicate in pattern.predicates:
        yield Family("predicate", _without(predicate), _looser_predicate(predicate))
    for name in pattern.partition:
        yield Family(
            "partition", _apart(name), _plain("partition", f"without [{quoted(name)}]", _apart(name), 4.0)
        )
    for c in pattern.components:
        if c.negated:
            drop = _present(c)
            yield Family("negation", drop, _plain("negation", f"without {c}", drop, 3.0))


def _plain(
    rule: str, said: str, edit: Edit, size: float
) -> Callable[[Asked, Pattern, Wanted], Change | None]:
    def least(asked: Asked, pattern: Pattern, wanted: Wanted) -> Change | None:
        variant = edit(pattern)
        found = [] if variant is None else asked.new(variant, wanted)
        return None if variant is None or not found else Change(rule, said, variant, found[0], size, edit)

    return least


def _with(predicate: Expr, other: Expr) -> Callable[[Pattern], Pattern]:
    return lambda p: replace(p, predicates=tuple(other if e is predicate else e for e in p.predicates))


def _without(predicate: Expr) -> Callable[[Pattern], Pattern]:
    return lambda p: replace(p, predicates=tuple(q for q in p.predicates if q is not predicate))


def _apart(name: str) -> Edit:
    def edit(p: Pattern) -> Pattern | None:
        left = tuple(a for a in p.partition if a != name)
        if p.strategy is Strategy.PARTITION and not left:
            return None  # partition_contiguity is nothing without a partition
        return replace(p, partition=left, partition_spans=())

    return edit


def _present(c: Component) -> Callable[[Pattern], Pattern]:
    def edit(p: Pattern) -> Pattern:
        kept = tuple(e for e in p.predicates if all(var != c.var for var, _, _ in references(e)))
        return replace(p, components=tuple(d for d in p.components if d.var != c.var), predicates=kept)

    return edit


# ------------------------------------------------------------------ the strategy


def _looser_strategy(asked: Asked, pattern: Pattern, wanted: Wanted) -> Change | None:
    """The next strategy, from the strictest to the loosest, under which there is a new match."""
    order = list(Strategy)
    for n, strategy in enumerate(order[order.index(pattern.strategy) + 1 :], 1):
        if strategy is Strategy.PARTITION and not pattern.partition:
            continue
        edit = _as_strategy(strategy)
        variant = edit(pattern)
        found = asked.new(variant, wanted)
        if found:
            return Change("strategy", strategy.value, variant, found[0], 1.0 + n / 2, edit)
    return None


def _as_strategy(strategy: Strategy) -> Callable[[Pattern], Pattern]:
    return lambda p: replace(p, strategy=strategy)


# ------------------------------------------------------------------ the window


def _widest(pattern: Pattern) -> Pattern:
    """Without a window, and without the absences that need one."""
    found = pattern
    while ends := [c for c in (found.components[0], found.components[-1]) if c.negated]:
        found = _present(ends[0])(found)
    return replace(found, within=None)


def _longer_window(asked: Asked, pattern: Pattern, wanted: Wanted) -> Change | None:
    """The shortest window in which there is a new match. Its length is the span of some match without negation at the ends."""
    query = asked.query
    kind = query.columns.types[query.roles.time].kind
    whole = resolve(pattern, query.columns, query.roles).window
    if whole is None:
        return None
    times = physical_values(asked.table.column(query.roles.time), query.columns.types[query.roles.time])
    longest = max(times, default=0) - min(times, default=0) + 1
    open_ended = _widest(pattern)
    tried: set[int] = set()
    width = whole
    while width < longest:
        width = min(width * 4, longest)
        found = asked.matches(replace(open_ended, within=as_window(width, kind)))
        if found is None:
            return None
        spans = sorted({times[b[-1][-1]] - times[b[0][0]] for b in found})
        for span in [s for s in spans if s >= whole and s not in tried][:TRIES]:
            tried.add(span)
            edit = _with_window(as_window(span + 1, kind))
            variant = edit(pattern)
            new = asked.new(variant, wanted)
            if new:
                said = f"WITHIN {variant.within}"
                if kind is Kind.TIMESTAMP:
                    said += f" (just over {shown_span(span, kind)})"
                return Change("window", said, variant, new[0], (span + 1) / whole - 1, edit)
    return None


def _with_window(window: Window) -> Callable[[Pattern], Pattern]:
    return lambda p: replace(p, within=window)


def as_window(instants: int, kind: Kind) -> Window:
    """So many instants as a window."""
    step = {Kind.DATE: MICROSECONDS_PER_DAY, Kind.TIMESTAMP: 1}.get(kind)
    return Window(Decimal(instants * (step or 1)), has_unit=step is not None)


# ------------------------------------------------------------------ a predicate


def _looser_predicate(predicate: Expr) -> Callable[[Asked, Pattern, Wanted], Change | None]:
    """Its bound moved as little as gives a new match; where it has none to move, the predicate left out."""

    def least(asked: Asked, pattern: Pattern, wanted: Wanted) -> Change | None:
        if all(e is not predicate for e in pattern.predicates):
            return None
        drop = _without(predicate)
        dropped = drop(pattern)
        found = asked.new(dropped, wanted)
        if not found:
            return None
        place = next(i for i, e in enumerate(pattern.predicates) if e is predicate)
        seen: set[Expr] = set()
        for size, other in sorted(_moved(asked, pattern, place, found), key=lambda c: c[0])[:TRIES]:
            if other in seen:
                continue
            seen.add(other)
            edit = _with(predicate, other)
            variant = edit(pattern)
            new = _asked_of(asked, variant, wanted)
            if new:
                return Change("predicate", text_of_condition(other), variant, new[0], size, edit)
        return Change("predicate", f"without {text_of_condition(predicate)}", dropped, found[0], 3.0, drop)

    return least


def _asked_of(asked: Asked, variant: Pattern, wanted: Wanted) -> list[Bound]:
    """The new matches of a predicate that was made; none where its types do not fit after all."""
    try:
        return asked.new(variant, wanted)
    except QueryError:
        return []


_LOOSE = {"<": "<=", ">": ">=", "<=": "<=", ">=": ">="}


def _moved(
    asked: Asked, pattern: Pattern, place: int, found: Iterable[Bound]
) -> Iterator[tuple[float, Expr]]:
    """For each match what the predicate must become to let it through, and how far that is."""
    raw = pattern.predicates[place]
    if not isinstance(raw, Binary) or raw.op not in _LOOSE:
        return
    query = resolve(pattern, asked.query.columns, asked.query.roles)
    tests = [t for t in query.tests if t.predicate == place]
    values = sase.streams(asked.table, query)[0].values
    for bound in list(found)[: 20 * TRIES]:
        sides: list[tuple[Any, Any]] = []
        for test in tests:
            if not isinstance(test.expr, Binary):
                return
            for known in _prefixes(query, bound, test.component, test.moment.value):
                for index in instances(query, test, known):
                    left = sase.evaluate(values, test.expr.left, known, index)
                    right = sase.evaluate(values, test.expr.right, known, index)
                    sides.append((left, right))
        kinds = [
            typed(side).kind
            for t in tests[:1]
            if isinstance(t.expr, Binary)
            for side in (t.expr.left, t.expr.right)
        ]
        yield from _loosened(raw, sides, kinds)


def _prefixes(
    query: Resolved, bound: Bound, component: int, moment: str
) -> Iterator[dict[str, tuple[int, ...]]]:
    """What is bound at each time when a component's predicates are tested at this moment."""
    positives = query.pattern.positives
    if query.pattern.components[component].negated:
        return
    place = positives.index(query.pattern.components[component])
    rows = bound[place]
    lengths = {"begin": [1], "take": range(2, len(rows) + 1), "leave": [len(rows)]}[moment]
    for n in lengths:
        yield sase.bindings(query, (*bound[:place], rows[:n]))


def _loosened(raw: Binary, sides: list[tuple[Any, Any]], kinds: list[Kind]) -> Iterator[tuple[float, Expr]]:
    """The comparison with its constant moved, or with an allowance added."""
    added = (Kind.INT, Kind.FLOAT, Kind.DURATION)  # what an allowance can be added to exactly
    known = (*added, Kind.DECIMAL, Kind.UINT)
    if not sides or any(k not in known for k in kinds) or any(not _finite(v) for pair in sides for v in pair):
        return
    op, upward = _LOOSE[raw.op], raw.op in ("<", "<=")
    kind = Kind.FLOAT if Kind.FLOAT in kinds else kinds[0]
    if _constant(raw.right):
        bound = (max if upward else min)(left for left, _ in sides)
        yield _relative(bound, sides[0][1]), replace(raw, op=op, right=_literal(bound, kinds[0]))
        return
    if _constant(raw.left):
        bound = (min if upward else max)(right for _, right in sides)
        yield _relative(bound, sides[0][0]), replace(raw, op=op, left=_literal(bound, kinds[1]))
        return
    factor = raw.right
    if isinstance(factor, Binary) and factor.op == "*" and _constant(factor.left) and kind is Kind.FLOAT:
        given = _number(factor.left)
        ratios = [left / (right / given) for left, right in sides if right and given]
        if len(ratios) == len(sides) and given is not None and all(right / given > 0 for _, right in sides):
            ratio = (max if upward else min)(ratios)
            yield (
                _relative(ratio, given),
                replace(raw, op=op, right=replace(factor, left=_literal(float(ratio), Kind.FLOAT))),
            )
    gap = (max if upward else min)(left - right for left, right in sides)
    largest = max(abs(right) for _, right in sides)
    size = float(abs(gap) / largest) if largest else math.inf if gap else 0.0
    if gap == 0:
        yield size, replace(raw, op=op)
        return
    if any(k not in added for k in kinds):
        return
    size = min(size * 1.01, 2.9)  # of two that say the same, the one that keeps the query's form
    base = raw.right
    if kind is Kind.INT and isinstance(base, Binary) and base.op in "+-" and isinstance(base.right, Literal):
        written = base.right.value
        if isinstance(written, int):  # a.x + 100 becomes a.x + 7, not a.x + 100 - 93
            gap += written if base.op == "+" else -written
            base = base.left
    for amount in _written(abs(gap), kind):
        yield size, replace(raw, op=op, right=Binary("-" if gap < 0 else "+", base, amount) if gap else base)


def _written(amount: Any, kind: Kind) -> list[Literal]:
    """An allowance: first as people write it, then as exact as it is."""
    exact = _literal(amount, kind)
    if kind is not Kind.FLOAT:
        return [exact]
    return list(dict.fromkeys([_literal(float(f"{amount:.10g}"), kind), exact]))


def _finite(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value)


def _constant(node: Expr) -> bool:
    return _number(node) is not None


def _number(node: Expr) -> float | None:
    value = node.value if isinstance(node, Literal | Param) else None
    if isinstance(node, Param) and not isinstance(value, int | float | Decimal):
        return None
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def _literal(value: Any, kind: Kind) -> Literal:
    if kind is Kind.DURATION:
        return Literal("duration", int(value))
    if isinstance(value, Decimal):
        return Literal("number", value)
    if kind is Kind.INT or (isinstance(value, int) and kind is not Kind.FLOAT):
        return Literal("int", int(value))
    return Literal("number", Decimal(repr(float(value))))


def _relative(new: Any, old: Any) -> float:
    if new == old:
        return 0.0
    return min(abs(float(new) - float(old)) / abs(float(old)), 2.9) if old else 2.9


# ------------------------------------------------------------------ what is told


def changes(asked: Asked, wanted: Wanted, *, pairs: bool = True) -> list[Change]:
    """One change for each rule that alone can give a match, the smallest first; if none can, two rules at once."""
    pattern = asked.query.pattern
    known = list(families(pattern))
    found = [c for f in known if (c := f.least(asked, pattern, wanted)) is not None]
    if not found and pairs:
        found = list(_pairs(asked, pattern, known, wanted))
    return sorted(found, key=lambda c: c.size)


def _pairs(asked: Asked, pattern: Pattern, known: list[Family], wanted: Wanted) -> Iterator[Change]:
    """Two rules relaxed: the second as little as can be with the first left out, then the first beside that second."""
    for one, two in itertools.combinations(known, 2):
        opened = one.loosened(pattern)
        second = None if opened is None else two.least(asked, opened, wanted)
        partly = None if second is None else second.edit(pattern)
        first = None if partly is None else one.least(asked, partly, wanted)
        if first is not None and second is not None:
            yield replace(
                first,
                rule=f"{first.rule} and {second.rule}",
                said=f"{first.said}, and {second.said}",
                edit=_both(first.edit, second.edit),
                size=5 + first.size + second.size,
            )


def _both(first: Edit, second: Edit) -> Edit:
    def edit(p: Pattern) -> Pattern | None:
        partly = second(p)
        return None if partly is None else first(partly)

    return edit
