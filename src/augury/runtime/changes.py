"""Changes: rows that come, and rows that are taken back.

A revision is a column, not another API: `op` is "insert" or "retract", and what follows are the result's columns.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

OP = "op"
INSERT, RETRACT = "insert", "retract"


def with_op(op: str, rows: pa.Table) -> pa.Table:
    """Rows as changes of one kind."""
    named = pa.repeat(pa.scalar(op), rows.num_rows)
    return pa.Table.from_arrays([named, *rows.columns], schema=changes_of(rows.schema))


def inserts(found: Iterable[pa.Table]) -> list[pa.Table]:
    """Rows as changes of engines that never take back."""
    return [with_op(INSERT, rows) for rows in found if rows.num_rows]


def changes_of(gives: pa.Schema) -> pa.Schema:
    """The columns of the changes of a result."""
    return pa.schema([pa.field(OP, pa.string()), *gives])
