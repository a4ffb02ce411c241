"""A column with the values that came before: for tests of whole series, such as corr(a.history, b.history)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import QueryError
from augury.expr.check import missing
from augury.expr.printing import quoted
from augury.match.gather import one_array
from augury.runtime.frames import is_frame
from augury.schema import as_table


def with_history(
    data: Any,
    column: str,
    length: int,
    *,
    time: str,
    key: str | Sequence[str] | None = None,
    tiebreak: str | Sequence[str] | None = None,
    name: str = "history",
) -> Any:
    """The events with one more column: the values of `column` at the last `length` events of the key, this one the last.

    Nulls are left out, and the first events of a key have shorter lists; `corr` of two lists of different lengths is
    null. Of a Spark DataFrame a DataFrame, of anything else a `pyarrow.Table` whose rows stay where they were.

    >>> import pyarrow as pa
    >>> prices = pa.table({"ts": [1, 2, 3], "ticker": ["GOOG", "MSFT", "GOOG"], "price": [5.0, 7.0, 6.0]})
    >>> with_history(prices, "price", 2, time="ts", key="ticker").column("history").to_pylist()
    [[5.0], [7.0], [5.0, 6.0]]
    """
    keys, ties = ([names] if isinstance(names, str) else list(names or ()) for names in (key, tiebreak))
    if type(length) is not int or length < 1:
        raise QueryError(f"length={length!r} is no number of events", hint="it is a whole number from 1 on")
    table = None if is_frame(data) else as_table(data)
    known = data.columns if table is None else table.schema.names
    for wanted in (column, time, *keys, *ties):
        if wanted not in known:
            message, hint = missing("column", wanted, dict.fromkeys(known))
            raise QueryError(message, hint=hint)
    if name in known:
        raise QueryError(
            f"there is a column {quoted(name)} already", hint="give the new one a name with name="
        )
    if table is None:
        return data.selectExpr("*", f"{_window(column, length, time, keys, ties)} AS {_named(name)}")
    return table.append_column(name, _lists(table, column, length, time, keys, ties))


def _named(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _window(column: str, length: int, time: str, keys: list[str], ties: list[str]) -> str:
    """The same in Spark's SQL, which skips nulls too."""
    by = f"PARTITION BY {', '.join(map(_named, keys))} " if keys else ""
    order = ", ".join(map(_named, (time, *ties)))
    rows = f"ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW"
    return f"collect_list({_named(column)}) OVER ({by}ORDER BY {order} {rows})"


def _lists(
    table: pa.Table, column: str, length: int, time: str, keys: list[str], ties: list[str]
) -> pa.ListArray:
    rows = table.num_rows
    numbered = table.select(list(dict.fromkeys((*keys, time, *ties)))).append_column(
        "", pa.array(np.arange(rows))
    )
    by = [(k, "ascending") for k in dict.fromkeys((*keys, time, *ties))]
    ordered = numbered.sort_by([*by, ("", "ascending")])
    order = ordered.column("").to_numpy()
    first = np.zeros(rows, np.bool_)  # of its key
    first[:1] = True
    for k in keys:
        codes = one_array(ordered.column(k)).dictionary_encode(null_encoding="encode").indices.to_numpy()
        first[1:] |= codes[1:] != codes[:-1]
    place = np.arange(rows)
    starts = np.maximum.accumulate(np.where(first, place, 0))
    low = np.maximum(starts, place - length + 1)
    lengths = place - low + 1
    ends = np.cumsum(lengths)
    inner = np.repeat(low, lengths) + np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
    values = one_array(table.column(column)).take(pa.array(order)).take(pa.array(inner))
    there = values.is_valid().to_numpy(zero_copy_only=False)
    kept = np.concatenate([[0], np.cumsum(there)])[np.concatenate([[0], ends])]
    lists = pa.ListArray.from_arrays(pa.array(kept.astype(np.int32)), values.filter(pa.array(there)))
    back = np.empty(rows, np.int64)
    back[order] = place
    return lists.take(pa.array(back))
