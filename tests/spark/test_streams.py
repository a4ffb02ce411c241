"""Streaming DataFrames: what Spark's operator, its watermark and its checkpoints make of a query.

That the rows are right whatever is out of order, the conformance suite tells ("in micro-batches"); here is what only Spark
can get wrong.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import augury as ag
from augury.runtime.spark_shards import spark_hash
from conformance.compare import table_difference
from spark.streams import at, counts_of, put, run, stream_of

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
    cuts = sorted(rng.sample(range(rows), 2))
    return tuple(whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, rows], strict=True))


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def same(wanted: pa.Table, got: pa.Table) -> None:
    said = table_difference(plain(wanted).cast(got.schema), got)
    assert said is None, said


QUERIES = {
    "unending": ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) AND [f]", {"key": None}),
    "pairs": ("PATTERN SEQ(A a, B b) WHERE a.x <= b.x WITHIN 20 seconds", {"match_id": True}),
    "counted": (
        "PATTERN SEQ(~(C c), A+ a[], B b, ~(D d)) WHERE d.x = b.x WITHIN 9 seconds",
        {"output": "count"},
    ),
    "longest": (
        "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) WITHIN 30 seconds",
        {"output": "longest"},
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
    assert len({p.batchId for p in progress}) == 5  # one more than there are files, for the last watermark
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
    same(
        got.filter(pa.array([op == "insert" for op in got["op"].to_pylist()])).select(range(1, 4)),
        _ran_plain(query, source, tmp_path),
    )


def _ran_plain(query: ag.Query, source: Any, folder: Path) -> pa.Table:
    got, progress = run(query.match(source, **ROLES), folder / "plain")
    assert counts_of(progress) == {"events": 5, "matches": 1, "late_events": 1, "bad_rows": 0}
    return got


def test_spark_puts_each_shard_where_we_think(spark: Any) -> None:
    numbers = [-1, 0, 1, 2, 255, 10**6, 2**31 - 1, -(2**31)]
    frame = spark.createDataFrame([(n,) for n in numbers], "n int")
    assert [row[0] for row in frame.selectExpr("hash(n)").collect()] == [spark_hash(n) for n in numbers]
