"""The choice of a plan, and its reasons.

What each plan can do is declared in `ENGINES`. `match` asks `choose` which one is to run, and `explain` prints
the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from augury.errors import QueryError
from augury.expr.printing import quoted
from augury.pattern import Pattern, Strategy
from augury.plan.costs import Estimates

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Engine:
    """What a plan can do."""

    plan: str
    how: str  # how it evaluates, as a clause
    merges: bool  # runs with one future become one
    shares: bool  # matches share a graph, so that not each needs to be listed
    generates: bool  # a kernel is generated for the query
    lazy: bool = False  # events wait, and matches are put together from their rarest one on
    kleene: bool = True  # it evaluates patterns with Kleene components
    strategies: tuple[Strategy, ...] = tuple(Strategy)
    baseline: str | None = None  # why it is there, if not to be chosen


LAZY_STRATEGIES = (Strategy.ANY, Strategy.NEXT)

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
        "lazy-chain",
        "events wait in a buffer for each component, and matches are put together in one order of components",
        merges=False,
        shares=False,
        generates=True,
        lazy=True,
        kleene=False,
        strategies=LAZY_STRATEGIES,
        baseline="no data was looked at",
    ),
    Engine(
        "lazy-tree",
        "events wait in a buffer for each component, and matches are put together from the rarest on, chosen anew for each",
        merges=False,
        shares=False,
        generates=True,
        lazy=True,
        kleene=False,
        strategies=LAZY_STRATEGIES,
        baseline="no data was looked at",
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
    "unshared": "sets of queries and CESAR expressions: each query by itself",
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


def chosen_by(estimates: Estimates, variables: Sequence[str]) -> Choice:
    """The plan that costs least on the data at hand."""
    costs = {"eager": estimates.eager, "lazy-chain": estimates.chain, "lazy-tree": estimates.tree}
    best = estimates.best
    rejected = {e.plan: e.baseline for e in ENGINES if e.baseline is not None and e.plan not in costs}

    def said(plan: str) -> str:
        cost = costs[plan]
        order = ""
        if plan == "lazy-chain":
            order = f"in the order {', '.join(quoted(variables[slot]) for slot in estimates.order)} "
        return f"{order}about {cost.time / 1e9:.2g} s and {cost.evaluations:.2g} tests"

    others = {plan: said(plan) for plan in costs if plan != best}
    return Choice(best, f"it is estimated to cost least: {said(best)}", {**others, **rejected})


def check_covered(pattern: Pattern, plan: str, order: Sequence[str] | None = None) -> None:
    """A plan that cannot evaluate a query says so, and names one that can."""
    if order is not None:
        _check_order(pattern, order)
    if plan == AUTO:
        return
    engine = choose(plan).engine
    many = next((c for c in pattern.positives if c.kleene), None)
    if many is not None and not engine.kleene:
        raise QueryError(
            f'plan="{plan}" evaluates sequences of single events, and {quoted(many.var)} is a Kleene variable',
            span=many.span,
            hint='plan="eager" evaluates every query, and "auto" takes it here',
        )
    if pattern.strategy not in engine.strategies:
        known = " and ".join(s.value for s in engine.strategies)
        raise QueryError(
            f'plan="{plan}" evaluates {known}, not {pattern.strategy.value}',
            span=pattern.strategy_span,
            hint='plan="eager" evaluates every query, and "auto" takes it here',
        )


def _check_order(pattern: Pattern, order: Sequence[str]) -> None:
    """An order names each positive variable once."""
    variables = [c.var for c in pattern.positives]
    if isinstance(order, str) or sorted(map(str, order)) != sorted(variables):
        shown = ", ".join(f'"{v}"' for v in variables)
        raise QueryError(
            f"order={order!r} does not name each variable once",
            hint=f"it is a list of all positive variables, the rarest first: some order of [{shown}]",
        )
