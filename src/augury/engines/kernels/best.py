"""The one match to report of many: a walk over the match graph that never lists them.

Of the histories below a node that are in the window, the best one begins earliest; of those its events,
all variables together, come first in stream order, and more events before fewer; of those its earlier
variables are shorter. This order is kept when both histories take the same event, so the best history of
a node is made from the best of the node before, and each node is looked at once.
"""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays, or lists of int when uncompiled

NEEDS_ROOM = 1


def group_by_event(root_event: Ints, count: int, heads: Ints, chain: Ints) -> int:
    """Roots that complete on one event stand together: returns how many groups there are.

    heads[g] is a group's first root, chain[r] the next one of its group, -1 at the end.
    """
    groups = 0
    for root in range(count):
        chain[root] = -1
        if root > 0 and root_event[root - 1] == root_event[root]:
            chain[root - 1] = root
        else:
            heads[groups] = root
            groups += 1
    return groups


def group_by_start(
    root_event: Ints, root_node: Ints, newest: Ints, count: int, heads: Ints, chain: Ints, latest: Ints
) -> int:
    """Of the roots with one first event those that complete last. `latest` is -1 throughout, before and after."""
    for root in range(count):
        start = newest[root_node[root]]
        known = latest[start]
        chain[root] = known if known >= 0 and root_event[known] == root_event[root] else -1
        latest[start] = root
    groups = 0
    for root in range(count):
        start = newest[root_node[root]]
        if latest[start] == root:
            heads[groups] = root
            groups += 1
    for group in range(groups):
        latest[newest[root_node[heads[group]]]] = -1
    return groups


def best_paths(
    ev: Ints,
    left: Ints,
    right: Ints,
    newest: Ints,
    root_event: Ints,
    root_node: Ints,
    heads: Ints,
    chain: Ints,
    first_group: int,
    last_group: int,
    low: Ints,
    slots: int,
    greedy: bool,
    stamp: Ints,
    head: Ints,
    before: Ints,
    depth: Ints,
    start: Ints,
    stack: Ints,
    out: Ints,
    ends: Ints,
    state: Ints,
) -> int:
    """Write the best match of each group as a flat path; returns the next group to do.

    `state` is [matches, length of out, why it stopped, frontier]. With `greedy` a match must begin after the
    frontier, the end of the match before. Of a node, head is the last binding node of its best history; of
    a binding node, before is the one that it follows. A stamp says for which group a node was looked at.
    """
    count = state[0]
    size = state[1]
    frontier = state[3]
    for group in range(first_group, last_group):
        root = heads[group]
        b = root_event[root]
        lowest = max(low[b], frontier + 1) if greedy else low[b]
        mark = group + 1
        best = 0
        while root >= 0:
            if newest[root_node[root]] >= lowest:
                stack[0] = -1
                stack[1] = root_node[root]
                waiting = 2
                while waiting > 0:
                    node = stack[waiting - 1]
                    if node < 0:
                        one = best
                        other = head[root_node[root]]
                    else:
                        if stamp[node] == mark:
                            waiting -= 1
                            continue
                        a = left[node]
                        r = right[node]
                        a_open = a > 0 and newest[a] >= lowest and stamp[a] != mark
                        r_open = r > 0 and newest[r] >= lowest and stamp[r] != mark
                        if a_open or r_open:
                            if a_open:
                                stack[waiting] = a
                                waiting += 1
                            if r_open:
                                stack[waiting] = r
                                waiting += 1
                            continue
                        stamp[node] = mark
                        if r < 0:
                            head[node] = node
                            before[node] = head[a] if a > 0 else 0
                            depth[node] = depth[before[node]] + 1 if a > 0 else 1
                            start[node] = start[before[node]] if a > 0 else ev[node]
                            waiting -= 1
                            continue
                        one = head[a]
                        other = head[r] if r > 0 and newest[r] >= lowest else 0
                    waiting -= 1
                    chosen = one
                    if one == 0 or other == 0:
                        chosen = one + other
                    elif start[one] != start[other]:
                        if start[other] < start[one]:
                            chosen = other
                    else:
                        # Back to where the two part: the difference nearest to the beginning decides.
                        x = one
                        y = other
                        while depth[x] > depth[y]:
                            x = before[x]
                        while depth[y] > depth[x]:
                            y = before[y]
                        if depth[other] > depth[one]:
                            chosen = other
                        by_event = False
                        by_slot = depth[other] == depth[one]
                        while x != y:
                            if ev[x] != ev[y]:
                                by_event = True
                                chosen = one if ev[x] < ev[y] else other
                            elif by_slot and not by_event and right[x] != right[y]:
                                chosen = one if right[x] < right[y] else other
                            x = before[x]
                            y = before[y]
                    if node < 0:
                        best = chosen
                    else:
                        head[node] = chosen
            root = chain[root]
        if best == 0:
            continue
        length = depth[best]
        if size + length > len(out) or (count + 1) * slots > len(ends):
            state[0] = count
            state[1] = size
            state[2] = NEEDS_ROOM
            state[3] = frontier
            return group
        node = best
        slot = slots
        for place in range(size + length - 1, size - 1, -1):
            out[place] = ev[node]
            while slot > -1 - right[node]:
                slot -= 1
                ends[count * slots + slot] = place + 1
            node = before[node]
        size += length
        count += 1
        if greedy:
            frontier = b
    state[0] = count
    state[1] = size
    state[3] = frontier
    return last_group
