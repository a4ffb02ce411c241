"""The events of one key, as a table: what a person looks at, out of a table or a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError, QueryError
from augury.expr.check import missing
from augury.expr.printing import quoted
from augury.expr.types import INSTANTS, INTEGERS
from augury.match.gather import decoded
from augury.runtime.frames import is_frame
from augury.schema import Columns, as_table

MOST = 1_000_000  # rows that are brought from Spark to be looked at


def pulled(data: Any, key: Any) -> tuple[pa.Table, Any]:
    """The rows, and the names of the key columns: `key={"user": 7}` takes the rows of one key alone."""
    chosen = dict(key) if isinstance(key, Mapping) else {}
    if is_frame(data):
        return _from_spark(data, chosen), list(chosen) or key
    table = as_table(data)
    for name, value in chosen.items():
        _known(name, table.schema.names)
        table = table.filter(_equals(table.column(name), name, value))
    return table, list(chosen) or key


def _from_spark(frame: Any, chosen: dict[str, Any]) -> pa.Table:
    for name, value in chosen.items():
        _known(name, frame.columns)
        column = frame[f"`{name.replace('`', '``')}`"]
        frame = frame.where(column.eqNullSafe(value))
    table = frame.limit(MOST + 1).toArrow()
    if table.num_rows > MOST:
        raise DataError(
            f"more than {MOST:,} rows would be brought from Spark to be looked at; name one key, as in "
            'key={"user": 7}, or pass a part of the DataFrame'
        )
    return table


def _known(name: str, names: list[str]) -> None:
    if name not in names:
        message, hint = missing("key column", name, dict.fromkeys(names))
        raise QueryError(message, hint=hint)


def _equals(column: pa.ChunkedArray, name: str, value: Any) -> Any:
    """Which rows have the value, as keys are compared: nulls are one, NaNs are one."""
    values = decoded(column)
    if value is None:
        return pc.is_null(values)
    if isinstance(value, float) and value != value:
        return pc.is_nan(values).fill_null(False)
    try:
        wanted = pa.scalar(value, values.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
        raise QueryError(
            f"key={{{name!r}: {value!r}}} is no value of the column {quoted(name)}: {error}",
            hint=f"its values are of the type {values.type}",
        ) from None
    return pc.equal(values, wanted).fill_null(False)


def time_of(schema: pa.Schema, time: Any) -> Any:
    """The time column that was named, or the only one that can be it."""
    if time is not None and not isinstance(time, str):
        raise QueryError(
            f"time={time!r} is an interval, and only events with one instant each are followed here",
            hint="name one column",
        )
    if time is not None:
        return time
    kinds = {name: t.kind for name, t in Columns.of(schema).types.items()}
    instants = [name for name, kind in kinds.items() if kind in INSTANTS]
    found = instants or [name for name, kind in kinds.items() if kind in INTEGERS]
    if len(found) == 1:
        return found[0]
    raise QueryError(
        "which column is the time is not plain from these data",
        hint=f"pass time=, as match() takes it{f': time={found[0]!r}, say' if found else ''}",
    )
