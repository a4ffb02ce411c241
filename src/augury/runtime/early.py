"""A SASE+ query's matches before they are certain: what the events released so far give, revised as others come.

    settled: the steps up to the frontier ──┐
    pending: events behind it ──────────────┴─> of the partitions that a call touches: before and after ─> the change

The steps are asked what they would report if the stream ended with some events, and go on as if they had not been
asked. A punctuation settles events and changes nothing that was said. A match that waits for a negation at its end, or
for a longer one, is reported when it is certain, as without speculation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MIN
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import value_digests
from augury.runtime.changes import INSERT, RETRACT, with_op
from augury.runtime.state import read_events, written_events
from augury.runtime.steps import Steps
from augury.schema import Columns

if TYPE_CHECKING:
    from augury.runtime.sequences import Sequences

Mask = npt.NDArray[np.bool_]


class Early:
    """The core of a SASE+ matcher that speculates."""

    SECTIONS: ClassVar[tuple[str, ...]] = (*Steps.SECTIONS, "pending")

    def __init__(self, program: Sequences) -> None:
        self.program = program
        self.steps = Steps(program)
        self.waits = self.steps.certainty.waits
        self.reads = self.steps.reads
        self.pending = no_rows(self.reads)
        self.frontier = INT64_MIN
        self.types = Columns.of(program.gives).types

    # -------------------------------------------------------------- events

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        found = self._changed(new, np.ones(self.pending.num_rows, np.bool_))
        if frontier is None or frontier > self.frontier:
            certain = self._settle(frontier)
            if self.waits:
                found += certain
        return found

    def knows(self, events: pa.Table) -> Mask:
        return ~self._chosen(events)[1]

    def retract(self, gone: pa.Table, frontier: int | None) -> list[pa.Table]:
        del frontier
        return self._changed(no_rows(self.reads), ~self._chosen(gone)[0])

    def _chosen(self, wanted: pa.Table) -> tuple[Mask, Mask]:
        from augury.runtime.matcher import one_of_each

        return one_of_each(self.pending, wanted, self.program.reads, self.program.columns.types)

    def _changed(self, new: pa.Table, stays: Mask) -> list[pa.Table]:
        """Events come, or some of the pending ones go: what is another match now in their partitions."""
        if not new.num_rows and stays.all():
            return []
        before = self.pending
        after = before if stays.all() else rows_of_table(before, np.flatnonzero(stays))
        after = pa.concat_tables([after, new])
        self.pending = after
        if self.waits:
            return []
        touched = pa.concat_tables([new, rows_of_table(before, np.flatnonzero(~stays))])
        old, come = (self.steps.look(self._among(t, touched)) for t in (before, after))
        return self._difference(old, come)

    def _among(self, table: pa.Table, touched: pa.Table) -> pa.Table:
        """The events in partitions that some of the others are in."""
        names = self.program.partition
        if not names or not table.num_rows:
            return table
        of, those = (value_digests(t, names, self.program.columns.types) for t in (table, touched))
        rows = np.flatnonzero(np.isin(of[0] ^ of[1], those[0] ^ those[1]))
        return table if len(rows) == table.num_rows else rows_of_table(table, rows)

    def _difference(self, old: pa.Table, new: pa.Table) -> list[pa.Table]:
        from augury.runtime.matcher import one_of_each

        stayed, fresh = one_of_each(old, new, self.program.gives.names, self.types)
        parts = ((RETRACT, old, ~stayed), (INSERT, new, fresh))
        return [with_op(op, rows_of_table(t, np.flatnonzero(m))) for op, t, m in parts if m.any()]

    def _settle(self, frontier: int | None) -> list[pa.Table]:
        """What is before the frontier is certain now."""
        if frontier is None:
            out = np.ones(self.pending.num_rows, np.bool_)
        else:
            self.frontier = frontier
            clock = self.program.clock
            times = from_arrow(self.pending.column(clock), self.program.columns.types[clock]).values
            out = np.asarray(times) < frontier
        settled = rows_of_table(self.pending, np.flatnonzero(out))
        self.pending = rows_of_table(self.pending, np.flatnonzero(~out))
        return self.steps.step(settled, frontier)

    # -------------------------------------------------------------- what is told

    @property
    def due(self) -> int:
        if not self.pending.num_rows:
            return self.steps.due
        clock = self.program.clock
        times = from_arrow(self.pending.column(clock), self.program.columns.types[clock]).values
        return min(self.steps.due, int(np.asarray(times).min()) + 1)

    def stats(self) -> dict[str, int]:
        known = self.steps.stats()
        return {
            **known,
            "buffered_events": known["buffered_events"] + self.pending.num_rows,
            "bytes": known["bytes"] + int(self.pending.nbytes),
        }

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        header, sections = self.steps.pack()
        return {**header, "settled": self.frontier}, [*sections, written_events([self.pending], self.reads)]

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        self.steps.unpack(header, sections)
        self.frontier = header["settled"]
        self.pending = read_events(sections["pending"], self.reads)
