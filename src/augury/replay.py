"""Streams that arrive again: recorded ones and generated ones, as fast as is asked, always in the same order.

    files, or generate.stream ─ parts, by time ─ disturbed ─> arrivals: rows by number ─ between(a, b)
                                                                  └─ clock: how many of them are there by now

A row's number in the order of arrival is all that a reader has to remember to go on: the same arguments give the
same order in every process, and wall clocks only decide how far it has come.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset

from augury import generate
from augury.errors import DataError, QueryError, one_line
from augury.expr.columns import from_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, MICROSECONDS_PER_DAY, Kind
from augury.expr.types import from_arrow as type_of
from augury.match.gather import rows_of_table
from augury.time import is_time, span

Ints = npt.NDArray[np.int64]

PART = 1 << 20  # rows that are in memory at a time, where the files are in order
_ENDLESS = 1 << 62
_SUFFIXES = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Files of events. In order of time they are read part by part; else they are sorted, in memory."""

    path: str
    time: str

    def parts(self) -> Iterator[pa.Table]:
        """The rows in order of time."""
        files = self._files()
        if not _in_order(self._times(files)):
            table = pa.concat_tables(f.to_table() for f in files).combine_chunks()
            yield from Held(table, self.time).parts()
            return
        for file in files:
            for batch in file.to_batches(batch_size=PART):
                yield pa.Table.from_batches([batch])

    def schema(self) -> pa.Schema:
        schema = self._files()[0].schema
        if self.time not in schema.names:
            raise QueryError(
                f"the files have no column {quoted(self.time)}, which time names",
                hint=f"there is {', '.join(map(quoted, schema.names))}",
            )
        type_ = type_of(schema.field(self.time).type)
        if not is_time(type_):
            raise QueryError(
                f"the time column {quoted(self.time)} is {type_.named}",
                hint="it must be an integer, a date or a timestamp",
            )
        return schema

    def _times(self, files: list[Any]) -> Iterator[Ints]:
        for file in files:
            for batch in file.to_batches(columns=[self.time]):
                yield instants_of(batch.column(0), self.time)

    def _files(self) -> list[Any]:
        """A dataset for each file, in the order of their names."""
        given = Path(self.path)
        paths = sorted(p for p in given.rglob("*") if p.suffix in _SUFFIXES) if given.is_dir() else [given]
        paths = [
            p for p in paths if not any(part.startswith(("_", ".")) for part in p.relative_to(given).parts)
        ]
        if not paths:
            raise DataError(f"the folder {self.path} holds no parquet or Arrow files")
        try:
            whole = [
                pyarrow.dataset.dataset(str(p), format=_SUFFIXES.get(p.suffix, "parquet")) for p in paths
            ]
            schema = pa.unify_schemas([f.schema for f in whole])
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.path} cannot be read: {one_line(str(error))}") from None
        return [f.replace_schema(schema) for f in whole]


@dataclass(frozen=True, slots=True)
class Generated:
    """One of the streams of `augury.generate`; without a number of rows it does not end."""

    name: str
    rows: int | None = None
    seed: int = 0
    options: tuple[tuple[str, float], ...] = ()

    time = "ts"

    def parts(self) -> Iterator[pa.Table]:
        rows = _ENDLESS if self.rows is None else self.rows
        try:
            yield from generate.stream(self.name, rows, **self._options)
        except (ValueError, TypeError) as error:
            raise QueryError(f"the stream {self.name!r} cannot be made: {error}") from None

    @property
    def _options(self) -> dict[str, Any]:
        return {"seed": self.seed, **dict(self.options)}

    def schema(self) -> pa.Schema:
        return next(Generated(self.name, 0, self.seed, self.options).parts()).schema


@dataclass(frozen=True, eq=False)
class Held:
    """Events that are in memory."""

    table: pa.Table
    time: str

    def parts(self) -> Iterator[pa.Table]:
        """The rows in order of time."""
        times = instants_of(self.table.column(self.time), self.time)
        if bool((times[1:] >= times[:-1]).all()):
            yield self.table
        else:
            yield rows_of_table(self.table, np.argsort(times, kind="stable"))

    def schema(self) -> pa.Schema:
        return self.table.schema


@dataclass(frozen=True, slots=True)
class Arriving:
    """A stream as it arrives: some rows out of order, late or twice, as `generate.disturbed` has them."""

    stream: Recorded | Generated | Held
    disorder: float = 0.0
    late: float = 0.0
    duplicates: float = 0.0
    delay: int = 0  # in units of the time column as it is stored
    seed: int = 0

    @property
    def is_plain(self) -> bool:
        return self.disorder == self.late == self.duplicates == 0

    def tables(self) -> Iterator[pa.Table]:
        """All rows in the order in which they arrive."""
        if self.is_plain:
            yield from self.stream.parts()
            return
        try:
            yield from generate.disturbed(
                self.stream.parts(),
                delay=self.delay,
                disorder=self.disorder,
                late=self.late,
                duplicates=self.duplicates,
                time=self.stream.time,
                seed=self.seed,
            )
        except ValueError as error:
            raise QueryError(str(error)) from None


