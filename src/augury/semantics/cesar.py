"""The definition of CESAR: an expression's events on a finite stream, as sets.

    table ─ by key ─> base streams ─ operator by operator ─> a set of events ⟨attributes; start, end⟩

Every operator is written as the reference has it, over all pairs of events. Nothing is ordered, indexed or merged; a
set is a dictionary from what an event is to the event, in which null is null, NaN is NaN and -0.0 is 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augury.algebra import DUR, LAST
from augury.expr.columns import physical_values
from augury.expr.interpret import interpret
from augury.expr.tree import Agg, Attr, Expr, Len
from augury.expr.types import Kind
from augury.resolve_cesar import Either, Filter, Next, Op, Round, Rounds, Source, Span, Typed, Unary
from augury.schema import Columns
from augury.semantics.sase import order_keys

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Event:
    """Attributes by name, as `interpret` takes them, and the first and last instant."""

    values: dict[str, Any]
    start: int
    end: int

    def joined(self, later: Event) -> Event:
        """e1^e2: the later one's values overwrite."""
        return Event({**self.values, **later.values}, self.start, later.end)


Set = dict[Any, Event]


@dataclass(slots=True)
class Cost:
    """How often predicates were asked."""

    predicate_evaluations: int = 0


def events(
    table: pa.Table, query: Typed, columns: Columns, span: Span
) -> list[tuple[tuple[Any, ...], Event]]:
    """The expression's events over a table, each with its key, in no order. Rows must have times."""
    cost = Cost()
    found: list[tuple[tuple[Any, ...], Event]] = []
    for key, rows in _by_key(table, columns, span).items():
        stream = _Stream(table, rows, columns, span, cost)
        found.extend((key, event) for event in stream.evaluate(query).values())
    return found


def _by_key(table: pa.Table, columns: Columns, span: Span) -> dict[tuple[Any, ...], list[int]]:
    """The rows of each key, by its values; nulls are one key, NaNs one, -0.0 is 0.0."""
    values = [physical_values(table.column(k), columns.types[k]) for k in span.key]
    names = [[identity(v) for v in column] for column in values]
    of: dict[Any, tuple[Any, ...]] = {}
    rows: dict[Any, list[int]] = {}
    for row in range(table.num_rows):
        name = tuple(column[row] for column in names)
        of.setdefault(name, tuple(plain(column[row]) for column in values))
        rows.setdefault(name, []).append(row)
    return {of[name]: those for name, those in rows.items()}


class _Stream:
    """The events of one key."""

    def __init__(
        self, table: pa.Table, rows: Sequence[int], columns: Columns, span: Span, cost: Cost
    ) -> None:
        self.table = table
        self.rows = rows
        self.columns = columns
        self.span = span
        self.cost = cost
        self._values: dict[str, list[Any]] = {}

    def _column(self, name: str) -> list[Any]:
        if name not in self._values:
            column = self.table.column(name)
            type_ = self.columns.types[name]
            self._values[name] = physical_values(column, type_)
            if type_.kind is Kind.OPAQUE:
                self._values[name] = [
                    None if value is None else Nested(key, value)
                    for key, value in zip(order_keys(column), column.to_pylist(), strict=True)
                ]
        return self._values[name]

    # -------------------------------------------------------------- operators

    def evaluate(self, query: Typed) -> Set:
        match query:
            case Source():
                return self._source(query)
            case Unary():
                return _set(self._through(query.ops, self.evaluate(query.arg).values()))
            case Either():
                return _set([*self.evaluate(query.left).values(), *self.evaluate(query.right).values()])
            case Next():
                return self._next(self.evaluate(query.left), self.evaluate(query.right), query.round)
            case Rounds():
                return self._rounds(query)

    def _source(self, query: Source) -> Set:
        starts, ends = self._column(self.span.start), self._column(self.span.end)
        types = None if self.span.type is None else self._column(self.span.type)
        return _set(
            Event({name: self._column(name)[row] for name in query.attrs}, starts[row], ends[row])
            for row in self.rows
            if types is None or types[row] == query.type
        )

    def _next(self, firsts: Set, seconds: Set, round_: Round) -> Set:
        """{ e1^e2 ⊨ θ : no e' in S2 with e'.end < e2.end and e1^e' ⊨ θ }, and the round's operators on it."""
        found: list[Event] = []
        for e1 in firsts.values():
            fit = [
                e2
                for e2 in seconds.values()
                if e1.end < e2.start and self._holds(round_.on, e1.joined(e2), e1)
            ]
            soonest = min((e2.end for e2 in fit), default=None)
            for e2 in fit:
                if e2.end == soonest:
                    found.extend(self._through(round_.ops, [e1.joined(e2)], e1))
        return _set(found)

    def _rounds(self, query: Rounds) -> Set:
        """The union of S[n] for n ≥ 1. Ends grow from round to round, so there is a last one."""
        seconds = self.evaluate(query.right)
        latest = self._next(self.evaluate(query.left), seconds, query.first)
        every: Set = {}
        while latest:
            every = _set([*every.values(), *latest.values()])
            latest = self._next(latest, seconds, query.again)
        return every

    def _through(
        self, ops: tuple[Op, ...], given: Iterable[Event], before: Event | None = None
    ) -> Iterable[Event]:
        for event in given:
            found: Event | None = event
            for op in ops:
                assert found is not None
                if isinstance(op, Filter):
                    found = found if self._holds(op.condition, found, before) else None
                else:
                    values = {n: self._value(e, found, before) for n, e in op.outputs.items()}
                    found = Event(values, found.start, found.end)
                if found is None:
                    break
            if found is not None:
                yield found

    # -------------------------------------------------------------- expressions

    def _holds(self, condition: Expr | None, event: Event, before: Event | None) -> bool:
        if condition is None:
            return True
        self.cost.predicate_evaluations += 1
        return self._value(condition, event, before) is True

    def _value(self, expr: Expr, event: Event, before: Event | None) -> Any:
        def leaf(node: Attr | Len | Agg) -> Any:
            assert isinstance(node, Attr)
            if node.var == LAST:
                assert before is not None
                return before.values[node.name]
            if node.name == DUR:
                return duration(event.start, event.end, self.span)
            return event.values[node.name]

        if isinstance(expr, Attr):
            return leaf(expr)
        return interpret(expr, leaf)


def duration(start: int, end: int, span: Span) -> int:
    """DUR: how many instants an event spans, in the unit that it is compared in."""
    return (end - start + 1) * span.unit


# ------------------------------------------------------------------ sets


@dataclass(frozen=True, slots=True)
class Nested:
    """A struct or a map, which nothing is computed with: equal by what is in it."""

    key: Any
    value: Any = field(compare=False)


def identity(value: Any) -> Any:
    """What two values have in common if a set holds them once: 1 is 1.0, but TRUE is not 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", *map(identity, value))
    if value != value:
        return "NaN"
    return value + 0.0 if isinstance(value, float) else value


def plain(value: Any) -> Any:
    """A key's value: there is one zero."""
    return value + 0.0 if isinstance(value, float) else value


def _set(given: Iterable[Event]) -> Set:
    """Of events that differ in the signs of zeros alone, the one whose zeros are positive first."""
    found: Set = {}
    for event in given:
        name = tuple((n, identity(v)) for n, v in sorted(event.values.items())), event.start, event.end
        if name not in found or _signs(event) < _signs(found[name]):
            found[name] = event
    return found


def _signs(event: Event) -> list[bool]:
    return [
        isinstance(v, float) and v == 0 and math.copysign(1, v) < 0 for _, v in sorted(event.values.items())
    ]
