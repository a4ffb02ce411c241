"""What runs in Spark's Python workers: a task's rows come sorted by partition and time, and are matched by `Sliced`.

    Arrow batches ─ own names and types ─ times that can be read ─> Sliced ─> matches ─> Arrow batches

Python is called for a task, never for a partition; what is held is a slice of the rows, whatever the task has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from augury.errors import DataError
from augury.expr.functions import register
from augury.runtime.by_engine import Engine
from augury.runtime.program import Fault, Program
from augury.runtime.room import Room
from augury.runtime.slices import Groups, Sliced
from augury.runtime.spark_types import held

BATCH = 10_000  # rows of a batch that goes back, as many as Spark itself sends


@dataclass(frozen=True, slots=True)
class Task:
    """All that a worker must know: a program, and how its rows come and go."""

    program: Program
    reads: pa.Schema  # the columns of the rows that come, under their own names
    groups: Groups | None  # the rows come by a mark in a last column; else by partition and time

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's rows."""
        for function in self.program.functions:
            register(function)
        engine = self.program.evaluator()
        sliced = Sliced(self.program, engine, groups=self.groups)
        for table in self._good(batches):
            yield from _given(engine, sliced.feed(table))
        yield from _given(engine, sliced.close())

    def _good(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows; once one is bad input there are none any more, but all such are counted."""
        schema = self.reads
        if self.groups is not None:
            schema = schema.append(pa.field(self.groups.column, pa.int64()))
        bad: dict[str, list[Fault]] = {}
        for batch in batches:
            table = named(batch, schema)
            for fault in self.program.faults(table):
                bad.setdefault(fault.said, []).append(fault)
            if not bad:
                yield table
        if bad:
            said = "; ".join(
                str(Fault(np.concatenate([f.rows for f in faults]), what)) for what, faults in bad.items()
            )
            raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')


def named(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """A batch under the columns' own names and in their types: the session's zone is taken off."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _given(engine: object, found: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Results on their way to Spark. They are not kept here: the room that they took is free again."""
    for table in found:
        yield from held(table).to_batches(max_chunksize=BATCH)
        if isinstance(engine, Engine):
            engine.room = Room()
