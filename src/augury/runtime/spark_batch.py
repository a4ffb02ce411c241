"""A Spark DataFrame: the same query, in parallel.

    df ─ columns that are read ─ rows that can count ─ blobs for each task ─ repartition ─ matches of each task ─> df
         named c0, c1, …         (`spark_filter`)      (`spark_pack`)                      (`spark_worker`)

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
from augury.runtime.slices import Cut
from augury.runtime.spark_layout import Layout, by_partition, by_time
from augury.runtime.spark_pack import PACKED, Pack, is_hashed_here
from augury.runtime.spark_shards import places
from augury.runtime.spark_types import UNREADABLE, arrow_schema, spark_schema
from augury.runtime.spark_worker import Task
from augury.runtime.table import ProgramOf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BAD_ROWS = "augury.bad_rows"
TOLD_BY = {Cut.FIRST: "match_start", Cut.LAST: "match_end"}  # columns of a result: what says whose a match is
_observed: WeakKeyDictionary[DataFrame, Any] = WeakKeyDictionary()


def match_frame(program_of: ProgramOf, df: DataFrame, options: Options) -> DataFrame:
    """The result of a query over a DataFrame, as a DataFrame that has not been computed yet."""
    if df.isStreaming:
        from augury.runtime.spark_stream import match_stream

        return match_stream(program_of, df, options)
    options.of_a_table()
    schema = arrow_schema(df.schema)
    program = program_of(schema, options)
    _check_readable(program, schema, df)
    reads = pa.schema([schema.field(name) for name in program.reads])
    names = {name: f"c{place}" for place, name in enumerate(schema.names)}
    rows = df.toDF(*names.values()).selectExpr(*(plain(names[n], df.schema[n].dataType) for n in reads.names))
    rows, observed = _that_count(rows, program, names.__getitem__)
    tasks = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    layout = layout_of(program, tasks)
    here = tuple(name for name in program.partition if is_hashed_here(reads.field(name).type))
    others = [names[name] for name in program.partition if name not in here]
    if others:
        rows = rows.selectExpr("*", f"xxhash64({', '.join(others)})")
    pack = Pack(program, reads, layout, bool(others), here, places(layout.tasks))
    packed = rows.mapInArrow(pack, spark_schema(PACKED))
    dealt = packed.repartition(1) if layout.tasks == 1 else packed.repartition("place")
    task = Task(program, reads, layout, TOLD_BY.get(program.cutting().cut, ""))
    result = dealt.mapInArrow(task, spark_schema(program.gives))
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


def layout_of(program: Program, tasks: int) -> Layout:
    """Which of so many tasks gets which rows."""
    if program.partition:
        return by_partition(tasks)
    cutting = program.cutting()
    cut = by_time(tasks, cutting) if cutting.cut in TOLD_BY else None
    return Layout() if cut is None else cut


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
