"""What a task has been sent, as it was packed: in memory, and beyond some room in a file that is mapped.

All of it must have come before the first row is matched, for every blob has some rows of every group. But what is
looked at together are single groups, or a stretch of time of one that is large.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Self

import numpy as np
import pyarrow as pa

from augury.runtime.spark_pack import instants

ROOM = 1 << 27  # bytes in memory
ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one blob."""

    task: int
    rows: pa.RecordBatch


class Shelf:
    """Holds blobs. Leave it, as a context, and its file is gone."""

    def __init__(self, schema: pa.Schema, groups: int) -> None:
        self.schema = schema
        self.groups = groups
        self.used = 0
        self.tasks: list[int] = []
        self.ends: list[np.ndarray] = []
        self.blobs: list[pa.Buffer | tuple[int, int]] = []
        self.file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def put(self, batch: pa.RecordBatch) -> None:
        """What `Pack` made."""
        self.used += batch.nbytes
        for task, ends, blob in zip(
            batch.column(1).to_pylist(), batch.column(2), batch.column(3), strict=True
        ):
            self.tasks.append(task)
            self.ends.append(np.frombuffer(ends.as_buffer(), "<i4"))
            self.blobs.append(blob.as_buffer() if self.used <= ROOM else self._stored(blob.as_buffer()))

    def _stored(self, blob: pa.Buffer) -> tuple[int, int]:
        if self.file is None:
            folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]  # Spark tells its workers
            self.file = tempfile.TemporaryFile(dir=folder or None, prefix="augury-")  # noqa: SIM115  # closed with the shelf
        begin = self.file.seek(0, os.SEEK_END)
        self.file.write(blob)
        self.file.write(bytes(-blob.size % ALIGNED))
        return begin, blob.size

    def groups_of_rows(self, most: int) -> Iterator[list[Part]]:
        """All that is held: neighbouring groups together while they are at most so many rows."""
        ends = np.array(self.ends, np.int64).reshape(len(self.blobs), self.groups)
        begins = np.concatenate([np.zeros((len(ends), 1), np.int64), ends[:, :-1]], axis=1)
        sizes = (ends - begins).sum(axis=0)
        batches = self._read()
        first = 0
        while first < self.groups:
            last, rows = first, int(sizes[first])
            while last + 1 < self.groups and rows + sizes[last + 1] <= most:
                last += 1
                rows += int(sizes[last])
            if rows:
                yield [
                    Part(task, batch.slice(begin, end - begin))
                    for task, batch, begin, end in zip(
                        self.tasks, batches, begins[:, first].tolist(), ends[:, last].tolist(), strict=True
                    )
                    if end > begin
                ]
            first = last + 1

    def _read(self) -> list[pa.RecordBatch]:
        stored = pa.py_buffer(b"" if self.file is None else _mapped(self.file))
        buffers = (stored.slice(*blob) if isinstance(blob, tuple) else blob for blob in self.blobs)
        return [pa.ipc.read_record_batch(buffer, self.schema) for buffer in buffers]


def _mapped(file: IO[bytes]) -> mmap.mmap:
    file.flush()
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def by_time(parts: Sequence[Part], clock: str, most: int) -> Iterator[list[Part]]:
    """Parts that are each in order of time, cut at common times, about so many rows together.

    Rows of one time are never torn apart.
    """
    times = [instants(part.rows.column(clock)) for part in parts]
    at = [0] * len(parts)

    def until(time: int) -> list[int]:
        return [a + int(np.searchsorted(t[a:], time, "right")) for a, t in zip(at, times, strict=True)]

    left = sum(len(t) for t in times)
    while left:
        low = min(int(t[a]) for a, t in zip(at, times, strict=True) if a < len(t))
        high = max(int(t[-1]) for t in times)
        if left > most:
            while low < high:  # the first time up to which there are so many
                middle = (low + high) // 2
                if sum(until(middle)) - sum(at) < most:
                    low = middle + 1
                else:
                    high = middle
        ends = until(high)
        yield [
            Part(part.task, part.rows.slice(begin, end - begin))
            for part, begin, end in zip(parts, at, ends, strict=True)
            if end > begin
        ]
        left -= sum(ends) - sum(at)
        at = ends
