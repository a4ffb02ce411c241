"""Partial matches, and how they grow by a slot: a range of the slot's pool, what time allows, then the tests.

A set of partial matches binds the same slots, in any order; a row has an event for each slot, -1 where none is bound.
What grows is done block by block, so that memory is bounded whatever the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.engines.imprecise.events import Events
from augury.engines.kernels import chains, joins
from augury.expr.columns import truth

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PAIRS = 1 << 20  # of partial matches and candidates that are looked at together


@dataclass(frozen=True)
class Space:
    """What is joined: the events with their intervals, or their points one by one (`origin` is whose)."""

    events: Events
    lower: Ints
    upper: Ints
    origin: Ints
    slots: tuple[Ints, ...]

    @cached_property
    def group(self) -> Ints:
        return self.events.group[self.origin]

    @cached_property
    def whole(self) -> tuple[Ints, Ints]:
        """The bounds of the whole event."""
        times = self.events.times
        return times.lower[self.origin], times.upper[self.origin]

    @property
    def size(self) -> int:
        return len(self.slots)


def intervals(events: Events) -> Space:
    """The events as they are."""
    times = events.times
    return Space(events, times.lower, times.upper, np.arange(len(events)), events.slots)


def points(events: Events) -> Space:
    """The stream expanded: an event for each possible instant of each candidate, in order of time."""
    times = events.times
    used = np.unique(np.concatenate([np.empty(0, np.int64), *events.slots]))
    widths = (times.upper - times.lower + 1)[used]
    origin = np.repeat(used, widths)
    offset = np.arange(len(origin)) - np.repeat(np.cumsum(widths) - widths, widths)
    place = times.place[origin]
    possible = np.ones(len(origin), np.bool_)
    with_pmf = place >= 0
    possible[with_pmf] = times.mass[place[with_pmf] + offset[with_pmf]] > 0
    origin, offset = origin[possible], offset[possible]
    instants = times.lower[origin] + offset
    in_order = np.lexsort((instants, events.group[origin]))
    origin, instants = origin[in_order], instants[in_order]
    slots = []
    for candidates in events.slots:
        mine = np.zeros(len(events), np.bool_)
        mine[candidates] = True
        slots.append(np.flatnonzero(mine[origin]))
    return Space(events, instants, instants, origin, tuple(slots))


class Pool(NamedTuple):
    """A slot's candidates by id (their partition, and the values that they share with what is bound), then by time."""

    events: Ints
    ids: Ints
    lower: Ints
    reach: Ints
    known: tuple[
        tuple[int, Ints], ...
    ]  # for each shared value: how many codes there are, and the pairs in use


class Grown(NamedTuple):
    """Pairs of a partial match and an event that fits it, by partial match."""

    parents: Ints
    events: Ints


