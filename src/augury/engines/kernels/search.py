"""Ranges of sorted positions: the buffers of lazy plans, and what a partial match may still bind of them.

All buffers lie one after another in one array of kernel indices, each ascending. A range is two places in it.
"""

from __future__ import annotations

from typing import Any

Array = Any  # NumPy arrays, or lists where it runs uncompiled


def first_from(values: Array, low: int, high: int, least: int) -> int:
    """The first place in [low, high) whose value is at least this; `high` if there is none.

    It gallops from `low`: where the answer is near, a search costs a few steps however long the range is.
    """
    step = 1
    at = low
    while at < high and values[at] < least:
        low = at + 1
        at += step
        step += step
    high = min(high, at)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


def last_before(values: Array, low: int, high: int, limit: int) -> int:
    """The place behind the last one in [low, high) whose value is below this; `low` if there is none."""
    if high > low and values[high - 1] < limit:
        return high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


def reach_ends(lows: Array, segments: Array, ends: Array) -> None:
    """For each event the first one behind it that is in no window with it: the other side of `lows`."""
    for g in range(len(segments) - 1):
        i = segments[g]
        for j in range(segments[g], segments[g + 1]):
            while i < lows[j]:
                ends[i] = j
                i += 1
        while i < segments[g + 1]:
            ends[i] = segments[g + 1]
            i += 1
