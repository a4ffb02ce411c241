"""The rules that make a set of events a match, walked one by one: which hold, and which are broken by what.

A binding fixes the way of its run: at each event of the stream the run either binds it or passes over it. So the definition's
rules can be asked of the binding itself, in the order in which the run would have met them. A binding that breaks none is
a match, and the other way round; a test holds both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from augury.errors import one_line
from augury.explain.words import a, series
from augury.expr.printing import quoted, text_of
from augury.expr.tree import Agg, At, Attr, Expr, Len, children, typed
from augury.pattern import Strategy, text_of_condition
from augury.resolve import Moment, Resolved, Test
from augury.semantics import sase
from augury.semantics.sase import Bound, Stream
from augury.why.values import shown_span, shown_value


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that does not hold. `event` is the row at which it broke, in stream order."""

    rule: str  # "type", "partition", "predicate", "window", "strategy", "negation", "order", "key" or "end"
    said: str
    event: int | None = None
    place: int = -1  # of the predicate, or of the negated component
    values: tuple[tuple[str, str], ...] = ()  # what the predicate read

    def __str__(self) -> str:
        known = ", ".join(f"{name} = {value}" for name, value in self.values)
        return one_line(f"{self.said}: {known}" if known else self.said)


def broken_rules(stream: Stream, bound: Bound) -> Iterator[Broken]:
    """All rules that a complete binding breaks, in the order in which its run meets them."""
    flat = [(c, k, row) for c, rows in enumerate(bound) for k, row in enumerate(rows)]
    for (_, _, before), (_, _, row) in itertools.pairwise(flat):
        if row <= before:
            yield Broken("order", "the events do not stand in this order", row)
            return
    query, first = stream.query, flat[0][2]
    positives = query.pattern.positives
    prefix: Bound = ()
    late = False
    for c, k, row in flat:
        if prefix:
            yield from passed_over(stream, prefix, row)
            if not late and not sase.in_window(stream, first, row):
                late = True
                yield too_late(stream, first, row)
        if k == 0 and c > 0 and positives[c - 1].kleene:
            yield from failing(stream, prefix, Moment.LEAVE, row)
        prefix = (*prefix, (row,)) if k == 0 else (*prefix[:-1], (*prefix[-1], row))
        yield from not_bound(stream, prefix, Moment.TAKE if k else Moment.BEGIN)
    if positives[-1].kleene:
        yield from failing(stream, prefix, Moment.LEAVE, flat[-1][2])
    yield from present(stream, bound)


def not_bound(stream: Stream, bound: Bound, moment: Moment) -> Iterator[Broken]:
    """Why the last event bound could not be: its type, the partition, the predicates."""
    c, row = stream.query.pattern.positives[len(bound) - 1], bound[-1][-1]
    if not sase.is_type(stream, row, c):
        kind = stream.values[stream.query.roles.type or ""][row]
        yield Broken("type", f"it is {_typed(kind)}, and {quoted(c.var)} is {a(quoted(c.type))}", row)
        return
    yield from other_partition(stream, row, bound[0][0])
    yield from failing(stream, bound, moment, row)


def other_partition(stream: Stream, row: int, first: int) -> Iterator[Broken]:
    """The [attr] tests that do not hold."""
    types = stream.query.columns.types
    for place, name in enumerate(stream.query.pattern.partition):
        here, there = stream.values[name][row], stream.values[name][first]
        if not sase.equal(here, there):
            said = f"[{quoted(name)}] does not agree"
            values = [(quoted(name), shown_value(here, types[name]))]
            if row != first:
                values.append(("of the first event", shown_value(there, types[name])))
            yield Broken("partition", said, row, place, tuple(values))


def failing(stream: Stream, bound: Bound, moment: Moment, row: int) -> Iterator[Broken]:
    """The predicates of the last bound component that are not true at this moment."""
    query = stream.query
    c = query.pattern.positives[len(bound) - 1]
    for test in query.tests_at(query.pattern.components.index(c), moment):
        known = sase.bindings(query, bound)
        if not sase.holds(stream, test, known):
            yield untrue(stream, test, known, row)


def untrue(stream: Stream, test: Test, bound: dict[str, tuple[int, ...]], row: int) -> Broken:
    """A predicate that is not true, with the values that it read where it first failed."""
    index = next(
        i
        for i in instances(stream.query, test, bound)
        if sase.evaluate(stream.values, test.expr, bound, i) is not True
    )
    said = text_of_condition(stream.query.pattern.predicates[test.predicate])
    unknown = sase.evaluate(stream.values, test.expr, bound, index) is None
    values = tuple(_read(stream, test.expr, bound, index))
    return Broken(
        "predicate", f"{said} is {'unknown' if unknown else 'not true'}", row, test.predicate, values
    )


