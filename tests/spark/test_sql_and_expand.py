"""The table function, and compressed rows of DataFrames."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import augury as ag
from augury.runtime import spark_expand
from conformance.compare import difference, rows_of, table_difference
from spark.frames import collected, frame_of

NEXT = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) RETURN a.x AS x, b.ts AS done"


@pytest.fixture(scope="module")
def events() -> pa.Table:
    at = [dt.datetime(2024, 3, 31, 0, 59, second, 7, tzinfo=dt.UTC) for second in range(12)]
    return pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "kind": [*"AABBAABABBAB"],
            "user": [1, 2, 1, 2, 3, 1, 3, 2, 1, 2, None, None],
            "x": range(12),
        }
    )


def asked(session: Any, events: pa.Table, call: str) -> list[tuple[Any, ...]]:
    ag.spark.register(session)
    frame_of(session, events).repartition(3).createOrReplaceTempView("events")
    return rows_of(session.sql(f"SELECT * FROM augury_match({call})").toArrow())


@pytest.mark.parametrize("which", ["spark", "connect"])
def test_partition_by_keeps_streams_apart(
    request: pytest.FixtureRequest, events: pa.Table, which: str
) -> None:
    session = request.getfixturevalue(which)
    got = asked(session, events, f"TABLE(events) PARTITION BY (user), '{NEXT}', type => 'kind'")
    wanted = ag.sase(NEXT).match(events, time="ts", type="kind", key="user")
    instants = [tuple(v.astimezone(dt.UTC) if isinstance(v, dt.datetime) else v for v in row) for row in got]
    wanted_rows = [
        tuple(v.astimezone(dt.UTC) if isinstance(v, dt.datetime) else v for v in r) for r in rows_of(wanted)
    ]
    assert len(instants) == 6
    assert difference(wanted_rows, instants) is None


def test_arguments_are_those_of_match(spark: Any, events: pa.Table) -> None:
    query = "PATTERN SEQ(A a, B b)"
    wanted = ag.sase(query).match(events, time="ts", type="kind", key=["user"], tiebreak="x", match_id=True)
    ag.spark.register(spark)
    frame_of(spark, events).repartition(3).createOrReplaceTempView("events")
    arguments = "key => array('user'), time => 'ts', type => 'kind', tiebreak => 'x', match_id => true"
    df = spark.sql(f"SELECT * FROM augury_match(TABLE(events), '{query}', {arguments})")
    assert table_difference(wanted, collected(df, wanted.schema)) is None
    count = "output => 'count', type => 'kind'"
    rows = asked(spark, events, f"TABLE(events) WITH SINGLE PARTITION, '{query}', {count}")
    assert sum(row[1] for row in rows) == ag.sase(query).match(events, time="ts", type="kind").num_rows


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("TABLE(events) PARTITION BY (user), 'PATTERN A a WHERE a.y > 1'", "no attribute .?y"),
        ("TABLE(events) PARTITION BY (user), 'PATTERN A a', limit => 3", "no argument limit"),
        ("TABLE(events) PARTITION BY (user), 'PATTERN A a', time => 'kind'", "the time column kind"),
        ("TABLE(SELECT x FROM events) PARTITION BY (x), 'PATTERN A a'", "no timestamp or date is the time"),
        ("TABLE(events), 'PATTERN SEQ(A a, B b)', type => 'kind'", "nothing says which belong together"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_library(
    spark: Any, events: pa.Table, call: str, says: str
) -> None:
    with pytest.raises(Exception, match=says):
        asked(spark, events, call)


def test_registered_functions_are_known_in_sql(spark: Any, events: pa.Table) -> None:
    @ag.function
    def is_even(x: int) -> bool:
        return x % 2 == 0

    query = "PATTERN A a WHERE is_even(a.x) RETURN a.x AS x"
    assert {r[-1] for r in asked(spark, events, f"TABLE(events) PARTITION BY (user), '{query}', type => 'kind'")} == {
        0, 4, 10
    }  # fmt: skip


def test_values_of_every_kind_go_through_sql(spark: Any) -> None:
    ag.spark.register(spark)
    spark.sql(
        """SELECT DATE'2020-02-29' AS day, 'A' AS kind, 1.50BD AS d, X'ff' AS bin, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS wall,
        array(1, NULL) AS l, map('k', array(1)) AS m, named_struct('x', 1, 'y', array('z')) AS s, 2.5f AS f"""
    ).createOrReplaceTempView("things")
    df = spark.sql(
        "SELECT a.* FROM augury_match(TABLE(things) WITH SINGLE PARTITION, 'PATTERN A a', time => 'day', type => 'kind')"
    )
    assert df.collect() == spark.table("things").collect()


# ------------------------------------------------------------------ expand


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_compressed_rows_expand_in_spark(
    spark: Any, events: pa.Table, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = pa.concat_tables([events, events])  # equal matches, whose ordinals tell them apart
    query = ag.sase("PATTERN SEQ(A+ a[], B b) WITHIN 5 seconds")
    arguments = {"time": "ts", "type": "kind", "key": "user"}
    packed = query.match(frame_of(spark, twice), output="compressed", **arguments)
    for match_id in (False, True):
        wanted = query.match(twice, match_id=match_id, **arguments)
        assert wanted.num_rows > 20
        found = ag.expand(packed, query, match_id=match_id)
        assert table_difference(wanted, collected(found, wanted.schema)) is None
    compressed = query.match(twice, output="compressed", **arguments).replace_schema_metadata(None)
    monkeypatch.setattr(spark_expand, "ROWS", rows)
    task = spark_expand.Expansion(query.pattern, compressed.schema, (), match_id=True)
    got = pa.Table.from_batches(task(iter(compressed.sort_by("match_end").to_batches(max_chunksize=2))))
    assert table_difference(wanted, got) is None


def test_expand_of_a_frame_says_what_it_needs(spark: Any, events: pa.Table) -> None:
    df = frame_of(spark, events)
    with pytest.raises(ag.DataError, match=r"pass it: ag.expand\(df, query\)"):
        ag.expand(df)
    with pytest.raises(ag.DataError, match="has no column match_end"):
        ag.expand(df, ag.sase("PATTERN A a"))
