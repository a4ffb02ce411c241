"""A table in process: order → match → emit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, DataWarning, QueryError, one_line
from augury.expr.columns import from_arrow
from augury.expr.printing import quoted
from augury.expr.types import INT64_MAX, Kind
from augury.match import compressed
from augury.match.rows import taken
from augury.pattern import Pattern
from augury.resolve import Resolved, output_schema, resolve
from augury.runtime import by_definition, by_engine
from augury.schema import Columns, as_table, opened, roles_of

OUTPUTS = ("all", "non_overlap", "longest", "count", "compressed")
PLANS = ("auto", "eager", "eager-unmerged", "backtrack", "definition")
BAD_ROWS = ("error", "drop")
MAX_RUNS = 1_000_000


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


def match_table(pattern: Pattern, data: Any, options: Options) -> pa.Table:
    """The result of a query over a table, by the plan that the options name."""
    source = opened(data)
    query, schema = met(pattern, source.schema, options)
    # What is wrong with the query has been told: from here on events are read.
    return evaluated(as_table(source), query, schema, options)


def met(pattern: Pattern, schema: pa.Schema, options: Options) -> tuple[Resolved, pa.Schema]:
    """The pattern that has met the columns of the data, and the columns of its result."""
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    query = resolve(pattern, columns, roles)
    result = output_schema(
        query,
        schema,
        options.output,
        match_id=options.match_id,
        time=schema.field(roles.time).type,
    )
    if options.output == "compressed":
        result = compressed.schema_of(query, schema)
    return query, result


def evaluated(table: pa.Table, query: Resolved, schema: pa.Schema, options: Options) -> pa.Table:
    """The result on a table that has the columns which the query reads."""
    table, bad = without_bad_rows(table, query, options.bad_rows)
    if options.plan == "definition":
        result = by_definition.run(table, query, schema, options.output, options.max_runs)
    else:
        result = by_engine.run(
            *(table, query, schema, options.output, options.max_runs),
            match_id=options.match_id,
            merge=options.plan != "eager-unmerged",
            backtrack=options.plan == "backtrack",
        )
    if options.bad_rows == "drop":
        result = result.replace_schema_metadata(
            {**(result.schema.metadata or {}), b"augury.bad_rows": str(bad).encode()}
        )
    return result


def without_bad_rows(table: pa.Table, query: Resolved, policy: str) -> tuple[pa.Table, int]:
    """The rows whose time can be read, and how many others there were."""
    name = query.roles.time
    time = from_arrow(table.column(name), query.columns.types[name])
    good = time.valid
    if query.columns.types[name].kind is Kind.UINT:
        fits = time.values <= INT64_MAX
        good = fits if good is None else good & fits
    if good is None or good.all():
        return table, 0
    bad = int((~good).sum())
    rows = "1 row has" if bad == 1 else f"{bad} rows have"
    said = one_line(f"{rows} no time in the column {quoted(name)}")
    if policy == "error":
        raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
    warnings.warn(f"{said} and {'was' if bad == 1 else 'were'} dropped", DataWarning, stacklevel=5)
    kept = np.flatnonzero(good)
    return pa.Table.from_arrays([taken(c, kept) for c in table.columns], schema=table.schema), bad
