"""How rows are laid out over Spark's tasks, so that each task can match what it gets by itself.

    by partition     a key's rows are in one task; there they are sorted by one number, a hash of the key above the
                     time: what comes together are some hundredths of a task, many keys mixed
    … in order       sorted by key and time, where only single partitions can be cut (non_overlap)
    by time          nothing to partition by: each task has a stretch of time, and what matches in it need around it
    in one task      nothing to partition by and no way to cut

A single number is sorted several times as fast as a key and a time, and it says all: which rows are let go
together, and in what order, up to a grain that `Groups` knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.runtime.slices import Cutting, Groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIME_BITS = 57  # of a mark; the bits above tell 128 groups of keys apart
GRID = 256  # quantiles of time that are looked at, and so the most slices
LEAST = 100_000  # rows from which a slice of time is worth a task
MOST_COPIED = 0.5  # how many rows there may be twice, for each one


@dataclass(frozen=True, slots=True)
class Clock:
    """The time column as an integer in SQL: its instants, divided by `grain` and rounded down."""

    sql: str
    grain: int
    bits: int  # that its values need


def clock_of(name: str, type_: pa.DataType) -> Clock:
    """The clock of a time column."""
    t = pa.types
    if t.is_date(type_):
        return Clock(f"cast(unix_date({name}) AS bigint)", 1, 32)
    if t.is_timestamp(type_):
        if type_.tz is not None:
            return Clock(f"unix_micros({name})", 1, 64)
        # What Spark offers for a timestamp without a zone goes through the session's, but for its parts.
        day = f"unix_date(cast({name} AS date)) * 86400L"
        return Clock(f"({day} + hour({name}) * 3600 + minute({name}) * 60 + second({name}))", 1_000_000, 40)
    return Clock(f"cast({name} AS bigint)", 1, type_.bit_width)


def by_partition(rows: DataFrame, partition: list[str], clock: Clock, mark: str) -> tuple[DataFrame, Groups]:
    """Rows of one partition in one task, sorted by a mark: a hash of the partition, and the time below it."""
    shift = max(0, clock.bits - TIME_BITS)
    time = f"shiftright({clock.sql}, {shift})" if shift else clock.sql
    marked = f"shiftleft(xxhash64({', '.join(partition)}), {TIME_BITS}) | ({time} + {1 << (TIME_BITS - 1)}L) AS {mark}"
    rows = rows.repartition(*partition).selectExpr("*", marked).sortWithinPartitions(mark)
    return rows, Groups(mark, TIME_BITS, clock.grain << shift)


@dataclass(frozen=True, slots=True)
class Stretches:
    """Slices of time: where each but the first begins, on a clock, and what a slice needs around it."""

    begins: tuple[int, ...]
    before: int
    after: int


def stretches(rows: DataFrame, clock: Clock, cutting: Cutting, most: int) -> Stretches | None:
    """Slices with about as many rows each, from one look at the times; None where they would not pay."""
    points = [k / GRID for k in range(1, GRID)]
    asked = f"percentile_approx(t, array({', '.join(f'{p}D' for p in points)}), 1000)"
    found = (
        rows.selectExpr(f"{clock.sql} AS t").selectExpr("count(t)", "min(t)", "max(t)", asked).collect()[0]
    )
    count, low, high, inner = found
    before, after = (-(-n // clock.grain) for n in (cutting.before, cutting.after))
    slices = min(most, GRID, (count or 0) // LEAST)
    while slices >= 2:
        grid = np.array([low, *inner, high], np.float64)
        begins = tuple(sorted({inner[k * GRID // slices - 1] for k in range(1, slices)} - {low}))
        if begins and _copied(grid, begins, before, after) <= MOST_COPIED:
            return Stretches(begins, before, after)
        slices //= 2
    return None


def _copied(grid: Any, begins: tuple[int, ...], before: int, after: int) -> float:
    """How many rows beside each one's own slice need it, on average."""
    shares = np.linspace(0, 1, len(grid))
    starts, ends = np.array([grid[0], *begins]), np.array([*begins, grid[-1]])
    own = np.interp(ends + after, grid, shares) - np.interp(starts - before, grid, shares)
    return float(own.sum()) - 1


def by_time(rows: DataFrame, clock: Clock, cut: Stretches, mark: str, time: str) -> tuple[DataFrame, Groups]:
    """Rows in the slices that need them, a slice in each task."""
    last = len(cut.begins)
    first_slice = _number_of([b + cut.after + 1 for b in cut.begins], clock.sql)
    last_slice = _number_of([b - cut.before for b in cut.begins], clock.sql)
    rows = rows.selectExpr("*", f"explode(sequence({first_slice}, {last_slice})) AS {mark}")
    if hasattr(rows, "repartitionById"):  # of Spark 4.1
        rows = rows.repartitionById(last + 1, rows[mark]).sortWithinPartitions(time)
    else:
        rows = rows.repartition(last + 1, mark).sortWithinPartitions(mark, time)
    edges = [-(2**63) // clock.grain, *cut.begins, 2**63 // clock.grain]
    owned = tuple(
        (max(a * clock.grain, -(2**63)), min(b * clock.grain, 2**63) - 1) for a, b in pairwise(edges)
    )
    return rows, Groups(mark, owned=owned)


def _number_of(bounds: list[int], sql: str, first: int = 0) -> str:
    """How many of the ascending bounds are not above a number, as SQL; the last slice for null."""
    if not bounds:
        return str(first)
    middle = len(bounds) // 2
    below, above = (
        _number_of(bounds[:middle], sql, first),
        _number_of(bounds[middle + 1 :], sql, first + middle + 1),
    )
    bound = min(max(bounds[middle], -(2**63) + 1), 2**63 - 1)
    return f"if({sql} < {bound}L, {below}, {above})"
