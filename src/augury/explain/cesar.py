"""What becomes of CESAR expressions: their automata, and where each predicate is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from augury import algebra
from augury.algebra import DUR
from augury.asking import Asking
from augury.engines.programs import of_event
from augury.errors import QueryError
from augury.explain import Explanation
from augury.expr.printing import text_of
from augury.expr.tree import At, Attr, Expr, Name, rewrite
from augury.plan.linear import EVENT, ROOT, RUN, Automaton, Streams, linear
from augury.resolve_cesar import Typed
from augury.runtime.cesar import program_of
from augury.runtime.options import Options
from augury.runtime.sets import program_of as set_of
from augury.schema import opened

_PLANS = {
    "auto": "all automata in one network: equal states are one, edges and runs are found by indexes",
    "unshared": "each query has states of its own: the baseline of sharing",
    "definition": "plain Python evaluates every operator over all pairs of events, as the definition says",
}


def explain(node: algebra.Node, data: Any, options: Options, *, kernel: bool) -> Explanation:
    """How an expression would be evaluated, with some data or without."""
    if kernel:
        raise QueryError(
            "a CESAR expression has no kernel of its own: its automaton is data for one kernel",
            hint="leave kernel out",
        )
    lines = [
        "EXPRESSION",
        f"  {algebra.notation(node)}",
        "",
        "PLAN",
        f"  {_PLANS.get(options.plan, options.plan)}",
    ]
    if data is None:
        return Explanation("\n".join([*lines, "", "  pass data, or a schema, to see the automaton"]))
    program = program_of(node, _schema(data), options)
    lines += ["", *_automata(program.members[""].query), "", "RESULT"]
    lines += [f"  {f.name}: {f.type}" for f in program.gives]
    return Explanation("\n".join(lines))


def explain_set(queries: Mapping[str, Asking], data: Any, options: Options, *, kernel: bool) -> Explanation:
    """How a set would be evaluated."""
    if kernel:
        raise QueryError("a set has no kernel of its own", hint="ask one of its queries to explain itself")
    shared = [name for name, q in queries.items() if q._algebra is not None]  # noqa: SLF001
    alone = [name for name in queries if name not in set(shared)]
    lines = ["SET", f"  {len(shared)} CESAR expressions, {len(alone)} queries of other languages", "", "PLAN"]
    lines.append(f"  {_PLANS.get(options.plan, options.plan)}")
    lines += ["  queries of other languages are evaluated each by itself"] * bool(alone)
    if data is not None:
        from augury.engines.levels import Levels

        program = set_of(queries, _schema(data), options)
        levels = Levels(program.streams.span, share=options.plan != "unshared", max_runs=options.most_runs)
        states = 0
        for number, member in enumerate(program.streams.members.values()):
            levels.add(number, member.query, member.values)
            states += sum(1 for _ in levels.states(number))
        nodes = sum(n.nodes for n in levels.networks)
        lines += [
            "",
            "SHARING",
            f"  {states} states of all queries are {nodes} nodes with {levels.size} edges",
        ]
    return Explanation("\n".join(lines))


def _schema(data: Any) -> pa.Schema:
    return data if isinstance(data, pa.Schema) else opened(data).schema


class _Named(Streams):
    """Streams by name, and the automata of operands as they are met."""

    def __init__(self) -> None:
        super().__init__()
        self.operands: dict[int, tuple[int, Automaton]] = {}

    def derived(self, operand: Typed, level: int) -> int:
        _ = level
        if id(operand) not in self.operands:
            automaton = linear(operand, self)
            self.operands[id(operand)] = -1 - len(self.operands), automaton
        return self.operands[id(operand)][0]

    def name(self, number: int) -> str:
        if number < 0:
            return f"results of automaton {-number}"
        return next(t for t, n in self.types.items() if n == number)


def _automata(query: Typed) -> list[str]:
    streams = _Named()
    main = linear(query, streams)
    if not streams.operands:
        return _automaton("AUTOMATON", main, streams)
    lines = [
        "RESUBSCRIPTION",
        "  not linear-plus: an operand has an automaton of its own, whose results are a stream",
    ]
    for number, automaton in streams.operands.values():
        lines += ["", *_automaton(f"AUTOMATON {-number}", automaton, streams)]
    return [*lines, "", *_automaton("AUTOMATON of the expression", main, streams)]


def _automaton(title: str, automaton: Automaton, streams: _Named) -> list[str]:
    lines = [title]
    for place, state in enumerate(automaton.states):
        is_final = place == len(automaton.states) - 1
        name = "end" if is_final else str(place + 1)
        carries = ", ".join(state.carried) or "nothing"
        lines.append(f"  state {name}: " + ("the result" if is_final else f"carries {carries}"))
        if not is_final:
            lines.append(f"    ∀ filter: stays while no event of {streams.name(state.stream)} satisfies")
            lines += _tests(state.filter, "      ")
        for edge in state.incoming:
            if edge.source == place:
                kind = "∃ rebind"
            else:
                kind = "∃ start" if edge.source == ROOT else f"∃ forward from {edge.source + 1}"
            lines.append(f"    {kind}, an event of {streams.name(edge.stream)}")
            lines += _tests(edge.conditions, "      ") if edge.conditions else []
    return lines


def _tests(tests: tuple[Expr, ...], indent: str) -> list[str]:
    if not tests:
        return [f"{indent}true"]
    return [
        f"{indent}{text_of(_shown(t))}   -- {'once for a batch of events' if of_event(t) else 'for a run and an event'}"
        for t in tests
    ]


def _shown(expr: Expr) -> Expr:
    def change(node: Expr) -> Expr:
        if not isinstance(node, Attr) or node.var == EVENT:
            return Name(node.name) if isinstance(node, Attr) else node
        return Attr(node.name, At.ONE, "last") if node.var == RUN else Name(DUR)

    return rewrite(expr, change)
