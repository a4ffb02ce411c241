"""Sorting and hashing by counting: linear passes where a comparison sort would be the cost of a query."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # NumPy arrays; the loops are compiled


def dense_ids(keys: Array, table_key: Array, table_id: Array, ids: Array) -> int:
    """Number equal int64 keys alike, in order of appearance; returns how many there are.

    Open addressing; the table's length is a power of two above twice the number of keys, and its ids
    start at -1. Fibonacci hashing: the high bits of the product.
    """
    mask = np.uint64(len(table_key) - 1)
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        place = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
        while True:
            found = table_id[place]
            if found < 0:
                table_key[place] = key
                table_id[place] = count
                found = count
                count += 1
                break
            if table_key[place] == key:
                break
            place = (place + np.uint64(1)) & mask
        ids[i] = found
    return count


def group(ids: Array, groups: int, order: Array) -> Array:
    """Rows by id, stable, as `order`; returns where each id's rows begin. Ids below 0 are left out."""
    starts = np.zeros(groups + 1, np.int64)
    for i in range(len(ids)):
        if ids[i] >= 0:
            starts[ids[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    place = starts[:groups].copy()
    for i in range(len(ids)):
        g = ids[i]
        if g >= 0:
            order[place[g]] = i
            place[g] += 1
    return starts


def group_in(ids: Array, groups: int, rows: Array, order: Array) -> Array:
    """The same, the rows taken in a given order."""
    starts = np.zeros(groups + 1, np.int64)
    for k in range(len(rows)):
        g = ids[rows[k]]
        if g >= 0:
            starts[g + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    place = starts[:groups].copy()
    for k in range(len(rows)):
        row = rows[k]
        g = ids[row]
        if g >= 0:
            order[place[g]] = row
            place[g] += 1
    return starts


def radix_order(keys: Array, order: Array, spare: Array) -> None:
    """Rows by unsigned 64-bit key, stable: `order` in and out. Digits that are all alike cost no pass."""
    n = len(keys)
    counts = np.zeros(2048, np.int64)
    all_or = np.uint64(0)
    all_and = np.uint64(0xFFFFFFFFFFFFFFFF)
    for i in range(n):
        all_or |= keys[i]
        all_and &= keys[i]
    differ = all_or ^ all_and
    shift = np.uint64(0)
    digit = np.uint64(2047)
    source = order
    target = spare
    passes = 0
    while shift < np.uint64(64):
        if (differ >> shift) & digit != np.uint64(0):
            counts[:] = 0
            for i in range(n):
                counts[(keys[i] >> shift) & digit] += 1
            total = 0
            for d in range(2048):
                c = counts[d]
                counts[d] = total
                total += c
            for k in range(n):
                row = source[k]
                d2 = (keys[row] >> shift) & digit
                target[counts[d2]] = row
                counts[d2] += 1
            source, target = target, source
            passes += 1
        shift += np.uint64(11)
    if passes % 2 == 1:
        for k in range(n):
            order[k] = source[k]


def sort_runs(words: Array, begins: Array, order: Array, spare: Array) -> None:
    """Sort `order` within each run begins[r] .. begins[r + 1], stable, by words[0], then words[1] and so on.

    Merges of ever longer pieces, each piece at first one element; what is in order already is only looked at.
    """
    depth = len(words)
    for r in range(len(begins) - 1):
        low = begins[r]
        high = begins[r + 1]
        width = 1
        while width < high - low:
            left = low
            while left + width < high:
                middle = left + width
                right = min(middle + width, high)
                i = left
                j = middle
                k = left
                while i < middle and j < right:
                    one = order[i]
                    other = order[j]
                    later = False
                    for d in range(depth):
                        if words[d, one] != words[d, other]:
                            later = words[d, one] > words[d, other]
                            break
                    if later:
                        spare[k] = other
                        j += 1
                    else:
                        spare[k] = one
                        i += 1
                    k += 1
                while i < middle:
                    spare[k] = order[i]
                    i += 1
                    k += 1
                for m in range(left, k):
                    order[m] = spare[m]
                left = right
            width *= 2


def window_lows(times: Array, segments: Array, window: int, lows: Array) -> None:
    """lows[i]: the first event of i's partition that fits in a window with it. Half-open: last - first < W."""
    for g in range(len(segments) - 1):
        first = segments[g]
        for i in range(segments[g], segments[g + 1]):
            # The difference is taken as unsigned: it may be beyond int64 for times far apart.
            while np.uint64(times[i] - times[first]) >= np.uint64(window):
                first += 1
            lows[i] = first


def segment_starts(segments: Array, lows: Array) -> None:
    """Without a window everything from the partition's first event on fits."""
    for g in range(len(segments) - 1):
        for i in range(segments[g], segments[g + 1]):
            lows[i] = segments[g]
