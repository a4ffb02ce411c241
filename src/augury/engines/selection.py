"""What `non_overlap`, `longest` and `compressed` report, taken from the match graph.

None of them lists the matches that it leaves out. For `non_overlap` the kernel ends all runs of a partition
when a match completes, so what completes next begins later; for `longest` it keeps runs of different first
events apart, so that each root knows its start. Where an absence is asked of each match, those that survive
it make a graph of their own, a chain for each, and the rest is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from augury.engines.absence import chosen_matches
from augury.engines.eager import PIECE, Evaluation
from augury.engines.kernels import best, rooted
from augury.engines.walk import Graph, flat_matches
from augury.match.compressed import Graphs
from augury.match.rows import Matches, joined


def selected(evaluation: Evaluation, *, longest: bool) -> Matches:
    """The matches that the output reports, over kernel indices."""
    chooser = _Chooser(evaluation, longest=longest)
    pieces = [piece for graph, count in evaluation.roots() for piece in chooser.best(graph, count)]
    found = joined(pieces, evaluation.plan.query)
    return _latest(found, len(evaluation.batch)) if longest else found


def _latest(found: Matches, events: int) -> Matches:
    """Of those with one first event the last to complete; later pieces hold later ones."""
    place = np.full(events, -1, np.int64)
    np.maximum.at(place, found.first, np.arange(len(found)))
    chosen = np.unique(place[found.first])
    return chosen_matches(found, chosen[np.lexsort((found.first[chosen], found.last[chosen]))])


class _Chooser:
    """Takes the best match of each group of roots; the buffers for matches are used again and again."""

    def __init__(self, evaluation: Evaluation, *, longest: bool) -> None:
        self.evaluation = evaluation
        self.longest = longest
        self.slots = evaluation.plan.automaton.final
        self.lows = evaluation.listed(evaluation.batch.lows)
        self.out = evaluation.array("i4", 1 << 12)
        self.ends = evaluation.array("i8", self.slots << 10)
        self.frontier = -1
        self.latest = evaluation.listed(np.full(len(evaluation.batch) if longest else 0, -1, np.int32))

    def best(self, graph: Graph, count: int) -> Iterator[Matches]:
        e = self.evaluation
        nodes = len(graph.ev)
        heads, chain = e.array("i4", count), e.array("i4", count)
        if self.longest:
            roots = (graph.root_event, graph.root_node, graph.newest)
            groups = e.run(best.group_by_start)(*roots, count, heads, chain, self.latest)
        else:
            groups = e.run(best.group_by_event)(graph.root_event, count, heads, chain)
        scratch = [e.array("i4", nodes) for _ in range(5)]
        stack = e.array("i4", 2 * nodes + 2)
        group = 0
        while group < groups:
            state = e.array("i8", 4)
            state[3] = self.frontier
            group = e.run(best.best_paths)(
                *(*graph.arrays, heads, chain, group, groups, self.lows, self.slots, not self.longest),
                *(*scratch, stack, self.out, self.ends, state),
            )
            self.frontier = int(state[3])
            matches, size = int(state[0]), int(state[1])
            if matches:
                yield flat_matches(e, e.kleene, self.out, self.ends, matches, size)
            elif group < groups:  # one match alone does not fit
                self.out, self.ends = e.array("i4", 2 * len(self.out)), e.array("i8", 2 * len(self.ends))


def compressed(evaluation: Evaluation) -> Iterator[Graphs]:
    """A graph for each event that completes matches, a piece at a time."""
    e = evaluation
    n = len(e.batch)
    lows = e.listed(e.batch.lows)
    high = e.listed(np.full(n, n, np.int32) if e.below is None else e.below)
    seen, local = e.array("i4", n), e.array("i4", n)
    base, room = 0, 1 << 12
    for graph, count in e.roots():
        nodes = len(graph.ev)
        heads, chain = e.array("i4", count), e.array("i4", count)
        groups = e.run(best.group_by_event)(graph.root_event, count, heads, chain)
        stamp, place, stack = e.array("i4", nodes), e.array("i4", nodes), e.array("i4", 2 * nodes + 2)
        group = 0
        while group < groups:
            columns = [e.array("i4", room) for _ in range(5)]
            rows = [e.array("i4", groups - group) for _ in range(3)]
            state = e.array("i8", 4)
            done = e.run(rooted.rooted)(
                *(*graph.arrays, heads, chain, group, groups, lows, high, base),
                *(stamp, place, stack, seen, local, *columns, *rows, state),
            )
            base += done - group + 1
            group = done
            made, used, named = (int(x) for x in state[:3])
            if made:
                *four, events = (
                    np.array(c[:k], np.int64) for c, k in zip(columns, (used,) * 4 + (named,), strict=True)
                )
                ends, node_ends, event_ends = (np.array(r[:made], np.int64) for r in rows)
                order = e.batch.order
                offsets = (np.concatenate([[0], at]) for at in (node_ends, event_ends))
                yield Graphs(order[ends], tuple(four), next(offsets), order[events], next(offsets))
            if group < groups and (room < PIECE or not made):
                room *= 2