class Arrivals:
    """The rows of a stream by their number in the order of arrival.

    Who asks for rows that follow those asked for last is answered at once; who goes back makes it begin anew.
    """

    def __init__(self, arriving: Arriving) -> None:
        self.arriving = arriving
        self._begin()

    def _begin(self) -> None:
        self._tables = self.arriving.tables()
        self._table: pa.Table | None = None
        self._first = 0  # the number of the table's first row

    def between(self, start: int, end: int) -> Iterator[pa.Table]:
        """The rows with numbers from `start` on and below `end`; fewer where the stream ends before."""
        if start < self._first:
            self._begin()
        while start < end and (table := self.holding(start)) is not None:
            some = table.slice(start - self._first, end - start)
            start += some.num_rows
            yield some

    def holding(self, number: int) -> pa.Table | None:
        """The table that holds a row; None after the last one."""
        while self._table is None or number >= self._first + self._table.num_rows:
            following = next(self._tables, None)
            if following is None:
                return None
            self._first += 0 if self._table is None else self._table.num_rows
            self._table = following
        return self._table


@dataclass
class Clock:
    """How far a stream has come: a row is there when the stream's time has reached it and all rows before it.

    `speed` is how many times as fast as time went the stream goes; of an integer column, by how much it rises in a
    second. Without a speed all rows are there.
    """

    arriving: Arriving
    speed: float | None = None
    now: Any = clock.monotonic
    _arrivals: Arrivals = field(init=False)
    _began: tuple[float, int] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._arrivals = Arrivals(self.arriving)
        self._first, self._reached, self._most = 0, np.empty(0, np.int64), -INT64_MAX

    @cached_property
    def total(self) -> int | None:
        """How many rows there are in all; None if there is no end."""
        stream = self.arriving.stream
        if isinstance(stream, Generated) and (stream.rows is None or self.arriving.duplicates == 0):
            return stream.rows
        counted: int = sum(table.num_rows for table in self.arriving.tables())
        return counted

    def there(self, start: int, most: int | None = None) -> int | None:
        """The number behind the last row that is there for who has those below `start`, and wants so many more.

        None: there is no end to them.
        """
        end = self.total if self.speed is None else self._by_clock(start)
        if most is not None:
            end = start + most if end is None else min(end, start + most)
        return None if end is None else max(start, end)

    def _by_clock(self, start: int) -> int:
        assert self.speed is not None
        if self._began is None:
            if not self._advance(start):
                return start
            self._began = (self.now(), int(self._reached[start - self._first]))
        began, first = self._began
        passed = (self.now() - began) * self.speed
        by = first + int(passed * self._instants_per_second())
        while True:
            place = int(np.searchsorted(self._reached, by, side="right"))
            if place < len(self._reached) or not self._advance(self._first + len(self._reached)):
                return self._first + place

    def _advance(self, number: int) -> bool:
        """Go on to the rows that hold this number; whether there are such."""
        while number >= self._first + len(self._reached):
            behind = self._first + len(self._reached)
            table = self._arrivals.holding(behind)
            if table is None:
                return False
            times = instants_of(table.column(self.arriving.stream.time), self.arriving.stream.time)
            self._first, self._reached = behind, np.maximum(np.maximum.accumulate(times), self._most)
            self._most = int(self._reached[-1]) if len(self._reached) else self._most
        return True

    def _instants_per_second(self) -> float:
        kind = type_of(self.arriving.stream.schema().field(self.arriving.stream.time).type).kind
        return {Kind.TIMESTAMP: 1e6, Kind.DATE: 1e6 / MICROSECONDS_PER_DAY}.get(kind, 1.0)


# ------------------------------------------------------------------ times and delays


def instants_of(column: Any, name: str = "ts") -> Ints:
    """A time column as instants; a time that is missing is an error."""
    read = from_arrow(column, type_of(column.type))
    missing = int((~read.mask()).sum())
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing} rows have"
        raise DataError(f"{rows} no time in the column {quoted(name)}: a replay goes by it")
    return np.asarray(read.values).astype(np.int64)


def delay_of(given: str | int | None, type_: pa.DataType, column: str = "ts") -> int:
    """A delay in units of a time column as it is stored, which need not be instants."""
    found = length_of(given, "delay", type_, column)
    if pa.types.is_date64(type_):
        return found * MICROSECONDS_PER_DAY // 1000
    if pa.types.is_timestamp(type_):
        return -(-found * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit] // 10**6)
    return found


def length_of(given: str | int | None, name: str, type_: pa.DataType, column: str) -> int:
    """A length of time in words, in instants: a number of an integer column, `30 seconds` of another; or a usual one."""
    if given is None:
        given = "1 minute" if pa.types.is_timestamp(type_) else "1 day" if pa.types.is_date(type_) else 100
    elif pa.types.is_integer(type_) and str(given).isdecimal():
        given = int(given)
    return span(given, name, type_of(type_), column)


def _in_order(times: Iterator[Ints]) -> bool:
    last = -INT64_MAX
    for some in times:
        if len(some):
            if some[0] < last or bool((some[1:] < some[:-1]).any()):
                return False
            last = int(some[-1])
    return True
