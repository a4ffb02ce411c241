"""Matching in bounded memory: partitions come one after another, each in order of time, and are let go one by one.

    tables ─ buffer ─┬─ partitions that have ended ─> one evaluation for all of them
                     └─ a partition larger than the buffer ─> slices of time, as far as WITHIN lets it be cut

A slice has a share of the partition's matches, told by the time of their first event or of their last one, and is
evaluated with as many events before and after it as they can need; then the events that no later slice needs
are forgotten. Times are never torn apart: events of one time are in one slice, so their order is known.
"""

from __future__ import annotations

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
from augury.match.gather import rows_of_table
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


class Sliced:
    """Takes events in order of time, of one partition or of many; gives results as soon as they are certain.

    After `close` it is as new, for other partitions.
    """

    def __init__(self, program: Program, engine: Evaluator, rows: int = SLICE) -> None:
        self.engine = engine
        self.clock = program.clock
        self.types = program.columns
        self.cutting = program.cutting()
        self.least = rows
        self.room = rows
        self.waiting: list[pa.Table] = []
        self.rows = 0
        self.begun: int | None = None  # what has been reported: up to this time

    def feed(self, table: pa.Table) -> Iterator[pa.Table]:
        """More events, none before the newest that came; the results that they make certain.

        Those that come together may be in any order.
        """
        if not table.num_rows:
            return
        self.waiting.append(table)
        self.rows += table.num_rows
        if self.rows < self.room:
            return
        held = pa.concat_tables(self.waiting)
        until = None if self.cutting.cut is Cut.NOWHERE else self._certain(self._times(held))
        if until is not None:
            found, held = self._slice(held, until)
            yield found
            self.begun = until
            held = _where(held, self._times(held) > until - self.cutting.before)
        self.waiting, self.rows = [held], held.num_rows
        self.room = max(self.least, 2 * self.rows)

    def close(self) -> Iterator[pa.Table]:
        """No events come any more."""
        if self.rows:
            held = pa.concat_tables(self.waiting)
            yield self.engine.whole(held) if self.begun is None else self._slice(held, None)[0]
        self.waiting, self.rows, self.room, self.begun = [], 0, self.least, None

    def _certain(self, times: npt.NDArray[np.int64]) -> int | None:
        """Up to which time the matches of partitions that go on are certain; None if that is no news."""
        # Events of the newest time may still come, and whatever a match needs after its share's end.
        until = int(times.max()) - max(self.cutting.after, 1)
        return until if until >= (int(times.min()) if self.begun is None else self.begun + 1) else None

    def _slice(self, held: pa.Table, until: int | None) -> tuple[pa.Table, pa.Table]:
        """The matches from where the last slice ended up to this time, and the events, without those used up."""
        engine, after = self.engine, INT64_MIN if self.begun is None else self.begun + 1
        end = INT64_MAX if until is None else until
        if self.cutting.cut is Cut.FIRST:
            return engine.whole(held, Share(starts=(after, end))), held
        if self.cutting.cut is Cut.GREEDY:
            assert isinstance(engine, Engine), "only an evaluation tells where its last match ends"
            return engine.evaluated(held, Share(ends=(INT64_MIN, end)), self._greedy)
        return engine.whole(held, Share(ends=(after, end))), held

    def _greedy(self, evaluation: Evaluation) -> tuple[pa.Table, pa.Table]:
        """The matches, and of each partition the events after the last one of them: there the next one begins."""
        engine, held = self.engine, evaluation.table
        assert isinstance(engine, Engine)
        chosen = selection.selected(evaluation, longest=False)
        if len(chosen):
            segments, order = evaluation.batch.segments, evaluation.batch.order
            used = np.full(len(segments) - 1, -1, np.int64)
            np.maximum.at(used, np.searchsorted(segments, chosen.last, "right") - 1, chosen.last)
            left = np.zeros(held.num_rows, np.bool_)
            left[order[np.arange(len(order)) > np.repeat(used, np.diff(segments))]] = True
            held = _where(held, left)
        return engine.rows(evaluation, [chosen]), held

    def _times(self, table: pa.Table) -> npt.NDArray[np.int64]:
        time = from_arrow(table.column(self.clock), self.types.types[self.clock])
        return np.asarray(time.values, np.int64)


def _where(table: pa.Table, mask: npt.NDArray[np.bool_]) -> pa.Table:
    """The rows of a mask. Where they are the last ones nothing is copied."""
    kept = int(mask.sum())
    if bool(mask[len(mask) - kept :].all()):
        return table.slice(len(mask) - kept)
    return rows_of_table(table, np.flatnonzero(mask))


__all__ = [
    "SLICE",
    "Cut",
    "Cutting",
    "Sliced",
    "cutting",
    "cutting_of",
    "partition_columns",
    "values_of",
]
