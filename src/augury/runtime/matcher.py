"""A matcher: the same query on events as they come.

    insert ─> waiting (in any order) ─ advance(t): what is before t ─> with what is kept of its partitions ─> engine
                                                                            ^                                  │
                                                                            └── what matches to come need <────┴─> rows

A step looks only at partitions for which something new has come or for which time has run out. Of each it evaluates
the events that were kept and the new ones, and takes the matches that have become certain since the last step. What
is kept are events, not runs: an event that no live run can have bound, and none to come can need, is not kept.
"""

from __future__ import annotations

import datetime as dt
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines import selection
from augury.engines.batch import dense
from augury.engines.eager import ALWAYS, Evaluation, Share
from augury.errors import DataError, DataWarning, QueryError
from augury.expr.columns import from_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, INT64_MIN, Kind, storage
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import value_digests
from augury.pattern import Component, Pattern, Strategy
from augury.resolve import Resolved
from augury.runtime.by_engine import Engine
from augury.runtime.certainty import BEFORE_ALL, certainty
from augury.runtime.kept import NEVER, Kept
from augury.runtime.slices import breaks, partition_columns
from augury.runtime.state import fingerprint, pack, unpack
from augury.runtime.table import Options, engine_of, met, no_time
from augury.schema import as_table

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
OnLate = Callable[[pa.Table], object]


