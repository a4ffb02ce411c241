"""The engine of automata: versions of runs, made by a generated kernel from any place of the stream on.

    events ─> masks and derived columns ─> kernel ─> versions ─> output events
                                              ^          │
                                              └─ growing, ─┘ and, for a whole table, forgetting

A `Stretch` is what one call of the kernel works on: places, some of them the bases before a key's first event. The
same kernel serves a table (each version is forgotten once the next one is made) and the history of a matcher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.afa import ENDLESS, Ready
from augury.engines import afa_source as source
from augury.engines.afa_source import Options, Source
from augury.engines.batch import COMPILED_FROM
from augury.engines.compiling import compiled_source, plain
from augury.engines.host import Host
from augury.engines.kernels import runs
from augury.errors import LimitError, QueryError
from augury.expr.columns import Column, evaluate, from_arrow, truth
from augury.expr.functions import calls_python
from augury.expr.inputs import CODED, Bound
from augury.expr.physical import from_values, take
from augury.expr.tree import Expr, typed
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.plan.slots import Placed, Slots

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

POOL = 1 << 12  # runs for which there is room at first, uncompiled …
KEPT = 1 << 18  # … and compiled
PAUSE = 1 << 22  # events between two looks at the world, …
PAUSE_OF_FEW = 1 << 10  # … uncompiled
PATIENCE = 1.5  # seconds of uncompiled work, done or still to come, after which a kernel is compiled


@dataclass(slots=True)
class Runs:
    """Some runs, column by column; texts and decimals as values."""

    id: Ints  # of the first event
    first: Ints  # its time
    state: Ints
    extras: dict[str, Ints]  # what else a kernel's options ask for, see `Options.extras`
    registers: list[Column]

    def __len__(self) -> int:
        return len(self.id)

    def take(self, rows: Any) -> Runs:
        return Runs(
            self.id[rows],
            self.first[rows],
            self.state[rows],
            {name: values[rows] for name, values in self.extras.items()},
            [take(c, np.arange(len(self))[rows]) for c in self.registers],
        )


@dataclass(slots=True)
class Stretch:
    """Places of a stream, each key's behind a base, and what is known of their versions."""

    rows: Ints  # of the table of events; -1 for a base
    ids: Ints
    times: Ints
    gap: npt.NDArray[np.uint8]
    ver_lo: Ints  # -1: there is none yet
    ver_hi: Ints
    ref_lo: Ints  # the version that it was made from
    ref_hi: Ints
    hard: npt.NDArray[np.uint8]  # to be made anew whatever it was made from
    todo: Ints  # places to visit, ascending
    finals: Ints = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )  # runs of each version in final states

    def __post_init__(self) -> None:
        if not len(self.finals):
            self.finals = np.zeros(len(self.rows), np.int64)

    @property
    def base(self) -> Mask:
        return self.rows < 0


