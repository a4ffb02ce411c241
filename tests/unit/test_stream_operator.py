"""The stateful operator with a stand-in for Spark: what it stores, when it is called back, and what it refuses."""

from __future__ import annotations

import json
import random
from collections import Counter
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
    return Live(program, SCHEMA, program.gives, layout(2, 3), late=False, changes=False, chained=False, lag=0)


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

    def batch(self, *given: pa.Table | str) -> pa.Table:
        """A micro-batch with a task for each table, and with changes; with neither it is for the watermark alone."""
        tables = [g for g in given if not isinstance(g, str)]
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
        for change in given:
            if isinstance(change, str):
                for shard in (LEDGER, *self.live.layout.shards):
                    row = pa.record_batch([[shard], [None], [None], [0], [change]], schema=PACKED)
                    rows.setdefault(shard, []).append(pa.Table.from_batches([row]))
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


def _automaton() -> Any:
    afa = ag.Automaton(start="s", final=["t", "u"], registers={"x": 0})
    afa.arc("s", "m", when="kind = 'A'", update={"x": "e.x"})
    afa.arc("m", "m", when="kind = 'C'")
    afa.arc("m", "t", when="kind = 'B'", update={"x": "r.x + e.x"})
    afa.window_end("m", "u")
    return afa.query(within="4 seconds")


A, B, C = (ag.stream(name) for name in "ABC")
OTHERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "automaton": (_automaton(), {"time": "ts", "key": "k"}),
    "automaton, early": (_automaton(), {"time": "ts", "key": "k", "speculate": None}),
    "expression": (
        A.then(B, on="k = k.last").where("DUR < 9 seconds"),
        {"time": "ts", "type": "kind", "key": "k"},
    ),
    "set": (ag.QuerySet({"pairs": PAIRS, "trailing": TRAILING, "next": A.then(C)}), ROLES),
    "early": (PAIRS, {**ROLES, "speculate": None}),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_every_language_has_streams(name: str, seed: int) -> None:
    query, roles = OTHERS[name]
    rng = random.Random(seed)
    rows = [(rng.uniform(1, 60), rng.choice("AABC"), rng.choice("pqrstu"), n) for n in range(80)]
    rows.sort(key=lambda row: row[0] + rng.uniform(0, 2))
    program = query._program(SCHEMA, Options(**roles))
    gives = pa.schema([("op", pa.string()), *program.gives])
    spark = Spark(
        Live(program, SCHEMA, gives, layout(2, 3), late=False, changes=False, chained=False, lag=0), 2000
    )
    found, start = [], 0
    while start < len(rows):
        size = rng.randint(1, 25)
        found.append(spark.batch(events(*rows[start : start + size])))
        start += size
    found += [spark.batch(events((1000, "Z", "z", 0))), spark.batch()]
    changes = pa.concat_tables(found)
    left = Counter[str]()
    for row in changes.to_pylist():
        left[repr({**row, "op": None})] += 1 if row["op"] == "insert" else -1
        assert left[repr({**row, "op": None})] >= 0
    asked = {role: name for role, name in roles.items() if role != "speculate"}
    wanted = Counter(repr({"op": None, **row}) for row in query.match(events(*rows), **asked).to_pylist())
    assert +left == wanted
    assert len(wanted) > 3


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
    state, size = bytearray(spark.state[key][0]), spark.state[key][1]
    for place in range(0, len(state), 7):
        damaged = state.copy()
        damaged[place] ^= 4
        spark.state[key] = (bytes(damaged), size)
        if not _is_same(bytes(damaged), bytes(state), size):
            with pytest.raises(ag.DataError):
                spark.batch(events((2, "B", "p", 1)))


def _is_same(damaged: bytes, state: bytes, size: int) -> bool:
    """Whether a byte that is another one says nothing to who decompresses."""
    try:
        return bool(pa.decompress(damaged, size, "zstd") == pa.decompress(state, size, "zstd"))
    except OSError:
        return False


