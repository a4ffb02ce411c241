"""Arrow tables and parquet files as DataFrames, with the columns that they have here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError, one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A table as a DataFrame. What Spark has in no type of its own comes in the nearest that loses nothing."""
    from augury.runtime.spark_types import spark_schema

    held = held_table(table)
    return spark.createDataFrame(held, spark_schema(held.schema))


def held_table(table: pa.Table) -> pa.Table:
    """A table in the types in which Spark takes its columns."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            columns.append(_cast(column, type_held(field.type)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"Spark cannot hold the column {field.name} ({field.type}): {one_line(str(error))}"
            ) from None
    return pa.table(columns, names=table.schema.names)


def parquet_frame(
    spark: SparkSession, paths: Sequence[str], schema: pa.Schema, base: str | None
) -> DataFrame:
    """Parquet files of these columns, read by Spark itself; below `base`, folders such as `day=1` are columns."""
    from augury.runtime.spark_types import spark_schema

    reader = spark.read.schema(spark_schema(pa.schema([f.with_type(type_held(f.type)) for f in schema])))
    if base is not None:
        reader = reader.option("basePath", _uri(base))
    return reader.parquet(*map(_uri, paths))


def _uri(path: str) -> str:
    # Hadoop's paths look like URIs and are none: nothing in them is escaped.
    return f"file:{Path(path).absolute()}"


def reads_alike(type_: pa.DataType) -> bool:
    """Whether a parquet column that is of this type here is of the same in Spark."""
    t = pa.types
    if t.is_struct(type_):
        return all(reads_alike(f.type) for f in type_)
    if t.is_list(type_) or t.is_large_list(type_) or t.is_dictionary(type_):
        return reads_alike(type_.value_type)
    if t.is_timestamp(type_):
        return bool(type_.unit in ("ms", "us"))
    if t.is_decimal(type_):
        return bool(type_.precision <= 38)
    plain = (t.is_signed_integer, t.is_boolean, t.is_float32, t.is_float64, t.is_string, t.is_large_string)
    return any(is_(type_) for is_ in (*plain, t.is_binary, t.is_large_binary, t.is_date32))


def type_held(type_: pa.DataType) -> pa.DataType:
    """The type in which Spark takes a column; UINT64 is an integer if its values are."""
    t = pa.types
    if t.is_struct(type_):
        return pa.struct([f.with_type(type_held(f.type)) for f in type_])
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        return pa.list_(type_held(type_.value_type))
    if t.is_dictionary(type_) or t.is_run_end_encoded(type_):
        return type_held(type_.value_type)
    if t.is_timestamp(type_):
        return pa.timestamp("us", type_.tz and "UTC")
    for is_, held in (
        (t.is_unsigned_integer, pa.int64()),
        (t.is_float16, pa.float32()),
        (t.is_duration, pa.duration("us")),
        (t.is_date, pa.date32()),
        (t.is_time, pa.time64("ns")),
        (lambda x: t.is_large_string(x) or t.is_string_view(x), pa.string()),
        (lambda x: t.is_fixed_size_binary(x) or t.is_large_binary(x) or t.is_binary_view(x), pa.binary()),
    ):
        if is_(type_):
            return held
    return type_


def in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """What came from Spark in the types that it would have here, but that lists have no fixed size."""
    schema = pa.schema([f.with_type(_unfixed(f.type)) for f in schema], metadata=schema.metadata)
    columns = [_cast(column, field.type) for field, column in zip(schema, table.columns, strict=True)]
    return pa.table(columns, schema=schema)


def _unfixed(type_: pa.DataType) -> pa.DataType:
    """The type with plain lists: PyArrow 26 crashes where it casts some that came from Spark to lists of fixed size."""
    t = pa.types
    if t.is_struct(type_):
        return pa.struct([f.with_type(_unfixed(f.type)) for f in type_])
    if t.is_fixed_size_list(type_):
        return pa.list_(_unfixed(type_.value_type))
    if t.is_list(type_) or t.is_large_list(type_):
        plain = pa.list_ if t.is_list(type_) else pa.large_list
        return plain(type_.value_field.with_type(_unfixed(type_.value_type)))
    return type_


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(c) for c in column.chunks], column.type.value_type)
    return column if column.type == type_ else column.cast(type_)
