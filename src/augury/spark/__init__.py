"""`ag.spark`: what only users of Spark need. Importing it loads no PySpark.

    session()           a quiet local session, or the one that is there
    register(spark)     `augury_match` in this session's SQL, and the data sources `replay` and `generate`
    bad_rows(result)    how many rows `match(..., bad_rows="drop")` dropped
    progress(stream)    what a streaming query has counted, and whether an idle input holds it back

`query.match(df, ...)` needs nothing of this: it takes a DataFrame of any session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from augury.spark.local import session
from augury.spark.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["bad_rows", "progress", "register", "session"]


def register(spark: SparkSession) -> None:
    """Make the library known to a session: `augury_match` in SQL, with the functions that `ag.function` knows now, and
    the data sources `replay` and `generate`.

    SELECT * FROM augury_match(TABLE(events) PARTITION BY (user), 'PATTERN ...', time => 'ts', type => 'kind')
    spark.readStream.format("replay").option("time", "ts").option("speed", 60).load("events.parquet")
    """
    from augury.expr.functions import every
    from augury.runtime.spark_batch import api_of
    from augury.spark.sources import Generate, Replay
    from augury.spark.table_function import knowing

    spark.udtf.register("augury_match", api_of(spark)[0].udtf(knowing(every())))
    for source in (Replay, Generate):
        spark.dataSource.register(source)


def bad_rows(result: DataFrame) -> int:
    """How many rows without a time were dropped while a result of `match(..., bad_rows="drop")` was computed.

    Ask after an action on the result: Spark counts while it computes, and before that this waits.
    """
    from augury.runtime.spark_batch import bad_rows_of

    return bad_rows_of(result)
