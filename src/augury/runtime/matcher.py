"""A matcher: the same query on events as they come.

    insert, retract ─> waiting (in any order) ─ what is released ─> core ─> changes
    advance(t) ──────> the frontier: no event before t comes any more

Here is what does not hang on the query's language: columns and rows that do not fit, what is late, what waits for a
punctuation, and the bytes of the state. What has been released goes to the program's `Core`.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.errors import DataError, DataWarning, QueryError, one_line
from augury.expr.columns import from_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, INT64_MIN, Type, storage
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import value_digests
from augury.runtime.changes import OP, changes_of
from augury.runtime.options import Unset
from augury.runtime.program import Core, Program, Revising
from augury.runtime.state import pack, read_events, unpack, written_events
from augury.runtime.table import bad_rows, dropped
from augury.schema import as_table
from augury.time import span

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
OnLate = Callable[[pa.Table], object]

_WAITING = "waiting"


class Matcher:
    """What `query.matcher` gives. Each call returns a table of changes: `op`, then the columns of the output."""

    def __init__(self, program: Program, given: pa.Schema, *, state: bytes | None = None) -> None:
        self.given = given
        self.program = program
        options = program.options
        self.on_late: OnLate | None = options.on_late
        if OP in program.gives.names:
            raise QueryError(
                "a column of the result is named op, as the matcher's own is",
                hint="rename the key column, the variable or the item of RETURN",
            )
        self.gives = changes_of(program.gives)
        self.reads = pa.schema([given.field(name) for name in program.reads])
        self.ahead = self._ahead(
            options.speculate
        )  # how far beyond the frontier events are released; None: all are
        self.core: Core = program.core(speculates=self.ahead != 0)
        self.waiting: list[pa.Table] = []
        self.frontier: int | None = None  # the latest punctuation, in instants
        self.closed = False
        self.counts = {"events": 0, "matches": 0, "retracted": 0, "late_events": 0, "bad_rows": 0}
        if state is not None:
            self._restore(state)

    # -------------------------------------------------------------- what users call

    def insert(self, data: Any) -> pa.Table:
        """Events, in any order; those before the last punctuation are late."""
        table = self._in_time(data)
        if not table.num_rows:
            return self._changes([])
        self.counts["events"] += table.num_rows
        self._received(table)
        self.waiting.append(table)
        if self.ahead == 0:
            return self._changes([])
        released = self._released(self._horizon())
        return self._changes(self.core.step(released, self._passed()) if released.num_rows else [])

    def retract(self, data: Any) -> pa.Table:
        """Earlier events did not happen. Each row takes back one: of equal ones, in what the query reads, any."""
        table = self._in_time(data)
        if not table.num_rows:
            return self._changes([])
        waits = self._waits(table)
        unknown = np.zeros(table.num_rows, np.bool_)
        stays, unknown[waits] = self._without(rows_of_table(table, np.flatnonzero(waits)))
        released = rows_of_table(table, np.flatnonzero(~waits))
        if released.num_rows:
            unknown[~waits] = ~self._revising().knows(released)
        self._check_known(table, unknown)
        self.waiting = stays
        self.counts["retracted"] += table.num_rows - int(unknown.sum())
        released = rows_of_table(table, np.flatnonzero(~waits & ~unknown))
        return self._changes(self._revising().retract(released, self._passed()) if released.num_rows else [])

    def advance(self, t: Any) -> pa.Table:
        """No event before `t` comes any more: the matches that are certain now."""
        return self.advance_to(self._instant(t))

    def advance_to(self, frontier: int) -> pa.Table:
        """`advance`, by the instant itself, which may lie beyond what the time column holds."""
        self._check_open()
        if self.frontier is not None and frontier <= self.frontier:
            return self._changes([])
        self.frontier = frontier
        return self._changes(self.core.step(self._released(self._horizon()), frontier))

    def close(self) -> pa.Table:
        """No event comes any more: everything is final."""
        if self.closed:
            return self._changes([])
        found = self.core.step(self._released(None), None)
        self.closed = True
        return self._changes(found)

    def state(self) -> bytes:
        """All that the matcher knows: `query.matcher(schema, ..., state=bytes)` goes on exactly there."""
        self._check_open()
        known, sections = self.core.pack()
        header = {"query": self.program.name, "frontier": self.frontier, **known, "counts": self.counts}
        return pack(header, [written_events(self.waiting, self.reads), *sections])

    @property
    def due(self) -> int | None:
        """The first instant at which a punctuation makes something known or forgotten, though no event comes.

        None: none does. What comes before it may be left out.
        """
        ahead = self.ahead or 0  # what is released at once does not wait
        waiting = [int(self._times(table).min()) - ahead + 1 for table in self.waiting if table.num_rows]
        first = min([*waiting, self.core.due])
        return None if first >= INT64_MAX else first

    @property
    def stats(self) -> dict[str, int]:
        """How much is kept, and what has been counted so far."""
        waiting = sum(t.num_rows for t in self.waiting)
        known = self.core.stats()
        return {
            **self.counts,
            **known,
            "waiting_events": waiting,
            "kept_events": known["buffered_events"],
            "buffered_events": waiting + known["buffered_events"],
            "bytes": known["bytes"] + sum(t.nbytes for t in self.waiting),
        }

    # -------------------------------------------------------------- events that come

    def _received(self, table: pa.Table) -> None:
        """Events have come that will be matched: for languages that look at more than their core does."""

    def _check_open(self) -> None:
        if self.closed:
            raise QueryError(
                "the matcher is closed: its stream has ended", hint="make a new one with query.matcher(...)"
            )

    def _in_time(self, data: Any) -> pa.Table:
        """The rows that can be read and are not late, of the columns that the query reads."""
        self._check_open()
        table = self._readable(self._fitting(as_table(data)))
        if self.frontier is not None:
            late = self._times(table) < self.frontier
            if late.any():
                self.counts["late_events"] += int(late.sum())
                if self.on_late is not None:
                    self.on_late(rows_of_table(table, np.flatnonzero(late)))
                table = rows_of_table(table, np.flatnonzero(~late))
        return table.select(self.reads.names)

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

    def _readable(self, table: pa.Table) -> pa.Table:
        """The rows that are good input."""
        bad, said = bad_rows(table, self.program)
        if bad is None:
            return table
        if self.program.options.bad_rows == "error":
            raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
        self.counts["bad_rows"] += int(bad.sum())
        warnings.warn(dropped(int(bad.sum()), said), DataWarning, stacklevel=4)
        return rows_of_table(table, np.flatnonzero(~bad))

    # -------------------------------------------------------------- events that did not happen

    def _revising(self) -> Revising:
        return cast("Revising", self.core)  # only what speculates has released events that are not settled

    def _waits(self, table: pa.Table) -> Mask:
        """Which of these events, if they are known, have not been released."""
        horizon = self._horizon()
        if horizon is None:
            return np.zeros(table.num_rows, np.bool_)
        return np.asarray(self._times(table) >= horizon)

    def _without(self, gone: pa.Table) -> tuple[list[pa.Table], Mask]:
        """What waits without one copy of each of these events, and which of them are not there."""
        if not gone.num_rows:
            return self.waiting, np.zeros(0, np.bool_)
        waiting = pa.concat_tables(self.waiting) if self.waiting else no_rows(self.reads)
        out, unknown = one_of_each(waiting, gone, self.reads.names, self.program.columns.types)
        kept = np.flatnonzero(~out)
        return [rows_of_table(waiting, kept)] if len(kept) else [], unknown

    def _check_known(self, table: pa.Table, unknown: Mask) -> None:
        """A retraction that names no event is bad input."""
        many = int(unknown.sum())
        if not many:
            return
        example = table.slice(int(np.argmax(unknown)), 1).to_pylist()[0]
        said = one_line(
            f"{'1 retraction names' if many == 1 else f'{many} retractions name'} no event that is known, "
            f"such as {example}"
        )
        if self.program.options.bad_rows == "error":
            raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
        self.counts["bad_rows"] += many
        warnings.warn(dropped(many, said), DataWarning, stacklevel=4)

    # -------------------------------------------------------------- time

    def _ahead(self, speculate: Any) -> int | None:
        if (
            self.program.options.sequence is not None
        ):  # numbers give the order: nothing waits for a punctuation
            return None
        if isinstance(speculate, Unset):
            return 0
        if speculate is None:
            return None
        if speculate in (0, dt.timedelta(0)):
            return 0
        clock = self.program.clock
        return span(speculate, "speculate", self.program.columns.types[clock], clock)

    def _passed(self) -> int:
        """The latest punctuation; before any, the beginning of time."""
        return INT64_MIN if self.frontier is None else self.frontier

    def _horizon(self) -> int | None:
        """The instant before which events are released; None: all are."""
        if self.ahead is None:
            return None
        # Beyond 64 bits there is no event: what is at the very last instant waits for the end of the stream.
        return -(2**63) if self.frontier is None else min(self.frontier + self.ahead, INT64_MAX)

    def _instant(self, t: Any) -> int:
        """A punctuation as an instant; what is no value of the time column's type is an error."""
        name = self.program.clock
        stored = storage(self.given.field(name).type)
        zone = getattr(stored, "tz", None)
        if isinstance(t, dt.datetime) and (t.tzinfo is None) != (zone is None):
            t = t.replace(tzinfo=None if zone is None else dt.UTC)
        strange = isinstance(t, bool) or (isinstance(t, int) and not pa.types.is_integer(stored))
        try:
            value = None if strange else t.cast(stored) if isinstance(t, pa.Scalar) else pa.scalar(t, stored)
        except (TypeError, ValueError, pa.ArrowException):
            value = None
        type_ = self.program.columns.types[name]
        if value is None:
            raise QueryError(
                f"advance({t!r}): the time column {quoted(name)} is {type_.named}",
                hint="pass a value of the time column's type",
            )
        if not value.is_valid:
            raise QueryError("advance(None): a punctuation is an instant", hint="close() ends the stream")
        return int(from_arrow(pa.chunked_array([pa.array([value], stored)]), type_).values[0])

    def _times(self, table: pa.Table) -> Ints:
        clock = self.program.clock
        time = from_arrow(table.column(clock), self.program.columns.types[clock])
        return np.asarray(time.values).astype(np.int64)

    def _released(self, horizon: int | None) -> pa.Table:
        """The waiting events before the horizon; the others go on waiting."""
        waiting = pa.concat_tables(self.waiting) if self.waiting else no_rows(self.reads)
        self.waiting = []
        if horizon is None:
            return waiting
        out = self._times(waiting) < horizon
        if out.all():
            return waiting
        self.waiting = [rows_of_table(waiting, np.flatnonzero(~out))]
        return rows_of_table(waiting, np.flatnonzero(out))

    # -------------------------------------------------------------- what leaves

    def _restore(self, state: bytes) -> None:
        try:
            header, sections = unpack(state, self.program.name, (_WAITING, *self.core.SECTIONS))
            self.frontier, self.counts = header["frontier"], {**self.counts, **header["counts"]}
            waiting = read_events(sections[_WAITING], self.reads)
            self.waiting = [waiting] if waiting.num_rows else []
            self.core.unpack(header, sections)
        except (KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
            # Its checksum is right, so it was written so: by hand, or by what is no Augury.
            raise DataError(f"the state does not hold what a state of this query holds: {error!r}") from None

    def _changes(self, found: Sequence[pa.Table]) -> pa.Table:
        """One table of changes."""
        rows = sum(t.num_rows for t in found)
        self.counts["matches"] += rows
        return pa.concat_tables(found) if rows else no_rows(self.gives)


def one_of_each(
    table: pa.Table, wanted: pa.Table, names: Sequence[str], types: Mapping[str, Type]
) -> tuple[Mask, Mask]:
    """One row of a table for each wanted row that is equal to it, null to null and NaN to NaN, and the wanted ones
    for which there is none.
    """
    lanes = [value_digests(t, names, types).T.tobytes() for t in (table, wanted)]
    copies: dict[bytes, list[int]] = {}
    for row in range(table.num_rows):
        copies.setdefault(lanes[0][16 * row : 16 * row + 16], []).append(row)
    chosen, missing = np.zeros(table.num_rows, np.bool_), np.zeros(wanted.num_rows, np.bool_)
    for row in range(wanted.num_rows):
        found = copies.get(lanes[1][16 * row : 16 * row + 16])
        if found:
            chosen[found.pop()] = True
        else:
            missing[row] = True
    return chosen, missing


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
