"""The events that a matcher keeps, by partition: those that a match to come may still need, and nothing else.

    slot ─ first[slot], count[slot] ─> rows of a pool of events, which lies in pieces

What is new of a slot is put at the pool's end, and its old rows are left behind; when more than half of the pool
has been left behind it is written anew. Eight pieces are made one, and eight of those, so that there are few and a row
is copied few times. A slot without rows is free, and its partition forgotten.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.expr.types import INT64_MAX
from augury.match.gather import in_one_chunk, no_rows, rows_of_table
from augury.match.identity import Lanes
from augury.runtime.names import Names

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEVER = INT64_MAX
_JOINED = 8  # pieces that are made one
_WHOLE = 99  # the rank of a piece that is all there was
_PER_SLOT = ("first", "count", "due", "expires", "alive")


class Kept:
    """Rows by slot, and for each slot when it must be looked at again, though nothing new has come for it."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.pool: list[pa.Table] = []
        self.barred: list[Mask] = []  # beside the pool: rows that begin no match any more
        self.rank: list[int] = []  # of a piece: how often it was joined with others
        self.rows = 0  # in the pool, also those left behind
        self.live = 0
        self.size = 0  # slots
        self.free = np.empty(0, np.int64)
        self.names = Names()
        # first, count: where a slot's rows are. due: the instant from which matches of it are certain that were not.
        # expires: the instant from which no match can need its rows. alive: runs that go on.
        self.first, self.count, self.due, self.expires, self.alive = (
            np.zeros(16, np.int64) for _ in _PER_SLOT
        )

    def slots_of(self, lanes: Lanes) -> Ints:
        """The slots of partitions, by their digests, no two alike; a new one for each that is not known."""
        found = self.names.find(lanes)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            found[unknown] = self._new(lanes[:, unknown])
        return found

    def _new(self, lanes: Lanes) -> Ints:
        many = lanes.shape[1]
        again = self.free[max(0, len(self.free) - many) :]
        slots = np.concatenate([again, np.arange(self.size, self.size + many - len(again))])
        self.free = self.free[: len(self.free) - len(again)]
        self.size += many - len(again)
        if self.size > len(self.count):
            room = max(self.size, 2 * len(self.count)) - len(self.count)
            for field in _PER_SLOT:
                setattr(self, field, np.concatenate([getattr(self, field), np.zeros(room, np.int64)]))
        self.names.enter(lanes, slots)
        self.first[slots] = self.count[slots] = self.alive[slots] = 0
        self.due[slots] = self.expires[slots] = NEVER
        return slots

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
        if len(self.pool) == 1:
            return rows_of_table(self.pool[0], rows), place, self.barred[0][rows]
        starts = np.cumsum([0, *(t.num_rows for t in self.pool)])
        piece = np.searchsorted(starts, rows, side="right") - 1
        tables, barred, order = [], [], []
        for number in np.unique(piece).tolist():
            those = np.flatnonzero(piece == number)
            within = rows[those] - starts[number]
            tables.append(rows_of_table(self.pool[number], within))
            barred.append(self.barred[number][within])
            order.append(those)
        places = place[np.concatenate(order)]
        if len(tables) > 1 and bool((places[1:] < places[:-1]).any()):
            again = np.argsort(places, kind="stable")
            table = rows_of_table(in_one_chunk(pa.concat_tables(tables), self.schema.names), again)
            return table, place, np.concatenate(barred)[again]
        return pa.concat_tables(tables), place, np.concatenate(barred)

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
            self.pool.append(in_one_chunk(table, self.schema.names))
            self.barred.append(barred)
            self.rank.append(0)
            self.rows += table.num_rows
            self._join()
        self._forget(slots[counts == 0])
        self._tidy()

    def _join(self) -> None:
        """Make one of the last pieces while there are enough that were made of as many others."""
        while self.rank.count(self.rank[-1]) == _JOINED:
            joined = in_one_chunk(pa.concat_tables(self.pool[-_JOINED:]), self.schema.names)
            self.pool[-_JOINED:] = [joined]
            self.barred[-_JOINED:] = [np.concatenate(self.barred[-_JOINED:])]
            self.rank[-_JOINED:] = [self.rank[-1] + 1]

    def forget_empty(self, slots: Ints) -> None:
        """Forget those of these slots that have no row."""
        self._forget(slots[self.count[slots] == 0])

    def drop_expired(self, instant: int) -> None:
        """Forget the slots of which no match can need a row from this instant on."""
        expires = self.expires[: self.size]
        gone = np.flatnonzero((expires <= instant) & (expires < NEVER) & (self.count[: self.size] > 0))
        self.live -= int(self.count[gone].sum())
        self._forget(gone)
        self._tidy()

    def _forget(self, slots: Ints) -> None:
        if not len(slots):
            return
        self.names.leave(slots)
        self.free = np.concatenate([self.free, slots])
        self.count[slots] = self.alive[slots] = 0
        self.due[slots] = self.expires[slots] = NEVER

    def _tidy(self) -> None:
        """Leave no more behind than is kept."""
        if self.rows > 2 * self.live + 1024:
            self.compact()

    def compact(self) -> None:
        """The pool anew, in the order of slots."""
        slots = self.slots()
        table, place, barred = self.taken_out(slots)
        counts = np.bincount(place, minlength=len(slots)).astype(np.int64)
        self.first[slots] = np.cumsum(counts) - counts
        table = in_one_chunk(table, self.schema.names)
        self.pool, self.barred, self.rows = ([table], [barred], len(place)) if len(place) else ([], [], 0)
        self.rank = [_WHOLE] * len(self.pool)

    def slots(self) -> Ints:
        """The slots in use, in order."""
        return np.flatnonzero(self.count[: self.size] > 0)

    @property
    def bytes(self) -> int:
        """What all this takes in memory."""
        per_slot: int = sum(getattr(self, field).nbytes for field in _PER_SLOT) + self.names.nbytes
        rows: int = sum(t.nbytes for t in self.pool) + sum(b.nbytes for b in self.barred)
        return rows + per_slot
