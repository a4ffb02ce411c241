"""CESAR on Spark: a batch has the same events as in process."""

import pytest

import algebras
import augury as ag
from conformance.compare import difference, rows_of

pytestmark = pytest.mark.spark


def same(query, table, spark, arguments):
    wanted = query.match(table, **arguments)
    frame = query.match(spark.createDataFrame(table), **arguments)
    assert frame.columns == wanted.schema.names
    return difference(rows_of(wanted), [tuple(row) for row in frame.collect()])


def test_expressions_find_the_same(spark):
    for seed in (11, 35, 57, 78):
        expr, table, arguments = algebras.case(seed, rows=40)
        if table.num_rows:
            assert same(expr, table, spark, {**arguments, "key": "k"} if seed == 35 else arguments) is None


def test_a_set_finds_the_same(spark):
    stream = ag.stream("A")
    _, table, _ = algebras.case(4, rows=60)
    clock = "ts" if "ts" in table.column_names else ("start_", "end_")
    queries = ag.QuerySet(
        {
            "rising": stream.then(stream.rename(x="y"), on="y > x"),
            "some": stream.where("a > :low", low=1).project("a", "s"),
        }
    )
    for key in (None, "k"):
        assert same(queries, table, spark, {"time": clock, "type": "kind", "key": key}) is None
