"""The choice of a plan, and its reasons.

What each plan can do is declared in `ENGINES`. `match` asks `choose` which one is to run, and `explain` prints
the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from augury.errors import QueryError

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Engine:
    """What a plan can do."""

    plan: str
    how: str  # how it evaluates, as a clause
    merges: bool  # runs with one future become one
    shares: bool  # matches share a graph, so that not each needs to be listed
    generates: bool  # a kernel is generated for the query
    baseline: str | None = None  # why it is there, if not to be chosen


ENGINES = (
    Engine(
        "eager",
        "all runs step together, event by event, and those with one future are merged",
        merges=True,
        shares=True,
        generates=True,
    ),
    Engine(
        "eager-unmerged",
        "all runs step together, event by event, each by itself",
        merges=False,
        shares=True,
        generates=True,
        baseline="it merges no runs; it is there to measure what merging gains",
    ),
    Engine(
        "backtrack",
        "one run is followed at a time, and events are read again for each",
        merges=False,
        shares=False,
        generates=True,
        baseline="it reads events again for each run; it is there to compare with",
    ),
    Engine(
        "definition",
        "plain Python tries every candidate, as the definition says",
        merges=False,
        shares=False,
        generates=False,
        baseline="it is plain Python without a fast path; it is there to judge the others",
    ),
)

# Of queries over imprecise times.
UNCERTAIN = (
    Engine(
        "sorted",
        "slot after slot in the pattern's order, each from its own buffer",
        merges=False,
        shares=False,
        generates=False,
    ),
    Engine(
        "selective",
        "slot after slot, the rarest first",
        merges=False,
        shares=False,
        generates=False,
    ),
    Engine(
        "any_state",
        "events as they come; a run begins at any component and binds any other",
        merges=False,
        shares=False,
        generates=False,
        baseline="it holds runs without a beginning; it is there to compare with",
    ),
    Engine(
        "point",
        "every event is expanded to its points, and point matches are collapsed",
        merges=False,
        shares=False,
        generates=False,
        baseline="it lists point matches; it is there to compare with",
    ),
)

# Plans of other languages, and what they are for.
ELSEWHERE = {
    **{e.plan: f"imprecise times, time=(lower, upper): {e.how}" for e in UNCERTAIN},
    "can": "automata: each subsequence's configurations are embedded in one run",
    "restart": "automata in a matcher: what is kept is computed anew when an arc changes",
}

PLANS = (AUTO, *(e.plan for e in ENGINES), *ELSEWHERE)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which plan is to run, why, and why none of the others."""

    plan: str
    because: str
    rejected: Mapping[str, str] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        return engine_of(self.plan)


def engine_of(plan: str) -> Engine:
    """What is declared of a plan."""
    return next(e for e in ENGINES if e.plan == plan)


def choose(plan: str = AUTO) -> Choice:
    """The plan that a call of `match` runs, of those that can do what was asked."""
    if plan in ELSEWHERE:
        raise QueryError(f'plan="{plan}" is for {ELSEWHERE[plan]}', hint='use plan="auto", or "eager"')
    if plan != AUTO:
        return Choice(plan, f'plan="{plan}" was asked for')
    chosen = next(e for e in ENGINES if e.baseline is None)
    rejected = {e.plan: e.baseline for e in ENGINES if e.baseline is not None}
    return Choice(chosen.plan, chosen.how, rejected)
