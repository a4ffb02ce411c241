"""The stateful operator with a stand-in for Spark: what it stores, when it is called back, and what it refuses."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import augury as ag
from augury.runtime.options import Options
from augury.runtime.spark_operator import COUNTED, Live, Shards
from augury.runtime.spark_packing import PACKED, Packer, read, rows_of_blobs
from augury.runtime.spark_shards import LEDGER, layout
from conformance.compare import table_difference

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("k", pa.string()), ("x", pa.int64())]
)
ROLES = {"time": "ts", "type": "kind", "key": "k"}
PAIRS = ag.sase("PATTERN SEQ(A a, B b) WITHIN 9 seconds")
TRAILING = ag.sase("PATTERN SEQ(A a, B b, ~(C c)) WITHIN 9 seconds")


def events(*rows: tuple[float, str, str, int]) -> pa.Table:
    times = pa.array([int(r[0] * 1e6) for r in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table([times, *(list(c) for c in list(zip(*rows, strict=True))[1:])], schema=SCHEMA)


def live(query: ag.Query, **more: Any) -> Live:
    program = query._program(SCHEMA, Options(**ROLES, **more))
    return Live(program, SCHEMA, program.gives, layout(2, 3), late=False, chained=False, lag=0)


class Spark:
    """Spark's part: groups, their state and timers, a watermark that follows the events."""

    def __init__(self, live: Live, lateness: int = 0) -> None:
        self.lateness = lateness
        self.live, self.state, self.timers = live, {}, set()
        self.watermark, self.newest, self.touched = 0, 0, 0
        self.calls: list[tuple[Any, str]] = []

    # what a handle of Spark's gives

    def getMapState(self, name: str, *_: Any) -> Any:  # noqa: N802
        return _State(self, name)

    getValueState = getMapState  # noqa: N815

    def registerTimer(self, at: int) -> None:  # noqa: N802
        assert (self.key, at) not in self.timers
        self.timers.add((self.key, at))

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        self.timers.remove((self.key, at))

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.watermark

    # micro-batches

    def batch(self, *tables: pa.Table) -> pa.Table:
        """A micro-batch with a task for each table; without one it is one for the watermark alone."""
        shards = Shards(self.live)
        shards.init(self)
        found: list[Any] = []
        rows: dict[int, list[pa.Table]] = {}
        for table in tables:
            packer = Packer(self.live.program, self.live.schema, self.live.layout, keyed=True)
            hashes = pa.array([hash(k) for k in table["k"].to_pylist()], pa.int64())
            batches = table.append_column("place", hashes).to_batches()
            for blob in map(pa.Table.from_batches, ([b] for b in packer(batches))):
                for shard in set(blob["shard"].to_pylist()):
                    rows.setdefault(shard, []).append(
                        blob.filter(pa.array([s == shard for s in blob["shard"].to_pylist()]))
                    )
        for shard, blobs in rows.items():
            self.key = shard
            self.calls.append((shard, "rows"))
            found += shards.handleInputRows((shard,), (b.to_pandas() for b in blobs), self)
        for key, at in sorted(self.timers, key=lambda t: t[1]):
            if at <= self.watermark and (key, at) in self.timers:
                self.key = key
                self.calls.append((key, "timer"))
                found += shards.handleExpiredTimer(
                    key=(key,), timerValues=self, expiredTimerInfo=_Expired(at)
                )
                self.timers.discard((key, at))
        times = [t for table in tables for t in table["ts"].cast(pa.int64()).to_pylist() if t is not None]
        self.newest = max([self.newest, *times])
        self.watermark = max(self.watermark, self.newest // 1000 - self.lateness)
        self.counts = {name: sum(int(f[name].sum()) for f in found) for name in (*COUNTED, "bad_rows")}
        blobs = [b for f in found for b in f["rows"] if b is not None]
        return pa.concat_tables([self.live.gives.empty_table(), *map(read, blobs)])


class _State:
    def __init__(self, spark: Spark, name: str) -> None:
        self.spark, self.name = spark, name

    def _at(self, *key: Any) -> Any:
        return (self.spark.key, self.name, *key)

    def get(self) -> Any:
        return self.spark.state.get(self._at())

    def update(self, value: Any) -> None:
        self.spark.state[self._at()] = value

    def getValue(self, key: Any) -> Any:  # noqa: N802
        self.spark.touched += 1
        return self.spark.state.get(self._at(key))

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.spark.state[self._at(key)] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.spark.state[self._at(key)]


class _Expired:
    def __init__(self, at: int) -> None:
        self.at = at

    def getExpiryTimeInMs(self) -> int:  # noqa: N802
        return self.at


def buckets(spark: Spark) -> list[Any]:
    return [key for key in spark.state if key[1] == "buckets"]


@pytest.mark.parametrize("query", [PAIRS, TRAILING], ids=["pairs", "trailing"])
@pytest.mark.parametrize("seed", range(10))
def test_any_micro_batches_give_what_there_is_in_process(query: ag.Query, seed: int) -> None:
    rng = random.Random(seed)
    rows = sorted((rng.uniform(1, 60), rng.choice("AABC"), rng.choice("pqrstu"), n) for n in range(80))
    rows.sort(key=lambda row: row[0] + rng.uniform(0, 2))
    spark, found, start = Spark(live(query), lateness=2000), [], 0
    while start < len(rows):
        size = rng.randint(1, 25)
        some = [rows[start : start + size], rows[start + size : start + size + 5]]
        found.append(spark.batch(*(events(*r) for r in some if r)))
        assert spark.counts["late_events"] == 0
        start += size + 5
        if rng.random() < 0.5:
            found.append(spark.batch())
    found += [spark.batch(events((1000, "Z", "z", 0))), spark.batch()]
    said = table_difference(query.match(events(*rows), **ROLES), pa.concat_tables(found))
    assert said is None, said


def test_a_key_without_new_events_is_reported_and_forgotten() -> None:
    spark = Spark(live(TRAILING))
    spark.batch(events((1, "A", "p", 0), (2, "B", "p", 1)))
    spark.batch(events((9, "Z", "z", 0)))
    assert spark.batch(events((9.999, "Z", "z", 0))).num_rows == 0
    spark.batch(events((10.001, "Z", "z", 0)))
    assert spark.batch().num_rows == 1  # at the watermark 1 + 9 seconds, and not before
    spark.batch(events((100, "Z", "z", 0)))
    spark.batch()
    assert not [key for key in buckets(spark) if key[0] != hash("z")] or len(buckets(spark)) <= 1


def test_only_buckets_are_touched_for_which_there_is_something_to_do() -> None:
    spark = Spark(live(PAIRS))
    spark.batch(events(*((1 + n / 1000, "A", f"k{n}", n) for n in range(50))))
    assert len(buckets(spark)) == 6
    spark.batch(events((3, "Z", "k1", 0)))
    spark.batch()  # all events have been released, and are kept for matches to come
    spark.touched = 0
    spark.batch(events((4, "A", "k1", 0)))
    assert spark.touched == 1
    spark.touched = 0
    spark.batch()
    assert spark.touched == 1


def test_late_events_are_counted_and_not_matched() -> None:
    spark = Spark(live(PAIRS))
    spark.batch(events((5, "A", "p", 0)))
    spark.batch(events((4.999, "B", "p", 1), (5, "B", "p", 2)))  # the watermark is 5 seconds
    assert (spark.counts["late_events"], spark.counts["events"]) == (1, 1)


def test_what_a_query_made_is_never_late_for_the_next() -> None:
    chained = replace(live(PAIRS), chained=True)
    spark = Spark(chained)
    spark.watermark = 10_000
    found = spark.batch(events((9, "A", "p", 0), (9.5, "B", "p", 1)))
    assert (found.num_rows, spark.counts["late_events"]) == (1, 0)


def test_stored_matches_without_a_watermark_are_refused() -> None:
    spark = Spark(replace(live(PAIRS), chained=True))
    with pytest.raises(ag.DataError, match="withWatermark, or lateness="):
        spark.batch(events((9, "A", "p", 0)))


def test_rows_without_a_time_are_refused_or_dropped_and_counted() -> None:
    rows = pa.table([pa.nulls(2, SCHEMA.field("ts").type), ["A", "B"], ["p", "p"], [1, 2]], schema=SCHEMA)
    with pytest.raises(ag.DataError, match="2 rows have no time in the column ts"):
        Spark(live(PAIRS)).batch(rows)
    spark = Spark(live(PAIRS, bad_rows="drop"))
    spark.batch(rows, events((1, "A", "p", 0)))
    assert (spark.counts["bad_rows"], spark.counts["events"]) == (2, 1)


def test_a_checkpoint_goes_on_with_its_query_alone() -> None:
    spark = Spark(live(PAIRS))
    spark.batch(events((1, "A", "p", 0)))
    others = {
        "another query": live(TRAILING),
        "another query, or for other columns": live(PAIRS, output="count"),
        "spark.sql.shuffle.partitions=2, and now it is 4": replace(live(PAIRS), layout=layout(4, 3)),
        "spark.augury.buckets=3, and now it is 8": replace(live(PAIRS), layout=layout(2, 8)),
    }
    for said, other in others.items():
        spark.live = other
        with pytest.raises(ag.DataError, match=said):
            spark.batch(events((2, "B", "p", 1)))
    spark.live = live(
        ag.sase("PATTERN  SEQ(A a, B b) -- the same\nWITHIN 9 seconds"), plan="eager", max_runs=7
    )
    spark.batch(events((2, "B", "p", 1)))


def test_a_damaged_bucket_is_an_error_and_no_wrong_answer() -> None:
    spark = Spark(live(PAIRS))
    spark.batch(events((1, "A", "p", 0)))
    [key] = buckets(spark)
    state = bytearray(spark.state[key][0])
    for place in range(0, len(state), 7):
        damaged = state.copy()
        damaged[place] ^= 4
        spark.state[key] = (bytes(damaged),)
        with pytest.raises(ag.DataError):
            spark.batch(events((2, "B", "p", 1)))


def test_the_ledger_gets_word_of_each_micro_batch_with_rows() -> None:
    packer = Packer(live(PAIRS).program, SCHEMA, layout(2, 3), keyed=True)
    [row] = [b.to_pylist() for b in packer([])]
    assert row == [{"shard": LEDGER, "buckets": b"", "rows": b"", "bad_rows": 0}]


def test_blobs_hold_rows_by_shard_and_bucket_in_pieces_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from augury.runtime import spark_packing

    monkeypatch.setattr(spark_packing, "CHUNK", 100)
    table = events(*((n, "A", "p", n) for n in range(1000)))
    rng = np.random.default_rng(0)
    place = pa.array(rng.integers(-(2**63), 2**63, 1000), pa.int64())
    packer = Packer(live(PAIRS).program, SCHEMA, layout(2, 3), keyed=True)
    given = list(packer(table.append_column("place", place).to_batches(max_chunksize=30)))
    assert all(batch.schema == PACKED for batch in given)
    found = pa.concat_tables([read(b) for batch in given for b in batch["rows"].to_pylist() if b])
    assert found.sort_by("x") == table
    assert 1000 / 120 <= len(given) - 1 <= 10
    [blob] = {type(b) for batch in given for b in batch["rows"].to_pylist()}
    assert blob is bytes
    assert list(rows_of_blobs([pa.record_batch([pa.nulls(2, pa.binary())], ["rows"])])) == []
