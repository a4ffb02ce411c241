"""The match graph: one arena of flat arrays that holds every history of every run.

    node 0           nothing: it stands for "no event before", and for an expired branch
    a binding node   right = -1 - slot: event `ev` bound to that slot, `left` the node before it
    a union node     right >= 0: the histories of `left` and of `right`

`newest` is the newest first event of all histories below, and in a union newest[left] >= newest[right]. A
match is in the window iff its first event is not below `low` of its last one; so a walk goes left, and
right only where newest[right] >= low: every step leads to a match. Node ids and their events both grow
with time, therefore what lies before the window is a prefix.

A root is (its last event, a node): every path from the node to node 0 is one match.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = Any  # int32 or int64 arrays, or lists of int when uncompiled

# Why a walk gave a root back, for its host to make room.
NEEDS_ROOM, NEEDS_PATH, NEEDS_STACK = 1, 2, 3


def enumerate_roots(
    ev: Ints,
    left: Ints,
    right: Ints,
    newest: Ints,
    root_event: Ints,
    root_node: Ints,
    first_root: int,
    last_root: int,
    low: Ints,
    high: Ints,
    slots: int,
    stack_node: Ints,
    stack_depth: Ints,
    path: Ints,
    path_slot: Ints,
    cut: Ints,
    out: Ints,
    ends: Ints,
    state: Ints,
) -> int:
    """Write all matches of roots[first_root:last_root] as flat paths; returns the next root to do.

    `state` is [matches, length of out, why it stopped]. A match m fills `out` up to ends[m * slots + slot] for each slot.
    A match counts if low[b] <= its first event < high[b].
    When a buffer is full the root at hand is given back whole: its matches so far are taken back.
    """
    capacity = len(out)
    matches_capacity = len(ends) // slots
    depth_capacity = len(path)
    count = state[0]
    size = state[1]
    for root in range(first_root, last_root):
        b = root_event[root]
        lowest = low[b]
        below = high[b]
        count_before = count
        size_before = size
        stack_node[0] = root_node[root]
        stack_depth[0] = depth_capacity
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = stack_node[waiting]
            depth = stack_depth[waiting]
            first = -1
            while node > 0:
                r = right[node]
                if r < 0:
                    if depth == 0:
                        state[0] = count_before
                        state[1] = size_before
                        state[2] = NEEDS_PATH
                        return root
                    depth -= 1
                    slot = -1 - r
                    first = ev[node]
                    if depth == depth_capacity - 1 or path_slot[depth + 1] != slot:
                        cut[slot] = depth + 1
                    path[depth] = first
                    path_slot[depth] = slot
                elif newest[r] >= lowest:
                    if waiting == len(stack_node):
                        state[0] = count_before
                        state[1] = size_before
                        state[2] = NEEDS_STACK
                        return root
                    stack_node[waiting] = r
                    stack_depth[waiting] = depth
                    waiting += 1
                node = left[node]
            if lowest <= first < below:
                length = depth_capacity - depth
                if size + length > capacity or count >= matches_capacity:
                    state[0] = count_before
                    state[1] = size_before
                    state[2] = NEEDS_ROOM
                    return root
                for k in range(length):
                    out[size + k] = path[depth + k]
                for slot in range(slots):
                    ends[count * slots + slot] = size + cut[slot] - depth
                size += length
                count += 1
    state[0] = count
    state[1] = size
    return last_root


def compact(ev: Ints, left: Ints, right: Ints, newest: Ints, used: int, oldest: int) -> int:
    """Drop every node made before event `oldest`: returns how many ids were cut off.

    A reference to a dropped node becomes node 0, which is expired; its history was out of the window.
    """
    low = 1
    high = used
    while low < high:
        middle = (low + high) >> 1
        if ev[middle] < oldest:
            low = middle + 1
        else:
            high = middle
    shift = low - 1
    if shift == 0:
        return 0
    for node in range(low, used):
        to = node - shift
        ev[to] = ev[node]
        newest[to] = newest[node]
        left[to] = left[node] - shift if left[node] > shift else 0
        r = right[node]
        right[to] = r - shift if r > shift else (min(0, r))
    return shift


def copy_ranges(out: Ints, starts: Ints, ends: Ints, to: Ints) -> None:
    """The values out[starts[m]:ends[m]], one after another."""
    place = 0
    for m in range(len(starts)):
        for k in range(starts[m], ends[m]):
            to[place] = out[k]
            place += 1


def gather(ev: Ints, left: Ints, right: Ints, node: int, binding: int) -> Any:
    """The events that a history without unions binds to one slot, first to last."""
    count = 0
    at = node
    while at > 0:
        if right[at] == binding:
            count += 1
        at = left[at]
    events = np.empty(count, np.int64)
    at = node
    while at > 0:
        if right[at] == binding:
            count -= 1
            events[count] = ev[at]
        at = left[at]
    return events
