"""A hash table of names of 128 bits: open addressing, at a place a slot, and the names themselves by slot.

A name is a digest, so its own bits say where it belongs. The table's length is a power of two, and at least half of
it is free, so that a search ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # NumPy arrays; the loops are compiled

FREE = -1
LEFT = -2  # a slot was here: what was pushed on by it is further on


def find(low: Array, high: Array, table: Array, slot_low: Array, slot_high: Array, found: Array) -> None:
    """The slot of each name; -1 for one that has none."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(low)):
        place = low[i] & mask
        while True:
            slot = table[place]
            if slot == FREE:
                found[i] = -1
                break
            if slot >= 0 and slot_low[slot] == low[i] and slot_high[slot] == high[i]:
                found[i] = slot
                break
            place = (place + np.uint64(1)) & mask


def enter(slots: Array, table: Array, slot_low: Array) -> int:
    """Put slots where their names belong; returns how many places that were free are taken."""
    mask = np.uint64(len(table) - 1)
    taken = 0
    for i in range(len(slots)):
        place = slot_low[slots[i]] & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        if table[place] == FREE:
            taken += 1
        table[place] = slots[i]
    return taken


def leave(slots: Array, table: Array, slot_low: Array) -> None:
    """Take slots, which are there, out."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(slots)):
        place = slot_low[slots[i]] & mask
        while table[place] != slots[i]:
            place = (place + np.uint64(1)) & mask
        table[place] = LEFT
