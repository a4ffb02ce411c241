"""The eager engine: all runs step together, one event at a time, merged where they have one future.

    Resolved ─ passes ─> Plan ─┬─ masks and derived columns, for the whole table
                               ├─ the generated kernel: runs and the match graph
                               └─ enumeration ─> absences ─> Matches, a piece at a time

The kernel allocates nothing. When an array is full, or after some million events so that an interrupt is
heard, it comes back here; finished roots are turned into matches, what is out of the window is dropped
from the graph, arrays grow if they must, and the kernel goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from augury.automaton import Absent
from augury.engines import absence, patience
from augury.engines.compiling import compiled_source, plain
from augury.engines.eager_source import eager_source
from augury.engines.events import Events
from augury.engines.generated import Options, Source, split_by_word
from augury.engines.kernels import control as ctl
from augury.engines.kernels import graph, runs
from augury.engines.passes import Plan
from augury.engines.stores import CountStore, GraphStore, size_of
from augury.engines.walk import Graph, Walker, graph_of
from augury.errors import LimitError, one_line
from augury.expr.inputs import Inputs
from augury.expr.tree import typed
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.match.rows import Matches
from augury.watch import tell

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]

PAUSE = 1 << 20  # events between two looks at the world, at most
PATIENCE = 0.2  # seconds between them, about: an interrupt is heard then
PIECE = 1 << 20  # bound events in one piece of output
PIECE_OF_FEW = 1 << 12  # … of few events, or uncompiled: there an array of a million costs more than it saves
MAX_NODES = 200_000_000  # 3.2 GB of nodes, or of counts


ALWAYS = (INT64_MIN, INT64_MAX)


@dataclass(frozen=True, slots=True)
class Share:
    """Which matches of a stream an evaluation is asked for, by the times of their first and last events.

    A stream that is cut into slices has each match in one of them, whatever its other events' slices are.
    """

    starts: tuple[int, int] = ALWAYS  # both ends are in
    ends: tuple[int, int] = ALWAYS


EVERYTHING = Share()


class Evaluation(Events):
    """One evaluation of a plan over a table. `pieces` gives the matches over kernel indices."""

    shares: ClassVar[bool] = True  # whether its matches share a graph
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "same_float": runs.same_float,
        "gather": graph.gather,
    }

    def __init__(
        self,
        plan: Plan,
        table: pa.Table,
        *,
        max_runs: int,
        max_nodes: int = MAX_NODES,
        output: str = "all",
        profile: bool = False,
        fast: bool | None = None,
        share: Share = EVERYTHING,
        barred: npt.NDArray[np.bool_] | None = None,
        keeps: bool = False,
        keep: Callable[[Iterator[Matches]], list[Matches]] = list,
        most: int | None = None,
        events: Events | None = None,
    ) -> None:
        super().__init__(plan, table, fast=fast)
        if events is not None:
            self.go_on(events)
        self.share = share
        self.barred = barred  # rows that begin no match any more
        self.most = most  # bytes that the matches of one event may take
        self.keep = keep  # holds matches until all are known, as long as there is room
        self.max_runs = max_runs
        self.max_nodes = max_nodes
        self.hurries = fast is None and not self.fast and not profile
        query = plan.query
        columns = [self.derived(str(k)) for k in range(len(plan.split.columns))]
        self.nullable = [c.valid is not None for c in columns]
        left_to = plan.automaton.left_to
        self.below = absence.below(left_to(Absent.BOUNDS), query, self.batch, self.candidates)
        self.selects = plan.selects(output, shares=self.shares)
        self.options = replace(plan.options(output, shares=self.shares, profile=profile), keeps=keeps)
        self.source, self.inputs = self._source(self.options)
        if self.inputs.needs_python:  # what calls Python is Python, with its numbers
            self.fast = self.hurries = False
        elif fast is None and self.source.length >= (patience.TOO_LONG if profile else patience.LONG):
            self.fast, self.hurries = False, self.source.length < patience.TOO_LONG
        if self.hurries and patience.is_due(self.source):
            self.fast, self.hurries = True, False
        bound = self.inputs.bind(
            {str(k): (c, typed(e)) for k, (c, e) in enumerate(zip(columns, plan.split.columns, strict=True))}
        )
        self.bound = bound
        masks = self._masks()
        self.useful = np.zeros(table.num_rows if keeps else 0, np.bool_)  # rows that some arc may use
        for mask in masks if keeps else ():
            self.useful[self.batch.order] |= mask != 0
        self.masks = [self._gathered(mask) for mask in self._started(masks)]
        self.arguments: list[Any] = []
        for _, k, is_null in self.source.columns:
            column = bound.columns[str(k)]
            values = column.null if is_null else column.values
            self.arguments.append(self._gathered(np.asarray(values)[self.batch.order]))
        self.absences = absence.absences(left_to(Absent.FILTERS), query, self.batch, self.candidates)
        # By partition, once it has been driven: from which event on runs that are alive may have begun, and how many
        # they are. Where nobody asks, all may be.
        self.since = self.batch.segments[:-1]
        self.alive = np.ones(len(self.since), np.int64)
        self.begun = time.monotonic()

    def _source(self, options: Options) -> tuple[Source, Inputs]:
        """The kernel and what it reads besides events: written once for a plan and what may be null."""
        asked = type(self), options, self.below is None, *self.nullable
        if asked not in self.plan.sources:
            inputs = Inputs()
            self.plan.sources[asked] = self._written(options, inputs), inputs
        return self.plan.sources[asked]

    def _written(self, options: Options, inputs: Inputs) -> Source:
        plan = self.plan
        return eager_source(plan.automaton, plan.split, plan.registers, self.nullable, inputs, options)

    # -------------------------------------------------------------- what events decide by themselves

    def _masks(self) -> list[npt.NDArray[Any]]:
        """For each kernel index the arcs that its event allows, by bit."""
        bits = self.source.bits
        masks = []
        for held, size in split_by_word(bits):
            dtype = np.dtype(f"u{size}")
            mask = np.zeros(self.table.num_rows, dtype)
            for place, bit in enumerate(bits):
                if bit in held:
                    mask |= self._allowed(place).astype(dtype) << dtype.type(bit - held[0])
            masks.append(mask[self.batch.order])
        return masks

    def _started(self, masks: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """The masks without the runs that this share does not start."""
        low, high = self.share.starts
        outside = None if self.barred is None else self.barred[self.batch.order]
        if self.share.starts != ALWAYS:
            other = (self.batch.times < low) | (self.batch.times > high)
            outside = other if outside is None else outside | other
        if outside is not None:  # the first arc begins, so it is in the first mask
            masks[0][outside] &= ~masks[0].dtype.type(self.begins)
        return masks

    @property
    def begins(self) -> int:
        """The bit of masks that says whether an event begins a match."""
        ((begin, _),) = self.plan.automaton.leaving(0)
        return 1 << self.source.bits[begin]

    def in_share(self, events: Ints) -> npt.NDArray[np.bool_] | None:
        """Which of the events may be last ones; None if all may."""
        if self.share.ends == ALWAYS:
            return None
        low, high = self.share.ends
        times = self.batch.times[events]
        return (times >= low) & (times <= high)

    def _gathered(self, values: Any) -> Any:
        """A column that is ordered by kernel index, as the kernel takes it."""
        return np.ascontiguousarray(values) if self.fast else values.tolist()

    # -------------------------------------------------------------- the kernel and its arrays

    def _kernel(self, source: Source) -> Callable[..., int]:
        names: dict[str, Callable[..., Any]] = {
            **self.inputs.helpers(compilable=self.fast),
            **self.functions,
        }
        if self.fast:
            return compiled_source(source.text, "kernel", names)
        pattern = self.plan.query.pattern
        components = ", ".join(map(str, pattern.components))
        return plain(
            source.text,
            "kernel",
            names,
            title=one_line(f"PATTERN SEQ({components})"),
            words=lambda: source.words(pattern),
        )

    def drive(self, store: GraphStore | CountStore) -> Iterator[int]:
        """Run the kernel to the end; after each stretch, how many results wait in the store to be read."""
        source = self.source
        if store.wide:  # the same kernel over the same columns, but for the words of its numbers
            source, _ = self._source(replace(self.options, wide=True))
        kernel = self._kernel(source)
        runs_room = 64
        arrays = {a.name: self.array(a.dtype, runs_room) for a in source.arrays}
        control = self.array("i8", ctl.size(self.plan.automaton.final))
        control[ctl.NODES] = store.first_node
        control[ctl.LIVE] = self.max_runs
        segments = self.listed(self.batch.segments)
        lows = self.listed(self.batch.lows)
        breaks = () if self.batch.breaks is None else (self.listed(self.batch.breaks),)
        below = (self.listed(self.below),) if self.below is not None and self.options.bounded else ()
        constants = [(self.bound.arguments if self.fast else self.bound.plain())[n] for n in source.constants]
        many = len(self.batch.segments) - 1
        kept = [self.array("i8", many), self.array("i8", many)] if self.options.keeps else []
        stretch = PAUSE if self.fast else PAUSE >> 10
        while True:
            begun, at = time.monotonic(), int(control[ctl.EVENT])
            control[ctl.STOP] = min(len(self.batch), at + stretch)
            why = kernel(
                control,
                segments,
                *self.masks,
                lows,
                *breaks,
                *below,
                *kept,
                *self.arguments,
                *arrays.values(),
                *store.arrays(),
                *constants,
            )
            if control[ctl.ROOTS]:
                yield store.in_share(int(control[ctl.ROOTS]))
                control[ctl.ROOTS] = 0
            if why == ctl.FINISHED:
                break
            event = int(control[ctl.EVENT])
            tell(event, len(self.batch))
            self.reconsider(event / len(self.batch))
            stretch = _next_stretch(event - at, time.monotonic() - begun)
            if why == ctl.TOO_LARGE:
                raise OverflowError
            if why == ctl.TOO_MANY_RUNS:
                raise LimitError(self._too_many(control, event))
            if why == ctl.RUNS_FULL:
                runs_room *= 2
                for a in source.arrays:
                    arrays[a.name] = self.longer(arrays[a.name], a.dtype, runs_room)
            elif why == ctl.ROOTS_FULL:
                store.more_results()
            elif event < len(lows):
                store.make_room(control, arrays, int(lows[event]), full=why == ctl.NODES_FULL)
        self.measures.run_evaluations = int(control[ctl.EVALUATIONS])
        self.measures.peak_runs = int(control[ctl.PEAK])
        self.measures.runs_merged = int(control[ctl.MERGED])
        self.measures.runs_begun = int(control[ctl.BEGUN])
        self.measures.run_steps = int(control[ctl.STEPS])
        store.finish(control)
        if kept:
            self.since, self.alive = (np.array(a, np.int64) for a in kept)
        if self.options.profile:
            self.measures.peak_buffered_events = self._peak_in_window(store.bound_events())
            inputs = (*self.masks, segments, lows, self.batch.order, self.batch.times, *breaks, *below)
            held = (*inputs, *self.arguments, *arrays.values(), *store.arrays())
            self.measures.peak_bytes = sum(map(size_of, held))

    def _peak_in_window(self, bound: npt.NDArray[np.bool_]) -> int:
        """How many of these events lay in one window at most."""
        before = np.concatenate([[0], np.cumsum(bound)])
        return int((before[1:] - before[self.batch.lows]).max(initial=0))

    def reconsider(self, done: float) -> None:
        """Whether to go on uncompiled, this share of the work being done."""
        if self.hurries:
            patience.reconsider(time.monotonic() - self.begun, done, self.source)

    def finished(self) -> None:
        """All that was wanted has been told: what it says of evaluations to come."""
        if self.fast or self.hurries:
            patience.worked(self.source, time.monotonic() - self.begun, fast=self.fast)

    def live(self, control: Any) -> int:
        return sum(int(control[ctl.STATES + 3 * s]) for s in range(1, self.plan.automaton.final + 1))

    def renumber(self, control: Any, arrays: dict[str, Any], to: Callable[[Ints], Ints]) -> None:
        """Give the histories of all live runs other numbers."""
        for state in range(1, self.plan.automaton.final + 1):
            base = ctl.STATES + 3 * state
            count = int(control[base])
            if f"s{state}_node" in arrays:
                nodes = arrays[f"s{state}_node"]
                nodes[:count] = self.listed(to(np.array(nodes[:count], np.int64)))
            elif count:
                control[base + 1] = int(to(np.array([control[base + 1]], np.int64))[0])

    def where(self, event: int) -> str:
        """The key at hand, for an error."""
        key = self.plan.query.roles.key
        row = int(self.batch.order[min(event, len(self.batch) - 1)])
        shown = ", ".join(f"{k}={self.table.column(k)[row].as_py()!r}" for k in key)
        return f" ({'key ' + shown})" if key else ""

    def _too_many(self, control: Any, event: int) -> str:
        return (
            f"{self.live(control)} live runs exceed max_runs={self.max_runs}{self.where(event)}; "
            "narrow WITHIN or the predicates, or raise max_runs"
        )

    # -------------------------------------------------------------- results

    def pieces(self) -> Iterator[Matches]:
        """All matches that no absence breaks, over kernel indices."""
        store = GraphStore(self)
        walker = Walker(
            *(self, self.kleene, self.batch.lows, self.below),
            room=min(PIECE, max(PIECE_OF_FEW, 64 * len(self.batch))) if self.fast else PIECE_OF_FEW,
            most=self.most,
        )
        for count in self.drive(store):
            yield from self._surviving(walker.walk(Graph(*store.arrays()), count))
        yield from self._surviving(walker.rest())

    def roots(self) -> Iterator[tuple[Graph, int]]:
        """Graphs whose roots, in stream order, stand for all matches, and how many roots there are."""
        if self.selects:
            store = GraphStore(self)
            for count in self.drive(store):
                yield Graph(*store.arrays()), count
        else:
            for piece in self.pieces():
                yield graph_of(piece, self), len(piece)

    @property
    def kleene(self) -> list[bool]:
        return [c.kleene for c in self.plan.automaton.components]

    def counts(self) -> tuple[Ints, Ints]:
        """How many matches complete at which event, without an enumeration: events, and words of numbers."""
        store = CountStore(self, wide=False)
        try:
            found = [store.read(count) for count in self.drive(store)]
        except OverflowError:  # a number that one word does not hold: all over again, with more
            store = CountStore(self, wide=True)
            found = [store.read(count) for count in self.drive(store)]
        events, words = zip(*found, strict=True) if found else ((), ())
        words_of = 3 if store.wide else 1
        none = np.empty(0, np.int64)
        return np.concatenate([none, *events]), np.concatenate([np.empty((0, words_of), np.int64), *words])

    def _surviving(self, pieces: Iterator[Matches]) -> Iterator[Matches]:
        """The matches that no absence breaks."""
        for piece in pieces:
            found = self.surviving(piece)
            if len(found):
                yield found
            spent = time.monotonic() - self.begun
            if self.hurries and spent > patience.worth_of(self.source):  # how many there will be nobody knows
                raise patience.Slow

    def surviving(self, found: Matches) -> Matches:
        """The matches that no absence breaks."""
        for absent in self.absences:
            if len(found):
                good = absence.surviving(found, absent, self.table, self.plan.query, self.batch, self.run)
                if not good.all():
                    found = absence.chosen_matches(found, good)
        return found


def _next_stretch(events: int, seconds: float) -> int:
    """How many events to hand to the kernel next: with a million runs each may take milliseconds."""
    return int(min(max(events, 1) * min(PATIENCE / max(seconds, 1e-6), 16.0) + 1, PAUSE))
