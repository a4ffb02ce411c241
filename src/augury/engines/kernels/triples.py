"""Skip-till-next matches of three events: what `gaps` computes, shared by all matches with the same first two.

Of an event that could spoil both gaps only this matters: it is at t1 or earlier, at t2, or at t3 or later. So with t2
fixed the sum over t1 and t3 of all point matches is

    sum over S of  U_S(t3 - W + 1)  v(t3)  product of the others' chances to be at t3 or later

where S are those of the events around t2 that are at t1 or earlier, or at t2, and U_S(t) is the sum over the first
event's instants from t on of its chance, that nothing is in the first gap, and that S is where it is. U_S is made once
for the first two events and each t2; a match costs a pass over the instants of its last event for each t2. An event
that ends by t2 is in S, one that begins after t2 is not, so that sets are those of the few events around t2.

Which instants are possible is told by whole numbers: the earlier t1 and the later t3, the more is in the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = Any  # NumPy arrays
Floats = Any

TINY = 5e-324  # of what is possible, and less likely than its sums are exact
AROUND = 10  # events around an instant that could spoil both gaps; `gaps` takes what has more


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


def sorted_out(
    e2: int, list2: Ints, list3: Ints, low: int, high: int, lower: Ints, upper: Ints, marks: Ints,
    only2: Ints, only3: Ints, twice: Ints, counts: Ints,
) -> None:  # fmt: skip
    """Which events could spoil the first gap, the second or both, between two instants. `marks` is 0 before and after."""
    counts[0] = 0
    counts[1] = 0
    counts[2] = 0
    for x in list2:
        marks[x] = 1
    for x in list3:
        if x != e2 and lower[x] < high and upper[x] > low:
            if marks[x] == 1:
                twice[counts[2]] = x
                counts[2] += 1
            else:
                only3[counts[1]] = x
                counts[1] += 1
        marks[x] = 0
    for x in list2:
        if marks[x] == 1 and x != e2 and lower[x] < high and upper[x] > low:
            only2[counts[0]] = x
            counts[0] += 1
        marks[x] = 0


def possible_range(
    e1: int, e2: int, e3: int, window: int, only2: Ints, only3: Ints, twice: Ints, counts: Ints,
    lower: Ints, upper: Ints, place: Ints, mass: Floats, least: Ints, most: Ints, range_of: Ints,
) -> bool:  # fmt: skip
    """The first instant of a point match and the last one, if any is possible."""
    start = 1 << 62
    end = -1
    for k2 in range(
        most[1] - least[1] + 1
    ):  # from both ends: there the first and the last instants are found
        if start == least[0] and end == most[2]:
            break
        t2 = least[1] + k2 // 2 if k2 % 2 == 0 else most[1] - k2 // 2
        if chance(e2, t2, lower, upper, place, mass) == 0.0:
            continue
        t1 = min(most[0], t2 - 1)
        while t1 >= least[0] and chance(e1, t1, lower, upper, place, mass) == 0.0:
            t1 -= 1
        t3 = max(least[2], t2 + 1)
        while t3 <= most[2] and chance(e3, t3, lower, upper, place, mass) == 0.0:
            t3 += 1
        if t1 < least[0] or t3 > most[2]:
            continue
        # With the latest first instant as late as it goes, and with the earliest last one as early as it goes.
        late = most[2]
        early = least[0]
        if window >= 0:
            late = min(late, t1 + window - 1)
            early = max(early, t3 - window + 1)
        clear = True
        for k in range(counts[0]):
            x = only2[k]
            if x != e3 and upper[x] < t2:
                if lower[x] > t1:
                    clear = False
                early = max(early, lower[x])
        for k in range(counts[1]):
            x = only3[k]
            if x != e3 and lower[x] > t2:
                if upper[x] < t3:
                    clear = False
                late = min(late, upper[x])
        for k in range(counts[2]):
            x = twice[k]
            if x != e3 and chance(x, t2, lower, upper, place, mass) == 0.0:
                if lower[x] > t1:
                    late = min(late, upper[x])
                if upper[x] < t3:
                    early = max(early, lower[x])
        if not clear or late < t3 or early > t1:
            continue
        while chance(e3, late, lower, upper, place, mass) == 0.0:
            late -= 1
        while chance(e1, early, lower, upper, place, mass) == 0.0:
            early += 1
        start = min(start, early)
        end = max(end, late)
    range_of[0] = start
    range_of[1] = end
    return end >= 0


def bounds(chain: Ints, window: int, lower: Ints, upper: Ints, least: Ints, most: Ints) -> bool:
    """The valid bounds of the three events of a match, spoilers apart."""
    least[0] = lower[chain[0]]
    least[1] = max(least[0] + 1, lower[chain[1]])
    least[2] = max(least[1] + 1, lower[chain[2]])
    most[2] = upper[chain[2]]
    most[1] = min(most[2] - 1, upper[chain[1]])
    most[0] = min(most[1] - 1, upper[chain[0]])
    if window >= 0:
        most[2] = min(most[2], most[0] + window - 1)
        most[1] = min(most[1], most[2] - 1)
        most[0] = min(most[0], most[1] - 1)
        least[0] = max(least[0], least[2] - window + 1)
        least[1] = max(least[1], least[0] + 1)
        least[2] = max(least[2], least[1] + 1)
    return bool(least[0] <= most[0]) and bool(least[1] <= most[1]) and bool(least[2] <= most[2])


def mix(
    sums: Floats, mixed: Floats, ahead: Floats, around: Ints, near: int, skip: int, s: int, e: int, edge: int, offset: int
) -> None:  # fmt: skip
    """mixed[0]: for each last instant the sum over all sets of what is around, but for the last event itself."""
    size = e - s
    for state in range(1 << near):
        if state & skip != 0:
            continue
        target = mixed[state]
        whole = sums[state, 0]
        for c in range(edge):
            target[c] = whole
        if edge < size:
            source = sums[state, offset : offset + size - edge]
            target = mixed[state, edge:size]
            for c in range(size - edge):
                target[c] = source[c]
    for m in range(near):
        bit = 1 << m
        if bit == skip:
            continue
        other = ahead[around[m], s:e]
        for state in range(1 << near):
            if state & (bit | skip | (bit - 1)) == 0:
                target = mixed[state]
                source = mixed[state | bit]
                for c in range(size):
                    target[c] = source[c] + other[c] * target[c]


def confidences(
    found: Ints, lists_begin: Ints, lists_end: Ints, listed: Ints, window: int,
    lower: Ints, upper: Ints, given: Ints, place: Ints, mass: Floats, before: Floats, after: Floats,
    starts: Ints, ends: Ints, final: Ints, confidence: Floats, undone: Ints,
    marks: Ints, only2: Ints, only3: Ints, twice: Ints, wide: int, hull: int, many: int,
) -> None:  # fmt: skip
    """Matches in order of their events: confidence, tightest range, and from when on each can be reported.

    `wide` is room for the instants of a first event, `hull` for those of the last events of matches with the same
    first two, of which there are at most `many`. What has too many events around an instant is left `undone`.
    """
    counts = np.zeros(3, np.int64)
    least = np.zeros(3, np.int64)
    most = np.zeros(3, np.int64)
    range_of = np.zeros(2, np.int64)
    around = np.zeros(AROUND, np.int64)
    rooms = len(twice)
    first = np.zeros(wide, np.float64)
    so_far2 = np.zeros((len(only2), wide), np.float64)  # by event and t1: at t1 or earlier
    so_far = np.zeros((rooms, wide), np.float64)
    ahead3 = np.zeros((len(only3), hull), np.float64)  # by event and t3: at t3 or later
    ahead = np.zeros((rooms, hull), np.float64)
    states = 1 << AROUND
    sums = np.zeros((states, wide + 1), np.float64)
    mixed = np.zeros((states, hull), np.float64)
    row = np.zeros(hull, np.float64)
    coming = np.zeros(hull, np.float64)
    chances3 = np.zeros((many, hull), np.float64)
    total = np.zeros((many, hull), np.float64)
    twin_of = np.zeros(many, np.int64)  # the last event among those that could spoil both gaps
    alone_of = np.zeros(many, np.int64)  # … or the second one alone
    n = len(found)
    begin = 0
    while begin < n:
        e1 = found[begin, 0]
        e2 = found[begin, 1]
        end = begin
        far = -1
        while end < n and found[end, 0] == e1 and found[end, 1] == e2:
            far = max(far, upper[found[end, 2]])
            end += 1
        list2 = listed[lists_begin[begin, 1] : lists_end[begin, 1]]
        list3 = listed[lists_begin[begin, 2] : lists_end[begin, 2]]
        low1 = lower[e1]
        high1 = min(upper[e1], upper[e2] - 1)
        low2 = max(lower[e2], low1 + 1)
        high2 = min(upper[e2], far - 1)
        if window >= 0:
            low1 = max(low1, low2 - window + 2)
            high2 = min(high2, high1 + window - 2)
            far = min(far, high1 + window - 1)
        base3 = low2 + 1
        sorted_out(e2, list2, list3, low1, far, lower, upper, marks, only2, only3, twice, counts)
        n2 = counts[0]
        n3 = counts[1]
        nd = counts[2]
        for t in range(low1, high1 + 1):
            first[t - low1] = chance(e1, t, lower, upper, place, mass)
        for k in range(n2):
            for t in range(low1, high1 + 1):
                so_far2[k, t - low1] = until(only2[k], t, lower, upper, place, before)
        for k in range(nd):
            for t in range(low1, high1 + 1):
                so_far[k, t - low1] = until(twice[k], t, lower, upper, place, before)
            for t in range(base3, far + 1):
                ahead[k, t - base3] = since(twice[k], t, lower, upper, place, after)
        for k in range(n3):
            for t in range(base3, far + 1):
                ahead3[k, t - base3] = since(only3[k], t, lower, upper, place, after)
        for i in range(begin, end):
            for t in range(base3, far + 1):
                chances3[i - begin, t - base3] = chance(found[i, 2], t, lower, upper, place, mass)
                total[i - begin, t - base3] = 0.0
            twin_of[i - begin] = -1
            alone_of[i - begin] = -1
            for k in range(nd):
                if twice[k] == found[i, 2]:
                    twin_of[i - begin] = k
            for k in range(n3):
                if only3[k] == found[i, 2]:
                    alone_of[i - begin] = k
        fits = True
        changed = True  # which events come after t2
        for t2 in range(low2, high2 + 1):
            a = max(low1, t2 - window + 2) if window >= 0 else low1
            b = min(high1, t2 - 1)
            p2 = chance(e2, t2, lower, upper, place, mass)
            near = 0
            for k in range(nd):
                if lower[twice[k]] <= t2 < upper[twice[k]]:
                    if near < AROUND:
                        around[near] = k
                    near += 1
                if lower[twice[k]] == t2:
                    changed = True
            if near > AROUND:
                fits = False
                break
            if a > b or p2 == 0.0:
                continue
            # The sums over the first event's instants, from each one on. Loops go over slices from 0 on, for an index
            # that may be negative costs a test at each step.
            width = b - a + 1
            shift = a - low1
            here = sums[0]
            own = first[shift : shift + width]
            for c in range(width):
                here[c] = own[c] * p2
            for k in range(n2):
                x = only2[k]
                if lower[x] < t2 and upper[x] > a:
                    ahead2 = since(x, t2, lower, upper, place, after)
                    size = min(width, upper[x] - a)
                    past = so_far2[k, shift : shift + size]
                    for c in range(size):
                        here[c] *= past[c] + ahead2
            for k in range(nd):
                x = twice[k]
                if upper[x] <= t2 and upper[x] > a:
                    beside = chance(x, t2, lower, upper, place, mass)
                    size = min(width, upper[x] - a)
                    past = so_far[k, shift : shift + size]
                    for c in range(size):
                        here[c] *= past[c] + beside
            for m in range(near):
                k = around[m]
                beside = chance(twice[k], t2, lower, upper, place, mass)
                past = so_far[k, shift : shift + width]
                for state in range(1 << m):
                    source = sums[state]
                    target = sums[state | (1 << m)]
                    for c in range(width):
                        target[c] = source[c] * (past[c] + beside)
            state = 0
            while state + 4 <= 1 << near:  # four at once: each sum waits for the one before it
                one = sums[state]
                two = sums[state + 1]
                three = sums[state + 2]
                four = sums[state + 3]
                r1 = r2 = r3 = r4 = 0.0
                for c in range(width - 1, -1, -1):
                    r1 += one[c]
                    r2 += two[c]
                    r3 += three[c]
                    r4 += four[c]
                    one[c] = r1
                    two[c] = r2
                    three[c] = r3
                    four[c] = r4
                state += 4
            while state < 1 << near:
                target = sums[state]
                running = 0.0
                for c in range(width - 1, -1, -1):
                    running += target[c]
                    target[c] = running
                state += 1
            # What lies after t2, for all last events.
            start3 = t2 + 1 - base3
            stop3 = far - base3 + 1
            if window >= 0:
                stop3 = min(stop3, b + window - base3)
            if changed:
                changed = False
                for c in range(far - base3 + 1):
                    coming[c] = 1.0
                for k in range(nd):
                    if lower[twice[k]] > t2:
                        other = ahead[k]
                        for c in range(far - base3 + 1):
                            coming[c] *= other[c]
            for c in range(stop3):
                row[c] = coming[c]
            for k in range(n3):
                x = only3[k]
                if upper[x] > t2 and lower[x] < far:
                    done = until(x, t2, lower, upper, place, before)
                    s = max(start3, lower[x] - base3)
                    if s < stop3:
                        other = ahead3[k, s:stop3]
                        target = row[s:stop3]
                        for c in range(stop3 - s):
                            target[c] *= done + other[c]
            for i in range(begin, end):
                e3 = found[i, 2]
                s = max(start3, lower[e3] - base3)
                e = min(stop3, upper[e3] - base3 + 1)
                if s >= e:
                    continue
                size = e - s
                edge = size  # up to there every first instant is in the window
                if window >= 0:
                    edge = min(size, max(0, a + window - base3 - s))
                twin = twin_of[i - begin]
                skip = 0  # no set has the last event itself
                if twin >= 0 and lower[e3] <= t2:
                    for m in range(near):
                        if around[m] == twin:
                            skip = 1 << m
                # Up to two others around are the usual case, and done in one pass: slices cost more than what is in them.
                b1 = 0
                b2 = 0
                k1 = 0
                k2 = 0
                others = 0
                for m in range(near):
                    if 1 << m != skip:
                        if others == 0:
                            b1 = 1 << m
                            k1 = around[m]
                        elif others == 1:
                            b2 = 1 << m
                            k2 = around[m]
                        others += 1
                if others > 2:
                    mix(sums, mixed, ahead, around, near, skip, s, e, edge, s + edge + base3 - window + 1 - a)
                    source = mixed[0]
                elif others == 2:
                    source = mixed[0]
                    one = ahead[k1, s:e]
                    two = ahead[k2, s:e]
                    w0 = sums[0, 0]
                    w1 = sums[b1, 0]
                    w2 = sums[b2, 0]
                    w12 = sums[b1 | b2, 0]
                    for c in range(edge):
                        source[c] = w12 + one[c] * w2 + two[c] * (w1 + one[c] * w0)
                    if edge < size:
                        offset = s + edge + base3 - window + 1 - a
                        stop = offset + size - edge
                        v0 = sums[0, offset:stop]
                        v1 = sums[b1, offset:stop]
                        v2 = sums[b2, offset:stop]
                        v12 = sums[b1 | b2, offset:stop]
                        one = one[edge:]
                        two = two[edge:]
                        late = source[edge:]
                        for c in range(size - edge):
                            late[c] = v12[c] + one[c] * v2[c] + two[c] * (v1[c] + one[c] * v0[c])
                elif others == 1:
                    source = mixed[0]
                    one = ahead[k1, s:e]
                    w0 = sums[0, 0]
                    w1 = sums[b1, 0]
                    for c in range(edge):
                        source[c] = w1 + one[c] * w0
                    if edge < size:
                        offset = s + edge + base3 - window + 1 - a
                        stop = offset + size - edge
                        v0 = sums[0, offset:stop]
                        v1 = sums[b1, offset:stop]
                        one = one[edge:]
                        late = source[edge:]
                        for c in range(size - edge):
                            late[c] = v1[c] + one[c] * v0[c]
                else:
                    source = mixed[0]
                    w0 = sums[0, 0]
                    for c in range(edge):
                        source[c] = w0
                    if edge < size:
                        offset = s + edge + base3 - window + 1 - a
                        v0 = sums[0, offset : offset + size - edge]
                        late = source[edge:]
                        for c in range(size - edge):
                            late[c] = v0[c]
                target = total[i - begin, s:e]
                share = chances3[i - begin, s:e]
                after2 = row[s:e]
                if twin < 0 or lower[e3] <= t2:
                    for c in range(size):
                        target[c] += source[c] * share[c] * after2[c]
                else:
                    other = ahead[twin, s:e]
                    for c in range(size):
                        if share[c] > 0.0:
                            target[c] += source[c] * share[c] * after2[c] / other[c]
                k = alone_of[i - begin]
                if k >= 0 and upper[e3] > t2:
                    done = until(e3, t2, lower, upper, place, before)
                    other = ahead3[k, s:e]
                    for c in range(size):
                        if share[c] > 0.0:
                            p = source[c] * share[c] * after2[c]
                            target[c] += p / (done + other[c]) - p
        for i in range(begin, end):
            chain = found[i]
            e3 = chain[2]
            undone[i] = 0 if fits else 1
            confidence[i] = 0.0
            final[i] = given[e3]
            if not bounds(chain, window, lower, upper, least, most):
                continue
            for x in list2:
                if x not in (e2, e3) and max(lower[x], least[0] + 1) <= min(upper[x], most[1] - 1):
                    final[i] = max(final[i], given[x])
            for x in list3:
                if x not in (e2, e3) and max(lower[x], least[1] + 1) <= min(upper[x], most[2] - 1):
                    final[i] = max(final[i], given[x])
            if not fits:
                continue
            if not possible_range(
                e1,
                e2,
                e3,
                window,
                only2,
                only3,
                twice,
                counts,
                lower,
                upper,
                place,
                mass,
                least,
                most,
                range_of,
            ):
                continue
            starts[i] = range_of[0]
            ends[i] = range_of[1]
            running = 0.0
            for c in range(far - base3 + 1):
                running += total[i - begin, c]
            confidence[i] = running
        begin = end


def reached(
    ident: int, low: int, high: int, pool: Ints, ids: Ints, pool_lower: Ints, reach: Ints, upper: Ints, out: Ints
) -> int:  # fmt: skip
    """The candidates of a pool that can happen between two instants; how many they are."""
    a = 0
    b = len(ids)
    while a < b:
        middle = (a + b) >> 1
        if ids[middle] < ident or (ids[middle] == ident and reach[middle] <= low):
            a = middle + 1
        else:
            b = middle
    count = 0
    while a < len(ids) and ids[a] == ident and pool_lower[a] < high:
        if upper[pool[a]] > low:
            out[count] = pool[a]
            count += 1
        a += 1
    return count


def most_reached(
    second: Ints, group: Ints, low: Ints, far: Ints, pool: Ints, ids: Ints, pool_lower: Ints, reach: Ints,
    upper: Ints, out: Ints,
) -> int:  # fmt: skip
    """How many candidates of a pool can happen between two instants, at most."""
    most = 0
    for k in range(len(second)):
        found = reached(group[second[k]], low[k], far[k], pool, ids, pool_lower, reach, upper, out)
        most = max(most, found)
    return most


def alike(
    found: Ints, group: Ints, window: int, lower: Ints, upper: Ints, given: Ints, place: Ints, mass: Floats,
    before: Floats, after: Floats, pool2: Ints, ids2: Ints, lower2: Ints, reach2: Ints,
    pool3: Ints, ids3: Ints, lower3: Ints, reach3: Ints,
    starts: Ints, ends: Ints, final: Ints, confidence: Floats, undone: Ints,
    marks: Ints, list2: Ints, list3: Ints, only2: Ints, only3: Ints, twice: Ints, wide: int, hull: int,
) -> None:  # fmt: skip
    """The same where no test relates events: what could spoil a gap is the same for all first events.

    Matches come by their second event, then their third one. The first one's instants are alike likely, and it could
    spoil nothing itself; so sums over them are differences of sums that all first events share, and so are those over
    the last event's instants: with the middle instant fixed, a match costs a few numbers.
    """
    counts = np.zeros(3, np.int64)
    least = np.zeros(3, np.int64)
    most = np.zeros(3, np.int64)
    range_of = np.zeros(2, np.int64)
    around = np.zeros(AROUND, np.int64)
    far_off = np.zeros(AROUND, np.int64)
    states = 1 << AROUND
    so_far2 = np.zeros((len(only2), wide), np.float64)
    so_far = np.zeros((len(twice), wide), np.float64)
    ahead3 = np.zeros((len(only3), hull), np.float64)
    ahead = np.zeros((len(twice), hull), np.float64)
    line = np.zeros((states, wide), np.float64)
    sums = np.zeros((states, wide + 1), np.float64)
    weight = np.zeros((states, hull), np.float64)
    lasts = np.zeros((states, hull + 1), np.float64)
    mixed = np.zeros((states, hull + 1), np.float64)
    set_of = np.zeros(states, np.int64)
    coming = np.zeros(hull, np.float64)
    row = np.zeros(hull, np.float64)
    n = len(found)
    begin = 0
    while begin < n:
        e2 = found[begin, 1]
        end = begin
        far = -1
        low1 = 1 << 62
        high1 = -1
        while end < n and found[end, 1] == e2:
            far = max(far, upper[found[end, 2]])
            low1 = min(low1, lower[found[end, 0]])
            high1 = max(high1, upper[found[end, 0]])
            end += 1
        high1 = min(high1, upper[e2] - 1)
        low2 = max(lower[e2], low1 + 1)
        high2 = min(upper[e2], far - 1)
        if window >= 0:
            low1 = max(low1, low2 - window + 2)
            high2 = min(high2, high1 + window - 2)
            far = min(far, high1 + window - 1)
        base3 = low2 + 1
        reach = far - base3 + 1
        m2 = reached(group[e2], low1, far, pool2, ids2, lower2, reach2, upper, list2)
        m3 = reached(group[e2], low1, far, pool3, ids3, lower3, reach3, upper, list3)
        sorted_out(e2, list2[:m2], list3[:m3], low1, far, lower, upper, marks, only2, only3, twice, counts)
        n2 = counts[0]
        n3 = counts[1]
        nd = counts[2]
        for k in range(n2):
            for c in range(high1 - low1 + 1):
                so_far2[k, c] = until(only2[k], low1 + c, lower, upper, place, before)
        for k in range(nd):
            for c in range(high1 - low1 + 1):
                so_far[k, c] = until(twice[k], low1 + c, lower, upper, place, before)
            for c in range(reach):
                ahead[k, c] = since(twice[k], base3 + c, lower, upper, place, after)
        for k in range(n3):
            for c in range(reach):
                ahead3[k, c] = since(only3[k], base3 + c, lower, upper, place, after)
        for i in range(begin, end):
            confidence[i] = 0.0
        fits = True
        for t2 in range(low2, high2 + 1):
            a = max(low1, t2 - window + 2) if window >= 0 else low1
            b = min(high1, t2 - 1)
            p2 = chance(e2, t2, lower, upper, place, mass)
            if a > b or p2 == 0.0:
                continue
            near = 0
            for k in range(nd):
                if lower[twice[k]] <= t2 < upper[twice[k]]:
                    if near < AROUND:
                        around[near] = k
                    near += 1
            if near > AROUND:
                fits = False
                break
            width = b - a + 1
            shift = a - low1
            here = line[0]
            for c in range(width):
                here[c] = p2
            for k in range(n2):
                x = only2[k]
                if lower[x] < t2 and upper[x] > a:
                    ahead2 = since(x, t2, lower, upper, place, after)
                    size = min(width, upper[x] - a)
                    past = so_far2[k, shift : shift + size]
                    for c in range(size):
                        here[c] *= past[c] + ahead2
            for k in range(nd):
                x = twice[k]
                if upper[x] <= t2 and upper[x] > a:
                    beside = chance(x, t2, lower, upper, place, mass)
                    size = min(width, upper[x] - a)
                    past = so_far[k, shift : shift + size]
                    for c in range(size):
                        here[c] *= past[c] + beside
            for m in range(near):
                beside = chance(twice[around[m]], t2, lower, upper, place, mass)
                past = so_far[around[m], shift : shift + width]
                for state in range(1 << m):
                    source = line[state]
                    target = line[state | (1 << m)]
                    for c in range(width):
                        target[c] = source[c] * (past[c] + beside)
            for state in range(1 << near):
                source = line[state]
                target = sums[state]
                running = 0.0
                target[0] = 0.0
                for c in range(width):
                    running += source[c]
                    target[c + 1] = running
            start3 = t2 + 1 - base3
            stop3 = reach
            if window >= 0:
                stop3 = min(stop3, b + window - base3)
            for c in range(reach):
                coming[c] = 1.0
            for k in range(n3):
                x = only3[k]
                if upper[x] > t2:
                    done = until(x, t2, lower, upper, place, before)
                    other = ahead3[k]
                    for c in range(reach):
                        coming[c] *= done + other[c]
            i = begin
            while i < end:
                e3 = found[i, 2]
                stop = i
                while stop < end and found[stop, 2] == e3:
                    stop += 1
                s = max(start3, lower[e3] - base3)
                e = min(stop3, upper[e3] - base3 + 1)
                if s >= e:
                    i = stop
                    continue
                size = e - s
                share = row[:size]
                other = coming[s:e]
                for c in range(size):
                    share[c] = chance(e3, base3 + s + c, lower, upper, place, mass) * other[c]
                for k in range(n3):
                    if only3[k] == e3 and upper[e3] > t2:
                        done = until(e3, t2, lower, upper, place, before)
                        other = ahead3[k, s:e]
                        for c in range(size):
                            if share[c] > 0.0:
                                share[c] /= done + other[c]
                others = 0
                for k in range(nd):
                    if lower[twice[k]] > t2 and twice[k] != e3:
                        other = ahead[k, s:e]
                        for c in range(size):
                            share[c] *= other[c]
                for m in range(near):
                    if twice[around[m]] != e3:
                        far_off[others] = m
                        others += 1
                # For each set of those around t2 the weights of the last instants where the others are to come.
                for c in range(size):
                    weight[(1 << others) - 1, c] = share[c]
                set_of[(1 << others) - 1] = 0
                for q in range(others):
                    set_of[(1 << others) - 1] |= 1 << far_off[q]
                for state in range((1 << others) - 2, -1, -1):
                    q = 0
                    while state & (1 << q) != 0:
                        q += 1
                    source = weight[state | (1 << q)]
                    target = weight[state]
                    other = ahead[around[far_off[q]], s:e]
                    for c in range(size):
                        target[c] = source[c] * other[c]
                    set_of[state] = set_of[state | (1 << q)] & ~(1 << far_off[q])
                for state in range(1 << others):
                    shared = sums[set_of[state]]
                    source = weight[state]
                    last = lasts[state]
                    both = mixed[state]
                    last[0] = 0.0
                    both[0] = 0.0
                    r1 = 0.0
                    r2 = 0.0
                    for c in range(size):
                        r1 += source[c]
                        last[c + 1] = r1
                        if window >= 0:
                            at = min(max(base3 + s + c - window + 1 - a, 0), width)
                            r2 += source[c] * shared[at]
                        both[c + 1] = r2
                for j in range(i, stop):
                    e1 = found[j, 0]
                    from1 = max(lower[e1], a)
                    upto1 = min(upper[e1], b)
                    if from1 > upto1:
                        continue
                    whole = size
                    part = size
                    if window >= 0:
                        whole = min(max(from1 + window - base3 - s, 0), size)
                        part = min(max(upto1 + window - base3 - s, 0), size)
                    total = 0.0
                    for state in range(1 << others):
                        shared = sums[set_of[state]]
                        last = lasts[state]
                        both = mixed[state]
                        total += shared[upto1 - a + 1] * last[part] - shared[from1 - a] * last[whole]
                        total -= both[part] - both[whole]
                    confidence[j] += total / (upper[e1] - lower[e1] + 1)
                i = stop
        for i in range(begin, end):
            chain = found[i]
            e1 = chain[0]
            e3 = chain[2]
            undone[i] = 0 if fits else 1
            final[i] = given[e3]
            if not fits:
                continue
            possible = bounds(chain, window, lower, upper, least, most)
            if possible:
                for k in range(m2):
                    x = list2[k]
                    if x not in (e2, e3) and max(lower[x], least[0] + 1) <= min(upper[x], most[1] - 1):
                        final[i] = max(final[i], given[x])
                for k in range(m3):
                    x = list3[k]
                    if x not in (e2, e3) and max(lower[x], least[1] + 1) <= min(upper[x], most[2] - 1):
                        final[i] = max(final[i], given[x])
                possible = possible_range(
                    e1,
                    e2,
                    e3,
                    window,
                    only2,
                    only3,
                    twice,
                    counts,
                    lower,
                    upper,
                    place,
                    mass,
                    least,
                    most,
                    range_of,
                )
            if not possible:
                confidence[i] = 0.0
                continue
            starts[i] = range_of[0]
            ends[i] = range_of[1]
            confidence[i] = max(confidence[i], TINY)
        begin = end
