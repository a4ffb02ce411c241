"""Absences that no arc of the automaton tells: bounds on first events, and a filter on complete matches.

The events that could break an absence by themselves (their type, and the predicates on them alone) are found
once, as sorted kernel indices. Where nothing else is asked of one before or after a match, it only bounds the
match's first event; what asks more is tried: each candidate in a match's range, all pairs together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.engines.batch import Batch
from augury.expr.columns import Column, evaluate, from_arrow, truth
from augury.expr.physical import take
from augury.expr.tree import At, Attr, Expr
from augury.match.items import Run, Values
from augury.match.rows import Matches, Slot, taken
from augury.pattern import references
from augury.plan.split import over_event
from augury.resolve import Moment, Resolved

if TYPE_CHECKING:
    import pyarrow as pa

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Candidates = Callable[[int], Mask]
"""The rows that the negated component at a place means, as far as they tell by themselves."""

PAIRS = 1 << 20  # (match, candidate) pairs that are tried at once


@dataclass(frozen=True, slots=True)
class Absence:
    """One negated component: where it stands, and the events that are candidates."""

    var: str
    before: int  # how many positive components stand before it
    candidates: npt.NDArray[np.int64]  # kernel indices, ascending
    tests: tuple[tuple[Expr, tuple[tuple[str, At], ...]], ...]  # those that name positive variables too


def absences(
    plan_places: tuple[int, ...], query: Resolved, batch: Batch, candidates: Candidates
) -> list[Absence]:
    """The negated components that each complete match is asked about."""
    found = []
    for place in plan_places:
        c = query.pattern.components[place]
        tests = [
            (test.expr, test.forall)
            for test in query.tests_at(place, Moment.ABSENT)
            if not by_itself(test.expr, c.var)
        ]
        before = sum(not p.negated for p in query.pattern.components[:place])
        found.append(Absence(c.var, before, np.flatnonzero(candidates(place)[batch.order]), tuple(tests)))
    return found


def by_itself(expr: Expr, var: str) -> bool:
    """Whether a test asks nothing but the negated event."""
    return {v for v, _, _ in references(expr)} <= {var}


def candidates(
    place: int, query: Resolved, rows_of_type: Callable[[str], Mask], true: Callable[[Expr, Mask], Mask]
) -> Mask:
    """The rows that a negated component means, as far as they tell by themselves."""
    c = query.pattern.components[place]
    good = rows_of_type(c.type)
    for test in query.tests_at(place, Moment.ABSENT):
        if by_itself(test.expr, c.var):
            good = good & true(over_event(test.expr), good)
    return good


def below(places: tuple[int, ...], query: Resolved, batch: Batch, candidates: Candidates) -> Ints | None:
    """For each event as a last one: the first event of its matches must lie before this index.

    An absence before the first event: no candidate from the window's edge on may precede it. After the last
    one: the next candidate must be out of the window of the first. None where nothing is bounded.
    """
    if not places:
        return None
    n = len(batch)
    bound = np.full(n, n, np.int32)
    for place in places:
        events = np.flatnonzero(candidates(place)[batch.order])
        beyond = np.append(events, n)
        if place == 0 or all(c.negated for c in query.pattern.components[:place]):
            limit = beyond[np.searchsorted(events, batch.lows)] + 1
        else:
            limit = np.append(batch.lows, n)[beyond[np.searchsorted(events, np.arange(n), side="right")]]
        np.minimum(bound, limit, out=bound, casting="unsafe")
    return bound


def surviving(
    found: Matches, absent: Absence, table: pa.Table, query: Resolved, batch: Batch, run: Run
) -> Mask:
    """Which matches (positions are kernel indices) this absence leaves."""
    low, high = _range(found, absent, batch)
    first = np.searchsorted(absent.candidates, low)
    last = np.searchsorted(absent.candidates, high)
    good = np.ones(len(found), np.bool_)
    counts = np.maximum(last - first, 0)
    start = 0
    while start < len(found):
        end = int(np.searchsorted(np.cumsum(counts[start:]), PAIRS, side="right")) + start
        end = max(end, start + 1)
        match = np.repeat(np.arange(start, end), counts[start:end])
        offset = np.arange(len(match)) - np.repeat(
            np.cumsum(counts[start:end]) - counts[start:end], counts[start:end]
        )
        events = absent.candidates[np.repeat(first[start:end], counts[start:end]) + offset]
        broken = _broken(found, match, events, absent, table, query, batch, run)
        good[match[broken]] = False
        start = end
    return good


def _range(found: Matches, absent: Absence, batch: Batch) -> tuple[Any, Any]:
    """The kernel indices between which the absent event would stand, half-open."""
    if absent.before == 0:
        return batch.lows[found.last].astype(np.int64), found.first
    if absent.before == len(found.slots):
        # The first event that is out of the window of the match's first one.
        beyond = np.searchsorted(batch.lows, found.first, side="right")
        return found.last + 1, beyond
    return found.slots[absent.before - 1].last + 1, found.slots[absent.before].first


def _broken(
    found: Matches,
    match: npt.NDArray[np.int64],
    events: npt.NDArray[np.int64],
    absent: Absence,
    table: pa.Table,
    query: Resolved,
    batch: Batch,
    run: Run,
) -> Mask:
    """For pairs of a match and a candidate: whether all tests hold."""
    if not len(match):
        return np.zeros(0, np.bool_)
    chosen, place = np.unique(match, return_inverse=True)
    part = chosen_matches(found, chosen)
    values = Values(in_rows(part, batch), table, query, run)
    broken = np.ones(len(match), np.bool_)
    rows = batch.order[events]
    for expr, forall in absent.tests:
        pair = np.flatnonzero(broken)  # a test is asked where those before it hold
        at: dict[str, npt.NDArray[np.int64]] = {}
        for var, _ in forall:
            slot = part.slots[[c.var for c in query.pattern.positives].index(var)]
            assert slot.offsets is not None
            starts, lengths = slot.offsets[:-1].astype(np.int64), np.diff(slot.offsets).astype(np.int64)
            of = place[pair]
            reps = lengths[of]
            inner = np.arange(reps.sum()) - np.repeat(np.cumsum(reps) - reps, reps)
            at = {v: np.repeat(p, reps) for v, p in at.items()}
            at[var] = np.repeat(starts[of], reps) + inner
            pair = np.repeat(pair, reps)

        def leaf(node: Any, pair: Any = pair, at: Any = at) -> Column:
            if isinstance(node, Attr) and node.var == absent.var:
                return from_arrow(taken(table.column(node.name), rows[pair]), query.columns.types[node.name])
            if isinstance(node, Attr) and node.var in at and node.at is At.EACH:
                slot = values.slots[node.var]
                return take(values.column(node.name, slot.rows, (node.var, At.EACH)), at[node.var])
            return take(values.of_match(node), place[pair])

        true = truth(evaluate(expr, leaf, len(pair)))
        every = np.ones(len(match), np.bool_)
        every[pair[~true]] = False
        broken &= every
    return broken


def chosen_matches(found: Matches, chosen: Any) -> Matches:
    """Some of the matches, by number or by mask."""
    if getattr(chosen, "dtype", None) == np.bool_:
        chosen = np.flatnonzero(chosen)
    slots = []
    for slot in found.slots:
        if slot.offsets is None:
            slots.append(Slot(slot.rows[chosen]))
            continue
        starts, lengths = (
            slot.offsets[:-1].astype(np.int64)[chosen],
            np.diff(slot.offsets).astype(np.int64)[chosen],
        )
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = slot.rows[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
        slots.append(Slot(rows, offsets.astype(np.int32)))
    return Matches(tuple(slots))


def in_rows(found: Matches, batch: Batch) -> Matches:
    """Matches over kernel indices as matches over the table's rows."""
    return Matches(tuple(Slot(batch.order[s.rows], s.offsets) for s in found.slots))
