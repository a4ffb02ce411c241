"""The data sources: each row once, in its order, whatever the micro-batches are and however often a query begins again."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury as ag
from augury.generate import clicks, disturbed, stock

ROWS = 1000
AS_SPARK_HAS_IT = pa.timestamp("us", "UTC")


@pytest.fixture(params=["spark", "connect"])
def session(request: pytest.FixtureRequest) -> Any:
    found = request.getfixturevalue(request.param)
    ag.spark.register(found)
    return found


def started(df: Any, folder: Path, **trigger: Any) -> Any:
    return (
        df.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**trigger)
        .start()
    )


def arrived(df: Any, folder: Path) -> pa.Table:
    """All rows that are there, in the order in which they went through a sink."""
    query = started(df, folder, availableNow=True)
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()
    logs = {int(p.name): p for p in (folder / "out" / "_spark_metadata").glob("[0-9]*") if p.name.isdigit()}
    names = [
        json.loads(line)["path"]
        for _, log in sorted(logs.items())
        for line in log.read_text().splitlines()[1:]
    ]
    assert len(set(names)) == len(names)
    return as_here(pa.concat_tables(pq.read_table(name.removeprefix("file://")) for name in names))


def as_here(table: pa.Table) -> pa.Table:
    """Times as they are here: parquet files of Spark have them in nanoseconds, without a zone."""
    ts = (
        table["ts"].cast(pa.timestamp("us")).cast(AS_SPARK_HAS_IT)
        if pa.types.is_timestamp(table["ts"].type)
        else table["ts"]
    )
    return table.set_column(0, "ts", ts)


def batches(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))


def test_a_replay_is_the_file_as_it_arrived(connect: Any, tmp_path: Path) -> None:
    ag.spark.register(connect)
    table = clicks(ROWS, users=20, seed=4)
    shuffled = table.take(pa.array(list(itertools.chain(range(1, ROWS, 2), range(0, ROWS, 2)))))
    pq.write_table(shuffled, tmp_path / "clicks.parquet")
    shares = {"disorder": 0.1, "late": 0.02, "duplicates": 0.05}
    source = connect.readStream.format("replay").options(**shares, time="ts", seed=2, rows_per_batch=400)
    found = arrived(source.load(str(tmp_path / "clicks.parquet")), tmp_path)
    expected = pa.concat_tables(disturbed([table], delay=60_000_000, **shares, seed=2))
    assert found.num_rows > ROWS
    assert found.equals(expected.cast(found.schema))
    assert batches(tmp_path) == -(-found.num_rows // 400)


def test_a_query_that_begins_again_goes_on_where_it_stopped(spark: Any, tmp_path: Path) -> None:
    ag.spark.register(spark)

    def stream(**options: Any) -> Any:
        generated = {"stream": "clicks", "rows": ROWS, "users": 9, "seed": 1, "disorder": 0.1}
        return spark.readStream.format("generate").options(**generated, **options).load()

    query = started(stream(speed=40), tmp_path, processingTime="200 milliseconds")
    deadline = time.monotonic() + 60
    while sum(p["numInputRows"] > 0 for p in query.recentProgress) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    query.stop()
    before = batches(tmp_path)
    assert query.exception() is None
    assert before >= 3
    assert query.lastProgress["sources"][0]["endOffset"] != f'{{"rows": {ROWS}}}'
    found = arrived(stream(), tmp_path)
    expected = pa.concat_tables(
        disturbed([clicks(ROWS, users=9, seed=1)], delay=60_000_000, disorder=0.1, seed=1)
    )
    assert batches(tmp_path) > before
    assert found.equals(expected.cast(found.schema))


def test_a_stream_can_be_read_at_once_and_matched(session: Any) -> None:
    df = session.read.format("generate").options(stream="stock", rows=500, symbols=3, p_up=0.5).load()
    table = stock(500, symbols=3, p_up=0.5)
    assert df.toArrow().equals(table.cast(df.toArrow().schema))
    query = ag.sase(
        "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match(a, b) AND [symbol] AND b.price > a.price"
    )
    found = query.match(df, time="ts", type="kind")
    assert found.count() == query.match(table, time="ts", type="kind").num_rows > 100


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ("replay", {"time": "ts"}, "not told the path"),
        ("replay", {"path": "x.parquet"}, "not told the time"),
        ("replay", {"path": "none.parquet", "time": "ts"}, "cannot be read"),
        ("replay", {"path": "x.parquet", "time": "ts", "sped": "3"}, "no option sped"),
        ("generate", {}, "not told the stream"),
        ("generate", {"stream": "fish"}, "no stream 'fish'"),
        ("generate", {"stream": "clicks", "symbols": "3"}, "no option symbols"),
        ("generate", {"stream": "clicks", "late": "2"}, "option late cannot be '2'"),
        ("generate", {"stream": "clicks", "speed": "0"}, "option speed cannot be '0'"),
        ("generate", {"stream": "clicks", "rows": "10", "late": "0.1", "delay": "soon"}, "no length of time"),
        ("generate", {"stream": "clicks"}, "nothing says how many come at a time"),
    ],
)
def test_what_is_wrong_is_said_when_the_source_is_loaded(
    spark: Any, source: str, options: dict[str, str], says: str
) -> None:
    ag.spark.register(spark)
    with pytest.raises(Exception, match=says):
        spark.readStream.format(source).options(**options).load()


def test_a_stream_without_an_end_says_so(spark: Any, tmp_path: Path) -> None:
    ag.spark.register(spark)
    endless = {"stream": "stock", "rows_per_batch": 100}
    with pytest.raises(Exception, match="the stream has no end"):
        spark.read.format("generate").options(**endless).load().count()
    query = started(
        spark.readStream.format("generate").options(**endless).load(), tmp_path, availableNow=True
    )
    with pytest.raises(Exception, match="the stream has no end"):
        query.awaitTermination(60)


def test_a_replay_is_matched_as_it_comes(spark: Any, tmp_path: Path) -> None:
    """Rows out of order by no more than the lateness: what the table gives, each match once."""
    ag.spark.register(spark)
    table = clicks(ROWS, users=20, seed=4)
    pq.write_table(table, tmp_path / "clicks.parquet")
    held_up = {"time": "ts", "disorder": 0.3, "delay": "30 seconds", "rows_per_batch": 400}
    stream = spark.readStream.format("replay").options(**held_up).load(str(tmp_path / "clicks.parquet"))
    query = ag.sase(
        "PATTERN SEQ(view a, cart b) WHERE skip_till_next_match(a, b) WITHIN 10 minutes RETURN b.ts AS ts, a.user"
    )
    roles = {"time": "ts", "type": "kind", "key": "user"}
    found = arrived(query.match(stream, lateness="30 seconds", **roles).select("ts", "a_user"), tmp_path)
    wanted = query.match(table, **roles).select(["ts", "a_user"])
    last = max(table["ts"].to_pylist())
    certain = [row for row in wanted.to_pylist() if (last - row["ts"]).total_seconds() > 30]
    rows = Counter((row["a_user"], row["ts"]) for row in found.to_pylist())
    assert rows <= Counter((row["a_user"], row["ts"]) for row in wanted.to_pylist())
    assert rows >= Counter((row["a_user"], row["ts"]) for row in certain)
    assert len(certain) > 100
