"""The probability that the events of a match happen in its order and within the window: a sum over instants.

Point matches are never listed. Without a window in the way one pass over the components does it, from the sums of
the one before; else it is one pass for each instant of the first event. For patterns of three the window's edge
splits into a part of the first and a part of the second event, so that it is one pass again: with F the chance of
the third event up to an instant,

    sum over t1 < t2 < t3 < t1 + W  =  sum over t1 of R(t1) F(t1 + W - 1)  -  sum over t2 of C(t2) F(t2)

where R and C are what the first two have by the one's instant and by the other's. Where all instants are alike these
are whole numbers. Longer patterns that the window cuts take the pass for each instant.
"""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays
Floats = Any


def chance(x: int, t: int, lower: Ints, upper: Ints, place: Ints, mass: Floats) -> Any:
    """The probability that an event happens at an instant."""
    if t < lower[x] or t > upper[x]:
        return 0.0
    if place[x] < 0:
        return 1.0 / (upper[x] - lower[x] + 1)
    return mass[place[x] + t - lower[x]]


def until(x: int, t: int, lower: Ints, upper: Ints, place: Ints, before: Floats) -> Any:
    """… at an instant or earlier."""
    if t < lower[x]:
        return 0.0
    if t >= upper[x]:
        return 1.0
    if place[x] < 0:
        return (t - lower[x] + 1) / (upper[x] - lower[x] + 1)
    return before[place[x] + t - lower[x] + 1]


def bounds(chain: Ints, window: int, lower: Ints, upper: Ints, least: Ints, most: Ints) -> bool:
    """The valid bounds of the events of a whole match."""
    size = len(chain)
    least[0] = lower[chain[0]]
    for j in range(1, size):
        least[j] = max(least[j - 1] + 1, lower[chain[j]])
        if least[j] > upper[chain[j]]:
            return False
    most[size - 1] = upper[chain[size - 1]]
    for j in range(size - 2, -1, -1):
        most[j] = min(most[j + 1] - 1, upper[chain[j]])
        if most[j] < least[j]:
            return False
    if window >= 0:
        if window < size or least[size - 1] > most[0] + window - 1:
            return False
        if most[size - 1] > most[0] + window - 1:
            most[size - 1] = most[0] + window - 1
            for j in range(size - 2, -1, -1):
                most[j] = min(most[j], most[j + 1] - 1)
        if least[0] < least[size - 1] - window + 1:
            least[0] = least[size - 1] - window + 1
            for j in range(1, size):
                least[j] = max(least[j], least[j - 1] + 1)
    return True


def few_worlds(chain: Ints, lower: Ints, upper: Ints, place: Ints) -> bool:
    """Whether all instants of three events are alike, so that point matches can be counted in whole numbers."""
    worlds = 1.0
    for x in chain:
        worlds *= upper[x] - lower[x] + 1
        if place[x] >= 0:
            return False
    return bool(worlds < 2.0**60)


def passed(
    chain: Ints, begin: int, end: int, final: int, lower: Ints, upper: Ints, place: Ints, mass: Floats,
    least: Ints, most: Ints, here: Floats, there: Floats,
) -> Any:  # fmt: skip
    """One pass from the first event at `begin` … `end` to instants of the last one up to `final`.

    On return `here[t - least[last]]` is what ends at t; returns up to which t that is.
    """
    size = len(chain)
    x = chain[0]
    for t in range(begin, end + 1):
        here[t - begin] = chance(x, t, lower, upper, place, mass)
    base = begin
    high = end
    for j in range(1, size):
        x = chain[j]
        low = least[j]
        top = min(most[j], final - (size - 1 - j))
        if top < low:
            return low - 1
        running = 0.0
        s = base
        for t in range(low, top + 1):
            while s < t and s <= high:
                running += here[s - base]
                s += 1
            there[t - low] = running * chance(x, t, lower, upper, place, mass)
        base = low
        high = top
        for k in range(high - base + 1):
            here[k] = there[k]
    return high


