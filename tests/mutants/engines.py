"""Engines that are wrong on purpose: the definition with one small function replaced.

A mutant is a function of the wrong engine, decorated with what is wrong and which worked cases of the corpus
catch it. Its name says what it replaces: `in_window__off_by_one` stands in the place of
`semantics.in_window`. `survey.py` lists for each which cases and how many random ones catch it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from augury import resolve
from augury.expr import interpret as reading
from augury.expr.tree import At, Attr
from augury.match import compressed, identity
from augury.pattern import Strategy
from augury.resolve import Moment
from augury.semantics import imprecise as uncertain
from augury.semantics import sase as semantics
from augury.semantics.sase import Bound, Match, Run, Stream

if TYPE_CHECKING:
    import pytest

right = {name: value for name, value in vars(semantics).items() if callable(value)}
"""The definition's functions as they were before anything was replaced."""
right_places, right_reads = resolve._moments, resolve._reads


@dataclass(frozen=True)
class Mutant:
    name: str
    wrong: str  # what it does wrong
    killers: tuple[str, ...]  # worked cases that it fails
    module: Any
    replaced: str
    function: Callable[..., Any]
    random: bool = True  # whether a few hundred random cases catch it too, not only a long soak

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(self.module, self.replaced, self.function)


MUTANTS: list[Mutant] = []


