"""Automata of CESAR together: states that say the same are one, and all are data for one kernel.

    Automaton ─ add ─> states and edges, each found by what it says (4.2) ─> arrays, indexes
    events ─ step ─> the runs move ─> results, by final state and the queries that it is final for

A query alone is a set of one. Nothing here is compiled for a query, so that one more costs its own edges: a hash table and
some sorted lists take them in while events flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from augury.algebra import DUR
from augury.engines.kernels import network as kernel
from augury.engines.programs import COMPARISON, PLAIN, Assembler, Beyond, of_event
from augury.engines.runs import FAR, Columns, Grown, Results, Runs, Variant, variant
from augury.engines.words import Codes, word_of
from augury.expr.fold import fold
from augury.expr.tree import (
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
)
from augury.expr.types import BOOL, INT64_MAX, INT64_MIN, Kind, Type
from augury.plan.linear import EVENT, ROOT, RUN, WHOLE, Automaton, Edge, State

FEW = 8  # edges of one state that are tested one by one
MANY_SIGNATURES = 64
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


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


@dataclass(slots=True)
class _Query:
    nodes: list[int] = field(default_factory=list)


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
        self.queries: dict[int, _Query] = {}
        self.uses: list[int] = []  # by node: how many queries have it
        self.names: list[Any] = []  # by node: what it says
        self.types: list[tuple[Type, ...]] = []  # by node: of its registers
        self.registers = 1
        self._nodes: dict[Any, int] = {}
        self._signatures: dict[tuple[int, ...], int] = {}
        self._ranges: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
        self._always: list[int] = []
        self._fanout: dict[int, int] = {}
        self._bounded: dict[int, bool] = {}  # by node: its filter alone ends its runs
        self._incoming: dict[int, list[int]] = {}
        self._run_columns: dict[int, None] = {}
        self._constants: dict[Any, int] = {}
        self._exprs: list[Expr] = []
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

    def add(self, query: int, automaton: Automaton, since: int | None) -> None:
        """A query more. Its runs begin with events that end after `since`."""
        taken = self.queries[query] = _Query()
        place: dict[int, int] = {}
        carried = [{name: str(i) for i, name in enumerate(s.carried)} for s in automaton.states]
        for number, state in enumerate(automaton.states):
            node = self._node(number, state, place, carried, since, query)
            place[number] = node
            taken.nodes.append(node)
            self.uses[node] += 1
        final = place[len(automaton.states) - 1]
        self.accepts.setdefault(final, []).append(Accept(query, automaton.final.attrs))
        self._tables = None

    def remove(self, query: int) -> None:
        """A query less: what it alone used is dead."""
        gone = self.queries.pop(query)
        final = gone.nodes[-1]
        self.accepts[final] = [a for a in self.accepts[final] if a.query != query]
        for node in gone.nodes:
            self.uses[node] -= 1
            if self.uses[node] == 0:
                self.at["node_dead"][node] = 1
                self._nodes.pop(self.names[node], None)
                for edge in self._incoming.pop(node, ()):
                    self.at["edge_dead"][edge] = 1
        self._tables = None

    def _node(
        self,
        number: int,
        state: State,
        place: Mapping[int, int],
        carried: Sequence[Mapping[str, str]],
        since: int | None,
        query: int,
    ) -> int:
        """The state's node: one that says the same, or a new one."""
        registers = tuple(t.kind for t in state.carried.values())
        conditions = [_numbered(e, carried[number]) for e in state.filter]
        edges = []
        for edge in state.incoming:
            names = {} if edge.source == ROOT else carried[edge.source]
            tests = [_numbered(e, names) for e in edge.conditions]
            outputs = [_numbered(edge.outputs[n], names) for n in state.carried]
            edges.append((edge, tests, outputs))
        said = (
            tuple(
                (
                    -2 if e.source == number else place.get(e.source, ROOT),
                    e.stream,
                    tuple(map(signature, tests)),
                    tuple(map(signature, outputs)),
                )
                for e, tests, outputs in edges
            ),
            state.stream,
            tuple(map(signature, conditions)),
            registers,
            since,
            bool(state.filter) or number < len(carried) - 1,
            None if self.share else query,
        )
        node = self._nodes.get(said)
        if node is not None:
            return node
        node = self._nodes[said] = self._new_node(state, conditions, is_final=number == len(carried) - 1)
        self.names.append(said)
        for edge, tests, outputs in edges:
            source = node if edge.source == number else place.get(edge.source, ROOT)
            self._new_edge(edge, source, node, tests, outputs, since)
        return node

    def _new_node(self, state: State, conditions: Sequence[Expr], *, is_final: bool) -> int:
        at, node = self.at, self.nodes
        self.uses.append(0)
        self.types.append(tuple(state.carried.values()))
        self.registers = max(self.registers, len(state.carried))
        atoms, dynamic = self._split(conditions, state.stream)
        if not is_final:
            atoms.append((self.columns.stream, kernel.EQ, state.stream))
        start = len(at["atom_op"])
        self._append_atoms(atoms)
        at["node_atoms"].append(start)
        at["node_atoms_end"].append(len(at["atom_op"]))
        at["node_programs"].append(len(at["program_start"]))
        for expr in dynamic:
            self._program(expr, state.stream)
        at["node_programs_end"].append(len(at["program_start"]))
        bound = _bound(conditions, self.unit)
        self._bounded[node] = bound is not None
        at["node_longest"].append(FAR if bound is None else bound)
        column, register, word = -1, -1, 0
        if not is_final:
            column, register, word = self._index_of_runs(atoms, dynamic, state.stream)
            self._run_columns[column] = None
        at["node_column"].append(column)
        at["node_register"].append(register)
        at["node_word"].append(word)
        at["node_edge"].append(-1)
        at["node_final"].append(int(is_final))
        at["node_dead"].append(0)
        at["node_registers"].append(len(state.carried))
        return node

    def _index_of_runs(
        self, atoms: Sequence[tuple[int, int, int]], dynamic: Sequence[Expr], stream: int
    ) -> tuple[int, int, int]:
        """The column by which a state's runs are found, and the register or the constant that it equals."""
        if self.share:
            for expr in dynamic:
                if isinstance(expr, Binary) and expr.op == "=":
                    for event, run in ((expr.left, expr.right), (expr.right, expr.left)):
                        kinds = {typed(event).kind, typed(run).kind}
                        if not (kinds <= PLAIN or kinds in ({Kind.STRING}, {Kind.BINARY})):
                            continue
                        if of_event(event) and isinstance(run, Attr) and run.var == RUN:
                            return self.columns.number(event, stream), int(run.name), 0
            for column, op, word in atoms:
                if op == kernel.EQ and column != self.columns.stream:
                    return column, -1, word
        return -1, -1, 0

    def _new_edge(
        self,
        edge: Edge,
        source: int,
        target: int,
        tests: Sequence[Expr],
        outputs: Sequence[Expr],
        since: int | None,
    ) -> None:
        at, number = self.at, self.edges
        atoms, dynamic = self._split(tests, edge.stream)
        if source == ROOT:
            atoms.append((self.columns.stream, kernel.EQ, edge.stream))
        at["edge_atoms"].append(len(at["atom_op"]))
        self._append_atoms(atoms)
        at["edge_atoms_end"].append(len(at["atom_op"]))
        program = -1
        if dynamic:
            program = self._program(
                dynamic[0] if len(dynamic) == 1 else Logic("AND", tuple(dynamic), type=BOOL), edge.stream
            )
        at["edge_program"].append(program)
        moves = [self._move(expr, edge.stream) for expr in outputs]
        at["edge_moves"].append(len(at["move_kind"]))
        for register, (kind, what) in enumerate(moves):
            at["move_target"].append(register)
            at["move_kind"].append(kind)
            at["move_source"].append(what)
        at["edge_moves_end"].append(len(at["move_kind"]))
        at["edge_source"].append(source)
        at["edge_target"].append(target)
        at["edge_dead"].append(0)
        at["edge_from"].append(INT64_MIN if since is None else min(since + 1, INT64_MAX))
        at["edge_found"].append(-1)
        at["edge_next"].append(-1)
        at["edge_signature"].append(-1)
        self._incoming.setdefault(target, []).append(number)
        self._place(number, source, atoms)
        if source != ROOT and not self._bounded[source]:
            bound = _bound(tests, self.unit)
            known = at["node_longest"][source] if self._fanout[source] > 1 else INT64_MIN
            at["node_longest"][source] = max(int(known), FAR if bound is None else bound)

    def _place(self, edge: int, source: int, atoms: Sequence[tuple[int, int, int]]) -> None:
        """Where an edge is found: with its source if that has few, else by an index."""
        fan = self._fanout[source] = self._fanout.get(source, 0) + 1
        equal = tuple(sorted({c for c, op, _ in atoms if op == kernel.EQ and c != self.columns.stream}))
        ranged = next(((c, op, w) for c, op, w in atoms if _side(op) is not None), None)
        if source != ROOT and (fan <= FEW or not self.share or (not equal and ranged is None)):
            self.at["edge_next"][edge] = self.at["node_edge"][source]
            self.at["node_edge"][source] = edge
            return
        if not equal and ranged is not None:
            column, op, word = ranged
            is_float = op >= kernel.FLOATS
            side = _side(op)
            assert side is not None
            entry = (kernel.ordered(word, is_float), edge)
            self._ranges.setdefault((column, side, is_float), []).append(entry)
            return
        if not equal:
            equal = (self.columns.stream,)
        if equal not in self._signatures and len(self._signatures) >= MANY_SIGNATURES:
            equal = equal[-1:]
        self.at["edge_signature"][edge] = self._signatures.setdefault(equal, len(self._signatures))

    # -------------------------------------------------------------- expressions

    def _split(self, tests: Sequence[Expr], stream: int) -> tuple[list[tuple[int, int, int]], list[Expr]]:
        """Comparisons that an event decides by itself, and what is left."""
        atoms: list[tuple[int, int, int]] = []
        dynamic: list[Expr] = []
        for test in tests:
            if of_event(test):
                atoms.append(self._atom(test, stream))
                continue
            folded = fold(test)
            if isinstance(folded, Literal):
                if folded.value is not True:  # it never holds: no stream has this number
                    atoms.append((self.columns.stream, kernel.EQ, INT64_MIN))
            else:
                dynamic.append(folded)
        return atoms, dynamic

    def _atom(self, test: Expr, stream: int) -> tuple[int, int, int]:
        """One comparison of a column with a constant; what is no such thing is a column that is true."""
        if isinstance(test, Binary) and test.op in COMPARISON:
            for column, other, sign in (
                (test.left, fold(test.right), test.op),
                (test.right, fold(test.left), _MIRRORED[test.op]),
            ):
                if not isinstance(other, Literal) or other.value is None:
                    continue
                kinds = {typed(column).kind, typed(other).kind}
                op = COMPARISON[sign]
                if kinds == {Kind.FLOAT}:
                    op += kernel.FLOATS
                elif not (
                    kinds <= PLAIN
                    or (kinds in ({Kind.STRING}, {Kind.BINARY}) and op in (kernel.EQ, kernel.NE))
                ):
                    continue
                return (
                    self.columns.number(column, stream),
                    op,
                    word_of(other.value, typed(other).kind, self.codes),
                )
        return self.columns.number(test, stream), kernel.EQ, 1

    def _append_atoms(self, atoms: Sequence[tuple[int, int, int]]) -> None:
        # What fails most often comes first: equalities.
        for column, op, word in sorted(atoms, key=lambda a: (a[1] != kernel.EQ, a[0] == self.columns.stream)):
            self.at["atom_column"].append(column)
            self.at["atom_op"].append(op)
            self.at["atom_word"].append(word)

    def _move(self, expr: Expr, stream: int) -> tuple[int, int]:
        if of_event(expr):
            return kernel.COPY_EVENT, self.columns.number(expr, stream)
        if isinstance(expr, Attr) and expr.var == RUN:
            return kernel.COPY_RUN, int(expr.name)
        folded = fold(expr)
        if isinstance(folded, Literal):
            return kernel.CONSTANT, self._constant(folded.value, typed(folded).kind)
        return kernel.COMPUTE, self._program(folded, stream)

    def _constant(self, value: Any, kind: Kind) -> int:
        word = 0 if value is None else word_of(value, kind, self.codes)
        name = (word, value is None)
        if name not in self._constants:
            self._constants[name] = len(self._constants)
            self.at["constants"].append(word)
            self.at["constant_null"].append(int(value is None))
        return self._constants[name]

    def _program(self, expr: Expr, stream: int) -> int:
        number = len(self.at["program_start"])
        start = len(self.at["code"]) // 4
        made = Assembler(lambda e: self.columns.number(e, stream), self._constant)
        try:
            self.at["code"].extend(made.assemble(expr))
        except Beyond:
            self.beyond = True
        self.at["program_start"].append(start)
        self.at["program_end"].append(len(self.at["code"]) // 4)
        self._exprs.append(self._over_columns(expr, stream))
        return number

    def _over_columns(self, expr: Expr, stream: int) -> Expr:
        """For who interprets a program: what an event decides by itself is read from its column."""
        if of_event(expr):
            return Attr(EVENT, At.ONE, str(self.columns.number(expr, stream)), type=typed(expr))
        changed = {c: self._over_columns(c, stream) for c in children(expr)}

        def change(node: Expr) -> Expr:
            return changed.get(node, node)

        if not changed:
            return expr
        from dataclasses import fields, replace

        new: dict[str, Any] = {}
        for f in fields(expr):
            value = getattr(expr, f.name)
            if isinstance(value, tuple):
                new[f.name] = tuple(change(v) if v in changed else v for v in value)
            elif f.name not in ("span", "type") and not isinstance(value, str) and value in changed:
                new[f.name] = change(value)
        return replace(expr, **new)

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


def _numbered(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Registers by number: what they were named takes no part in what an automaton does."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Attr) and node.var == RUN:
            return Attr(RUN, At.ONE, names[node.name], type=node.type)
        return node

    return rewrite(expr, change)


def signature(expr: Expr) -> Any:
    """What an expression says, as a value to compare: types and constants are told apart."""
    match expr:
        case Attr():
            return expr.var, expr.name
        case Literal():
            return type(expr.value).__name__, repr(expr.value), typed(expr).kind.value
        case Cast():
            return "cast", typed(expr).kind.value, signature(expr.arg)
    said = getattr(expr, "op", None) or getattr(expr, "fn", None) or getattr(expr, "negated", None)
    return (type(expr).__name__, str(said), *map(signature, children(expr)))


def _bound(tests: Sequence[Expr], unit: int) -> int | None:
    """The longest duration, in instants, for which a conjunction can be true."""
    least = None
    for test in tests:
        if not isinstance(test, Binary):
            continue
        for side, other, sign in (
            (test.left, test.right, test.op),
            (test.right, test.left, _MIRRORED.get(test.op)),
        ):
            if not (isinstance(side, Attr) and side.var == WHOLE and side.name == DUR):
                continue
            if not isinstance(other, Literal) or type(other.value) is not int or sign not in ("<", "<=", "="):
                continue
            found = max(0, (other.value - (sign == "<")) // unit)
            least = found if least is None else min(least, found)
    return least
