"""The probability of a skip-till-next match: its events are there, and no other event spoils one of its gaps.

An event that can spoil one gap only is a factor of that gap: with s and t the instants at its ends, the chance that
it happens at s or earlier or at t or later. An event that can spoil two gaps couples them. Its instant lies in one
place only, so it is walked along with the match: a state is the instant of the last component and the set of such
events that have happened by then.

    state (t1, S)   every event of S at t1 or earlier
    t1 -> t2        the others may happen in between, if that spoils nothing, or at t2
    (t_l, all)      those that are left happen at t_l or later

Sets are needed of those events alone that overlap each other and the match: for one that is over its place is known,
for one to come there is none yet. Whether a match can happen at all is, with impossible instants and without a bound
on the pattern's length, a vertex cover: an event for each edge that spoils every gap unless a component takes one of
its two instants. So no polynomial walk exists for all of it; this one is exponential only in how many events overlap
that could spoil two gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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


def since(x: int, t: int, lower: Ints, upper: Ints, place: Ints, after: Floats) -> Any:
    """… at an instant or later."""
    if t > upper[x]:
        return 0.0
    if t <= lower[x]:
        return 1.0
    if place[x] < 0:
        return (upper[x] - t + 1) / (upper[x] - lower[x] + 1)
    return after[place[x] + t - lower[x]]


def between(x: int, s: int, t: int, lower: Ints, upper: Ints, place: Ints, before: Floats) -> Any:
    """… after the one instant and before the other."""
    if t - s < 2:
        return 0.0
    return max(0.0, until(x, t - 1, lower, upper, place, before) - until(x, s, lower, upper, place, before))


def threats(
    chain: Ints, begins: Ints, ends: Ints, listed: Ints, lower: Ints, upper: Ints, least: Ints, most: Ints,
    marks: Ints, event: Ints, gaps: Ints,
) -> int:  # fmt: skip
    """The events that could spoil a match, and in `gaps` a bit for each gap that they could; how many they are.

    `listed[begins[j]:ends[j]]` satisfy what component j asks, given the events before it. `marks` is 0, before and
    after.
    """
    size = len(chain)
    count = 0
    for j in range(1, size):
        for k in range(begins[j], ends[j]):
            x = listed[k]
            if lower[x] >= most[j] or upper[x] <= least[j - 1]:
                continue
            if max(lower[x], least[j - 1] + 1) > min(upper[x], most[j] - 1):
                continue
            own = False
            for m in range(size):
                if chain[m] == x:
                    own = True
            if own:
                continue
            if marks[x] == 0:
                event[count] = x
                gaps[count] = 0
                count += 1
                marks[x] = count
            gaps[marks[x] - 1] |= 1 << j
    for k in range(count):
        marks[event[k]] = 0
    return count


def gap_chances(
    j: int, chain: Ints, count: int, event: Ints, gaps: Ints, most_far: int,
    lower: Ints, upper: Ints, place: Ints, mass: Floats, before: Floats, after: Floats,
    least: Ints, most: Ints, ahead: Floats, row: Floats, out: Floats,
) -> None:  # fmt: skip
    """out[s, t]: that component j happens at t, and that no event that could spoil this gap alone is after s, before t.

    `ahead[k, t]` is room for the chances that the events happen at t or later.
    """
    s_low = least[j - 1]
    t_low = least[j]
    width = most[j] - t_low + 1
    alone = 0
    for k in range(count):
        if gaps[k] == 1 << j:
            x = event[k]
            for c in range(width):
                ahead[alone, c] = since(x, t_low + c, lower, upper, place, after)
            event[count + alone] = x
            alone += 1
    for c in range(width):
        row[c] = chance(chain[j], t_low + c, lower, upper, place, mass)
    for s in range(s_low, most[j - 1] + 1):
        a = max(0, s + 1 - t_low)
        b = min(width, s + most_far + 1 - t_low)
        line = out[s - s_low]
        for c in range(width):
            line[c] = 0.0
        for c in range(a, b):
            line[c] = row[c]
        for k in range(alone):
            x = event[count + k]
            if upper[x] > s:
                done = until(x, s, lower, upper, place, before)
                other = ahead[k]
                for c in range(a, b):
                    line[c] *= done + other[c]


def walked(
    begin: int, end: int, final: int, size: int, couples: int, couple: Ints, couple_gaps: Ints,
    lower: Ints, upper: Ints, place: Ints, mass: Floats, before: Floats,
    least: Ints, most: Ints, first: Floats, gap: Floats, last_gap: Floats, sums: Floats,
    here: Floats, there: Floats, moved: Floats, range_of: Ints,
) -> Any:  # fmt: skip
    """The probability of all point matches whose first instant is in begin … end, and the last one up to `final`.

    `range_of` is widened to the instants of those that are possible.
    """
    states = 1 << couples
    for t in range(begin, end + 1):
        c = t - least[0]
        here[0, c] = first[c]
        for k in range(couples):
            done = until(couple[k], t, lower, upper, place, before)
            for state in range(1 << k):
                here[state | (1 << k), c] = here[state, c] * done
    s_begin = begin
    s_end = end
    for j in range(1, size - 1):
        t_low = least[j]
        t_end = min(most[j], final - (size - 1 - j))
        width = t_end - t_low + 1
        if width <= 0:
            return 0.0
        for state in range(states):
            for c in range(width):
                there[state, c] = 0.0
        for s in range(s_begin, s_end + 1):
            line = gap[j, s - least[j - 1]]
            a = max(0, s + 1 - t_low)
            if couples == 0:
                p = here[0, s - least[j - 1]]
                if p != 0.0:
                    target = there[0]
                    for c in range(a, width):
                        target[c] += p * line[c]
                continue
            for state in range(states):
                p = here[state, s - least[j - 1]]
                for c in range(a, width):
                    moved[state, c] = p * line[c]
            for k in range(couples):
                x = couple[k]
                if upper[x] <= s:
                    continue
                bit = 1 << k
                for c in range(a, width):
                    t = t_low + c
                    share = chance(x, t, lower, upper, place, mass)
                    if couple_gaps[k] & (1 << j) == 0:
                        share += between(x, s, t, lower, upper, place, before)
                    if share > 0.0:
                        for state in range(states):
                            if state & bit == 0:
                                moved[state | bit, c] += moved[state, c] * share
            for state in range(states):
                for c in range(a, width):
                    there[state, c] += moved[state, c]
        for state in range(states):
            for c in range(width):
                here[state, c] = there[state, c]
        s_begin = t_low
        s_end = t_end
    j = size - 1
    t_low = least[j]
    top = min(final, most[j]) - t_low
    total = 0.0
    if top < 0:
        return 0.0
    for s in range(s_begin, s_end + 1):
        at = s - least[j - 1]
        for state in range(states):
            p = here[state, at]
            if p > 0.0:
                sum_ = sums[state, at, top]
                if sum_ > 0.0:
                    total += p * sum_
                    c = top
                    while last_gap[state, at, c] == 0.0:
                        c -= 1
                    range_of[1] = max(range_of[1], t_low + c)
    if total > 0.0:
        range_of[0] = min(range_of[0], begin)
    return total


def last_sums(
    size: int, couples: int, couple: Ints, couple_gaps: Ints,
    lower: Ints, upper: Ints, place: Ints, before: Floats, after: Floats,
    least: Ints, most: Ints, gap: Floats, last_gap: Floats, sums: Floats,
) -> None:  # fmt: skip
    """For each set that has happened by s: the chance of each last instant, and of all up to it."""
    j = size - 1
    t_low = least[j]
    width = most[j] - t_low + 1
    bit = 1 << j
    for s in range(least[j - 1], most[j - 1] + 1):
        at = s - least[j - 1]
        line = gap[j, at]
        for state in range(1 << couples):
            target = last_gap[state, at]
            for c in range(width):
                target[c] = line[c]
            for k in range(couples):
                if state & (1 << k) == 0:
                    x = couple[k]
                    spoils = couple_gaps[k] & bit != 0
                    for c in range(max(0, s + 1 - t_low), width):
                        t = t_low + c
                        share = since(x, t, lower, upper, place, after)
                        if not spoils:
                            share += between(x, s, t, lower, upper, place, before)
                        target[c] *= share
            running = 0.0
            for c in range(width):
                running += target[c]
                sums[state, at, c] = running


def listed_points(
    chain: Ints, couples: int, couple: Ints, couple_gaps: Ints, window: int,
    lower: Ints, upper: Ints, place: Ints, mass: Floats, before: Floats, after: Floats,
    least: Ints, most: Ints, first: Floats, gap: Floats, point: Ints, chances: Floats, clear: Floats,
    range_of: Ints,
) -> Any:  # fmt: skip
    """The same, point match by point match: for few instants and many events that could spoil two gaps.

    `clear[j, k]` is how likely event k has happened by the instant of component j without spoiling anything.
    """
    size = len(chain)
    total = 0.0
    j = 0
    point[0] = least[0] - 1
    while j >= 0:
        point[j] += 1
        t = point[j]
        high = most[j]
        if window >= 0 and j > 0:
            high = min(high, point[0] + window - 1 - (size - 1 - j))
        if t > high:
            j -= 1
            continue
        p = (
            first[t - least[0]]
            if j == 0
            else chances[j - 1] * gap[j, point[j - 1] - least[j - 1], t - least[j]]
        )
        if p == 0.0:
            continue
        for k in range(couples):
            x = couple[k]
            if j == 0:
                clear[0, k] = until(x, t, lower, upper, place, before)
            else:
                share = clear[j - 1, k] + chance(x, t, lower, upper, place, mass)
                if couple_gaps[k] & (1 << j) == 0:
                    share += between(x, point[j - 1], t, lower, upper, place, before)
                clear[j, k] = share
                if upper[x] <= t and share == 0.0:
                    p = 0.0
        if p == 0.0:
            continue
        if j < size - 1:
            chances[j] = p
            j += 1
            point[j] = max(t, least[j] - 1)
            continue
        for k in range(couples):
            x = couple[k]
            p *= clear[j, k] + since(x, t + 1, lower, upper, place, after)
        if p > 0.0:
            total += p
            range_of[0] = min(range_of[0], point[0])
            range_of[1] = max(range_of[1], t)
    return total


def bounds(chain: Ints, window: int, lower: Ints, upper: Ints, least: Ints, most: Ints) -> bool:
    """The valid bounds of the events of a whole match, spoilers apart."""
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


def measured(
    chain: Ints, begins: Ints, ends: Ints, listed: Ints, window: int, lower: Ints, upper: Ints,
    least: Ints, most: Ints, marks: Ints, event: Ints, gaps: Ints, needs: Ints,
) -> int:  # fmt: skip
    """How many events could spoil a match, and what room its evaluation needs: couples, and the widest component."""
    needs[0] = 0
    needs[1] = 0
    if not bounds(chain, window, lower, upper, least, most):
        return -1
    count = threats(chain, begins, ends, listed, lower, upper, least, most, marks, event, gaps)
    for k in range(count):
        if gaps[k] & (gaps[k] - 1) != 0:
            needs[0] += 1
    for j in range(len(chain)):
        needs[1] = max(needs[1], most[j] - least[j] + 1)
    return count


def finals(
    found: Ints, lists_begin: Ints, lists_end: Ints, listed: Ints, window: int, lower: Ints, upper: Ints, given: Ints, final: Ints,
    least: Ints, most: Ints, marks: Ints, event: Ints, gaps: Ints, needs: Ints,
) -> None:  # fmt: skip
    """For each match the latest upper bound of its last event and of those that could spoil it."""
    for i in range(len(found)):
        final[i] = given[found[i, found.shape[1] - 1]]
        count = measured(
            found[i], lists_begin[i], lists_end[i], listed, window, lower, upper, least, most, marks, event, gaps, needs
        )  # fmt: skip
        for k in range(count):
            final[i] = max(final[i], given[event[k]])


def confidences(
    found: Ints, begin: int, lists_begin: Ints, lists_end: Ints, listed: Ints, window: int,
    lower: Ints, upper: Ints, given: Ints, place: Ints, mass: Floats, before: Floats, after: Floats,
    starts: Ints, ends: Ints, final: Ints, confidence: Floats, cells: int,
    least: Ints, most: Ints, marks: Ints, event: Ints, gaps: Ints, needs: Ints,
) -> int:  # fmt: skip
    """Matches from number `begin` on: confidence, tightest range, and from when on it can be reported (`final`).

    Returns the first match that it left undone because it needs more than `cells` numbers of room; else their number.
    """
    size = found.shape[1]
    range_of = np.zeros(2, np.int64)
    couple = np.zeros(64, np.int64)
    couple_gaps = np.zeros(64, np.int64)
    point = np.zeros(size, np.int64)
    chances = np.zeros(size, np.float64)
    wide = 1
    deep = 1
    many = 1
    here = np.zeros((1, 1), np.float64)
    there = np.zeros((1, 1), np.float64)
    moved = np.zeros((1, 1), np.float64)
    first = np.zeros(1, np.float64)
    row = np.zeros(1, np.float64)
    gap = np.zeros((size, 1, 1), np.float64)
    ahead = np.zeros((1, 1), np.float64)
    last_gap = np.zeros((1, 1, 1), np.float64)
    sums = np.zeros((1, 1, 1), np.float64)
    clear = np.zeros((size, 64), np.float64)
    for i in range(begin, len(found)):
        chain = found[i]
        confidence[i] = 0.0
        final[i] = given[chain[size - 1]]
        count = measured(
            chain, lists_begin[i], lists_end[i], listed, window, lower, upper, least, most, marks, event, gaps, needs
        )  # fmt: skip
        if count < 0:
            continue
        couples = needs[0]
        width = needs[1]
        for k in range(count):
            final[i] = max(final[i], given[event[k]])
        points = 1.0  # point matches, at most
        for j in range(size):
            points *= most[j] - least[j] + 1
        states = 2.0**couples
        listing = couples > 0 and (couples > 60 or points < states * width * width)
        if couples > 64 or (listing and points > 1e11):
            return i
        room = (size + (0.0 if listing else 2.0 * states)) * width * width
        if room > cells:
            return i
        if width > wide or count > many or (not listing and states > deep):
            wide = max(wide, width)
            many = max(many, count)
            if not listing:
                deep = max(deep, 1 << couples)
            here = np.zeros((deep, wide), np.float64)
            there = np.zeros((deep, wide), np.float64)
            moved = np.zeros((deep, wide), np.float64)
            first = np.zeros(wide, np.float64)
            row = np.zeros(wide, np.float64)
            gap = np.zeros((size, wide, wide), np.float64)
            ahead = np.zeros((many, wide), np.float64)
            last_gap = np.zeros((deep, wide, wide), np.float64)
            sums = np.zeros((deep, wide, wide), np.float64)
        couples = 0
        for k in range(count):
            if gaps[k] & (gaps[k] - 1) != 0:
                couple[couples] = event[k]
                couple_gaps[couples] = gaps[k]
                couples += 1
        for t in range(least[0], most[0] + 1):
            first[t - least[0]] = chance(chain[0], t, lower, upper, place, mass)
        far = most[size - 1] - least[0]
        if window >= 0:
            far = min(far, window - 1)
        for j in range(1, size):
            gap_chances(
                j, chain, count, event, gaps, far, lower, upper, place, mass, before, after,
                least, most, ahead, row, gap[j],
            )  # fmt: skip
        range_of[0] = 1 << 62
        range_of[1] = -1
        if listing:
            confidence[i] = listed_points(
                chain, couples, couple, couple_gaps, window, lower, upper, place, mass, before, after,
                least, most, first, gap, point, chances, clear, range_of,
            )  # fmt: skip
        else:
            last_sums(
                size, couples, couple, couple_gaps, lower, upper, place, before, after,
                least, most, gap, last_gap, sums,
            )  # fmt: skip
            cut = window >= 0 and most[size - 1] - least[0] >= window
            if (
                size > 3 and not cut
            ):  # one walk for all first instants; which is the first possible one is asked then
                confidence[i] = walked(
                    least[0], most[0], most[size - 1], size, couples, couple, couple_gaps,
                    lower, upper, place, mass, before, least, most, first, gap, last_gap, sums,
                    here, there, moved, range_of,
                )  # fmt: skip
                range_of[0] = 1 << 62
            t = least[0]
            while t <= most[0] and ((size <= 3 or cut) or (range_of[0] > t and confidence[i] > 0.0)):
                if first[t - least[0]] > 0.0:
                    limit = most[size - 1]
                    if window >= 0:
                        limit = min(limit, t + window - 1)
                    p = walked(
                        t, t, limit, size, couples, couple, couple_gaps,
                        lower, upper, place, mass, before, least, most, first, gap, last_gap, sums,
                        here, there, moved, range_of,
                    )  # fmt: skip
                    if size <= 3 or cut:
                        confidence[i] += p
                t += 1
        starts[i] = range_of[0]
        ends[i] = range_of[1]
    return len(found)