def test_the_ledger_gets_word_of_each_micro_batch_with_rows() -> None:
    packer = Packer(live(PAIRS).program, SCHEMA, layout(2, 3), keyed=True)
    [row] = [b.to_pylist() for b in packer([])]
    assert row == [{"shard": LEDGER, "buckets": b"", "rows": b"", "bad_rows": 0, "change": None}]


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


# ------------------------------------------------------------------ changes of the query


def changing(query: Any) -> Live:
    program = query._program(SCHEMA, Options(**ROLES))
    gives = pa.schema([("op", pa.string()), *program.gives, ("reason", pa.string())])
    return Live(program, SCHEMA, gives, layout(2, 3), late=False, changes=True, chained=False, lag=0)


def told(
    version: int | None, action: str, name: str | None, query: str | None = None, at: float | None = None
) -> str:
    micros = None if at is None else int(at * 1e6)
    row = {"version": version, "action": action, "name": name, "query": query, "at": micros}
    return json.dumps({column: value for column, value in row.items() if value is not None})


ONE = "PATTERN SEQ(A a, B b) WITHIN 9 seconds RETURN a.x AS x, b.x AS y"
TWO = "PATTERN SEQ(A a, C b) WITHIN 9 seconds RETURN a.x AS x, b.x AS y"


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    named = [n for n in ("op", "query", "x", "y") if n in found.column_names]
    return sorted(tuple(row[n] for n in named) for row in found.to_pylist())


def test_queries_of_a_set_come_and_go() -> None:
    spark = Spark(changing(ag.QuerySet({"one": ag.sase(ONE)})))
    spark.batch(events((1, "A", "p", 0), (1, "A", "q", 0), (1.5, "C", "p", 1)))
    spark.batch(told(1, "add", "two", TWO))  # the watermark is 1.5: from then on
    spark.batch(events((2, "A", "p", 2), (3, "B", "p", 3), (3, "C", "p", 4), (3, "C", "q", 5)))
    found = spark.batch(told(2, "remove", "one"), events((4, "B", "p", 6), (4, "C", "p", 7)))
    found = pa.concat_tables([found, spark.batch(events((50, "Z", "z", 0))), spark.batch()])
    assert rows(found) == [
        ("insert", "two", 2, 4),
        ("insert", "two", 2, 7),
    ]


def test_a_removed_query_reports_what_was_certain_before() -> None:
    spark = Spark(changing(ag.QuerySet({"one": ag.sase(ONE)})))
    spark.batch(events((1, "A", "p", 0), (2, "B", "p", 1), (3, "B", "p", 2), (4, "B", "p", 3)))
    spark.batch(events((5, "Z", "z", 0)), told(1, "remove", "one", at=4))
    assert rows(spark.batch(events((9, "Z", "z", 0)), told(1, "remove", "one", at=4))) == []
    spark = Spark(changing(ag.QuerySet({"one": ag.sase(ONE)})))
    spark.batch(events((1, "A", "p", 0), (2, "Z", "z", 0)))
    spark.batch(
        told(1, "remove", "one", at=4), events((2, "B", "p", 1), (3.9, "B", "p", 2), (4, "B", "p", 3))
    )
    found = [spark.batch(events((50, "Z", "z", 0))), spark.batch(), spark.batch()]
    assert rows(pa.concat_tables(found)) == [("insert", "one", 0, 1), ("insert", "one", 0, 2)]


