"""On one local Spark session, parquet in and parquet out: Augury, and the same by hand in plain PySpark.

By hand means as one finds it in books: window functions for a funnel, gaps and islands for V shapes, a join of a
stream with itself in buckets of time for A, B, C. None of them can be asked another pattern.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import augury as ag
from bench.growing import Record, bounded, part
from bench.on_spark import ROW_GROUP
from bench.questions import HOUR, Question
from bench.runner import all_cores, cpu_of_children

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CORES = 2
FIRST = 5_000  # events that any of them can do


def funnel(df: DataFrame) -> DataFrame:
    """view -> next cart -> next buy: what comes next is what came last, in the other order of time."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    later = Window.partitionBy("user").orderBy(f.desc("ts")).rowsBetween(Window.unboundedPreceding, -1)

    def following(kind: str, value: Column) -> Column:
        return f.last(f.when(f.col("kind") == kind, value), ignorenulls=True).over(later)

    with_buy = df.withColumn("buy_ts", following("buy", f.col("ts")))
    cart = f.struct(f.col("ts").alias("b_ts"), f.col("buy_ts").alias("c_ts"))
    found = with_buy.withColumn("cart", following("cart", cart)).filter(
        "kind = 'view' AND cart.c_ts IS NOT NULL"
    )
    within = f.unix_micros("cart.c_ts") - f.unix_micros("ts") < HOUR
    return found.filter(within).selectExpr(
        "user AS a_user", "page AS a_page", "cart.b_ts AS b_ts", "cart.c_ts AS c_ts"
    )


