"""A streaming DataFrame: the same query, micro-batch by micro-batch, each match once and when it is certain.

    df ─ watermark ─ columns ─ pack (mapInArrow) ─ shards: transformWithState ─ observe ─ unpack (mapInArrow) ─> df
         of the time           `spark_packing`     `spark_operator`             counts

What is late is decided in the operator, by the watermark of the micro-batch: after packing Spark itself sees no row, and
drops none. Only methods of DataFrames are called, so that a session behind Spark Connect does as well.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.errors import AuguryError, QueryError
from augury.expr.printing import quoted
from augury.runtime.changes import OP, changes_of
from augury.runtime.options import Options, Unset
from augury.runtime.program import Program
from augury.runtime.spark_batch import api_of, plain
from augury.runtime.spark_operator import EVENT, GIVEN, REASON, Live, Shards
from augury.runtime.spark_packing import PACKED, Packer, rows_of_blobs
from augury.runtime.spark_shards import LEDGER, Layout, layout
from augury.runtime.spark_types import UNREADABLE, arrow_schema, spark_schema
from augury.runtime.stream_changes import COLUMNS as CHANGE
from augury.runtime.stream_changes import changeable
from augury.runtime.stream_shard import COUNTED
from augury.runtime.table import ProgramOf
from augury.runtime.watermarks import in_microseconds, microseconds, milliseconds
from augury.time import span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OBSERVED = "augury"  # and a number: the name under which a query's progress has its counts
BUCKETS = 16  # of a shard
LAG = "augury.lag"  # in a column's metadata: microseconds by which times of it may lie before the watermark
_UNKNOWN = -1
_WATERMARK = "spark.watermarkDelayMs"  # Spark's own, in the same place
_STORE = "spark.sql.streaming.stateStore.providerClass"
_HDFS, _ROCKS = (
    f"org.apache.spark.sql.execution.streaming.state.{name}StateStoreProvider"
    for name in ("HDFSBacked", "RocksDB")
)
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_numbers = itertools.count(1)


def match_stream(program_of: ProgramOf, df: DataFrame, options: Options) -> DataFrame:
    """The result of a query over a streaming DataFrame, as one."""
    schema = arrow_schema(df.schema)
    gives_late = _gives_late(options)
    program = program_of(schema, replace(options, on_late=None, control=None, lateness=None))
    waits = program.unending()
    if waits is not None:
        raise QueryError(
            f"{waits}: no row would ever be certain, for a stream has no end",
            hint="add WITHIN, or match what has been stored"
            if "WITHIN" in waits
            else "leave it out, or match what has been stored",
        )
    changes = options.control is not None
    if changes:
        _check_control(program, options.control)
    carried = schema.names if gives_late or changes else list(program.reads)
    events = pa.schema([schema.field(name) for name in carried])
    _check_readable(events, df, gives_late=gives_late)
    gives = _columns(program, options, events, gives_late=gives_late)
    _settings(df.sparkSession)

    names = {name: f"c{place}" for place, name in enumerate(schema.names)}
    rows, lag = _with_watermark(df, df.toDF(*names.values()), names[program.clock], program, options)
    keyed = bool(program.partition)
    columns = [plain(names[name], df.schema[name].dataType) for name in carried]
    if keyed:
        columns.append(f"xxhash64({', '.join(map(_normal(df, names), program.partition))}) AS place")
    live = Live(
        program=program,
        schema=events,
        gives=gives,
        layout=_layout(df.sparkSession, keyed=keyed),
        late=gives_late,
        changes=changes,
        chained=lag is not None,
        lag=lag or 0,
    )
    packed = rows.selectExpr(*columns).mapInArrow(
        Packer(program, events, live.layout, keyed), spark_schema(PACKED)
    )
    if changes:
        packed = packed.unionByName(_told(options.control, df, live))
    found = packed.groupBy("shard").transformWithStateInPandas(Shards(live), GIVEN, "append", "EventTime")
    sql = api_of(df)[0]
    counts = [sql.expr(f"coalesce(sum({name}), 0L)").alias(name) for name in (*COUNTED, "bad_rows")]
    found = found.observe(f"{OBSERVED}_{next(_numbers)}", *counts)
    one = microseconds(schema.field(program.clock).type)
    result = _with_lags(spark_schema(gives), program, lag or 0, one)
    return found.select("rows").mapInArrow(rows_of_blobs, result)


# ------------------------------------------------------------------ columns


def _gives_late(options: Options) -> bool:
    if options.on_late not in (None, "rows"):
        raise QueryError(
            f"on_late={options.on_late!r} says nothing of a stream",
            hint='on_late="rows" gives late events back as rows; without it they are counted',
        )
    return options.on_late is not None


def _columns(program: Program, options: Options, events: pa.Schema, *, gives_late: bool) -> pa.Schema:
    """The stream's columns: those of the result, and what is said of each row where that is asked for."""
    gives = program.gives
    if gives_late or options.control is not None or not isinstance(options.speculate, Unset):
        gives = changes_of(gives)
    if gives_late:
        gives = gives.append(pa.field(EVENT, pa.struct(list(events))))
    if options.control is not None:
        gives = gives.append(pa.field(REASON, pa.string()))
    for name in (OP, EVENT, REASON):
        if gives.names.count(name) > 1:
            raise QueryError(
                f"a column of the result is named {name}, as one of the stream's own is",
                hint="rename the key column, the variable or the item of RETURN",
            )
    return gives


