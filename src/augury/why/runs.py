"""How far runs came: for each first event the run that got furthest, and what ended it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from augury.errors import LimitError
from augury.explain.words import series
from augury.expr.printing import quoted
from augury.resolve import Moment
from augury.semantics import sase
from augury.semantics.sase import Bound, Run, Stream
from augury.why.rules import Broken, failing, not_bound, passed_over, present, too_late

RUNS = 300  # of one first event that are followed side by side: those that came furthest
BEYOND = 200  # events after the window that are looked at
STEPS = 400_000  # of all runs


@dataclass(frozen=True, slots=True)
class Miss:
    """A run that became no match: what it had bound, and the rule that ended it."""

    bound: Bound
    why: Broken
    more: int = 0  # other rules that the event at hand broke

    @property
    def events(self) -> tuple[int, ...]:
        return tuple(row for rows in self.bound for row in rows)


class Steps:
    """What may be spent."""

    def __init__(self, most: int = STEPS) -> None:
        self.left = most

    def take(self, many: int) -> None:
        self.left -= many
        if self.left < 0:
            raise LimitError("too many runs to follow them all")


def furthest(stream: Stream, first: int, steps: Steps) -> Miss | None:
    """What became of the runs that begin with an event; None where it begins none."""
    begun = sase.begin(stream, (), first)
    if begun is None:
        return None
    best: Run = sase.entered(stream, begun)
    killed: int | None = None
    refused = best.bound if sase.is_complete(stream, best) else None
    runs = _open(stream, [best])
    for row in stream.rows:
        if row <= first:
            continue
        if not sase.in_window(stream, first, row) or not runs:
            break
        steps.take(len(runs) * 4)
        stepped: list[Run] = []
        for run in runs:
            after = list(sase.step(stream, run, row))
            if not after and _progress(run) >= _progress(best):
                best, killed = run, row
            stepped += after
        for run in stepped:
            if run.bound[-1][-1] == row and sase.is_complete(stream, run):
                refused = refused or run.bound
            if _progress(run) > _progress(best):
                best, killed = run, None
        runs = _open(stream, stepped)
        if len(runs) > RUNS:
            runs = sorted(runs, key=_progress, reverse=True)[:RUNS]
    if refused is not None:
        forbids = next(present(stream, refused), None)
        return None if forbids is None else Miss(refused, forbids)
    return ended(stream, best, killed)


def _open(stream: Stream, runs: list[Run]) -> list[Run]:
    return [r for r in runs if r.inside or r.at < len(stream.query.pattern.positives)]


def _progress(run: Run) -> tuple[int, int]:
    return len(run.bound), sum(map(len, run.bound))


def ended(stream: Stream, run: Run, killed: int | None) -> Miss:
    """The rule that kept a run from binding its next component, at the event that came closest."""
    positives, bound = stream.query.pattern.positives, run.bound
    if len(bound) == len(positives):
        return Miss(bound, next(failing(stream, bound, Moment.LEAVE, bound[-1][-1])))
    tried: list[tuple[int, int, Broken]] = []
    for row, broken in _tried(stream, bound, killed):
        tried.append((len(broken), row, broken[0]))
        if len(broken) == 1:
            break
    c = positives[len(bound)]
    if tried:
        many, _, why = min(tried, key=lambda t: t[:2])
        return Miss(bound, why, many - 1)
    if killed is not None:
        said = next(passed_over(stream, bound, killed + 1)).said
        return Miss(bound, Broken("strategy", f"{said}, and {series(c)} cannot begin with it", killed))
    within = stream.query.pattern.within
    until = "before the events end" if within is None else f"after these, WITHIN {within}"
    return Miss(bound, Broken("end", f"no {quoted(c.type)} comes for {series(c)} {until}"))


def _tried(stream: Stream, bound: Bound, killed: int | None) -> Iterator[tuple[int, list[Broken]]]:
    """The events of the next component's type, and what kept each from being bound."""
    first, last = bound[0][0], bound[-1][-1]
    c = stream.query.pattern.positives[len(bound)]
    beyond = 0
    for row in stream.rows:
        if row <= last or not sase.is_type(stream, row, c):
            continue
        if killed is not None and row > killed:
            return
        late = not sase.in_window(stream, first, row)
        beyond += late
        if beyond > BEYOND:
            return
        broken: list[Broken] = []
        if stream.query.pattern.positives[len(bound) - 1].kleene:
            broken += failing(stream, bound, Moment.LEAVE, row)
        broken += not_bound(stream, (*bound, (row,)), Moment.BEGIN)
        if late:
            broken.append(too_late(stream, first, row))
        broken += passed_over(stream, bound, row)
        if broken:
            yield row, broken


def never_begun(stream: Stream) -> Miss | None:
    """Where nothing begins a run: the event that came closest to it."""
    c = stream.query.pattern.positives[0]
    tried = []
    for row in stream.rows:
        if sase.is_type(stream, row, c):
            broken = list(not_bound(stream, ((row,),), Moment.BEGIN))
            if not broken:
                return None
            tried.append((len(broken), row, broken[0]))
    if not tried:
        return Miss((), Broken("end", f"there is no {quoted(c.type)} event for {series(c)}"))
    many, _, why = min(tried, key=lambda t: t[:2])
    return Miss((), why, many - 1)
