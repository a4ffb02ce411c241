"""A Spark DataFrame: the same query, in parallel.

    df ─ columns that are read ─ rows that can count ─ repartition by key ─ sort by key and time ─ mapInArrow ─> df
         named c0, c1, …         (`spark_filter`)                                                (`spark_worker`)

What is wrong with the query is told by the schema alone, before Spark reads anything. Inside, columns go by their
places: names may hold dots, quotes, or differ in nothing but case. Only methods of DataFrames are called, and
conditions are SQL text, so that a session behind Spark Connect does as well as one in this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from augury.errors import QueryError
from augury.expr.printing import quoted
from augury.runtime.options import Options
from augury.runtime.program import Program
from augury.runtime.slices import Cut, Groups
from augury.runtime.spark_layout import by_partition, by_time, clock_of, stretches
from augury.runtime.spark_types import UNREADABLE, arrow_schema, spark_schema
from augury.runtime.spark_worker import Task
from augury.runtime.table import ProgramOf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BAD_ROWS = "augury.bad_rows"
_observed: WeakKeyDictionary[DataFrame, Any] = WeakKeyDictionary()


def match_frame(program_of: ProgramOf, df: DataFrame, options: Options) -> DataFrame:
    """The result of a query over a DataFrame, as a DataFrame that has not been computed yet."""
    if df.isStreaming:
        from augury.runtime.spark_stream import match_stream

        return match_stream(program_of, df, options)
    schema = arrow_schema(df.schema)
    program = program_of(schema, options)
    _check_readable(program, schema, df)
    reads = pa.schema([schema.field(name) for name in program.reads])
    names = {name: f"c{place}" for place, name in enumerate(schema.names)}
    rows = df.toDF(*names.values()).selectExpr(*(plain(names[n], df.schema[n].dataType) for n in reads.names))
    rows, observed = _that_count(rows, program, names.__getitem__)
    rows, groups = _laid_out(rows, program, names, reads)
    result = rows.mapInArrow(Task(program, reads, groups), spark_schema(program.gives))
    if observed is not None:
        _observed[result] = observed
    return result


def bad_rows_of(result: DataFrame) -> int:
    """What was observed of a result."""
    if result not in _observed:
        raise QueryError(
            "no rows were counted for this DataFrame",
            hint='pass the very one that match(..., bad_rows="drop") gave, not one made from it',
        )
    return int(_observed[result].get[BAD_ROWS])


def _laid_out(
    rows: DataFrame, program: Program, names: dict[str, str], reads: pa.Schema
) -> tuple[DataFrame, Groups | None]:
    """The rows over tasks, and in which order they come there."""
    time = names[program.clock]
    clock = clock_of(time, reads.field(program.clock).type)
    cutting = program.cutting()
    partition = [names[name] for name in program.partition]
    mark = "mark"
    while mark in reads.names:
        mark += "_"
    if partition and cutting.cut is not Cut.GREEDY:
        return by_partition(rows, partition, clock, mark)
    if partition:
        return rows.repartition(*partition).sortWithinPartitions(*partition, time), None
    if cutting.cut in (Cut.FIRST, Cut.LAST):
        most = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        cut = stretches(rows, clock, cutting, most)
        if cut is not None:
            return by_time(rows, clock, cut, mark, time)
    return rows.repartition(1).sortWithinPartitions(time), None


def _check_readable(query: Program, schema: pa.Schema, df: DataFrame) -> None:
    for name in query.reads:
        if schema.field(name).type == UNREADABLE:
            raise QueryError(
                f"the column {quoted(name)} is of Spark's type {df.schema[name].dataType.simpleString()}, "
                "which Arrow has not",
                hint="cast it, drop it, or say with RETURN which columns are wanted",
            )


def plain(name: str, type_: Any) -> str:
    """A column as it is; a string with a collation of its own is compared sign by sign here."""
    if type_.typeName() == "string" and type_.simpleString() != "string":
        return f"cast({name} AS string) AS {name}"
    return name


def _that_count(rows: DataFrame, program: Program, named: Any) -> tuple[DataFrame, Any]:
    """Without the rows that cannot count, and what observes how many are bad input and are dropped.

    Where those are not to be dropped they stay, for a worker must meet them and say so.
    """
    bad = program.bad_rows(named)
    observed = None
    if program.options.bad_rows == "drop":
        functions, observation = api_of(rows)
        observed = observation()
        rows = rows.observe(observed, functions.expr(f"count_if({bad})").alias(BAD_ROWS))
        rows = rows.filter(f"NOT ({bad})")
    condition = program.condition(named)
    if condition:
        rows = rows.filter(f"({bad}) OR ({condition})")
    return rows, observed


def api_of(known: DataFrame | SparkSession) -> tuple[Any, Any]:
    """The functions and the Observation that go with a DataFrame or a session.

    Spark Connect has its own, and both kinds may live in one process.
    """
    if type(known).__module__.startswith("pyspark.sql.connect."):
        from pyspark.sql.connect import functions as remote
        from pyspark.sql.connect.observation import Observation as RemoteObservation

        return remote, RemoteObservation
    from pyspark.sql import Observation, functions

    return functions, Observation
