"""The runs of a network and the memory that they live in, and the two ways in which its kernel runs.

Arrays of the kernel are NumPy's where it is compiled, and lists where it runs as plain Python, which reads them faster and
has integers that do not wrap. Both hold the same numbers.
"""

from __future__ import annotations

import functools
import inspect
import struct
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.engines.compiling import compiled_module, is_kept
from augury.engines.kernels import machine
from augury.engines.kernels import network as kernel
from augury.engines.words import value_of, word_of
from augury.errors import LimitError
from augury.expr import scalars
from augury.expr.interpret import interpret
from augury.expr.tree import Attr, Cast, Expr, Literal, children, typed
from augury.expr.types import INT64_MAX
from augury.plan.linear import EVENT, RUN

if TYPE_CHECKING:
    from augury.engines.network import Network, Tables

FAR = INT64_MAX  # a duration that no run reaches
Ints = npt.NDArray[np.int64]


class Events(NamedTuple):
    """A batch in order of ends, no end of it cut: the columns of each event side by side."""

    words: Any
    nulls: Any
    start: Any
    end: Any
    key: Any


class Results(NamedTuple):
    """Final runs, in the order of their ends."""

    node: Ints
    start: Ints
    end: Ints
    key: Ints
    regs: Ints
    null: npt.NDArray[np.bool_]

    def some(self, rows: npt.NDArray[Any]) -> Results:
        return Results(
            *(self.node[rows], self.start[rows], self.end[rows], self.key[rows]),
            *(self.regs[rows], self.null[rows]),
        )


class Columns:
    """The columns of an event: expressions that it decides by itself, each once, by the stream that it is of.

    Column 0 says which stream that is. All base streams are rows of one table, and share their columns.
    """

    stream = 0

    def __init__(self) -> None:
        self.exprs: list[tuple[int | None, Expr]] = []
        self._numbers: dict[Any, int] = {}

    @property
    def width(self) -> int:
        return len(self.exprs) + 1

    def number(self, expr: Expr, stream: int) -> int:
        of = stream if stream < 0 else None
        name = (of, identity(expr))
        found = self._numbers.get(name)
        if found is None:
            self.exprs.append((of, expr))
            found = self._numbers[name] = len(self.exprs)
        return found


def identity(expr: Expr) -> Any:
    """What an expression says, as a value to compare: types and constants are told apart."""
    match expr:
        case Attr():
            return expr.var, expr.name
        case Literal():
            return type(expr.value).__name__, repr(expr.value), typed(expr).kind.value
        case Cast():
            return "cast", typed(expr).kind.value, identity(expr.arg)
    said = getattr(expr, "op", None) or getattr(expr, "fn", None) or getattr(expr, "negated", None)
    return (type(expr).__name__, str(said), *map(identity, children(expr)))


class Grown:
    """An array that grows at its end."""

    def __init__(self, *, fast: bool) -> None:
        self.data: Any = np.zeros(16, np.int64) if fast else []
        self.fast = fast
        self.length = 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> Any:
        return self.data[place]

    def __setitem__(self, place: int, value: int) -> None:
        self.data[place] = value

    def append(self, value: int) -> None:
        if not self.fast:
            self.data.append(value)
        else:
            if self.length == len(self.data):
                self.data = np.concatenate([self.data, np.zeros(max(16, len(self.data)), np.int64)])
            self.data[self.length] = value
        self.length += 1

    def extend(self, values: Sequence[int]) -> None:
        if not self.fast:
            self.data.extend(values)
        else:
            while self.length + len(values) > len(self.data):
                self.data = np.concatenate([self.data, np.zeros(max(16, len(self.data)), np.int64)])
            self.data[self.length : self.length + len(values)] = values
        self.length += len(values)

    def plain(self) -> None:
        if self.fast:
            self.data, self.fast = self.data[: self.length].tolist(), False

    def compiled(self) -> None:
        if not self.fast:
            self.data, self.fast = np.array([*self.data, 0], np.int64), True


# ------------------------------------------------------------------ the kernel, in two ways


