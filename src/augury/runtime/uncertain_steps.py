"""The core of a matcher over imprecise times: events are kept while a row that is not final can need them.

A row is final when no event that is in it, or that could spoil it, can still happen: with f the frontier, when the
upper bound of its last event and of all that could spoil it are before f. So each row has an instant from which it
is certain, and a step reports those whose instant lies between two frontiers.

What may go: let L be the earliest lower bound of a partition's events that can still happen (f, if there is none). The
last event of a row that is not final can happen at L or later, or it overlaps with what can spoil it, and that one
can; in either case its first event happens later than W before the earliest lower bound of what can happen after L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.imprecise.events import Events
from augury.engines.imprecise.search import Found
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MAX
from augury.match.gather import no_rows, rows_of_table
from augury.runtime.changes import inserts
from augury.runtime.state import read_events, written_events

if TYPE_CHECKING:
    from augury.runtime.uncertain import Uncertain

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

BEFORE_ALL = -(2**63)


class UncertainSteps:
    """What a matcher remembers of a stream of imprecise times."""

    SECTIONS: ClassVar[tuple[str, ...]] = ("pool",)

    def __init__(self, program: Uncertain) -> None:
        self.program = program
        self.engine = program.evaluator()
        self.reads = pa.schema([program.given.field(name) for name in program.reads])
        self.kept = no_rows(self.reads)
        self.done = BEFORE_ALL  # rows that are certain before this instant have been reported

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        """The rows that become final when the frontier moves there; None: to the end."""
        table = pa.concat_tables([self.kept, new]) if self.kept.num_rows else new
        most = self.program.question.of.top
        found: list[pa.Table] = []
        events = Events(self.program.question, table)
        if frontier is None:
            found = self._reported(events, None)
            self.kept = no_rows(self.reads)
        else:
            # Which rows are the most confident ones is known at the end alone.
            if most is None:
                found = self._reported(events, frontier)
                self.done = max(self.done, frontier)
            self.kept = rows_of_table(table, np.sort(events.order[self._needed(events, frontier)]))
        return inserts(found)

    def _reported(self, events: Events, frontier: int | None) -> list[pa.Table]:
        """The rows that were not final before, and are now."""
        upper, done = events.times.last, self.done - events.base
        limit = None if frontier is None else frontier - events.base
        ends = upper >= done
        if limit is not None:
            ends &= upper < limit
        groups = np.unique(events.group[ends])  # only where an interval has ended can a row have become final
        if not len(groups):
            return []
        if len(groups) < len(np.unique(events.group)):
            some = rows_of_table(events.table, np.sort(events.order[np.isin(events.group, groups)]))
            events = Events(self.program.question, some)
            done = self.done - events.base
            limit = None if frontier is None else frontier - events.base
        found: Found = self.engine.found(events)
        final = found.final >= done
        if limit is not None:
            final &= found.final < limit
        found = found[final]
        return [self.engine.rows(events, found).replace_schema_metadata(None)] if len(found) else []

    def _needed(self, events: Events, frontier: int) -> Mask:
        """The events that a row can need that is not final."""
        question = self.program.question
        useful = np.zeros(len(events), np.bool_)
        for slot in events.slots:
            useful[slot] = True
        if question.window < 0 or question.of.top is not None or not len(events):
            return useful
        lower, upper, group = events.times.lower, events.times.last, events.group
        earliest = np.full(int(group[-1]) + 1, frontier - events.base, np.int64)
        for _ in range(2 if question.next else 1):
            late = useful & (upper >= earliest[group])
            np.minimum.at(earliest, group[late], lower[late])
        needed: Mask = useful & (upper > earliest[group] - question.window)
        return needed

    @property
    def due(self) -> int:
        """When the next interval ends; when all have, the frontier from which nothing needs them."""
        if not self.kept.num_rows or self.program.question.of.top is not None:
            return INT64_MAX
        name = self.program.question.of.upper
        upper = from_arrow(self.kept.column(name), self.program.columns.types[name]).values
        coming = upper[upper >= self.done]
        if len(coming):
            return min(int(coming.min()) + 1, INT64_MAX)
        window = self.program.question.window
        return INT64_MAX if window < 0 else min(int(upper.max()) + window, INT64_MAX)

    def stats(self) -> dict[str, int]:
        """What is kept."""
        return {
            "live_runs": 0,
            "nodes": 0,
            "buffered_events": self.kept.num_rows,
            "bytes": self.kept.nbytes,
        }

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        """All that is known, as numbers for the header and sections."""
        return {"done": self.done}, [written_events([self.kept], self.reads)]

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        """Put this into the state that was packed."""
        self.done = header["done"]
        self.kept = read_events(sections["pool"], self.reads)
