"""What moves a run: the automaton's arcs with their conditions, and where and how often each is tested."""

from __future__ import annotations

from collections.abc import Iterator

from augury.automaton import Absent, Action, Arc
from augury.explain.told import Told
from augury.explain.words import (
    Page,
    a,
    arc_name,
    listed,
    predicate,
    register_name,
    series,
    state_name,
)
from augury.expr.functions import calls_python
from augury.expr.printing import quoted
from augury.expr.tree import Expr
from augury.pattern import Clause, Component, Part, references
from augury.plan.registers import registers_of
from augury.plan.split import Guard
from augury.resolve import Moment, Test

_ARC = 22  # where the conditions of an arc stand


# ------------------------------------------------------------------ the automaton


def automaton(told: Told, page: Page) -> None:
    """States and arcs, with their conditions."""
    auto = told.outline.automaton
    page.section(
        "AUTOMATON",
        "A run is a match in the making. It starts in state 0, and each event moves it along the arcs whose conditions "
        f"all hold, in a run of its own for each; if none does, it ends. In state {auto.final} it is a match.",
    )
    if not told.choice.engine.generates:
        page.say(
            "This plan reads the pattern itself. The automaton means the same, and is what other plans follow."
        )
    for state in range(auto.final + 1):
        page.say(state_name(auto, state), label=f"state {state}", hang=9)
        for _, arc in auto.leaving(state):
            _arc(told, page, arc)
        if state == auto.final:
            for n, test in enumerate(auto.accept):
                _condition(told, page, test, label="" if n else "a match only if")
        if auto.is_inside(state) and not any(arc.action is Action.IGNORE for _, arc in auto.leaving(state)):
            page.say(_no_gap(told), indent=4, hang=_ARC, label="no ignore", at=told.line(Clause.STRATEGY))
    window = told.pattern.within
    if window is not None:
        time = f".{quoted(told.resolved.roles.time)}" if told.resolved is not None else "'s time"
        page.say(
            f"event{time} - first event{time} < {window}: a run that has got older is dropped at once, in whichever state",
            hang=_ARC + 2,
            label="every arc",
            at=told.line(Clause.WINDOW),
        )
    for state, c in enumerate(auto.components[:-1], 1):
        if c.kleene:
            nxt = auto.components[state]
            page.say(
                f"A run leaves {series(c)} only with an event that begins {series(nxt)}; no run waits between the two "
                "(what SASE+ calls a constrained proceed)."
            )


def _arc(told: Told, page: Page, arc: Arc) -> None:
    target = "✗" if arc.action is Action.END else str(arc.target)
    label = f"{arc_name(arc)} → {target}"
    if arc.component is None:
        page.say(_ignored(told, arc), indent=4, hang=_ARC, label=label, at=told.line(Clause.STRATEGY))
        return
    is_type = f"it is {a(quoted(arc.component.type))}"
    if told.resolved is not None:
        kind = told.resolved.roles.type
        is_type = "any event" if kind is None else f"{quoted(kind)} is {quoted(arc.component.type)}"
    page.say(is_type, indent=4, hang=_ARC, label=label, at=told.line(Clause.COMPONENT, arc.place))
    for test in arc.leave:
        _condition(told, page, test, before=f"{_series_of(told, test)} may end: ")
    for test in arc.tests:
        _condition(told, page, test)
    for place in arc.since:
        absent = told.pattern.components[place]
        last = told.outline.automaton.components[arc.source - 1]
        page.say(
            f"no {quoted(absent.type)} {quoted(absent.var)} came since the last event of {series(last)}",
            indent=4 + _ARC,
            at=told.line(Clause.COMPONENT, place),
        )


def _series_of(told: Told, test: Test) -> str:
    return series(told.pattern.components[test.component])


def _condition(told: Told, page: Page, test: Test, *, label: str = "", before: str = "") -> None:
    every = (
        f"for every event of {listed([quoted(v) + '[]' for v, _ in test.forall])}: " if test.forall else ""
    )
    page.say(
        f"{before}{every}{predicate(told.pattern, test.predicate)}",
        indent=4,
        hang=_ARC,
        label=label,
        at=told.line(Clause.PREDICATE, test.predicate),
    )


