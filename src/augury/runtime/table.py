"""A table in process: order → match → emit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, DataWarning
from augury.expr.columns import Column, from_arrow
from augury.expr.types import INT64_MIN
from augury.match.gather import decoded
from augury.match.rows import taken
from augury.runtime.options import Options
from augury.runtime.program import Evaluator, Fault, Mask, Program
from augury.runtime.slices import SLICE, Cut, Sliced, values_of
from augury.schema import Columns, as_table, opened
from augury.watch import tell, watched

FEW = 100  # values that may yet be one key: NaNs of different bits, zeros of either sign

ProgramOf = Callable[[pa.Schema, Options], Program]
"""How a query meets the columns of its data."""


def match_table(
    program_of: ProgramOf, data: Any, options: Options, measures: dict[str, int] | None = None
) -> pa.Table:
    """The result of a query over a table, by the plan that the options name; measures, if they are wanted."""
    source = opened(data)
    program = program_of(source.schema, options)
    # What is wrong with the query has been told: from here on events are read.
    table, bad = without_bad_rows(as_table(source), program)
    engine = program.evaluator(profile=measures is not None)
    result = in_slices(program, engine, table) if comes_in_slices(program, table) else engine.whole(table)
    if options.bad_rows == "drop":
        result = result.replace_schema_metadata(
            {**(result.schema.metadata or {}), b"augury.bad_rows": str(bad).encode()}
        )
    if measures is not None:
        measures.update(engine.measured(), rows=result.num_rows, bad_rows=bad)
    return result


def comes_in_slices(program: Program, table: pa.Table) -> bool:
    """Whether a table can be matched slice by slice as it lies: one partition, in order of time."""
    if table.num_rows < 2 * SLICE or program.cutting().cut is Cut.NOWHERE:
        return False
    if not all(_is_one(table.column(name), program.columns, name) for name in program.partition):
        return False
    newest = INT64_MIN
    for time in _times(table, program):
        if time.values[0] < newest or bool((time.values[1:] < time.values[:-1]).any()):
            return False
        newest = time.values[-1]
    return True


def _is_one(column: pa.ChunkedArray, columns: Columns, name: str) -> bool:
    """Whether all values are one key. Of many keys the first few rows tell."""
    known = values_of(column.slice(0, 1), columns, name)
    for start, rows in ((0, 1000), *((s, SLICE) for s in range(0, len(column), SLICE))):
        distinct = pa.chunked_array([decoded(column.slice(start, rows)).unique()])
        if len(distinct) > FEW or any(v != known[0] for v in values_of(distinct, columns, name)):
            return False
    return True


def _times(table: pa.Table, program: Program) -> Iterator[Column]:
    """The time column, a stretch at a time."""
    for start in range(0, table.num_rows, SLICE):
        part = table.column(program.clock).slice(start, SLICE)
        yield from_arrow(part, program.columns.types[program.clock])


def in_slices(program: Program, engine: Evaluator, table: pa.Table) -> pa.Table:
    """The result on a table that comes in slices."""
    sliced = Sliced(program, engine)
    found: list[pa.Table] = []
    for start in range(0, table.num_rows, SLICE):
        with watched(_by_nobody):
            found.extend(sliced.feed(table.slice(start, SLICE)))
        tell(min(start + SLICE, table.num_rows), table.num_rows)
    found.extend(sliced.close())
    return pa.concat_tables(found)


def _by_nobody(_done: int, _total: int) -> None:
    """Slices are told as parts of the whole, not each by itself."""


def without_bad_rows(table: pa.Table, program: Program) -> tuple[pa.Table, int]:
    """The rows that are good input, and how many others there were."""
    bad, said = bad_rows(table, program)
    if bad is None:
        return table, 0
    if program.options.bad_rows == "error":
        raise DataError(f'{said}; mend them, or drop them with bad_rows="drop"')
    warnings.warn(dropped(int(bad.sum()), said), DataWarning, stacklevel=5)
    kept = np.flatnonzero(~bad)
    table = pa.Table.from_arrays([taken(c, kept) for c in table.columns], schema=table.schema)
    return table, int(bad.sum())


def bad_rows(table: pa.Table, program: Program) -> tuple[Mask | None, str]:
    """Which rows are bad input, if any, and what is said of them: looked at a stretch at a time."""
    found: dict[str, Fault] = {}
    for start in range(0, table.num_rows, SLICE):
        for fault in program.faults(table.slice(start, SLICE)):
            whole = found.setdefault(fault.said, Fault(np.zeros(table.num_rows, np.bool_), fault.said))
            whole.rows[start : start + len(fault.rows)] = fault.rows
    if not found:
        return None, ""
    return np.logical_or.reduce([f.rows for f in found.values()]), "; ".join(map(str, found.values()))


def dropped(many: int, said: str) -> str:
    """What is said where they were dropped."""
    return f"{said} and {'was' if many == 1 else 'were'} dropped"
