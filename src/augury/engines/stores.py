"""What a kernel writes histories into: the match graph, or rows of counts; and the results that wait to be read.

The kernel allocates nothing. A store makes room when it is asked to: what is out of the window goes, what is
live moves to the front, and arrays grow only where that is not enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.engines.kernels import control as ctl
from augury.engines.kernels import counts as counting
from augury.engines.kernels import graph
from augury.errors import LimitError

if TYPE_CHECKING:
    from augury.engines.eager import Evaluation

Ints = npt.NDArray[np.int64]

MOST = 1.5e38  # a count about as large as this has more digits than a decimal, whatever its roundings


class GraphStore:
    """The arrays of the match graph (see kernels.graph), and the roots that wait to be enumerated."""

    first_node = 1  # node 0 is none
    wide = False

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = e = evaluation
        room = 1 << 10 if len(e.batch) < 1 << 12 else 1 << 16
        self.ev, self.left, self.right, self.newest = (e.array("i4", room) for _ in range(4))
        self.root_event, self.root_node = (e.array("i4", max(64, room // 4)) for _ in range(2))
        self.newest[0] = -1
        self.cut_off = 0
        self.bound = np.zeros(len(e.batch) if e.options.profile else 0, np.bool_)

    def arrays(self) -> tuple[Any, ...]:
        return (self.ev, self.left, self.right, self.newest, self.root_event, self.root_node)

    def in_share(self, count: int) -> int:
        """Leaves of the roots those that complete matches in the share, at the front; how many they are."""
        events = np.array(self.root_event[:count], np.int64)
        those = self.evaluation.in_share(events)
        if those is None or those.all():
            return count
        left = np.flatnonzero(those)
        nodes = np.array(self.root_node[:count], np.int64)
        self.root_event[: len(left)] = self.evaluation.listed(events[left])
        self.root_node[: len(left)] = self.evaluation.listed(nodes[left])
        return len(left)

    def more_results(self) -> None:
        e, room = self.evaluation, 2 * len(self.root_event)
        self.root_event, self.root_node = (e.longer(a, "i4", room) for a in (self.root_event, self.root_node))

    def make_room(self, control: Any, arrays: dict[str, Any], oldest: int, *, full: bool) -> None:
        """Drop what is out of the window; then as much free room as is used, and enough for one event."""
        e = self.evaluation
        e.measures.peak_nodes = max(e.measures.peak_nodes, int(control[ctl.NODES]))
        self._see_bound(control)
        cut = int(
            e.run(graph.compact)(self.ev, self.left, self.right, self.newest, int(control[ctl.NODES]), oldest)
        )
        if cut:
            control[ctl.NODES] -= cut
            self.cut_off += cut
            e.renumber(control, arrays, lambda ids: np.maximum(ids - cut, 0))  # 0: the run has expired
        used, live, wanted = int(control[ctl.NODES]), e.live(control), len(self.ev)
        while full and (used * 2 > wanted or used + 8 * live + 8 > wanted):
            wanted *= 2
        if used > e.max_nodes:
            raise LimitError(
                f"{used} nodes of the match graph exceed max_nodes={e.max_nodes}"
                f"{e.where(int(control[ctl.EVENT]))}; narrow WITHIN or the predicates"
            )
        if wanted > len(self.ev):
            self.ev, self.left, self.right, self.newest = (
                e.longer(a, "i4", wanted) for a in (self.ev, self.left, self.right, self.newest)
            )

    def finish(self, control: Any) -> None:
        measures = self.evaluation.measures
        measures.peak_nodes = max(measures.peak_nodes, int(control[ctl.NODES]))
        measures.nodes = self.cut_off + int(control[ctl.NODES]) - 1
        self._see_bound(control)

    def _see_bound(self, control: Any) -> None:
        if len(self.bound):
            nodes = int(control[ctl.NODES])
            binds = np.array(self.right[1:nodes], np.int64) < 0
            self.bound[np.array(self.ev[1:nodes], np.int64)[binds]] = True

    def bound_events(self) -> npt.NDArray[np.bool_]:
        """The events that some history binds."""
        return self.bound


@dataclass(frozen=True, slots=True)
class _CountRows:
    """Rows of counts; there are two of them, and what is live moves from one to the other."""

    starts: Any
    first: Any
    beyond: Any
    place: Any
    words: list[Any]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.starts), len(self.first), len(self.words[0])


class CountStore:
    """Rows of counts (see kernels.counts), and the counts that wait to be read."""

    first_node = 0

    def __init__(self, evaluation: Evaluation, *, wide: bool) -> None:
        self.evaluation = e = evaluation
        self.wide = wide
        self.types = ("i8", "i8", "f8") if wide else ("i8",)  # of a number's words
        # First events in a row: each time they are all used the kernel comes back, and that takes as long as some
        # thousand events.
        width, rows, room = (1 << 12, 1 << 12, 1 << 16) if e.fast else (64, 1 << 8, 1 << 12)
        self.rows = self._rows_of(width, rows, room)
        self.spare = self.rows
        self.scattered = e.array("i4", width)
        self.out_event = e.array("i4", 1 << 12)
        self.out = [e.array(t, 1 << 12) for t in self.types]

    def _rows_of(self, width: int, rows: int, room: int) -> _CountRows:
        array = self.evaluation.array
        ends = (array("i4", width), array("i4", rows), array("i4", rows), array("i8", rows))
        return _CountRows(*ends, [array(t, room) for t in self.types])

    def arrays(self) -> tuple[Any, ...]:
        r = self.rows
        return (r.starts, r.first, r.beyond, r.place, self.scattered, *r.words, self.out_event, *self.out)

    def in_share(self, count: int) -> int:
        """Counts are looked at when they are read."""
        return count

    def more_results(self) -> None:
        e, room = self.evaluation, 2 * len(self.out_event)
        self.out_event = e.longer(self.out_event, "i4", room)
        self.out = [e.longer(a, t, room) for a, t in zip(self.out, self.types, strict=True)]

    def make_room(self, control: Any, arrays: dict[str, Any], oldest: int, *, full: bool) -> None:
        """Live rows to the front, expired first events away; larger arrays if half would be full."""
        del oldest
        if not full:
            return
        e = self.evaluation
        found: list[Ints] = [np.empty(0, np.int64)]

        def renumbered(ids: Ints) -> Ints:
            found.append(ids)
            before = sum(map(len, found[:-1]))
            return np.arange(before, before + len(ids))

        e.renumber(control, arrays, renumbered)
        live = np.concatenate(found)
        head, tail, need = (int(control[k]) for k in (ctl.HEAD, ctl.TAIL, ctl.NEED))
        size = tail - head + 1
        was = self.rows
        stored = live[np.array(was.place)[live] != counting.UNIT]
        lengths = np.array(was.beyond)[stored] - np.maximum(np.array(was.first)[stored], head)
        kept = int(np.maximum(lengths, 0).sum())
        if kept + 2 * (need + 1) * size > e.max_nodes:
            raise LimitError(
                f"{kept + 2 * (need + 1) * size} counts of matches by their first event exceed "
                f"max_nodes={e.max_nodes}{e.where(int(control[ctl.EVENT]))}; narrow WITHIN or the predicates"
            )
        width = _room_for(2 * size, len(was.starts))
        many = _room_for(2 * (len(live) + need) + 8, len(was.first))
        room = _room_for(2 * kept + 4 * (need + 1) * size, len(was.words[0]))
        if self.spare is was or (width, many, room) != self.spare.sizes:
            self.spare = self._rows_of(width, many, room)
            self.scattered = e.longer(self.scattered, "i4", width)
        now = self.rows = self.spare
        self.spare = was
        now.starts[: tail - head] = was.starts[head:tail]
        rows = e.listed(live)
        ends = (now.first, now.beyond, now.place)
        control[ctl.USED] = e.run(counting.pack_rows)(rows, head, was.first, was.beyond, was.place, *ends)
        for old, new in zip(was.words, now.words, strict=True):
            e.run(counting.pack_words)(rows, head, was.place, old, *ends, new)
        control[ctl.NODES] = len(live)
        control[ctl.HEAD], control[ctl.TAIL] = 0, tail - head

    def read(self, count: int) -> tuple[Ints, Ints]:
        """The events that completed matches, and how many: one word each, or two and whether they say it all."""
        events = np.array(self.out_event[:count], np.int64)
        those = self.evaluation.in_share(events)
        if not self.wide:
            words = np.array(self.out[0][:count], np.int64)
            kept = np.flatnonzero(words if those is None else words * those)
            return events[kept], words[kept].reshape(-1, 1)
        low, high = (np.array(a[:count], np.int64).astype(np.uint64) for a in self.out[:2])
        about = np.array(self.out[2][:count], np.float64)
        said = low.astype(np.float64) + high.astype(np.float64) * 2.0**63
        large = about > MOST
        times = np.where(large, 0, np.rint((about - said) / 2.0**126)).astype(np.uint64)
        one, two = np.uint64(1), np.uint64(62)
        words = np.stack(
            [
                (low | (high & one) << np.uint64(63)).view(np.int64),
                (high >> one | times << two).view(np.int64),
                large.astype(np.int64),
            ],
            axis=1,
        )
        kept = np.flatnonzero(about if those is None else about * those)
        return events[kept], words[kept]

    def finish(self, control: Any) -> None:
        """Nothing is left to be read."""

    def bound_events(self) -> npt.NDArray[np.bool_]:
        """Of histories that are counts only the first events are known."""
        e = self.evaluation
        ((begin, _),) = e.plan.automaton.leaving(0)
        begins: npt.NDArray[np.bool_] = (
            np.array(e.masks[0], np.uint64) & np.uint64(1 << e.source.bits[begin]) != 0
        )
        return begins


def size_of(array: Any) -> int:
    """The bytes of an array; of a list as if it were one."""
    return int(array.nbytes) if isinstance(array, np.ndarray) else 8 * len(array)


def _room_for(wanted: int, room: int) -> int:
    while room < wanted:
        room *= 2
    return room