def _ignored(told: Told, arc: Arc) -> str:
    arcs = told.outline.automaton.arcs
    ends = [f"“{arc_name(a)}”" for a in arcs if a.source == arc.source and a.action is Action.END]
    if arc.unless is None:
        every = "any event, also one that another arc takes: a run goes on without it"
        return f"{every}; not one that is for {listed(ends, 'or')}" if ends else every
    others = [f"“{arc_name(arcs[arc.unless])}”", *ends]
    return f"any event that is not for {listed(others, 'or')}"


def _no_gap(told: Told) -> str:
    if told.outline.automaton.breaks:
        return "an event that no arc takes, or of another partition, ends the run"
    of = " of the partition" if told.pattern.partition else ""
    return f"an event{of} that no arc takes ends the run"


# ------------------------------------------------------------------ predicates


def predicates(told: Told, page: Page) -> None:
    """Where and how often each predicate is tested."""
    if not told.pattern.predicates:
        return
    generates = told.choice.engine.generates
    page.section(
        "PREDICATES",
        "Each is tested when the last event that it needs is there."
        + (
            " What an event decides by itself, its type too, is computed for all events at once, before the first run "
            "starts: a mask with a bit for each arc."
            if generates
            else ""
        ),
    )
    for place in range(len(told.pattern.predicates)):
        page.say(predicate(told.pattern, place), label=f"line {told.line(Clause.PREDICATE, place)}", hang=9)
        for moment, how in _tested(told, place):
            page.say(f"{moment}: {how}", indent=11, hang=2)


def _tested(told: Told, place: int) -> Iterator[tuple[str, str]]:
    if not told.choice.engine.generates:
        for test in (t for t in told.placed.tests if t.predicate == place):
            each = "match and each such event" if test.moment is Moment.ABSENT else "run"
            yield _moment(told, test), f"for each {each}"
        return
    shape = told.outline
    origin = Part(Clause.PREDICATE, place)
    for arc, guard, leave in zip(shape.automaton.arcs, shape.split.guards, shape.split.leaves, strict=True):
        if origin in guard.origins:
            yield arc_name(arc), _how(told, guard, origin)
        if origin in leave.origins:
            assert arc.component is not None
            yield f"before {arc_name(arc)}", _how(told, leave, origin)
    if origin in shape.split.accept.origins:
        yield "when it would be a match", _how(told, shape.split.accept, origin)
    for component, absent, how in told.negated:
        if how is Absent.ENDS:
            continue
        for test in (t for t in told.placed.tests if t.predicate == place and t.component == component):
            yield f"~{quoted(absent.var)}", _absent_how(absent, test, how)


def _moment(told: Told, test: Test) -> str:
    c = told.pattern.components[test.component]
    return {
        Moment.BEGIN: f"begin {quoted(c.var)}{'[1]' if c.kleene else ''}",
        Moment.TAKE: f"take {quoted(c.var)}[i]",
        Moment.LEAVE: f"when {series(c)} ends",
        Moment.ABSENT: f"~{quoted(c.var)}",
    }[test.moment]


ONCE = "once for each event, by itself (in the mask)"


def _how(told: Told, guard: Guard, origin: Part) -> str:
    """How often the parts of a predicate in a guard are tested."""
    said = []
    static = [e for e, o in zip(guard.static, guard.of_event, strict=True) if o == origin]
    if static:
        asks = any(calls_python(e) for e in static)
        said.append(f"{ONCE}, where the tests before it hold" if asks else ONCE)
    dynamic = [e for e, o in zip(guard.dynamic, guard.of_run, strict=False) if o == origin]
    walks = [h for h, o in zip(guard.history, guard.of_run[len(guard.dynamic) :], strict=True) if o == origin]
    if dynamic:
        said.append(f"for each run{_against(told, dynamic)}")
    for _, forall in walks:
        every = listed([quoted(v) + "[]" for v, _ in forall])
        said.append(f"for each run, and there for each event of {every} that it has bound")
    return "in part " + ", in part ".join(said) if len(said) > 1 else said[0]


def _against(told: Told, exprs: list[Expr]) -> str:
    read = sorted(registers_of(Guard(dynamic=tuple(exprs))), key=str)
    names = [register_name(r, told.outline.split, told.pattern) for r in read]
    return f", which remembers {listed(names)}" if names else ""


def _absent_how(absent: Component, test: Test, how: Absent) -> str:
    named = {var for var, _, _ in references(test.expr)} - {absent.var}
    if not named:
        return f"once for each {quoted(absent.type)}, for all at once: which of them count"
    assert how is Absent.FILTERS
    return f"for each complete match and each {quoted(absent.type)} that stands where none may"
