"""Streaming DataFrames: what Spark's operator, its watermark and its checkpoints make of a query.

That the rows are right whatever is out of order, the conformance suite tells ("in micro-batches"); here is what only Spark
can get wrong.
"""

from __future__ import annotations

import datetime as dt
import functools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury as ag
from augury.runtime.spark_shards import spark_hash
from conformance.compare import table_difference
from spark.streams import START, at, counts_of, put, run, stream_of

ROLES = {"time": "ts", "type": "kind", "key": "k"}
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("k", pa.string()),
        ("x", pa.int64()),
        ("f", pa.float64()),
    ]
)


def events(*rows: tuple[float | None, str, str | None, int]) -> pa.Table:
    seconds, kinds, keys, xs = zip(*rows, strict=True)
    return pa.table([at(seconds), kinds, keys, xs, [float(x) for x in xs]], schema=SCHEMA)


END = events((1e6, "end", "-", 0))  # takes the watermark past everything


@functools.cache
def disordered(rows: int = 400, seed: int = 0, by: float = 5) -> tuple[pa.Table, ...]:
    """Micro-batches of events, none later than the watermark allows; keys and numbers that are odd."""
    rng = random.Random(seed)
    made = []
    for _ in range(rows):
        time, key = rng.uniform(0, 200), rng.choice(["p", "q", "r", None, "ŝ"])
        made.append(
            (time, rng.choice("AABCD"), key, rng.randint(0, 4), rng.choice([0.0, -0.0, 1.5, float("nan")]))
        )
    made.sort(key=lambda row: row[0] + rng.uniform(-by / 2, by / 2))
    columns = zip(*made, strict=True)
    whole = pa.table([at(next(columns)), *(list(c) for c in columns)], schema=SCHEMA)
    cuts = [rng.randrange(1, rows)]
    return tuple(whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, rows], strict=True))


AB = ag.sase("PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.x, b.x")


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def same(wanted: pa.Table, got: pa.Table) -> None:
    said = table_difference(plain(wanted).cast(got.schema), got)
    assert said is None, said


QUERIES = {
    "unending": ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) AND [f]", {"key": None}),
    "counted": (
        "PATTERN SEQ(~(C c), A+ a[], B b, ~(D d)) WHERE d.x = b.x WITHIN 9 seconds",
        {"output": "count"},
    ),
    "apart": ("PATTERN SEQ(A a, B b) WITHIN 30 seconds", {"output": "non_overlap", "key": ["k", "f"]}),
}


def together(frames: dict[str, Any]) -> Any:
    """Streams as one, of names and rows in JSON: starting a query takes Spark longer than running it."""
    from augury.runtime.spark_batch import api_of

    every = None
    for name, df in frames.items():
        sql = api_of(df)[0]
        one = df.select(sql.lit(name).alias("query"), sql.to_json(sql.struct("*")).alias("row"))
        every = one if every is None else every.union(one)
    return every


def test_rows_are_those_in_process(spark: Any, tmp_path: Path) -> None:
    whole = pa.concat_tables(disordered())
    folder = put(tmp_path / "in", [*disordered(), END])
    source = stream_of(spark, folder, SCHEMA).withWatermark("ts", "5 seconds")
    asked = {name: (ag.sase(text), {**ROLES, **more}) for name, (text, more) in QUERIES.items()}
    frames = {name: q.match(source, **arguments) for name, (q, arguments) in asked.items()}
    wanted = {}
    for name, (q, arguments) in asked.items():
        table = plain(q.match(whole, **arguments))
        assert table.num_rows > 3, name
        wanted[name] = spark.createDataFrame(table, frames[name].schema)
        assert frames[name].columns == table.column_names
    got, progress = run(together(frames), tmp_path / "checkpoint")
    same(together(wanted).toArrow(), got)
    assert len({p.batchId for p in progress}) == 4  # one more than there are files, for the last watermark
    assert all(counts_of(progress, n)["late_events"] == 0 for n in range(len(frames)))


