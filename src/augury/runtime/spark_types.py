"""Spark's types as Arrow's, and back: what a DataFrame's columns are called in a query, and its result in Spark.

A timestamp of Spark is an instant, so it is one of UTC here whatever the session's zone; one without a zone stays
so. Whether a value may be null is not told: queries ask the values.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

# What no Arrow type that PyArrow knows holds. Such a column is there, and cannot be read.
UNREADABLE = pa.month_day_nano_interval()

_TO_ARROW: tuple[tuple[type[st.DataType], pa.DataType], ...] = (
    (st.BooleanType, pa.bool_()),
    (st.ByteType, pa.int8()),
    (st.ShortType, pa.int16()),
    (st.IntegerType, pa.int32()),
    (st.LongType, pa.int64()),
    (st.FloatType, pa.float32()),
    (st.DoubleType, pa.float64()),
    (st.StringType, pa.string()),
    (st.CharType, pa.string()),
    (st.VarcharType, pa.string()),
    (st.BinaryType, pa.binary()),
    (st.DateType, pa.date32()),
    (st.TimestampNTZType, pa.timestamp("us")),
    (st.TimestampType, pa.timestamp("us", tz="UTC")),
    (st.DayTimeIntervalType, pa.duration("us")),
    (st.NullType, pa.null()),
)
_TO_SPARK: dict[pa.DataType, type[st.DataType]] = {
    **{arrow: spark for spark, arrow in reversed(_TO_ARROW)},
    pa.large_string(): st.StringType,
    pa.large_binary(): st.BinaryType,
}
# Types that came with a Spark 4 later than 4.0.
if hasattr(st, "TimeType"):
    _TO_ARROW = (*_TO_ARROW, (st.TimeType, pa.time64("ns")))
    _TO_SPARK[pa.time64("ns")] = st.TimeType
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_MOST_DIGITS = 38  # of a decimal in Spark
_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
_KEPT_SCALE = 6  # digits after the point that a decimal with too many keeps, as in Spark's own arithmetic


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """The columns of a DataFrame as a query sees them."""
    return pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in schema.fields])


def arrow_type(spark: st.DataType) -> pa.DataType:
    """One type; UNREADABLE where there is none."""
    match spark:
        case st.DecimalType():
            return pa.decimal128(spark.precision, spark.scale)
        case st.ArrayType():
            return _nested(pa.list_, arrow_type(spark.elementType))
        case st.MapType():
            return _nested(pa.map_, arrow_type(spark.keyType), arrow_type(spark.valueType))
        case st.StructType():
            names = spark.fieldNames()
            inner = [arrow_type(f.dataType) for f in spark.fields]
            return _nested(lambda *types: pa.struct(list(zip(names, types, strict=True))), *inner)
        case st.VariantType():
            return _VARIANT
    return next((arrow for known, arrow in _TO_ARROW if isinstance(spark, known)), UNREADABLE)


def _nested(make: Any, *inner: pa.DataType) -> pa.DataType:
    return UNREADABLE if UNREADABLE in inner else make(*inner)


def spark_schema(schema: pa.Schema) -> st.StructType:
    """The columns of a result in Spark."""
    return st.StructType([st.StructField(f.name, spark_type(f.type)) for f in schema])


def spark_type(arrow: pa.DataType) -> st.DataType:
    """One type of a result. What Spark has not becomes what holds its values: see `as_held`."""
    t = pa.types
    held = as_held(arrow)
    if held in _TO_SPARK:
        return _TO_SPARK[held]()
    if t.is_decimal(held):
        return st.DecimalType(held.precision, held.scale)
    if t.is_map(held):
        return st.MapType(spark_type(held.key_type), spark_type(held.item_type))
    if t.is_list(held):
        return st.ArrayType(spark_type(held.value_type))
    if _is_variant(held):
        return st.VariantType()
    assert t.is_struct(held), held
    return st.StructType([st.StructField(f.name, spark_type(f.type)) for f in held])


def _is_variant(arrow: pa.DataType) -> bool:
    """The metadata tells it from a struct that looks the same."""
    return arrow == _VARIANT and (arrow.field(1).metadata or {}).get(b"variant") == b"true"


def as_held(arrow: pa.DataType) -> pa.DataType:
    """The type in which a computed value goes to Spark: it has no unsigned numbers, and decimals of 38 digits."""
    if pa.types.is_uint64(arrow):
        return pa.decimal128(20, 0)
    if pa.types.is_decimal(arrow) and arrow.precision > _MOST_DIGITS:
        whole = arrow.precision - arrow.scale
        return pa.decimal128(_MOST_DIGITS, max(_MOST_DIGITS - whole, min(arrow.scale, _KEPT_SCALE)))
    if pa.types.is_list(arrow):
        inner = as_held(arrow.value_type)
        return arrow if inner == arrow.value_type else pa.list_(inner)
    return arrow


def held(table: pa.Table) -> pa.Table:
    """A result with every column as Spark holds it; a decimal beyond 38 digits is rounded, or null."""
    for place, field in enumerate(table.schema):
        wanted = as_held(field.type)
        if wanted != field.type:
            table = table.set_column(
                place, pa.field(field.name, wanted), _converted(table.column(place), wanted)
            )
    return table


def _converted(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Value by value: it is seldom asked for."""
    inner = wanted.value_type if pa.types.is_list(wanted) else wanted
    step, limit = Decimal(1).scaleb(-inner.scale), Decimal(10) ** (inner.precision - inner.scale)

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(v) for v in value]
        if value is None:
            return None
        rounded = _EXACT.quantize(Decimal(value), step)
        return rounded if abs(rounded) < limit else None

    return pa.chunked_array([pa.array([one(v) for v in column.to_pylist()], wanted)])