def test_bad_changes_are_rejected_once_and_change_nothing() -> None:
    spark = Spark(changing(ag.QuerySet({"one": ag.sase(ONE)})))
    spark.batch(events((5, "A", "p", 0)))
    found = spark.batch(
        told(1, "add", "one", TWO),
        told(2, "add", "three", "PATTERN SEQ(A a"),
        told(3, "add", "four", "PATTERN SEQ(A a, B b) RETURN a.x AS other"),
        told(4, "remove", "five"),
        told(5, "add_arc", "a", "{}"),
        told(6, "add", "six", TWO, at=4.9),
        told(None, "add", "seven", TWO),
        told(7, "add", "eight", TWO),
        told(7, "add", "nine", TWO),
    )
    reasons = sorted(row["reason"] for row in found.to_pylist())
    assert {row["op"] for row in found.to_pylist()} == {"rejected"}
    assert [reason[:60] for reason in reasons] == sorted(reason[:60] for reason in reasons)
    assert len(reasons) == 7
    for said in (
        "version 1, add 'one': there is a query 'one' already",
        "version 3, add 'four': its result has columns that the running stream has not: other (int64)",
        "version 4, remove 'five': there is no query 'five'",
        "version 5, add_arc 'a': the action 'add_arc' is none of this query's: it is add or remove",
        "version 6, add 'six': it holds from a time before the watermark, and what was then has been reported",
        "no version, add 'seven': it has no version",
    ):
        assert said in reasons
    assert spark.batch(told(4, "remove", "five")).num_rows == 0  # the same word again
    spark.batch(events((6, "A", "p", 1), (7, "C", "p", 2), (50, "Z", "z", 0)))
    assert rows(spark.batch()) == [("insert", "eight", 0, 2), ("insert", "eight", 1, 2)]


def test_arcs_come_and_go() -> None:
    afa = ag.Automaton(start="s", final=["t"], registers={"x": 0})
    afa.arc("s", "t", when="kind = 'A'", update={"x": "e.x"})
    spark = Spark(changing(afa.query(within="9 seconds")))
    spark.live = replace(
        spark.live, program=afa.query(within="9 seconds")._program(SCHEMA, Options(time="ts", key="k"))
    )
    spark.batch(events((1, "A", "p", 1), (1, "B", "q", 2)))
    arc = json.dumps({"from": "s", "to": "t", "when": "kind = 'B'", "update": {"x": "e.x"}})
    spark.batch(told(1, "add_arc", "b", arc, at=3))
    spark.batch(
        told(2, "remove_arc", "a0", at=4),
        events((2, "B", "p", 3), (3, "B", "q", 4), (3, "A", "q", 5), (4, "A", "p", 6)),
    )
    found = [
        spark.batch(events((50, "Z", "z", 0))),
        spark.batch(),
        spark.batch(told(3, "remove_arc", "nobody")),
    ]
    table = pa.concat_tables(found)
    assert [row for row in rows(table) if row[0] == "insert"] == [("insert", 1), ("insert", 4), ("insert", 5)]
    reasons = [row["reason"] for row in table.to_pylist() if row["op"] == "rejected"]
    assert [reason.partition(": ")[0] for reason in reasons] == ["version 3, remove_arc 'nobody'"]


def test_changes_and_events_in_any_micro_batches_give_the_same() -> None:
    from_four = "PATTERN SEQ(A a, C b) WITHIN 9 seconds RETURN a.x AS x, b.x AS y"
    rng = random.Random(7)
    data = sorted((rng.uniform(2, 60), rng.choice("ABC"), rng.choice("pqrstu"), n) for n in range(120))
    wanted = None
    for seed in range(6):
        rng = random.Random(seed)
        spark, found, start = Spark(changing(ag.QuerySet({"one": ag.sase(ONE)}))), [], 0
        found.append(spark.batch(told(1, "add", "two", from_four, at=20), told(2, "remove", "one", at=40)))
        while start < len(data):
            size = rng.randint(1, 40)
            found.append(spark.batch(events(*data[start : start + size])))
            start += size
        found += [spark.batch(events((1000, "Z", "z", 0))), spark.batch()]
        got = rows(pa.concat_tables(found))
        assert len({row[1] for row in got}) == 2
        wanted = got if wanted is None else wanted
        assert got == wanted
    one = ag.sase(ONE).match(events(*(r for r in data if r[0] < 40)), **ROLES)
    two = ag.sase(from_four).match(events(*(r for r in data if r[0] >= 20)), **ROLES)
    expected = [("insert", "one", r["x"], r["y"]) for r in one.to_pylist()] + [
        ("insert", "two", r["x"], r["y"]) for r in two.to_pylist()
    ]
    assert wanted == sorted(expected)
