"""Rows as bytes: what goes through Spark's shuffle, and into and out of its stateful operator, is not row by row.

    rows of a task ─ sorted by place ─> a blob for each shard: Arrow IPC ─ shuffle ─> bucket: its rows, of all blobs
    changes of a shard ─> blob ─> rows

The operator would take and give rows through pandas, at some 5 microseconds each and not always unchanged: a blob costs
its copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from augury.errors import DataError
from augury.expr.functions import register
from augury.match.gather import rows_of_table
from augury.runtime.program import Program
from augury.runtime.spark_pack import named
from augury.runtime.spark_shards import LEDGER, Layout
from augury.runtime.spark_types import held
from augury.runtime.spark_worker import BATCH
from augury.runtime.table import bad_rows

CHUNK = 500_000  # rows that a task packs together: it holds no more
PACKED = pa.schema(
    [
        pa.field("shard", pa.int32()),
        pa.field("buckets", pa.binary()),  # pairs of 32 bits: a bucket, and how many of the rows are its
        pa.field("rows", pa.binary()),
        pa.field("bad_rows", pa.int64()),
        pa.field("change", pa.string()),  # of the query, in place of rows
    ]
)


@dataclass(frozen=True, slots=True)
class Packer:
    """A task's rows as blobs. Their columns come under other names, and last the hash of the key, if there is one."""

    program: Program
    schema: pa.Schema
    layout: Layout
    keyed: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for function in self.program.functions:
            register(function)
        bad = 0
        for table in _chunks(batches):
            events, hashes = self._events(table)
            faulty, said = bad_rows(events, self.program)
            if faulty is not None:
                if self.program.options.bad_rows == "error":
                    raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
                bad += int(faulty.sum())
                good = np.flatnonzero(~faulty)
                events, hashes = rows_of_table(events, good), hashes[good]
            if events.num_rows:
                yield self._packed(events, hashes)
        if bad or _is_first():
            yield _row(LEDGER, b"", b"", bad)

    def _events(self, table: pa.Table) -> tuple[pa.Table, np.ndarray]:
        if not self.keyed:
            return named(table, self.schema), np.zeros(table.num_rows, np.int64)
        last = table.num_columns - 1
        hashes = table.column(last).to_numpy()
        return named(table.select(range(last)), self.schema), hashes

    def _packed(self, events: pa.Table, hashes: np.ndarray) -> pa.RecordBatch:
        places = self.layout.places(hashes)
        order = np.argsort(places, kind="stable")
        events, places = rows_of_table(events, order), places[order]
        firsts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        counts = np.diff(np.append(firsts, len(places)))
        shard, bucket = np.divmod(places[firsts].astype(np.int64), self.layout.buckets)
        begins = np.flatnonzero(np.concatenate([[True], shard[1:] != shard[:-1]]))
        ends = np.append(begins[1:], len(shard))
        rows = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            pairs = np.stack([bucket[begin:end], counts[begin:end]], axis=1).astype("<i4").tobytes()
            many = int(counts[begin:end].sum())
            blob = written(events.slice(int(firsts[begin]), many))
            rows.append(_row(self.layout.shards[int(shard[begin])], pairs, blob, 0))
        return pa.Table.from_batches(rows).combine_chunks().to_batches()[0]


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, some together."""
    held_back: list[pa.RecordBatch] = []
    many = 0
    for batch in batches:
        held_back.append(batch)
        many += batch.num_rows
        if many >= CHUNK:
            yield pa.Table.from_batches(held_back)
            held_back, many = [], 0
    if many:
        yield pa.Table.from_batches(held_back)


def _is_first() -> bool:
    """Whether this task is the one that sends word to the ledger in every micro-batch."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is None or context.partitionId() == 0


def _row(shard: int, buckets: bytes, rows: bytes, bad: int) -> pa.RecordBatch:
    return pa.record_batch([[shard], [buckets], [rows], [bad], [None]], schema=PACKED)


def unpacked(buckets: bytes, rows: bytes) -> Iterator[tuple[int, pa.Table]]:
    """The buckets of a blob, and the rows of each."""
    table, at = read(rows), 0
    for bucket, many in np.frombuffer(buckets, "<i4").reshape(-1, 2).tolist():
        yield bucket, table.slice(at, many)
        at += many


def written(table: pa.Table) -> bytes:
    """A table as one blob."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def read(blob: bytes) -> pa.Table:
    """The table of a blob."""
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()


def rows_of_blobs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the operator's blobs, as Spark takes them."""
    for batch in batches:
        for blob in batch.column(0):
            if blob.is_valid:
                yield from held(read(blob.as_py())).to_batches(max_chunksize=BATCH)