def _check_readable(events: pa.Schema, df: DataFrame, *, gives_late: bool) -> None:
    for field in events:
        if field.type == UNREADABLE:
            raise QueryError(
                f"the column {quoted(field.name)} is of Spark's type {df.schema[field.name].dataType.simpleString()}, "
                "which Arrow has not",
                hint='cast it or drop it; on_late="rows" carries all columns'
                if gives_late
                else "cast it, drop it, or say with RETURN which columns are wanted",
            )


def _check_control(program: Program, control: DataFrame) -> None:
    """Whether there is something to change, and a stream that says what."""
    if not changeable(program):
        raise QueryError(
            "control= is for automata and sets of queries, and this query does not change",
            hint="put it into a QuerySet",
        )
    if not getattr(control, "isStreaming", False):
        raise QueryError(
            "control= takes a streaming DataFrame of changes",
            hint="read it with spark.readStream, from a table or a folder",
        )
    for name in CHANGE:
        if name not in control.columns:
            raise QueryError(
                f"the changes of control= have no column {name}",
                hint=f"the columns are {', '.join(CHANGE)}; query and at may be null",
            )


def _told(control: DataFrame, df: DataFrame, live: Live) -> DataFrame:
    """Each change as JSON, for every shard."""
    time = df.schema[live.program.clock].dataType.simpleString()
    instant = in_microseconds("at", live.time)
    if microseconds(live.time) > 1:
        instant = f"cast({instant} DIV {microseconds(live.time)}L AS bigint)"
    shards = ", ".join(map(str, (LEDGER, *live.layout.shards)))
    change = (
        f"named_struct('version', version, 'action', action, 'name', name, 'query', query, 'at', {instant})"
    )
    return control.selectExpr(
        "cast(version AS bigint) AS version", "action", "name", "query", f"cast(at AS {time}) AS at"
    ).selectExpr(
        f"explode(array({shards})) AS shard",
        "cast(NULL AS binary) AS buckets",
        "cast(NULL AS binary) AS rows",
        "0L AS bad_rows",
        f"to_json({change}) AS change",
    )


def _normal(df: DataFrame, names: dict[str, str]) -> Any:
    """A key column for Spark's hash: what is one key here has one hash there."""

    def sql(name: str) -> str:
        type_, column = df.schema[name].dataType, names[name]
        if type_.typeName() in ("float", "double"):
            return f"if({column} = 0, cast(0 AS {type_.simpleString()}), {column})"  # -0.0
        if type_.typeName() == "string":
            return f"cast({column} AS string)"  # without a collation
        return column

    return sql


