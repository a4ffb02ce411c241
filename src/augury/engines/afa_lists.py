"""The events of a history in stream order, as they are or as they were: to list those of an output event."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.afa_outputs import Found
from augury.engines.afa_pool import Kept
from augury.match.gather import one_array, rows_of_table

Ints = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.uint64]


class Sources(Protocol):
    """Where events are kept: those that were forgotten but for lists, and the others."""

    archived: Kept
    archive: pa.Table
    kept: Kept
    table: pa.Table
    schema: pa.Schema


class View:
    """The events of all keys in stream order, as they are or as they were, to list those of an output event."""

    def __init__(self, history: Sources, cut: int, table: pa.Table, both: Kept, order: Ints) -> None:
        self.history = history
        self.cut = cut
        self.table = table
        self.both = both
        self.order = order
        self._made: tuple[Ints, Ints] | None = None

    def _places(self) -> tuple[Ints, Ints]:
        """The rows of all events by key, and their ids."""
        if self._made is None:
            h = self.history
            parts = [h.archived, h.kept.take(slice(0, self.cut)), self.both.take(self.order)]
            whole = Kept.joined(parts)
            rows = np.argsort(whole.key, kind="stable")
            ids = whole.id[rows]
            self._made = rows, ids
        return self._made

    def _ends(self, found: Found) -> tuple[Ints, Ints]:
        _, ids = self._places()
        by_id = np.argsort(ids, kind="stable")
        first, last = (by_id[np.searchsorted(ids[by_id], x)] for x in (found.start, found.end))
        return first, last

    def lists(self, found: Found) -> pa.Array:
        rows, _ = self._places()
        first, last = self._ends(found)
        h = self.history
        table = pa.concat_tables(
            [h.archive, h.table.slice(0, self.cut), rows_of_table(self.table, self.order)]
        )
        lengths = last - first + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(first, lengths)
        picked = rows_of_table(table, rows[flat])
        struct = pa.StructArray.from_arrays([one_array(c) for c in picked.columns], fields=list(h.schema))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct)


def mixed(lanes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Some words as one."""
    total = np.zeros(lanes.shape[1], np.uint64)
    for n in range(len(lanes)):
        x = (total ^ lanes[n]) + np.uint64(0x9E3779B97F4A7C15 * (n + 1) & (2**64 - 1))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total = x ^ (x >> np.uint64(31))
    return total
