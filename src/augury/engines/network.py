"""Automata of CESAR together: states that say the same are one, and all are data for one kernel.

    Automaton ─ add ─> states and edges, each found by what it says (4.2) ─> arrays, indexes
    events ─ step ─> the runs move ─> results, by final state and the queries that it is final for

A query alone is a set of one. Nothing here is compiled for a query, so that one more costs its own edges: a hash table and
some sorted lists take them in while events flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from augury.engines.kernels import network as kernel
from augury.engines.recipes import (
    LOOP,
    NULL_HOLE,
    Atom,
    Bound,
    EdgeRecipe,
    Planned,
    ProgramRecipe,
    Recipes,
    instantiated,
)
from augury.engines.runs import FAR, Columns, Grown, Results, Runs, Variant, variant
from augury.engines.words import Codes, value_of, word_of
from augury.expr.tree import Expr, Literal, rewrite, typed
from augury.expr.types import INT64_MAX, INT64_MIN, Type
from augury.plan.linear import ROOT

FEW = 8  # edges of one state that are tested one by one
MANY_SIGNATURES = 64


class Tables(NamedTuple):
    """What the kernel reads of the automata; names as in `kernels.network`."""

    width: int
    registers: int
    unit: int
    node_atoms: Any
    node_atoms_end: Any
    node_programs: Any
    node_programs_end: Any
    node_longest: Any
    node_column: Any
    node_register: Any
    node_word: Any
    node_edge: Any
    node_final: Any
    node_dead: Any
    node_registers: Any
    edge_source: Any
    edge_target: Any
    edge_atoms: Any
    edge_atoms_end: Any
    edge_program: Any
    edge_moves: Any
    edge_moves_end: Any
    edge_next: Any
    edge_dead: Any
    edge_from: Any
    edge_signature: Any
    edge_found: Any
    atom_column: Any
    atom_op: Any
    atom_word: Any
    move_target: Any
    move_kind: Any
    move_source: Any
    program_start: Any
    program_end: Any
    code: Any
    constants: Any
    constant_null: Any
    found_head: Any
    signature_start: Any
    signature_column: Any
    range_column: Any
    range_side: Any
    range_float: Any
    range_start: Any
    range_word: Any
    range_edge: Any
    always: Any
    run_column: Any


GROWN = (
    *(n for n in Tables._fields if n.split("_")[0] in ("node", "edge", "atom", "move", "program")),
    *("code", "constants", "constant_null"),
)


@dataclass(frozen=True, slots=True)
class Accept:
    """A query for which a state is final, and the attributes that its registers are, in order."""

    query: int
    attrs: Mapping[str, Type]


class Network:
    """States, edges and runs. With `share=False` every query has its own, and nothing but start edges is indexed."""

    def __init__(
        self, unit: int, codes: Codes, *, share: bool = True, fast: bool = False, max_runs: int
    ) -> None:
        self.unit = unit
        self.codes = codes
        self.share = share
        self.max_runs = max_runs
        self.columns = Columns()
        self.variant: Variant = variant(fast=fast)
        self.at: dict[str, Grown] = {name: Grown(fast=fast) for name in GROWN}
        self.accepts: dict[int, list[Accept]] = {}
        self.queries: dict[int, list[int]] = {}  # the nodes of each
        self.recipes = Recipes(self.columns, share=share)
        self.uses: list[int] = []  # by node: how many queries have it
        self.names: list[Any] = []  # by node: what it says
        self.types: list[tuple[Type, ...]] = []  # by node: of its registers
        self.registers = 1
        self._nodes: dict[Any, int] = {}
        self._signatures: dict[tuple[int, ...], int] = {}
        self._ranges: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
        self._always: list[int] = []
        self._fanout: list[int] = []
        self._bounded: list[bool] = []  # by node: its filter alone ends its runs
        self._incoming: list[tuple[int, int]] = []  # by node: its edges
        self._shared: dict[int, tuple[Any, tuple[int, int]]] = {}  # by identity: what is there once
        self._run_columns: dict[int, None] = {}
        self._constants: dict[int, int] = {}
        self.at["constants"].append(0)
        self.at["constant_null"].append(1)
        self._exprs: list[tuple[ProgramRecipe, tuple[int, ...]]] = []
        self._indexed = 0  # edges that are in the hash table
        self._tables: Tables | None = None
        self._found_head: Any = None
        self.beyond = False  # an expression that is interpreted: no compiled code can ask it
        self.runs = Runs(fast=fast)

    @property
    def edges(self) -> int:
        return len(self.at["edge_source"])

    @property
    def nodes(self) -> int:
        return len(self.at["node_final"])

    # -------------------------------------------------------------- queries

    def add(
        self,
        query: int,
        planned: Sequence[Planned],
        attrs: Mapping[str, Type],
        values: Sequence[Any],
        since: int | None,
    ) -> None:
        """A query more, its parameters having these values. Its runs begin with events that end after `since`."""
        taken: list[int] = []
        for state in planned:
            words = tuple(
                word_of(h.value if h.slot is None else values[h.slot], h.kind, self.codes)
                for h in state.holes
            )
            sources = tuple(taken[p] if p >= 0 else p for p in state.sources)
            said = state.recipe, sources, words, since, None if self.share else query
            node = self._nodes.get(said)
            if node is None:
                node = self._nodes[said] = self._new_node(state, sources, words, since)
                self.names.append(said)
            taken.append(node)
            self.uses[node] += 1
        self.queries[query] = taken
        self.accepts.setdefault(taken[-1], []).append(Accept(query, attrs))
        self._tables = None

    def remove(self, query: int) -> None:
        """A query less: what it alone used is dead."""
        gone = self.queries.pop(query)
        final = gone[-1]
        self.accepts[final] = [a for a in self.accepts[final] if a.query != query]
        for node in gone:
            self.uses[node] -= 1
            if self.uses[node] == 0:
                self.at["node_dead"][node] = 1
                self._nodes.pop(self.names[node], None)
                for edge in range(*self._incoming[node]):
                    self.at["edge_dead"][edge] = 1
        self._tables = None

    def _new_node(
        self, state: Planned, sources: Sequence[int], words: Sequence[int], since: int | None
    ) -> int:
        at, node = self.at, self.nodes
        recipe = self.recipes.recipes[state.recipe]
        self.uses.append(0)
        self.types.append(state.types)
        self.registers = max(self.registers, len(recipe.kinds))
        start, end = self._atoms(recipe.filter.atoms, words)
        at["node_atoms"].append(start)
        at["node_atoms_end"].append(end)
        first, last = self._programs(recipe.filter.programs, words)
        at["node_programs"].append(first)
        at["node_programs_end"].append(last)
        bound = self._longest(recipe.filter.bounds, words)
        self._bounded.append(bound is not None)
        self._fanout.append(0)
        at["node_longest"].append(FAR if bound is None else bound)
        column, register, hole = recipe.found_by
        if not recipe.is_final:
            self._run_columns[column] = None
        at["node_column"].append(column)
        at["node_register"].append(register)
        at["node_word"].append(0 if hole is None else words[hole])
        at["node_edge"].append(-1)
        at["node_final"].append(int(recipe.is_final))
        at["node_dead"].append(0)
        at["node_registers"].append(len(recipe.kinds))
        first_edge = self.edges
        for edge, source in zip(recipe.edges, sources, strict=True):
            self._new_edge(edge, node if source == LOOP else source, node, words, since)
        self._incoming.append((first_edge, self.edges))
        return node

    def _new_edge(
        self, edge: EdgeRecipe, source: int, target: int, words: Sequence[int], since: int | None
    ) -> None:
        at, number = self.at, self.edges
        start, end = self._atoms(edge.guard.atoms, words)
        at["edge_atoms"].append(start)
        at["edge_atoms_end"].append(end)
        program = -1
        if edge.guard.programs:
            program, _ = self._programs(edge.guard.programs, words)
        at["edge_program"].append(program)
        start, end = self._moves(edge, words)
        at["edge_moves"].append(start)
        at["edge_moves_end"].append(end)
        at["edge_source"].append(source)
        at["edge_target"].append(target)
        at["edge_dead"].append(0)
        at["edge_from"].append(INT64_MIN if since is None else min(since + 1, INT64_MAX))
        at["edge_found"].append(-1)
        at["edge_next"].append(-1)
        at["edge_signature"].append(-1)
        self._place(number, source, edge.guard.atoms, words)
        if source != ROOT and not self._bounded[source]:
            bound = self._longest(edge.guard.bounds, words)
            known = at["node_longest"][source] if self._fanout[source] > 1 else INT64_MIN
            at["node_longest"][source] = max(int(known), FAR if bound is None else bound)

    def _place(self, edge: int, source: int, atoms: Sequence[Atom], words: Sequence[int]) -> None:
        """Where an edge is found: with its source if that has few, else by an index."""
        fan = 1
        if source != ROOT:
            fan = self._fanout[source] = self._fanout[source] + 1
        equal = tuple(
            sorted({a.column for a in atoms if a.op == kernel.EQ and a.column != self.columns.stream})
        )
        ranged = next((a for a in atoms if _side(a.op) is not None), None)
        if source != ROOT and (fan <= FEW or not self.share or (not equal and ranged is None)):
            self.at["edge_next"][edge] = self.at["node_edge"][source]
            self.at["node_edge"][source] = edge
            return
        if not equal and ranged is not None:
            is_float = ranged.op >= kernel.FLOATS
            side = _side(ranged.op)
            assert side is not None
            entry = (kernel.ordered(_word(ranged, words), is_float), edge)
            self._ranges.setdefault((ranged.column, side, is_float), []).append(entry)
            return
        if not equal:
            equal = (self.columns.stream,)
        if equal not in self._signatures and len(self._signatures) >= MANY_SIGNATURES:
            equal = equal[-1:]
        self.at["edge_signature"][edge] = self._signatures.setdefault(equal, len(self._signatures))

    # -------------------------------------------------------------- what recipes become

    def _atoms(self, atoms: Sequence[Atom], words: Sequence[int]) -> tuple[int, int]:
        start = len(self.at["atom_op"])
        for atom in atoms:
            self.at["atom_column"].append(atom.column)
            self.at["atom_op"].append(atom.op)
            self.at["atom_word"].append(_word(atom, words))
        return start, start + len(atoms)

    def _programs(self, programs: Sequence[ProgramRecipe], words: Sequence[int]) -> tuple[int, int]:
        """The numbers of some programs, one after another. Those without constants are there once."""
        known = self._shared.get(id(programs))
        if known is not None:
            return known[1]
        first = len(self.at["program_start"])
        for recipe in programs:
            self._program(recipe, words)
        found = first, len(self.at["program_start"])
        if not any(p.has_holes for p in programs):
            self._shared[id(programs)] = programs, found
        return found

    def _program(self, recipe: ProgramRecipe, words: Sequence[int]) -> int:
        number = len(self.at["program_start"])
        start = len(self.at["code"]) // 4
        if recipe.code is None:
            self.beyond = True
        elif recipe.has_holes:
            constants = [self._constant(word) for word in words]
            self.at["code"].extend(instantiated(recipe.code, constants, 0))
        else:
            self.at["code"].extend(instantiated(recipe.code, (), 0))
        self.at["program_start"].append(start)
        self.at["program_end"].append(len(self.at["code"]) // 4)
        self._exprs.append((recipe, tuple(words) if recipe.has_holes else ()))
        return number

    def _moves(self, edge: EdgeRecipe, words: Sequence[int]) -> tuple[int, int]:
        known = self._shared.get(id(edge.moves))
        if known is not None:
            return known[1]
        at, start = self.at, len(self.at["move_kind"])
        programs = [self._program(p, words) for p in edge.programs]
        for register, (kind, what) in enumerate(edge.moves):
            source = what
            if kind == kernel.CONSTANT:
                source = 0 if what == NULL_HOLE else self._constant(words[what])
            elif kind == kernel.COMPUTE:
                source = programs[what]
            at["move_target"].append(register)
            at["move_kind"].append(kind)
            at["move_source"].append(source)
        found = start, len(at["move_kind"])
        if edge.movable:
            self._shared[id(edge.moves)] = edge.moves, found
        return found

    def _constant(self, word: int) -> int:
        """The place of a constant; at 0 there is a null."""
        if word not in self._constants:
            self._constants[word] = len(self._constants) + 1
            self.at["constants"].append(word)
            self.at["constant_null"].append(0)
        return self._constants[word]

    def _longest(self, bounds: Sequence[Bound], words: Sequence[int]) -> int | None:
        """The longest duration, in instants, for which a conjunction can be true."""
        found = [max(0, (words[b.hole] - (b.op == "<")) // self.unit) for b in bounds]
        return min(found, default=None)

    def expr(self, program: int) -> Expr:
        """What a program computes, for who interprets it."""
        recipe, words = self._exprs[program]
        if not words:
            return recipe.expr
        holes = itertools.count(recipe.first_hole)

        def change(node: Expr) -> Expr:
            if isinstance(node, Literal) and node.value is not None:
                kind = typed(node).kind
                return Literal("constant", value_of(words[next(holes)], kind, self.codes), type=node.type)
            return node

        return rewrite(recipe.expr, change)  # which meets constants in their order

    # -------------------------------------------------------------- arrays

    def tables(self) -> Tables:
        """The arrays as they are now."""
        if self._tables is not None and self._tables.width == self.columns.width:
            return self._tables
        self._index()
        array = self.variant.array
        starts, columns = self._signature_columns()
        keys = list(self._ranges)
        words: list[int] = []
        found: list[int] = []
        ends = [0]
        for key in keys:
            entries = self._ranges[key]
            entries.sort()
            words.extend(w for w, _ in entries)
            found.extend(e for _, e in entries)
            ends.append(len(words))
        self._tables = Tables(
            width=self.columns.width,
            registers=self.registers,
            unit=self.unit,
            found_head=self._found_head,
            signature_start=array(starts),
            signature_column=array(columns),
            range_column=array([c for c, _, _ in keys]),
            range_side=array([s for _, s, _ in keys]),
            range_float=array([int(f) for _, _, f in keys]),
            range_start=array(ends),
            range_word=array(words),
            range_edge=array(found),
            always=array(self._always),
            run_column=array(list(self._run_columns)),
            **{name: self.at[name].data for name in GROWN},
        )
        return self._tables

    def _signature_columns(self) -> tuple[list[int], list[int]]:
        """Where each signature's columns begin, and the columns."""
        starts, columns = [0], list[int]()
        for found in self._signatures:
            columns.extend(found)
            starts.append(len(columns))
        return starts, columns

    def _index(self) -> None:
        """Edges that are new get into the hash table, which is made anew when it is too small."""
        if self._found_head is None or len(self._found_head) < 2 * self.edges:
            size = 16
            while size < 4 * self.edges:
                size *= 2
            self._found_head = self.variant.array([-1] * size if not self.variant.fast else np.full(size, -1))
            self._indexed = 0
        array = self.variant.array
        starts, columns = self._signature_columns()
        part = Part(
            self.at["edge_signature"].data,
            self.at["edge_atoms"].data,
            self.at["edge_found"].data,
            self.at["atom_column"].data,
            self.at["atom_op"].data,
            self.at["atom_word"].data,
            self._found_head,
            array(starts),
            array(columns),
        )
        if self._indexed < self.edges:
            self.variant.call("index_edges")(self._indexed, self.edges, part)
            self._indexed = self.edges

    # -------------------------------------------------------------- events

    def step(self, events: Any) -> Iterator[Results]:
        """The events' effect, in the order of their ends; results a piece at a time."""
        if self.beyond and self.variant.name != "interpreted":
            self._become(variant(fast=False, network=self))
        elif self.variant.name == "interpreted":
            self.variant.bind(self)
        tables = self.tables()
        yield from self.runs.drive(self.variant, events, tables, self.nodes, self.edges, self.max_runs)

    def _become(self, other: Variant) -> None:
        was = self.variant
        self.variant = other
        if was.fast and not other.fast:
            for grown in self.at.values():
                grown.plain()
            self.runs.plain()
            self._found_head = None
            self._tables = None

    def compile(self) -> None:
        """From here on the kernel is compiled, if all expressions can be."""
        if self.beyond or self.variant.fast:
            return
        self.variant = variant(fast=True)
        for grown in self.at.values():
            grown.compiled()
        self.runs.compiled()
        self._found_head = None
        self._tables = None


class Part(NamedTuple):
    """What `index_edges` reads and writes."""

    edge_signature: Any
    edge_atoms: Any
    edge_found: Any
    atom_column: Any
    atom_op: Any
    atom_word: Any
    found_head: Any
    signature_start: Any
    signature_column: Any


def _side(op: int) -> int | None:
    """In which list of ranges a comparison goes."""
    match op % kernel.FLOATS:
        case kernel.GT | kernel.GE:
            return kernel.BELOW
        case kernel.LT | kernel.LE:
            return kernel.ABOVE
        case kernel.EQ if op >= kernel.FLOATS:
            return kernel.BELOW
    return None


def _word(atom: Atom, words: Sequence[int]) -> int:
    return atom.word if atom.hole is None else words[atom.hole]