# ------------------------------------------------------------------ time


def _with_watermark(
    df: DataFrame, rows: DataFrame, clock: str, program: Program, options: Options
) -> tuple[DataFrame, int | None]:
    """The rows with a watermark, and by how many microseconds times lag behind it where a query made them."""
    name = program.clock
    metadata = df.schema[name].metadata or {}
    type_ = program.columns.types[name]
    arrow = arrow_schema(df.schema).field(name).type
    late = None if options.lateness is None else span(options.lateness, "lateness", type_, name)
    if LAG in metadata and _has_operator(df):
        return rows, _lag(metadata[LAG], late, arrow, name)
    if late is not None:
        if _WATERMARK in metadata:
            raise QueryError(
                f"the time column {quoted(name)} has a watermark already, and lateness= would be another",
                hint="leave lateness= out, or withWatermark",
            )
        mark = f"timestamp_micros({in_microseconds(clock, arrow)}) AS watermark"
        rows = rows.selectExpr("*", mark).withWatermark(
            "watermark", f"{milliseconds(late, arrow)} milliseconds"
        )
        return rows, None
    if _WATERMARK in metadata:
        return rows, None
    raise QueryError(
        f"the time column {quoted(name)} of this stream has no watermark, so no match would ever be certain",
        hint=f"say how late an event may come: {_remedy(name, arrow)}",
    )


def _has_operator(df: DataFrame) -> bool:
    """Whether a query's operator is in this very plan: what a query made may also have been stored, metadata and all."""
    with contextlib.redirect_stdout(io.StringIO()) as told:
        df.explain()
    return "TransformWithState" in told.getvalue()


def _lag(known: int, late: int | None, type_: pa.DataType, name: str) -> int:
    """By how many microseconds times that a query made lie behind the watermark."""
    if known == _UNKNOWN and late is None:
        raise QueryError(
            f"by how much the times in {quoted(name)} may lie before the watermark, the query that made them cannot tell",
            hint=f"say it: {_remedy(name, type_)}",
        )
    return max(known, 0) + (late or 0) * microseconds(type_)


def _remedy(name: str, type_: pa.DataType) -> str:
    """How a stream gets a watermark on a time column of this type."""
    if not (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
        return "match(..., lateness=1000), say"
    if getattr(type_, "tz", None) is None:  # Spark takes no watermark on those
        return 'match(..., lateness="1 day"), say'
    return f'df.withWatermark("{name}", "10 minutes"), or match(..., lateness="10 minutes")'


def _with_lags(schema: Any, program: Program, lag: int, one: int) -> Any:
    """The stream's columns: those with times say by how much these may lie before the watermark."""
    if program.options.speculates:  # its rows are changes, and no events
        return schema
    for name, behind in program.lags().items():
        schema[name].metadata = {LAG: _UNKNOWN if behind is None else lag + behind * one}
    return schema


# ------------------------------------------------------------------ Spark


def _settings(spark: SparkSession) -> None:
    """The stateful operator runs on RocksDB alone. Who has chosen another store is told, the default is replaced."""
    missing = [name for name in ("pandas", "google.protobuf") if not _is_installed(name)]
    if missing:
        raise AuguryError(
            f"Spark's stateful operator needs {' and '.join(missing)} on this side and on the workers: "
            "pip install 'augury[spark]'"
        )
    store = spark.conf.get(_STORE)
    if store == _HDFS:
        spark.conf.set(_STORE, _ROCKS)
        spark.conf.set(_CHANGELOG, "true")
    elif store is None or "RocksDB" not in store:
        raise QueryError(
            f"queries over streams keep their state in RocksDB, and this session's store is {store}",
            hint=f'spark.conf.set("{_STORE}", "{_ROCKS}")',
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def _layout(spark: SparkSession, *, keyed: bool) -> Layout:
    if not keyed:
        return layout(1, 1)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return layout(partitions, int(spark.conf.get("spark.augury.buckets", str(BUCKETS)) or BUCKETS))
