"""Matches as they are drawn: read off the rows of any result, whatever language and output it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError, QueryError
from augury.expr.columns import physical_values
from augury.expr.printing import quoted
from augury.expr.types import UNORDERED, Type, from_arrow
from augury.match.gather import decoded, in_one_chunk
from augury.schema import Columns
from augury.time import is_time

SPANS = (
    ("match_start", "match_end"),
    ("range_start", "range_end"),
    ("valid_from", "valid_to"),
    ("start", "end"),
)
_NAMES = ("match_id", "query", "op")  # what may stand before the key columns


@dataclass(frozen=True, slots=True)
class Event:
    """An event that a match has bound."""

    var: str
    time: int
    end: int  # of an interval of uncertainty; else the time
    value: float | None  # in the column that is drawn


@dataclass(frozen=True, slots=True)
class Found:
    """One match."""

    key: tuple[Any, ...]
    start: int
    end: int | None  # None: for ever
    events: tuple[Event, ...]
    confidence: float | None = None
    query: str | None = None


def found_in(
    result: pa.Table, time: tuple[str, str | None] | None, y: str | None
) -> tuple[list[Found], tuple[str, ...], Type]:
    """The matches of a result, in its order; the names of its key columns, and the type of its times."""
    names = result.schema.names
    spans = [s for s in SPANS if s[0] in names and s[1] in names]
    if not spans:
        raise DataError(
            "these rows have no match_start and match_end, range_start and range_end, start and end, or valid_from and "
            'valid_to: they are no matches of output="all", "non_overlap" or "longest"'
        )
    span = spans[0]
    before = [result.schema.field(n) for n in names[: names.index(span[0])] if n not in _NAMES]
    keys = tuple(
        f.name for f in before if from_arrow(f.type).kind not in UNORDERED
    )  # not a variable's events
    if span == ("start", "end"):  # of a stream of tuples the attributes stand before the times
        keys = ()
    of = from_arrow(result.schema.field(span[0]).type)
    starts, ends = _ends(result, spans)
    key_values = [decoded(result.column(n)).to_pylist() for n in keys]
    confidences = result.column("confidence").to_pylist() if "confidence" in names else None
    queries = decoded(result.column("query")).to_pylist() if "query" in names else None
    events = _events(result, time, y)
    matches = [
        Found(
            key=tuple(column[row] for column in key_values),
            start=starts[row],
            end=ends[row],
            events=tuple(sorted(events[row], key=lambda e: (e.time, e.end))),
            confidence=None if confidences is None else confidences[row],
            query=None if queries is None else queries[row],
        )
        for row in range(result.num_rows)
        if starts[row] is not None
    ]
    return matches, keys, of


def _ends(result: pa.Table, spans: list[tuple[str, str]]) -> tuple[list[Any], list[Any]]:
    """When each match begins and ends: in the rows of a set each language has columns of its own, null for the others."""
    columns = {
        name: physical_values(result.column(name), from_arrow(result.schema.field(name).type))
        for span in spans
        for name in span
    }
    own = [
        next((s for s in spans if columns[s[0]][row] is not None), spans[0]) for row in range(result.num_rows)
    ]
    return [columns[s[0]][row] for row, s in enumerate(own)], [
        columns[s[1]][row] for row, s in enumerate(own)
    ]


def _events(result: pa.Table, time: tuple[str, str | None] | None, y: str | None) -> list[list[Event]]:
    """By row the events of all variables that are there as structs."""
    events: list[list[Event]] = [[] for _ in range(result.num_rows)]
    if time is None:
        return events
    for field in in_one_chunk(result, result.schema.names).schema:
        array = decoded(result.column(field.name))
        many = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
        struct = array.type.value_type if many else array.type
        if not pa.types.is_struct(struct) or struct.get_field_index(time[0]) < 0:
            continue
        rows = pc.list_parent_indices(array).to_pylist() if many else list(range(len(array)))
        flat = pc.list_flatten(array) if many else array
        times = _field(flat, time[0])
        ends = times if time[1] is None else _field(flat, time[1])
        values = _field(flat, y) if y is not None and struct.get_field_index(y) >= 0 else [None] * len(rows)
        counts: dict[int, int] = {}
        for row, t, e, v in zip(rows, times, ends, values, strict=True):
            if t is None:
                continue
            counts[row] = counts.get(row, 0) + 1
            var = f"{field.name}[{counts[row]}]" if many else field.name
            events[row].append(Event(var, t, t if e is None else e, None if v is None else float(v)))
    return events


def _field(array: Any, name: str) -> list[Any]:
    values = pc.struct_field(array, name)
    return physical_values(values, from_arrow(values.type))


def time_column(data: pa.Table | None, result: pa.Table, time: Any) -> tuple[str, str | None] | None:
    """The column of times, or the two of an interval: as named, or the one in which the matches' times stand."""
    if time is not None:
        names = (time, None) if isinstance(time, str) else tuple(time)
        for name in names:
            if data is not None and name is not None and name not in data.schema.names:
                Columns.of(data.schema).type_of(name, "time column")
        return (names[0], names[1])
    schema = data.schema if data is not None else _inner(result)
    if schema is None:
        return None
    span = next((s for s in SPANS if s[0] in result.schema.names), None)
    if span is None:
        return None
    wanted = from_arrow(result.schema.field(span[0]).type)
    fit = [f.name for f in schema if is_time(from_arrow(f.type)) and from_arrow(f.type).kind is wanted.kind]
    if len(fit) > 1 and data is not None:
        ends = set(physical_values(result.column(span[0]), wanted))
        fit = [n for n in fit if ends <= set(physical_values(data.column(n), wanted))] or fit
    if len(fit) == 1 or (fit and data is None):
        return (fit[0], None)
    if not fit:
        return None
    raise QueryError(
        f"which column is the time is not plain: {', '.join(map(quoted, fit))} could be",
        hint=f"pass it, as match() takes it: time={fit[0]!r}, say",
    )


def _inner(result: pa.Table) -> pa.Schema | None:
    """The columns of an event, where a variable's struct shows them."""
    for field in result.schema:
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(kind):
            return pa.schema([kind.field(i) for i in range(kind.num_fields)])
    return None
