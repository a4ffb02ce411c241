"""The point matches of one row over imprecise times: what its confidence is the sum of.

A row has its events, and under skip_till_any they tell all. Under skip_till_next other events have a part in it, so
that the stream is needed. The listing is the definition's own: as long as what it lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, QueryError
from augury.expr.columns import Column, to_arrow
from augury.expr.printing import quoted
from augury.match.gather import rows_of_table
from augury.pattern import Pattern, Strategy
from augury.runtime.matcher import one_of_each
from augury.runtime.options import Options
from augury.runtime.uncertain import ASKED, Ints, Uncertain, interval_words, program_of
from augury.schema import as_table
from augury.semantics import imprecise as semantics
from augury.semantics import sase

PROBABILITY = "probability"


def point_matches(
    row: Any,
    pattern: Pattern | None,
    read: Callable[[str], Pattern],
    stream: Any,
    *,
    time: Any,
    pmf: str | None,
    type_: str | None,
    key: Any,
) -> pa.Table:
    """A row's point matches: an instant for each variable, and how likely it is. `read` is for the query in JSON."""
    events, schema, told = _events_of(row)
    if pattern is None:
        if told is None:
            raise QueryError(
                "the row does not say which query made it, nor which columns bound its events' times",
                hint="pass a slice of the result, table.slice(3, 1), which remembers both, or the query and its "
                'columns: ag.point_matches(row, query, time=("lower", "upper"))',
            )
        pattern = read(told["query"])
    if told is not None and time is None:
        time, pmf, type_, key = tuple(told["time"]), told["pmf"], told["type"], told["key"]
    if time is None:
        raise QueryError("which columns bound the times is not said", hint='pass time=("lower", "upper")')
    variables = [c.var for c in pattern.positives]
    missing = [v for v in variables if not isinstance(events.get(v), Mapping)]
    if missing:
        raise QueryError(
            f"the row has no event in a column {quoted(missing[0])}",
            hint="point matches are listed for rows of a query without RETURN, which have all events in full",
        )
    is_next = pattern.strategy is Strategy.NEXT and len(variables) > 1
    if is_next and stream is None:
        raise QueryError(
            "under skip_till_next_match other events decide how likely a point match is, and the row has only its own",
            hint="pass the stream that was matched: ag.point_matches(row, stream=events)",
        )
    own = pa.Table.from_pylist([events[v] for v in variables], schema=schema)
    table = own if stream is None else as_table(stream)
    options = Options(time=time, pmf=pmf, type=type_, key=key)
    program = program_of(pattern, table.schema, options)
    table = table.select(list(program.reads))
    place: Ints = np.arange(len(variables))
    if stream is not None:
        table, place = _among(table, own.select(list(program.reads)), program)
    return _listed(table, place, program, variables)


def _events_of(row: Any) -> tuple[Mapping[str, Any], pa.Schema | None, dict[str, Any] | None]:
    """The row's columns, the type of its events, and what its table remembers."""
    if isinstance(row, Mapping):
        return row, None, None
    table = as_table(row)
    if table.num_rows != 1:
        raise DataError(
            f"point matches are those of one row, and here are {table.num_rows}: pass table.slice(n, 1)"
        )
    told = (table.schema.metadata or {}).get(ASKED)
    structs = [field.type for field in table.schema if pa.types.is_struct(field.type)]
    schema = pa.schema(list(structs[-1])) if structs else None
    return table.to_pylist()[0], schema, None if told is None else json.loads(told)


def _among(table: pa.Table, own: pa.Table, program: Uncertain) -> tuple[pa.Table, Ints]:
    """The stream's events that can have a part in the match, and the places of the match's own among them."""
    own = own.cast(table.schema)
    bad = [fault for fault in program.faults(table) if fault.rows.any()]
    if bad:
        raise DataError("; ".join(map(str, bad)))
    lower, upper = interval_words(own, program.query, program.question.of)
    first, last = interval_words(table, program.query, program.question.of)
    near = np.flatnonzero((first <= int(upper.max())) & (last >= int(lower.min())))
    table = rows_of_table(table, near)
    chosen = []
    rest = np.arange(table.num_rows)
    for k in range(own.num_rows):
        part = rows_of_table(table, rest)
        out, unknown = one_of_each(part, own.slice(k, 1), list(program.reads), program.columns.types)
        if unknown.any():
            raise DataError(f"the stream has no such event: {own.slice(k, 1).to_pylist()[0]}")
        chosen.append(int(rest[out][0]))
        rest = rest[~out]
    return table, np.array(chosen, np.int64)


def _listed(table: pa.Table, place: Ints, program: Uncertain, variables: list[str]) -> pa.Table:
    question = program.question
    query = replace(question.query, items=None)
    wanted = tuple(int(p) for p in place)
    when = semantics.chances(table, query, question.of)
    points: list[semantics.Point] = []
    chances: list[float] = []
    for stream in sase.streams(table, query):
        if wanted[0] not in stream.rows:
            continue
        found = semantics.point_matches(stream, when, lambda s: s == wanted[: len(s)])
        for signature, point, probability in found:
            if signature == wanted:
                points.append(point)
                chances.append(float(probability))
    type_ = query.columns.types[question.of.lower]
    columns = [
        to_arrow(Column(np.array([p[k] for p in points], np.int64)), type_) for k in range(len(variables))
    ]
    return pa.Table.from_arrays([*columns, pa.array(chances, pa.float64())], names=[*variables, PROBABILITY])
