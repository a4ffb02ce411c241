"""Tables to DataFrames and back, and many queries at once: Spark spends most of a small one waiting."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import augury as ag
from augury.runtime.spark_types import arrow_schema, as_held, spark_schema
from conformance.compare import table_difference
from conformance.corpus import with_rounded


@dataclass(frozen=True)
class Asked:
    """A query and what it is asked of."""

    name: str
    query: ag.Query
    table: pa.Table
    arguments: dict[str, Any] = field(default_factory=dict)


def as_spark_has_it(table: pa.Table) -> pa.Table | None:
    """The same values in types that Spark has; None where it has none for them."""
    columns = {}
    for name in table.schema.names:
        column = table.column(name)
        wanted = _type(column.type)
        if wanted is None:
            return None
        try:
            columns[name] = column.cast(wanted)
        except pa.ArrowInvalid:  # nanoseconds that are no microseconds
            return None
    return pa.table(columns)


def _type(arrow: pa.DataType) -> pa.DataType | None:
    t = pa.types
    if t.is_dictionary(arrow):
        return _type(arrow.value_type)
    if t.is_uint64(arrow) or (t.is_decimal(arrow) and arrow.precision > 38):
        return None
    if t.is_unsigned_integer(arrow):
        return pa.int64()
    if t.is_timestamp(arrow):
        return pa.timestamp("us", arrow.tz and "UTC")
    if t.is_duration(arrow):
        return pa.duration("us")
    if t.is_date(arrow):
        return pa.date32()
    if t.is_time(arrow):
        return pa.time64("ns")
    if t.is_large_string(arrow) or t.is_string_view(arrow):
        return pa.string()
    if t.is_float16(arrow):
        return pa.float32()
    return arrow


def frame_of(session: Any, table: pa.Table) -> Any:
    return session.createDataFrame(table, spark_schema(table.schema))


def collected(df: Any, schema: pa.Schema) -> pa.Table:
    """The rows of a DataFrame, once its columns are found to be those of the schema."""
    wanted = [(f.name, as_held(f.type)) for f in schema]
    found = [(f.name, f.type) for f in arrow_schema(df.schema)]
    assert found == wanted
    table = df.toArrow()
    zones = pa.schema([pa.field(n, t) for n, t in found])
    return pa.table([c.cast(f.type) for c, f in zip(table.columns, zones, strict=True)], schema=zones)


def differences(session: Any, asked: Sequence[Asked]) -> list[str]:
    """Where Spark says something else than the definition does in process."""

    def answer(one: Asked) -> pa.Table:
        df = one.query.match(frame_of(session, one.table), **one.arguments)
        return df, df.toArrow()

    expected = [one.query.match(one.table, plan="definition", **one.arguments) for one in asked]
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        answers = list(pool.map(answer, asked))
    found = []
    for one, wanted, (df, table) in zip(asked, expected, answers, strict=True):
        schema = arrow_schema(df.schema)
        plain = wanted.replace_schema_metadata(None)
        plain = plain.cast(pa.schema([pa.field(f.name, as_held(f.type)) for f in plain.schema]))
        got = pa.table([c.cast(f.type) for c, f in zip(table.columns, schema, strict=True)], schema=schema)
        if one.arguments.get("output") == "compressed":
            plain, got = ag.expand(plain, one.query), ag.expand(got, one.query)
        if isinstance(one.arguments["time"], list):  # its confidences are sums, added up in another order
            plain, got = (with_rounded(t, "confidence") for t in (plain, got))
        said = table_difference(plain, got)
        if said is not None:
            found.append(f"{one.name}, {one.arguments}\n{one.query.text}\n{said}")
    return found