class Stepper:
    """An automaton's kernels, and how they are fed. Arcs may be added while it is in use."""

    def __init__(self, query: Ready, options: Options, *, max_runs: int) -> None:
        self.query = query
        self.options = options
        self.max_runs = max_runs
        self.slots = Slots(query.arcs)
        self.null_columns: list[bool] = []
        self._sources: dict[Any, Source] = {}
        self.kernels: dict[tuple[str, bool], Callable[..., int]] = {}  # the last one
        self.measures = {
            "batch_evaluations": 0,
            "run_evaluations": 0,
            "run_steps": 0,
            "peak_runs": 0,
            "events": 0,
        }

    # -------------------------------------------------------------- what events decide by themselves

    def leaf(self, table: pa.Table) -> Callable[[Any], Column]:
        known: dict[str, Column] = {}

        def column(node: Any) -> Column:
            if node.name not in known:
                known[node.name] = from_arrow(table.column(node.name), self.query.columns.types[node.name])
            return known[node.name]

        return column

    def masks(self, table: pa.Table, times: Ints, bits: Sequence[int], words: int) -> list[Ints]:
        """For each row the slots that it may use."""
        leaf, rows = self.leaf(table), table.num_rows
        found = [np.zeros(rows, np.int64) for _ in range(words)]
        alike: dict[tuple[int, int], list[Placed]] = {}  # arcs that differ in their lifetimes alone
        for placed in self.slots.placed:
            if bits[placed.slot] >= 0:
                alike.setdefault((bits[placed.slot], id(placed.static)), []).append(placed)
        known: dict[int, Mask] = {}  # what events decide, by the tests
        in_order: tuple[Ints, Ints] | None = None  # times, and the rows that have them
        for (bit, tests), group in alike.items():
            if any(p.arc.low == INT64_MIN and p.arc.high is None for p in group):
                lives = None
            else:
                if in_order is None:
                    order = np.argsort(times, kind="stable")
                    in_order = times[order], order
                lives = _alive(group, *in_order)
                if not lives.any():
                    continue
            if tests not in known:
                good = np.ones(rows, np.bool_)
                for test in group[0].static:
                    self.measures["batch_evaluations"] += rows
                    good &= self._true(test, leaf, rows, good)
                known[tests] = good
            good = known[tests] if lives is None else known[tests] & lives
            word, place = divmod(bit, source.WORD)
            found[word] |= good.astype(np.int64) << np.int64(place)
        return found

    @staticmethod
    def _true(test: Expr, leaf: Callable[[Any], Column], rows: int, among: Mask) -> Mask:
        """Where a test is true; a registered function is asked of the rows among these alone."""
        if not calls_python(test) or among.all():
            return truth(evaluate(test, leaf, rows))
        some = np.flatnonzero(among)
        found = np.zeros(rows, np.bool_)
        found[some] = truth(evaluate(test, lambda node: take(leaf(node), some), len(some)))
        return found

    def derived(self, table: pa.Table) -> list[Column]:
        leaf = self.leaf(table)
        return [evaluate(e, leaf, table.num_rows) for e in self.slots.columns]

    # -------------------------------------------------------------- the kernel

    def source(self, columns: Sequence[Column]) -> Source:
        """The kernel for these columns; a column that had a null once is taken to have more."""
        self.null_columns += [False] * (len(columns) - len(self.null_columns))
        self.null_columns = [
            a or c.valid is not None for a, c in zip(self.null_columns, columns, strict=True)
        ]
        key = (len(self.slots.slots), tuple(self.null_columns), self.query.final)
        if key not in self._sources:
            self._sources.clear()  # the automaton has changed, or its data: the others are not asked for again
            self._sources[key] = source.write(
                self.slots.slots,
                self.query.registers,
                self.query.final,
                len(columns),
                self.null_columns,
                self.options,
            )
        return self._sources[key]

    def drive(
        self, table: pa.Table, times: Ints, stretch: Stretch, begin: Runs, *, fast: bool | None = None
    ) -> Drive:
        """Ready to make the versions of a stretch; `begin` are the runs that its slices point into."""
        return Drive(self, table, times, stretch, begin, fast)


