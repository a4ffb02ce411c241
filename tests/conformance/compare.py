"""When two results are the same: equal multisets of rows, equal columns. The order of rows means nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def canonical(value: Any) -> Any:
    """A hashable form that keeps apart whatever differs: 1 and 1.0 and true, 0.0 and -0.0; NaN is NaN."""
    match value:
        case dict():
            return ("struct", *((name, canonical(v)) for name, v in value.items()))
        case list() | tuple():
            return ("list", *(canonical(v) for v in value))
        case float():
            return ("float", "NaN" if math.isnan(value) else repr(value))
    return (type(value).__name__, value)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    return list(zip(*columns, strict=True)) if columns else []


def difference(wanted: Iterable[Sequence[Any]], got: Iterable[Sequence[Any]]) -> str | None:
    """What is missing and what is too much, or None."""
    counted: Counter[Any] = Counter()
    shown: dict[Any, Sequence[Any]] = {}
    for sign, rows in ((1, wanted), (-1, got)):
        for row in rows:
            key = canonical(row)
            counted[key] += sign
            shown[key] = row
    lines = [
        f"{'missing' if n > 0 else 'too much'}{f' ({abs(n)} times)' if abs(n) > 1 else ''}: {shown[key]}"
        for key, n in counted.items()
        if n
    ]
    return "\n".join(lines) or None


def table_difference(wanted: pa.Table, got: pa.Table) -> str | None:
    """Schemas, without metadata, and rows."""
    if wanted.schema != got.schema:
        return f"the schema is\n{got.schema}\nand should be\n{wanted.schema}"
    return difference(rows_of(wanted), rows_of(got))