def v_shapes(df: DataFrame) -> DataFrame:
    """Gaps and islands: stretches of ticks that moved alike, and of these a fall, between the right neighbours."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    ticks = Window.partitionBy("symbol").orderBy("ts")
    moved = df.select(
        "symbol",
        "ts",
        f.coalesce(f.signum(f.col("price") - f.lag("price").over(ticks)), f.lit(2.0)).alias("moved"),
    )
    turns = (f.col("moved") != f.lag("moved").over(ticks)).cast("int")
    numbered = moved.withColumn("turns", f.coalesce(turns, f.lit(0))).withColumn(
        "island", f.sum("turns").over(ticks)
    )
    islands = numbered.groupBy("symbol", "island").agg(
        f.first("moved").alias("moved"), f.max("ts").alias("end")
    )
    around = Window.partitionBy("symbol").orderBy("island")
    found = islands.select(
        "moved",
        f.lag("moved").over(around).alias("before"),
        f.lead("moved").over(around).alias("after"),
        f.lag("end").over(around).alias("top"),
        f.col("end").alias("bottom"),
        f.lead("end").over(around).alias("top_again"),
    )
    return found.filter("moved = -1 AND before IN (0, 1) AND after = 1").select("top", "bottom", "top_again")


def triples(df: DataFrame, within: int = 600) -> DataFrame:
    """A, B, C at rising prices: a stream joined with itself, by the bucket of time that each event is in or next to."""
    from pyspark.sql import functions as f

    def of(kind: str, name: str) -> DataFrame:
        columns = (f.col("ts").alias(f"{name}_ts"), f.col("price").alias(f"{name}_price"))
        bucket = f.floor(f.col("ts") / within).alias(f"{name}_bucket")
        return df.filter(f.col("kind") == kind).select(*columns, bucket)

    first = of("A", "a").select(
        "a_ts", "a_price", f.explode(f.expr("array(a_bucket, a_bucket + 1)")).alias("a_bucket")
    )
    pairs = first.join(
        of("B", "b"), f.expr(f"a_bucket = b_bucket AND a_ts < b_ts AND b_ts - a_ts < {within}")
    )
    pairs = pairs.filter("a_price < b_price").select(
        "a_ts", "b_ts", "b_price", f.explode(f.expr("array(b_bucket, b_bucket + 1)")).alias("bucket")
    )
    all_three = pairs.join(
        of("C", "c"), f.expr(f"bucket = c_bucket AND b_ts < c_ts AND c_ts - a_ts < {within}")
    )
    return all_three.filter("b_price < c_price").groupBy(f.col("c_ts").alias("match_end")).count()


BY_HAND: dict[str, Callable[[DataFrame], DataFrame]] = {"clicks": funnel, "v": v_shapes, "abc": triples}
JOINS = ("abc",)  # whose cost is not that of its events: it may have to be given a part of them


def measure(chosen: Sequence[Question], *, quick: bool) -> Iterator[Record]:
    """Records of ours on Spark and of plain Spark."""
    if importlib.util.find_spec("pyspark") is None:
        yield _skipped("there is no PySpark in this Python; `sh dev setup` installs it")
        return
    with all_cores(), tempfile.TemporaryDirectory(prefix="augury-bench-") as folder:
        try:
            spark = ag.spark.session(cores=CORES)
        except ag.AuguryError as error:
            yield _skipped(str(error))
            return
        try:
            for question in chosen:
                yield from _asked(question, spark, Path(folder), quick=quick)
        finally:
            spark.stop()


def _skipped(because: str) -> Record:
    return {"workload": "peers/spark", "system": "spark", "skipped": because}


def _asked(question: Question, spark: SparkSession, folder: Path, *, quick: bool) -> Iterator[Record]:
    table = question.stream(question.rows)
    expected = question.ours(table).num_rows

    def ours(df: DataFrame) -> DataFrame:
        result: DataFrame = question.query.match(df, output=question.output, **question.roles)
        return result

    by_hand = BY_HAND[question.name] if question.plain else None
    clock = _Clock(spark, table, folder)
    clock.run(ours, table.num_rows // 10)  # both are warmed, and then take turns: Java learns for a long time
    size, budget = 0, 5.0 if quick else 30.0
    if by_hand is not None and question.name in JOINS:
        clock.run(by_hand, FIRST)
        run = partial(clock.run, by_hand)
        size, _ = part(table.num_rows, FIRST, budget, run, least=budget / 10)
    elif by_hand is not None:
        clock.run(by_hand, table.num_rows // 10)
        size = table.num_rows
    our_times: list[_Time] = []
    plain_times: list[_Time] = []
    our_rows = plain_rows = 0
    for _ in range(1 if quick else 2):
        our_times.append(clock.run(ours, table.num_rows))
        our_rows = clock.rows()
        if by_hand is not None:
            plain_times.append(clock.run(by_hand, size))
            plain_rows = clock.rows()
    yield _record(question, "augury on spark", table.num_rows, our_times, our_rows, expected)
    if by_hand is not None:
        if size < table.num_rows:
            expected = question.ours(table.slice(0, size)).num_rows
        record = _record(question, "plain spark", size, plain_times, plain_rows, expected)
        yield bounded(record, size, table.num_rows, budget)


class _Time(NamedTuple):
    """By the clock, and of the processor: of Java and of Python, on all cores together."""

    seconds: float
    cpu: float | None


class _Clock:
    """Times a query over the first events of a table: it reads them from parquet, and writes parquet."""

    def __init__(self, spark: SparkSession, table: pa.Table, folder: Path) -> None:
        self.spark = spark
        self.table = table
        self.folder = folder
        self.out = folder / "out"

    def run(self, query: Callable[[DataFrame], DataFrame], rows: int) -> _Time:
        given = self.folder / "in.parquet"
        pyarrow.parquet.write_table(self.table.slice(0, rows), given, row_group_size=ROW_GROUP)
        shutil.rmtree(self.out, ignore_errors=True)
        begun, cpu = time.perf_counter(), cpu_of_children()
        query(self.spark.read.parquet(str(given))).write.parquet(str(self.out))
        seconds, until = time.perf_counter() - begun, cpu_of_children()
        return _Time(seconds, None if cpu is None or until is None else until - cpu)

    def rows(self) -> int:
        return int(pyarrow.dataset.dataset(self.out, format="parquet").count_rows())


def _record(
    question: Question, system: str, events: int, times: list[_Time], rows: int, expected: int
) -> Record:
    seconds = min(time.seconds for time in times)
    record: Record = {
        "workload": f"peers/{question.name}/{system.replace(' ', '-')}",
        "question": question.name,
        "system": system,
        "cores": CORES,
        "events": events,
        "seconds": seconds,
        "events_per_second": round(events / seconds, 1),
        "rows": rows,
        "expected": expected,
        "agrees": rows == expected,
    }
    used = [time.cpu for time in times if time.cpu is not None]
    return record | ({"cpu_seconds": round(min(used), 2)} if used else {})
