"""What a run remembers: registers, and the states in which they can still matter.

A backward data-flow pass. A register is live in a state if a test on a way from there reads it before the
event that sets it. Runs in one state that agree in their live registers have one future, so they are merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from augury.automaton import Action, Automaton
from augury.expr.tree import Agg, At, Attr, Expr, Len, children, typed
from augury.expr.types import INT, Type
from augury.pattern import Part
from augury.plan.split import Guard, Split


class Holds(Enum):
    """What of a variable's events a register holds."""

    FIRST = "first"
    LAST = "last"
    LEN = "len"
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Register:
    holds: Holds
    var: str
    column: int  # the derived column it is made of; -1 for LEN
    type: Type

    def __str__(self) -> str:
        return f"{self.var}.LEN" if self.column < 0 else f"{self.holds.value}({self.var} #{self.column})"


@dataclass(frozen=True, slots=True)
class Registers:
    """By state: the live registers, in a fixed order, and whether its runs are merged."""

    live: tuple[tuple[Register, ...], ...]
    merged: tuple[bool, ...]

    def is_single(self, state: int) -> bool:
        """Whether the state has at most one run: its runs are merged, and nothing tells them apart."""
        return self.merged[state] and not self.live[state]


def register_of(node: Expr) -> Register | None:
    """The register that a reference of a split expression reads; None if it reads the event or walks."""
    match node:
        case Attr(var=var, at=At.FIRST, name=name) if var:
            return Register(Holds.FIRST, var, int(name), typed(node))
        case Attr(var=var, at=At.LAST, name=name):
            return Register(Holds.LAST, var, int(name), typed(node))
        case Len(var=var):
            return Register(Holds.LEN, var, -1, INT)
        case Agg(fn=fn, var=var, over=At.EACH, arg=Attr(name=name)):
            return Register(Holds(fn), var, int(name), typed(node))
    return None


def registers_of(guard: Guard) -> set[Register]:
    exprs: Iterable[Expr] = (*guard.dynamic, *(e for e, _ in guard.history))
    return {r for e in exprs for r in _read(e)}


def _read(expr: Expr) -> set[Register]:
    found = register_of(expr)
    if found is not None:
        return {found}
    if isinstance(expr, Agg):
        return set()
    return {r for child in children(expr) for r in _read(child)}


def readers_of(split: Split) -> dict[Register, tuple[Part, ...]]:
    """Which parts of the pattern each register is there for."""
    found: dict[Register, dict[Part, None]] = {}
    for guard in (*split.guards, *split.leaves, split.accept):
        tests = (*guard.dynamic, *(e for e, _ in guard.history))
        for expr, origin in zip(tests, guard.of_run, strict=True):
            for register in _read(expr):
                found.setdefault(register, {})[origin] = None
    return {register: tuple(parts) for register, parts in found.items()}


def allocate(automaton: Automaton, split: Split, *, merge: bool = True) -> Registers:
    """Liveness, from the last state back to the first."""
    states = automaton.final + 1
    live: list[set[Register]] = [set() for _ in range(states)]
    for state in reversed(range(states)):
        for i, arc in automaton.leaving(state):
            live[state] |= registers_of(split.guards[i]) | registers_of(split.leaves[i])
            if arc.action is Action.BEGIN:
                assert arc.component is not None
                live[state] |= {r for r in live[arc.target] if r.var != arc.component.var}
        if state == automaton.final:
            live[state] |= registers_of(split.accept)
    merged = [merge] * states
    for state in _walked(automaton, split):
        merged[state] = False
    ordered = [tuple(sorted(regs, key=lambda r: (r.var, r.column, r.holds.value))) for regs in live]
    return Registers(tuple(ordered), tuple(merged))


def _walked(automaton: Automaton, split: Split) -> set[int]:
    """The states whose runs must keep their histories apart, because a test will walk them."""
    places = {c.var: i + 1 for i, c in enumerate(automaton.components)}
    apart: set[int] = set()
    for i, arc in enumerate(automaton.arcs):
        for guard in (split.guards[i], split.leaves[i]):
            for _, forall in guard.history:
                apart.update(range(min(places[v] for v, _ in forall), arc.source + 1))
    for _, forall in split.accept.history:
        apart.update(range(min(places[v] for v, _ in forall), automaton.final + 1))
    return apart
