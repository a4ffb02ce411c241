"""What automata say, apart from their constants: queries that differ in constants alone have one recipe for each state.

    Automaton ─ recipe of a state ─> comparisons, programs, moves; constants are holes, numbered
                       └─ a query ─> the values of the holes

A hundred thousand queries come from few shapes. What is costly (types, columns, instructions) is done once for a shape;
a query more is a few numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from augury.algebra import DUR
from augury.engines.kernels import machine
from augury.engines.kernels import network as kernel
from augury.engines.programs import COMPARISON, PLAIN, Assembler, Beyond, of_event
from augury.engines.runs import Columns
from augury.expr.fold import fold
from augury.expr.tree import (
    EXPR_TYPES,
    TAINTED,
    At,
    Attr,
    Binary,
    Cast,
    Expr,
    Literal,
    Logic,
    children,
    rewrite,
    typed,
    walk,
)
from augury.expr.types import BOOL, INT64_MIN, Kind, Type
from augury.plan.linear import ROOT, RUN, WHOLE, Automaton, Edge, State

MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NULL_HOLE = -1

_BINDABLE = {
    (int, Kind.INT),
    (int, Kind.FLOAT),
    (float, Kind.FLOAT),
    (str, Kind.STRING),
    (bool, Kind.BOOL),
}


class Tainted(Exception):  # noqa: N818  # no error: the shape's queries are read one by one
    """A parameter decides more than a constant in its place: queries of this shape share no recipe."""


class Hole(NamedTuple):
    """A constant's place: a parameter by its number, or a value."""

    slot: int | None
    value: Any
    kind: Kind


class Atom(NamedTuple):
    """A comparison of a column with a constant: a hole, or a word."""

    column: int
    op: int
    hole: int | None
    word: int = 0


class ProgramRecipe(NamedTuple):
    code: tuple[int, ...] | None  # None: it is interpreted
    expr: Expr  # over columns and registers
    has_holes: bool
    first_hole: int


class Bound(NamedTuple):
    """DUR compared with a hole."""

    op: str
    hole: int


class Guard(NamedTuple):
    atoms: tuple[Atom, ...]
    programs: tuple[ProgramRecipe, ...]
    bounds: tuple[Bound, ...]


class EdgeRecipe(NamedTuple):
    stream: int
    guard: Guard
    moves: tuple[tuple[int, int], ...]  # kind, source: a hole of CONSTANT, a program of COMPUTE
    programs: tuple[ProgramRecipe, ...]  # of the moves
    movable: bool  # no move has a hole: one list of moves does for all


class StateRecipe(NamedTuple):
    """A state: its filter, and the edges that lead to it."""

    filter: Guard
    edges: tuple[EdgeRecipe, ...]
    kinds: tuple[Kind, ...]
    found_by: tuple[int, int, int | None]  # column, register or -1, hole or None
    is_final: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """A state of an automaton: its recipe's number, the holes, where its edges come from."""

    recipe: int
    holes: tuple[Hole, ...]
    sources: tuple[int, ...]  # places of states, ROOT, or LOOP
    types: tuple[Type, ...]


LOOP = -2


class Recipes:
    """The recipes of a network, each once."""

    def __init__(self, columns: Columns, *, share: bool) -> None:
        self.columns = columns
        self.share = share
        self.recipes: list[StateRecipe] = []
        self._numbers: dict[Any, int] = {}

    def plan(self, automaton: Automaton) -> list[Planned]:
        """The automaton's states; `Tainted` if a parameter is no constant."""
        carried = [{name: str(i) for i, name in enumerate(s.carried)} for s in automaton.states]
        last = len(automaton.states) - 1
        return [
            _Reader(self, carried).state(number, state, is_final=number == last)
            for number, state in enumerate(automaton.states)
        ]

    def number(self, recipe: StateRecipe, said: Any) -> int:
        found = self._numbers.get(said)
        if found is None:
            found = self._numbers[said] = len(self.recipes)
            self.recipes.append(recipe)
        return found


