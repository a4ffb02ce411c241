"""A table in process: order → match → emit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, DataWarning, QueryError, one_line
from augury.expr.columns import Column, from_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, INT64_MIN, Kind
from augury.match import compressed
from augury.match.gather import decoded
from augury.match.rows import taken
from augury.pattern import Pattern
from augury.plan.choice import PLANS, check_covered, choose
from augury.resolve import Resolved, output_schema, resolve
from augury.runtime.by_definition import Definition
from augury.runtime.by_engine import MAX_RUNS, Engine, How
from augury.runtime.slices import SLICE, Cut, Sliced, cutting, partition_columns, values_of
from augury.schema import Columns, as_table, opened, roles_of
from augury.watch import tell, watched

OUTPUTS = ("all", "non_overlap", "longest", "count", "compressed")
BAD_ROWS = ("error", "drop")
FEW = 100  # values that may yet be one key: NaNs of different bits, zeros of either sign


@dataclass(frozen=True, slots=True)
class Options:
    """What `match` was told besides the data."""

    time: str
    type: str | None = None
    key: str | Sequence[str] | None = None
    tiebreak: str | Sequence[str] | None = None
    output: str = "all"
    plan: str = "auto"
    match_id: bool = False
    max_runs: int = MAX_RUNS
    bad_rows: str = "error"

    def __post_init__(self) -> None:
        for name, known in (("output", OUTPUTS), ("plan", PLANS), ("bad_rows", BAD_ROWS)):
            given = getattr(self, name)
            if given not in known:
                shown = ", ".join(f'"{k}"' for k in known)
                raise QueryError(f"{name}={given!r} is not known", hint=f"it is one of {shown}")
        if type(self.max_runs) is not int or self.max_runs < 1:
            raise QueryError(
                f"max_runs={self.max_runs!r} is no number of runs",
                hint=f"it is a whole number from 1 on; {MAX_RUNS} if it is left out",
            )
        if self.match_id and self.output in ("count", "compressed"):
            raise QueryError(
                f'output="{self.output}" has no rows of single matches to give a match_id',
                hint='use output="all"; ag.expand(..., match_id=True) names the matches of compressed rows'
                if self.output == "compressed"
                else 'use output="all"',
            )


def match_table(
    pattern: Pattern, data: Any, options: Options, measures: dict[str, int] | None = None
) -> pa.Table:
    """The result of a query over a table, by the plan that the options name; measures, if they are wanted."""
    source = opened(data)
    query, schema = met(pattern, source.schema, options)
    # What is wrong with the query has been told: from here on events are read.
    table, bad = without_bad_rows(as_table(source), query, options.bad_rows)
    engine = engine_of(query, schema, options, profile=measures is not None)
    result = in_slices(engine, table) if comes_in_slices(engine, table) else engine.whole(table)
    if options.bad_rows == "drop":
        result = result.replace_schema_metadata(
            {**(result.schema.metadata or {}), b"augury.bad_rows": str(bad).encode()}
        )
    if measures is not None:
        measures.update(measures_of(engine), rows=result.num_rows, bad_rows=bad)
    return result


def met(pattern: Pattern, schema: pa.Schema, options: Options) -> tuple[Resolved, pa.Schema]:
    """A query that met its data's columns, and the result's columns: what is wrong with the query is told here."""
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    query = resolve(pattern, columns, roles)
    time = schema.field(roles.time).type
    result = output_schema(query, schema, options.output, match_id=options.match_id, time=time)
    if options.output == "compressed":
        result = compressed.schema_of(query, schema)
    return query, result


def engine_of(
    query: Resolved, schema: pa.Schema, options: Options, *, profile: bool = False
) -> Engine | Definition:
    """What evaluates the query by the plan that the options name."""
    check_covered(query.pattern, options.plan)
    plan = choose(options.plan).plan
    if plan == "definition":
        return Definition(query, schema, options.output, options.max_runs)
    how = How(plan, max_runs=options.max_runs, profile=profile)
    return Engine(query, schema, options.output, how, match_id=options.match_id)


def comes_in_slices(engine: Engine | Definition, table: pa.Table) -> bool:
    """Whether a table can be matched slice by slice as it lies: one partition, in order of time."""
    query = engine.query
    if table.num_rows < 2 * SLICE or not isinstance(engine, Engine):
        return False
    if cutting(query, engine.output, engine.how.plan).cut is Cut.NOWHERE:
        return False
    if not all(_is_one(table.column(name), query, name) for name in partition_columns(query)):
        return False
    newest = INT64_MIN
    for _, time in _times(table, query):
        if time.values[0] < newest or bool((time.values[1:] < time.values[:-1]).any()):
            return False
        newest = time.values[-1]
    return True


def _is_one(column: pa.ChunkedArray, query: Resolved, name: str) -> bool:
    """Whether all values are one key. Of many keys the first few rows tell."""
    known = values_of(column.slice(0, 1), query, name)
    for start, rows in ((0, 1000), *((s, SLICE) for s in range(0, len(column), SLICE))):
        distinct = pa.chunked_array([decoded(column.slice(start, rows)).unique()])
        if len(distinct) > FEW or any(v != known[0] for v in values_of(distinct, query, name)):
            return False
    return True


def _times(table: pa.Table, query: Resolved) -> Iterator[tuple[int, Column]]:
    """The time column, a stretch at a time, and the rows at which stretches begin."""
    name = query.roles.time
    for start in range(0, table.num_rows, SLICE):
        part = table.column(name).slice(start, SLICE)
        yield start, from_arrow(part, query.columns.types[name])


def in_slices(engine: Engine | Definition, table: pa.Table) -> pa.Table:
    """The result on a table that comes in slices."""
    sliced = Sliced(engine)
    found: list[pa.Table] = []
    for start in range(0, table.num_rows, SLICE):
        with watched(_by_nobody):
            found.extend(sliced.feed(table.slice(start, SLICE)))
        tell(min(start + SLICE, table.num_rows), table.num_rows)
    found.extend(sliced.close())
    return pa.concat_tables(found)


def _by_nobody(_done: int, _total: int) -> None:
    """Slices are told as parts of the whole, not each by itself."""


def measures_of(engine: Engine | Definition) -> dict[str, int]:
    """What the evaluation cost, as `profile` tells it."""
    counts = asdict(engine.measures)
    return {"predicate_evaluations": counts["batch_evaluations"] + counts["run_evaluations"], **counts}


def without_bad_rows(table: pa.Table, query: Resolved, policy: str) -> tuple[pa.Table, int]:
    """The rows whose time can be read, and how many others there were."""
    name = query.roles.time
    good = None
    for start, time in _times(table, query):
        fits = time.valid
        if query.columns.types[name].kind is Kind.UINT:
            fits = time.values <= INT64_MAX if fits is None else fits & (time.values <= INT64_MAX)
        if fits is not None and not fits.all():
            good = np.ones(table.num_rows, np.bool_) if good is None else good
            good[start : start + len(fits)] = fits
    if good is None:
        return table, 0
    bad = int((~good).sum())
    said = no_time(bad, name)
    if policy == "error":
        raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
    warnings.warn(dropped(bad, name), DataWarning, stacklevel=5)
    kept = np.flatnonzero(good)
    return pa.Table.from_arrays([taken(c, kept) for c in table.columns], schema=table.schema), bad


def dropped(bad: int, name: str) -> str:
    """What is said where they were dropped."""
    return f"{no_time(bad, name)} and {'was' if bad == 1 else 'were'} dropped"


def no_time(bad: int, name: str) -> str:
    """What is said of rows whose time cannot be read."""
    return one_line(f"{'1 row has' if bad == 1 else f'{bad} rows have'} no time in the column {quoted(name)}")