def instances(query: Resolved, test: Test, bound: dict[str, tuple[int, ...]]) -> Iterator[dict[str, int]]:
    """For which events of its Kleene variables a predicate is tested: the definition's `holds` asks all of these."""
    own = query.pattern.components[test.component].var
    fixed = {own: len(bound[own]) - 1} if own in bound else {}
    ranges = [range(0 if at is At.EACH else 1, len(bound[var])) for var, at in test.forall]
    variables = [var for var, _ in test.forall]
    for chosen in itertools.product(*ranges):
        yield {**fixed, **dict(zip(variables, chosen, strict=True))}


def _read(
    stream: Stream, expr: Expr, bound: dict[str, tuple[int, ...]], index: dict[str, int]
) -> Iterator[tuple[str, str]]:
    told: set[str] = set()
    for node in _leaves(expr):
        name = text_of(node)
        if name not in told:
            told.add(name)
            yield name, shown_value(sase.evaluate(stream.values, node, bound, index), typed(node))


def _leaves(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Attr | Len | Agg):
        yield expr
        return
    for child in children(expr):
        yield from _leaves(child)


def passed_over(stream: Stream, bound: Bound, until: int) -> Iterator[Broken]:
    """The first event between the last one bound and another one that the strategy does not let a run pass."""
    query = stream.query
    c = query.pattern.positives[len(bound) - 1]
    for row in stream.rows:
        if not bound[-1][-1] < row < until:
            continue
        use = sase.take if c.kleene else sase.begin
        used = None
        if query.pattern.strategy is Strategy.NEXT:
            used = use(stream, bound, row)
        if not sase.may_pass(stream, bound, row, used):
            yield Broken("strategy", _no_pass(stream, bound), row)
            return


def _no_pass(stream: Stream, bound: Bound) -> str:
    pattern = stream.query.pattern
    last = pattern.positives[len(bound) - 1]
    match pattern.strategy:
        case Strategy.NEXT:
            used = (
                f"{series(last)} takes it"
                if last.kleene
                else f"it begins {series(pattern.positives[len(bound)])}"
            )
            return f"skip_till_next_match does not pass over it: {used}"
        case Strategy.PARTITION:
            return "partition_contiguity passes over no event of the partition"
    return f"{pattern.strategy.value} passes over no event"


def too_late(stream: Stream, first: int, row: int) -> Broken:
    """An event beyond the window."""
    query = stream.query
    assert query.window is not None
    kind = query.columns.types[query.roles.time].kind
    span = stream.time(row) - stream.time(first)
    said = f"it comes {shown_span(span, kind)} after the first event, and events fit in WITHIN {query.pattern.within} when that is less"
    return Broken("window", said, row)


def present(stream: Stream, bound: Bound) -> Iterator[Broken]:
    """The events that stand where a negated component says that there is none."""
    pattern = stream.query.pattern
    for place, c in enumerate(pattern.components):
        if c.negated:
            for row in sase.forbidden(stream, bound, place):
                if sase.is_absence_broken(stream, bound, place, row):
                    yield Broken(
                        "negation", f"it is {a(quoted(c.type))}, which {c} forbids there", row, place
                    )
                    break


def _typed(kind: Any) -> str:
    return "of no type" if kind is None else a(quoted(str(kind)))


def first_broken(stream: Stream, bound: Bound) -> Broken | None:
    """The first rule that a binding breaks; None: it is a match."""
    return next(broken_rules(stream, bound), None)


def assignments(query: Resolved, rows: Sequence[int], most: int = 5000) -> Iterator[Bound]:
    """The ways in which events in order can be given to the components: one to a singleton, some to a Kleene one."""
    positives = query.pattern.positives

    def given(c: int, left: tuple[int, ...]) -> Iterator[Bound]:
        after = len(positives) - c - 1
        if after < 0:
            if not left:
                yield ()
            return
        longest = len(left) - after if positives[c].kleene else min(1, len(left) - after)
        for n in range(1, longest + 1):
            for rest in given(c + 1, left[n:]):
                yield (left[:n], *rest)

    return itertools.islice(given(0, tuple(rows)), most)
