"""The core of a SASE+ query's matcher: events are kept, and evaluated again with those that come.

A step looks only at partitions for which something new has come or for which time has run out. Of each it evaluates
the events that were kept and the new ones, and takes the matches that have become certain since the last step. What
is kept are events, not runs: an event that no live run can have bound, and none to come can need, is not kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines import selection
from augury.engines.batch import COMPILED_FROM, dense
from augury.engines.eager import ALWAYS, Evaluation, Share
from augury.engines.patience import is_warm
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import value_digests
from augury.pattern import Component, Strategy
from augury.resolve import Resolved
from augury.runtime.by_engine import Engine
from augury.runtime.certainty import BEFORE_ALL, certainty
from augury.runtime.changes import inserts
from augury.runtime.kept import NEVER, Kept
from augury.runtime.room import Room
from augury.runtime.slices import breaks
from augury.runtime.state import read_events, written_events

if TYPE_CHECKING:
    from augury.runtime.sequences import Sequences

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BY_SLOT = ("count", "due", "expires", "alive")


class Steps:
    """What a matcher remembers of a SASE+ query's stream."""

    SECTIONS: ClassVar[tuple[str, ...]] = ("pool", "barred", "names", *_BY_SLOT)

    def __init__(self, program: Sequences) -> None:
        self.program = program
        self.query = program.query
        self.output = program.options.output
        self.engine = program.evaluator()
        self.certainty = certainty(self.query, self.output)
        self.columns = program.partition
        self.reads = pa.schema([program.given.field(name) for name in program.reads])
        self.kept = Kept(self.reads)
        self.done = BEFORE_ALL  # up to this time of its first or last event every match has been reported

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        """The matches that become certain when the frontier moves there; None: to the end."""
        settled = self.certainty.settled(frontier)
        found: list[pa.Table] = []
        slots, place = self._slots(new)
        by = INT64_MAX if frontier is None else frontier
        if self.certainty.waits:
            others = np.setdiff1d(self.kept.due_by(by), slots)
            slots = np.concatenate([slots, others])
        if len(slots):
            found = [self._evaluated(new, slots, place, frontier, settled)]
        self.done = max(self.done, settled)
        if frontier is None:
            self.kept = Kept(self.reads)
        else:
            self.kept.drop_expired(frontier)
        return inserts(found)

    def look(self, new: pa.Table) -> pa.Table:
        """What would be reported if the stream ended with these events. Nothing changes."""
        slots, place = self._slots(new)
        if not len(slots):
            return no_rows(self.program.gives)
        settled = self.certainty.settled(None)
        if isinstance(self.engine, Engine):
            found = self._evaluated(new, slots, place, None, settled)
        else:
            whole = self.engine.whole(pa.concat_tables([self.kept.taken_out(slots)[0], new]))
            found = _in_share(whole, self.certainty.share(self.done, settled), self.query)
        self.kept.forget_empty(slots)
        return found

    @property
    def due(self) -> int:
        """The first frontier at which something is certain or forgotten though no event comes."""
        return self.kept.next

    def stats(self) -> dict[str, int]:
        """What is kept."""
        measures = self.engine.measures
        return {
            "live_runs": int(self.kept.alive[: self.kept.size].sum()),
            "nodes": measures.peak_nodes,
            "partitions": len(self.kept.names),
            "buffered_events": self.kept.live,
            "bytes": self.kept.bytes,
            "counts_beyond": measures.counts_beyond,
        }

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        """All that is known, as numbers for the header and sections."""
        kept = self.kept
        kept.compact()
        slots = kept.slots()
        barred = kept.barred[0] if kept.barred else np.zeros(0, np.bool_)
        sections = [
            written_events(kept.pool, self.reads),
            np.packbits(barred).tobytes(),
            np.ascontiguousarray(kept.names.of_slot[:, slots].T).astype("<u8").tobytes(),
            *(getattr(kept, field)[slots].astype("<i8").tobytes() for field in _BY_SLOT),
        ]
        return {"done": self.done, "kept": kept.live}, sections

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        """Put this into the state that was packed."""
        self.done = header["done"]
        kept = self.kept = Kept(self.reads)
        names = np.frombuffer(sections["names"], np.uint64).reshape(-1, 2)
        arrays = {field: np.frombuffer(sections[field], "<i8").astype(np.int64) for field in _BY_SLOT}
        pool = read_events(sections["pool"], self.reads)
        barred = np.unpackbits(np.frombuffer(sections["barred"], np.uint8), count=pool.num_rows)
        if arrays["count"].min(initial=1) < 1 or arrays["count"].sum() != pool.num_rows:
            raise ValueError("its events are not those that are counted")
        if len(names):
            slots = kept.slots_of(np.ascontiguousarray(names.T))
            kept.put(
                slots, arrays["count"], pool, barred.astype(np.bool_), *(arrays[f] for f in _BY_SLOT[1:])
            )

    # -------------------------------------------------------------- a step

    def _slots(self, new: pa.Table) -> tuple[Ints, Ints]:
        """The slots for which there are new events, and for each event its place among them."""
        if not new.num_rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if not self.columns:
            return self.kept.slots_of(np.zeros((2, 1), np.uint64)), np.zeros(new.num_rows, np.int64)
        lanes = value_digests(new, self.columns, self.query.columns.types)
        fast = new.num_rows >= COMPILED_FROM or is_warm()
        place, many = dense(lanes[0].view(np.int64) ^ lanes[1].view(np.int64), fast=fast)
        one = np.full(many, -1)
        one[place] = np.arange(len(place))
        used = np.flatnonzero(one >= 0)
        if len(used) < many:
            number = np.empty(many, np.int64)
            number[used] = np.arange(len(used))
            place = number[place]
        return self.kept.slots_of(lanes[:, one[used]]), place

    def _evaluated(
        self, new: pa.Table, slots: Ints, place: Ints, frontier: int | None, settled: int
    ) -> pa.Table:
        old, old_place, barred = self.kept.taken_out(slots)
        table = pa.concat_tables([old, new]) if old.num_rows else new
        place = np.concatenate([old_place, place])
        barred = np.concatenate([barred, np.zeros(new.num_rows, np.bool_)])
        share = self.certainty.share(self.done, settled)
        engine = self.engine
        done = max(self.done, settled)
        if not isinstance(engine, Engine):
            found = _in_share(engine.whole(table), share, self.query)
            everything = np.ones(table.num_rows, np.bool_)
            self._put(table, slots, place, everything, ~everything, np.zeros(len(slots), np.int64), done)
            return found

        engine.room = Room()  # what earlier steps gave is not kept here

        def result(evaluation: Evaluation) -> pa.Table:
            used = None
            if self.output == "non_overlap":
                chosen = selection.selected(evaluation, longest=False)
                rows = engine.rows(evaluation, [chosen])
                used = chosen.last
            else:
                rows = engine.result(evaluation)
            if frontier is not None:
                self._keep(evaluation, slots, place, barred, frontier, used, done)
            return rows

        return engine.evaluated(table, share, result, barred=barred, keeps=True)

    # -------------------------------------------------------------- what is kept

    def _keep(
        self,
        e: Evaluation,
        slots: Ints,
        place: Ints,
        barred: Mask,
        frontier: int,
        used: Ints | None,
        done: int,
    ) -> None:
        """Keep of the partitions at hand what matches to come can need."""
        order, indices = e.batch.order, np.arange(len(e.batch))
        segment = np.repeat(np.arange(len(e.since)), np.diff(e.batch.segments))
        in_reach = e.batch.times > self.certainty.needed_after(frontier)
        behind = np.zeros(len(indices), np.bool_)  # no match to come begins here
        if used is not None and len(used):  # what begins up to the end of a reported match overlaps with it
            last = np.full(len(e.since), -1, np.int64)
            np.maximum.at(last, segment[used], used)
            behind |= indices <= last[segment]
        if not self.certainty.waits:
            behind |= (indices < e.since[segment]) | (e.alive[segment] == 0)
        needed, barred = np.zeros(e.table.num_rows, np.bool_), barred.copy()
        needed[order] = in_reach & ~behind
        barred[order] |= behind
        if breaks(self.query.pattern):
            needed = self._with_neighbours(e.table, needed, place, len(slots))
        elif self.query.pattern.strategy in (Strategy.ANY, Strategy.NEXT):
            needed &= e.useful | self._absent(e, e.plan.query.pattern.components)
        if self.certainty.lookback:
            reached = np.zeros(len(needed), np.bool_)
            reached[order] = in_reach
            needed |= reached & self._absent(e, _leading(self.query))
        alive = np.zeros(len(slots), np.int64)
        filled = np.flatnonzero(np.diff(e.batch.segments))
        np.add.at(alive, place[order[e.batch.segments[filled]]], e.alive[filled])
        self._put(e.table, slots, place, needed, barred, alive, done)

    def _absent(self, e: Evaluation, components: Sequence[Component]) -> Mask:
        """The rows that a negated component among these means, as far as they tell by themselves."""
        found = np.zeros(e.table.num_rows, np.bool_)
        for place, component in enumerate(components):
            if component.negated:
                found |= e.candidates(place)
        return found

    def _with_neighbours(self, table: pa.Table, needed: Mask, place: Ints, slots: int) -> Mask:
        """All rows of a key's stream from the first one that is needed: that each has its neighbour matters."""
        times = self._times(table)
        first = np.full(slots, INT64_MAX, np.int64)
        np.minimum.at(first, place[needed], times[needed])
        kept: Mask = times >= first[place]
        return kept

    def _put(
        self, table: pa.Table, slots: Ints, place: Ints, needed: Mask, barred: Mask, alive: Ints, done: int
    ) -> None:
        rows = np.flatnonzero(needed)
        narrow = place[rows].astype(np.uint16 if len(slots) < 1 << 16 else np.int64)
        rows = rows[np.argsort(narrow, kind="stable")]  # 16 bits are sorted by counting
        counts = np.bincount(place[rows], minlength=len(slots)).astype(np.int64)
        times = self._times(table)[rows]
        last, due = np.full(len(slots), INT64_MIN, np.int64), np.full(len(slots), NEVER, np.int64)
        np.maximum.at(last, place[rows], times)
        if self.certainty.waits:
            owed = times > done
            if self.certainty.by_first:
                owed &= ~barred[rows]
            np.minimum.at(due, place[rows[owed]], times[owed])
            due = _moved(due, self.certainty.due(0))
        expires = np.full(len(slots), NEVER, np.int64)
        if self.certainty.reach is not None:
            expires = _moved(last, self.certainty.reach)
        self.kept.put(slots, counts, rows_of_table(table, rows), barred[rows], due, expires, alive)

    def _times(self, table: pa.Table) -> Ints:
        name = self.query.roles.time
        return np.asarray(from_arrow(table.column(name), self.query.columns.types[name]).values).astype(
            np.int64
        )


def _moved(times: Ints, by: int) -> Ints:
    """Times moved into the future; what is beyond 64 bits is never."""
    return np.where(times > INT64_MAX - by, NEVER, times + min(by, INT64_MAX))


def _leading(query: Resolved) -> list[Component]:
    """The negated components before the first positive one."""
    return list(itertools.takewhile(lambda c: c.negated, query.pattern.components))


def _in_share(found: pa.Table, share: Share, query: Resolved) -> pa.Table:
    """Of a whole result the matches that are in a share."""
    for name, (low, high) in (("match_start", share.starts), ("match_end", share.ends)):
        if (low, high) != ALWAYS:
            type_ = query.columns.types[query.roles.time]
            times = np.asarray(from_arrow(found.column(name), type_).values)
            found = found.filter(pa.array((times >= low) & (times <= high)))
    return found
