"""Guards in a kernel's source: the part that each run decides, as conditions.

What one event decides by itself is a bit of its mask and never written here. `evaluations` is counted where a
guard is tried, so that it is the same however a machine evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from augury.automaton import Action, Automaton
from augury.engines.generated import allows, masks_of
from augury.engines.register_source import RegisterCode, Walk, register_before
from augury.engines.writer import Writer, conjunction
from augury.expr.inputs import Inputs
from augury.expr.source import Emitter
from augury.expr.tree import Agg, At, Expr, children
from augury.pattern import Clause, Part
from augury.plan.split import Guard, Split

Gather = Callable[[str, int], str]
"""A snippet for the events that a history binds to the state's component, first to last."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The arcs that leave a state, by what they do."""

    take: int | None = None
    begin: int | None = None
    ends: tuple[int, ...] = ()
    stays: str = "False"  # when a run passes over the event


class GuardCode:
    """Writes guards as conditions over registers; tests that walk a history are written before them."""

    def __init__(
        self,
        automaton: Automaton,
        split: Split,
        code: RegisterCode,
        inputs: Inputs,
        w: Writer,
        gather: Gather,
        *,
        profile: bool,
    ) -> None:
        self.automaton = automaton
        self.split = split
        asking = [i for i, arc in enumerate(automaton.arcs) if arc.asks]
        self.bits = [asking.index(i) if arc.asks else -1 for i, arc in enumerate(automaton.arcs)]
        self.variables = [c.var for c in automaton.components]
        self.code = code
        self.inputs = inputs
        self.w = w
        self.gather = gather
        self.profile = profile
        self.walks = 0

    def ways(self, state: int) -> Ways:
        leaving = self.automaton.leaving(state)
        places = {arc.action: i for i, arc in leaving}
        take, begin = places.get(Action.TAKE), places.get(Action.BEGIN)
        if Action.IGNORE not in places:
            return Ways(take, begin)
        ends = tuple(i for i, arc in leaving if arc.action is Action.END)
        unless = self.automaton.arcs[places[Action.IGNORE]].unless
        passes = "True" if unless is None else "not took" if unless == take else "not went"
        return Ways(take, begin, ends, conjunction([passes, "not ended" if ends else "True"]))

    def decide(self, ways: Ways, history: str) -> None:
        """Set took, went and ended: which arcs the run follows."""
        w, guards = self.w, self.split.guards
        if ways.take is not None:
            w("took = False")
            with self.allowed(ways.take):
                test = self.holds(guards[ways.take], "reg", history)
                with w.about(*guards[ways.take].of_run):
                    w(f"took = {test}")
        if ways.begin is not None:
            w("went = False")
            leave = self.split.leaves[ways.begin]
            with self.allowed(ways.begin), w.maybe(self.holds(leave, "reg", history), *leave.origins):
                test = self.holds(guards[ways.begin], "reg", history)
                with w.about(*guards[ways.begin].of_run):
                    w(f"went = {test}")
        if ways.ends:
            w("ended = False")
        for place in ways.ends:
            guard = guards[place]
            with self.allowed(place), w.maybe(self.holds(guard, "reg", history), *guard.of_run):
                w("ended = True")

    @contextmanager
    def allowed(self, place: int) -> Iterator[None]:
        """If the event at hand is one that the arc allows, as far as it decides by itself."""
        component = Part(Clause.COMPONENT, self.automaton.arcs[place].place)
        allowed = allows([self.bits[place]])
        with self.w.block(f"if {allowed}:", component, *self.split.guards[place].of_event):
            yield

    @property
    def masks(self) -> tuple[str, ...]:
        """The arguments that are masks."""
        return tuple(f"mask{n}" for n in masks_of(self.bits))

    def look(self) -> str:
        """The statement that looks at an event's masks."""
        return "; ".join(f"m{n} = mask{n}[i]" for n in masks_of(self.bits))

    def nobodys(self) -> str:
        """The condition that no arc is for the event at hand."""
        return " and ".join(f"m{n} == 0" for n in masks_of(self.bits))

    def strategy(self, state: int) -> tuple[Part, ...]:
        """What decides whether a run in the state passes over an event."""
        ends = (a.place for _, a in self.automaton.leaving(state) if a.action is Action.END)
        return (Part(Clause.STRATEGY), *(Part(Clause.COMPONENT, place) for place in ends))

    def holds(self, guard: Guard, prefix: str, history: str) -> str:
        """The dynamic part of a guard as a condition; what must be computed before is written here."""
        conditions = []
        if self.profile and not guard.is_static:
            with self.w.about(*guard.of_run):
                self.w(f"evaluations += {len(guard.dynamic) + len(guard.history)}")
        origins = iter(guard.of_run)
        for expr in guard.dynamic:
            lines, test = Emitter(self.code.leaf(prefix), self.inputs).condition(expr)
            with self.w.about(next(origins)):
                self.w(*lines)
            conditions.append(test)
        for expr, forall in guard.history:
            with self.w.about(next(origins)):
                conditions.append(self.walked(expr, forall, prefix, history))
        return conjunction(conditions)

    def walked(self, expr: Expr, forall: Sequence[tuple[str, At]], prefix: str, history: str) -> str:
        """A test for each event of bound variables: their events are gathered, then tried."""
        w = self.w
        self.walks += 1
        name = f"every{self.walks}"
        lists: dict[str, tuple[str, str]] = {}
        for place, (var, _) in enumerate(forall):
            lists[var] = (f"{name}_{place}", f"{name}_at{place}")
            w(f"{name}_{place} = {self.gather(history, 1 + self.variables.index(var))}")
        w(f"{name} = True")
        depth = w.depth
        for place, (_, which) in enumerate(forall):
            w(f"for {name}_at{place} in range({0 if which is At.EACH else 1}, len({name}_{place})):")
            w.depth += 1
        for fold in _folds_before(expr):
            self.fold_before(fold, *lists[fold.var])
        lines, test = Emitter(Walk(self.code, prefix, lists), self.inputs).condition(expr)
        w(*lines)
        with w.block(f"if not ({test}):"):
            w(f"{name} = False", "break")
        while w.depth > depth + 1:
            w.depth -= 1
            w(f"if not {name}:", "    break")
        w.depth = depth
        return name

    def fold_before(self, node: Agg, events: str, at: str) -> None:
        """The register of an aggregate over the events before the one that is being tried."""
        w, code = self.w, self.code
        r = register_before(node)
        n = code.number(r)
        code.event = f"{events}[0]"
        w(*(f"reg{n}{suffix} = {snippet}" for suffix, snippet in code.initial(r).items()))
        code.event = "earlier"
        with w.block(f"for y in range(1, {at}):"):
            w(f"earlier = {events}[y]")
            code.update(r)
            w(*(f"reg{n}{f.suffix} = upd{n}{f.suffix}" for f in code.fields(r)))
        code.event = "i"


def _folds_before(expr: Expr) -> list[Agg]:
    if isinstance(expr, Agg):
        return [expr] if expr.over is At.BEFORE else []
    return [found for child in children(expr) for found in _folds_before(child)]
