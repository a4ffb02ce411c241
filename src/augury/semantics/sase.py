"""The definition: which matches a query has on a finite stream. Engine zero, and the judge of all others.

Plain Python, one event at a time, no fast path: it follows the words of the reference (runs that bind,
take, leave and pass over), keeps every run apart, and filters complete matches by negation last.

    table ─ stream_order ─> events ─ by key ─> runs ─> matches ─ negation ─> output (all, count, …)

Small functions with names of their own, so that tests can break one at a time and see it noticed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError, LimitError
from augury.expr.columns import physical_values
from augury.expr.interpret import aggregate, interpret
from augury.expr.tree import Agg, At, Attr, Expr, Len, walk
from augury.expr.types import INT64_MAX, INT64_MIN, from_arrow, storage
from augury.match.gather import decoded
from augury.pattern import Component, Strategy, references
from augury.resolve import Moment, Resolved, Test

Bound = tuple[tuple[int, ...], ...]
"""For each positive component, in order, the positions of its events in the stream."""


Values = dict[str, list[Any]]
"""For each column the physical values of all rows."""


class Run(NamedTuple):
    """A computation: what is bound so far, and the positive component that it stands at."""

    bound: Bound
    at: int  # waiting for this component, or inside it
    inside: bool


class Match(NamedTuple):
    """A complete binding. Positions are rows of the ordered table."""

    bound: Bound
    key: int  # which of the key's streams it belongs to

    @property
    def first(self) -> int:
        return self.bound[0][0]

    @property
    def last(self) -> int:
        return self.bound[-1][-1]

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(itertools.chain.from_iterable(self.bound))


@dataclass
class Cost:
    """What it took: the measures of the papers."""

    predicate_evaluations: int = 0
    peak_runs: int = 0
    runs_begun: int = 0
    run_steps: int = 0


@dataclass(frozen=True)
class Stream:
    """The events of one key in stream order; `values[column][row]` are physical values of all rows."""

    rows: Sequence[int]
    values: Values
    query: Resolved
    cost: Cost = field(default_factory=Cost)

    def time(self, row: int) -> int:
        time: int = self.values[self.query.roles.time][row]
        return time


# ------------------------------------------------------------------ the stream's order


def stream_order(table: pa.Table, query: Resolved) -> list[int]:
    """The rows in stream order: time, tiebreak, then the other columns that are read, in schema order."""
    roles = query.roles
    leading = list(dict.fromkeys([roles.time, *roles.tiebreak]))
    names = leading + [name for name in query.reads if name not in leading]
    keys = [order_keys(table.column(name)) for name in names]
    return sorted(
        range(table.num_rows), key=lambda row: ([k[row][0] for k in keys], [k[row][1] for k in keys])
    )


def order_keys(column: pa.Array | pa.ChunkedArray) -> list[tuple[Any, Any]]:
    """For each value what it is ordered by, and what tells equals apart that differ in the data:
    the sign of a zero, the nanoseconds that an instant does not count.
    """
    stored = storage(column.type)
    if pa.types.is_nested(stored):
        return _nested_keys(decoded(column))
    if pa.types.is_interval(stored):
        return [((0,) if v is None else (1, v), 0) for v in column.to_pylist()]
    if pa.types.is_timestamp(stored) or pa.types.is_duration(stored):
        # As stored: what 64 bits of microseconds do not hold has its place, too.
        exact = decoded(column).cast(pa.int64()).to_pylist()
        part = 1000 if stored.unit == "ns" else 1
        return [((0,), 0) if v is None else ((1, v // part), v % part) for v in exact]
    values = physical_values(column, from_arrow(column.type))
    return [(_scalar_key(v), _is_negative_zero(v)) for v in values]


def _scalar_key(value: Any) -> tuple[Any, ...]:
    """Nulls first, NaN last."""
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)


def _nested_keys(array: pa.Array) -> list[tuple[Any, Any]]:
    """Structs and lists lexicographically, field by field; what is in a union by its type, then its value."""
    if pa.types.is_union(array.type):
        return _union_keys(array)
    if pa.types.is_struct(array.type):
        fields = [order_keys(field) for field in array.flatten()]
        parts: list[list[tuple[Any, Any]]] = [[keys[row] for keys in fields] for row in range(len(array))]
    else:
        if pa.types.is_map(array.type):
            array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
        items = iter(order_keys(pc.list_flatten(array)))
        lengths = pc.list_value_length(array).fill_null(0).to_pylist()
        parts = [list(itertools.islice(items, length)) for length in lengths]
    return [
        ((1, tuple(k for k, _ in part)), tuple(f for _, f in part)) if present else ((0,), 0)
        for part, present in zip(parts, array.is_valid().to_pylist(), strict=True)
    ]


def _union_keys(array: pa.Array) -> list[tuple[Any, Any]]:
    array = array.take(
        pa.array(range(len(array)), pa.int64())
    )  # of a slice Arrow gives the types of all rows
    codes = array.type_codes.to_pylist()
    rows = range(len(array)) if array.type.mode == "sparse" else array.offsets.to_pylist()
    children = {code: order_keys(array.field(i)) for i, code in enumerate(array.type.type_codes)}
    found = [(code, *children[code][row]) for code, row in zip(codes, rows, strict=True)]
    return [(key if key == (0,) else (1, code, key), fine) for code, key, fine in found]


def _is_negative_zero(value: Any) -> int:
    return -1 if isinstance(value, float) and value == 0 and str(value)[0] == "-" else 0


def streams(table: pa.Table, query: Resolved) -> list[Stream]:
    """One stream for each key; nulls are one key, NaNs are one, -0.0 is 0.0."""
    named = {*query.reads, query.roles.time, *query.roles.key}
    values = {name: physical_values(table.column(name), query.columns.types[name]) for name in named}
    if any(t is None or not INT64_MIN <= t <= INT64_MAX for t in values[query.roles.time]):
        raise DataError(f"the time column {query.roles.time} holds a time that 64 bits do not")
    parts: dict[tuple[Any, ...], list[int]] = {}
    for row in range(table.num_rows):
        key = tuple(key_value(values[name][row]) for name in query.roles.key)
        parts.setdefault(key, []).append(row)
    return [Stream(rows, values, query) for rows in parts.values()]


def key_value(value: Any) -> Any:
    return "NaN" if value != value else (value,)


# ------------------------------------------------------------------ predicates


def holds(stream: Stream, test: Test, bound: dict[str, tuple[int, ...]]) -> bool:
    """Whether a predicate is true (not unknown), for each event that it stands for."""
    stream.cost.predicate_evaluations += 1
    own = stream.query.pattern.components[test.component].var
    fixed = {own: len(bound[own]) - 1} if own in bound else {}
    ranges = [range(0 if at is At.EACH else 1, len(bound[var])) for var, at in test.forall]
    variables = [var for var, _ in test.forall]
    return all(
        evaluate(stream.values, test.expr, bound, {**fixed, **dict(zip(variables, chosen, strict=True))})
        is True
        for chosen in itertools.product(*ranges)
    )


def evaluate(values: Values, expr: Expr, bound: dict[str, tuple[int, ...]], index: dict[str, int]) -> Any:
    """The value of an expression; `index` says which event of a variable is the current one."""

    def leaf(node: Attr | Len | Agg) -> Any:
        events = bound[node.var]
        match node:
            case Len():
                return len(events)
            case Agg():
                chosen = range(len(events) if node.over is At.EACH else index[node.var])
                return aggregate(
                    node, [evaluate(values, node.arg, bound, {**index, node.var: i}) for i in chosen]
                )
            case Attr(at=At.ONE | At.FIRST):
                row = events[0]
            case Attr(at=At.LAST):
                row = events[-1]
            case Attr(at=At.PREVIOUS):
                row = events[index[node.var] - 1]
            case _:
                row = events[index[node.var]]
        return values[node.name][row]

    return interpret(expr, leaf)


def bindings(query: Resolved, bound: Bound) -> dict[str, tuple[int, ...]]:
    return {c.var: rows for c, rows in zip(query.pattern.positives, bound, strict=False)}


def is_type(stream: Stream, row: int, c: Component) -> bool:
    kind = stream.query.roles.type
    return kind is None or stream.values[kind][row] == c.type


def agrees(stream: Stream, row: int, first: int) -> bool:
    """The [attr] tests: equal to the first event's value. Null (and NaN) agrees with nothing."""
    return all(equal(stream.values[a][row], stream.values[a][first]) for a in stream.query.pattern.partition)


