"""The automaton: states, and arcs that say everything an engine may do.

A linear pattern c1 … cm becomes states 1 … m: in state s, c_s is bound. A singleton's state waits for the
next component; a Kleene component's state also takes more events. Strategies are arcs too: a run may
pass over an event only along an ignore arc, so no engine knows a strategy by name.

    skip_till_any   ignore always        skip_till_next  ignore unless the arc that would use the event holds
    contiguity      no ignore arc

So are absences, where a run can tell: a negated component right after a singleton is an arc that ends the
runs which wait there. What an arc cannot say is told apart by `absence_of`.

`[attr]` tests partition the stream: a run and all its events agree on them, so each partition is matched
by itself, and partition contiguity is contiguity within it. Strict contiguity with `[attr]` asks for
neighbours in the whole stream of the key: `breaks` says that a gap in it ends every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from augury.pattern import Component, Strategy, references
from augury.resolve import Moment, Placed, Test


class Action(Enum):
    BEGIN = "begin"  # bind the event as the first of the target's component
    TAKE = "take"  # bind one more event of the Kleene component
    IGNORE = "ignore"  # consume the event, bind nothing
    END = "end"  # the negated component's event has come: no run goes on from here


class Absent(Enum):
    """How it is told that no event of a negated component stands where it must not."""

    ENDS = "an arc ends the runs that wait"
    SINCE = "the next component begins only if none came since the last event"
    BOUNDS = "it bounds the first events of the matches that one event completes"
    FILTERS = "each match is asked when it is complete"


@dataclass(frozen=True, slots=True)
class Arc:
    """A move from a state to a state on one event."""

    source: int
    target: int
    action: Action
    component: Component | None = None  # whose event it is
    place: int = -1  # that component's, in the pattern
    tests: tuple[Test, ...] = ()  # all must be true of the event; an IGNORE arc has none
    leave: tuple[Test, ...] = ()  # … and these of what is bound, before the event
    since: tuple[int, ...] = ()  # … and none of these components' events came since the last one bound
    unless: int | None = None  # IGNORE: only if that arc (a place in `arcs`) does not hold

    @property
    def asks(self) -> bool:
        """Whether the arc depends on what the event is."""
        return self.action is not Action.IGNORE


@dataclass(frozen=True, slots=True)
class Automaton:
    """States 0 (nothing bound) to `final`; a run in `final` is a match."""

    components: tuple[Component, ...]  # the positive ones: state s has bound components[s - 1]
    places: tuple[int, ...]  # … which stand in the pattern here
    arcs: tuple[Arc, ...]
    final: int
    accept: tuple[Test, ...]  # leave tests of a last Kleene component: a match only when they hold
    partition: tuple[str, ...]
    breaks: bool
    absences: tuple[tuple[int, Absent], ...] = ()  # the negated components, by their places

    def leaving(self, state: int) -> tuple[tuple[int, Arc], ...]:
        return tuple((i, a) for i, a in enumerate(self.arcs) if a.source == state)

    def left_to(self, how: Absent) -> tuple[int, ...]:
        """The negated components that are looked after in this way."""
        return tuple(place for place, known in self.absences if known is how)

    def is_inside(self, state: int) -> bool:
        """Whether runs live on in the state: all but a singleton that ends the pattern."""
        return 0 < state < self.final or (state == self.final and self.components[-1].kleene)


def lower(query: Placed) -> Automaton:
    """The automaton of a pattern's positive components."""
    pattern = query.pattern
    positives = pattern.positives
    places = {c.var: pattern.components.index(c) for c in positives}
    absences = tuple(
        (place, absence_of(query, place)) for place, c in enumerate(pattern.components) if c.negated
    )

    def between(state: int, how: Absent) -> tuple[int, ...]:
        return tuple(p for p, known in absences if known is how and _before(query, p) == state)

    def tests(c: Component, moment: Moment) -> tuple[Test, ...]:
        return query.tests_at(places[c.var], moment)

    arcs: list[Arc] = []
    for state, c in enumerate([None, *positives]):
        uses: int | None = None
        if c is not None and c.kleene:
            uses = len(arcs)
            arcs.append(Arc(state, state, Action.TAKE, c, places[c.var], tests(c, Moment.TAKE)))
        if state < len(positives):
            nxt = positives[state]
            leave = tests(c, Moment.LEAVE) if c is not None and c.kleene else ()
            uses = len(arcs) if uses is None else uses
            arcs.append(
                Arc(
                    state,
                    state + 1,
                    Action.BEGIN,
                    nxt,
                    places[nxt.var],
                    tests(nxt, Moment.BEGIN),
                    leave,
                    between(state, Absent.SINCE),
                )
            )
        if c is not None and uses is not None:
            match pattern.strategy:
                case Strategy.ANY:
                    arcs.append(Arc(state, state, Action.IGNORE))
                case Strategy.NEXT:
                    arcs.append(Arc(state, state, Action.IGNORE, unless=uses))
        for place in between(state, Absent.ENDS):
            absent = pattern.components[place]
            arcs.append(Arc(state, state, Action.END, absent, place, query.tests_at(place, Moment.ABSENT)))
    last = positives[-1]
    return Automaton(
        components=positives,
        places=tuple(places[c.var] for c in positives),
        arcs=tuple(arcs),
        final=len(positives),
        accept=tests(last, Moment.LEAVE) if last.kleene else (),
        partition=pattern.partition,
        breaks=pattern.strategy is Strategy.STRICT and bool(pattern.partition),
        absences=absences,
    )


def _before(query: Placed, place: int) -> int:
    """How many positive components stand before one."""
    return sum(not c.negated for c in query.pattern.components[:place])


def absence_of(query: Placed, place: int) -> Absent:
    """How an absence is told: by the runs where they know enough, else by the matches."""
    pattern = query.pattern
    own = pattern.components[place].var
    tests = query.tests_at(place, Moment.ABSENT)
    named = {var for t in tests for var, _, _ in references(t.expr)} - {own}
    before = _before(query, place)
    if before in (0, len(pattern.positives)):
        return Absent.FILTERS if named else Absent.BOUNDS
    if pattern.positives[before - 1].kleene:
        return Absent.FILTERS if named else Absent.SINCE
    bound = {c.var for c in pattern.components[:place]}
    walks = any(t.forall for t in tests)
    return Absent.ENDS if named <= bound and not walks else Absent.FILTERS
