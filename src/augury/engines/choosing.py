"""Eager or lazy: what each would cost on the events at hand.

A query is asked about only where the answer is open: a sequence of single events under skip_till_any whose runs must
remember something. Everything else the eager plan evaluates with a few runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from augury.engines.estimate import statistics
from augury.engines.events import Events
from augury.engines.passes import Outline, Plan
from augury.expr.functions import calls_python
from augury.pattern import Strategy
from augury.plan.costs import Estimates, estimated
from augury.plan.joins import Equality, Joins, equalities, joins_of

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 2000  # events for which no question is worth asking


@dataclass(frozen=True, slots=True)
class Sequence:
    """A plan as a sequence of slots that may be bound in any order."""

    plan: Plan  # its columns are those of the joins
    joins: Joins
    equal: tuple[Equality, ...]
    variables: tuple[str, ...]


def sequence_of(plan: Plan) -> Sequence:
    """What decides about a plan's matches, by slots."""
    joins = joins_of(plan.automaton, plan.split)
    equal = tuple(equalities(joins.tests, plan.automaton))
    extended = replace(plan, split=replace(plan.split, columns=joins.columns))
    return Sequence(extended, joins, equal, tuple(c.var for c in plan.automaton.components))


def is_open(outline: Outline, strategy: Strategy) -> bool:
    """Whether it depends on the data which plan is the best."""
    components = outline.automaton.components
    if strategy is not Strategy.ANY or len(components) < 2 or any(c.kleene for c in components):
        return False
    tests = [expr for guard in outline.split.guards for expr in guard.dynamic]
    return any(outline.registers.live) and not any(map(calls_python, tests))


def estimates_of(events: Events, made: Sequence, output: str) -> Estimates:
    """What each plan would cost on these events."""
    registers = made.plan.registers
    places = {var: slot for slot, var in enumerate(made.variables)}
    return estimated(
        statistics(events, made.joins.tests, made.variables),
        made.joins.tests,
        made.equal,
        [frozenset(places[r.var] for r in live) for live in registers.live],
        output,
        [frozenset(r.column for r in live) for live in registers.live],
    )


def surveyed(plan: Plan, table: pa.Table, output: str, *, fast: bool | None) -> tuple[Events, Estimates]:
    """Events, and what each plan would cost on them."""
    made = sequence_of(plan)
    events = Events(made.plan, table, fast=fast)
    return events, estimates_of(events, made, output)
