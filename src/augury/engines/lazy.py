"""The lazy engine: events wait in buffers, and matches are put together from their rarest event on.

    Resolved ─ passes ─> Plan ─ joins: tests by the slots that decide them
                           │
    masks, for the whole table ─> a buffer for each slot ─> the generated kernel ─> absences ─> Matches

A chain takes the slots in one order for all matches. The tree takes them anew for each: the anchor by the counts of
a stretch of the stream, then always the slot with the fewest candidates in its scope. In a stretch every match is
found whose last event is there, so stretches may have different anchors and no match is lost or found twice.

It shares the masks, the columns and the outputs with the eager engine. It has no runs: what waits for events to come
are events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from augury.automaton import Absent, Action
from augury.engines import absence, eager
from augury.engines.absence import chosen_matches
from augury.engines.buffers import Index, buffers_of, ends_of, index_of
from augury.engines.choosing import estimates_of, sequence_of
from augury.engines.estimate import selectivities
from augury.engines.generated import Options, Source
from augury.engines.kernels import control as ctl
from augury.engines.kernels import search
from augury.engines.lazy_source import ANCHOR, ARRAYS, STRETCH, WEIGHED, Shape, lazy_source
from augury.engines.passes import Plan
from augury.engines.stores import size_of
from augury.engines.walk import Graph, graph_of
from augury.errors import LimitError
from augury.expr.inputs import Inputs
from augury.match.rows import Matches, Slot, joined
from augury.pattern import Strategy
from augury.resolve import Moment

BUDGET = 1 << 25  # candidates tried between two looks at the world; uncompiled, a thousandth of them
LEAST_STRETCH = 1 << 8  # events for which the tree chooses an anchor, at least

Mask = npt.NDArray[np.bool_]


class Evaluation(eager.Evaluation):
    """One lazy evaluation: of a chain in this order of slots, or of the tree."""

    shares = False
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "first_from": search.first_from,
        "last_before": search.last_before,
    }

    def __init__(
        self, plan: Plan, *args: Any, tree: bool = False, order: tuple[str, ...] | None = None, **named: Any
    ) -> None:
        self.tree = tree
        self.sequence = made = sequence_of(plan)
        self.variables = made.variables
        self.slots = len(self.variables)
        self.joins, self.alone, self.equal = made.joins.tests, made.joins.alone, made.equal
        self.output = named.get("output", "all")
        self.order = None if tree or order is None else tuple(self.variables.index(v) for v in order)
        super().__init__(made.plan, *args, **named)
        self.absences = [*self.absences, *self._asked_of_matches()]
        self.buffers = buffers_of(self._buffered(), self._gaps())
        self.ends = ends_of(self.batch, windowed=self.options.windowed, fast=self.fast)
        self.indexes = [self._index(e) for e in self.equal]

    # -------------------------------------------------------------- what the query asks

    def _source(self, options: Options) -> tuple[Source, Inputs]:
        """The kernel of the order that is given, or estimated from the events at hand."""
        if self.order is None and not self.tree:
            self.order = estimates_of(self, self.sequence, self.output).order
        if self.order is not None:
            place = self.order.index
            self.equal = tuple(e for e in self.equal if place(e.other) < place(e.slot))
        self.shape = Shape(
            order=self.order,
            counting=options.counting and not asked_of_matches(self.plan),
            bounded=self.below is not None,
            gaps=bool(self._gaps()),
            profile=options.profile,
        )
        asked = self.shape, *self.nullable
        if asked not in self.plan.sources:
            inputs = Inputs()
            given = (self.plan.automaton, self.joins, self.equal, self.nullable)
            self.plan.sources[asked] = lazy_source(*given, inputs, self.shape), inputs
        return self.plan.sources[asked]

    def _masks(self) -> list[npt.NDArray[Any]]:
        return [mask.copy() for mask in self.begins_of]

    def _buffered(self) -> list[Mask]:
        """By slot: the events that a match may bind there, if it is in the share that is asked for."""
        masks = [np.asarray(mask, np.bool_) for mask in self.masks]
        for slot, expr in self.alone:  # what a later slot's test asks of this one's event
            among = np.zeros(self.table.num_rows, np.bool_)
            among[self.batch.order] = masks[slot]
            masks[slot] &= self._true(expr, among)[self.batch.order]
        last = self.in_share(np.arange(len(self.batch)))
        if last is not None:
            masks[-1] &= last
        return masks

    def _gaps(self) -> dict[int, Mask]:
        """By slot: the events that may not stand between it and the next one, as far as they tell by themselves."""
        found: dict[int, Mask] = {}
        plan = self.plan
        for place in plan.automaton.left_to(Absent.ENDS):
            if not asks_more(plan, place):
                slot = sum(not c.negated for c in plan.query.pattern.components[:place]) - 1
                those = self.candidates(place)[self.batch.order]
                found[slot] = found[slot] | those if slot in found else those
        if plan.query.pattern.strategy is Strategy.NEXT:
            for slot in range(1, self.slots):
                if not self._is_dynamic(slot):
                    those = self.begins_of[slot]
                    found[slot - 1] = found[slot - 1] | those if slot - 1 in found else those
        return found

    def _is_dynamic(self, slot: int) -> bool:
        """Whether it depends on what is bound before which events a slot may bind."""
        return not _begin(self.plan, slot).is_static

    def _asked_of_matches(self) -> list[absence.Absence]:
        """What is left to ask of complete matches: absences that name variables, and what a strategy passes over."""
        plan, query = self.plan, self.plan.query
        places = tuple(p for p in plan.automaton.left_to(Absent.ENDS) if asks_more(plan, p))
        found = absence.absences(places, query, self.batch, self.candidates)
        if query.pattern.strategy is Strategy.NEXT:
            for slot in range(1, self.slots):
                if self._is_dynamic(slot):
                    tests = query.tests_at(plan.automaton.places[slot], Moment.BEGIN)
                    var = self.variables[slot]
                    asked = tuple((t.expr, t.forall) for t in tests if not absence.by_itself(t.expr, var))
                    those = np.flatnonzero(self.begins_of[slot])
                    found.append(absence.Absence(var, slot, those, asked))
        return found

    def _index(self, equality: Any) -> Index:
        """The index that finds the candidates of a slot by a value of another one's event."""
        columns = []
        for k in (equality.column, equality.other_column):
            column = self.bound.columns[str(k)]
            null = None if column.null is None else np.asarray(column.null)[self.batch.order]
            columns.append((np.asarray(column.values)[self.batch.order], null))
        those, others = (self.buffers.of(slot) for slot in (equality.slot, equality.other))
        return index_of(those, *columns[0], others, columns[1], fast=self.fast)

    # -------------------------------------------------------------- stretches

    def _stretches(self) -> list[npt.NDArray[np.int64]]:
        """Anchors and stretches: (slot, from and to in its buffer, first last event, and the end of them)."""
        buffers, n = self.buffers, len(self.batch)
        if not self.tree:
            assert self.order is not None
            slot = self.order[0]
            rows = [[slot, int(buffers.starts[slot]), int(buffers.starts[slot + 1]), 0, n]]
        else:
            rows = list(self._of_tree())
        return list(np.array(rows, np.int64).reshape(-1, 5).T.copy())

    def _of_tree(self) -> Iterator[list[int]]:
        """Stretches with the anchors that have the fewest candidates there; neighbours with one anchor are one."""
        buffers, n, lows = self.buffers, len(self.batch), self.batch.lows
        if not n or not buffers.sizes.all():
            return
        reach = int((np.arange(n) - lows).mean()) if self.options.windowed else n
        size = max(LEAST_STRETCH, 2 * reach)
        begins = np.arange(0, n, size)
        ends = np.append(begins[1:], n)
        first = lows[begins]  # where a match may begin that ends in the stretch
        low = np.stack([np.searchsorted(buffers.of(s), first) for s in range(self.slots)])
        high = np.stack([np.searchsorted(buffers.of(s), ends) for s in range(self.slots)])
        low[-1] = np.searchsorted(buffers.of(self.slots - 1), begins)
        counts = high - low
        anchors = counts.argmin(axis=0)
        empty = counts.min(axis=0) == 0
        at = 0
        while at < len(begins):
            until = at + 1
            if not empty[at]:
                slot = int(anchors[at])
                while until < len(begins) and not empty[until] and anchors[until] == slot:
                    until += 1
                start = int(buffers.starts[slot])
                yield [
                    *(slot, start + int(low[slot, at]), start + int(high[slot, until - 1])),
                    *(int(begins[at]), int(ends[until - 1])),
                ]
            at = until

    def _passing(self) -> npt.NDArray[np.float64]:
        """By set of bound slots and next slot: which share of the candidates is expected to pass its tests."""
        m = self.slots
        if m > WEIGHED:
            return np.ones((1 << WEIGHED) * m)
        shares = np.ones((1 << m, m))
        selectivity = selectivities(self, self.joins, self.variables)
        for those in range(1 << m):
            bound = frozenset(s for s in range(m) if those >> s & 1)
            for slot in range(m):
                for join, share in zip(self.joins, selectivity, strict=True):
                    if join.decided(slot, bound):
                        shares[those, slot] *= share
        return shares.ravel()

    # -------------------------------------------------------------- the kernel

    def live(self, control: Any) -> int:
        return int(control[ctl.USED])

    def _searched(self, results: Any) -> Iterator[Any]:
        """Search to the end; the control words whenever results wait to be read."""
        stretches = self._stretches()
        if not len(stretches[0]) or not self.buffers.sizes.all():
            return  # a slot without a candidate: nothing is evaluated
        source, buffers, m = self.source, self.buffers, self.slots
        kernel = self._kernel(source)
        control = self.array("i8", ctl.size(0))
        control[ctl.LIVE], control[ctl.STOP] = self.max_runs, BUDGET if self.fast else BUDGET >> 10
        control[ANCHOR] = int(stretches[1][0])
        fixed = [*stretches, buffers.buf, buffers.starts, self.batch.lows, self.ends]
        if self.shape.gaps:
            fixed += [buffers.absent, buffers.absent_at]
        if self.below is not None:
            fixed.append(self.below)
        fixed.append(self._passing() if self.order is None else np.array(self.order, np.int64))
        given = [self.listed(np.asarray(a)) for a in fixed]
        indexes = [self.listed(a) for index in self.indexes for a in index.arrays]
        lengths = {"lo": m * m, "hi": m * m, "slot_at": m + 1, "base": m + 1}
        own = [self.array("i8", lengths.get(name, m)) for name in ARRAYS]
        for t in range(m):
            own[ARRAYS.index("at_lo")][t] = own[ARRAYS.index("at_hi")][t] = int(buffers.starts[t])
        waits = [self.array("i8", len(self.batch) + 1)] if self.options.profile else []
        held = self.array("i4", 1 << 12)
        constants = [(self.bound.arguments if self.fast else self.bound.plain())[n] for n in source.constants]
        total = sum(int(b - a) for a, b in zip(stretches[1], stretches[2], strict=True))
        while True:
            why = kernel(
                control, *given, *self.arguments, *indexes, *own, *waits, held, results[0], *constants
            )
            self.reconsider(self._done(control, stretches, total))
            if control[ctl.ROOTS]:
                yield control
            elif why == ctl.ROOTS_FULL:  # what completes at once does not fit
                results[0] = self.longer(results[0], "i4", 2 * len(results[0]))
            control[ctl.ROOTS] = 0
            if why == ctl.FINISHED:
                break
            if why == ctl.TOO_MANY_RUNS:
                raise LimitError(self._too_many(control, int(own[0][int(own[ARRAYS.index("slot_at")][1])])))
            if why == ctl.RUNS_FULL:
                held = self.longer(held, "i4", 2 * len(held))
        self.measures.run_evaluations = int(control[ctl.EVALUATIONS])
        self.measures.peak_runs = int(control[ctl.PEAK]) + (1 if control[ctl.BEGUN] else 0)
        self.measures.runs_begun = int(control[ctl.BEGUN])
        if self.options.profile:
            self.measures.peak_waiting_runs = int(np.cumsum(np.array(waits[0], np.int64)).max(initial=0))
            buffered = np.zeros(len(self.batch), np.bool_)
            buffered[buffers.buf] = True
            self.measures.peak_buffered_events = self._peak_in_window(buffered)
            kept = (
                *given,
                *self.arguments,
                *indexes,
                *own,
                held,
                *results,
                self.batch.order,
                self.batch.times,
            )
            self.measures.peak_bytes = sum(map(size_of, kept))

    def _done(self, control: Any, stretches: list[npt.NDArray[np.int64]], total: int) -> float:
        at = int(control[STRETCH])
        before = int((stretches[2][:at] - stretches[1][:at]).sum())
        if at < len(stretches[0]):
            before += int(control[ANCHOR]) - int(stretches[1][at])
        return before / max(1, total)

    # -------------------------------------------------------------- results

    def pieces(self) -> Iterator[Matches]:
        """All matches that no absence breaks, over kernel indices."""
        m = self.slots
        results = [self.array("i4", m * (eager.PIECE // m if self.fast else eager.PIECE_OF_FEW))]
        yield from self._surviving(self._found(results))

    def _found(self, results: list[Any]) -> Iterator[Matches]:
        for control in self._searched(results):
            count, room = int(control[ctl.ROOTS]), len(results[0]) // self.slots
            if self.most is not None and room * self.slots * 40 > self.most:
                raise LimitError(
                    f"the matches that one event completes are more than {room // 2} and would take "
                    f"{room * self.slots * 40 / 1e9:.1f} GB, and results may take {self.most / 1e9:.1f} GB; narrow WITHIN "
                    'or the predicates, or ask for output="count", which lists no matches'
                )
            yield Matches(
                tuple(
                    Slot(np.array(results[0][s * room : s * room + count], np.int64))
                    for s in range(self.slots)
                )
            )

    def roots(self) -> Iterator[tuple[Graph, int]]:
        """Matches are found by their anchors; who chooses among them wants them as they complete."""
        found = joined(self.keep(self.pieces()), self.plan.query)
        if len(found):
            yield graph_of(chosen_matches(found, np.argsort(found.last, kind="stable")), self), len(found)

    def counts(self) -> tuple[eager.Ints, eager.Ints]:
        """How many matches complete at which event."""
        if self.shape.counting:
            totals = self.array("i8", len(self.batch))
            for _ in self._searched([totals]):
                pass
            counted = np.array(totals, np.int64)
        else:
            counted = np.zeros(len(self.batch), np.int64)
            for piece in self.pieces():
                np.add.at(counted, piece.last, 1)
        events = np.flatnonzero(counted)
        return events, counted[events].reshape(-1, 1)


def _begin(plan: Plan, slot: int) -> Any:
    """The guard with which a slot's event is bound."""
    guards = [
        g for a, g in zip(plan.automaton.arcs, plan.split.guards, strict=True) if a.action is Action.BEGIN
    ]
    return guards[slot]


def asks_more(plan: Plan, place: int) -> bool:
    """Whether a negated component's tests ask of more than its own event."""
    var = plan.query.pattern.components[place].var
    return any(not absence.by_itself(t.expr, var) for t in plan.query.tests_at(place, Moment.ABSENT))


def asked_of_matches(plan: Plan) -> bool:
    """Whether complete matches are asked anything, so that they must be listed to be counted."""
    if plan.automaton.left_to(Absent.FILTERS) or any(
        asks_more(plan, p) for p in plan.automaton.left_to(Absent.ENDS)
    ):
        return True
    slots = range(1, len(plan.automaton.components))
    return plan.query.pattern.strategy is Strategy.NEXT and any(not _begin(plan, s).is_static for s in slots)
