"""The column with the values that came before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import augury as ag


def stocks(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "ts": rng.integers(0, 40, rows),
            "seq": rng.permutation(rows),
            "ticker": pa.array(rng.choice(["GOOG", "MSFT", "AAPL"], rows), mask=rng.random(rows) < 0.1),
            "price": pa.array(rng.random(rows), mask=rng.random(rows) < 0.1),
        }
    )


@pytest.mark.parametrize("length", [1, 3, 1000])
@pytest.mark.parametrize("key", ["ticker", None])
def test_a_history_is_what_the_last_events_of_the_key_had(length: int, key: str | None) -> None:
    table = stocks()
    found = ag.with_history(table, "price", length, time="ts", key=key, tiebreak="seq")
    events = table.to_pylist()
    for event, had in zip(events, found.column("history").to_pylist(), strict=True):
        mine = [e for e in events if key is None or e[key] == event[key]]
        before = [e for e in mine if (e["ts"], e["seq"]) <= (event["ts"], event["seq"])]
        last = sorted(before, key=lambda e: (e["ts"], e["seq"]))[-length:]
        assert had == [e["price"] for e in last if e["price"] is not None]
    assert found.drop_columns(["history"]) == table


def test_histories_are_correlated_by_every_plan() -> None:
    rng = np.random.default_rng(4)
    rows = 240
    table = pa.table(
        {
            "ts": np.arange(rows),
            "ticker": pa.array(np.array(["GOOG", "MSFT", "AAPL"])[np.arange(rows) % 3]),
            "price": rng.random(rows),
        }
    )
    table = ag.with_history(table, "price", 5, time="ts", key="ticker")
    query = ag.sase("""
        PATTERN SEQ(Stock a, Stock b, Stock c)
        WHERE a.ticker = 'AAPL' AND b.ticker = 'MSFT' AND c.ticker = 'GOOG'
          AND corr(a.history, b.history) > 0.5 AND corr(b.history, c.history) > 0.5
        WITHIN 30
        RETURN a.ts AS x, b.ts AS y, c.ts AS z
    """)
    wanted = sorted(
        map(tuple, (r.values() for r in query.match(table, time="ts", plan="definition").to_pylist()))
    )
    assert wanted
    for plan in ("eager", "lazy-chain", "lazy-tree"):
        found = query.match(table, time="ts", plan=plan).to_pylist()
        assert sorted(tuple(r.values()) for r in found) == wanted, plan


def test_what_cannot_be_added_is_told() -> None:
    table = stocks(3)
    with pytest.raises(ag.QueryError, match="column prize"):
        ag.with_history(table, "prize", 3, time="ts")
    with pytest.raises(ag.QueryError, match="is no number of events"):
        ag.with_history(table, "price", 0, time="ts")
    with pytest.raises(ag.QueryError, match="a column price already"):
        ag.with_history(table, "price", 2, time="ts", name="price")
