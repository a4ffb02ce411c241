"""Point matches one by one: what the paper's point-based framework sums up for a signature."""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays
Floats = Any


def within(
    x: int, s: int, t: int, lower: Ints, upper: Ints, place: Ints, before: Floats, after: Floats
) -> Any:
    """The probability that an event happens from s to t."""
    s = max(s, lower[x])
    t = min(t, upper[x])
    if t < s:
        return 0.0
    if place[x] < 0:
        return (t - s + 1) / (upper[x] - lower[x] + 1)
    at = place[x]
    if t == upper[x]:
        return after[at + s - lower[x]]
    return before[at + t - lower[x] + 1] - before[at + s - lower[x]]


def chances(
    origins: Ints, instants: Ints, number: Ints, begins: Ints, ends: Ints, listed: Ints,
    lower: Ints, upper: Ints, place: Ints, mass: Floats, before: Floats, after: Floats,
    marks: Ints, event: Ints, gaps: Ints, out: Floats,
) -> None:  # fmt: skip
    """The probability of each point match: that its events are there, and that no other is in a gap that it spoils."""
    size = origins.shape[1]
    for i in range(len(origins)):
        p = 1.0
        for j in range(size):
            x = origins[i, j]
            if place[x] < 0:
                p /= upper[x] - lower[x] + 1
            else:
                p *= mass[place[x] + instants[i, j] - lower[x]]
        group = number[i]
        count = 0
        for j in range(1, size):
            for k in range(begins[group, j], ends[group, j]):
                x = listed[k]
                own = False
                for m in range(size):
                    if origins[i, m] == x:
                        own = True
                if own or lower[x] >= instants[i, j] or upper[x] <= instants[i, j - 1]:
                    continue
                if marks[x] == 0:
                    event[count] = x
                    gaps[count] = 0
                    count += 1
                    marks[x] = count
                gaps[marks[x] - 1] |= 1 << j
        for k in range(count):
            x = event[k]
            marks[x] = 0
            clear = within(x, lower[x], instants[i, 0], lower, upper, place, before, after)
            for j in range(1, size):
                start = instants[i, j - 1] + 1
                if gaps[k] & (1 << j) != 0:
                    start = instants[i, j]
                clear += within(x, start, instants[i, j], lower, upper, place, before, after)
            clear += within(x, instants[i, size - 1] + 1, upper[x], lower, upper, place, before, after)
            p *= clear
        out[i] = p
