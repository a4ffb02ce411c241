"""Automata over a table in process: order → step → output events."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.afa import RESERVED, Machine, Ready, Register, ready
from augury.engines.afa import Found, Stepper, Whole
from augury.engines.afa_source import Options as KernelOptions
from augury.errors import DataError, DataWarning, QueryError
from augury.expr.columns import Column, from_arrow, result_type, to_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, INTEGERS, Kind, Type, storage
from augury.match.gather import rows_of_table
from augury.match.rows import taken
from augury.runtime.by_engine import MAX_RUNS
from augury.runtime.table import BAD_ROWS, dropped, no_time
from augury.schema import Columns, as_table, opened, roles_of

PLANS = ("auto", "eager", "eager-unmerged", "can", "definition")
MATCHER_PLANS = (*PLANS, "restart")


@dataclass(frozen=True, slots=True)
class Options:
    """What `match` was told besides the data."""

    time: str
    type: str | None = None
    key: str | Sequence[str] | None = None
    tiebreak: str | Sequence[str] | None = None
    plan: str = "auto"
    events: bool = False
    sequence: str | None = None
    max_runs: int = MAX_RUNS
    bad_rows: str = "error"


def options_of(*, output: str = "all", max_runs: int | None = None, **arguments: Any) -> Options:
    """The arguments, checked as far as they can be without data."""
    if output != "all":
        raise QueryError(
            f"output={output!r}: an automaton's output events are given one by one", hint='leave it "all"'
        )
    given = Options(**arguments, max_runs=MAX_RUNS if max_runs is None else max_runs)
    for name, known in (("plan", MATCHER_PLANS), ("bad_rows", BAD_ROWS)):
        if getattr(given, name) not in known:
            shown = ", ".join(f'"{k}"' for k in known if k != "definition")
            raise QueryError(
                f"{name}={getattr(given, name)!r} is not known", hint=f"for automata it is one of {shown}"
            )
    if type(given.max_runs) is not int or given.max_runs < 1:
        raise QueryError(
            f"max_runs={given.max_runs!r} is no number of runs", hint="it is a whole number from 1 on"
        )
    return given


def match_table(
    machine: Machine, data: Any, options: Options, measures: dict[str, int] | None = None
) -> pa.Table:
    """The output events of an automaton over a table."""
    if options.plan == "restart":
        raise QueryError(
            'plan="restart" restarts a running matcher where an arc changes; a table has none',
            hint='use it in query.matcher(…), or plan="eager"',
        )
    source = opened(data)
    query, schema = met(machine, source.schema, options)
    table, bad = without_bad_rows(as_table(source), query, options.bad_rows)
    if options.plan == "definition":
        result = by_definition(table, query, schema, events=options.events)
    else:
        stepper = stepper_of(query, options, profile=measures is not None)
        whole = Whole(stepper, table)
        found = whole.run()
        starts, ends = (
            (whole.rows[found.start], whole.rows[found.end]) if len(found) else (found.start, found.end)
        )
        listed = None
        if options.events:
            listed = listed_events(table, whole.rows, found.start, found.end)
        result = rows_of(found, starts, table, query, schema, listed)
        if measures is not None:
            evaluations = stepper.measures["batch_evaluations"] + stepper.measures["run_evaluations"]
            measures.update(
                stepper.measures,
                predicate_evaluations=evaluations,
                events=table.num_rows,
                rows=result.num_rows,
                bad_rows=bad,
                runs_merged=0,
                peak_buffered_events=table.num_rows,
                peak_bytes=table.nbytes + whole.drive.room * 8 * len(whole.drive.source.pool),
            )
        del ends
    if measures is not None and options.plan == "definition":
        measures.update(
            predicate_evaluations=0,
            peak_runs=0,
            runs_merged=0,
            peak_buffered_events=table.num_rows,
            peak_bytes=table.nbytes,
            events=table.num_rows,
            rows=result.num_rows,
            bad_rows=bad,
        )
    if options.bad_rows == "drop":
        metadata = {**(result.schema.metadata or {}), b"augury.bad_rows": str(bad).encode()}
        result = result.replace_schema_metadata(metadata)
    return result


def met(machine: Machine, schema: pa.Schema, options: Options) -> tuple[Ready, pa.Schema]:
    """An automaton that met its data's columns, and the result's columns."""
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    query = ready(machine, columns, roles, options.sequence)
    for name in roles.key:
        if name in RESERVED:
            raise QueryError(
                f"the key column {quoted(name)} is named like a column of the result", hint="rename it"
            )
    return query, output_schema(query, schema, events=options.events)


def output_schema(query: Ready, schema: pa.Schema, *, events: bool) -> pa.Schema:
    """Keys, registers, the lifetime, and the events if they are asked for."""
    moment = lifetime_type(query, schema)
    fields = [schema.field(name) for name in query.roles.key]
    fields += [pa.field(r.name, result_type(r.type)) for r in query.registers]
    fields += [pa.field("valid_from", moment), pa.field("valid_to", moment)]
    if events:
        fields.append(pa.field("events", pa.list_(pa.struct(list(schema)))))
    return pa.schema(fields)


def lifetime_type(query: Ready, schema: pa.Schema) -> pa.DataType:
    """The time column's type, where that holds the ends of windows as well: no smaller integers, no seconds for
    a window of milliseconds.
    """
    stored = storage(schema.field(query.roles.time).type)
    if query.columns.types[query.roles.time].kind in INTEGERS:
        return pa.int64()
    if pa.types.is_timestamp(stored) and stored.unit in ("s", "ms"):
        unit = 1_000_000 if stored.unit == "s" else 1_000
        if (query.window or 0) % unit:
            return pa.timestamp("us", tz=stored.tz)
    return stored


def stepper_of(query: Ready, options: Options, *, profile: bool = False) -> Stepper:
    kernel = KernelOptions(
        query.window,
        sequence=query.sequence is not None,
        profile=profile,
        embedded=options.plan == "can",
    )
    return Stepper(query, kernel, max_runs=options.max_runs)


def without_bad_rows(table: pa.Table, query: Ready, policy: str) -> tuple[pa.Table, int]:
    """The rows whose time, and number, can be read, and how many others there were."""
    bad_of = bad_rows(table, query)
    if bad_of is None:
        return table, 0
    bad, name = bad_of
    many = int(bad.sum())
    if policy == "error":
        raise DataError(f'{no_time(many, name)}; mend them, or drop them with bad_rows="drop"')
    warnings.warn(dropped(many, name), DataWarning, stacklevel=5)
    return rows_of_table(table, np.flatnonzero(~bad)), many


def bad_rows(table: pa.Table, query: Ready) -> tuple[Any, str] | None:
    """Which rows have no time or no number, and the column at fault; None if all have."""
    whole = None
    at_fault = query.roles.time
    for name in (query.roles.time, *(() if query.sequence is None else (query.sequence,))):
        read = from_arrow(table.column(name), query.columns.types[name])
        bad = ~read.mask()
        if query.columns.types[name].kind is Kind.UINT:
            bad = bad | (read.values > INT64_MAX)
        if bad.any():
            at_fault = name
            whole = bad if whole is None else whole | bad
    return None if whole is None else (whole, at_fault)


# ------------------------------------------------------------------ rows


def rows_of(
    found: Found, starts: Any, table: pa.Table, query: Ready, schema: pa.Schema, listed: pa.Array | None
) -> pa.Table:
    """Output events as rows; `starts` are the rows of their first events, where their keys are read."""
    arrays: list[Any] = [taken(table.column(name), starts) for name in query.roles.key]
    arrays += [to_arrow(c, r.type) for c, r in zip(found.registers, query.registers, strict=True)]
    arrays += lifetimes(found, query, schema)
    if listed is not None:
        arrays.append(listed)
    return pa.Table.from_arrays(
        [a.cast(f.type) if a.type != f.type else a for a, f in zip(arrays, schema, strict=True)],
        schema=schema,
    )


def lifetimes(found: Found, query: Ready, schema: pa.Schema) -> list[pa.Array]:
    kind = query.columns.types[query.roles.time].kind
    moment = Type(Kind.INT if kind is Kind.UINT else kind, arrow=schema.field("valid_from").type)
    valid_from = to_arrow(Column(found.valid_from), moment)
    if query.window is None:
        return [valid_from, pa.nulls(len(found), valid_from.type)]
    fits = found.first <= INT64_MAX - query.window
    ends = np.where(fits, found.first, 0) + np.int64(query.window)
    return [valid_from, to_arrow(Column(ends, None if fits.all() else fits), moment)]


def listed_events(table: pa.Table, rows: Any, starts: Any, ends: Any) -> pa.Array:
    """For each output event the events from its first to its last; `rows` are the table's, in stream order."""
    lengths = (ends - starts + 1).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(starts, lengths)
    picked = rows_of_table(table, rows[flat])
    struct = pa.StructArray.from_arrays(
        [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in picked.columns],
        fields=list(table.schema),
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct)


