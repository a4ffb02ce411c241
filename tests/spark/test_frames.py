"""What only Spark can get wrong: names, partitions, batches, zones, and how errors travel."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.generate import clicks
from conformance.compare import table_difference
from spark.frames import collected, frame_of

AB = ag.sase("PATTERN SEQ(A a, B b)")
FUNNEL = ag.sase(
    "PATTERN SEQ(view a, cart b, buy c) WHERE skip_till_next_match(a, b, c) WITHIN 1 hour RETURN a.user, a.page, c.ts"
)


def letters(kinds: str, **columns: Any) -> pa.Table:
    """An event for each letter, a tick apart."""
    return pa.table({"ts": range(len(kinds)), "kind": list(kinds), **columns})


def same(session: Any, query: ag.Query, table: pa.Table, df: Any = None, **arguments: Any) -> int:
    """Asserts that the DataFrame gives what the table gives, and says how many rows."""
    arguments = {"time": "ts", "type": "kind", **arguments}
    wanted = query.match(table, **arguments).replace_schema_metadata(None)
    result = query.match(frame_of(session, table) if df is None else df, **arguments)
    said = table_difference(wanted, collected(result, wanted.schema))
    assert said is None, said
    return wanted.num_rows


# ------------------------------------------------------------------ names and types


@pytest.mark.parametrize(
    "name", ["a.b", "`", "a`b.c", 'x"y', "it's", " ", "ts ", "ä€", "select", "c0", "C1", "${x}", "\\"]
)
def test_columns_may_have_any_name(spark: Any, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], name: [1, 1, 2]})
    query = ag.sase(f"PATTERN SEQ(A a, B b) WHERE [{quoted}] AND a.{quoted} < 5")
    assert same(spark, query, table, key=name) == 1
    turned = pa.table({name: [1, 2, 3], name + "2": ["A", "B", "B"], "kind": [1, 1, 2]})
    assert same(spark, AB, turned, time=name, type=name + "2", key="kind") == 1


def test_names_that_differ_in_case_alone(spark: Any) -> None:
    table = pa.table({"ts": [1, 2, 3, 4], "kind": list("ABAB"), "x": [1, 1, 2, 2], "X": [1, 2, 2, 1]})
    assert same(spark, AB, table, key="x") == 2
    assert same(spark, AB, table, key="X") == 1
    assert same(spark, AB, table, key=["x", "X"]) == 0


def test_two_columns_of_one_name_are_refused(spark: Any) -> None:
    df = spark.sql("SELECT 1 AS ts, 'A' AS kind, 2 AS ts")
    with pytest.raises(ag.DataError, match="two columns are named ts"):
        AB.match(df, time="ts", type="kind")


def test_every_type_of_spark_is_carried(spark: Any) -> None:
    df = spark.sql(
        """SELECT id AS ts, if(id % 2 = 0, 'A', 'B') AS kind, cast(1 AS tinyint) AS i8, cast(1 AS smallint) AS i16,
        1 AS i32, 1.5f AS f32, 2.5d AS f64, 1.50BD AS d, true AS t, X'ff' AS bin, DATE'2020-02-29' AS day,
        TIMESTAMP'2020-01-01 00:00:00' AS at, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS wall,
        INTERVAL '1 02:03:04.5' DAY TO SECOND AS d_s, TIME'12:34:56' AS tod, NULL AS nothing,
        array(1, NULL) AS l, map('k', array(1)) AS m, named_struct('x', 1, 'y.z', array(TIMESTAMP'2020-01-01 00:00:00')) AS s,
        parse_json('{"a": [1, 2]}') AS v, collate('ä', 'UNICODE_CI') AS c FROM range(2)"""
    )
    found = AB.match(df, time="ts", type="kind").select("a.*").drop("kind", "ts")
    expected = df.where("ts = 0").drop("kind", "ts")
    assert [f.dataType.typeName() for f in found.schema] == [f.dataType.typeName() for f in expected.schema]
    assert found.drop("v").collect() == expected.drop("v").collect()
    assert str(found.collect()[0].v) == str(expected.collect()[0].v)


def test_a_type_that_arrow_lacks_is_refused_where_it_is_read(spark: Any) -> None:
    df = spark.sql("SELECT 1L AS ts, 'A' AS kind, array(INTERVAL '1' YEAR) AS y")
    with pytest.raises(ag.QueryError, match=r"the column y is of Spark's type array<interval year>"):
        AB.match(df, time="ts", type="kind")
    query = ag.sase("PATTERN A a RETURN a.ts AS at")
    assert query.match(df, time="ts", type="kind").select("at").collect()[0].at == 1


def test_timestamps_are_instants_whatever_the_zone_of_the_session(spark: Any) -> None:
    at = [dt.datetime(2024, 3, 31, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2)]
    table = pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "wall": pa.array(at, pa.timestamp("us")),
            "kind": list("ABB"),
        }
    )
    query = ag.sase(
        "PATTERN SEQ(A a, B b) WHERE a.ts < '2024-03-31T01:00:00' AND b.wall > a.wall WITHIN 90 minutes"
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone in ("UTC", "Europe/Berlin", before):
            spark.conf.set("spark.sql.session.timeZone", zone)
            assert same(spark, query, table) == 1
            assert same(spark, query, table, time="wall") == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_strings_with_a_collation_are_compared_sign_by_sign(spark: Any) -> None:
    table = letters("AaBbABab", k=list("xXxXxXxX"))
    df = frame_of(spark, table).selectExpr(
        "ts", "collate(kind, 'UTF8_LCASE') AS kind", "collate(k, 'UTF8_LCASE') AS k"
    )
    assert same(spark, AB, table, df, key="k") == 1


def test_numbers_that_only_arrow_has_become_decimals(spark: Any) -> None:
    table = letters("AB")
    query = ag.sase("PATTERN A a RETURN 18446744073709551615 AS most, a.ts")
    assert (
        query.match(frame_of(spark, table), time="ts", type="kind").collect()[0].most == 18446744073709551615
    )


# ------------------------------------------------------------------ partitions and batches


def test_a_frame_without_rows(spark: Any) -> None:
    table = letters("AB").slice(0, 0)
    table = table.cast(pa.schema([("ts", pa.int64()), ("kind", pa.string())]))
    for output in ("all", "count", "compressed"):
        same(spark, AB, table, output=output)


@pytest.mark.parametrize("partitions", [1, 200])
def test_the_number_of_partitions_makes_no_difference(spark: Any, partitions: int) -> None:
    table = clicks(2_000, users=40)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        df = frame_of(spark, table).repartition(partitions)
        assert same(spark, FUNNEL, table, df, key="user", match_id=True) > 10
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_key_with_most_of_the_events(spark: Any, adaptive: str) -> None:
    table = clicks(6_000, users=500)
    user = np.where(np.arange(6_000) % 3 > 0, 7, table.column("user").to_numpy())
    table = table.set_column(table.schema.get_field_index("user"), "user", pa.array(user))
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        assert same(spark, FUNNEL, table, key="user") > 100
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")


def test_nulls_are_one_key_and_so_are_nans_and_zeros(spark: Any) -> None:
    k = [None, math.nan, -0.0, 1.0, 0.0, None, math.nan, 1.0]
    table = letters("AAAABBBB", k=pa.array(k, pa.float64()))
    df = frame_of(spark, table).repartition(8)
    assert same(spark, AB, table, df, key="k") == 4
    narrow = table.set_column(2, "k", table.column("k").cast(pa.float32()))
    assert same(spark, AB, narrow, key=["k", "kind"]) == 0
    assert same(spark, ag.sase("PATTERN SEQ(A a, B b) WHERE [k]"), table, df) == 2
    many = letters(
        "A" * 500 + "B" * 500,
        k=pa.array([(-0.0, 0.0, math.nan, None)[i % 4] for i in range(1000)], pa.float64()),
    )
    assert same(spark, AB, many, key="k", output="count") == 500


def test_partitions_of_attributes_leave_nulls_out_and_contiguity_keeps_them(spark: Any) -> None:
    table = letters("AABAB", g=[1, None, 1, 2, 2], k=[1, 1, 1, 1, 1])
    for strategy, found in (
        ("partition_contiguity", 2),
        ("strict_contiguity", 1),
        ("skip_till_next_match", 2),
    ):
        query = ag.sase(f"PATTERN SEQ(A a, B b) WHERE {strategy}(a, b) {{ [g] }}")
        assert same(spark, query, table) == found
        assert same(spark, query, table, key="k") == found


# ------------------------------------------------------------------ what is sent


def test_registered_functions_reach_the_workers(spark: Any) -> None:
    limit = 3

    @ag.function
    def beyond(x: int) -> bool:
        return x > limit

    table = letters("AABB", x=[1, 5, 1, 9])
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE beyond(a.x) AND beyond(b.x)")
    assert same(spark, query, table) == 1


def test_only_what_is_read_is_read(spark: Any, tmp_path: Any) -> None:
    frame_of(spark, letters("ABC", x=[1, 2, 3], y=[1, 2, 3])).write.parquet(str(tmp_path / "events"))
    df = spark.read.parquet(str(tmp_path / "events"))
    query = ag.sase("PATTERN SEQ(A a, ~(D d), B b) WHERE a.x < 2 AND b.x <> 7 RETURN b.ts AS at")
    result = query.match(df, time="ts", type="kind")
    plan = result._jdf.queryExecution().toString()
    (schema,) = {line.partition("ReadSchema: ")[2] for line in plan.splitlines() if "ReadSchema" in line}
    assert "y" not in schema.replace("type", "")
    assert "LessThan(x,2)" in plan
    assert [row["at"] for row in result.select("at").collect()] == [1]


def test_a_result_is_the_input_of_the_next_query(spark: Any) -> None:
    table = letters("ABAB", k=[1, 1, 2, 2])

    def chained(data: Any) -> Any:
        first = AB.match(data, time="ts", type="kind", key="k")
        return ag.sase("PATTERN SEQ(m x, m y) WHERE x.k < y.k").match(first, time="match_end")

    wanted = chained(table)
    assert wanted.num_rows == 1
    assert table_difference(wanted, collected(chained(frame_of(spark, table)), wanted.schema)) is None


def test_matching_goes_into_transform(spark: Any) -> None:
    df = frame_of(spark, letters("AB"))
    assert df.transform(AB.matching(time="ts", type="kind")).count() == 1
    assert AB.matching(time="ts", type="kind")(letters("AB")).num_rows == 1


# ------------------------------------------------------------------ what is wrong


def test_a_wrong_query_is_told_before_anything_is_read(spark: Any) -> None:
    df = (
        spark.range(1)
        .selectExpr("raise_error('read') AS ts", "'A' AS kind")
        .selectExpr("cast(ts AS bigint) AS ts", "kind")
    )
    with pytest.raises(ag.QueryError) as told:
        ag.sase("PATTERN A a WHERE a.price > 3").match(df, time="ts", type="kind")
    assert (told.value.line, told.value.column) == (1, 19)
    with pytest.raises(ag.QueryError, match="the time column"):
        AB.match(df, time="kind", type="kind")
    with pytest.raises(ag.QueryError, match="no time column"):
        AB.match(df, time="when", type="kind")


def test_rows_without_a_time_are_a_data_error_in_spark(spark: Any) -> None:
    table = letters("AZB").set_column(0, "ts", pa.array([1, None, 3], pa.int64()))
    result = AB.match(frame_of(spark, table), time="ts", type="kind")
    with pytest.raises(Exception, match="DataError: 1 row has no time in the column ts"):
        result.collect()


@pytest.mark.parametrize("which", ["spark", "connect"])
def test_rows_without_a_time_are_dropped_and_counted(request: pytest.FixtureRequest, which: str) -> None:
    session = request.getfixturevalue(which)
    table = letters("AZBA").set_column(0, "ts", pa.array([1, None, 3, None], pa.int64()))
    result = AB.match(frame_of(session, table), time="ts", type="kind", bad_rows="drop")
    assert result.count() == 1
    assert ag.spark.bad_rows(result) == 2
    with pytest.raises(ag.QueryError, match="no rows were counted"):
        ag.spark.bad_rows(result.limit(1))


def test_a_limit_is_told_by_name(spark: Any) -> None:
    table = letters("A" * 20 + "B", x=range(21))
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE a.x < b.x")
    result = query.match(frame_of(spark, table), time="ts", type="kind", max_runs=5)
    with pytest.raises(Exception, match=r"LimitError: .*max_runs=5"):
        result.collect()


def test_profile_is_for_tables(spark: Any) -> None:
    with pytest.raises(ag.QueryError, match="profile measures in this process"):
        AB.profile(frame_of(spark, letters("AB")), time="ts", type="kind")
