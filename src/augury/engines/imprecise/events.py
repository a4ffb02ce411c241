"""A table as joins over intervals see it: events in stream order, and for each slot of the pattern its candidates.

table ─ order, partitions ─> Events ─┬─ slots: what one event tells by itself (type, predicates on it alone)
                                     ├─ classes: values that equality tests make slots share, as codes
                                     └─ tests: what relates events of several slots, tried on whole columns
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.engines.batch import dense, prepare
from augury.engines.compiling import compiled
from augury.engines.imprecise.times import Times, times_of
from augury.errors import DataError
from augury.expr.columns import Column, evaluate, from_arrow, truth
from augury.expr.domain import Texts
from augury.expr.functions import calls_python
from augury.expr.physical import encoded, take
from augury.expr.tree import At, Attr, Binary, Expr, Literal, typed
from augury.expr.types import BOOL, STRING, Kind
from augury.match.rows import taken
from augury.pattern import Strategy, references
from augury.resolve import Resolved, Test
from augury.uncertain import Imprecise

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COMPILED_FROM = 20_000  # steps of a loop from which compiling it is worth its start
FAR = 1 << 61  # instants and windows stay below this
CODED_TEXTS = frozenset({Kind.STRING, Kind.BINARY})
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIME, Kind.DURATION})
_SHARED = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, *_TIMES, *CODED_TEXTS})


@dataclass(frozen=True, slots=True)
class Question:
    """A query that met its data, and what is imprecise in that."""

    query: Resolved
    of: Imprecise

    @property
    def size(self) -> int:
        return len(self.query.pattern.positives)

    @property
    def next(self) -> bool:
        """Whether other events can spoil a match: where there is a gap."""
        return self.query.pattern.strategy is Strategy.NEXT and self.size > 1

    @property
    def window(self) -> int:
        """In instants; -1: none. Of wider ones than there are instants it says the same."""
        return -1 if self.query.window is None else min(self.query.window, FAR)

    def places(self, test: Test) -> frozenset[int]:
        """The slots whose events a test needs."""
        variables = [c.var for c in self.query.pattern.positives]
        found = frozenset(variables.index(var) for var, _, _ in references(test.expr))
        return found or frozenset({test.component})


class Events:
    """The events of a table that are in a partition, in stream order; instants are counted from the earliest."""

    def __init__(self, question: Question, table: pa.Table, *, fast: bool | None = None) -> None:
        self.question = question
        self.table = table
        self.fast = fast
        query = replace(question.query, window=None)  # a window's edge is none of the order's
        partition = question.query.pattern.partition
        batch = prepare(table, query, partition, breaks=False, fast=self.is_long(table.num_rows))
        self.order = batch.order
        self.group = np.repeat(np.arange(len(batch.segments) - 1), np.diff(batch.segments))
        times, faults = times_of(table, question.query, question.of)
        assert not faults, faults  # a runtime has left out what is bad
        times = times[self.order]
        self.base = int(times.lower.min()) if len(times) else 0
        if len(times) and int(times.last.max()) - self.base >= FAR:
            raise DataError(f"the times span {int(times.last.max()) - self.base} instants, more than {FAR}")
        bounds = (times.lower - self.base, times.upper - self.base, times.last - self.base)
        self.times: Times = replace(times, lower=bounds[0], upper=bounds[1], last=bounds[2])
        self._columns: dict[str, Column] = {}
        self.batch_evaluations = 0  # of predicates that an event decides by itself

    def __len__(self) -> int:
        return len(self.order)

    @property
    def nbytes(self) -> int:
        """What the events and their times take."""
        t = self.times
        tables = (t.lower, t.upper, t.last, t.place, t.mass, t.before, t.after, t.holes)
        return sum(a.nbytes for a in (self.order, self.group, *tables))

    def is_long(self, steps: int) -> bool:
        return steps >= COMPILED_FROM if self.fast is None else self.fast

    def run(self, function: Callable[..., Any], steps: int) -> Callable[..., Any]:
        """A loop of ours, compiled where it has much to do."""
        return compiled(function) if self.is_long(steps) else function

    def column(self, name: str) -> Column:
        """A column by event, in physical form."""
        if name not in self._columns:
            found = taken(self.table.column(name), self.order)
            column = from_arrow(found, self.question.query.columns.types[name])
            if self.question.query.columns.types[name].kind in CODED_TEXTS:
                column = Column(encoded(column), column.valid)
            self._columns[name] = column
        return self._columns[name]

    def value(self, expr: Expr, events: Ints | dict[int, Ints], rows: int) -> Column:
        """An expression over events: those of its one variable, or by slot."""
        variables = [c.var for c in self.question.query.pattern.positives]

        def leaf(node: Any) -> Column:
            assert isinstance(node, Attr)
            chosen = events if isinstance(events, np.ndarray) else events[variables.index(node.var)]
            return take(self.column(node.name), chosen)

        return evaluate(expr, leaf, rows)

    @cached_property
    def by_key(self) -> tuple[Ints, Ints]:
        """A number for each event's key, and the event's place in that key's stream, whatever its partition."""
        query = replace(self.question.query, window=None)
        batch = prepare(self.table, query, (), breaks=False, fast=self.is_long(self.table.num_rows))
        key, place = np.empty((2, self.table.num_rows), np.int64)
        key[batch.order] = np.repeat(np.arange(len(batch.segments) - 1), np.diff(batch.segments))
        place[batch.order] = np.arange(len(batch.order))
        return key[self.order], place[self.order]

    # -------------------------------------------------------------- what one event tells by itself

    @cached_property
    def slots(self) -> tuple[Ints, ...]:
        """For each component the events that can stand there, as far as they tell by themselves."""
        question, found = self.question, []
        for place, c in enumerate(question.query.pattern.positives):
            events = self._of_type(c.type)
            for test in question.query.tests:
                if question.places(test) == {place}:
                    self.batch_evaluations += len(events)
                    true = truth(self.value(test.expr, events, len(events)))
                    events = events[true]
            found.append(events)
        return tuple(found)

    def _leaf(self, node: Any) -> Column:
        return self.column(node.name)

    def _of_type(self, name: str) -> Ints:
        kind = self.question.query.roles.type
        if kind is None:
            return np.arange(len(self))
        attr = Attr("", At.ONE, kind, type=self.question.query.columns.types[kind])
        test = Binary("=", attr, Literal("constant", name, type=STRING), type=BOOL)
        return np.flatnonzero(truth(evaluate(test, self._leaf, len(self))))

    # -------------------------------------------------------------- equalities

    @cached_property
    def classes(self) -> tuple[dict[int, Ints], ...]:
        """For each class of equal terms, by slot: the value's code of each event, -1 where there is none."""
        return tuple(self._coded(terms) for terms in self._joined_terms[0])

    @cached_property
    def tests(self) -> tuple[tuple[frozenset[int], Expr], ...]:
        """What is left to try of events together: the slots that a test needs, and the test."""
        done = self._joined_terms[1]
        question = self.question
        return tuple(
            (question.places(test), test.expr)
            for number, test in enumerate(question.query.tests)
            if len(question.places(test)) > 1 and number not in done
        )

    @cached_property
    def _joined_terms(self) -> tuple[list[dict[int, Expr]], set[int]]:
        """Equality tests as classes: in one, a term for each slot; and the tests that they say in full."""
        classes: list[dict[int, Expr]] = []
        done: set[int] = set()
        for number, test in enumerate(self.question.query.tests):
            sides = self._sides(test)
            if sides is None:
                continue
            (p, left), (q, right) = sides
            mine = next((c for c in classes if c.get(p) == left), None)
            other = next((c for c in classes if c.get(q) == right), None)
            if mine is None and other is None:
                classes.append({p: left, q: right})
            elif mine is not None and other is None and q not in mine:
                mine[q] = right
            elif mine is None and other is not None and p not in other:
                other[p] = left
            elif (
                mine is not None
                and other is not None
                and mine is not other
                and not (mine.keys() & other.keys())
            ):
                mine.update(other)
                classes.remove(other)
            elif mine is None or mine is not other:
                continue
            done.add(number)
        return classes, done

    def _sides(self, test: Test) -> tuple[tuple[int, Expr], tuple[int, Expr]] | None:
        """An equality between a term of one slot and a term of another."""
        expr = test.expr
        if not isinstance(expr, Binary) or expr.op != "=" or calls_python(expr):
            return None
        kinds = {typed(expr.left).kind, typed(expr.right).kind}
        if len(kinds) > 1 or not kinds <= _SHARED:
            return None
        variables = [c.var for c in self.question.query.pattern.positives]
        sides = []
        for term in (expr.left, expr.right):
            places = {variables.index(var) for var, _, _ in references(term)}
            if len(places) != 1:
                return None
            sides.append((places.pop(), term))
        return None if sides[0][0] == sides[1][0] else (sides[0], sides[1])

    def _coded(self, terms: dict[int, Expr]) -> dict[int, Ints]:
        columns = {
            place: self.value(term, self.slots[place], len(self.slots[place]))
            for place, term in terms.items()
        }
        kind = typed(next(iter(terms.values()))).kind
        if kind in CODED_TEXTS:
            texts = Texts(kind, list(columns.values()), (), ordered=False)
            words = {place: texts.codes(column) for place, column in columns.items()}
        else:
            words = {place: _words(column.values) for place, column in columns.items()}
        joined = np.concatenate(list(words.values()))
        codes, _ = dense(joined, fast=self.is_long(len(joined)))
        found, start = {}, 0
        for place, column in columns.items():
            mine = codes[start : start + len(column)]
            start += len(column)
            of_events = np.full(len(self), -1, np.int64)
            of_events[self.slots[place]] = np.where(column.mask(), mine, -1)
            found[place] = of_events
        return found


def _words(values: Any) -> Ints:
    found = np.asarray(values)
    return found.view(np.int64) if found.dtype == np.uint64 else found.astype(np.int64)