class Join:
    """Grows partial matches over one space."""

    def __init__(self, space: Space, *, max_pairs: int = PAIRS) -> None:
        self.space = space
        self.window = space.events.question.window
        self.max_pairs = max_pairs
        self.pools: dict[tuple[int, tuple[int, ...], bool], Pool] = {}
        self.tried = 0  # pairs that were looked at
        self.evaluations = 0  # tests of pairs

    def begun(self, slot: int, events: Ints) -> Ints:
        """Partial matches of one event each."""
        bound = np.full((len(events), self.space.size), -1, np.int64)
        bound[:, slot] = events
        return bound

    # -------------------------------------------------------------- growing by one slot

    def grown(
        self, bound: Ints, slot: int, *, nearest: bool = False, among: Ints | None = None
    ) -> Iterator[Grown]:
        """What fits into the slot, a block of partial matches after another.

        `nearest` leaves out what happens surely after another candidate has: skip_till_next's. `among` are the
        candidates, where not all of the slot's are.
        """
        if not len(bound):
            return
        held = tuple(int(k) for k in np.flatnonzero(bound[0] >= 0))
        shared = tuple(
            number
            for number, terms in enumerate(self.space.events.classes)
            if slot in terms and any(k in terms for k in held)
        )
        pool = self._pool(slot, shared) if among is None else self._made(slot, shared, among)
        ids, there = self._ids(bound, held, shared, pool)
        rows = np.flatnonzero(there)
        space = self.space
        n, size = len(rows), space.size
        first, last, low, horizon = (np.zeros(n, np.int64) for _ in range(4))
        least, most, chain = (np.zeros(size, np.int64) for _ in range(3))
        mine = np.ascontiguousarray(bound[rows])
        run = space.events.run
        run(joins.ranges, n * 8)(
            *(mine, ids[rows], slot, self.window, space.lower, space.upper, pool.ids, pool.lower, pool.reach),
            *(least, most, first, last, low, horizon),
        )
        ends = np.cumsum(last - first)
        begin = 0
        while begin < n:
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + self.max_pairs, side="right")))
            pairs = int(ends[end - 1]) - before
            self.tried += pairs
            parents, events = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
            count = run(joins.extended, pairs)(
                *(mine, begin, end, slot, self.window, space.lower, space.upper, space.origin),
                *(pool.events, first, last, low, chain, least, most, parents, events),
            )
            parents, events = parents[:count], events[:count]
            good = self._passing(mine, parents, events, slot, held)
            parents, events = parents[good], events[good]
            if nearest and len(events):
                keep = np.empty(len(events), np.bool_)
                run(joins.next_latest, len(events))(parents, events, horizon, space.lower, *space.whole, keep)
                parents, events = parents[keep], events[keep]
            if len(events):
                yield Grown(rows[parents], events)
            begin = end

    def _passing(self, bound: Ints, parents: Ints, events: Ints, slot: int, held: Sequence[int]) -> Any:
        """The pairs for which every test holds whose last slot this is."""
        space = self.space
        chosen = np.arange(len(events))
        for places, expr in space.events.tests:
            if slot not in places or not places <= {slot, *held} or not len(chosen):
                continue
            by_slot = {k: space.origin[bound[parents[chosen], k]] for k in places if k != slot}
            by_slot[slot] = space.origin[events[chosen]]
            self.evaluations += len(chosen)
            chosen = chosen[truth(space.events.value(expr, by_slot, len(chosen)))]
        return chosen

    # -------------------------------------------------------------- pools

    def pool(self, slot: int) -> Pool:
        """All candidates of a slot."""
        return self._pool(slot, ())

    def _pool(self, slot: int, shared: tuple[int, ...]) -> Pool:
        key = (slot, shared, False)
        if key not in self.pools:
            self.pools[key] = self._made(slot, shared, self.space.slots[slot])
        return self.pools[key]

    def _made(self, slot: int, shared: tuple[int, ...], events: Ints) -> Pool:
        space = self.space
        ids = space.group[events]
        known: list[tuple[int, Ints]] = []
        for number in shared:
            codes = space.events.classes[number][slot][space.origin[events]]
            there = codes >= 0
            events, ids, codes = events[there], ids[there], codes[there]
            many = int(codes.max()) + 1 if len(codes) else 1
            pairs, ids = np.unique(ids * many + codes, return_inverse=True)
            known.append((many, pairs))
        lower = space.lower[events]
        if not _in_order(ids, lower):
            in_order = np.lexsort((lower, ids))
            events, ids, lower = events[in_order], ids[in_order], lower[in_order]
        ids = np.ascontiguousarray(ids, np.int64)
        reach = np.empty(len(events), np.int64)
        space.events.run(joins.reaches, len(events))(ids, space.upper[events], reach)
        return Pool(events, ids, np.ascontiguousarray(lower), reach, tuple(known))

    def _ids(self, bound: Ints, held: Sequence[int], shared: Sequence[int], pool: Pool) -> tuple[Ints, Mask]:
        """The partial matches' ids in a pool, and which of them are there at all."""
        space = self.space
        ids = space.group[bound[:, held[0]]]
        there = np.ones(len(bound), np.bool_)
        for number, (many, pairs) in zip(shared, pool.known, strict=True):
            terms = space.events.classes[number]
            slot = next(k for k in held if k in terms)
            codes = terms[slot][space.origin[bound[:, slot]]]
            wanted = ids * many + codes
            at = np.searchsorted(pairs, wanted)
            there &= (codes >= 0) & (codes < many) & (at < len(pairs))
            there[there] &= pairs[at[there]] == wanted[there]
            ids = at
        return ids, there

    # -------------------------------------------------------------- how likely

    def likely(self, bound: Ints, least: float) -> Mask:
        """Which partial matches can have this confidence: never more than their events being in order."""
        held = np.flatnonzero(bound[0] >= 0)
        return (
            chain_confidences(self.space.events, self.space.origin[bound[:, held]], self.window)[0] >= least
        )


def _in_order(ids: Ints, lower: Ints) -> bool:
    return bool(np.all((ids[1:] > ids[:-1]) | ((ids[1:] == ids[:-1]) & (lower[1:] >= lower[:-1]))))


def chain_confidences(events: Events, found: Ints, window: int) -> tuple[npt.NDArray[np.float64], Ints, Ints]:
    """How likely events happen in this order and within the window, and from when to when."""
    times = events.times
    n, size = found.shape
    starts, ends, confidence = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    if not n:
        return confidence, starts, ends
    used = np.unique(found)
    width = int((times.upper[used] - times.lower[used]).max()) + 1
    least, most = np.zeros(size, np.int64), np.zeros(size, np.int64)
    here, there = np.zeros(width + 1), np.zeros(width + 1)
    again = (
        width if (window >= 0 and size > 3) or times.holes[used].any() else 1
    )  # passes for each first instant
    events.run(chains.confidences, n * size * width * again)(
        *(
            np.ascontiguousarray(found),
            window,
            times.lower,
            times.upper,
            times.place,
            times.mass,
            times.before,
        ),
        *(times.holes, starts, ends, confidence, least, most, here, there),
    )
    return confidence, starts, ends
