"""All output events of a table, or of one that goes on where another ended: versions are forgotten as the next are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from augury.afa import Ready, Takes
from augury.engines.afa import Runs, Stepper, Stretch, no_runs, saturated, slices
from augury.engines.afa_outputs import Found, accepted, ended, joined, no_outputs
from augury.engines.batch import COMPILED_FROM, prepare
from augury.expr.columns import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


Before = Callable[[Ints], tuple[Runs, Ints, Ints]]
"""Of rows that are the first ones of their keys: the runs that were there before them, and each one's slice."""


class Whole:
    """All output events of a table, its events in stream order by key."""

    def __init__(
        self,
        stepper: Stepper,
        table: pa.Table,
        *,
        fast: bool | None = None,
        ids: Ints | None = None,
        before: Before | None = None,
    ) -> None:
        self.query = query = stepper.query
        large = table.num_rows >= COMPILED_FROM if fast is None else fast
        order, segments = ordered(table, query, fast=large)
        name = query.roles.time
        times = np.ascontiguousarray(
            from_arrow(table.column(name), query.columns.types[name]).values, np.int64
        )
        filled = np.flatnonzero(np.diff(segments))
        starts, lengths = segments[filled], np.diff(segments)[filled]
        many = int(lengths.sum()) + len(filled)
        bases = starts + np.arange(len(filled))
        self.rows = np.full(many, -1, np.int64)
        place = np.ones(many, np.bool_)
        place[bases] = False
        self.rows[place] = order
        self.times = np.where(place, times[np.maximum(self.rows, 0)], 0) if many else np.zeros(0, np.int64)
        none = np.full(many, -1, np.int64)
        ver_lo, ver_hi = np.where(place, -1, 0), np.where(place, -1, 0)
        begin = no_runs(query, stepper.options.extras)
        self.lasts: Ints | None = None  # the last places of keys, where the next table goes on from
        if before is not None and many:
            begin, ver_lo[bases], ver_hi[bases] = before(order[starts])
            self.lasts = np.append(bases[1:], many) - 1
        self.front = len(begin)
        self.ends: list[
            tuple[Ints, Ints, Runs]
        ] = []  # some of those places, how many runs each has, and they
        self.stretch = Stretch(
            rows=self.rows,
            ids=np.arange(many) if ids is None or not many else ids[np.maximum(self.rows, 0)],
            times=self.times,
            gap=gaps(table, query, self.rows),
            ver_lo=ver_lo,
            ver_hi=ver_hi,
            ref_lo=none,
            ref_hi=none,
            hard=np.zeros(many, np.uint8),
            todo=bases + 1,
        )
        self.drive = stepper.drive(table, times, self.stretch, begin, fast=fast)
        self.done = 0
        self.found: list[Found] = []

    def run(self) -> Found:
        self.drive.go(self._flush)
        self.drive.at = len(self.rows)
        self._collect(len(self.rows))
        if not self.found:
            return no_outputs(self.query)
        return joined(self.found, self.query)

    def _flush(self) -> None:
        at = self.drive.at
        self._collect(at)
        s = self.stretch
        lo, hi = int(s.ver_lo[at - 1]), int(s.ver_hi[at - 1])
        s.ver_lo[at - 1], s.ver_hi[at - 1] = self.drive.forget(lo, hi, self.front)

    def _collect(self, upto: int) -> None:
        """The output events at the places that are done."""
        s, query = self.stretch, self.query
        places = np.arange(self.done, upto)
        self.done = upto
        final = places[s.finals[places] > 0]
        known = None
        if len(final):
            rows, which = slices(s.ver_lo[final], s.ver_hi[final])
            state = self.drive.numbers("s_state", rows)
            good = np.isin(state, list(query.final))
            rows, ends = rows[good], final[which[good]]
            known = accepted(self.drive.runs(rows), ends, s.times[ends], query)
            self.found.append(known)
        if self.lasts is not None:
            last = self.lasts[(self.lasts >= places[0]) & (self.lasts < upto)] if len(places) else places
            rows, _ = slices(s.ver_lo[last], s.ver_hi[last])
            self.ends.append((last, s.ver_hi[last] - s.ver_lo[last], self.drive.runs(rows)))
        waits = [a.source for a in query.arcs if a.takes is Takes.WINDOW_END]
        if waits:
            self._collect_ended(places[~s.base[places]], waits, known)

    def _collect_ended(self, places: Ints, waits: list[int], known: Found | None) -> None:
        s, query = self.stretch, self.query
        rows, which = slices(s.ver_lo[places], s.ver_hi[places])
        good = np.isin(self.drive.numbers("s_state", rows), waits)
        rows, ends = rows[good], places[which[good]]
        passed = has_passed(self.drive.numbers("s_time", rows), ends, s.times, s.base, query.window or 0)
        rows, ends = rows[passed], ends[passed]
        if not len(rows):
            return
        before = no_outputs(query) if known is None else known
        self.found.append(ended(self.drive.runs(rows), ends, query, before))


def has_passed(first: Ints, ends: Ints, times: Ints, base: Mask, window: int) -> Mask:
    """Whether the event after the last one is beyond the window of the first."""
    after = np.minimum(ends + 1, len(times) - 1)
    is_last = (ends + 1 >= len(times)) | base[after]
    return is_last | (first <= saturated(times[after], -window))


def ordered(table: pa.Table, query: Ready, *, fast: bool) -> tuple[Ints, Ints]:
    """Rows by key and in stream order, and where keys begin."""
    roles = query.roles
    if query.sequence is not None:
        roles = replace(roles, time=query.sequence, tiebreak=())
    batch = prepare(table, replace(query, window=None, roles=roles), (), breaks=False, fast=fast)  # type: ignore[arg-type]
    return batch.order, batch.segments


def gaps(table: pa.Table, query: Ready, rows: Ints) -> npt.NDArray[np.uint8]:
    """Where an event's number does not follow on that of the place before."""
    found = np.zeros(len(rows), np.uint8)
    if query.sequence is None or not len(rows):
        return found
    read = from_arrow(table.column(query.sequence), query.columns.types[query.sequence])
    numbers = np.asarray(read.values).astype(np.int64)[np.maximum(rows, 0)]
    found[1:] = (rows[:-1] >= 0) & (numbers[1:] != numbers[:-1] + 1)
    return found