def equal(left: Any, right: Any) -> bool:
    return left is not None and right is not None and bool(left == right)


def in_window(stream: Stream, first: int, last: int) -> bool:
    window = stream.query.window
    return window is None or stream.time(last) - stream.time(first) < window


# ------------------------------------------------------------------ runs


def passes_tests(stream: Stream, bound: Bound, moment: Moment) -> bool:
    """The predicates of the last bound component at this moment."""
    query = stream.query
    c = query.pattern.positives[len(bound) - 1]
    place = query.pattern.components.index(c)
    return all(holds(stream, t, bindings(query, bound)) for t in query.tests_at(place, moment))


def begin(stream: Stream, bound: Bound, row: int) -> Bound | None:
    """The next component bound to the event, if begin holds."""
    c = stream.query.pattern.positives[len(bound)]
    extended = (*bound, (row,))
    first = extended[0][0]
    good = (
        is_type(stream, row, c)
        and agrees(stream, row, first)
        and passes_tests(stream, extended, Moment.BEGIN)
    )
    return extended if good else None


def take(stream: Stream, bound: Bound, row: int) -> Bound | None:
    """The Kleene component that the run is inside grown by the event, if take holds."""
    c = stream.query.pattern.positives[len(bound) - 1]
    extended = (*bound[:-1], (*bound[-1], row))
    good = (
        is_type(stream, row, c)
        and agrees(stream, row, bound[0][0])
        and passes_tests(stream, extended, Moment.TAKE)
    )
    return extended if good else None


