"""Split guards: what one event decides by itself is computed for a whole batch, the rest by each run.

Every guard is a list of tests. A test that mentions only the event at hand becomes part of the arc's mask.
In the others each largest part that mentions only one event, this one or a bound one, becomes a *derived
column*: a bound event then costs one register, however much of it is read. What calls a registered function is
no such part: the function stays where it was put, behind the tests before it.

After the split an expression's references are these, and their names are places in `Split.columns`:

    Attr("", ONE, n)       the event at hand          Attr(v, FIRST, n)   v's first (or only) event
    Attr(v, LAST, n)       v's last event so far      Len(v), Agg(fn, v, EACH, Attr(v, EACH, n))
    Attr(v, EACH | CURRENT | PREVIOUS, n), Agg(…, BEFORE, …)   in `history` tests, which walk v's events

One kind of column is made by the engine: Attr(ABSENT, BEFORE | EACH, p), how many events of the negated
component at place p come before this event, or up to it and with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from augury.automaton import Action, Arc, Automaton
from augury.expr.functions import calls_python
from augury.expr.tree import Agg, At, Attr, Binary, Expr, Len, Literal, Logic, Param, children, typed, walk
from augury.expr.types import BOOL, INT
from augury.pattern import Clause, Part
from augury.resolve import Moment, Test

EVENT = ("", At.ONE)
ABSENT = "~"  # no variable's name
Place = tuple[str, At]


@dataclass(frozen=True, slots=True)
class Guard:
    """An arc's tests: `static` are decided by the event, `dynamic` by the run and the event.

    `history` tests hold for each event of variables bound before; only an unmerged run can tell.
    """

    static: tuple[Expr, ...] = ()
    dynamic: tuple[Expr, ...] = ()
    history: tuple[tuple[Expr, tuple[Place, ...]], ...] = ()
    origins: tuple[Part, ...] = ()  # what each was made of: the static ones, the dynamic, the history tests

    @property
    def is_static(self) -> bool:
        return not self.dynamic and not self.history

    @property
    def of_event(self) -> tuple[Part, ...]:
        """What the static part was made of."""
        return self.origins[: len(self.static)]

    @property
    def of_run(self) -> tuple[Part, ...]:
        """What the rest was made of: the dynamic tests, then those of histories."""
        return self.origins[len(self.static) :]


@dataclass(frozen=True, slots=True)
class Split:
    """The guards of an automaton, and the columns that they share."""

    columns: tuple[Expr, ...]  # over the event at hand: Attr("", ONE, column of the data)
    guards: tuple[Guard, ...]  # by arc, without the leave tests
    leaves: tuple[Guard, ...]  # by arc: its leave tests
    accept: Guard

    def folded(self, column: str) -> set[str]:
        """The variables over whose events an aggregate folds this column."""
        return {
            node.var
            for guard in (*self.guards, *self.leaves, self.accept)
            for expr in (*guard.dynamic, *(e for e, _ in guard.history))
            for node in walk(expr)
            if isinstance(node, Agg) and isinstance(node.arg, Attr) and node.arg.name == column
        }


def split(automaton: Automaton) -> Split:
    """Split every guard of the automaton."""
    columns: list[Expr] = []
    guards = tuple(_guard(arc.tests, arc, automaton, columns) for arc in automaton.arcs)
    leaves = tuple(_guard(arc.leave, None, automaton, columns) for arc in automaton.arcs)
    accept = _guard(automaton.accept, None, automaton, columns)
    return Split(tuple(columns), guards, leaves, accept)


def _guard(tests: Iterable[Test], arc: Arc | None, automaton: Automaton, columns: list[Expr]) -> Guard:
    static: list[tuple[Expr, Part]] = []
    dynamic: list[tuple[Expr, Part]] = []
    history: list[tuple[tuple[Expr, tuple[Place, ...]], Part]] = []
    for test in tests:
        origin = Part(Clause.PREDICATE, test.predicate)
        for part in _conjuncts(test.expr):
            if test.forall:
                history.append(((hoist(part, arc, columns), test.forall), origin))
            elif _places(part, arc) <= {EVENT} and not _summarises(part):
                static.append((over_event(part), origin))
            else:
                dynamic.append((hoist(part, arc, columns), origin))
    if arc is not None and arc.since:
        dynamic += _since(arc, automaton, columns)
    return Guard(
        tuple(e for e, _ in static),
        tuple(e for e, _ in dynamic),
        tuple(h for h, _ in history),
        tuple(origin for _, origin in (*static, *dynamic, *history)),
    )


def _since(arc: Arc, automaton: Automaton, columns: list[Expr]) -> list[tuple[Expr, Part]]:
    """That as many absent events stand before this event as up to the last one bound."""
    var = automaton.components[arc.source - 1].var
    tests: list[tuple[Expr, Part]] = []
    for place in arc.since:
        before, upto = (
            _shared(Attr(ABSENT, at, str(place), type=INT), columns) for at in (At.BEFORE, At.EACH)
        )
        now, then = Attr("", At.ONE, before, type=INT), Attr(var, At.LAST, upto, type=INT)
        tests.append((Binary("=", now, then, type=BOOL), Part(Clause.COMPONENT, place)))
    return tests


def _conjuncts(expr: Expr) -> list[Expr]:
    """A test is true when each part of its AND is."""
    if isinstance(expr, Logic) and expr.op == "AND":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]


def _place(node: Attr, arc: Arc | None) -> Place:
    """Which event a reference means, seen from the arc on which it is tested."""
    own = arc is not None and arc.component is not None and arc.component.var == node.var
    if own and arc is not None and arc.action in (Action.BEGIN, Action.END):
        return EVENT
    if own and node.at in (At.CURRENT, At.EACH):
        return EVENT
    if own and node.at is At.PREVIOUS:
        return (node.var, At.LAST)
    return (node.var, At.FIRST if node.at is At.ONE else node.at)


def _places(expr: Expr, arc: Arc | None) -> set[Place]:
    if isinstance(expr, Attr):
        return {_place(expr, arc)}
    if isinstance(expr, Agg | Len):
        return set()
    return {p for child in children(expr) for p in _places(child, arc)}


def _summarises(expr: Expr) -> bool:
    return isinstance(expr, Agg | Len) or any(_summarises(c) for c in children(expr))


def over_event(expr: Expr) -> Expr:
    """The expression with every reference meaning the event at hand."""
    from augury.expr.tree import rewrite

    return rewrite(expr, lambda n: replace(n, var="", at=At.ONE) if isinstance(n, Attr) else n)


def derived(expr: Expr, columns: list[Expr]) -> str:
    """The name of the derived column with this value, made if there is none."""
    return _shared(over_event(expr), columns)


def _shared(column: Expr, columns: list[Expr]) -> str:
    for i, known in enumerate(columns):
        if known == column and known.type == column.type:
            return str(i)
    columns.append(column)
    return str(len(columns) - 1)


def hoist(expr: Expr, arc: Arc | None, columns: list[Expr]) -> Expr:
    """The expression over derived columns."""
    match expr:
        case Agg(var=var, over=over, arg=arg):
            own = arc is not None and arc.component is not None and arc.component.var == var
            # Over the events before the current one, seen from its own arc: all that are bound so far.
            seen = At.EACH if own and over is At.BEFORE else over
            name = derived(arg, columns)
            return replace(expr, over=seen, arg=Attr(var, seen, name, type=typed(arg)))
        case Len() | Literal() | Param():  # parameters are constants once types are known
            return expr
    places = _places(expr, arc)
    if len(places) == 1 and not _summarises(expr) and not calls_python(expr):
        ((var, at),) = places
        return Attr(var, at, derived(expr, columns), span=expr.span, type=expr.type)
    return _with_children(expr, [hoist(c, arc, columns) for c in children(expr)])


def _with_children(expr: Expr, new: list[Expr]) -> Expr:
    """The node with its children replaced, in the order of `children`."""
    from dataclasses import fields
    from typing import Any

    left = iter(new)
    changed: dict[str, Any] = {}
    for f in fields(expr):
        value = getattr(expr, f.name)
        if f.name in ("span", "type"):
            continue
        if isinstance(value, tuple):
            changed[f.name] = tuple(next(left) for _ in value)
        elif hasattr(value, "span"):
            changed[f.name] = next(left)
    return replace(expr, **changed)


__all__ = ["ABSENT", "EVENT", "Guard", "Moment", "Split", "derived", "hoist", "over_event", "split"]
