"""Rows go through Spark's shuffle as blobs: columns of many rows, which Java carries and never looks into.

    Arrow batches ─ some together ─> dealt to tasks ─> a row of Spark for each task: its place, where its groups end, a blob

Inside of a blob rows lie group by group, and in each group in order of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.errors import DataError
from augury.match.gather import rows_of_table
from augury.runtime.program import Program, rows_have
from augury.runtime.spark_layout import Ints, Layout

CHUNK = 1 << 18  # rows that are dealt together, …
CHUNK_BYTES = 1 << 25  # … or bytes
NULL = 0x5BD1E995  # its word: any number would do
PACKED = pa.schema(
    [("place", pa.int32()), ("task", pa.int32()), ("ends", pa.binary()), ("rows", pa.binary())]
)


@dataclass(frozen=True, slots=True)
class Pack:
    """What runs where rows are read. They come with a hash behind them of what is not hashed here, if there is such."""

    program: Program
    reads: pa.Schema  # the columns of the rows, under their own names
    layout: Layout
    hashed: bool  # by Spark: there is a last column
    here: tuple[str, ...]  # columns that say a row's partition, too
    places: tuple[int, ...]  # of each task: the number that Spark's hash sends there

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The blobs of one task's rows."""
        bad: Counter[str] = Counter()
        for table, hashes in self._chunks(batches):
            bad.update({fault.said: int(fault.rows.sum()) for fault in self.program.faults(table)})
            if not bad:  # once a row is bad input nothing is matched, but all such are counted
                yield self._packed(table, hashes)
        if bad:
            said = "; ".join(rows_have(many, what) for what, many in bad.items())
            raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')

    def _chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Ints | None]]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in batches:
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= CHUNK or size >= CHUNK_BYTES:
                yield self._named(waiting)
                waiting, rows, size = [], 0, 0
        if rows:
            yield self._named(waiting)

    def _named(self, batches: list[pa.RecordBatch]) -> tuple[pa.Table, Ints | None]:
        table = pa.Table.from_batches(batches)
        last = table.num_columns - self.hashed
        hashes = table.column(last).to_numpy() if self.hashed else None
        table = named(table.select(range(last)), self.reads)
        for name in self.here:
            words = _words(table.column(name))
            hashes = _mixed(words if hashes is None else hashes ^ words)
        return table, hashes

    def _packed(self, table: pa.Table, hashes: Ints | None) -> pa.RecordBatch:
        layout = self.layout
        rows, ends = layout.dealt(instants(table.column(self.program.clock)).astype(np.int64), hashes)
        table = rows_of_table(table, rows) if rows is not None else table.combine_chunks()
        batch = pa.RecordBatch.from_arrays([c.chunk(0) for c in table.columns], schema=self.reads)
        ends = ends.reshape(layout.tasks, layout.groups)
        begins = np.concatenate([[0], ends[:-1, -1]])
        tasks = np.flatnonzero(ends[:, -1] > begins)
        sink = pa.BufferOutputStream()
        edges = [0]
        for task in tasks.tolist():
            begin, end = int(begins[task]), int(ends[task, -1])
            sink.write(batch.slice(begin, end - begin).serialize())
            edges.append(sink.tell())
        relative = (ends - begins[:, None])[tasks].astype("<i4")
        return pa.RecordBatch.from_arrays(
            [
                pa.array([self.places[task] for task in tasks.tolist()], pa.int32()),
                pa.array(tasks, pa.int32()),
                binary(np.arange(len(tasks) + 1) * 4 * layout.groups, pa.py_buffer(relative.tobytes())),
                binary(np.array(edges), sink.getvalue()),
            ],
            schema=PACKED,
        )


def named(table: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Rows under the columns' own names and in their types: the session's zone is taken off."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def is_hashed_here(kind: pa.DataType) -> bool:
    """Whether values are numbers of one form for each: a column more for Spark to carry costs more than their hash."""
    t = pa.types
    return bool(t.is_signed_integer(kind) or t.is_date(kind) or t.is_timestamp(kind))


def _words(column: pa.ChunkedArray) -> Ints:
    """Values as numbers; nulls are alike."""
    if not column.null_count:
        return instants(column).astype(np.int64)
    plain = column.combine_chunks()
    missing = plain.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, np.int64(NULL), instants(plain.fill_null(_zero(plain.type))).astype(np.int64))


def _zero(kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def _mixed(words: Ints) -> Ints:
    """Every bit hangs on every bit: the finaliser of MurmurHash3."""
    x = words.view(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> np.uint64(33)) * np.uint64(factor)
    return (x ^ x >> np.uint64(33)).view(np.int64)


def binary(edges: Ints, data: pa.Buffer) -> pa.Array:
    """Stretches of a buffer as values."""
    return pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges.astype("<i4")), data])


def instants(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.signedinteger[Any]]:
    """A time column of Spark's, which has no nulls, as the numbers that it is stored as: they are its instants."""
    kind = column.type
    if pa.types.is_temporal(kind):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = whole.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    found: npt.NDArray[np.signedinteger[Any]] = column.to_numpy()
    return found
