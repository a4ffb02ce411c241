"""A CESAR expression as automata: states in a line (or, by unions, a DAG), each with loops of its own and no others.

    Typed ─ linear ─> Automaton: states with a filter (∀), forward and rebind edges (∃), and what a run carries there
      └─ what is not linear-plus: an operand of its own, whose results are a stream (resubscription, 3.5)

In the expressions of an edge `Attr("e", x)` is the event at hand, `Attr("r", "3")` register 3 of the run, and DUR is the
event's own as `Attr("e", DUR)` and the concatenation's as `Attr("c", DUR)`. All operators of one event between two binary
ones have become conditions and values of an edge (Lemma 2 and Theorem 3), and what nobody reads later is not carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from augury.algebra import DUR, LAST
from augury.errors import QueryError
from augury.expr.printing import quoted
from augury.expr.tree import At, Attr, Expr, Logic, children, rewrite, walk
from augury.expr.types import Type
from augury.resolve_cesar import Either, Filter, Next, Op, Round, Rounds, Source, Typed, Unary

MOST = 10_000  # terms of one value, written out
EVENT, RUN, WHOLE = "e", "r", "c"
ROOT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """From a state's run and an event to a new run: conditions beyond the state's filter, and what it carries."""

    source: int  # a state, or ROOT
    stream: int  # of which stream the event is
    conditions: tuple[Expr, ...]
    outputs: Mapping[str, Expr]


@dataclass(slots=True, eq=False)
class State:
    """A run stays while no event (of `stream`) satisfies all of `filter`; with the first ones that do it moves on."""

    incoming: list[Edge]
    attrs: Mapping[str, Type]
    stream: int = 0
    filter: tuple[Expr, ...] = ()
    carried: dict[str, Type] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """The states in an order in which edges lead forward, loops aside; the last one is final and has no filter."""

    states: list[State]
    level: int  # the streams that it reads come from automata of lower levels

    @property
    def final(self) -> State:
        return self.states[-1]


class Streams:
    """The streams that automata read: base streams by their types, and operands that are automata themselves."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.direct: dict[
            int, tuple[Typed, Edge]
        ] = {}  # by identity: operands that are base streams, which queries share

    def base(self, type_: str) -> int:
        return self.types.setdefault(type_, len(self.types))

    def derived(self, operand: Typed, level: int) -> int:
        """The number of the stream of an operand's results."""
        raise NotImplementedError


def linear(query: Typed, streams: Streams) -> Automaton:
    """The automaton of an expression, its operands' automata handed to `streams`."""
    made = _Lowering(streams, level_of(query))
    incoming = made.edges(query)
    made.states.append(State(incoming, query.attrs))
    _carry(made.states)
    return Automaton(made.states, made.level)


def level_of(query: Typed) -> int:
    """How many automata read one another's results below this one."""
    match query:
        case Source():
            return 0
        case Unary():
            return level_of(query.arg)
        case Either():
            return max(level_of(query.left), level_of(query.right))
        case Next() | Rounds():
            right = 0 if _is_direct(query.right) else level_of(query.right) + 1
            return max(level_of(query.left), right)


def _is_direct(query: Typed) -> bool:
    """Whether it is a base stream seen through operators of one event."""
    return isinstance(query, Source) or (isinstance(query, Unary) and isinstance(query.arg, Source))


def is_linear_plus(query: Typed) -> bool:
    """The paper's Definition 1."""
    return level_of(query) == 0


# ------------------------------------------------------------------ lowering


