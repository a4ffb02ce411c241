"""Matches from the match graph, listed piece by piece; and a graph from matches that are listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines.host import Host
from augury.engines.kernels import graph as kernels
from augury.errors import LimitError
from augury.match.rows import Matches, Slot, flat

Bounds = npt.NDArray[np.int32]

EVENT = (
    40  # bytes of a bound event in a piece: in the buffers, as a match's, as a row's, and of what is gathered
)


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and roots, as `kernels.graph` describes them."""

    ev: Any
    left: Any
    right: Any
    newest: Any
    root_event: Any
    root_node: Any

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.ev, self.left, self.right, self.newest, self.root_event, self.root_node)


def graph_of(found: Matches, host: Host) -> Graph:
    """A chain of nodes for each match, and a root."""
    events, ends = flat(found)
    lasts = ends[:, -1]
    firsts = np.concatenate([[0], lasts[:-1]])
    left = np.arange(len(events))
    left[firsts] = 0
    lengths = np.diff(ends, axis=1, prepend=firsts[:, None])
    slot = np.repeat(np.tile(np.arange(ends.shape[1]), len(found)), lengths.ravel())
    none = np.zeros(1, np.int64)
    newest = np.repeat(events[firsts], lasts - firsts)
    nodes = [np.concatenate([none, a]) for a in (events, left, -1 - slot, newest)]
    nodes[3][0] = -1
    return Graph(*(host.listed(a.astype(np.int32)) for a in (*nodes, found.last, lasts)))


class Walker:
    """Lists the matches of roots into buffers; when they are full, what is in them becomes a piece."""

    def __init__(
        self,
        host: Host,
        kleene: Sequence[bool],
        lows: Bounds,
        high: Bounds | None,
        *,
        room: int,
        most: int | None = None,
    ) -> None:
        self.host = host
        self.most = most  # bytes that a piece may take
        self.kleene = kleene
        slots = len(kleene)
        depth = 64
        make = host.array
        self.stack_node, self.stack_depth = make("i4", depth), make("i4", depth)
        self.path, self.path_slot = make("i4", depth), make("i4", depth)
        self.cut = make("i8", slots)
        self.out, self.ends = make("i4", room), make("i8", max(slots, room // 2 * slots))
        self.state = make("i8", 3)
        self.lows = host.listed(lows)
        self.high = host.listed(np.full(len(lows), len(lows), np.int32) if high is None else high)

    def walk(self, graph: Graph, count: int) -> Iterator[Matches]:
        """The matches of the first `count` roots."""
        host = self.host
        enumerate_roots = host.run(kernels.enumerate_roots)
        root = 0
        while root < count:
            self.state[2] = 0
            root = enumerate_roots(
                *(*graph.arrays, root, count, self.lows, self.high, len(self.kleene)),
                *(self.stack_node, self.stack_depth, self.path, self.path_slot, self.cut),
                *(self.out, self.ends, self.state),
            )
            match int(self.state[2]):
                case kernels.NEEDS_PATH:
                    self.path = host.array("i4", 2 * len(self.path))
                    self.path_slot = host.array("i4", 2 * len(self.path_slot))
                case kernels.NEEDS_STACK:
                    self.stack_node = host.longer(self.stack_node, "i4", 2 * len(self.stack_node))
                    self.stack_depth = host.longer(self.stack_depth, "i4", 2 * len(self.stack_depth))
                case kernels.NEEDS_ROOM if self.state[0]:
                    yield from self.rest()
                case kernels.NEEDS_ROOM:  # one root alone does not fit
                    self._check(2 * len(self.out))
                    self.out = host.array("i4", 2 * len(self.out))
                    self.ends = host.array("i8", 2 * len(self.ends))

    def _check(self, events: int) -> None:
        """One event can complete more matches than any machine has memory for."""
        if self.most is not None and events * EVENT > self.most:
            raise LimitError(
                f"the matches that one event completes have more than {events // 2} events and would take "
                f"{events * EVENT / 1e9:.1f} GB, and results may take {self.most / 1e9:.1f} GB; narrow WITHIN or the "
                'predicates, or ask for output="count" or "compressed", which list no matches'
            )

    def rest(self) -> Iterator[Matches]:
        """What waits in the buffers."""
        if self.state[0]:
            count, size = int(self.state[0]), int(self.state[1])
            yield flat_matches(self.host, self.kleene, self.out, self.ends, count, size)
            self.state[0] = self.state[1] = 0


def flat_matches(host: Host, kleene: Sequence[bool], out: Any, ends: Any, count: int, size: int) -> Matches:
    """Matches from flat paths: match m has its events of a slot up to ends[m * slots + slot]."""
    slots = len(kleene)
    events = np.array(out[:size], np.int64)
    until = np.array(ends[: count * slots], np.int64).reshape(count, slots)
    starts = np.empty_like(until)
    starts[:, 1:] = until[:, :-1]
    starts[0, 0] = 0
    starts[1:, 0] = until[:-1, -1]
    found = []
    for place, many in enumerate(kleene):
        if not many:
            found.append(Slot(events[starts[:, place]]))
            continue
        lengths = until[:, place] - starts[:, place]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        rows = np.empty(int(offsets[-1]), np.int64)
        host.run(kernels.copy_ranges)(events, starts[:, place].copy(), until[:, place].copy(), rows)
        found.append(Slot(rows, offsets))
    return Matches(tuple(found))
