"""What evaluating a sequence would cost, by plan: estimated from counts and sampled selectivities.

Times are nanoseconds of one core, for compiled kernels; what counts is their proportion. The model is coarse on purpose.
It assumes that events of a component are spread evenly over a stretch, that tests are independent but for what is
concluded from others, and that every run has registers of its own unless values repeat. `explain` shows what it made of
the data, `profile` what became true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from augury.plan.joins import Equality, Join

# Measured on a stream of three types, prices rising by 0.4, 500 events in the window (1 M events, one core).
EVENT = 38.0  # an event of the eager plan
BUFFERED = 30.0  # an event of a lazy plan
INDEXED = 10.0  # … for each index over values
ANCHOR = 60.0  # an event with which matches are begun
PARTIAL = 30.0  # a partial match: the scopes of what it may bind next
TRIED = 1.0  # a candidate in a list
TEST = 0.5  # … and each test that it is asked
RUN = 0.6  # a run that is asked by an event
COUNTED_RUN = 1.3  # … where it carries counts
NODE = 3.5  # a run that binds one and waits for more
MERGE = 0.7  # … for each run that it may have become equal to
ROW = 5.0  # … where runs are merged and counted, for each first event that they may have
LISTED = 10.0  # an event of a match that is read out of the graph
WRITTEN = 2.5  # … that a lazy plan writes down
CHOSEN = 60.0  # … of a match out of which an output is made, which the eager plan need not list
TREE = 1.15  # the tree's cost for a stretch, where a chain with the same order has 1

FEW_SLOTS = 5  # up to which all orders are compared; beyond, each next slot is the cheapest
MANY_SLOTS = 8  # beyond which they are ordered by their counts


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the data."""

    events: int
    reach: float  # how many events of its partition a window holds before an event, on the average
    counts: tuple[tuple[float, ...], ...]  # by stretch of the stream and slot: how many candidates there are
    sizes: tuple[int, ...]  # by stretch: how many events it has
    selectivity: tuple[float, ...]  # by join: the share of pairs in a window for which it holds
    joint: float  # … of tuples in a window for which all hold
    weight: tuple[float, ...]  # by join: what asking it costs, in comparisons of two numbers
    distinct: tuple[float, ...]  # by column: how many values it has

    @property
    def totals(self) -> tuple[float, ...]:
        """By slot: all its candidates."""
        return tuple(map(sum, zip(*self.counts, strict=True)))


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate."""

    time: float = 0.0  # nanoseconds
    evaluations: float = 0.0
    matches: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.time + other.time, self.evaluations + other.evaluations, self.matches + other.matches
        )


@dataclass(frozen=True, slots=True)
class Estimates:
    """The plans' costs, and the orders that a chain and the tree would take."""

    eager: Cost
    chain: Cost
    order: tuple[int, ...]
    tree: Cost
    statistics: Statistics

    @property
    def best(self) -> str:
        found = {"eager": self.eager, "lazy-chain": self.chain, "lazy-tree": self.tree}
        return min(found, key=lambda plan: found[plan].time)


def estimated(
    known: Statistics,
    joins: Sequence[Join],
    equal: Sequence[Equality],
    live: Sequence[frozenset[int]],
    output: str,
    columns: Sequence[frozenset[int]],
) -> Estimates:
    """All plans' costs. `live` and `columns`: by state of the automaton, the slots and columns that its runs remember."""
    slots = len(known.counts[0])
    stretches = range(len(known.counts))
    by_order = {
        order: [_chain(order, s, known, joins, equal, output) for s in stretches]
        for order in _orders(slots, known, joins, equal, output)
    }
    whole = {order: sum(costs, Cost()) for order, costs in by_order.items()}
    order = min(whole, key=lambda o: whole[o].time)
    tree = Cost()
    for s in stretches:
        best = min((costs[s] for costs in by_order.values()), key=lambda c: c.time)
        tree += Cost(best.time * TREE, best.evaluations, best.matches)
    eager = Cost()
    for s in stretches:
        eager += _eager(s, known, joins, live, columns, whole[order].matches / len(known.counts), output)
    return Estimates(eager, whole[order], order, tree, known)


def _orders(
    slots: int, known: Statistics, joins: Sequence[Join], equal: Sequence[Equality], output: str
) -> Iterator[tuple[int, ...]]:
    """The orders that are compared."""
    if slots <= FEW_SLOTS:
        yield from permutations(range(slots))
        return
    if slots > MANY_SLOTS:
        yield tuple(sorted(range(slots), key=lambda s: (known.totals[s], s)))
        return
    for anchor in range(slots):
        order: tuple[int, ...] = (anchor,)
        while len(order) < slots:
            rest = [s for s in range(slots) if s not in order]
            order = min(
                ((*order, s) for s in rest), key=lambda o: _chain(o, None, known, joins, equal, output).time
            )
        yield order