class Variant:
    """The kernel's functions: compiled, or as plain Python in a namespace with its own `program`."""

    def __init__(self, name: str, functions: Any, *, fast: bool) -> None:
        self.name = name
        self.fast = fast
        self._functions = functions

    def call(self, name: str) -> Callable[..., Any]:
        if isinstance(self._functions, dict):
            return self._functions[name]  # type: ignore[no-any-return]
        return getattr(self._functions, name)  # type: ignore[no-any-return]

    def array(self, values: Any) -> Any:
        if self.fast:
            return np.asarray(values, np.int64)
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    def zeros(self, length: int, *, flags: bool = False) -> Any:
        return np.zeros(length, np.uint8 if flags else np.int64) if self.fast else [0] * length

    def bind(self, network: Network) -> None:
        """Interpreted programs are the network's."""
        assert isinstance(self._functions, dict)
        self._functions["program"] = _interpreted(network)


def variant(*, fast: bool, network: Network | None = None) -> Variant:
    if network is not None:
        made = Variant("interpreted", _namespace(), fast=False)
        made.bind(network)
        return made
    if fast:
        return Variant("compiled", _compiled(), fast=True)
    return Variant("plain", _namespace(), fast=False)


def _source() -> str:
    """One source of kernel and machine. What they import is put in by who runs it."""
    parts = [inspect.getsource(m) for m in (kernel, machine)]
    second = parts[1]
    start = second.index("LOAD_EVENT, ")
    return f"{parts[0]}\n\n{second[start : second.index('FUNCTIONS = (')]}"


_KEPT = (
    "# 2: inlined, without counts of references"  # Numba's cache does not tell how a function was compiled
)


@functools.cache
def _compiled() -> ModuleType:
    names = [n for n in kernel.FUNCTIONS if n != "program"]
    place = kernel.FUNCTIONS.index("program")
    order = [*names[:place], *machine.FUNCTIONS, *names[place:]]
    helpers = {f.__name__: scalars.COMPILABLE[f.__name__] for f in machine.HELPERS}
    return compiled_module(
        f"{_KEPT}\n{_source()}", {name: name not in kernel.CALLED for name in order}, helpers
    )


@functools.cache
def lies_compiled() -> bool:
    """Whether the compiled kernel is there, so that nobody waits for a compiler."""
    return is_kept(f"{_KEPT}\n{_source()}", "drive")


def _namespace() -> dict[str, Any]:
    names: dict[str, Any] = {f.__name__: f for f in machine.HELPERS}
    exec(_code(), names)  # noqa: S102  # our own modules, and nothing else
    names["as_float"] = _as_float
    names["as_word"] = _as_word
    return names


@functools.cache
def _code() -> Any:
    return compile(_source(), "<augury network kernel>", "exec")