class Drive(Host):
    """One stretch, the kernel and its pool."""

    def __init__(
        self, stepper: Stepper, table: pa.Table, times: Ints, stretch: Stretch, begin: Runs, fast: bool | None
    ) -> None:
        self.stepper = stepper
        self.stretch = stretch
        self.table = table
        query = stepper.query
        columns = stepper.derived(table)
        self.source = stepper.source(columns)
        hurried = fast is None
        super().__init__(fast=table.num_rows >= COMPILED_FROM if fast is None else fast)
        if self.source.inputs.needs_python:
            self.fast = hurried = False
        self.hurries = hurried and not self.fast
        given = {
            f"c{k}": (c, typed(e))
            for k, (c, e) in enumerate(zip(columns, stepper.slots.columns, strict=True))
        }
        given |= {
            f"r{n}": (c, r.type)
            for n, (c, r) in enumerate(zip(begin.registers, query.registers, strict=True))
        }
        self.bound: Bound = self.source.inputs.bind(given)
        rows = np.maximum(stretch.rows, 0)
        masks = stepper.masks(table, times, self.source.bits, self.source.words)
        empty = not table.num_rows
        self.columns: dict[str, Any] = {}
        for k, mask in enumerate(masks):
            self.columns[f"mask{k}"] = np.zeros(len(rows), np.int64) if empty else mask[rows]
        for name, k, is_null in self.source.columns:
            found = self.bound.columns[f"c{k}"]
            values = found.null if is_null else found.values
            if is_null and values is None:
                values = np.zeros(len(found.values), np.bool_)
            self.columns[name] = (
                np.zeros(len(rows), np.asarray(values).dtype) if empty else np.asarray(values)[rows]
            )
        self.size = len(begin)
        room = max(KEPT if self.fast else POOL, 2 * self.size)
        self.pool: dict[str, Any] = {}
        for name, values in self._arrays(begin).items():
            array = np.zeros(room, values.dtype)
            array[: self.size] = values
            self.pool[name] = array if self.fast else array.tolist()
        self.room = room
        self.control = np.zeros(source.CTL, np.int64)
        self.control[source.SIZE] = self.size
        self.control[source.LIMIT] = stepper.max_runs
        self.control[source.FRONT] = self.size
        self.at = 0

    def _arrays(self, found: Runs) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, dtype in self.source.pool:
            if not name.startswith("s_r"):
                value = {
                    "s_id": found.id,
                    "s_time": found.first,
                    "s_state": found.state,
                    **{f"s_{extra}": values for extra, values in found.extras.items()},
                }[name]
                arrays[name] = np.asarray(value, np.int64)
                continue
            n = int(name[3:].rstrip("z"))
            column = self.bound.columns[f"r{n}"]
            if name.endswith("z"):
                null = column.null
                arrays[name] = np.zeros(len(found), np.bool_) if null is None else np.asarray(null)
            else:
                arrays[name] = np.asarray(column.values).astype(np.dtype(dtype))
        return arrays

    # -------------------------------------------------------------- going on

    def go(self, on_full: Callable[[], None] | None = None) -> None:
        """Make all versions. `on_full` may make room in the pool; what it does not make, growing does."""
        s = self.stretch
        begun, full_at = time.monotonic(), -1
        arguments = self._arguments()
        while True:
            self.control[source.STOP] = PAUSE if self.fast else PAUSE_OF_FEW
            control = self.control if self.fast else self.control.tolist()
            why = self._kernel()(control, *arguments, *self.pool.values(), *self._constants())
            if not self.fast:
                self.control[:] = control
            self.size, self.at = int(self.control[source.SIZE]), int(self.control[source.EVENT])
            if why == source.FINISHED:
                break
            if why == source.TOO_MANY:
                raise LimitError(
                    f"{self.stepper.max_runs + 1} live runs exceed max_runs={self.stepper.max_runs}; "
                    "narrow the window or the guards, or raise max_runs"
                )
            if why == source.ENDLESS_CYCLE:
                raise endless()
            if why == source.FULL:
                if on_full is not None:
                    self._back(arguments)
                    on_full()
                    if not self.fast:
                        arguments = self._arguments()
                    self.control[source.SIZE] = self.size
                again, full_at = full_at == self.at, self.at
                if again or 2 * self.size > self.room:
                    self.room *= 4
                    for (name, dtype), array in zip(self.source.pool, list(self.pool.values()), strict=True):
                        self.pool[name] = self.longer(array, np.dtype(dtype).str, self.room)
            elif self.hurries and len(s.rows) > COMPILED_FROM >> 6:
                spent, share = time.monotonic() - begun, max(self.at, 1) / len(s.rows)
                if spent > PATIENCE / 5 and spent / share - spent > PATIENCE:
                    self._back(arguments)
                    self._compile()
                    arguments = self._arguments()
        self._back(arguments)
        self.stepper.measures["run_steps"] += int(self.control[source.STEPS])
        self.stepper.measures["run_evaluations"] += int(self.control[source.EVALUATIONS])
        peak = self.stepper.measures["peak_runs"]
        self.stepper.measures["peak_runs"] = max(peak, int(self.control[source.PEAK]))

    def _compile(self) -> None:
        self.fast, self.hurries = True, False
        for name, dtype in self.source.pool:
            self.pool[name] = np.array(self.pool[name], np.dtype(dtype))

    def _arguments(self) -> list[Any]:
        s, options = self.stretch, self.stepper.options
        base = (s.rows < 0).astype(np.uint8)
        arrays: list[Any] = [
            *(s.todo, s.ver_lo, s.ver_hi, s.ref_lo, s.ref_hi, base, s.hard, s.finals, s.ids, s.times)
        ]
        if options.windowed is not None and not options.sequence:
            arrays.append(saturated(s.times, 1 - options.windowed))
        if options.sequence:
            arrays.append(s.gap)
        arrays += list(self.columns.values())
        return arrays if self.fast else [a.tolist() for a in arrays]

    def _back(self, arguments: list[Any]) -> None:
        """What the kernel wrote, where it wrote to lists."""
        s = self.stretch
        s.ver_lo, s.ver_hi, s.finals = (np.asarray(arguments[n], np.int64) for n in (1, 2, 7))

    def _kernel(self) -> Callable[..., int]:
        known = self.stepper.kernels.get((self.source.text, self.fast))
        if known is None:
            self.stepper.kernels.clear()
            known = self.stepper.kernels[self.source.text, self.fast] = self._made()
        return known

    def _made(self) -> Callable[..., int]:
        names: dict[str, Callable[..., Any]] = {
            **self.source.inputs.helpers(compilable=self.fast),
            "same_float": runs.same_float,
        }
        if self.fast:
            return compiled_source(self.source.text, "kernel", names)
        lines = self.source.text.count("\n") + 1
        return plain(self.source.text, "kernel", names, title="an automaton", words=lambda: [""] * lines)

    def _constants(self) -> list[Any]:
        known = self.bound.arguments if self.fast else self.bound.plain()
        return [known[name] for name in self.source.constants]

    # -------------------------------------------------------------- what has been made

    def numbers(self, name: str, rows: Any) -> npt.NDArray[Any]:
        """Some values of one of the pool's arrays."""
        array = self.pool[name]
        if self.fast:
            return np.asarray(array[rows])
        return np.array([array[row] for row in rows.tolist()], dict(self.source.pool)[name])

    def runs(self, rows: Ints) -> Runs:
        """Some runs of the pool."""
        registers = []
        for n, r in enumerate(self.stepper.query.registers):
            values = self.numbers(f"s_r{n}", rows)
            valid = ~self.numbers(f"s_r{n}z", rows) if self.source.nullable[n] else None
            if r.type.kind in CODED:
                decoded = self.bound.decode(r.type.kind, values)
                registers.append(Column(decoded.values, valid))
            else:
                registers.append(Column(values, valid))
        extras = {name: self.numbers(f"s_{name}", rows) for name in self.stepper.options.extras}
        ids, first, state = (self.numbers(f"s_{name}", rows) for name in ("id", "time", "state"))
        return Runs(ids, first, state, extras, registers)

    def forget(self, lo: int, hi: int, front: int) -> tuple[int, int]:
        """Keep of the pool what was there at first, and one slice; where that is now."""
        self.size = front
        if hi <= front:
            return lo, hi
        many = hi - lo
        for name, array in self.pool.items():
            array[front : front + many] = array[lo:hi].copy()
            self.pool[name] = array
        self.size += many
        return front, self.size


