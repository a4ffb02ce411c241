"""The part of the match graph below some roots that is in the window, as a graph that stands by itself."""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays, or lists of int when uncompiled

NEEDS_ROOM = 1


def rooted(
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
    high: Ints,
    base: int,
    stamp: Ints,
    place: Ints,
    stack: Ints,
    seen: Ints,
    local: Ints,
    out_slot: Ints,
    out_event: Ints,
    out_left: Ints,
    out_right: Ints,
    events: Ints,
    row_event: Ints,
    row_nodes: Ints,
    row_events: Ints,
    state: Ints,
) -> int:
    """A row for each group of roots with a match in it; returns the next group to do.

    Only histories with low[b] <= first event < high[b] are kept. A node is written after those below it, so the
    root is a row's last one; it names its event by the place in the row's own list, those below it by their
    places in the row. row_nodes and row_events say where a row ends. `state` is [rows, nodes, events, why].
    Marks above `base` are new to stamp and seen.
    """
    rows = state[0]
    nodes = state[1]
    listed = state[2]
    for group in range(first_group, last_group):
        root = heads[group]
        b = root_event[root]
        lowest = low[b]
        below = high[b]
        mark = base + group - first_group + 1
        nodes_before = nodes
        listed_before = listed
        whole = -1
        while root >= 0:
            if newest[root_node[root]] >= lowest:
                stack[0] = root_node[root]
                waiting = 1
                while waiting > 0:
                    if nodes + 2 >= len(out_slot) or listed + 1 >= len(events):
                        state[0] = rows
                        state[1] = nodes_before
                        state[2] = listed_before
                        state[3] = NEEDS_ROOM
                        return group
                    node = stack[waiting - 1]
                    if stamp[node] == mark:
                        waiting -= 1
                        continue
                    a = left[node]
                    r = right[node]
                    a_open = a > 0 and newest[a] >= lowest and stamp[a] != mark
                    r_open = r > 0 and newest[r] >= lowest and stamp[r] != mark
                    if a_open or r_open:
                        if r_open:
                            stack[waiting] = r
                            waiting += 1
                        if a_open:
                            stack[waiting] = a
                            waiting += 1
                        continue
                    waiting -= 1
                    stamp[node] = mark
                    if r < 0:
                        under = place[a] if a > 0 else -1
                        event = ev[node]
                        if (a == 0 and event >= below) or (a > 0 and under < 0):
                            place[node] = -1
                            continue
                        if seen[event] != mark:
                            seen[event] = mark
                            local[event] = listed - listed_before
                            events[listed] = event
                            listed += 1
                        out_slot[nodes] = -1 - r
                        out_event[nodes] = local[event]
                        out_left[nodes] = under
                        out_right[nodes] = -1
                        place[node] = nodes - nodes_before
                        nodes += 1
                        continue
                    under = place[a]
                    other = place[r] if r > 0 and newest[r] >= lowest else -1
                    if under >= 0 and other >= 0:
                        out_slot[nodes] = -1
                        out_event[nodes] = -1
                        out_left[nodes] = under
                        out_right[nodes] = other
                        place[node] = nodes - nodes_before
                        nodes += 1
                    else:
                        place[node] = max(under, other)
                found = place[root_node[root]]
                if whole >= 0 and found >= 0:
                    out_slot[nodes] = -1
                    out_event[nodes] = -1
                    out_left[nodes] = whole
                    out_right[nodes] = found
                    found = nodes - nodes_before
                    nodes += 1
                whole = max(whole, found)
            root = chain[root]
        if whole >= 0:
            row_event[rows] = b
            row_nodes[rows] = nodes
            row_events[rows] = listed
            rows += 1
    state[0] = rows
    state[1] = nodes
    state[2] = listed
    return last_group
