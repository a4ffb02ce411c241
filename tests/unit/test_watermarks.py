"""Spark's watermark and instants of a time column, and where a key lives. That the SQL says the same is tests/spark's."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from augury.runtime.spark_shards import layout, spark_hash
from augury.runtime.watermarks import frontier, microseconds, milliseconds, watermark_for

TYPES = st.sampled_from([pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
LAGS = st.sampled_from([0, 1, 999, 5_000_000, 86_400_000_000])


def test_a_watermark_of_0_is_none() -> None:
    assert frontier(0, 0, pa.int64()) is None
    assert frontier(1, 0, pa.int64()) == 1000
    assert frontier(1, 5000, pa.int64()) == -4000


def test_a_date_is_its_midnight() -> None:
    day = 86_400_000
    assert frontier(3 * day, 0, pa.date32()) == 3  # what is on day 3 is not before it
    assert frontier(3 * day + 1, 0, pa.date32()) == 4


def test_a_lateness_is_rounded_up_to_milliseconds() -> None:
    assert [milliseconds(n, pa.int64()) for n in (0, 1, 1000, 1001)] == [0, 1, 1, 2]
    assert milliseconds(2, pa.date32()) == 2 * 86_400_000


@given(TYPES, LAGS, st.integers(-(10**6), 10**15))
def test_what_is_waited_for_comes_with_the_first_watermark_that_reaches_it(
    type_: pa.DataType, lag: int, moment: int
) -> None:
    instant = moment // microseconds(type_)
    mark = watermark_for(instant, lag, type_)
    reached = frontier(mark, lag, type_)
    assert reached is not None
    assert reached >= instant
    before = frontier(mark - 1, lag, type_)
    assert before is None or before < instant


@given(TYPES, LAGS, st.integers(1, 10**12))
def test_a_watermark_never_says_more_than_spark_does(type_: pa.DataType, lag: int, mark: int) -> None:
    instant = frontier(mark, lag, type_)
    assert instant is not None
    assert (instant - 1) * microseconds(type_) < mark * 1000 - lag <= instant * microseconds(type_)


def test_each_partition_has_one_shard() -> None:
    for partitions in (1, 2, 7, 200):
        shards = layout(partitions, 16).shards
        assert [spark_hash(shard) % partitions for shard in shards] == list(range(partitions))
