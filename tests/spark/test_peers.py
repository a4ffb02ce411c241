"""What plain Spark is compared with must answer the same question: by hand, it finds what the query finds."""

from __future__ import annotations

from typing import Any

import pytest

from bench.peers.spark import BY_HAND
from bench.questions import questions

SMALL = {"clicks": 3000, "v": 20_000, "abc": 1500}


@pytest.mark.parametrize("name", SMALL)
def test_plain_spark_finds_what_the_query_finds(spark: Any, name: str) -> None:
    (question,) = (q for q in questions(quick=True) if q.name == name)
    table = question.stream(SMALL[name])
    theirs = BY_HAND[name](spark.createDataFrame(table)).toArrow()
    ours = question.ours(table).select(theirs.column_names).cast(theirs.schema)
    order = [(column, "ascending") for column in theirs.column_names]
    assert ours.num_rows > 10
    assert theirs.sort_by(order).combine_chunks() == ours.sort_by(order).combine_chunks()


def test_every_question_for_plain_spark_is_known_by_hand() -> None:
    assert {q.name for q in questions(quick=False) if q.plain} == BY_HAND.keys()
