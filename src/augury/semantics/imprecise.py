"""The definition for imprecise timestamps: possible worlds, with exact fractions.

    worlds ─ in each the matches ─> by signature: the range of its point matches, the probability of its worlds

`by_worlds` is the definition as it stands: every world of a key's events, one after another. There are as many as
the product of all intervals, so beside it stands `by_points`: for one point match the other events are independent,
and the probability that none spoils it is a product over them. Tests hold the two to be equal, and judge every
engine by the second.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from augury.expr.columns import physical_values
from augury.pattern import Strategy
from augury.resolve import Resolved
from augury.semantics.sase import Bound, Stream, begin, streams
from augury.uncertain import SAME, Imprecise

if TYPE_CHECKING:
    import pyarrow as pa

Signature = tuple[int, ...]
"""The rows of a match's events, in the pattern's order."""

Point = tuple[int, ...]
"""The instants of a match's events."""

Chances = dict[int, dict[int, Fraction]]
"""By row: each possible instant, and its probability."""


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the result."""

    signature: Signature
    start: int
    end: int
    confidence: Fraction


def chances(table: pa.Table, query: Resolved, of: Imprecise) -> Chances:
    """When each row's event can have happened. The rows are good ones: every interval and every pmf makes sense."""
    lower, upper = (
        physical_values(table.column(name), query.columns.types[name]) for name in (of.lower, of.upper)
    )
    given: list[Any] = [None] * table.num_rows
    if of.pmf is not None:
        given = physical_values(table.column(of.pmf), query.columns.types[of.pmf])
    found: Chances = {}
    for row, pmf in enumerate(given):
        instants = range(lower[row], upper[row] + 1)
        if pmf is None:
            found[row] = dict.fromkeys(instants, Fraction(1, len(instants)))
            continue
        weights = [Fraction(w) for w in pmf]
        total = sum(weights)
        found[row] = {t: w / total for t, w in zip(instants, weights, strict=True) if w}
    return found


def rows(table: pa.Table, query: Resolved, of: Imprecise) -> list[Found]:
    """The result: the rows of all keys with enough confidence, of each key the most confident ones."""
    when = chances(table, query, of)
    result: list[Found] = []
    for stream in streams(table, query):
        found = [f for f in by_points(stream, when) if enough(f.confidence, of.min_confidence)]
        result.extend(top(found, of.top))
    return result


def enough(confidence: Fraction, least: float) -> bool:
    return confidence >= Fraction(least) - Fraction(SAME)


def top(found: list[Found], k: int | None) -> list[Found]:
    """The k most confident; of equals those whose signature comes first. Rows are numbered in stream order."""
    return sorted(found, key=lambda f: (-f.confidence, f.signature))[:k]


# ------------------------------------------------------------------ world by world


def by_worlds(stream: Stream, when: Chances) -> list[Found]:
    """The definition: every world, and the matches in it."""
    begins = Begins(stream)
    points: dict[Signature, list[tuple[Point, Fraction]]] = {}
    for instants, probability in worlds(stream, when):
        for signature in matches_in(stream, instants, begins):
            point = tuple(instants[row] for row in signature)
            points.setdefault(signature, []).append((point, probability))
    return [collapsed(signature, found) for signature, found in points.items()]


def worlds(stream: Stream, when: Chances) -> Iterator[tuple[dict[int, int], Fraction]]:
    """An instant for each event, and how likely they are together."""
    for chosen in itertools.product(*(when[row].items() for row in stream.rows)):
        probability = Fraction(1)
        for _, p in chosen:
            probability *= p
        yield dict(zip(stream.rows, (t for t, _ in chosen), strict=True)), probability


def matches_in(stream: Stream, instants: dict[int, int], begins: Begins) -> list[Signature]:
    """The matches of one world."""
    found: list[Signature] = [()]
    for place in range(len(stream.query.pattern.positives)):
        found = [
            (*prefix, row)
            for prefix in found
            for row in begins(prefix)
            if not place or instants[prefix[-1]] < instants[row]
            if not spoiled_in(stream, (*prefix, row), instants, begins)
        ]
    return [s for s in found if fits(stream, instants[s[0]], instants[s[-1]])]


def spoiled_in(stream: Stream, signature: Signature, instants: dict[int, int], begins: Begins) -> bool:
    """Whether under skip_till_next another event stands where the last one was to be the next."""
    if stream.query.pattern.strategy is not Strategy.NEXT or len(signature) == 1:
        return False
    *prefix, last = signature
    return any(
        instants[prefix[-1]] < instants[other] < instants[last]
        for other in begins(tuple(prefix))
        if other != last
    )


def fits(stream: Stream, first: int, last: int) -> bool:
    window = stream.query.window
    return window is None or last - first < window


class Begins:
    """For each beginning of a match the events that could be next, whenever they happen."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.known: dict[Signature, list[int]] = {}

    def __call__(self, prefix: Signature) -> list[int]:
        if prefix not in self.known:
            bound: Bound = tuple((row,) for row in prefix)
            self.known[prefix] = [
                row
                for row in self.stream.rows
                if row not in prefix and begin(self.stream, bound, row) is not None
            ]
        return self.known[prefix]


def collapsed(signature: Signature, points: list[tuple[Point, Fraction]]) -> Found:
    """The point matches of a signature as one row."""
    starts, ends = [p[0] for p, _ in points], [p[-1] for p, _ in points]
    return Found(signature, min(starts), max(ends), sum((c for _, c in points), Fraction()))


# ------------------------------------------------------------------ point match by point match


def by_points(stream: Stream, when: Chances) -> list[Found]:
    """The same, from the point matches alone."""
    points: dict[Signature, list[tuple[Point, Fraction]]] = {}
    for signature, point, probability in point_matches(stream, when):
        points.setdefault(signature, []).append((point, probability))
    return [collapsed(signature, found) for signature, found in points.items()]


def point_matches(
    stream: Stream, when: Chances, only: Callable[[Signature], bool] = lambda _: True
) -> Iterator[tuple[Signature, Point, Fraction]]:
    """Every point match and its probability: that its events are there, and that no other spoils it."""
    begins = Begins(stream)

    def extended(prefix: Signature, point: Point, p: Fraction) -> Iterator[tuple[Signature, Point, Fraction]]:
        if len(prefix) == len(stream.query.pattern.positives):
            yield prefix, point, p
            return
        for row in begins(prefix):
            if not only((*prefix, row)):
                continue
            for t, chance in when[row].items():
                if not point or (point[-1] < t and fits(stream, point[0], t)):
                    yield from extended((*prefix, row), (*point, t), p * chance)

    for signature, point, p in extended((), (), Fraction(1)):
        if stream.query.pattern.strategy is Strategy.NEXT:
            p *= unspoiled(stream, signature, point, when, begins)  # noqa: PLW2901
        if p:
            yield signature, point, p


def unspoiled(stream: Stream, signature: Signature, point: Point, when: Chances, begins: Begins) -> Fraction:
    """The probability that no other event happens where it would have been the next one."""
    p = Fraction(1)
    for row in stream.rows:
        if row in signature:
            continue
        gaps = [j for j in range(1, len(point)) if row in begins(signature[:j])]
        p *= sum(
            (chance for t, chance in when[row].items() if not any(point[j - 1] < t < point[j] for j in gaps)),
            Fraction(),
        )
    return p