def may_pass(stream: Stream, bound: Bound, row: int, used: Bound | None) -> bool:
    """Whether a run may pass over an event; `used` is what begin (or take) would make of it."""
    match stream.query.pattern.strategy:
        case Strategy.ANY:
            return True
        case Strategy.NEXT:
            return used is None
        case Strategy.PARTITION:
            return not agrees(stream, row, bound[0][0])
        case Strategy.STRICT:
            return False


def entered(stream: Stream, bound: Bound) -> Run:
    """The run after its last component was bound."""
    at = len(bound) - 1
    if stream.query.pattern.positives[at].kleene:
        return Run(bound, at, inside=True)
    return Run(bound, at + 1, inside=False)


def step(stream: Stream, run: Run, row: int) -> Iterator[Run]:
    """Everything that a run can do with the next event, each in a run of its own."""
    positives = stream.query.pattern.positives
    if not run.inside:
        used = begin(stream, run.bound, row)
        if used is not None:
            yield entered(stream, used)
    else:
        used = take(stream, run.bound, row)
        if used is not None:
            yield Run(used, run.at, inside=True)
        if run.at + 1 < len(positives) and passes_tests(stream, run.bound, Moment.LEAVE):
            begun = begin(stream, run.bound, row)
            if begun is not None:
                yield entered(stream, begun)
    if may_pass(stream, run.bound, row, used):
        yield run


def is_complete(stream: Stream, run: Run) -> bool:
    if len(run.bound) < len(stream.query.pattern.positives):
        return False
    return not run.inside or passes_tests(stream, run.bound, Moment.LEAVE)


def positive_matches(stream: Stream, max_runs: int | None = None) -> Iterator[Bound]:
    """The matches of the positive components, in order of completion."""
    runs: list[Run] = []
    for row in stream.rows:
        stepped: list[Run] = []
        for run in runs:
            if in_window(stream, run.bound[0][0], row):
                stepped.extend(step(stream, run, row))
        begun = begin(stream, (), row)
        if begun is not None:
            stepped.append(entered(stream, begun))
            stream.cost.runs_begun += 1
        if max_runs is not None and len(stepped) > max_runs:
            raise LimitError(too_many_runs(stream, len(stepped), max_runs))
        stream.cost.peak_runs = max(stream.cost.peak_runs, len(stepped))
        yield from (r.bound for r in stepped if r.bound[-1][-1] == row and is_complete(stream, r))
        runs = [r for r in stepped if r.inside or r.at < len(stream.query.pattern.positives)]
        stream.cost.run_steps += len(runs)


def too_many_runs(stream: Stream, live: int, max_runs: int) -> str:
    key = {name: stream.values[name][stream.rows[0]] for name in stream.query.roles.key}
    where = f" (key {', '.join(f'{k}={v!r}' for k, v in key.items())})" if key else ""
    return f"{live} live runs exceed max_runs={max_runs}{where}; narrow WITHIN or the predicates, or raise max_runs"


# ------------------------------------------------------------------ negation


