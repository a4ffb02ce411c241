"""The definition as a plan: slow, and right by being the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from augury.engines.eager import EVERYTHING, Share
from augury.match import compressed
from augury.match.rows import COUNT, counted_rows, from_bindings, is_plain, rows_of, taken
from augury.measures import Measures
from augury.resolve import Resolved, item_type
from augury.runtime.by_engine import measured
from augury.semantics import sase as semantics


class Definition:
    """The definition, ready to be asked about tables."""

    def __init__(self, query: Resolved, schema: pa.Schema, output: str, max_runs: int) -> None:
        self.query = query
        self.schema = schema
        self.output = output
        self.max_runs = max_runs
        self.measures = Measures()

    def measured(self) -> dict[str, int]:
        """What the evaluations cost, as `profile` tells it."""
        return measured(self.measures)

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        """The result on a table, its rows in any order. It looks at whole partitions, and has no shares."""
        assert share == EVERYTHING
        cost = semantics.Cost()
        found = run(table, self.query, self.schema, self.output, self.max_runs, cost)
        kept = {"peak_buffered_events": table.num_rows, "peak_bytes": table.nbytes}  # it forgets nothing
        self.measures.add(
            Measures(
                events=table.num_rows,
                run_evaluations=cost.predicate_evaluations,
                peak_runs=cost.peak_runs,
                runs_begun=cost.runs_begun,
                run_steps=cost.run_steps,
                **kept,
            )
        )
        return found


def run(
    table: pa.Table,
    query: Resolved,
    schema: pa.Schema,
    output: str,
    max_runs: int,
    cost: semantics.Cost | None = None,
) -> pa.Table:
    """The result on a table in any order."""
    order = np.array(semantics.stream_order(table, query), np.int64)
    table = pa.Table.from_arrays([taken(column, order) for column in table.columns], schema=table.schema)
    found = semantics.matches(table, query, max_runs, cost)
    if output == "count":
        counts = semantics.counted(found)
        rows = np.array([row for row, _ in counts], dtype=np.int64)
        many = pa.array([n if n < 10**38 else None for _, n in counts], COUNT)
        return counted_rows(rows, many, table, query, schema)
    chosen = semantics.select(found, output, table, query)
    if output == "compressed":
        return compressed.pack([m.bound for m in chosen], table, query)
    return rows_of_bindings([m.bound for m in chosen], table, query, schema, table.column(query.roles.time))


def rows_of_bindings(
    found: list[semantics.Bound], table: pa.Table, query: Resolved, schema: pa.Schema, time: pa.ChunkedArray
) -> pa.Table:
    """Rows of matches given one by one."""
    computed = {
        place: array_of(
            semantics.returned(found, item.expr, table, query), item_type(item, query, table.schema)
        )
        for place, item in enumerate(query.items or ())
        if not is_plain(item.expr)
    }
    return rows_of(from_bindings(found, query), table, query, schema, computed, time)


def array_of(values: list[Any], wanted: pa.DataType) -> pa.Array:
    """Physical values as an Arrow array; times are written as the integers that they are."""
    t = pa.types
    if t.is_list(wanted) and (not values or all(isinstance(v, list) for v in values)):
        inner = array_of([x for v in values for x in v], wanted.value_type)
        offsets = [0]
        for v in values:
            offsets.append(offsets[-1] + len(v))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner)
    if t.is_timestamp(wanted):
        return pa.array(values, pa.int64()).cast(pa.timestamp("us", tz=wanted.tz)).cast(wanted)
    if t.is_date(wanted):
        return pa.array(values, pa.int32()).cast(pa.date32()).cast(wanted)
    if t.is_time(wanted):
        return pa.array(values, pa.int64()).cast(pa.time64("ns")).cast(wanted)
    if t.is_duration(wanted):
        return pa.array(values, pa.int64()).cast(pa.duration("us")).cast(wanted)
    return pa.array(values, wanted)