class _Lowering:
    def __init__(self, streams: Streams, level: int) -> None:
        self.streams = streams
        self.level = level
        self.states: list[State] = []

    def edges(self, query: Typed) -> list[Edge]:
        """The edges that give the expression's events."""
        match query:
            case Source():
                outputs = {n: _attr(EVENT, n, t) for n, t in query.attrs.items()}
                return [Edge(ROOT, self.streams.base(query.type), (), outputs)]
            case Unary():
                return [self._through(e, query.ops) for e in self.edges(query.arg)]
            case Either():
                return [*self.edges(query.left), *self.edges(query.right)]
            case Next():
                _, edge = self._sequence(self.edges(query.left), query.left.attrs, query.right, query.round)
                return [edge]
            case Rounds():
                before = self.edges(query.left)
                _, first = self._sequence(before, query.left.attrs, query.right, query.first)
                later, again = self._sequence([first], query.attrs, query.right, query.again)
                self.states[later].incoming.append(again)  # the rebind edge
                return [first, again]

    def _sequence(
        self, incoming: list[Edge], attrs: Mapping[str, Type], right: Typed, round_: Round
    ) -> tuple[int, Edge]:
        """A state that waits for an event of the right operand, and the edge that takes it."""
        place = len(self.states)
        event = self._operand(right)
        outputs = {**{n: _attr(RUN, n, t) for n, t in attrs.items()}, **event.outputs}
        conditions = event.conditions
        if round_.on is not None:
            conditions += _parts(_in_place(round_.on, outputs, WHOLE))
        self.states.append(State(incoming, attrs, event.stream, conditions))
        edge = Edge(place, event.stream, (), outputs)
        return place, self._through(edge, round_.ops)

    def _operand(self, query: Typed) -> Edge:
        if _is_direct(query):
            known = self.streams.direct.get(id(query))
            if known is None:
                (edge,) = self.edges(query)
                known = self.streams.direct[id(query)] = query, edge
            return known[1]
        stream = self.streams.derived(query, level_of(query))
        return Edge(ROOT, stream, (), {n: _attr(EVENT, n, t) for n, t in query.attrs.items()})

    @staticmethod
    def _through(edge: Edge, ops: tuple[Op, ...]) -> Edge:
        whole = EVENT if edge.source == ROOT else WHOLE
        for op in ops:
            if isinstance(op, Filter):
                more = _parts(_in_place(op.condition, edge.outputs, whole))
                edge = replace(edge, conditions=(*edge.conditions, *more))
            else:
                outputs = {n: _in_place(e, edge.outputs, whole) for n, e in op.outputs.items()}
                for name, expr in outputs.items():
                    if not isinstance(expr, Attr) and _size(expr, {}) > MOST:
                        raise QueryError(
                            f"the attribute {quoted(name)} is computed from attributes that are computed, more than {MOST} "
                            "terms in all",
                            hint="extend in fewer steps: each step writes out the ones before it",
                        )
                edge = replace(edge, outputs=outputs)
        return edge


def _attr(var: str, name: str, type_: Type) -> Attr:
    return Attr(var, At.ONE, name, type=type_)


def _in_place(expr: Expr, outputs: Mapping[str, Expr], whole: str) -> Expr:
    """The expression with what its attributes are in their place. What is used twice stays one node."""
    if isinstance(expr, Attr) and expr.var == "" and expr.name != DUR:
        return outputs[expr.name]

    def change(node: Expr) -> Expr:
        if not isinstance(node, Attr):
            return node
        if node.var == LAST:
            return replace(node, var=RUN)
        if node.var == "" and node.name == DUR:
            return replace(node, var=whole)
        return outputs[node.name] if node.var == "" else node

    # What is put in is not walked again: `rewrite` goes bottom-up.
    return rewrite(expr, change)


def _size(expr: Expr, known: dict[int, int]) -> int:
    """How many terms an expression has, what it shares counted as often as it stands there."""
    found = known.get(id(expr))
    if found is None:
        found = known[id(expr)] = 1 + sum(_size(c, known) for c in children(expr))
    return found


def _parts(condition: Expr) -> tuple[Expr, ...]:
    if isinstance(condition, Logic) and condition.op == "AND":
        return tuple(part for arg in condition.args for part in _parts(arg))
    return (condition,)


# ------------------------------------------------------------------ what a run carries


def _carry(states: list[State]) -> None:
    """Projection as early as it can be: a state's runs carry what its filter, its edges and those after them read."""
    final = states[-1]
    final.carried = dict(final.attrs)
    leaving: dict[int, list[tuple[Edge, State]]] = {}
    for state in states:
        for edge in state.incoming:
            leaving.setdefault(edge.source, []).append((edge, state))
    for place in range(len(states) - 2, -1, -1):
        state = states[place]
        needed = {name for e in state.filter for name in _registers(e)}
        while True:
            found = set(needed)
            for edge, target in leaving.get(place, ()):
                found |= {name for e in edge.conditions for name in _registers(e)}
                kept = found if target is state else target.carried
                found |= {n for name in kept for n in _registers(edge.outputs[name])}
            if found == needed:
                break
            needed = found
        state.carried = {n: t for n, t in state.attrs.items() if n in needed}


def _registers(expr: Expr) -> Iterable[str]:
    if isinstance(expr, Attr):
        return (expr.name,) if expr.var == RUN else ()
    return {node.name for node in walk(expr) if isinstance(node, Attr) and node.var == RUN}
