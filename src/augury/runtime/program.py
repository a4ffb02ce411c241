"""The seam between queries and the places where they run: a query that has met its data's columns.

    query ─ program(schema, options) ─> Program ─┬─ evaluator() ─> whole(table): in process, Spark batch
                                                 └─ core() ─────> step, retract, …: the matcher, Spark streams

Whatever language a query is in, the runtimes know it as a `Program`. It is immutable and can be sent to a worker; what
is remembered between calls is in the `Core`, and leaves it as bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from augury.engines.eager import EVERYTHING, Share
from augury.errors import one_line
from augury.expr.columns import Column, from_arrow
from augury.expr.functions import UserFunction
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, Kind
from augury.runtime.options import Options
from augury.runtime.slices import Cutting
from augury.schema import Columns, Roles

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Evaluator(Protocol):
    """What finds all matches of tables, and counts what that has cost."""

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        """The result on a table, its rows in any order. A share is asked for only where `cutting` allows cuts."""

    def measured(self) -> dict[str, int]:
        """What the evaluations cost, as `profile` tells it."""


class Core(Protocol):
    """What a matcher remembers of the events that were released to it.

    Events come to it in any order among those of one call, later than the last frontier or not, as it was promised:
    with `speculate=0` all events of a step are before its frontier and none is before the last one.
    What it returns are tables of changes: `op`, then the columns of the result.
    """

    SECTIONS: ClassVar[tuple[str, ...]]

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        """New events, and no other will come before the frontier; None: none will come at all."""

    @property
    def due(self) -> int:
        """The first frontier at which a step without events would find or forget something; INT64_MAX: at none."""

    def stats(self) -> dict[str, int]:
        """What is kept: live_runs, nodes, buffered_events, bytes and more."""

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        """All that it knows: what goes into the header as JSON, and the sections."""

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        """Put it into the state that was packed."""


class Revising(Core, Protocol):
    """A core that can take back: what it says before it is certain, and events that did not happen."""

    def knows(self, events: pa.Table) -> Mask:
        """Which of these events are among those released; two rows that are equal need two."""

    def retract(self, gone: pa.Table, frontier: int | None) -> list[pa.Table]:
        """Events that had been released, and are known, did not happen."""


class Program(Protocol):
    """A query ready to run."""

    @property
    def name(self) -> str:
        """What must be the same for a stored state to go on: the query, what it was told, the columns."""

    @property
    def options(self) -> Options: ...

    @property
    def roles(self) -> Roles: ...

    @property
    def columns(self) -> Columns: ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that make up an event, in schema order."""

    @property
    def gives(self) -> pa.Schema:
        """The result's columns."""

    @property
    def clock(self) -> str:
        """The column that punctuations, watermarks and lateness are about."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns whose values keep events apart: no match has events of two partitions."""

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """Registered functions that the query calls, kept when the program is made: a worker has not registered them."""

    def cutting(self) -> Cutting:
        """How a partition can be matched slice by slice, or why not."""

    def faults(self, table: pa.Table) -> list[Fault]:
        """What is bad input among a table's rows."""

    def bad_rows(self, named: Callable[[str], str]) -> str:
        """The same as SQL that is never null."""

    def lags(self) -> dict[str, int | None]:
        """The result's columns of times: by how many instants they may lie before the frontier in rows that are still to
        be reported, each when it is certain; None: nobody knows.
        """

    def unending(self) -> str | None:
        """What makes all rows wait for the end of the stream; None where they are certain before."""

    def condition(self, named: Callable[[str], str]) -> str | None:
        """SQL that is true of every row that can count; None where that may be any row."""

    def evaluator(self, *, profile: bool = False) -> Evaluator: ...

    def core(self, *, speculates: bool = False) -> Core:
        """A fresh one. One that speculates must be `Revising`; a QueryError where the language has none."""


# ------------------------------------------------------------------ rows that cannot be read


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which rows are bad input."""

    rows: Mask
    said: str  # what such rows have or do: "no time in the column ts"

    def __str__(self) -> str:
        return rows_have(int(self.rows.sum()), self.said)


def rows_have(many: int, said: str) -> str:
    """What is said of rows that are bad input."""
    return one_line(f"{'1 row has' if many == 1 else f'{many} rows have'} {said}")


def bad_times(roles: Roles, named: Callable[[str], str]) -> str:
    """SQL that is true of rows that have no time, or an interval that ends before it starts."""
    start = named(roles.time)
    if roles.end is None:
        return f"{start} IS NULL"
    return f"{start} IS NULL OR {named(roles.end)} IS NULL OR {named(roles.end)} < {start}"


def faults_of_time(table: pa.Table, columns: Columns, roles: Roles) -> list[Fault]:
    """Rows whose time is null or beyond 64 bits, or whose interval ends before it starts."""
    found = []
    bounds = [roles.time] if roles.end is None else [roles.time, roles.end]
    values: list[Column] = []
    bad = np.zeros(table.num_rows, np.bool_)
    for name in bounds:
        column = from_arrow(table.column(name), columns.types[name])
        missing = ~column.mask()
        if columns.types[name].kind is Kind.UINT:
            missing |= column.values > INT64_MAX
        if missing.any():
            found.append(Fault(missing & ~bad, f"no time in the column {quoted(name)}"))
            bad |= missing
        values.append(column)
    if len(values) == 2:
        turned = ~bad & (np.asarray(values[1].values) < np.asarray(values[0].values))
        if turned.any():
            start, end = map(quoted, bounds)
            found.append(Fault(turned, f"an interval that ends before it starts: {end} < {start}"))
    return [fault for fault in found if fault.rows.any()]