def survives(stream: Stream, bound: Bound) -> bool:
    """No event stands where a negated component says that there is none."""
    components = stream.query.pattern.components
    return not any(
        is_absence_broken(stream, bound, place, row)
        for place, c in enumerate(components)
        if c.negated
        for row in forbidden(stream, bound, place)
    )


def forbidden(stream: Stream, bound: Bound, place: int) -> Iterable[int]:
    """The events that stand where a negated component does."""
    components = stream.query.pattern.components
    before = sum(not c.negated for c in components[:place])
    window = stream.query.window
    if before == 0:
        assert window is not None
        end = stream.time(bound[-1][-1])
        return (r for r in stream.rows if r < bound[0][0] and end - stream.time(r) < window)
    if before == len(bound):
        assert window is not None
        start = stream.time(bound[0][0])
        return (r for r in stream.rows if r > bound[-1][-1] and stream.time(r) - start < window)
    return (r for r in stream.rows if bound[before - 1][-1] < r < bound[before][0])


def is_absence_broken(stream: Stream, bound: Bound, place: int, row: int) -> bool:
    """Whether this event is one whose absence the negated component asks for."""
    query = stream.query
    c = query.pattern.components[place]
    bound_too = {**bindings(query, bound), c.var: (row,)}
    return (
        is_type(stream, row, c)
        and agrees(stream, row, bound[0][0])
        and all(holds(stream, t, bound_too) for t in query.tests_at(place, Moment.ABSENT))
    )


# ------------------------------------------------------------------ outputs


def matches(
    table: pa.Table, query: Resolved, max_runs: int | None = None, cost: Cost | None = None
) -> list[Match]:
    """All matches on an ordered table."""
    cost = Cost() if cost is None else cost
    return [
        Match(bound, key)
        for key, stream in enumerate(replace(s, cost=cost) for s in streams(table, query))
        for bound in positive_matches(stream, max_runs)
        if survives(stream, bound)
    ]


def preference(match: Match) -> tuple[Any, ...]:
    """Among matches that complete with one event: the earliest start, then more events, then by variable."""
    return (match.first, match.positions, match.bound)


def non_overlap(found: Iterable[Match], partition: Sequence[Any]) -> list[Match]:
    """In each partition the first to complete wins, and the next one starts after it."""
    reported: list[Match] = []
    frontier: dict[Any, int] = {}
    for m in sorted(found, key=lambda m: (m.last, *preference(m))):
        where = (m.key, partition[m.first])
        if m.first > frontier.get(where, -1):
            frontier[where] = m.last
            reported.append(m)
    return reported


def longest(found: Iterable[Match]) -> list[Match]:
    """Of the matches with one first event the last to complete."""
    best: dict[int, Match] = {}
    for m in sorted(found, key=lambda m: (-m.last, *preference(m))):
        best.setdefault(m.first, m)
    return sorted(best.values(), key=lambda m: (m.last, *preference(m)))


def partitions(table: pa.Table, query: Resolved) -> list[Any]:
    """For each row the values of its [attr] partition."""
    columns = [physical_values(table.column(a), query.columns.types[a]) for a in query.pattern.partition]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def select(found: list[Match], output: str, table: pa.Table, query: Resolved) -> list[Match]:
    """The matches that an output reports."""
    match output:
        case "non_overlap":
            return non_overlap(found, partitions(table, query))
        case "longest":
            return longest(found)
    return sorted(found, key=lambda m: (m.last, *preference(m)))


def counted(found: Iterable[Match]) -> list[tuple[int, int]]:
    """(last event, how many matches complete at it), in stream order."""
    ends = sorted(m.last for m in found)
    return [(row, len(list(group))) for row, group in itertools.groupby(ends)]


def returned(found: Sequence[Bound], expr: Expr, table: pa.Table, query: Resolved) -> list[Any]:
    """The values of one item of RETURN: one for each match, a list where it reads `a[].x`."""
    names = {node.name for node in walk(expr) if isinstance(node, Attr)}
    columns = {name: physical_values(table.column(name), query.columns.types[name]) for name in names}
    each = next((var for var, at, _ in references(expr) if at is At.EACH), None)
    values: list[Any] = []
    for match in found:
        bound = bindings(query, match)
        if each is None:
            values.append(evaluate(columns, expr, bound, {}))
        else:
            values.append([evaluate(columns, expr, bound, {each: i}) for i in range(len(bound[each]))])
    return values
