"""Matching in bounded memory: partitions come one after another, each in order of time, and are let go one by one.

    tables ─ buffer ─┬─ partitions that have ended ─> one evaluation for all of them
                     └─ a partition larger than the buffer ─> slices of time, as far as WITHIN lets it be cut

A slice has a share of the partition's matches, told by the time of their first event or of their last one, and is
evaluated with as many events before and after it as they can need; then the events that no later slice needs
are forgotten. Times are never torn apart: events of one time are in one slice, so their order is known.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines import selection
from augury.engines.eager import Evaluation, Share
from augury.expr.columns import from_arrow, physical_values
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.match.rows import taken
from augury.pattern import Pattern, Strategy
from augury.resolve import Resolved
from augury.runtime.by_engine import Engine
from augury.schema import Columns
from augury.semantics.sase import key_value

if TYPE_CHECKING:
    from augury.runtime.program import Evaluator, Program

SLICE = 1 << 20  # events of a buffer: some 100 MB with what is computed of them


class Cut(Enum):
    """Whose time says which slice of a partition a match belongs to."""

    FIRST = "first"
    LAST = "last"
    GREEDY = "greedy"  # the last event's, and the next slice begins behind the last match
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Cutting:
    """How a partition can be cut, and why it cannot."""

    cut: Cut
    because: str
    before: int = 0  # how far before a slice its matches may need events
    after: int = 0  # … and after it


def cutting(query: Resolved, output: str, plan: str = "eager") -> Cutting:
    """How the matches of one partition can be found slice by slice."""
    return cutting_of(query.pattern, query.window, output, plan)


def cutting_of(pattern: Pattern, window: int | None, output: str, plan: str) -> Cutting:
    """The same, of a pattern with this window in instants."""
    if plan == "definition":
        return Cutting(Cut.NOWHERE, "the definition looks at whole partitions")
    if window is None:
        return Cutting(Cut.NOWHERE, "without WITHIN a match may reach over all of its partition")
    components = pattern.components
    leading, trailing = (window if c.negated else 0 for c in (components[0], components[-1]))
    match output:
        case "all" | "longest":
            return Cutting(Cut.FIRST, "a match belongs to the slice of its first event", leading, window)
        case "non_overlap" if leading:
            return Cutting(
                Cut.NOWHERE,
                "non_overlap goes on behind the last match, and the leading negation needs what is before it",
            )
        case "non_overlap" if breaks(pattern):
            return Cutting(Cut.NOWHERE, "non_overlap goes on behind the last match of each [attr] partition")
        case "non_overlap":
            because = "non_overlap goes on behind the last match, slice after slice"
            return Cutting(Cut.GREEDY, because, window, trailing)
    return Cutting(Cut.LAST, "a match belongs to the slice of its last event", window, trailing)


def breaks(pattern: Pattern) -> bool:
    """Whether [attr] partitions are told apart inside of a key's stream, of which every event counts."""
    return pattern.strategy is Strategy.STRICT and bool(pattern.partition)


def partition_columns(query: Resolved) -> tuple[str, ...]:
    """The columns whose values keep events apart: no match has events of two partitions."""
    tests = () if breaks(query.pattern) else query.pattern.partition
    return tuple(dict.fromkeys((*query.roles.key, *tests)))


