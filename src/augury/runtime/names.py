"""Which slot a partition has, by its name: a dictionary while there are few, a compiled hash table for many.

A dictionary needs no compiler. From some thousand names on it is what a step with many partitions costs: 0.3
microseconds for each that is looked up and as much for each that comes or goes, against 0.05.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat

import numpy as np
import numpy.typing as npt

from augury.engines.compiling import compiled
from augury.engines.kernels import names as kernels

Ints = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.uint64]  # (2, n): two words of each name

MANY = 10_000


class Names:
    """Names of 128 bits and the slots that they have: small numbers, used again by those who give them."""

    def __init__(self) -> None:
        self.live = 0
        self.few: dict[bytes, int] | None = {}
        self.of_slot: Lanes = np.zeros((2, 16), np.uint64)
        self.table = np.empty(0, np.int64)
        self.taken = 0  # places of the table that are not free

    def __len__(self) -> int:
        return self.live

    def find(self, lanes: Lanes) -> Ints:
        """The slot of each name; -1 for one that has none."""
        found = np.empty(lanes.shape[1], np.int64)
        if self.few is not None:
            found[:] = np.fromiter(map(self.few.get, _bytes(lanes), repeat(-1)), np.int64, len(found))
        else:
            compiled(kernels.find)(lanes[0], lanes[1], self.table, *self.of_slot, found)
        return found

    def enter(self, lanes: Lanes, slots: Ints) -> None:
        """Names that are not there, and their slots."""
        most = int(slots.max(initial=-1)) + 1
        if most > self.of_slot.shape[1]:
            room = max(most, 2 * self.of_slot.shape[1]) - self.of_slot.shape[1]
            self.of_slot = np.concatenate([self.of_slot, np.zeros((2, room), np.uint64)], axis=1)
        self.of_slot[:, slots] = lanes
        self.live += len(slots)
        if self.few is not None:
            self.few.update(zip(_bytes(lanes), slots.tolist(), strict=True))
            if self.live > MANY:
                every = np.fromiter(self.few.values(), np.int64, self.live)
                self.few = None
                self._anew(every)
        elif 2 * (self.taken + len(slots)) > len(self.table):
            self._anew(np.concatenate([self.table[self.table >= 0], slots]))
        else:
            self.taken += int(compiled(kernels.enter)(slots, self.table, self.of_slot[0]))

    def leave(self, slots: Ints) -> None:
        """Forget the names of slots."""
        self.live -= len(slots)
        if self.few is not None:
            deque(map(self.few.pop, _bytes(self.of_slot[:, slots])), maxlen=0)
        else:
            compiled(kernels.leave)(slots, self.table, self.of_slot[0])

    def _anew(self, slots: Ints) -> None:
        self.table = np.full(1 << (4 * len(slots)).bit_length(), kernels.FREE, np.int64)
        self.taken = int(compiled(kernels.enter)(slots, self.table, self.of_slot[0]))

    @property
    def nbytes(self) -> int:
        return self.of_slot.nbytes + self.table.nbytes


def _bytes(lanes: Lanes) -> list[bytes]:
    found: list[bytes] = np.ascontiguousarray(lanes.T).view("V16").reshape(-1).tolist()
    return found