def _chain(
    order: tuple[int, ...],
    stretch: int | None,
    known: Statistics,
    joins: Sequence[Join],
    equal: Sequence[Equality],
    output: str,
) -> Cost:
    """A chain's cost for a stretch of the stream, or for all of it."""
    counts = known.totals if stretch is None else known.counts[stretch]
    size = known.events if stretch is None else known.sizes[stretch]
    density = [c / max(1, size) for c in counts]
    partial = counts[order[0]]
    indexes = sum(order.index(e.other) < order.index(e.slot) for e in equal)
    time = size * (BUFFERED + INDEXED * indexes) + partial * ANCHOR
    evaluations = 0.0
    tuples = partial  # of candidates in order and in one window, whatever tests say
    concluded: dict[int, float] = {}  # what has been taken off for tests that are still to come
    for depth in range(1, len(order)):
        slot, bound = order[depth], frozenset(order[:depth])
        tried = partial * density[slot] * known.reach / depth
        tuples *= density[slot] * known.reach / depth
        asked = [k for k, join in enumerate(joins) if join.decided(slot, bound)]
        found = [e.join for e in equal if e.slot == slot and e.other in bound]
        if found:
            tried *= known.selectivity[found[0]]
        weight = sum(known.weight[k] for k in asked)
        evaluations += tried * len(asked)
        time += partial * PARTIAL + tried * (TRIED + TEST * weight)
        passed = tried
        for k in asked:
            if found and k == found[0]:
                continue
            passed *= known.selectivity[k]
            if joins[k].via:
                concluded[k] = known.selectivity[k]
        for k in [k for k in concluded if joins[k].via <= bound | {slot}]:
            passed /= concluded.pop(k)  # the tests that it was concluded from are asked by now
        partial = min(passed, tried)
    partial = min(partial, tuples * known.joint)
    if output != "count":
        time += partial * len(order) * (WRITTEN if output == "all" else CHOSEN)
    return Cost(time, evaluations, partial)


def _runs(
    state: int,
    density: Sequence[float],
    known: Statistics,
    joins: Sequence[Join],
    live: Sequence[frozenset[int]],
    columns: Sequence[frozenset[int]],
) -> tuple[float, bool]:
    """How many runs wait in a state, and whether there are fewer than what they remember could tell apart."""
    if not live[state]:
        return 1.0, False
    runs, values = 1.0, 1.0
    for number, slot in enumerate(sorted(live[state]), 1):
        runs *= known.reach * density[slot] / number
    for k, join in enumerate(joins):
        if not join.via and join.slots <= live[state]:
            runs *= known.selectivity[k]
    for c in columns[state]:
        values *= known.distinct[c]
    return min(runs, values), values < runs


def _eager(
    stretch: int,
    known: Statistics,
    joins: Sequence[Join],
    live: Sequence[frozenset[int]],
    columns: Sequence[frozenset[int]],
    matches: float,
    output: str,
) -> Cost:
    """The eager plan's cost: every candidate asks all runs that wait for it."""
    counts, size = known.counts[stretch], known.sizes[stretch]
    density = [c / max(1, size) for c in counts]
    slots = len(counts)
    counted = output == "count"
    time, evaluations = size * EVENT, 0.0
    runs = [_runs(state, density, known, joins, live, columns) for state in range(slots)]
    for slot in range(1, slots):
        asked = [k for k, j in enumerate(joins) if not j.via and slot in j.slots and max(j.slots) == slot]
        tried = counts[slot] * runs[slot][0]
        passed = tried
        for k in asked:
            passed *= known.selectivity[k]
        weight = sum(known.weight[k] for k in asked)
        evaluations += tried * len(asked)
        time += tried * ((COUNTED_RUN if counted else RUN) + TEST * weight)
        time += passed * NODE * (slot + 1 < slots)
        if slot + 1 < slots and live[slot + 1] and slot not in live[slot + 1]:
            time += passed * MERGE * runs[slot + 1][0]  # not told apart by the event that they bind
        if counted and runs[slot][1]:
            time += passed * ROW * known.reach * density[0]
    if output == "all":
        time += matches * slots * LISTED
    return Cost(time, evaluations, matches)