def test_late_events_are_counted_or_given_back(spark: Any, tmp_path: Path) -> None:
    batches = [
        events((0, "A", "p", 1), (10, "B", "q", 2)),
        events((4.999, "B", "p", 3), (5, "B", "p", 4), (20, "D", "q", 5)),  # the watermark is at 5
        END,
    ]
    folder = put(tmp_path / "in", batches)
    source = stream_of(spark, folder, SCHEMA).withWatermark("ts", "5 seconds")
    query = ag.sase("PATTERN SEQ(A a, B b) RETURN b.x")
    got, progress = run(query.match(source, on_late="rows", **ROLES), tmp_path / "rows")
    assert got.column_names == ["op", "match_start", "match_end", "b_x", "event"]
    insert, late = sorted(got.to_pylist(), key=lambda row: row["op"])
    assert (insert["op"], insert["b_x"], insert["event"]) == ("insert", 4, None)
    assert late == {
        **dict.fromkeys(("match_start", "match_end", "b_x")),
        "op": "late",
        "event": batches[1].slice(0, 1).to_pylist()[0],
    }
    assert counts_of(progress)["late_events"] == 1


def test_every_kind_of_time_can_be_late(spark: Any, tmp_path: Path) -> None:
    rng = random.Random(3)
    days = [rng.randint(0, 60) for _ in range(60)]
    days.sort(key=lambda day: day + rng.uniform(-3, 3))
    instant = at([day * 86_400 for day in days], None)
    table = pa.table(
        {
            "day": instant.cast(pa.date32()),
            "local": instant,
            "number": instant.cast(pa.int64()),
            "kind": [rng.choice("AB") for _ in days],
            "k": [rng.choice("pq") for _ in days],
        }
    )
    end = at([1e9], None)
    last = pa.table([end.cast(pa.date32()), end, end.cast(pa.int64()), ["end"], ["-"]], schema=table.schema)
    source = stream_of(spark, put(tmp_path / "in", [table, last]), table.schema)
    asked = {
        "day": (ag.sase("PATTERN SEQ(A a, B b) WITHIN 4 days"), "6 days"),
        "local": (ag.sase("PATTERN SEQ(A a, B b) WITHIN 96 hours"), dt.timedelta(days=6)),
        "number": (ag.sase(f"PATTERN SEQ(A a, B b) WITHIN {4 * 86_400_000_000}"), 6 * 86_400_000_000 + 1),
    }
    frames, wanted = {}, {}
    for time, (query, lateness) in asked.items():
        roles = {"time": time, "type": "kind", "key": "k"}
        frames[time] = query.match(source, lateness=lateness, **roles)
        found = plain(query.match(table, **roles))
        assert found.num_rows > 10
        wanted[time] = spark.createDataFrame(found, frames[time].schema)
    got, progress = run(together(frames), tmp_path / "checkpoint")
    same(together(wanted).toArrow(), got)
    assert all(counts_of(progress, n)["late_events"] == 0 for n in range(3))


def test_other_languages_have_streams(spark: Any, tmp_path: Path) -> None:
    afa = ag.Automaton(start="s", final=["t"], registers={"x": 0})
    afa.arc("s", "m", when="kind = 'A'", update={"x": "e.x"})
    afa.arc("m", "m", when=lambda e, r: e.kind == "C")
    afa.arc("m", "t", when="kind = 'B'", update={"x": "r.x + e.x"})
    expression = ag.stream("A").project("k", "x").then(ag.stream("B").project("k", "x"), on="x > x.last")
    asked = {
        "automaton": (afa.query(within="9 seconds"), {"time": "ts", "key": "k"}),
        "set": (ag.QuerySet({"expression": expression, "pairs": AB}), ROLES),
    }
    whole = pa.concat_tables(disordered(200))
    source = stream_of(spark, put(tmp_path / "in", [*disordered(200), END]), SCHEMA)
    frames, wanted = {}, {}
    for name, (query, roles) in asked.items():
        frames[name] = query.match(source, lateness="5 seconds", **roles)
        found = plain(query.match(whole, **roles)).combine_chunks()
        assert found.num_rows > 5
        wanted[name] = spark.createDataFrame(found, frames[name].schema)
    got, _ = run(together(frames), tmp_path / "checkpoint")
    same(together(wanted).toArrow(), got)


