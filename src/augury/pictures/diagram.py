"""What is drawn of an automaton, whatever language it comes from: states, arcs with their words, what runs remember.

The words are those of `explain`: both are read off what the passes made.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from augury import algebra
from augury.afa import Machine, Takes
from augury.afa import Move as Drawn
from augury.automaton import Absent, Action, Automaton
from augury.automaton import Arc as Move
from augury.engines import passes
from augury.explain.words import a, arc_name, listed, predicate, register_name, series, state_name
from augury.expr.printing import quoted, text_of
from augury.pattern import Pattern, Strategy
from augury.resolve import Test, without_schema


class Kind(Enum):
    """How an arc is drawn."""

    MOVE = "move"  # consumes an event, and goes on
    TAKE = "take"  # consumes an event, and stays
    IGNORE = "ignore"  # passes over an event: dimmed
    SILENT = "silent"  # consumes none: ε
    END = "end"  # the run is no more
    ABSENT = "absent"  # no arc: what is asked of the events around
    NOTE = "note"  # no arc: a word on the state


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc, or a note where `target` is None."""

    kind: Kind
    source: int
    target: int | None
    name: str
    guards: tuple[str, ...] = ()  # all must hold; as the query has them
    updates: tuple[str, ...] = ()
    words: str = ""  # said in plain words, where there is no guard to show


@dataclass(frozen=True, slots=True)
class State:
    label: str  # what stands in its circle
    title: str
    remembers: tuple[str, ...] = ()
    final: bool = False
    start: bool = False


@dataclass(frozen=True, slots=True)
class Diagram:
    """An automaton to be drawn; several queries merged are one, with several final states."""

    states: tuple[State, ...]
    arcs: tuple[Arc, ...]
    about: tuple[str, ...] = ()  # what holds for all of it: the strategy, the window


def of_pattern(pattern: Pattern) -> Diagram:
    """The automaton of a SASE+ pattern, as far as it is known without a schema."""
    made = passes.outline(without_schema(pattern))
    auto = made.automaton
    states = tuple(
        State(
            label=str(s),
            title=state_name(auto, s),
            remembers=tuple(register_name(r, made.split, pattern) for r in made.registers.live[s]),
            final=s == auto.final,
            start=s == 0,
        )
        for s in range(auto.final + 1)
    )
    arcs = [_arc(pattern, auto, move) for move in auto.arcs]
    arcs += [
        _note(pattern, state) for state in range(1, auto.final + 1) if _ends_by_any(pattern, auto, state)
    ]
    arcs += [_absent(pattern, place) for place, how in auto.absences if how in _ASKED]
    arcs += [_condition_of_match(pattern, auto, test) for test in auto.accept]
    return Diagram(states, tuple(arcs), _about(pattern))


_ASKED = (Absent.FILTERS, Absent.BOUNDS)


def _about(p: Pattern) -> tuple[str, ...]:
    said = [p.strategy.value]
    if p.partition:
        said.append(f"[{', '.join(map(quoted, p.partition))}]: all events agree")
    if p.within is not None:
        said.append(f"WITHIN {p.within}")
    return tuple(said)


def _arc(p: Pattern, auto: Automaton, move: Move) -> Arc:
    if move.action is Action.IGNORE:
        words = "any event"
        if move.unless is not None:
            words = f"any event that is not for “{arc_name(auto.arcs[move.unless])}”"
        return Arc(Kind.IGNORE, move.source, move.target, "ignore", words=words)
    assert move.component is not None
    name = f"{arc_name(move)}: {quoted(move.component.type)}"
    guards = [f"{series(p.components[t.component])} may end: {_said(p, t)}" for t in move.leave]
    guards += [_said(p, t) for t in move.tests]
    for place in move.since:
        absent, last = p.components[place], auto.components[move.source - 1]
        guards.append(f"no {quoted(absent.type)} {quoted(absent.var)} since the last event of {series(last)}")
    kind = {Action.TAKE: Kind.TAKE, Action.END: Kind.END}.get(move.action, Kind.MOVE)
    if kind is Kind.END:
        name = f"~({quoted(move.component.type)} {quoted(move.component.var)}) ends the run"
    return Arc(kind, move.source, None if kind is Kind.END else move.target, name, tuple(guards))


def _said(p: Pattern, test: Test) -> str:
    every = (
        f"for every event of {listed([quoted(v) + '[]' for v, _ in test.forall])}: " if test.forall else ""
    )
    return every + predicate(p, test.predicate)


def _ends_by_any(p: Pattern, auto: Automaton, state: int) -> bool:
    return p.strategy in (Strategy.STRICT, Strategy.PARTITION) and auto.is_inside(state)


