"""Where the events of a key live: in a shard, which is a group of Spark's, and there in a bucket of its state.

    xxhash64(key) ─ modulo ─> shard ─> Spark's partition
                           └> bucket, one entry of the shard's state

There is one shard for each of Spark's shuffle partitions, and its number is chosen so that Spark's own hash puts it there:
no partition is left without, none has two. The place of a key never changes while a checkpoint lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

LEDGER = -1  # the group that remembers which query the checkpoint is of

_SEED = 42  # of the hash by which Spark partitions


@dataclass(frozen=True, slots=True)
class Layout:
    """The shards' numbers, by place, and how many buckets each has."""

    shards: tuple[int, ...]
    buckets: int

    def places(self, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.unsignedinteger]:
        """For each key's hash its place: shard by shard, and in a shard bucket by bucket."""
        many = len(self.shards) * self.buckets
        narrow = np.uint16 if many <= 1 << 16 else np.uint32  # 16 bits are sorted by counting
        return (hashes.view(np.uint64) % np.uint64(many)).astype(narrow)


def layout(partitions: int, buckets: int) -> Layout:
    """One shard in each of so many partitions."""
    return Layout(places(partitions), buckets)


@cache
def places(partitions: int) -> tuple[int, ...]:
    """For each of so many partitions the least number that Spark's `repartition` by a column of integers sends there."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(spark_hash(number) % partitions, number)
        number += 1
    return tuple(found[place] for place in range(partitions))


def spark_hash(number: int) -> int:
    """Spark's `hash` of an integer: Murmur3 of 32 bits."""
    mask = 0xFFFFFFFF

    def turned(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & mask

    mixed = turned((number & mask) * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (turned(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & mask
    h ^= 4  # bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