class _Reader:
    """Reads one state."""

    def __init__(self, recipes: Recipes, carried: Sequence[Mapping[str, str]]) -> None:
        self.recipes = recipes
        self.columns = recipes.columns
        self.carried = carried
        self.holes: list[Hole] = []
        self.said: list[Any] = []

    def state(self, number: int, state: State, *, is_final: bool) -> Planned:
        conditions = [_numbered(e, self.carried[number]) for e in state.filter]
        guard = self.guard(conditions, state.stream, () if is_final else (self._of_stream(state.stream),))
        edges = []
        sources = []
        for edge in state.incoming:
            source = LOOP if edge.source == number else edge.source
            sources.append(source)
            names = {} if edge.source == ROOT else self.carried[edge.source]
            edges.append(self.edge(edge, [edge.outputs[n] for n in state.carried], names))
        kinds = tuple(t.kind for t in state.carried.values())
        index = (-1, -1, None) if is_final else self._index(guard, conditions, state.stream)
        recipe = StateRecipe(guard, tuple(edges), kinds, index, is_final)
        said = (tuple(self.said), len(edges), kinds, is_final, state.stream)
        types = tuple(state.carried.values())
        return Planned(self.recipes.number(recipe, said), tuple(self.holes), tuple(sources), types)

    def _of_stream(self, stream: int) -> Atom:
        return Atom(self.columns.stream, kernel.EQ, None, stream)

    def edge(self, edge: Edge, outputs: Sequence[Expr], names: Mapping[str, str]) -> EdgeRecipe:
        tests = [_numbered(e, names) for e in edge.conditions]
        more = (self._of_stream(edge.stream),) if edge.source == ROOT else ()
        guard = self.guard(tests, edge.stream, more, as_one=True)
        self.said.append(("edge", edge.stream, edge.source == ROOT))
        before = len(self.holes)
        programs: list[ProgramRecipe] = []
        moves = [self._move(_numbered(e, names), edge.stream, programs) for e in outputs]
        return EdgeRecipe(
            edge.stream, guard, tuple(moves), tuple(programs), movable=len(self.holes) == before
        )

    # -------------------------------------------------------------- guards

    def guard(
        self, tests: Sequence[Expr], stream: int, more: tuple[Atom, ...], *, as_one: bool = False
    ) -> Guard:
        atoms: list[Atom] = []
        dynamic: list[Expr] = []
        bounds: list[Bound] = []
        for test in tests:
            if of_event(test):
                atoms.append(self._atom(test, stream))
                continue
            folded = fold(test)
            if isinstance(folded, Literal):
                _untainted(folded)
                if folded.value is not True:  # it never holds: no stream has this number
                    atoms.append(Atom(self.columns.stream, kernel.EQ, None, INT64_MIN))
                    self.said.append("never")
            else:
                dynamic.append(folded)
        if as_one and len(dynamic) > 1:
            dynamic = [Logic("AND", tuple(dynamic), type=BOOL)]
        programs = []
        for expr in dynamic:
            first = len(self.holes)
            programs.append(self.program(expr, stream))
            if first < len(self.holes):
                bounds.extend(self._bounds(programs[-1].expr, first))
        # What fails most often comes first: equalities.
        every = sorted([*atoms, *more], key=lambda a: (a.op != kernel.EQ, a.column == self.columns.stream))
        return Guard(tuple(every), tuple(programs), tuple(bounds))

    def _atom(self, test: Expr, stream: int) -> Atom:
        """One comparison of a column with a constant; what is no such thing is a column that is true."""
        if isinstance(test, Binary) and test.op in COMPARISON:
            for event, other, sign in (
                (test.left, fold(test.right), test.op),
                (test.right, fold(test.left), MIRRORED[test.op]),
            ):
                if not isinstance(other, Literal) or other.value is None:
                    continue
                kinds = {typed(event).kind, typed(other).kind}
                op = COMPARISON[sign]
                if kinds == {Kind.FLOAT}:
                    op += kernel.FLOATS
                elif not (
                    kinds <= PLAIN
                    or (kinds in ({Kind.STRING}, {Kind.BINARY}) and op in (kernel.EQ, kernel.NE))
                ):
                    continue
                column = self._column(event, stream)
                self.said.append(("atom", column, op))
                return Atom(column, op, self._hole(other))
        column = self._column(test, stream)
        self.said.append(("holds", column))
        return Atom(column, kernel.EQ, None, 1)

    def _column(self, expr: Expr, stream: int) -> int:
        if isinstance(expr, Attr):
            return self.columns.number(expr, stream)
        for node in walk(expr):
            if isinstance(node, Literal) and node.slot is not None:
                raise Tainted
        return self.columns.number(expr, stream)

    def _hole(self, literal: Literal) -> int:
        if literal.value is None:
            return NULL_HOLE
        _untainted(literal)
        kind = typed(literal).kind
        if literal.slot is not None and (_python_type(literal.value), kind) not in _BINDABLE:
            raise Tainted
        self.holes.append(Hole(literal.slot, literal.value, kind))
        return len(self.holes) - 1

    def _bounds(self, expr: Expr, first: int) -> list[Bound]:
        """Of a condition with one hole that bounds DUR: how."""
        if not isinstance(expr, Logic):
            parts: tuple[Expr, ...] = (expr,)
        elif expr.op == "AND":
            parts = expr.args
        else:
            return []
        found = []
        hole = first
        for part in parts:
            holes = sum(isinstance(n, Literal) and n.value is not None for n in walk(part))
            if isinstance(part, Binary) and holes == 1:
                for side, other, sign in (
                    (part.left, part.right, part.op),
                    (part.right, part.left, MIRRORED.get(part.op)),
                ):
                    whole = isinstance(side, Attr) and side.var == WHOLE and side.name == DUR
                    if (
                        whole
                        and isinstance(other, Literal)
                        and sign in ("<", "<=", "=")
                        and type(other.value) is int
                    ):
                        found.append(Bound(sign, hole))
            hole += holes
        return found if hole == len(self.holes) else []

    def _index(self, guard: Guard, conditions: Sequence[Expr], stream: int) -> tuple[int, int, int | None]:
        """The column by which a state's runs are found, and the register or the constant that it equals."""
        if not self.recipes.share:
            return -1, -1, None
        for expr in conditions:
            if isinstance(expr, Binary) and expr.op == "=":
                for event, run in ((expr.left, expr.right), (expr.right, expr.left)):
                    kinds = {typed(event).kind, typed(run).kind}
                    if not (kinds <= PLAIN or kinds in ({Kind.STRING}, {Kind.BINARY})):
                        continue
                    if of_event(event) and isinstance(run, Attr) and run.var == RUN:
                        return self._column(event, stream), int(run.name), None
        for atom in guard.atoms:
            if atom.op == kernel.EQ and atom.hole is not None:
                return atom.column, -1, atom.hole
        return -1, -1, None

    # -------------------------------------------------------------- values

    def _move(self, expr: Expr, stream: int, programs: list[ProgramRecipe]) -> tuple[int, int]:
        if of_event(expr):
            column = self._column(expr, stream)
            self.said.append(("event", column))
            return kernel.COPY_EVENT, column
        if isinstance(expr, Attr) and expr.var == RUN:
            self.said.append(("run", expr.name))
            return kernel.COPY_RUN, int(expr.name)
        folded = fold(expr)
        if isinstance(folded, Literal):
            hole = self._hole(folded)
            self.said.append(("constant", hole == NULL_HOLE, typed(folded).kind))
            return kernel.CONSTANT, hole
        programs.append(self.program(folded, stream))
        return kernel.COMPUTE, len(programs) - 1

    def program(self, expr: Expr, stream: int) -> ProgramRecipe:
        """An expression over a run and an event."""
        first = len(self.holes)
        template = self._over_columns(expr, stream)
        self.said.append(("program", signature(template)))
        holes = [n for n in walk(template) if isinstance(n, Literal) and n.value is not None]
        numbers = {id(n): first + i for i, n in enumerate(holes)}
        for node in holes:
            self._hole(node)

        def hole_of(node: Literal) -> int:
            return NULL_HOLE if node.value is None else numbers[id(node)]

        made = Assembler(lambda e: int(_attr(e).name), hole_of)
        code: tuple[int, ...] | None
        try:
            code = tuple(made.assemble(template))
        except Beyond:
            code = None
            if any(h.slot is not None for h in self.holes[first:]):
                raise Tainted from None
        return ProgramRecipe(code, template, bool(holes), first)

    def _over_columns(self, expr: Expr, stream: int) -> Expr:
        """What an event decides by itself is read from its column, and every constant is a node of its own."""
        if of_event(expr):
            return Attr("e", At.ONE, str(self._column(expr, stream)), type=typed(expr))
        if isinstance(expr, Literal):
            return replace(expr)
        new: dict[str, Any] = {}
        for f in fields(expr):
            value = getattr(expr, f.name)
            if isinstance(value, tuple) and value and isinstance(value[0], EXPR_TYPES):
                new[f.name] = tuple(self._over_columns(v, stream) for v in value)
            elif isinstance(value, EXPR_TYPES):
                new[f.name] = self._over_columns(value, stream)
        return replace(expr, **new) if new else expr


