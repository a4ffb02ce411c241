"""What the data is: any Arrow-speaking table, and the columns that play a role in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from augury.errors import DataError, QueryError
from augury.expr.check import missing
from augury.expr.printing import quoted
from augury.expr.types import INTEGERS, UNORDERED, Kind, Type, from_arrow
from augury.time import is_time


def opened(data: Any) -> pa.Table | pa.RecordBatchReader:
    """The data with its schema to be seen: what comes as a stream has not been read yet."""
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return _without_unnamed_index(pa.RecordBatchReader.from_stream(data))
        if hasattr(data, "__arrow_c_array__"):
            return pa.table(data)
    except pa.ArrowInvalid as error:  # an array or a series
        raise DataError(f"data of type {type(data).__name__} is no table of columns: {error}") from None
    remedy = "call its collect() first" if hasattr(data, "collect") else "make one with pyarrow.table(…)"
    raise DataError(
        f"data of type {type(data).__name__} is no table: match() takes what speaks the Arrow PyCapsule interface, "
        f"such as a pyarrow, pandas, polars or DuckDB table; {remedy}"
    )


def _without_unnamed_index(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Without the row numbers that pandas sends along once a frame was filtered or sorted: they are no data."""
    columns = [name for name in reader.schema.names if not _UNNAMED_INDEX.fullmatch(name)]
    if b"pandas" not in (reader.schema.metadata or {}) or len(columns) == len(reader.schema):
        return reader
    schema = pa.schema([reader.schema.field(name) for name in columns], reader.schema.metadata)
    return pa.RecordBatchReader.from_batches(schema, (batch.select(columns) for batch in reader))


_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def as_table(data: Any) -> pa.Table:
    """The data as an Arrow table, through the PyCapsule interface."""
    found = opened(data)
    return found.read_all() if isinstance(found, pa.RecordBatchReader) else found


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns are the time, the type, the key and the tiebreak."""

    time: str
    type: str | None = None
    key: tuple[str, ...] = ()
    tiebreak: tuple[str, ...] = ()
    end: str | None = None  # of an interval, which begins at `time`


@dataclass(frozen=True, slots=True)
class Columns:
    """An Arrow schema as expressions see it: each column's type by its name, in order."""

    types: dict[str, Type]

    @classmethod
    def of(cls, schema: pa.Schema) -> Columns:
        types: dict[str, Type] = {}
        for field in schema:
            if field.name in types:
                raise DataError(f"two columns are named {quoted(field.name)}; rename one of them")
            types[field.name] = from_arrow(field.type)
        return cls(types)

    def type_of(self, name: str, what: str = "column") -> Type:
        """The type of a column; a QueryError that lists the columns where there is none."""
        if name not in self.types:
            message, hint = missing(what, name, self.types)
            raise QueryError(message, hint=hint)
        return self.types[name]


def roles_of(
    columns: Columns,
    time: str | tuple[str, str],
    type: str | None = None,
    key: str | Sequence[str] | None = None,
    tiebreak: str | Sequence[str] | None = None,
) -> Roles:
    """The roles as `match` was told them, checked against the columns."""
    time, end = _times(columns, time)
    if type is not None:
        if not isinstance(type, str):
            raise QueryError(f"type= names one column, not {type!r}", hint='write type="kind", say')
        found = columns.type_of(type, "type column")
        if found.kind is not Kind.STRING:
            raise QueryError(
                f"the type column {quoted(type)} is {found.named}, and a type is a string",
                hint="cast it to a string",
            )
    keys, ties = _names("key", key), _names("tiebreak", tiebreak)
    for name in keys:
        if columns.type_of(name, "key column").kind in UNORDERED:
            raise QueryError(
                f"the key column {quoted(name)} is {columns.types[name].named}",
                hint="a key holds single values; make a part of it a column of its own",
            )
        if keys.count(name) > 1:
            raise QueryError(f"the column {quoted(name)} is named twice in key=", hint="name it once")
    for name in ties:
        columns.type_of(name, "tiebreak column")
    return Roles(time, type, keys, ties, end)


def _times(columns: Columns, time: object) -> tuple[str, str | None]:
    """The column of times, or the two of an interval's first and last instant."""
    names = time if isinstance(time, list | tuple) else (time,)
    if len(names) not in (1, 2) or not all(isinstance(name, str) for name in names):
        raise QueryError(
            f"time= names one column, or two for an interval, not {time!r}",
            hint='write time="ts", or time=("start", "end")',
        )
    for name in names:
        type_ = columns.type_of(name, "time column")
        if not is_time(type_):
            raise QueryError(
                f"the time column {quoted(name)} is {type_.named}",
                hint="a time is an integer, a date or a timestamp",
            )
    if len(names) == 1:
        return names[0], None
    start, end = names
    kinds = [columns.types[name].kind for name in names]
    if (kinds[0] in INTEGERS) != (kinds[1] in INTEGERS) or (
        kinds[0] not in INTEGERS and kinds[0] is not kinds[1]
    ):
        raise QueryError(
            f"an interval from {quoted(start)}, {columns.types[start].named}, to {quoted(end)}, "
            f"{columns.types[end].named}, is none: its ends are times of one kind",
            hint="cast one of them",
        )
    return start, end


def _names(role: str, given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise QueryError(
            f"{role}= names a column or a list of them, not {given!r}", hint=f'write {role}="user", say'
        )
    return names