def _note(p: Pattern, state: int) -> Arc:
    of = " of the partition" if p.strategy is Strategy.PARTITION else ""
    return Arc(Kind.NOTE, state, None, "no gap", words=f"any other event{of} ends the run")


def _absent(p: Pattern, place: int) -> Arc:
    """A negated component that no arc can tell."""
    absent = p.components[place]
    before = sum(not c.negated for c in p.components[:place])
    positives = p.positives
    where = "in between"
    if before == 0:
        where = "before the first event, in the window"
    elif before == len(positives):
        where = "after the last event, in the window"
    guards = [_said(p, t) for t in without_schema(p).tests if t.component == place]
    return Arc(
        Kind.ABSENT,
        before,
        None,
        f"~({quoted(absent.type)} {quoted(absent.var)})",
        tuple(guards),
        words=f"no such event {where}",
    )


def _condition_of_match(p: Pattern, auto: Automaton, test: Test) -> Arc:
    return Arc(Kind.NOTE, auto.final, None, "a match only if", guards=(_said(p, test),))


def of_machine(machine: Machine) -> Diagram:
    """An automaton as its author drew it: states in the order in which they are reached from the start."""
    names = [machine.start]
    for name in names:  # grows as it is walked
        found = [m.target for m in machine.moves if m.source == name]
        names += [n for n in dict.fromkeys(found) if n not in names]
    others = [n for m in machine.moves for n in (m.source, m.target)] + list(machine.final)
    names += [n for n in dict.fromkeys(others) if n not in names]
    places = {name: n for n, name in enumerate(names)}
    labels = all(len(name) <= 3 for name in names)
    states = tuple(
        State(
            label=name if labels else str(n),
            title=": ".join(filter(None, [quoted(name), _role(name, machine)])),
            final=name in machine.final,
            start=n == 0,
        )
        for n, name in enumerate(names)
    )
    about = [f"{quoted(name)} starts at {value!r}" for name, value in machine.registers]
    if machine.within is not None:
        about.append(f"within {machine.within}")
    return Diagram(states, tuple(_moved(m, places) for m in machine.moves), tuple(about))


def _role(name: str, machine: Machine) -> str:
    said = ["the start"] if name == machine.start else []
    return " and ".join([*said, *(["final"] if name in machine.final else [])])


def _moved(move: Drawn, places: dict[str, int]) -> Arc:
    source, target = places[move.source], places[move.target]
    words = {Takes.EPSILON: "takes no event", Takes.WINDOW_END: "when the window has passed"}.get(
        move.takes, ""
    )
    if not words and move.when is None:
        words = "any event"
    if move.low is not None or move.high is not None:
        since = "" if move.low is None else f"from {move.low}"
        until = "" if move.high is None else f"before {move.high}"
        words = ", ".join(filter(None, [words, " ".join(filter(None, [since, until]))]))
    kind = Kind.SILENT if move.takes is not Takes.EVENT else Kind.TAKE if source == target else Kind.MOVE
    return Arc(
        kind,
        source,
        target,
        quoted(move.id),
        guards=() if move.when is None else (text_of(move.when.expr),),
        updates=tuple(f"{quoted(name)} := {text_of(w.expr)}" for name, w in move.updates),
        words=words,
    )


# ------------------------------------------------------------------ CESAR


@dataclass(frozen=True, slots=True)
class _Open:
    """An arc whose target is not known yet: what stands around it says where it leads."""

    source: int
    name: str
    kind: Kind = Kind.MOVE
    guards: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    words: str = ""
    settled: bool = False  # which event it is: conditions to come are asked of the outcome

    def to(self, target: int) -> Arc:
        return Arc(self.kind, self.source, target, self.name, self.guards, self.updates, self.words)


def of_algebra(node: algebra.Node) -> Diagram:
    """A CESAR expression: a state for each operand that waits, the operators of one operand on the arcs."""
    flow = _Flow()
    ends = flow.enter(node)
    flow.state("a result", ends, final=True)
    return Diagram(tuple(flow.states), tuple(flow.arcs))