def _alive(group: Sequence[Placed], ascending: Ints, order: Ints) -> Mask:
    """The rows whose times are in the lifetime of one of some arcs."""
    lows = np.array([p.arc.low for p in group], np.int64)
    highs = np.array([INT64_MAX if p.arc.high is None else p.arc.high for p in group], np.int64)
    changes = np.zeros(len(ascending) + 1, np.int64)
    begin = np.searchsorted(ascending, lows)
    end = np.where([p.arc.high is None for p in group], len(ascending), np.searchsorted(ascending, highs))
    some = begin < end
    np.add.at(changes, begin[some], 1)
    np.add.at(changes, end[some], -1)
    alive = np.empty(len(ascending), np.bool_)
    alive[order] = np.cumsum(changes)[:-1] > 0
    return alive


def endless() -> QueryError:
    return QueryError(
        f"an ε cycle does not end: its registers have not repeated in {ENDLESS} moves",
        hint="give one of its arcs a `when` that stops it",
    )


def saturated(times: Ints, by: int) -> Ints:
    """Times moved into the past; what would be below 64 bits is the least."""
    moved = times + np.int64(by)
    return np.where(times < INT64_MIN - by, INT64_MIN, moved) if by < 0 else moved


def no_runs(query: Ready, extras: Sequence[str] = ()) -> Runs:
    none = np.zeros(0, np.int64)
    registers = [from_values([], r.type) for r in query.registers]
    return Runs(none, none, none, dict.fromkeys(extras, none), registers)


def slices(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The rows of some slices one after another, and for each the number of its slice."""
    lengths = hi - lo
    ends = np.cumsum(lengths)
    which = np.repeat(np.arange(len(lo)), lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths) + lo[which], which
