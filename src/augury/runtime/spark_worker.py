"""What runs in Spark's Python workers: rows of whole partitions come sorted, a slice of them is matched at a time.

    Arrow batches, sorted by partition and time ─ cut where a partition ends ─> tables ─> matches ─> Arrow batches

Python is called for a task, never for a partition: a slice holds as many small partitions as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.expr.functions import UserFunction, register
from augury.resolve import Resolved
from augury.runtime.spark_types import held
from augury.runtime.table import Options, evaluated

SLICE = 1 << 20  # rows that are matched together, where partitions end so often
BATCH = 10_000  # rows of a batch that goes back, as many as Spark itself sends


@dataclass(frozen=True, slots=True)
class Task:
    """All that a worker must know: a query that has met its data, and how its rows come and go."""

    query: Resolved
    reads: pa.Schema  # the columns of the rows that come, under their own names
    gives: pa.Schema  # the columns of the result
    options: Options
    partition: tuple[str, ...]  # the columns by which the rows are partitioned and sorted
    functions: tuple[UserFunction, ...]  # registered ones that the query calls

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's rows."""
        for function in self.functions:
            register(function)
        for table in self._slices(batches):
            found = evaluated(table, self.query, self.gives, self.options)
            yield from held(found).to_batches(max_chunksize=BATCH)

    def _slices(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows in tables that hold whole partitions."""
        waiting: list[pa.Table] = []
        rows, enough = 0, SLICE
        for batch in batches:
            if not batch.num_rows:
                continue
            waiting.append(self._named(batch))
            rows += batch.num_rows
            if rows < enough:
                continue
            table = pa.concat_tables(waiting)
            cut = _last_partition(table, self.partition)
            if cut:
                yield table.slice(0, cut)
            waiting, rows = [table.slice(cut)], table.num_rows - cut
            enough = SLICE if cut else 2 * rows  # a partition that goes on and on is not looked at each time
        if rows:
            yield pa.concat_tables(waiting)

    def _named(self, batch: pa.RecordBatch) -> pa.Table:
        """A batch under the columns' own names and in their types: the session's zone is taken off."""
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self.reads, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.reads)


def _last_partition(table: pa.Table, partition: tuple[str, ...]) -> int:
    """Where the last of the partitions begins, in rows sorted by them."""
    if not partition:
        return 0
    same = np.ones(table.num_rows, np.bool_)
    for name in partition:
        column = table.column(name)
        last = column[table.num_rows - 1]
        if not last.is_valid:
            equal = pc.is_null(column)
        elif pa.types.is_floating(column.type) and last.as_py() != last.as_py():
            equal = pc.is_nan(column)
        else:
            equal = pc.equal(column, last)
        same &= pc.fill_null(equal, fill_value=False).to_numpy()
    return int(len(same) - np.argmin(same[::-1])) if not same.all() else 0
