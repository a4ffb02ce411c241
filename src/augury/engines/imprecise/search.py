"""The plans: four ways to the same signatures, and one way from a signature to its confidence and range.

    sorted      slot after slot, in the pattern's order
    selective   the rarest slot first
    any_state   events as they come; a run begins at any slot and binds any other
    point       each event as its points, skip-till-any over them, matches collapsed by signature

Under skip_till_next a signature also needs, gap by gap, the events that could have been the next one: `Levels`. The
sorted plan makes them on its way; what the others find is walked once more along its own beginnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.engines.imprecise.events import Events
from augury.engines.imprecise.join import Join, chain_confidences, intervals, points
from augury.engines.kernels import gaps, pointwise, triples
from augury.errors import LimitError
from augury.uncertain import SAME

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

BLOCK = 1 << 14  # first events whose beginnings are walked together
MOST = 1 << 21  # beginnings of a block that are held together
CELLS = 1 << 27  # numbers of room for one match
HULL = 1 << 14  # instants up to which matches of the same first two events are evaluated together
ARRIVALS = 1 << 10  # events that come together


@dataclass
class Found:
    """Signatures and what is known of them; events are numbered as in `Events`."""

    signatures: Ints
    starts: Ints
    ends: Ints
    final: Ints  # the latest upper bound of the last event and of those that could spoil it
    confidence: Floats

    def __len__(self) -> int:
        return len(self.signatures)

    def __getitem__(self, chosen: Any) -> Found:
        return Found(
            self.signatures[chosen],
            self.starts[chosen],
            self.ends[chosen],
            self.final[chosen],
            self.confidence[chosen],
        )


@dataclass
class Cost:
    """What a search took, in counts."""

    pairs: int = 0
    evaluations: int = 0
    peak_runs: int = 0
    runs_begun: int = 0
    point_events: int = 0
    point_matches: int = 0


@dataclass
class Search:
    """One evaluation: the events, the plan, and what it costs."""

    events: Events
    max_runs: int
    cost: Cost = field(default_factory=Cost)

    def found(self, plan: str) -> Found:
        """The result's rows by a plan, in order of their signatures."""
        pieces = list(getattr(self, f"_{plan}")())
        found = joined(pieces, self.events.question.size)
        found = found[found.confidence > 0] if len(found) else found
        least = self.events.question.of.min_confidence
        if least:
            found = found[found.confidence >= least - SAME]
        found = found[np.lexsort(found.signatures.T[::-1])]
        most = self.events.question.of.top
        return found if most is None else self._top(found, most)

    def _top(self, found: Found, most: int) -> Found:
        """The most confident ones of each key; equal ones in order of their signatures."""
        of_event, place = self.events.by_key
        keys = of_event[found.signatures[:, 0]]
        ties = place[found.signatures].T[::-1]
        ranked = np.lexsort((*ties, -np.round(found.confidence, 12), keys))  # a rounding is no rank
        keys = keys[ranked]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
        place = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
        return found[np.sort(ranked[place < most])]

    # -------------------------------------------------------------- plans

    def _sorted(self) -> Iterator[Found]:
        space = intervals(self.events)
        join = Join(space)
        if self.events.question.next:
            yield from self._levels(join, None)
        else:
            for bound in self._chained(join, tuple(range(space.size))):
                yield self._valued(bound)
        self._count(join)

    def _selective(self) -> Iterator[Found]:
        space = intervals(self.events)
        join = Join(space)
        order = tuple(sorted(range(space.size), key=lambda k: len(space.slots[k])))
        yield from self._confirmed(list(self._chained(join, order)))
        self._count(join)

    def _any_state(self) -> Iterator[Found]:
        join = Join(intervals(self.events))
        yield from self._confirmed(list(self._arriving(join)))
        self._count(join)

    def _point(self) -> Iterator[Found]:
        space = points(self.events)
        join = Join(space)
        self.cost.point_events = len(space.lower)
        near = self.events.question.next
        pieces = [np.empty((0, space.size), np.int64)]
        for piece in self._chained(join, tuple(range(space.size)), nearest=near, points=True):
            pieces.append(piece)
            self.cost.point_matches += len(piece)
            self._check_runs(self.cost.point_matches, "point matches")
        self._count(join)
        matches = np.concatenate(pieces)
        if not len(matches):
            return
        yield self._collapsed(space.origin[matches], space.lower[matches])

    def _count(self, join: Join) -> None:
        self.cost.pairs += join.tried
        self.cost.evaluations += join.evaluations

    # -------------------------------------------------------------- slot after slot

    def _chained(
        self, join: Join, order: tuple[int, ...], *, nearest: bool = False, points: bool = False
    ) -> Iterator[Ints]:
        """Complete bindings, a block of partial matches after another."""
        least = self.events.question.of.min_confidence - SAME
        prunes = least > 0 and not points

        def deeper(bound: Ints, depth: int) -> Iterator[Ints]:
            if prunes and depth > 1:
                bound = bound[join.likely(bound, least)]
            self.cost.peak_runs = max(self.cost.peak_runs, len(bound))
            if depth == len(order):
                yield bound
                return
            slot = order[depth]
            for grown in join.grown(bound, slot, nearest=nearest):
                more = bound[grown.parents]
                more[:, slot] = grown.events
                yield from deeper(more, depth + 1)

        first = join.space.slots[order[0]]
        self.cost.runs_begun += len(first)
        for start in range(0, len(first), BLOCK):
            yield from deeper(join.begun(order[0], first[start : start + BLOCK]), 1)

    # -------------------------------------------------------------- as events come

    def _arriving(self, join: Join) -> Iterator[Ints]:
        """Complete bindings of runs that begin at any slot: `runs[which are bound]`."""
        space, window = join.space, join.window
        size = space.size
        full = (1 << size) - 1
        wanted = np.unique(np.concatenate([np.empty(0, np.int64), *space.slots]))
        wanted = wanted[np.argsort(space.lower[wanted], kind="stable")]
        is_slot = [np.zeros(len(space.lower), np.bool_) for _ in range(size)]
        for slot, candidates in enumerate(space.slots):
            is_slot[slot][candidates] = True
        runs: dict[int, Ints] = {}
        for start in range(0, len(wanted), ARRIVALS):
            arrived = wanted[start : start + ARRIVALS]
            for slot in range(size):
                mine = np.sort(arrived[is_slot[slot][arrived]])
                if not len(mine):
                    continue
                new: dict[int, list[Ints]] = {1 << slot: [join.begun(slot, mine)]}
                self.cost.runs_begun += len(mine)
                for bound, held in [(b, m) for m, b in runs.items() if not m >> slot & 1]:
                    for grown in join.grown(bound, slot, among=mine):
                        more = bound[grown.parents]
                        more[:, slot] = grown.events
                        new.setdefault(held | 1 << slot, []).append(more)
                for held, some in new.items():
                    runs[held] = np.concatenate([runs[held], *some]) if held in runs else np.concatenate(some)
            if full in runs:
                yield runs.pop(full)
            live = sum(map(len, runs.values()))
            self.cost.peak_runs = max(self.cost.peak_runs, live)
            self._check_runs(live, "live runs")
            now = int(space.lower[arrived[-1]])
            runs = {held: self._alive(bound, held, now, space.upper, window) for held, bound in runs.items()}
            runs = {held: bound for held, bound in runs.items() if len(bound)}

    def _check_runs(self, live: int, what: str) -> None:
        if live > self.max_runs:
            raise LimitError(
                f"{live} {what} exceed max_runs={self.max_runs}; narrow WITHIN or the predicates, raise max_runs, or "
                'let plan="auto" choose'
            )

    def _alive(self, bound: Ints, held: int, now: int, upper: Ints, window: int) -> Ints:
        """The runs that an event can still join that happens now or later."""
        keep = np.ones(len(bound), np.bool_)
        size = bound.shape[1]
        for slot in range(size):
            if not held >> slot & 1:
                continue
            last = upper[bound[:, slot]]
            if window >= 0:
                keep &= last + window > now
            if slot and not held >> (slot - 1) & 1:  # nothing that comes can be before it any more
                keep &= last > now
        return bound[keep]

    # -------------------------------------------------------------- confidences

    def _confirmed(self, pieces: list[Ints]) -> Iterator[Found]:
        """What is known of signatures that were found out of order."""
        signatures = np.concatenate([np.empty((0, self.events.question.size), np.int64), *pieces])
        if not len(signatures):
            return
        if self.events.question.next:
            yield from self._levels(Join(intervals(self.events)), signatures)
        else:
            yield self._valued(signatures)

    def _valued(self, signatures: Ints) -> Found:
        """Under skip_till_any a signature tells by itself."""
        confidence, starts, ends = chain_confidences(self.events, signatures, self.events.question.window)
        final = self.events.times.last[signatures[:, -1]]
        return Found(signatures, starts, ends, final, confidence)

    def _levels(self, join: Join, only: Ints | None) -> Iterator[Found]:
        """Signatures under skip_till_next, from their beginnings; `only` those, if some are given."""
        first = join.space.slots[0]
        if only is not None:
            only = only[np.lexsort(only.T[::-1])]
            first = np.unique(only[:, 0])
        blocks = [first[start : start + BLOCK] for start in range(0, len(first), BLOCK)][::-1]
        while blocks:
            block = blocks.pop()
            levels = Levels.of(join, block, only, self._least())
            if levels is None:  # too many at once
                blocks.extend([block[len(block) // 2 :], block[: len(block) // 2]])
                continue
            self.cost.peak_runs = max(self.cost.peak_runs, len(levels.signatures))
            if len(levels.signatures):
                yield gapped(self.events, levels)

    def _least(self) -> float:
        return self.events.question.of.min_confidence - SAME

    def _collapsed(self, origins: Ints, instants: Ints) -> Found:
        """Point matches by signature."""
        in_order = np.lexsort(origins.T[::-1])
        origins, instants = origins[in_order], instants[in_order]
        fresh = np.ones(len(origins), np.bool_)
        fresh[1:] = (origins[1:] != origins[:-1]).any(axis=1)
        starts = np.flatnonzero(fresh)
        number = np.cumsum(fresh) - 1
        signatures = np.ascontiguousarray(origins[starts])
        n, size = signatures.shape
        times = self.events.times
        levels = Levels.nothing(signatures)
        if self.events.question.next:
            join = Join(intervals(self.events))
            found = Levels.of(join, np.unique(signatures[:, 0]), signatures, 0.0, unbounded=True)
            assert found is not None
            levels = found.aligned(signatures)
        chance = np.zeros(len(origins))
        room = 2 + int((levels.ends - levels.begins).sum(axis=1).max(initial=0))
        self.events.run(pointwise.chances, len(origins) * size * room)(
            *(origins, np.ascontiguousarray(instants), number, levels.begins, levels.ends, levels.listed),
            *(times.lower, times.upper, times.place, times.mass, times.before, times.after),
            *(np.zeros(len(times), np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64), chance),
        )
        possible = chance > 0
        confidence = np.bincount(number, chance, n).astype(np.float64)
        low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
        np.minimum.at(low, number[possible], instants[possible, 0])
        np.maximum.at(high, number[possible], instants[possible, -1])
        final = times.last[signatures[:, -1]]
        if self.events.question.next:
            final = finals(self.events, levels)
        return Found(signatures, low, high, final, confidence)


# ------------------------------------------------------------------ beginnings of matches


class Levels(NamedTuple):
    """Signatures, and for each component of each the events that could have been the next one there."""

    signatures: Ints
    begins: Ints  # (signature, component): into `listed`
    ends: Ints
    listed: Ints

    @classmethod
    def nothing(cls, signatures: Ints) -> Levels:
        """No event could spoil any of them."""
        none = np.zeros(signatures.shape, np.int64)
        return cls(signatures, none, none, np.zeros(1, np.int64))

    @classmethod
    def of(
        cls, join: Join, first: Ints, only: Ints | None, least: float, *, unbounded: bool = False
    ) -> Levels | None:
        """All beginnings with these first events, component after component; None if they are too many to hold."""
        size = join.space.size
        bound = join.begun(0, first)
        begins, ends = (np.zeros((len(first), size), np.int64) for _ in range(2))
        listed: list[Ints] = [np.zeros(0, np.int64)]
        used = 0
        for slot in range(1, size):
            parents, events = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
            held = 0
            for grown in join.grown(bound, slot, nearest=True):
                parents.append(grown.parents)
                events.append(grown.events)
                held += len(grown.events)
                if held > MOST and len(first) > 1 and not unbounded:
                    return None
            parent, event = np.concatenate(parents), np.concatenate(events)
            counts = np.bincount(parent, minlength=len(bound))
            begins[:, slot] = used + np.cumsum(counts) - counts
            ends[:, slot] = begins[:, slot] + counts
            listed.append(event)
            used += len(event)
            more = bound[parent]
            more[:, slot] = event
            keep = np.ones(len(more), np.bool_)
            if only is not None:
                keep = among(more[:, : slot + 1], only[:, : slot + 1], len(join.space.lower))
            if least > 0:
                keep &= join.likely(more, least) if len(more) else keep
            parent, bound = parent[keep], more[keep]
            begins, ends = begins[parent], ends[parent]
        return cls(
            np.ascontiguousarray(bound), begins, ends, np.concatenate([*listed, np.zeros(1, np.int64)])
        )

    def aligned(self, signatures: Ints) -> Levels:
        """The same for signatures in another order; those that are none of ours can have nothing next."""
        place = {tuple(s): i for i, s in enumerate(self.signatures.tolist())}
        begins, ends = (np.zeros(signatures.shape, np.int64) for _ in range(2))
        for i, s in enumerate(signatures.tolist()):
            mine = place[tuple(s)]
            begins[i], ends[i] = self.begins[mine], self.ends[mine]
        return Levels(signatures, begins, ends, self.listed)


def among(rows: Ints, wanted: Ints, many: int) -> Mask:
    """Which rows are among others; numbers are below `many`."""
    ids, known = np.zeros(len(rows), np.int64), np.zeros(len(wanted), np.int64)
    for k in range(rows.shape[1]):
        both = np.concatenate([ids * many + rows[:, k], known * many + wanted[:, k]])
        _, both = np.unique(both, return_inverse=True)
        ids, known = both[: len(rows)].astype(np.int64), both[len(rows) :].astype(np.int64)
    return np.isin(ids, known)


def finals(events: Events, levels: Levels) -> Ints:
    """Up to when something of each match, or of what could spoil it, can happen."""
    times = events.times
    n, size = levels.signatures.shape
    room = 2 * int((levels.ends - levels.begins).sum(axis=1).max(initial=0)) + 2
    final = np.zeros(n, np.int64)
    arrays = [np.zeros(k, np.int64) for k in (size, size, len(times), room, room, 2)]
    events.run(gaps.finals, n * size * room)(
        *(levels.signatures, levels.begins, levels.ends, levels.listed, events.question.window),
        *(times.lower, times.upper, times.last, final, *arrays),
    )
    return final


def gapped(events: Events, levels: Levels) -> Found:
    """What is known of signatures under skip_till_next."""
    n, size = levels.signatures.shape
    starts, ends, final = (np.zeros(n, np.int64) for _ in range(3))
    found = Found(levels.signatures, starts, ends, final, np.zeros(n))
    undone = np.arange(n)
    if size == 3:
        if not events.tests and not events.classes:
            undone = _alike(events, levels, found)
        undone = _tripled(events, levels, found, undone)
    if len(undone):
        _walked(events, levels, found, undone)
    return found


def _rooms(events: Events, signatures: Ints) -> tuple[int, int]:
    """How many instants first events have, and how many those of last events after the same second one."""
    times, window = events.times, events.question.window
    e1, e2, e3 = signatures.T
    wide = int((times.upper[e1] - times.lower[e1]).max()) + 1
    hulls = times.upper[e3] - np.maximum(times.lower[e2], times.lower[e1])
    if window >= 0:
        hulls = np.minimum(hulls, times.upper[e1] - times.lower[e1] + window)
    return wide, int(hulls.max()) + 1


def _alike(events: Events, levels: Levels, found: Found) -> Ints:
    """Matches of three events that no test relates, together with those of the same second one; returns the others."""
    times, window = events.times, events.question.window
    first = levels.signatures[:, 0]
    also = np.zeros(len(times), np.bool_)  # what could stand in a later slot could spoil a gap
    for slot in events.slots[1:]:
        also[slot] = True
    fair = (times.place[first] < 0) & ~also[first]
    chosen = np.flatnonzero(fair)
    if not len(chosen):
        return np.arange(len(first))
    order = np.lexsort((first[chosen], levels.signatures[chosen, 2], levels.signatures[chosen, 1]))
    chosen = chosen[order]
    signatures = np.ascontiguousarray(levels.signatures[chosen])
    e1, e2, e3 = signatures.T
    fresh = np.flatnonzero(np.concatenate([[True], e2[1:] != e2[:-1]]))
    low, far = np.minimum.reduceat(times.lower[e1], fresh), np.maximum.reduceat(times.upper[e3], fresh)
    high = np.minimum(np.maximum.reduceat(times.upper[e1], fresh), times.upper[e2[fresh]])
    begun = np.maximum(times.lower[e2[fresh]], low + 1)
    if window >= 0:
        low, far = np.maximum(low, begun - window + 2), np.minimum(far, high + window)
    wide, hull = int((high - low).max()) + 2, int((far - begun).max()) + 2
    if max(wide, hull) > HULL:
        return np.arange(len(first))
    join = Join(intervals(events))
    pools = [join.pool(slot) for slot in (1, 2)]
    n = len(chosen)
    starts, ends, final, undone = (np.zeros(n, np.int64) for _ in range(4))
    confidence = np.zeros(n)
    out = np.zeros(max(len(pool.events) for pool in pools), np.int64)
    room = 1 + max(
        events.run(triples.most_reached, len(fresh) * 100)(
            *(e2[fresh], events.group, low, far, pool.events, pool.ids, pool.lower, pool.reach),
            *(times.upper, out),
        )
        for pool in pools
    )
    arrays = [np.zeros(k, np.int64) for k in (len(times), *(5 * [room]))]
    events.run(triples.alike, n * min(hull, 1000) * 10)(
        *(signatures, events.group, window, times.lower, times.upper, times.last),
        *(times.place, times.mass, times.before, times.after),
        *(array for pool in pools for array in (pool.events, pool.ids, pool.lower, pool.reach)),
        *(starts, ends, final, confidence, undone, *arrays, wide, hull),
    )
    found.starts[chosen], found.ends[chosen], found.final[chosen] = starts, ends, final
    found.confidence[chosen] = confidence
    return np.concatenate([np.flatnonzero(~fair), chosen[undone > 0]])


def _tripled(events: Events, levels: Levels, found: Found, chosen: Ints) -> Ints:
    """Matches of three events, together with those of the same first two; returns what is left for others."""
    if not len(chosen):
        return chosen
    times, window = events.times, events.question.window
    chosen = np.sort(chosen)
    signatures = np.ascontiguousarray(levels.signatures[chosen])
    begins, stops = (np.ascontiguousarray(a[chosen]) for a in (levels.begins, levels.ends))
    n = len(signatures)
    e1, e2, _ = signatures.T
    wide, hull = _rooms(events, signatures)
    if max(wide, hull) > HULL:
        return chosen
    fresh = np.flatnonzero(np.concatenate([[True], (e1[1:] != e1[:-1]) | (e2[1:] != e2[:-1]), [True]]))
    many = int(np.diff(fresh).max())
    room = int((stops - begins).max()) + 1
    starts, ends, final, undone = (np.zeros(n, np.int64) for _ in range(4))
    confidence = np.zeros(n)
    arrays = [np.zeros(k, np.int64) for k in (len(times), room, room, room)]
    events.run(triples.confidences, n * min(wide, 1000) * min(hull, 1000))(
        *(signatures, begins, stops, levels.listed, window),
        *(times.lower, times.upper, times.last, times.place, times.mass, times.before, times.after),
        *(starts, ends, final, confidence, undone, *arrays, wide, hull, many),
    )
    found.starts[chosen], found.ends[chosen], found.final[chosen] = starts, ends, final
    found.confidence[chosen] = confidence
    return chosen[undone > 0]


def _walked(events: Events, levels: Levels, found: Found, chosen: Ints) -> None:
    """Matches of any length, one by one."""
    times, window = events.times, events.question.window
    signatures = np.ascontiguousarray(levels.signatures[chosen])
    begins, ends = (np.ascontiguousarray(a[chosen]) for a in (levels.begins, levels.ends))
    n, size = signatures.shape
    room = 2 * int((ends - begins).sum(axis=1).max(initial=0)) + 2
    used = np.unique(signatures)
    width = int((times.upper[used] - times.lower[used]).max(initial=0)) + 1
    first, last, final = (np.zeros(n, np.int64) for _ in range(3))
    confidence = np.zeros(n)
    arrays = [np.zeros(k, np.int64) for k in (size, size, len(times), room, room, 2)]
    done = events.run(gaps.confidences, n * size * min(width, 1000) ** 2 * room)(
        *(signatures, 0, begins, ends, levels.listed, window),
        *(times.lower, times.upper, times.last, times.place, times.mass, times.before, times.after),
        *(first, last, final, confidence, CELLS, *arrays),
    )
    if done < n:
        raise LimitError(
            f"the confidence of a match needs more than {CELLS} numbers of room: its intervals have up to {width} "
            f"instants, and many events could spoil two of its gaps; choose a coarser granularity or narrow WITHIN"
        )
    found.starts[chosen], found.ends[chosen], found.final[chosen] = first, last, final
    found.confidence[chosen] = confidence


def joined(pieces: list[Found], size: int) -> Found:
    """All pieces as one."""
    none = np.zeros(0, np.int64)
    start = Found(np.zeros((0, size), np.int64), none, none, none, np.zeros(0))
    every = [start, *pieces]
    read: Callable[[str], Any] = lambda name: np.concatenate([getattr(f, name) for f in every])  # noqa: E731
    return Found(*(read(name) for name in ("signatures", "starts", "ends", "final", "confidence")))
