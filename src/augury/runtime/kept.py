"""The events that a matcher keeps, by partition: those that a match to come may still need, and nothing else.

    slot ─ first[slot], count[slot] ─> rows of one pool of events

What is new of a slot is put at the pool's end, and its old rows are left behind; when more than half of the pool
has been left behind it is written anew. A slot without rows is free, and its partition forgotten.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.expr.types import INT64_MAX
from augury.match.gather import in_one_chunk, no_rows, rows_of_table
from augury.match.identity import Lanes

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEVER = INT64_MAX
_CHUNKS = 64  # of the pool, before they are made one
_PER_SLOT = ("first", "count", "due", "expires", "alive")


class Kept:
    """Rows by slot, and for each slot when it must be looked at again, though nothing new has come for it."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.pool: list[pa.Table] = []
        self.barred: list[Mask] = []  # beside the pool: rows that begin no match any more
        self.rows = 0  # in the pool, also those left behind
        self.live = 0
        self.size = 0  # slots
        self.free: list[int] = []
        self.names: dict[bytes, int] = {}
        self.name_of = np.zeros(16, "V16")
        # first, count: where a slot's rows are. due: the instant from which matches of it are certain that were not.
        # expires: the instant from which no match can need its rows. alive: runs that go on.
        self.first, self.count, self.due, self.expires, self.alive = (
            np.zeros(16, np.int64) for _ in _PER_SLOT
        )

    def slots_of(self, lanes: Lanes) -> Ints:
        """The slots of partitions, by their digests; a new one for each that is not known."""
        names = np.ascontiguousarray(lanes.T).tobytes()
        found = np.empty(lanes.shape[1], np.int64)
        known = self.names
        for place in range(len(found)):
            name = names[16 * place : 16 * place + 16]
            slot = known.get(name)
            found[place] = self._new(name) if slot is None else slot
        return found

    def _new(self, name: bytes) -> int:
        if self.free:
            slot = self.free.pop()
        else:
            slot, self.size = self.size, self.size + 1
            if self.size > len(self.count):
                for field in _PER_SLOT:
                    setattr(
                        self, field, np.concatenate([getattr(self, field), np.zeros(self.size, np.int64)])
                    )
                self.name_of = np.concatenate([self.name_of, np.zeros(self.size, "V16")])
        self.names[name] = slot
        self.name_of[slot] = np.frombuffer(name, "V16")[0]
        self.first[slot] = self.count[slot] = self.alive[slot] = 0
        self.due[slot] = self.expires[slot] = NEVER
        return slot

    @property
    def next(self) -> int:
        """The first instant at which a slot must be looked at, or at which the last one of all is of no use."""
        used = self.count[: self.size] > 0
        if not used.any():
            return NEVER
        return int(min(self.due[: self.size][used].min(), self.expires[: self.size][used].max()))

    def due_by(self, instant: int) -> Ints:
        """The slots that must be looked at by this instant."""
        return np.flatnonzero((self.due[: self.size] <= instant) & (self.count[: self.size] > 0))

    def taken_out(self, slots: Ints) -> tuple[pa.Table, Ints, Mask]:
        """The rows of slots, one after another; for each its place among the slots, and whether it is barred."""
        counts = self.count[slots]
        place = np.repeat(np.arange(len(slots)), counts)
        rows = np.arange(len(place)) + np.repeat(self.first[slots] - (np.cumsum(counts) - counts), counts)
        if not len(rows):
            return no_rows(self.schema), place, np.zeros(0, np.bool_)
        table = rows_of_table(self._whole(), rows)
        return table, place, self.barred[0][rows]

    def _whole(self) -> pa.Table:
        if len(self.pool) > 1:
            self.pool = [in_one_chunk(pa.concat_tables(self.pool), self.schema.names)]
            self.barred = [np.concatenate(self.barred)]
        return self.pool[0]

    def put(
        self, slots: Ints, counts: Ints, table: pa.Table, barred: Mask, due: Ints, expires: Ints, alive: Ints
    ) -> None:
        """What is kept of slots from now on: rows that stand together by slot."""
        self.live += int(counts.sum() - self.count[slots].sum())
        self.first[slots] = self.rows + np.cumsum(counts) - counts
        self.count[slots], self.due[slots], self.expires[slots], self.alive[slots] = (
            counts,
            due,
            expires,
            alive,
        )
        if table.num_rows:
            self.pool.append(table)
            self.barred.append(barred)
            self.rows += table.num_rows
        self._forget(slots[counts == 0])
        self._tidy()

    def drop_expired(self, instant: int) -> None:
        """Forget the slots of which no match can need a row from this instant on."""
        expires = self.expires[: self.size]
        gone = np.flatnonzero((expires <= instant) & (expires < NEVER) & (self.count[: self.size] > 0))
        self.live -= int(self.count[gone].sum())
        self.count[gone] = 0
        self._forget(gone)
        self._tidy()

    def _forget(self, slots: Ints) -> None:
        for slot in slots.tolist():
            del self.names[self.name_of[slot].tobytes()]
            self.free.append(slot)
        self.count[slots] = self.alive[slots] = 0
        self.due[slots] = self.expires[slots] = NEVER

    def _tidy(self) -> None:
        """Leave no more behind than is kept, and the pool in few pieces."""
        if self.rows > 2 * self.live + 1024:
            self.compact()
        elif len(self.pool) > _CHUNKS:
            self._whole()

    def compact(self) -> None:
        """The pool anew, in the order of slots."""
        slots = self.slots()
        table, place, barred = self.taken_out(slots)
        counts = np.bincount(place, minlength=len(slots)).astype(np.int64)
        self.first[slots] = np.cumsum(counts) - counts
        self.pool, self.barred, self.rows = ([table], [barred], len(place)) if len(place) else ([], [], 0)

    def slots(self) -> Ints:
        """The slots in use, in order."""
        return np.flatnonzero(self.count[: self.size] > 0)

    @property
    def bytes(self) -> int:
        """What all this takes in memory."""
        per_slot: int = sum(getattr(self, field).nbytes for field in _PER_SLOT) + self.name_of.nbytes
        rows: int = sum(t.nbytes for t in self.pool) + sum(b.nbytes for b in self.barred)
        return rows + per_slot