STOLEN = ag.sase("PATTERN SEQ(A a, B b, ~(C c)) WITHIN 9 seconds RETURN a.k AS k, b.x AS x")
THEN = ag.sase("PATTERN SEQ(M m, M n, ~(M o)) WHERE m.x < n.x AND o.x > n.x WITHIN 20 seconds")


def chained(data: Any) -> Any:
    first = STOLEN.match(data, **ROLES)
    return THEN.match(first, time="match_end", key="k", match_id=True)


def test_a_query_on_the_matches_of_a_query(spark: Any, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", [*disordered(), END])
    got, progress = run(
        chained(stream_of(spark, folder, SCHEMA).withWatermark("ts", "5 seconds")), tmp_path / "c"
    )
    wanted = chained(pa.concat_tables(disordered()))
    assert wanted.num_rows > 5
    same(wanted, got)
    assert counts_of(progress, 0)["late_events"] == counts_of(progress, 1)["late_events"] == 0
    assert counts_of(progress, 1)["events"] == counts_of(progress, 0)["matches"]


def test_behind_connect(connect: Any, tmp_path: Path) -> None:
    batches = disordered(200, 2)
    folder = put(tmp_path / "in", [*batches, END])
    source = stream_of(connect, folder, SCHEMA).withWatermark("ts", "5 seconds")
    got, _ = run(chained(source), tmp_path / "c")
    wanted = chained(pa.concat_tables(batches))
    assert wanted.num_rows > 0
    same(wanted, got)


CHANGES = pa.schema(
    [
        ("version", pa.int64()),
        ("action", pa.string()),
        ("name", pa.string()),
        ("query", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


def test_a_set_changes_while_it_runs(spark: Any, tmp_path: Path) -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 20 seconds RETURN a.x AS x, b.x AS y"
    later = "PATTERN SEQ(A a, C b) WITHIN 20 seconds RETURN a.x AS x, b.x AS y"
    told = pa.table(
        [
            [1, 2, 3],
            ["add", "remove", "add"],
            ["later", "first", "wrong"],
            [later, None, "PATTERN"],
            at([60, 120, None]),
        ],
        schema=CHANGES,
    )
    source = stream_of(spark, put(tmp_path / "in", [*disordered(), END]), SCHEMA)
    control = stream_of(spark, put(tmp_path / "control", [told]), CHANGES)
    queries = ag.QuerySet({"first": ag.sase(text)})
    found = queries.match(source.withWatermark("ts", "5 seconds"), control=control, **ROLES)
    assert found.columns == ["op", "query", "match_start", "match_end", "x", "y", "reason"]
    got, _ = run(found, tmp_path / "c")
    rejected = [row["reason"] for row in got.to_pylist() if row["op"] == "rejected"]
    assert [reason.partition(": ")[0] for reason in rejected] == ["version 3, add 'wrong'"]
    whole = pa.concat_tables(disordered())
    seconds = [(t.timestamp() - START) for t in whole["ts"].to_pylist()]
    parts = {
        "first": ag.sase(text).match(whole.filter(pa.array([s < 120 for s in seconds])), **ROLES),
        "later": ag.sase(later).match(whole.filter(pa.array([s >= 60 for s in seconds])), **ROLES),
    }
    for name, wanted in parts.items():
        assert wanted.num_rows > 5
        mine = [row["op"] == "insert" and row["query"] == name for row in got.to_pylist()]
        same(wanted, got.filter(pa.array(mine)).select(wanted.column_names))


def test_only_what_can_change_takes_changes(spark: Any, tmp_path: Path) -> None:
    source = stream_of(spark, put(tmp_path / "in", [END]), SCHEMA)
    with pytest.raises(ag.QueryError, match="this query does not change"):
        AB.match(source, lateness="1 second", control=source, **ROLES)
    queries = ag.QuerySet({"first": AB})
    with pytest.raises(ag.QueryError, match="takes a streaming DataFrame"):
        queries.match(source, lateness="1 second", control=spark.range(1), **ROLES)
    with pytest.raises(ag.QueryError, match="have no column version"):
        queries.match(source, lateness="1 second", control=source, **ROLES)


def test_after_dropping_duplicates_and_into_a_sink_of_keys_and_values(spark: Any, tmp_path: Path) -> None:
    """What a sink for Kafka takes: a key and a value, both texts or bytes."""
    batches = disordered(80, 1)
    folder = put(tmp_path / "in", [batches[0], pa.concat_tables(batches[:2]), *batches[1:], END])
    source = stream_of(spark, folder, SCHEMA).withWatermark("ts", "5 seconds").dropDuplicates()
    sent: dict[str, str] = {}

    def send(df: Any, _number: int) -> None:
        sent.update((row.key, row.value) for row in df.collect())

    found = AB.match(source, match_id=True, **ROLES).selectExpr(
        "match_id AS key", "to_json(struct(*)) AS value"
    )
    writer = found.writeStream.foreachBatch(send).option("checkpointLocation", (tmp_path / "c").as_uri())
    writer.trigger(availableNow=True).start().awaitTermination()
    distinct = pa.concat_tables(batches).group_by(SCHEMA.names, use_threads=False).aggregate([])
    assert set(sent) == set(AB.match(distinct, match_id=True, **ROLES)["match_id"].to_pylist())


def test_a_checkpoint_of_another_query_is_refused(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    folder, checkpoint = put(tmp_path / "in", [events((0, "A", "p", 1))]), tmp_path / "c"
    source = stream_of(spark, folder, SCHEMA)

    def kept(df: Any) -> None:
        writer = df.writeStream.format("parquet").option("checkpointLocation", checkpoint.as_uri())
        writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start().awaitTermination()

    def matched(text: str, **more: Any) -> Any:
        return ag.sase(text).match(source, lateness="5 seconds", **ROLES, **more)

    kept(matched("PATTERN SEQ(A a, B b) RETURN b.x"))
    put(folder, [events((1, "B", "p", 2))])
    with pytest.raises(StreamingQueryException, match="DataError: this checkpoint was made by another query"):
        kept(matched("PATTERN SEQ(A a, B b) WHERE a.x > 0 RETURN b.x"))
    put(folder, [END])
    kept(matched("PATTERN SEQ (A a, B b) RETURN b.x -- the same", plan="eager"))
    assert [row.b_x for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [2]


def test_what_is_wrong_is_told_before_it_starts(spark: Any, tmp_path: Path) -> None:
    source = stream_of(spark, put(tmp_path / "in", [END]), SCHEMA)
    with pytest.raises(ag.QueryError, match="has no watermark") as told:
        AB.match(source, **ROLES)
    assert told.value.hint == (
        'say how late an event may come: df.withWatermark("ts", "10 minutes"), or match(..., lateness="10 minutes")'
    )
    with pytest.raises(ag.QueryError, match="has a watermark already"):
        AB.match(source.withWatermark("ts", "1 second"), lateness="1 second", **ROLES)
    with pytest.raises(ag.QueryError, match="lateness=5 is no length of time"):
        AB.match(source, lateness=5, **ROLES)
    with pytest.raises(ag.QueryError, match="on_late=<"):
        AB.match(source, lateness="1 second", on_late=print, **ROLES)
    named = source.withColumnRenamed("x", "event")
    with pytest.raises(ag.QueryError, match="named event"):
        ag.sase("PATTERN SEQ(A a, B b) RETURN a.event AS event").match(
            named, lateness="1 second", on_late="rows", **ROLES
        )
    store = "spark.sql.streaming.stateStore.providerClass"
    known = spark.conf.get(store)
    try:
        spark.conf.set(store, "org.example.Store")
        with pytest.raises(ag.QueryError, match=r"this session's store is org\.example\.Store"):
            AB.match(source, lateness="1 second", **ROLES)
        spark.conf.unset(store)
        spark.conf.set(store, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
        AB.match(source, lateness="1 second", **ROLES)
        assert spark.conf.get(store) == known
    finally:
        spark.conf.set(store, known)


def test_spark_puts_each_shard_where_we_think(spark: Any) -> None:
    numbers = [-1, 0, 1, 2, 255, 10**6, 2**31 - 1, -(2**31)]
    frame = spark.createDataFrame([(n,) for n in numbers], "n int")
    assert [row[0] for row in frame.selectExpr("hash(n)").collect()] == [spark_hash(n) for n in numbers]
