"""The backtracking engine: a baseline that follows one run at a time and reads events again for each.

It shares the automaton, the masks and the registers with the eager engine; what it lacks is what it is there to
measure: no runs that step together, none that are merged, no graph of matches. Counting follows every match too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from augury.engines import eager
from augury.engines.absence import chosen_matches
from augury.engines.backtrack_source import FARTHEST, READS, SIZE, TOP, backtrack_source
from augury.engines.generated import Options, Source
from augury.engines.kernels import control as ctl
from augury.engines.kernels.path import gather_path
from augury.engines.stores import size_of
from augury.engines.walk import Graph, flat_matches, graph_of
from augury.errors import LimitError
from augury.expr.inputs import Inputs
from augury.match.rows import Matches, joined

BUDGET = 1 << 24  # events read between two looks at the world; uncompiled, a thousandth of them


class Evaluation(eager.Evaluation):
    """One evaluation, by backtracking."""

    shares = False
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {"gather_path": gather_path}

    def _written(self, options: Options, inputs: Inputs) -> Source:
        plan = self.plan
        return backtrack_source(
            *(plan.automaton, plan.split, plan.registers, self.nullable, inputs),
            windowed=options.windowed,
            counting=options.counting,
            bounded=self.below is not None,
        )

    def live(self, control: Any) -> int:
        return int(control[TOP])

    def pieces(self) -> Iterator[Matches]:
        """All matches that no absence breaks, over kernel indices."""
        room = 1 << 12 if len(self.batch) < 1 << 12 else eager.PIECE
        slots = self.plan.automaton.final
        results = [self.array("i4", room), self.array("i8", slots * (room // 2))]
        for control in self._searched(results):
            out, ends = results
            count, size = int(control[ctl.ROOTS]) // slots, int(control[SIZE])
            found = flat_matches(self, self.kleene, out, ends, count, size)
            those = self.in_share(found.last)
            found = self.surviving(found if those is None else chosen_matches(found, those))
            if len(found):
                yield found

    def roots(self) -> Iterator[tuple[Graph, int]]:
        """Matches are found by their first events; who chooses among them wants them as they complete."""
        found = joined(self.keep(self.pieces()), self.plan.query)
        if len(found):
            yield graph_of(chosen_matches(found, np.argsort(found.last, kind="stable")), self), len(found)

    def counts(self) -> tuple[eager.Ints, eager.Ints]:
        """How many matches complete at which event: each has been followed, none written down."""
        totals = self.array("i8", len(self.batch))
        for _ in self._searched([totals]):
            pass
        counted = np.array(totals, np.int64)
        events = np.flatnonzero(counted)
        those = self.in_share(events)
        events = events if those is None else events[those]
        return events, counted[events].reshape(-1, 1)

    def _searched(self, results: list[Any]) -> Iterator[Any]:
        """Search to the end; the control words whenever results wait to be read."""
        source = self.source
        kernel = self._kernel(source)
        runs_room, path_room = 64, 64
        arrays = {a.name: self.array(a.dtype, runs_room) for a in source.arrays}
        path = [self.array("i4", path_room) for _ in range(2)]
        control = self.array("i8", ctl.size(0))
        control[ctl.LIVE], control[ctl.STOP] = self.max_runs, BUDGET if self.fast else BUDGET >> 10
        fixed = [self.listed(self.batch.segments), *self.masks, self.listed(self.batch.lows)]
        if self.batch.breaks is not None:
            fixed.append(self.listed(self.batch.breaks))
        if self.below is not None:
            fixed.append(self.listed(self.below))
        constants = [(self.bound.arguments if self.fast else self.bound.plain())[n] for n in source.constants]
        while True:
            why = kernel(control, *fixed, *self.arguments, *arrays.values(), *path, *results, *constants)
            self.reconsider(int(control[ctl.EVENT]) / max(1, len(self.batch)))
            if control[ctl.ROOTS]:
                yield control
            elif why == ctl.ROOTS_FULL:  # one match alone does not fit
                results[0] = self.longer(results[0], "i4", 2 * len(results[0]))
            control[ctl.ROOTS] = control[SIZE] = 0
            if why == ctl.FINISHED:
                break
            if why == ctl.TOO_MANY_RUNS:
                raise LimitError(self._too_many(control, int(control[ctl.EVENT])))
            if why == ctl.RUNS_FULL:
                runs_room *= 2
                for a in source.arrays:
                    arrays[a.name] = self.longer(arrays[a.name], a.dtype, runs_room)
            elif why == ctl.NODES_FULL:
                path_room *= 2
                path = [self.longer(a, "i4", path_room) for a in path]
        self.measures.run_evaluations = int(control[ctl.EVALUATIONS])
        self.measures.peak_runs = int(control[ctl.PEAK])
        self.measures.events_read = int(control[READS])
        self.measures.peak_buffered_events = int(control[FARTHEST])
        kept = (
            *fixed,
            self.batch.order,
            self.batch.times,
            *self.arguments,
            *arrays.values(),
            *path,
            *results,
        )
        self.measures.peak_bytes = sum(map(size_of, kept))
