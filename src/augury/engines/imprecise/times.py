"""When events can have happened, as kernels see it.

    lower, upper [, pmf] ─ Times: per row its possible instants, and how much probability lies before and after each

A pmf is scaled to a sum of 1, so that what other events do never changes how likely a match is. A row without
one is uniform and needs no table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.compiling import compiled
from augury.expr.columns import Column, from_arrow
from augury.expr.physical import Lists
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, Kind
from augury.resolve import Resolved
from augury.uncertain import SUM_OFF, Imprecise

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

COMPILED_FROM = 20_000  # entries of pmfs from which the compiled loop is worth its start


@dataclass(frozen=True, slots=True)
class Times:
    """Impossible instants at either end of an interval are cut off.

    Of a row with a pmf `mass[place + k]` is the probability of the instant lower + k, `before[place + k]` that of the
    instants before it, and `after[…]` that of it and the later ones. Both are sums of what there is, so that where
    nothing is they are 0 and no rounding.
    """

    lower: Ints
    upper: Ints
    place: Ints  # into the tables; -1: uniform
    mass: Floats
    before: Floats
    after: Floats
    holes: Mask  # rows with an impossible instant inside
    last: Ints  # the upper bounds as they were given

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, rows: Any) -> Times:
        tables = (self.mass, self.before, self.after)
        return Times(
            self.lower[rows], self.upper[rows], self.place[rows], *tables, self.holes[rows], self.last[rows]
        )


def times_of(table: pa.Table, query: Resolved, of: Imprecise) -> tuple[Times, list[tuple[Mask, str]]]:
    """The rows' times, and in which ways rows are bad input: no row in two of them."""
    lower, lower_good = _instants(table, query, of.lower)
    upper, upper_good = _instants(table, query, of.upper)
    known = lower_good & upper_good
    ordered = known & (lower <= upper)
    rows = len(lower)
    none = np.empty(0, np.float64)
    times = Times(
        lower, upper, np.full(rows, -1, np.int64), none, none, none, np.zeros(rows, np.bool_), upper
    )
    ends = f"an interval that ends before it starts: {quoted(of.upper)} < {quoted(of.lower)}"
    faults = [
        (~lower_good, f"no time in the column {quoted(of.lower)}"),
        (lower_good & ~upper_good, f"no time in the column {quoted(of.upper)}"),
        (known & ~ordered, ends),
    ]
    if of.pmf is not None:
        times, fair = _with_pmf(table, query, of.pmf, times, ordered)
        said = f"in the column {quoted(of.pmf)} no probabilities of each instant that sum up to 1"
        faults.append((ordered & ~fair, said))
    return times, [(bad, said) for bad, said in faults if bad.any()]


def _instants(table: pa.Table, query: Resolved, name: str) -> tuple[Ints, Mask]:
    of = query.columns.types[name]
    read = from_arrow(table.column(name), of)
    good = read.mask()
    if of.kind is Kind.UINT:
        good = good & (read.values <= INT64_MAX)
    if good.all():
        return np.ascontiguousarray(read.values, np.int64), good
    return np.where(good, read.values, 0).astype(np.int64), good


def _with_pmf(table: pa.Table, query: Resolved, name: str, times: Times, ordered: Mask) -> tuple[Times, Mask]:
    """The tables of probabilities, and for which rows the column makes sense."""
    of = query.columns.types[name]
    if of.kind is Kind.NULL:
        return times, np.ones(len(times), np.bool_)
    assert of.element is not None
    column = from_arrow(table.column(name), of)
    lists = column.values
    assert isinstance(lists, Lists)
    weights = _weights(lists.items, of.element.kind)
    given = np.ascontiguousarray(column.mask() & ordered)
    fair = np.ones(len(times), np.bool_)
    lower, upper, place = times.lower.copy(), times.upper.copy(), times.place.copy()
    mass, before, after = (np.zeros(len(weights) + len(times)) for _ in range(3))
    holes = np.zeros(len(times), np.bool_)
    read = compiled(tables) if len(weights) >= COMPILED_FROM else tables
    with np.errstate(all="ignore"):
        used = read(
            *(weights, lists.offsets.astype(np.int64), given, SUM_OFF),
            *(lower, upper, place, mass, before, after, holes, fair),
        )
    return Times(lower, upper, place, mass[:used], before[:used], after[:used], holes, times.last), fair


def tables(
    weights: Any,
    offsets: Any,
    given: Any,
    off: float,
    lower: Any,
    upper: Any,
    place: Any,
    mass: Any,
    before: Any,
    after: Any,
    holes: Any,
    fair: Any,
) -> int:
    """Fill the tables row by row; returns how much of them is used. What is no probability is negative or NaN."""
    used = 0
    for row in range(len(given)):
        if not given[row]:
            continue
        start = offsets[row]
        end = offsets[row + 1]
        total = 0.0
        good = end - start == upper[row] - lower[row] + 1
        first = -1
        last = -1
        for k in range(start, end):
            if not weights[k] >= 0.0:
                good = False
            total += weights[k]
            if weights[k] > 0.0:
                last = k
                if first < 0:
                    first = k
        if not good or not abs(total - 1.0) <= off:
            fair[row] = False
            continue
        place[row] = used
        upper[row] = lower[row] + (last - start)
        lower[row] += first - start
        n = last - first + 1
        running = 0.0
        for k in range(n):
            before[used + k] = running
            mass[used + k] = weights[first + k] / total
            running += weights[first + k] / total
            if weights[first + k] == 0.0:
                holes[row] = True
        before[used + n] = running
        running = 0.0
        after[used + n] = 0.0
        for k in range(n - 1, -1, -1):
            running += weights[first + k] / total
            after[used + k] = running
        used += n + 1
    return used


def _weights(items: Column, kind: Kind) -> Floats:
    """The entries as doubles; a null is NaN."""
    found: Any = items.values
    if kind is Kind.DECIMAL:
        found = [float(v.as_py() or 0) if isinstance(v, pa.Scalar) else float(v) for v in found]
    weights = np.array(found, np.float64)
    weights[~items.mask()] = np.nan
    return weights