def values_of(column: pa.ChunkedArray, columns: Columns, name: str) -> list[Any]:
    """A column's values as those of a key are compared."""
    return [key_value(v) for v in physical_values(column, columns.types[name])]


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows that come group by group: a group has whole partitions, all mixed, or a stretch of all of the stream.

    An integer column beside the events tells, after a shift to the right, a row's group. Events of a group come in
    order of `time // grain`: whoever sorts them may do so by fewer digits.
    """

    column: str
    shift: int = 0
    grain: int = 1
    owned: tuple[tuple[int, int], ...] | None = (
        None  # by group: from when to when its share of the matches is
    )


class Sliced:
    """Takes tables in order of partition and time; gives results as soon as they are certain.

    With `groups` the tables are in order of group and time. Their events are let go group by group.
    """

    def __init__(
        self, program: Program, engine: Evaluator, rows: int = SLICE, groups: Groups | None = None
    ) -> None:
        self.engine = engine
        self.groups = groups
        self.clock = program.clock
        self.types = program.columns
        self.columns = program.partition
        self.cutting = program.cutting()
        self.least = rows
        self.room = rows
        self.waiting: list[pa.Table] = []
        self.rows = 0
        self.begun: int | None = (
            None  # what has been reported of the first partition that waits: up to this time
        )

    def feed(self, table: pa.Table) -> Iterator[pa.Table]:
        """More events, none before those that came; the results that they make certain."""
        if not table.num_rows:
            return
        self.waiting.append(table)
        self.rows += table.num_rows
        if self.rows < self.room:
            return
        held = pa.concat_tables(self.waiting)
        last = self._first_like(held, held.num_rows - 1)
        if last:
            yield from self._ended(held.slice(0, last))
            held = held.slice(last)
        if held.num_rows >= self.least and self.cutting.cut is not Cut.NOWHERE:
            until = self._certain(held)
            if until is not None:
                found, held = self._slice(held, until)
                yield found
                self.begun = until
                kept = self._times(held) > until - self.cutting.before
                held = held.slice(int(np.argmax(kept)))  # the newest event is always kept
        self.waiting, self.rows = [held], held.num_rows
        self.room = max(self.least, 2 * self.rows)

    def close(self) -> Iterator[pa.Table]:
        """No events come any more."""
        if self.rows:
            yield from self._ended(pa.concat_tables(self.waiting))
        self.waiting, self.rows, self.room = [], 0, self.least

    def _ended(self, held: pa.Table) -> Iterator[pa.Table]:
        """Whole partitions, the first of which may have begun in earlier slices."""
        apart = self.groups is not None and self.groups.owned is not None  # groups share events, not matches
        while held.num_rows and (apart or self.begun is not None):
            end = self._first_unlike(held)
            yield self._slice(held.slice(0, end), None)[0]
            held, self.begun = held.slice(end), None
        if held.num_rows:
            yield self.engine.whole(self._events(held))

    # -------------------------------------------------------------- slices of one partition

    def _certain(self, held: pa.Table) -> int | None:
        """Up to which time the matches of a partition that goes on are certain; None if that is no news."""
        times = self._times(held)
        grain = 1 if self.groups is None else self.groups.grain
        # Events of the newest time may still come, and whatever a match needs after its share's end.
        until = int(times.max()) // grain * grain - max(self.cutting.after, 1)
        return until if until >= (int(times[0]) if self.begun is None else self.begun + 1) else None

    def _slice(self, held: pa.Table, until: int | None) -> tuple[pa.Table, pa.Table]:
        """The matches from where the last slice ended up to this time, and the events, without those used up."""
        engine, after = self.engine, INT64_MIN if self.begun is None else self.begun + 1
        end = INT64_MAX if until is None else until
        if self.groups is not None and self.groups.owned is not None:
            first, last = self.groups.owned[int(self._groups(held.slice(0, 1))[0])]
            after, end = max(after, first), min(end, last)
        if self.cutting.cut is Cut.NOWHERE:
            return engine.whole(self._events(held)), held
        if self.cutting.cut is Cut.FIRST:
            return engine.whole(self._events(held), Share(starts=(after, end))), held
        if self.cutting.cut is Cut.GREEDY:
            assert self.groups is None, "what is behind the last match is told for one partition"
            assert isinstance(engine, Engine), "only an evaluation tells where its last match ends"
            return engine.evaluated(held, Share(ends=(INT64_MIN, end)), self._greedy)
        return engine.whole(self._events(held), Share(ends=(after, end))), held

    def _greedy(self, evaluation: Evaluation) -> tuple[pa.Table, pa.Table]:
        """The matches, and the events after the last one of them: there, in stream order, the next one begins."""
        engine, held = self.engine, evaluation.table
        assert isinstance(engine, Engine)
        chosen = selection.selected(evaluation, longest=False)
        if len(chosen):
            order = evaluation.batch.order[int(chosen.last.max()) + 1 :]
            held = pa.Table.from_arrays([taken(c, order) for c in held.columns], schema=held.schema)
        return engine.rows(evaluation, [chosen]), held

    def _times(self, table: pa.Table) -> npt.NDArray[np.int64]:
        time = from_arrow(table.column(self.clock), self.types.types[self.clock])
        return np.asarray(time.values, np.int64)

    # -------------------------------------------------------------- where partitions begin and end

    def _groups(self, table: pa.Table) -> npt.NDArray[np.int64]:
        assert self.groups is not None
        marks = table.column(self.groups.column).to_numpy()
        return np.asarray(marks >> self.groups.shift, np.int64)

    def _events(self, table: pa.Table) -> pa.Table:
        """Without what tells the groups."""
        return table if self.groups is None else table.drop_columns([self.groups.column])

    def _value(self, table: pa.Table, row: int) -> tuple[Any, ...]:
        return tuple(values_of(table.column(c).slice(row, 1), self.types, c)[0] for c in self.columns)

    def _first_like(self, table: pa.Table, row: int) -> int:
        """Where the partition of the table's last row begins: its rows are together at the end."""
        if self.groups is not None:
            groups = self._groups(table)
            return int(np.argmax(groups == groups[row]))
        wanted = self._value(table, row)
        return bisect.bisect_left(range(row), True, key=lambda k: self._value(table, k) == wanted)

    def _first_unlike(self, table: pa.Table) -> int:
        """Where the partition of the table's first row ends: its rows are together at the beginning."""
        if self.groups is not None:
            groups = self._groups(table)
            others = groups != groups[0]
            return int(np.argmax(others)) if others.any() else len(groups)
        wanted = self._value(table, 0)
        rows = range(table.num_rows)
        return bisect.bisect_left(rows, True, key=lambda k: self._value(table, k) != wanted)


__all__ = [
    "SLICE",
    "Cut",
    "Cutting",
    "Groups",
    "Sliced",
    "cutting",
    "cutting_of",
    "partition_columns",
    "values_of",
]