def mutant(
    wrong: str, *killers: str, of: Any = semantics, random: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        replaced = function.__name__.split("__")[0]
        MUTANTS.append(Mutant(function.__name__, wrong, killers, of, replaced, function, random))
        return function

    return register


def is_last(stream: Stream, bound: Bound) -> bool:
    return len(bound) == len(stream.query.pattern.positives)


def strategy(stream: Stream) -> Strategy:
    return stream.query.pattern.strategy


def inside_kleene(stream: Stream, bound: Bound) -> bool:
    return stream.query.pattern.positives[len(bound) - 1].kleene


# ------------------------------------------------------------------ windows


@mutant("the window is closed: events W apart fit", "window/half-open", "paper/query-1")
def in_window__closed(stream: Stream, first: int, last: int) -> bool:
    window = stream.query.window
    return window is None or stream.time(last) - stream.time(first) <= window


@mutant("the window is one instant short", "window/of-one", "window/timestamps-in-microseconds")
def in_window__short(stream: Stream, first: int, last: int) -> bool:
    window = stream.query.window
    return window is None or stream.time(last) - stream.time(first) < window - 1


@mutant("there is no window", "window/whole-match", "window/kleene-at-the-end")
def in_window__none(stream: Stream, first: int, last: int) -> bool:
    return True


# ------------------------------------------------------------------ Kleene components


@mutant("a series stops at two events", "predicate/leave-by-the-last-event", "paper/query-2")
def take__at_most_two(stream: Stream, bound: Bound, row: int) -> Bound | None:
    return None if len(bound[-1]) >= 2 else right["take"](stream, bound, row)


@mutant("a series is one event", "strategy/kleene-last-next", "paper/query-3")
def take__never(stream: Stream, bound: Bound, row: int) -> Bound | None:
    return None


@mutant("take does not test [attr]", "attr/kleene", "strategy/kleene-partition")
def take__of_any_partition(stream: Stream, bound: Bound, row: int) -> Bound | None:
    c = stream.query.pattern.positives[len(bound) - 1]
    extended = (*bound[:-1], (*bound[-1], row))
    good = right["is_type"](stream, row, c) and right["passes_tests"](stream, extended, Moment.TAKE)
    return extended if good else None


@mutant("take does not test predicates", "predicate/previous", "aggregate/running-avg")
def take__without_predicates(stream: Stream, bound: Bound, row: int) -> Bound | None:
    c = stream.query.pattern.positives[len(bound) - 1]
    good = right["is_type"](stream, row, c) and right["agrees"](stream, row, bound[0][0])
    return (*bound[:-1], (*bound[-1], row)) if good else None


@mutant(
    "what fits no Kleene component does not end its run",
    "strategy/kleene-strict",
    "predicate/previous-strict",
)
def may_pass__inside_kleene(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if used is None and inside_kleene(stream, bound):
        return True
    return bool(right["may_pass"](stream, bound, row, used))


@mutant(
    "a run ends with its first match", "strategy/kleene-last-strict", "predicate/leave-of-the-last-component"
)
def step__ends_when_complete(stream: Stream, run: Run, row: int) -> Iterator[Run]:
    if not right["is_complete"](stream, run):
        yield from right["step"](stream, run, row)


@mutant(
    "an event that is taken does not begin the next component as well",
    "strategy/take-proceed-strict",
    "paper/query-3",
)
def step__takes_or_proceeds(stream: Stream, run: Run, row: int) -> Iterator[Run]:
    for after in right["step"](stream, run, row):
        if not (run.inside and len(after.bound) > len(run.bound) and right["take"](stream, run.bound, row)):
            yield after


@mutant(
    "a run that leaves a series leaves it for good", "strategy/kleene-next", "strategy/written-without-braces"
)
def step__proceeds_for_good(stream: Stream, run: Run, row: int) -> Iterator[Run]:
    after = list(right["step"](stream, run, row))
    left = any(run.inside and len(a.bound) > len(run.bound) for a in after)
    yield from (a for a in after if not (left and a == run and strategy(stream) is Strategy.NEXT))


# ------------------------------------------------------------------ strategies


@mutant(
    "skip till next match retries: it passes over what begins",
    "strategy/begin-ignore-next",
    "paper/imprecise-query-1-next",
)
def may_pass__next_retries(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.NEXT and not inside_kleene(stream, bound):
        return True
    return bool(right["may_pass"](stream, bound, row, used))


@mutant(
    "skip till next match passes over what it can take", "strategy/kleene-next", "strategy/take-proceed-next"
)
def may_pass__next_leaves_out(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.NEXT and inside_kleene(stream, bound):
        return True
    return bool(right["may_pass"](stream, bound, row, used))


@mutant("skip till any match is skip till next match", "strategy/pair-any", "strategy/default")
def may_pass__any_is_next(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.ANY:
        return used is None
    return bool(right["may_pass"](stream, bound, row, used))


@mutant(
    "strict contiguity passes over what it cannot use",
    "strategy/pair-strict",
    "strategy/null-type-breaks-strict",
)
def may_pass__strict_skips(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.STRICT:
        return used is None
    return bool(right["may_pass"](stream, bound, row, used))


@mutant("strict contiguity passes over other partitions", "strategy/pair-strict", "attr/strict")
def may_pass__strict_is_partition(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.STRICT and stream.query.pattern.partition:
        return not right["agrees"](stream, row, bound[0][0])
    return bool(right["may_pass"](stream, bound, row, used))


@mutant("partition contiguity is strict", "strategy/pair-partition", "attr/partition")
def may_pass__partition_is_strict(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.PARTITION:
        return False
    return bool(right["may_pass"](stream, bound, row, used))


@mutant(
    "partition contiguity passes over its own partition",
    "strategy/pair-partition-broken",
    "paper/query-3-partition-contiguity",
)
def may_pass__partition_skips(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    if strategy(stream) is Strategy.PARTITION:
        return used is None
    return bool(right["may_pass"](stream, bound, row, used))


@mutant("an event of no partition breaks partition contiguity", "strategy/an-event-of-no-partition")
def may_pass__null_is_no_other_partition(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    unknown = any(stream.values[a][row] is None for a in stream.query.pattern.partition)
    if strategy(stream) is Strategy.PARTITION and unknown:
        return False
    return bool(right["may_pass"](stream, bound, row, used))


@mutant(
    "a run starts only while no other match has its first event behind it",
    "strategy/every-event-starts-a-run",
    "paper/query-3",
)
def positive_matches__one_at_a_time(stream: Stream, max_runs: int | None = None) -> Iterator[Bound]:
    first: dict[int, int] = {}
    for bound in right["positive_matches"](stream, max_runs):
        start, end = bound[0][0], bound[-1][-1]
        if not any(s < start <= e for s, e in first.items()):
            yield bound
        first[start] = max(first.get(start, end), end)


# ------------------------------------------------------------------ predicates


@mutant(
    "predicates of leaving are not tested", "predicate/length-on-leaving", "predicate/leave-by-the-last-event"
)
def passes_tests__leaves_freely(stream: Stream, bound: Bound, moment: Moment) -> bool:
    return moment is Moment.LEAVE or right["passes_tests"](stream, bound, moment)


@mutant(
    "predicates of leaving are tested at each take",
    "predicate/leave-by-the-last-event",
    "predicate/each-with-the-length",
)
def passes_tests__leave_at_take(stream: Stream, bound: Bound, moment: Moment) -> bool:
    if moment is Moment.TAKE and not right["passes_tests"](stream, bound, Moment.LEAVE):
        return False
    return bool(right["passes_tests"](stream, bound, moment))


@mutant(
    "leaving is tested at the end only, not between components",
    "predicate/leave-in-the-middle",
    "predicate/length-on-leaving",
)
def step__leaves_freely(stream: Stream, run: Run, row: int) -> Iterator[Run]:
    found = list(right["step"](stream, run, row))
    yield from found
    if (
        run.inside
        and not is_last(stream, run.bound)
        and not right["passes_tests"](stream, run.bound, Moment.LEAVE)
    ):
        begun = right["begin"](stream, run.bound, row)
        if begun is not None:
            yield right["entered"](stream, begun)


@mutant(
    "a match at a Kleene end needs no leave predicate",
    "predicate/leave-of-the-last-component",
    "aggregate/sum-on-leaving",
)
def is_complete__without_leaving(stream: Stream, run: Run) -> bool:
    return is_last(stream, run.bound)


@mutant(
    "a[i] is tested at i = 1 too",
    "predicate/current-is-not-the-first",
    "predicate/current-joined-by-a-later-variable",
)
def passes_tests__current_at_one(stream: Stream, bound: Bound, moment: Moment) -> bool:
    if moment is Moment.BEGIN and not right["passes_tests"](stream, bound, Moment.TAKE):
        return False
    return bool(right["passes_tests"](stream, bound, moment)) and not _fails_at_one(stream, bound, moment)


def _fails_at_one(stream: Stream, bound: Bound, moment: Moment) -> bool:
    """A test joined by a later variable fails for the first event."""
    query = stream.query
    place = query.pattern.components.index(query.pattern.positives[len(bound) - 1])
    named = right["bindings"](query, bound)
    current = (t for t in query.tests_at(place, moment) if any(at is At.CURRENT for _, at in t.forall))
    return any(
        right["evaluate"](stream.values, t.expr, named, dict.fromkeys((v for v, _ in t.forall), 0))
        is not True
        for t in current
    )


@mutant(
    "an aggregate over a[..i-1] includes the current event", "aggregate/running-max", "aggregate/running-sum"
)
def evaluate__with_the_current(values: Any, expr: Any, bound: Any, index: dict[str, int]) -> Any:
    def leaf(node: Any) -> Any:
        if getattr(node, "over", None) is At.BEFORE:
            chosen = range(index[node.var] + 1)
            found = [right["evaluate"](values, node.arg, bound, {**index, node.var: i}) for i in chosen]
            return right["aggregate"](node, found)
        return right["evaluate"](values, node, bound, index)

    return right["interpret"](expr, leaf)


@mutant("a[i-1] is the event before in the stream", "predicate/previous-any", "paper/query-2", random=False)
def evaluate__previous_in_the_stream(values: Any, expr: Any, bound: Any, index: dict[str, int]) -> Any:
    def leaf(node: Any) -> Any:
        if isinstance(node, Attr) and node.at is At.PREVIOUS:
            return values[node.name][bound[node.var][index[node.var]] - 1]
        return right["evaluate"](values, node, bound, index)

    return right["interpret"](expr, leaf)


@mutant("a[a.LEN] is a[1]", "predicate/last-joined", "predicate/leave-by-the-last-event")
def evaluate__last_is_first(values: Any, expr: Any, bound: Any, index: dict[str, int]) -> Any:
    def leaf(node: Any) -> Any:
        if isinstance(node, Attr) and node.at is At.LAST:
            return values[node.name][bound[node.var][0]]
        return right["evaluate"](values, node, bound, index)

    return right["interpret"](expr, leaf)


@mutant(
    "what must hold for each event need hold for some",
    "predicate/each-joined",
    "predicate/current-joined-by-a-later-variable",
)
def holds__for_some(stream: Stream, test: Any, bound: Any) -> bool:
    if not test.forall:
        return bool(right["holds"](stream, test, bound))
    own = stream.query.pattern.components[test.component].var
    fixed = {own: len(bound[own]) - 1} if own in bound else {}
    ranges = [range(0 if at is At.EACH else 1, len(bound[var])) for var, at in test.forall]
    chosen = [dict(zip((v for v, _ in test.forall), c, strict=True)) for c in itertools.product(*ranges)]
    values = [right["evaluate"](stream.values, test.expr, bound, {**fixed, **at}) is True for at in chosen]
    return not values or any(values)


@mutant(
    "a predicate that is unknown holds", "null/comparison", "null/not-in", "predicate/no-variables-unknown"
)
def holds__unless_false(stream: Stream, test: Any, bound: Any) -> bool:
    false = dataclasses.replace(test, expr=_is_false(test.expr))
    return (
        not right["holds"](stream, false, bound)
        if not test.forall
        else bool(right["holds"](stream, test, bound))
    )


def _is_false(expr: Any) -> Any:
    from augury.expr.tree import Unary

    return Unary("NOT", expr, type=expr.type)


# ------------------------------------------------------------------ aggregates


@mutant(
    "count counts nulls",
    "aggregate/all-integers",
    "aggregate/nothing-but-nulls",
    "aggregate/running-count",
    random=False,
)
def aggregate__counts_nulls(node: Any, values: list[Any]) -> Any:
    return len(values) if node.fn == "count" else right["aggregate"](node, values)


@mutant("sum and avg read null as 0", "aggregate/nothing-but-nulls", "aggregate/running-avg", random=False)
def aggregate__null_is_zero(node: Any, values: list[Any]) -> Any:
    zeros = [0 if v is None else v for v in values] if node.fn in ("sum", "avg") else values
    return right["aggregate"](node, zeros)


@mutant(
    "first and last skip nulls", "aggregate/first-and-last-keep-nulls", "aggregate/running-last", random=False
)
def aggregate__ends_skip_nulls(node: Any, values: list[Any]) -> Any:
    present = [v for v in values if v is not None] if node.fn in ("first", "last") else values
    return right["aggregate"](node, present)


@mutant("min and max skip NaN", "aggregate/all-doubles", random=False)
def aggregate__extremes_skip_nan(node: Any, values: list[Any]) -> Any:
    numbers = [v for v in values if v == v] if node.fn in ("min", "max") else values
    return right["aggregate"](node, numbers)


@mutant("integer sums do not overflow", "aggregate/overflow", "aggregate/overflow-on-the-way", random=False)
def aggregate__of_any_size(node: Any, values: list[Any]) -> Any:
    if node.fn == "sum" and all(isinstance(v, int) for v in values if v is not None):
        present = [v for v in values if v is not None]
        total = sum(present) if present else None
        return total if total is None or abs(total) < 2**63 else 2**63 - 1
    return right["aggregate"](node, values)


# ------------------------------------------------------------------ where predicates are put, what is read


@mutant("a predicate on a[i-1] alone is tested once", "predicate/the-one-before-by-itself", of=resolve)
def _moments__previous_at_begin(c: Any, forms: set[At]) -> tuple[Moment, ...]:
    found: tuple[Moment, ...] = right_places(c, forms)
    return () if forms == {At.PREVIOUS} else found


@mutant(
    "the first event need not satisfy a[].x", "predicate/each", "predicate/each-is-passed-over", of=resolve
)
def _moments__each_but_the_first(c: Any, forms: set[At]) -> tuple[Moment, ...]:
    found: tuple[Moment, ...] = right_places(c, forms)
    return (Moment.TAKE,) if len(found) == 2 else found


@mutant("what an [attr] test names is not read", "order/what-agrees-is-read", of=resolve)
def _reads__without_partitions(pattern: Any, columns: Any, roles: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = right_reads(pattern, columns, roles)
    return found if pattern.returns is None else tuple(n for n in found if n not in pattern.partition)


# ------------------------------------------------------------------ types, partitions, keys


@mutant(
    "names of types are compared without regard to case", "data/names-of-types-have-one-case", random=False
)
def is_type__in_any_case(stream: Stream, row: int, c: Any) -> bool:
    kind = stream.query.roles.type
    return kind is None or (stream.values[kind][row] or "").lower() == c.type.lower()


@mutant("a null type matches every component", "data/dictionary-type-column", "strategy/null-type-is-skipped")
def is_type__null_matches(stream: Stream, row: int, c: Any) -> bool:
    kind = stream.query.roles.type
    return kind is None or stream.values[kind][row] in (None, c.type)


@mutant("null equals null in [attr]", "attr/null-agrees-with-nothing", "attr/null-does-not-agree-with-itself")
def equal__nulls(left: Any, right_: Any) -> bool:
    return bool(left == right_)


@mutant("NaN equals NaN in [attr]", "attr/nan-agrees-with-nothing")
def equal__nans(left: Any, right_: Any) -> bool:
    both_nan = left is not None and right_ is not None and left != left and right_ != right_
    return both_nan or right["equal"](left, right_)


@mutant("-0.0 and 0.0 are two partitions", "attr/nan-agrees-with-nothing", "non-overlap/partitions")
def equal__by_sign(left: Any, right_: Any) -> bool:
    return right["equal"](left, right_) and str(left) == str(right_)


@mutant("of several [attr] one is enough", "attr/several", "attr/two-tests")
def agrees__in_some(stream: Stream, row: int, first: int) -> bool:
    tests = [
        right["equal"](stream.values[a][row], stream.values[a][first]) for a in stream.query.pattern.partition
    ]
    return not tests or any(tests) or row == first


@mutant("each NaN is a key of its own", "key/nans-are-one-key", random=False)
def key_value__nans_apart(value: Any) -> Any:
    return object() if value != value else (value,)


@mutant("each null is a key of its own", "key/nulls-are-one-key", random=False)
def key_value__nulls_apart(value: Any) -> Any:
    return object() if value is None else right["key_value"](value)


@mutant("-0.0 and 0.0 are two keys", "key/nans-are-one-key")
def key_value__by_sign(value: Any) -> Any:
    return (str(value),) if isinstance(value, float) else right["key_value"](value)


@mutant("there are no keys", "key/apart", "strategy/strict-within-a-key")
def key_value__one(value: Any) -> Any:
    return "the same"


# ------------------------------------------------------------------ order


@mutant("ties are swapped", "order/other-columns-in-schema-order", "order/the-type-is-a-column-too")
def stream_order__ties_swapped(table: Any, query: Any) -> list[int]:
    order = right["stream_order"](table, query)
    times = table.column(query.roles.time).to_pylist()
    groups = itertools.groupby(order, key=lambda row: times[row])
    return [row for _, group in groups for row in reversed(list(group))]


@mutant("ties stay as they arrived", "order/other-columns-in-schema-order", "order/tiebreak")
def stream_order__by_arrival(table: Any, query: Any) -> list[int]:
    times = table.column(query.roles.time).to_pylist()
    return sorted(range(table.num_rows), key=lambda row: times[row])


@mutant("the tiebreak is one column among the others", "order/tiebreak-of-several-columns", "order/tiebreak")
def stream_order__without_tiebreak(table: Any, query: Any) -> list[int]:
    roles = dataclasses.replace(query.roles, tiebreak=())
    return list(right["stream_order"](table, dataclasses.replace(query, roles=roles)))


@mutant("columns that are not read order too", "order/only-what-is-read", random=False)
def stream_order__by_all_columns(table: Any, query: Any) -> list[int]:
    everything = tuple(query.columns.types)
    return list(right["stream_order"](table, dataclasses.replace(query, reads=everything)))


@mutant("nulls come last", "order/nulls-first-and-nan-last", "order/false-before-true")
def _scalar_key__nulls_last(value: Any) -> tuple[Any, ...]:
    return (3,) if value is None else right["_scalar_key"](value)


@mutant("NaN comes before numbers", "order/nulls-first-and-nan-last")
def _scalar_key__nan_first(value: Any) -> tuple[Any, ...]:
    key: tuple[Any, ...] = right["_scalar_key"](value)
    return (0, 0) if key == (2,) else key


@mutant("strings are ordered without regard to case", "order/strings-by-code-point", random=False)
def _scalar_key__by_lower_case(value: Any) -> tuple[Any, ...]:
    return (1, value.lower()) if isinstance(value, str) else right["_scalar_key"](value)


# ------------------------------------------------------------------ negation


@mutant("negation is ignored", "negation/middle", "paper/query-1")
def survives__always(stream: Stream, bound: Bound) -> bool:
    return True


def _before(stream: Stream, place: int) -> int:
    return sum(not c.negated for c in stream.query.pattern.components[:place])


@mutant("leading negation is ignored", "negation/leading", "negation/everywhere")
def forbidden__not_leading(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    return [] if _before(stream, place) == 0 else right["forbidden"](stream, bound, place)


@mutant("trailing negation is ignored", "negation/trailing", "negation/everywhere")
def forbidden__not_trailing(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    return [] if _before(stream, place) == len(bound) else right["forbidden"](stream, bound, place)


@mutant("leading negation looks back from the match's start", "negation/leading")
def forbidden__leading_from_the_start(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    if _before(stream, place):
        return right["forbidden"](stream, bound, place)
    start, window = stream.time(bound[0][0]), stream.query.window
    return [r for r in stream.rows if r < bound[0][0] and start - stream.time(r) < window]


@mutant("trailing negation looks on from the match's end", "negation/trailing-outside")
def forbidden__trailing_from_the_end(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    if _before(stream, place) < len(bound):
        return right["forbidden"](stream, bound, place)
    end, window = stream.time(bound[-1][-1]), stream.query.window
    return [r for r in stream.rows if r > bound[-1][-1] and stream.time(r) - end < window]


@mutant("the window of leading negation is closed", "negation/leading")
def forbidden__leading_closed(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    if _before(stream, place):
        return right["forbidden"](stream, bound, place)
    end, window = stream.time(bound[-1][-1]), stream.query.window
    return [r for r in stream.rows if r < bound[0][0] and end - stream.time(r) <= window]


@mutant("the window of trailing negation is closed", "negation/trailing-outside")
def forbidden__trailing_closed(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    if _before(stream, place) < len(bound):
        return right["forbidden"](stream, bound, place)
    start, window = stream.time(bound[0][0]), stream.query.window
    return [r for r in stream.rows if r > bound[-1][-1] and stream.time(r) - start <= window]


@mutant(
    "leading and trailing negation are by time, not by stream order",
    "negation/trailing-at-the-same-time",
    "negation/leading-at-the-same-time",
)
def forbidden__ends_by_time(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    found = right["forbidden"](stream, bound, place)
    if 0 < _before(stream, place) < len(bound):
        return found
    ends = {stream.time(bound[0][0]), stream.time(bound[-1][-1])}
    return [r for r in found if stream.time(r) not in ends]


@mutant("bound events count as between", "negation/only-strictly-between")
def forbidden__with_the_bounds(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    before = _before(stream, place)
    if not 0 < before < len(bound):
        return right["forbidden"](stream, bound, place)
    return [r for r in stream.rows if bound[before - 1][-1] <= r <= bound[before][0]]


@mutant(
    "before the first and after the last includes them", "negation/leading-and-trailing-leave-out-the-match"
)
def forbidden__ends_included(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    before = _before(stream, place)
    extra = bound[0][0] if before == 0 else bound[-1][-1] if before == len(bound) else None
    found = list(right["forbidden"](stream, bound, place))
    return found if extra is None else [*found, extra]


@mutant("after a series means after its first event", "negation/after-a-kleene-component")
def forbidden__after_the_first(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    before = _before(stream, place)
    if not 0 < before < len(bound):
        return right["forbidden"](stream, bound, place)
    return [
        r for r in stream.rows if bound[before - 1][0] < r < bound[before][0] and r not in bound[before - 1]
    ]


@mutant("before a series means before its last event", "negation/before-a-kleene-component", random=False)
def forbidden__before_the_last(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    before = _before(stream, place)
    if not 0 < before < len(bound):
        return right["forbidden"](stream, bound, place)
    return [
        r for r in stream.rows if bound[before - 1][-1] < r < bound[before][-1] and r not in bound[before]
    ]


@mutant(
    "negated events need not agree in [attr]",
    "attr/negated-events-agree-too",
    "paper/query-1-equivalence-test",
)
def is_absence_broken__in_any_partition(stream: Stream, bound: Bound, place: int, row: int) -> bool:
    query = stream.query
    c = query.pattern.components[place]
    named = {**right["bindings"](query, bound), c.var: (row,)}
    tests = query.tests_at(place, Moment.ABSENT)
    return right["is_type"](stream, row, c) and all(right["holds"](stream, t, named) for t in tests)


@mutant("one predicate on the negated variable is enough", "negation/all-predicates")
def is_absence_broken__by_one_predicate(stream: Stream, bound: Bound, place: int, row: int) -> bool:
    query = stream.query
    c = query.pattern.components[place]
    named = {**right["bindings"](query, bound), c.var: (row,)}
    results = [right["holds"](stream, t, named) for t in query.tests_at(place, Moment.ABSENT)]
    fits = right["is_type"](stream, row, c) and right["agrees"](stream, row, bound[0][0])
    return fits and (not results or any(results))


@mutant(
    "predicates on the negated variable are not tested",
    "negation/by-itself",
    "paper/query-1",
    "negation/unknown-does-not-count",
)
def is_absence_broken__without_predicates(stream: Stream, bound: Bound, place: int, row: int) -> bool:
    c = stream.query.pattern.components[place]
    return bool(right["is_type"](stream, row, c) and right["agrees"](stream, row, bound[0][0]))


@mutant("under skip till next match a dropped match is tried again", "negation/not-retried")
def positive_matches__retried(stream: Stream, max_runs: int | None = None) -> Iterator[Bound]:
    pattern = stream.query.pattern
    found = list(right["positive_matches"](stream, max_runs))
    yield from found
    if pattern.strategy is Strategy.NEXT and any(c.negated for c in pattern.components):
        any_ = dataclasses.replace(stream.query, pattern=dataclasses.replace(pattern, strategy=Strategy.ANY))
        dropped = [b for b in found if not right["survives"](stream, b)]
        for other in right["positive_matches"](dataclasses.replace(stream, query=any_), max_runs):
            if other not in found and any(other[:-1] == b[:-1] and other[-1] > b[-1] for b in dropped):
                yield other


# ------------------------------------------------------------------ outputs


@mutant("the next match may start at the event where the last one ended", "non-overlap/starts-after-not-at")
def non_overlap__shares_an_event(found: Iterable[Match], partition: Any) -> list[Match]:
    reported: list[Match] = []
    frontier: dict[Any, int] = {}
    for m in sorted(found, key=lambda m: (m.last, *right["preference"](m))):
        where = (m.key, partition[m.first])
        if m.first >= frontier.get(where, -1):
            frontier[where] = m.last
            reported.append(m)
    return reported


@mutant(
    "the match that starts first wins, whenever it completes",
    "non-overlap/completes-first-beats-starts-first",
    random=False,
)
def non_overlap__by_start(found: Iterable[Match], partition: Any) -> list[Match]:
    reported: list[Match] = []
    frontier: dict[Any, int] = {}
    for m in sorted(found, key=lambda m: (m.first, m.last, *right["preference"](m))):
        where = (m.key, partition[m.first])
        if m.first > frontier.get(where, -1):
            frontier[where] = m.last
            reported.append(m)
    return reported


@mutant("non_overlap does not know [attr] partitions", "attr/non-overlap", "non-overlap/partitions")
def non_overlap__over_all_partitions(found: Iterable[Match], partition: Any) -> list[Match]:
    return list(right["non_overlap"](found, [()] * len(partition)))


@mutant("non_overlap does not know keys", "key/count-and-non-overlap")
def non_overlap__over_all_keys(found: Iterable[Match], partition: Any) -> list[Match]:
    keys = {m.positions: m.key for m in found}
    merged = [Match(m.bound, 0) for m in found]
    return [Match(m.bound, keys[m.positions]) for m in right["non_overlap"](merged, partition)]


@mutant("fewer events are preferred", "non-overlap/more-events-rather-than-fewer", "longest/last-to-complete")
def preference__fewer(match: Match) -> tuple[Any, ...]:
    return (match.first, len(match.positions), match.positions, match.bound)


@mutant("the last start is preferred", "non-overlap/first-to-complete", "paper/query-3")
def preference__reversed(match: Match) -> tuple[Any, ...]:
    return (-match.first, match.positions, match.bound)


@mutant("equal positions are told apart the other way round", "non-overlap/variable-by-variable")
def preference__longest_variable_first(match: Match) -> tuple[Any, ...]:
    return (match.first, match.positions, tuple(-len(own) for own in match.bound))


@mutant("variables are compared before positions", "non-overlap/by-positions-before-variables")
def preference__by_variable(match: Match) -> tuple[Any, ...]:
    return (match.first, match.bound)


@mutant("longest is the first to complete", "longest/last-to-complete", "longest/kleene-at-the-end")
def longest__shortest(found: Iterable[Match]) -> list[Match]:
    best: dict[int, Match] = {}
    for m in sorted(found, key=lambda m: (m.last, *right["preference"](m))):
        best.setdefault(m.first, m)
    return list(best.values())


@mutant("longest is one for each key", "longest/strict-runs", "paper/query-3")
def longest__one_for_each_key(found: Iterable[Match]) -> list[Match]:
    best: dict[int, Match] = {}
    for m in sorted(found, key=lambda m: (-m.last, *right["preference"](m))):
        best.setdefault(m.key, m)
    return list(best.values())


@mutant("matches that read the same are reported once", "order/equal-rows-each-count", "return/match-id")
def matches__without_duplicates(
    table: Any, query: Any, max_runs: int | None = None, cost: Any = None
) -> list[Match]:
    values = [repr(row) for row in table.select(list(query.reads)).to_pylist()]
    found = right["matches"](table, query, max_runs, cost)
    return list(
        {(m.key, *(tuple(values[r] for r in own) for own in m.bound)): m for m in reversed(found)}.values()
    )


@mutant("counts stop at two", "count/by-event", "paper/query-3-skip-till-any-match")
def counted__capped(found: Iterable[Match]) -> list[tuple[int, int]]:
    return [(row, min(n, 2)) for row, n in right["counted"](found)]


@mutant(
    "the events that complete matches are counted, not the matches", "count/by-event", "count/ignores-return"
)
def counted__events(found: Iterable[Match]) -> list[tuple[int, int]]:
    return [(row, 1) for row, _ in right["counted"](found)]


@mutant("compressed rows lose the matches that share their first event", "strategy/kleene-any", of=compressed)
def _trie__one_for_each_start(found: list[Bound]) -> list[tuple[int, int, int, int]]:
    return list(TRIE(list({b[0][0]: b for b in found}.values())))


TRIE = compressed._trie


@mutant("equal matches get one match_id", "return/match-id", of=identity, random=False)
def _ordinals__all_zero(lanes: Any) -> Any:
    return lanes * 0


@mutant("NaN is less than any number for min and max", "aggregate/all-doubles", of=reading, random=False)
def is_less__nan_least(left: Any, right_: Any) -> bool:
    if left != left or right_ != right_:
        return bool(left != left and right_ == right_)
    return bool(left < right_)


# ------------------------------------------------------------------ imprecise times

right_uncertain = {name: value for name, value in vars(uncertain).items() if callable(value)}


@mutant(
    "events at one instant spoil each other",
    "uncertain/both-can-be-next",
    of=uncertain,
    random=False,
)
def unspoiled__at_the_end_too(stream: Stream, signature: Any, point: Any, when: Any, begins: Any) -> Fraction:
    later = (point[0], *(t + 1 for t in point[1:]))
    return right_uncertain["unspoiled"](stream, signature, later, when, begins)


@mutant("an event spoils one gap alone", "uncertain/two-gaps", of=uncertain, random=False)
def unspoiled__first_gap(stream: Stream, signature: Any, point: Any, when: Any, begins: Any) -> Fraction:
    return right_uncertain["unspoiled"](stream, signature[:2], point[:2], when, begins)


@mutant(
    "nothing spoils a match",
    "uncertain/the-papers-figure-next",
    "uncertain/tight-range",
    of=uncertain,
    random=False,
)
def unspoiled__never(stream: Stream, signature: Any, point: Any, when: Any, begins: Any) -> Fraction:
    return Fraction(1)


@mutant(
    "the last instant of a window is in it",
    "uncertain/the-papers-figure",
    "uncertain/dates",
    of=uncertain,
    random=False,
)
def fits__closed(stream: Stream, first: int, last: int) -> bool:
    return right_uncertain["fits"](stream, first, last - 1)


@mutant(
    "every instant is as likely as another",
    "uncertain/pmf",
    "uncertain/impossible-instants",
    of=uncertain,
    random=False,
)
def chances__uniform(table: Any, query: Any, of: Any) -> Any:
    return right_uncertain["chances"](table, query, dataclasses.replace(of, pmf=None))


@mutant("the range is that of the whole intervals", "uncertain/tight-range", of=uncertain, random=False)
def collapsed__wide(signature: Any, points: Any) -> Any:
    found = right_uncertain["collapsed"](signature, points)
    return dataclasses.replace(found, end=found.end + 1)


@mutant("confidences must be more than the least", "uncertain/min-confidence", of=uncertain, random=False)
def enough__more(confidence: Fraction, least: float) -> bool:
    return confidence > Fraction(least)


@mutant("the least confident rows are kept", "uncertain/top", of=uncertain, random=False)
def top__least(found: Any, k: int | None) -> Any:
    return sorted(found, key=lambda f: (f.confidence, f.signature))[:k]
