"""What runs in Spark's Python workers where rows are matched.

    blobs ─> Shelf ─┬─ groups of keys, as many as a slice holds ─> one evaluation for all
                    └─ a group larger than that, or a stretch of time ─> Sliced ─> matches ─> Arrow batches

Python is called for a task, never for a partition; what is looked at is a slice of the rows, whatever the task has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from augury.expr.functions import register
from augury.runtime.by_engine import Engine
from augury.runtime.program import Program
from augury.runtime.room import Room
from augury.runtime.slices import SLICE, Sliced
from augury.runtime.spark_layout import Ints, Layout
from augury.runtime.spark_pack import instants
from augury.runtime.spark_shelf import Part, Shelf, by_time
from augury.runtime.spark_types import held

BATCH = 10_000  # rows of a batch that goes back, as many as Spark itself sends


@dataclass(frozen=True, slots=True)
class Task:
    """All that a worker must know: a program, and how its rows come and go."""

    program: Program
    reads: pa.Schema  # the columns of the rows that come, under their own names
    layout: Layout
    told_by: str  # the column of the result that has the time by which a match belongs to a slice

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's rows."""
        with Shelf(self.reads, self.layout.groups) as shelf:
            for batch in batches:
                shelf.put(batch)
            if not shelf.blobs:
                return
            for function in self.program.functions:
                register(function)
            engine = self.program.evaluator()
            own = np.unique(shelf.tasks)  # Spark may have put together what was dealt to several
            sliced = Sliced(self.program, engine, SLICE)
            for parts in shelf.groups_of_rows(SLICE):
                for table in self._tables(parts, own):
                    yield from self._given(engine, sliced.feed(table), own)
                yield from self._given(engine, sliced.close(), own)

    def _tables(self, parts: list[Part], own: Ints) -> Iterator[pa.Table]:
        """Their rows, in order of time where they are many, and none of them twice."""
        clock = self.program.clock
        for some in by_time(parts, clock, SLICE) if sum(p.rows.num_rows for p in parts) > SLICE else [parts]:
            table = pa.Table.from_batches([part.rows for part in some])
            if self.layout.length and len(own) > 1:
                owners = self.layout.owner(instants(table.column(clock)).astype(np.int64))
                dealt_to = np.repeat([part.task for part in some], [part.rows.num_rows for part in some])
                table = table.filter(pa.array((owners == dealt_to) | ~np.isin(owners, own)))
            yield table

    def _given(self, engine: object, found: Iterable[pa.Table], own: Ints) -> Iterator[pa.RecordBatch]:
        """Results on their way to Spark. They are not kept here: the room that they took is free again."""
        for table in found:
            yield from held(self._own(table, own)).to_batches(max_chunksize=BATCH)
            if isinstance(engine, Engine):
                engine.room = Room()

    def _own(self, found: pa.Table, own: Ints) -> pa.Table:
        """Without what another task reports."""
        if not self.layout.length:
            return found
        owners = self.layout.owner(instants(found.column(self.told_by)).astype(np.int64))
        return found.filter(pa.array(np.isin(owners, own)))
