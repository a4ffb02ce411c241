"""What is told of a streaming query, from records such as Spark makes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import augury as ag
from augury.spark.progress import STILL


def batch(rows: tuple[int, ...], watermark: str | None, **counted: Any) -> Any:
    return SimpleNamespace(
        numInputRows=sum(rows),
        eventTime={} if watermark is None else {"watermark": watermark},
        sources=[SimpleNamespace(description=f"input {n}", numInputRows=r) for n, r in enumerate(rows)],
        stateOperators=[SimpleNamespace(memoryUsedBytes=7)],
        observedMetrics={
            name: dict(zip(("events", "matches", "late_events", "bad_rows"), counts, strict=True))
            for name, counts in counted.items()
        },
    )


def told(*batches: Any) -> dict[str, Any]:
    return ag.spark.progress(SimpleNamespace(recentProgress=batches))


def test_counts_are_added_up_query_by_query_in_the_order_of_their_numbers() -> None:
    found = told(
        batch((3,), "1970-01-01T00:00:00.000Z", augury_10=(1, 0, 0, 0), augury_9=(3, 1, 0, 2)),
        batch((3,), "2026-01-01T00:00:00.000Z", augury_10=(1, 1, 1, 0), augury_9=(4, 1, 0, 0)),
    )
    assert [list(q.values()) for q in found["queries"]] == [[7, 2, 0, 2], [2, 1, 1, 0]]
    assert (found["watermark"], found["state_bytes"]) == ("2026-01-01T00:00:00.000Z", 7)
    assert told()["watermark"] is None


def test_an_idle_input_is_named() -> None:
    still = [batch((5, 0), "2026-01-01T00:00:00.000Z")] * STILL
    said = told(*still)["held_back"]
    assert said.startswith(
        f"the watermark has not moved for {STILL} micro-batches: the input input 1 is idle"
    )
    assert told(*still[1:])["held_back"] is None
    assert told(*still, batch((5, 0), "2026-01-02T00:00:00.000Z"))["held_back"] is None
    assert told(*still[1:], batch((0, 0), "2026-01-02T00:00:00.000Z"))["held_back"] is None
    assert "no row has a later time" in told(*[batch((5,), "2026-01-01T00:00:00.000Z")] * STILL)["held_back"]
