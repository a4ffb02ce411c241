"""Joins over intervals: which events can stand in a slot beside those that are bound already.

    bound     a row for each partial match: the event of each slot, -1 where none is bound yet
    tightened what is left of each bound event's interval when all of them are in order and in the window

An unbound slot between two bound ones still takes an instant. An instant is a whole number from 0 on, and the
window, too, is below 2**62, so that no sum overflows; `window` is -1 where there is none.
"""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays


def tightened(chain: Ints, window: int, lower: Ints, upper: Ints, least: Ints, most: Ints) -> bool:
    """The valid bounds of the events of a chain (-1: not bound), and whether any instants are left to each."""
    size = len(chain)
    first = -1
    last = -1
    for i in range(size):
        x = chain[i]
        if x >= 0:
            low = lower[x]
            if last >= 0 and least[last] + (i - last) > low:
                low = least[last] + (i - last)
            if low > upper[x]:
                return False
            least[i] = low
            last = i
            if first < 0:
                first = i
    after = -1
    for i in range(size - 1, -1, -1):
        x = chain[i]
        if x >= 0:
            high = upper[x]
            if after >= 0 and most[after] - (after - i) < high:
                high = most[after] - (after - i)
            if high < least[i]:
                return False
            most[i] = high
            after = i
    if window >= 0:
        room = window - size + last - first
        if room < last - first or least[last] > most[first] + room:
            return False
        if most[last] > most[first] + room:
            most[last] = most[first] + room
            after = last
            for i in range(last - 1, first - 1, -1):
                if chain[i] >= 0:
                    most[i] = min(most[i], most[after] - (after - i))
                    after = i
        if least[first] < least[last] - room:
            least[first] = least[last] - room
            before = first
            for i in range(first + 1, last + 1):
                if chain[i] >= 0:
                    least[i] = max(least[i], least[before] + (i - before))
                    before = i
    return True


def ranges(
    bound: Ints, ids: Ints, slot: int, window: int, lower: Ints, upper: Ints,
    pool_ids: Ints, pool_lower: Ints, pool_reach: Ints,
    least: Ints, most: Ints, first: Ints, last: Ints, low: Ints, horizon: Ints,
) -> int:  # fmt: skip
    """For each partial match the range of the slot's pool that can reach it; returns how many pairs that makes.

    The pool stands by id, then by lower bound; `pool_reach` is the greatest upper bound so far, of an id. `horizon`
    is up to when the nearest bound event before the slot can happen.
    """
    size = bound.shape[1]
    pairs = 0
    for i in range(len(bound)):
        chain = bound[i]
        tightened(chain, window, lower, upper, least, most)
        start = 0
        end = 1 << 62
        front = -1
        back = -1
        nearest = -1
        for k in range(size):
            if chain[k] >= 0:
                if front < 0:
                    front = k
                back = k
                if k < slot:
                    nearest = k
                    start = least[k] + (slot - k)
                elif k > slot and end == 1 << 62:
                    end = most[k] - (k - slot)
        if window >= 0:
            if front >= 0 and front < slot:
                end = min(end, most[front] + window - size + slot - front)
            if back > slot:
                start = max(start, least[back] - (window - size + back - slot))
        horizon[i] = most[nearest] if nearest >= 0 else -1
        low[i] = start
        a = 0
        b = len(pool_ids)
        while a < b:
            middle = (a + b) >> 1
            if pool_ids[middle] < ids[i] or (pool_ids[middle] == ids[i] and pool_reach[middle] < start):
                a = middle + 1
            else:
                b = middle
        first[i] = a
        b = len(pool_ids)
        while a < b:
            middle = (a + b) >> 1
            if pool_ids[middle] < ids[i] or (pool_ids[middle] == ids[i] and pool_lower[middle] <= end):
                a = middle + 1
            else:
                b = middle
        last[i] = a
        pairs += a - first[i]
    return pairs


def extended(
    bound: Ints, begin: int, end: int, slot: int, window: int, lower: Ints, upper: Ints, origin: Ints,
    pool: Ints, first: Ints, last: Ints, low: Ints,
    chain: Ints, least: Ints, most: Ints, parents: Ints, events: Ints,
) -> int:  # fmt: skip
    """The pairs of a partial match and an event of the slot's pool that leave instants to all; how many there are."""
    size = bound.shape[1]
    count = 0
    for i in range(begin, end):
        for k in range(size):
            chain[k] = bound[i, k]
        for place in range(first[i], last[i]):
            x = pool[place]
            if upper[x] < low[i]:
                continue
            taken = False
            for k in range(size):
                if k != slot and chain[k] >= 0 and origin[chain[k]] == origin[x]:
                    taken = True
            if taken:
                continue
            chain[slot] = x
            if tightened(chain, window, lower, upper, least, most):
                parents[count] = i
                events[count] = x
                count += 1
    return count


def next_latest(
    parents: Ints, events: Ints, horizon: Ints, lower: Ints, first_of: Ints, last_of: Ints, keep: Ints
) -> None:
    """The paper's NELT: which candidates can happen no later than one that surely comes after what is bound.

    Pairs stand by partial match. `first_of` and `last_of` bound the whole event's instants, where a candidate is one
    point of it.
    """
    n = len(parents)
    start = 0
    while start < n:
        i = parents[start]
        end = start
        latest = (1 << 63) - 1
        while end < n and parents[end] == i:
            x = events[end]
            if first_of[x] > horizon[i] and last_of[x] < latest:
                latest = last_of[x]
            end += 1
        for k in range(start, end):
            keep[k] = lower[events[k]] <= latest
        start = end


def reaches(ids: Ints, upper: Ints, out: Ints) -> None:
    """The greatest upper bound so far, of each id."""
    for i in range(len(ids)):
        out[i] = upper[i]
        if i > 0 and ids[i] == ids[i - 1] and out[i - 1] > out[i]:
            out[i] = out[i - 1]