class Matcher:
    """What `query.matcher` gives. Each call returns a table of changes: `op`, then the columns of the output."""

    def __init__(
        self,
        pattern: Pattern,
        schema: Any,
        options: Options,
        *,
        speculate: Any = 0,
        on_late: OnLate | None = None,
        state: bytes | None = None,
    ) -> None:
        if speculate is None or speculate not in (0, dt.timedelta(0)):
            raise QueryError(
                f"speculate={speculate!r}: SASE+ queries report a match only when it is certain",
                hint="leave speculate out, or write speculate=0",
            )
        self.given = schema_of(schema)
        self.options = options
        self.query, gives = met(pattern, self.given, options)
        if "op" in gives.names:
            raise QueryError(
                "a column of the result is named op, as the matcher's own is",
                hint="rename the key column, the variable or the item of RETURN",
            )
        self.gives = pa.schema([pa.field("op", pa.string()), *gives])
        self.reads = pa.schema([self.given.field(name) for name in self.query.reads])
        self.engine = engine_of(self.query, gives, options)
        self.certainty = certainty(self.query, options.output)
        self.on_late = on_late
        self.columns = partition_columns(self.query)
        self.kept = Kept(self.reads)
        self.waiting: list[pa.Table] = []
        self.frontier: int | None = None  # the latest punctuation, in instants
        self.done = BEFORE_ALL  # up to this time of its first or last event every match has been reported
        self.closed = False
        self.counts = {"events": 0, "matches": 0, "late_events": 0, "bad_rows": 0}
        self._name = fingerprint(self.query, options, self.given)
        if state is not None:
            unpack(self, state, self._name)

    # -------------------------------------------------------------- what users call

    def insert(self, data: Any) -> pa.Table:
        """Events, in any order; those before the last punctuation are late."""
        self._check_open()
        table, times = self._readable(self._fitting(as_table(data)))
        if self.frontier is not None:
            late = times < self.frontier
            if late.any():
                table = self._without_late(table, late)
        if table.num_rows:
            self.counts["events"] += table.num_rows
            self.waiting.append(table.select(self.reads.names))
        return self._changes([])

    def retract(self, data: Any) -> pa.Table:
        """An earlier event did not happen: SASE+ queries have no engine for that."""
        del data
        raise QueryError(
            "SASE+ queries cannot take events back: what they report is certain",
            hint="leave out what may be revised until it is settled, and advance() then",
        )

    def advance(self, t: Any) -> pa.Table:
        """No event before `t` comes any more: the matches that are certain now."""
        self._check_open()
        frontier = self._instant(t)
        if self.frontier is not None and frontier <= self.frontier:
            return self._changes([])
        return self._changes(self._step(frontier))

    def close(self) -> pa.Table:
        """No event comes any more: everything is final."""
        if self.closed:
            return self._changes([])
        found = self._step(None)
        self.closed = True
        self.kept, self.waiting = Kept(self.reads), []
        return self._changes(found)

    def state(self) -> bytes:
        """All that the matcher knows: `query.matcher(schema, ..., state=bytes)` goes on exactly there."""
        self._check_open()
        return pack(self, self._name)

    @property
    def stats(self) -> dict[str, int]:
        """How much is kept, and what has been counted so far."""
        waiting = sum(t.num_rows for t in self.waiting)
        return {
            **self.counts,
            "live_runs": int(self.kept.alive[: self.kept.size].sum()),
            "nodes": self.engine.measures.peak_nodes,
            "partitions": len(self.kept.names),
            "waiting_events": waiting,
            "kept_events": self.kept.live,
            "buffered_events": waiting + self.kept.live,
            "bytes": self.kept.bytes + sum(t.nbytes for t in self.waiting),
            "counts_beyond": self.engine.measures.counts_beyond,
        }

    # -------------------------------------------------------------- events that come

    def _check_open(self) -> None:
        if self.closed:
            raise QueryError(
                "the matcher is closed: its stream has ended", hint="make a new one with query.matcher(...)"
            )

    def _fitting(self, table: pa.Table) -> pa.Table:
        """The columns that the matcher was promised, in their types."""
        names = table.schema.names
        columns = []
        for field in self.given:
            if names.count(field.name) != 1:
                raise DataError(
                    f"the matcher was made for a column {quoted(field.name)}, and these events have "
                    f"{'none' if field.name not in names else 'several'} of that name"
                )
            column = table.column(field.name)
            if column.type != field.type:
                try:
                    column = column.cast(field.type)
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                    raise DataError(
                        f"the column {quoted(field.name)} is {column.type}, and the matcher was made for "
                        f"{field.type}: {error}"
                    ) from None
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=self.given)

    def _readable(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        """The rows whose time can be read, and their times."""
        name = self.query.roles.time
        type_ = self.query.columns.types[name]
        time = from_arrow(table.column(name), type_)
        good = time.mask()
        if type_.kind is Kind.UINT:
            good = good & (time.values <= INT64_MAX)
        if good.all():
            return table, np.asarray(time.values).astype(np.int64)
        bad = int((~good).sum())
        if self.options.bad_rows == "error":
            raise DataError(f'{no_time(bad, name)}; mend them, or drop them with bad_rows="drop"')
        self.counts["bad_rows"] += bad
        warnings.warn(
            f"{no_time(bad, name)} and {'was' if bad == 1 else 'were'} dropped", DataWarning, stacklevel=3
        )
        kept = np.flatnonzero(good)
        return rows_of_table(table, kept), np.asarray(time.values)[kept].astype(np.int64)

    def _without_late(self, table: pa.Table, late: Mask) -> pa.Table:
        self.counts["late_events"] += int(late.sum())
        if self.on_late is not None:
            self.on_late(rows_of_table(table, np.flatnonzero(late)))
        return rows_of_table(table, np.flatnonzero(~late))

    def _instant(self, t: Any) -> int:
        """A punctuation as an instant; what is no value of the time column's type is an error."""
        name = self.query.roles.time
        stored = storage(self.given.field(name).type)
        zone = getattr(stored, "tz", None)
        if isinstance(t, dt.datetime) and (t.tzinfo is None) != (zone is None):
            t = t.replace(tzinfo=None if zone is None else dt.UTC)
        strange = isinstance(t, bool) or (isinstance(t, int) and not pa.types.is_integer(stored))
        try:
            value = None if strange else t.cast(stored) if isinstance(t, pa.Scalar) else pa.scalar(t, stored)
        except (TypeError, ValueError, pa.ArrowException):
            value = None
        if value is None:
            raise QueryError(
                f"advance({t!r}): the time column {quoted(name)} is {self.query.columns.types[name].named}",
                hint="pass a value of the time column's type",
            )
        if not value.is_valid:
            raise QueryError("advance(None): a punctuation is an instant", hint="close() ends the stream")
        column = pa.chunked_array([pa.array([value], stored)])
        return int(from_arrow(column, self.query.columns.types[name]).values[0])

    # -------------------------------------------------------------- a step

    def _step(self, frontier: int | None) -> list[pa.Table]:
        """The matches that become certain when the frontier moves there; None: to the end."""
        new = self._released(frontier)
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
        self.frontier = frontier
        if frontier is not None:
            self.kept.drop_expired(frontier)
        return found

    def _released(self, frontier: int | None) -> pa.Table:
        """The waiting events before the frontier; the others go on waiting."""
        waiting = pa.concat_tables(self.waiting) if self.waiting else no_rows(self.reads)
        if frontier is None:
            self.waiting = []
            return waiting
        out = self._times(waiting) < frontier
        if out.all():
            self.waiting = []
            return waiting
        rest = rows_of_table(waiting, np.flatnonzero(~out))
        self.waiting = [rest]
        return rows_of_table(waiting, np.flatnonzero(out))

    def _slots(self, new: pa.Table) -> tuple[Ints, Ints]:
        """The slots for which there are new events, and for each event its place among them."""
        if not new.num_rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if not self.columns:
            return self.kept.slots_of(np.zeros((2, 1), np.uint64)), np.zeros(new.num_rows, np.int64)
        lanes = value_digests(new, self.columns, self.query.columns.types)
        place, many = dense(lanes[0].view(np.int64) ^ lanes[1].view(np.int64), fast=new.num_rows >= 100_000)
        one = np.empty(many, np.int64)
        one[place] = np.arange(len(place))
        used = np.unique(place) if many > len(place) else np.arange(many)
        return self.kept.slots_of(lanes[:, one[used]]), np.searchsorted(used, place)

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

        def result(evaluation: Evaluation) -> pa.Table:
            used = None
            if self.options.output == "non_overlap":
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

    # -------------------------------------------------------------- tables

    def _times(self, table: pa.Table) -> Ints:
        name = self.query.roles.time
        return np.asarray(from_arrow(table.column(name), self.query.columns.types[name]).values).astype(
            np.int64
        )

    def _changes(self, found: Sequence[pa.Table]) -> pa.Table:
        """Rows as changes: what ordered engines report they never take back."""
        rows = sum(t.num_rows for t in found)
        self.counts["matches"] += rows
        if not rows:
            return no_rows(self.gives)
        table = pa.concat_tables(found)
        op = pa.repeat(pa.scalar("insert"), table.num_rows)
        return pa.Table.from_arrays([op, *table.columns], schema=self.gives)


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


def schema_of(given: Any) -> pa.Schema:
    """The columns of the events to come."""
    if isinstance(given, pa.Schema):
        return given
    if hasattr(given, "__arrow_c_schema__"):
        return pa.schema(given)
    found = getattr(given, "schema", None)
    if isinstance(found, pa.Schema):
        return found
    raise QueryError(
        f"{type(given).__name__} is no schema of events",
        hint="pass a pyarrow.Schema, or a table that has one",
    )
