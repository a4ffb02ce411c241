"""Whether graphs that came from outside are graphs: a walk over them must end, and every path be a match."""

from __future__ import annotations

from typing import Any

Ints = Any  # NumPy arrays, or lists of int when uncompiled


def first_bad_graph(
    slot: Ints,
    event: Ints,
    left: Ints,
    right: Ints,
    node_offsets: Ints,
    event_offsets: Ints,
    kleene: Ints,
    last_slot: Ints,
) -> int:
    """The first graph that is none, -1 if all are. `last_slot` is room for a number for each node.

    Children stand before parents; a path goes through the slots one by one, and takes many events only where
    the slot is a Kleene component's.
    """
    slots = len(kleene)
    for graph in range(len(node_offsets) - 1):
        begin = node_offsets[graph]
        size = node_offsets[graph + 1] - begin
        events = event_offsets[graph + 1] - event_offsets[graph]
        if size == 0:
            return graph
        for own in range(size):
            at = begin + own
            a = left[at]
            s = slot[at]
            if a >= own or a < -1 or s < -1 or s >= slots:
                return graph
            under = last_slot[begin + a] if a >= 0 else -1
            if s < 0:
                b = right[at]
                if a < 0 or b < 0 or b >= own or last_slot[begin + b] != under:
                    return graph
                last_slot[at] = under
            else:
                again = a >= 0 and under == s and kleene[s]
                if event[at] < 0 or event[at] >= events or not (under == s - 1 or again):
                    return graph
                last_slot[at] = s
        if last_slot[begin + size - 1] != slots - 1:
            return graph
    return -1


def first_unsorted(ev: Ints, left: Ints, right: Ints, newest: Ints, used: int) -> int:
    """The first node that breaks the order of a match graph, -1 if none does: see kernels.graph.

    Events grow with the numbers of nodes, and what a node stands on has a smaller number. A union has the history with
    the newer start on its left, and any node the newest start of what is below it. Node 0 stands for what has expired,
    and tells nothing.
    """
    for node in range(1, used):
        a = left[node]
        r = right[node]
        if a < 0 or a >= node or r >= node or newest[node] > ev[node]:
            return node
        if node > 1 and ev[node - 1] > ev[node]:
            return node
        if a > 0 and newest[node] != newest[a]:
            return node
        if r > 0 and newest[r] > newest[node]:
            return node
        if r < 0 and a == 0 and r != -1 and newest[node] == ev[node]:
            return node
    return -1