def _as_float(word: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", word))[0])


def _as_word(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _interpreted(network: Network) -> Callable[..., tuple[int, bool]]:
    """Programs by the interpreter: for what the machine has no instruction for."""
    codes, unit = network.codes, network.unit
    exprs: dict[int, Expr] = {}

    def program(p: int, k: int, e: int, ev: Events, au: Tables, st: Any) -> tuple[int, bool]:
        expr = exprs.get(p)
        if expr is None:
            expr = exprs[p] = network.expr(p)

        def leaf(node: Any) -> Any:
            assert isinstance(node, Attr)
            kind = typed(node).kind
            if node.var == EVENT:
                at = e * au.width + int(node.name)
                return None if ev.nulls[at] else value_of(ev.words[at], kind, codes)
            if node.var == RUN:
                at = k * au.registers + int(node.name)
                return None if st.null[at] else value_of(st.regs[at], kind, codes)
            start = ev.start[e] if k < 0 else st.start[k]
            span = (ev.end[e] - start + 1) * unit
            return span if -(2**63) <= span < 2**63 else None

        found = leaf(expr) if isinstance(expr, Attr) else interpret(expr, leaf)
        if found is None:
            return 0, True
        return word_of(found, typed(expr).kind, codes), False

    return program


# ------------------------------------------------------------------ runs


class Store(NamedTuple):
    """What the kernel writes; names as there."""

    control: Any
    node: Any
    start: Any
    end: Any
    key: Any
    next: Any
    hit: Any
    regs: Any
    null: Any
    head: Any
    slot_stamp: Any
    visited: Any
    pending_node: Any
    pending_start: Any
    pending_key: Any
    pending_regs: Any
    pending_null: Any
    twin: Any
    twin_stamp: Any
    out_node: Any
    out_start: Any
    out_end: Any
    out_key: Any
    out_regs: Any
    out_null: Any
    noted_stamp: Any
    noted_head: Any
    noted_next: Any
    words: Any
    nulls: Any


_FLAGS = frozenset({"null", "pending_null", "out_null", "nulls"})


class Runs:
    """The runs that are alive, in arrays that grow."""

    def __init__(self, *, fast: bool) -> None:
        self.fast = fast
        self.registers = 0
        self.at: dict[str, Any] = {}

    @property
    def live(self) -> int:
        return int(self.at["control"][kernel.LIVE]) if self.at else 0

    @property
    def peak(self) -> int:
        return int(self.at["control"][kernel.PEAK]) if self.at else 0

    @property
    def evaluations(self) -> int:
        return int(self.at["control"][kernel.EVALUATIONS]) if self.at else 0

    def plain(self) -> None:
        self.fast = False
        self.at = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in self.at.items()}

    def compiled(self) -> None:
        self.fast = True
        self.at = {
            n: np.array(a, np.uint8 if n in _FLAGS else np.int64) if isinstance(a, list) else a
            for n, a in self.at.items()
        }

    def copy(self) -> Runs:
        """The runs as they are now; what happens to these leaves those alone."""
        other = Runs(fast=self.fast)
        other.registers = self.registers
        other.at = {n: a.copy() for n, a in self.at.items()}
        return other

    def _begin(self, v: Variant, registers: int) -> None:
        self.registers = registers
        self.at["control"] = v.zeros(kernel.CONTROL)
        self.at["control"][kernel.FREE] = -1
        for name in ("words", "nulls"):
            self.at[name] = v.zeros(64, flags=name in _FLAGS)
        for name in ("node", "start", "end", "key", "next", "hit", "regs", "null"):
            self.at[name] = v.zeros(0, flags=name in _FLAGS)
        for name in ("noted_stamp", "noted_head", "noted_next"):
            self.at[name] = v.zeros(0)
        self._room(v, 64)
        self._pending(v, 64)
        self._outputs(v, 256)

    def _longer(self, v: Variant, name: str, length: int) -> None:
        array = self.at[name]
        more = length - len(array)
        if more > 0:
            new = v.zeros(more, flags=name in _FLAGS)
            self.at[name] = np.concatenate([array, new]) if v.fast else array + new

    def _room(self, v: Variant, runs: int) -> None:
        """Places for so many runs."""
        before = len(self.at["node"])
        for name in ("node", "start", "end", "key", "next", "hit"):
            self._longer(v, name, runs)
        for name in ("regs", "null"):
            self._longer(v, name, runs * self.registers)
        v.call("chain_free")(before, Some(**{n: self.at[n] for n in Some._fields}))
        slots = 64
        while slots < 2 * runs:
            slots *= 2
        self.at["head"] = v.zeros(slots)
        for name in ("slot_stamp", "visited"):
            self.at[name] = v.zeros(slots)

    def _pending(self, v: Variant, rows: int) -> None:
        for name in ("pending_node", "pending_start", "pending_key"):
            self.at[name] = v.zeros(rows)
        for name in ("pending_regs", "pending_null"):
            self.at[name] = v.zeros(rows * self.registers, flags=name in _FLAGS)
        for name in ("twin", "twin_stamp"):
            self.at[name] = v.zeros(2 * rows)

    def _outputs(self, v: Variant, rows: int) -> None:
        for name in ("out_node", "out_start", "out_end", "out_key"):
            self.at[name] = v.zeros(rows)
        for name in ("out_regs", "out_null"):
            self.at[name] = v.zeros(rows * self.registers, flags=name in _FLAGS)

    def _widen(self, v: Variant, registers: int) -> None:
        """More registers for each run."""
        runs = len(self.at["node"])
        for name in ("regs", "null"):
            wide = np.zeros((runs, registers), np.uint8 if name in _FLAGS else np.int64)
            wide[:, : self.registers] = np.asarray(self.at[name]).reshape(runs, self.registers)
            self.at[name] = wide.reshape(-1) if v.fast else wide.reshape(-1).tolist()
        self.registers = registers
        self._pending(v, len(self.at["pending_node"]))
        self._outputs(v, len(self.at["out_node"]))

    def fit(self, v: Variant, tables: Tables, nodes: int, edges: int) -> None:
        """Room for what the automata need now."""
        if not self.at:
            self._begin(v, tables.registers)
            v.call("index_runs")(tables, self.store())
        elif tables.registers > self.registers:
            self._widen(v, tables.registers)
        for name, length in (("noted_stamp", nodes), ("noted_head", nodes), ("noted_next", edges)):
            if len(self.at[name]) < length:
                self._longer(v, name, length + length // 2)

    def store(self) -> Store:
        return Store(**{n: self.at[n] for n in Store._fields})

    def drive(
        self, v: Variant, events: Events, tables: Tables, nodes: int, edges: int, max_runs: int
    ) -> Iterator[Results]:
        """The kernel, again and again until all events have been; results when there are many, and at the end."""
        self.fit(v, tables, nodes, edges)
        control = self.at["control"]
        control[kernel.AT], control[kernel.STOP] = 0, len(events.end)
        while True:
            why = v.call("drive")(events, tables, self.store())
            if why == kernel.DONE:
                break
            if why == kernel.PENDING_FULL:
                self._pending(v, 2 * len(self.at["pending_node"]))
            elif why == kernel.OUTPUT_FULL:
                if control[kernel.OUT]:
                    yield self.results()
                if control[kernel.PENDING] > len(self.at["out_node"]):
                    self._outputs(v, 2 * int(control[kernel.PENDING]))
                elif len(self.at["out_node"]) < 1 << 20:
                    self._outputs(v, 4 * len(self.at["out_node"]))
            else:
                self._more_runs(v, events.end[control[kernel.AT]], tables, max_runs)
        if control[kernel.OUT]:
            yield self.results()

    def _more_runs(self, v: Variant, now: int, tables: Tables, max_runs: int) -> None:
        v.call("sweep")(now, tables, self.store())
        control = self.at["control"]
        wanted = int(control[kernel.LIVE] + control[kernel.PENDING])
        if wanted > max_runs:
            raise LimitError(
                f"{wanted} live runs exceed max_runs={max_runs}; bound DUR in on=, or raise max_runs"
            )
        if 4 * wanted > 3 * len(self.at["node"]):
            self._room(v, max(2 * len(self.at["node"]), 2 * wanted))
        v.call("index_runs")(tables, self.store())

    def put(
        self,
        v: Variant,
        found: Sequence[tuple[int, int, int, int, list[int], list[int]]],
        tables: Tables,
        nodes: int,
        edges: int,
    ) -> None:
        """Runs that come from a state, into none: node, start, end, key, words, nulls of each."""
        self.fit(v, tables, nodes, edges)
        self._room(v, 2 * len(found))
        control, width = self.at["control"], self.registers
        for node, start, end, key, words, nulls in found:
            k = int(control[kernel.FREE])
            control[kernel.FREE] = self.at["next"][k]
            for name, value in (("node", node), ("start", start), ("end", end), ("key", key)):
                self.at[name][k] = value
            self.at["regs"][k * width : k * width + len(words)] = words
            self.at["null"][k * width : k * width + len(nulls)] = nulls
        control[kernel.LIVE] = control[kernel.PEAK] = len(found)
        v.call("index_runs")(tables, self.store())

    def results(self) -> Results:
        """What is final, taken out of the kernel's hands."""
        control = self.at["control"]
        rows, width = int(control[kernel.OUT]), self.registers
        control[kernel.OUT] = 0

        def some(name: str, many: int) -> Any:
            return np.array(self.at[name][:many], np.uint8 if name in _FLAGS else np.int64)

        return Results(
            *(some("out_node", rows), some("out_start", rows), some("out_end", rows), some("out_key", rows)),
            some("out_regs", rows * width).reshape(rows, width),
            some("out_null", rows * width).reshape(rows, width) != 0,
        )


class Some(NamedTuple):
    """What `chain_free` reads and writes."""

    node: Any
    next: Any
    control: Any