def by_definition(
    table: pa.Table,
    query: Ready,
    schema: pa.Schema,
    *,
    events: bool = False,
    frontier: int | None = None,
    ended: bool = True,
) -> pa.Table:
    """The definition's output events as rows."""
    from augury.semantics import afa as semantics

    table = rows_of_table(table, np.array(semantics.stream_order(table, query), np.int64))
    found = semantics.outputs(table, query, frontier, ended=ended)
    found.sort(key=lambda o: (o.last, o.first))
    stream = [row for rows in semantics.streams(table, query) for row in rows]
    position = {row: place for place, row in enumerate(stream)}
    starts, ends = (
        np.array([position[getattr(o, name)] for o in found], np.int64) for name in ("first", "last")
    )
    listed = listed_events(table, np.array(stream, np.int64), starts, ends) if events else None
    as_found = Found(
        *(starts, ends),
        np.array([o.valid_from for o in found], np.int64),
        np.array([0 if o.valid_to is None else o.valid_to - (query.window or 0) for o in found], np.int64),
        [column_of([o.registers[n] for o in found], r) for n, r in enumerate(query.registers)],
    )
    return rows_of(as_found, np.array([o.first for o in found], np.int64), table, query, schema, listed)


def column_of(values: list[Any], register: Register) -> Column:
    from augury.expr.physical import from_values

    return from_values(values, register.type)