def _python_type(value: Any) -> type:
    return float if isinstance(value, float) else type(value)


def _attr(expr: Expr) -> Attr:
    assert isinstance(expr, Attr)
    return expr


def _untainted(literal: Literal) -> None:
    if literal.slot == TAINTED:
        raise Tainted


def _numbered(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Registers by number: what they were named takes no part in what an automaton does."""
    if isinstance(expr, Attr):
        return Attr(RUN, At.ONE, names[expr.name], type=expr.type) if expr.var == RUN else expr

    def change(node: Expr) -> Expr:
        if isinstance(node, Attr) and node.var == RUN:
            return Attr(RUN, At.ONE, names[node.name], type=node.type)
        return node

    return rewrite(expr, change)


def signature(expr: Expr) -> Any:
    """What an expression says, its constants left out: their kinds stand for them."""
    match expr:
        case Attr():
            return expr.var, expr.name
        case Literal():
            return "constant", typed(expr).kind.value, expr.value is None
        case Cast():
            return "cast", typed(expr).kind.value, signature(expr.arg)
    said = getattr(expr, "op", None) or getattr(expr, "fn", None) or getattr(expr, "negated", None)
    return (type(expr).__name__, str(said), *map(signature, children(expr)))


def instantiated(code: Sequence[int], constants: Sequence[int], null: int) -> list[int]:
    """A program's instructions with its constants' places: those of the holes, in their order."""
    found = list(code)
    for at in range(0, len(found), 4):
        if found[at] == machine.LOAD_CONSTANT:
            hole = found[at + 2]
            found[at + 2] = null if hole == NULL_HOLE else constants[hole]
    return found
