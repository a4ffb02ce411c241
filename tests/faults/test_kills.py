"""Spark's processes are killed while a stream runs: nothing is lost, nothing is there twice."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes to kill by /proc")
def test_a_sink_holds_the_batch_answer_after_five_kills(spark: object) -> None:
    from bench.kills import killed

    assert spark is not None  # it is there, and these tests come one after another
    found = killed(5, rows=4000, files=8)
    assert found["expected"] > 20
    assert found["agrees"], found
    assert found["kills"] == 5
