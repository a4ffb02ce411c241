"""What the data is like, as far as the cost of a sequence's plans depends on it: counts by stretch, and samples.

The samples are drawn with a fixed seed: the same data gives the same plan on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines.events import Events
from augury.expr.columns import evaluate, truth
from augury.expr.functions import calls_python
from augury.expr.physical import take
from augury.expr.tree import Attr, Call, walk
from augury.plan.costs import Statistics
from augury.plan.joins import Join

STRETCHES = 8  # parts of the stream whose counts are told apart
PAIRS = 300  # in a sample
UNKNOWN = 0.5  # the share of pairs for which a test holds that is not sampled
CALL = 10.0  # a call, in comparisons of two numbers


def statistics(events: Events, joins: Sequence[Join], variables: Sequence[str]) -> Statistics:
    """Counts of candidates by stretch, and what samples of pairs and values say."""
    batch = events.batch
    n = len(batch)
    stretches = max(1, min(STRETCHES, n // 256))
    bounds = np.linspace(0, n, stretches + 1).astype(np.int64)
    masks = events.begins_of
    counts = tuple(
        tuple(float(np.count_nonzero(mask[a:b])) for mask in masks) for a, b in itertools.pairwise(bounds)
    )
    reach = float((np.arange(n) - batch.lows).mean()) if n else 0.0
    rng = np.random.default_rng(0)
    rows = batch.order[rng.integers(0, n, min(n, 4 * PAIRS))] if n else batch.order
    return Statistics(
        n,
        reach,
        counts,
        tuple(int(s) for s in np.diff(bounds)),
        selectivities(events, joins, variables),
        _Sampler(events, variables, rng).joint([join for join in joins if not join.via]),
        tuple(_weight(join, events) for join in joins),
        tuple(_distinct(events, k, rows, n) for k in range(len(events.plan.split.columns))),
    )


def selectivities(events: Events, joins: Sequence[Join], variables: Sequence[str]) -> tuple[float, ...]:
    """For each test the share of pairs for which it holds."""
    sampler = _Sampler(events, variables, np.random.default_rng(1))
    return tuple(sampler.share(join) for join in joins)


class _Sampler:
    """Pairs of candidates that are in one window, and in the pattern's order."""

    def __init__(self, events: Events, variables: Sequence[str], rng: np.random.Generator) -> None:
        self.events = events
        self.variables = list(variables)
        self.rng = rng
        self.found: dict[int, npt.NDArray[np.int64]] = {}

    def candidates(self, slot: int) -> npt.NDArray[np.int64]:
        if slot not in self.found:
            self.found[slot] = np.flatnonzero(self.events.begins_of[slot])
        return self.found[slot]

    def share(self, join: Join) -> float:
        """For which share of the pairs a test holds, a little away from none and from all."""
        if len(join.slots) != 2 or calls_python(join.expr):
            return UNKNOWN
        early, late = sorted(join.slots)
        ends, starts = self.candidates(late), self.candidates(early)
        if not len(ends) or not len(starts):
            return UNKNOWN
        last = ends[self.rng.integers(0, len(ends), 2 * PAIRS)]
        low = np.searchsorted(starts, self.events.batch.lows[last])
        high = np.searchsorted(starts, last)
        some = low < high
        last, low, high = last[some][:PAIRS], low[some][:PAIRS], high[some][:PAIRS]
        if not len(last):
            return UNKNOWN
        first = starts[low + (self.rng.random(len(low)) * (high - low)).astype(np.int64)]
        rows = {slot: self.events.batch.order[at] for slot, at in ((early, first), (late, last))}

        def leaf(node: Any) -> Any:
            return take(self.events.derived(node.name), rows[self.variables.index(node.var)])

        holds = int(truth(evaluate(join.expr, leaf, len(last))).sum())
        return (holds + 0.5) / (len(last) + 1)

    def joint(self, joins: Sequence[Join]) -> float:
        """For which share of the tuples all tests hold."""
        if any(calls_python(join.expr) for join in joins):
            return 1.0
        slots = len(self.variables)
        order = self.events.batch.order
        at = self.candidates(slots - 1)
        if not len(at):
            return 1.0
        at = at[self.rng.integers(0, len(at), 8 * PAIRS)]
        low = self.events.batch.lows[at]
        found = {slots - 1: at}
        for slot in range(slots - 2, -1, -1):  # each before the one behind it, in what is left of the window
            those = self.candidates(slot)
            first, last = np.searchsorted(those, low), np.searchsorted(those, at)
            some = first < last
            found = {s: a[some] for s, a in found.items()}
            low, first, last = low[some], first[some], last[some]
            if not len(low):
                return 1.0
            # Of a uniform tuple the latest of k earlier events lies near the end: the k-th root of a uniform number.
            place = self.rng.random(len(low)) ** (1 / (slot + 1))
            at = those[first + (place * (last - first)).astype(np.int64)]
            found[slot] = at
        holds = np.ones(len(low), np.bool_)

        def leaf(node: Any) -> Any:
            return take(self.events.derived(node.name), order[found[self.variables.index(node.var)]])

        for join in joins:
            holds &= truth(evaluate(join.expr, leaf, len(low)))
        return float(holds.sum() + 0.5) / (len(low) + 1)


def _weight(join: Join, events: Events) -> float:
    """What asking a test costs."""
    calls = sum(isinstance(node, Call) for node in walk(join.expr))
    lists = 0.0
    for node in walk(join.expr):
        if isinstance(node, Attr):
            values = events.derived(node.name).values
            offsets = getattr(values, "offsets", None)
            if offsets is not None and len(offsets) > 1:
                lists += float(offsets[-1] - offsets[0]) / (len(offsets) - 1)
    return 1.0 + CALL * calls + 3.0 * lists


def _distinct(events: Events, column: int, rows: npt.NDArray[np.int64], n: int) -> float:
    """About how many values a column has: those of a sample, if they repeat in it."""
    values = events.derived(str(column)).values
    if not isinstance(values, np.ndarray) or not len(rows) or values.dtype.kind not in "biuf":
        return float(n)
    many = len(np.unique(values[rows]))
    return float(n) if many > len(rows) / 2 else float(many)