class _Flow:
    def __init__(self) -> None:
        self.states = [State("0", "no event yet", start=True)]
        self.arcs: list[Arc] = []

    def state(self, title: str, incoming: list[_Open], *, final: bool = False) -> int:
        number = len(self.states)
        self.states.append(State(str(number), title, final=final))
        self.arcs += [arc.to(number) for arc in incoming]
        return number

    def enter(self, node: algebra.Node, hole: _Open | None = None) -> list[_Open]:
        """The arcs on which a node's tuples come."""
        match node:
            case algebra.Base(type=type_):
                return [_Open(0, f"{a(quoted(type_))} event")]
            case algebra.Hole():
                assert hole is not None
                return [hole]
            case algebra.Where():
                said = str(node.condition)
                return [
                    replace(p, guards=(*p.guards, f"then {said}" if p.settled else said))
                    for p in self.enter(node.arg, hole)
                ]
            case algebra.Extend():
                return self._updated(node.arg, hole, [f"{quoted(n)} := {t}" for n, t in node.values])
            case algebra.Project():
                return self._updated(node.arg, hole, [f"keep {', '.join(map(quoted, node.names))}"])
            case algebra.Rename():
                renamed = [f"{quoted(new)} := {quoted(old)}" for old, new in node.pairs]
                return self._updated(node.arg, hole, renamed)
            case algebra.Union():
                return [*self.enter(node.left, hole), *self.enter(node.right, hole)]
            case algebra.Then():
                waits = self.state("waits for the next", self.enter(node.left, hole))
                self._passes(waits)
                return self._next(waits, node.right, node.on)
        begun = self.state("waits for the first round", self.enter(node.left, hole))
        self._passes(begun)
        (first,) = self._next(begun, node.right, node.on)
        rounds = self.state("after a round: a tuple, and waits for the next", self.enter(node.step, first))
        (again,) = self._next(rounds, node.right, node.on)
        self.arcs += [
            replace(p.to(rounds), kind=Kind.TAKE, name=f"again: {p.name}")
            for p in self.enter(node.step, again)
        ]
        self._passes(rounds)
        return [_Open(rounds, "every round gives a tuple", Kind.SILENT, settled=True)]

    def _updated(self, node: algebra.Node, hole: _Open | None, updates: list[str]) -> list[_Open]:
        return [replace(p, updates=(*p.updates, *updates)) for p in self.enter(node, hole)]

    def _passes(self, state: int) -> None:
        words = "any event before the first that fits"
        self.arcs.append(Arc(Kind.IGNORE, state, state, "filter", words=words))

    def _next(self, state: int, right: algebra.Node, on: algebra.Text | None) -> list[_Open]:
        """The first tuple of the right operand that fits; what is no base stream with conditions is named as it is written."""
        guards: list[str] = [] if on is None else [str(on)]
        while isinstance(right, algebra.Where):
            guards.append(str(right.condition))
            right = right.arg
        name = quoted(right.type) if isinstance(right, algebra.Base) else algebra.notation(right)
        return [_Open(state, f"the first {name}", guards=tuple(guards), settled=True)]


# ------------------------------------------------------------------ many queries

QUERIES = 24  # of a set that are drawn


def merged(diagrams: Mapping[str, Diagram]) -> Diagram:
    """Several automata as one: states that are reached alike and wait alike are one state."""
    states: list[State] = [State("0", "no event yet", start=True)]
    arcs: dict[Arc, None] = {}
    known: dict[Any, int] = {}
    about = (
        [f"{len(diagrams)} queries"]
        if len(diagrams) <= QUERIES
        else [f"{QUERIES} of {len(diagrams)} queries"]
    )
    for name, diagram in itertools.islice(diagrams.items(), QUERIES):
        about += [f"{quoted(name)}: {', '.join(diagram.about)}"] if diagram.about else []
        places = {0: 0}
        for n, state in enumerate(diagram.states):
            if n not in places:
                places[n] = _place(n, diagram, places, states, known)
            if state.final:
                at = places[n]
                told = states[at].title.split(": a match")[0].split("a result")[0].rstrip(": ")
                of = f"a match of {quoted(name)}"
                states[at] = replace(states[at], title=": ".join(filter(None, [told, of])), final=True)
        for arc in diagram.arcs:
            target = None if arc.target is None else places[arc.target]
            arcs[replace(arc, source=places[arc.source], target=target)] = None
    return Diagram(tuple(states), tuple(arcs), tuple(about))


def _place(
    n: int, diagram: Diagram, places: dict[int, int], states: list[State], known: dict[Any, int]
) -> int:
    """The merged state of a state: an old one that is entered and left by loops in the same way, or a new one."""
    incoming = [x for x in diagram.arcs if x.target == n and x.source != n]
    alike = all(x.source in places for x in incoming) and not diagram.states[n].final
    entered = frozenset(replace(x, source=places.get(x.source, -1), target=None) for x in incoming)
    stays = frozenset(
        replace(x, source=0, target=None) for x in diagram.arcs if x.source == n and x.target in (n, None)
    )
    key = (entered, stays, diagram.about, diagram.states[n].remembers) if alike else object()
    if key not in known:
        known[key] = len(states)
        states.append(replace(diagram.states[n], label=str(len(states)), start=False))
    return known[key]