def confidences(
    found: Ints, window: int, lower: Ints, upper: Ints, place: Ints, mass: Floats, before: Floats, holes: Ints,
    starts: Ints, ends: Ints, confidence: Floats, least: Ints, most: Ints, here: Floats, there: Floats,
) -> None:  # fmt: skip
    """For each match its confidence and its tightest range; 0 where no world has it. `here` and `there` are room."""
    size = found.shape[1]
    for i in range(len(found)):
        chain = found[i]
        confidence[i] = 0.0
        if not bounds(chain, window, lower, upper, least, most):
            continue
        first = chain[0]
        last = chain[size - 1]
        starts[i] = least[0]
        ends[i] = most[size - 1]
        apart = True
        whole = True  # nothing has an impossible instant inside
        for j in range(size):
            if j > 0 and upper[chain[j - 1]] >= lower[chain[j]]:
                apart = False
            if holes[chain[j]]:
                whole = False
        fits = window < 0 or upper[last] - lower[first] < window
        if size == 1 or (apart and fits):
            confidence[i] = 1.0
            continue
        if not whole:
            confidence[i] = holed(
                i, chain, window, lower, upper, place, mass, least, most, here, there, starts, ends
            )
            continue
        if window < 0 or most[size - 1] - least[0] < window:
            total = 0.0
            top = passed(
                chain, least[0], most[0], most[size - 1], lower, upper, place, mass, least, most, here, there
            )
            for t in range(least[size - 1], top + 1):
                total += here[t - least[size - 1]]
        elif size == 2:
            total = 0.0
            for t in range(least[0], most[0] + 1):
                ahead = until(last, t + window - 1, lower, upper, place, before)
                total += chance(first, t, lower, upper, place, mass) * (
                    ahead - until(last, t, lower, upper, place, before)
                )
        elif size == 3 and few_worlds(chain, lower, upper, place):
            total = 0.0
            count = 0
            low3 = lower[last]
            width3 = upper[last] - low3 + 1
            for t in range(least[0], most[0] + 1):
                inner = min(t + window - 2, most[1]) - max(t, least[1] - 1)
                ahead3 = min(max(t + window - low3, 0), width3)
                count += max(inner, 0) * ahead3
            for t in range(least[1], most[1] + 1):
                inner = min(t - 1, most[0]) - max(t - window + 1, least[0] - 1)
                so_far3 = min(max(t - low3 + 1, 0), width3)
                count -= max(inner, 0) * so_far3
            for j in range(size):
                width3 = upper[chain[j]] - lower[chain[j]] + 1
                total = count / width3 if j == 0 else total / width3
        elif size == 3:
            total = 0.0
            x = chain[1]
            for t in range(least[0], most[0] + 1):
                ahead = until(last, t + window - 1, lower, upper, place, before)
                low = max(t, least[1] - 1)
                high = min(t + window - 2, most[1])
                if ahead > 0.0 and low < high:
                    inner = until(x, high, lower, upper, place, before)
                    inner -= until(x, low, lower, upper, place, before)
                    total += chance(first, t, lower, upper, place, mass) * inner * ahead
            for t in range(max(least[1], lower[last]), most[1] + 1):
                low = max(t - window + 1, least[0] - 1)
                high = min(t - 1, most[0])
                if low < high:
                    inner = until(first, high, lower, upper, place, before)
                    inner -= until(first, low, lower, upper, place, before)
                    so_far = until(last, t, lower, upper, place, before)
                    total -= chance(x, t, lower, upper, place, mass) * inner * so_far
        else:
            total = 0.0
            for t in range(least[0], most[0] + 1):
                final = t + window - 1
                top = passed(chain, t, t, final, lower, upper, place, mass, least, most, here, there)
                for s in range(least[size - 1], top + 1):
                    total += here[s - least[size - 1]]
        confidence[i] = max(total, 0.0)


def holed(
    i: int, chain: Ints, window: int, lower: Ints, upper: Ints, place: Ints, mass: Floats,
    least: Ints, most: Ints, here: Floats, there: Floats, starts: Ints, ends: Ints,
) -> Any:  # fmt: skip
    """The same where instants inside of intervals are impossible: the range is read off the sums."""
    size = len(chain)
    total = 0.0
    starts[i] = 1 << 62
    ends[i] = -1
    for t in range(least[0], most[0] + 1):
        final = most[size - 1]
        if window >= 0:
            final = min(final, t + window - 1)
        if chance(chain[0], t, lower, upper, place, mass) == 0.0:
            continue
        top = passed(chain, t, t, final, lower, upper, place, mass, least, most, here, there)
        for s in range(least[size - 1], top + 1):
            p = here[s - least[size - 1]]
            if p > 0.0:
                total += p
                starts[i] = min(starts[i], t)
                ends[i] = max(ends[i], s)
    return total
