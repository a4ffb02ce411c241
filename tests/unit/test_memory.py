"""Memory beside the events is flat, and buffers are used again: counted, so that it is the same everywhere."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.engines.host import Host

PIECE = 1 << 20
QUERY = ag.sase("""
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        a[1].price = 500 AND a[i].price > max(a[..i-1].price) AND b.volume < 2 }
    WITHIN 500
""")


def ticks(rows: int) -> pa.Table:
    """Prices and volumes that come again and again, so that of a hundred million events only times take memory."""
    rng = np.random.default_rng(1)
    again = {name: pa.array(rng.integers(0, 1000, PIECE).astype(np.int16)) for name in ("price", "volume")}
    times = [pa.array(np.arange(s, min(s + PIECE, rows), dtype=np.int32)) for s in range(0, rows, PIECE)]
    columns = {name: pa.chunked_array([a.slice(0, len(t)) for t in times]) for name, a in again.items()}
    return pa.table({"ts": pa.chunked_array(times), **columns})


def peak_of(table: pa.Table, output: str, **more: str) -> tuple[int, int]:
    """Bytes that NumPy and Arrow held at most beside the table, and rows of the result."""
    pool = pa.default_memory_pool()
    before, highest = pool.bytes_allocated(), pool.max_memory()
    tracemalloc.start()
    try:
        result = QUERY.match(table, time="ts", output=output, **more)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    arrow = pool.max_memory() - before if pool.max_memory() > highest else 0
    return peak + arrow, result.num_rows


@pytest.mark.slow
def test_memory_is_flat_over_a_hundred_million_events_of_one_key() -> None:
    QUERY.match(ticks(4 * PIECE), time="ts", output="count")  # compiles
    few, some = peak_of(ticks(4 * PIECE), "count")
    most, many = peak_of(ticks(100_000_000), "count")
    assert many > 20 * some
    assert most < 1.25 * few + 16 * many  # the result's own rows grow, what is beside them does not


@pytest.mark.parametrize("output", ["all", "longest", "non_overlap", "compressed"])
def test_memory_is_flat_for_every_output(output: str) -> None:
    few, some = peak_of(ticks(4 * PIECE), output)
    most, many = peak_of(ticks(12 * PIECE), output)
    assert many > 2 * some
    assert most < 1.25 * few + 2000 * many


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.float64()])
def test_memory_is_flat_where_a_key_is_one_throughout(kind: pa.DataType) -> None:
    """NaNs are one key, whatever their bits."""
    value = np.nan if pa.types.is_floating(kind) else "X"

    def keyed(rows: int) -> pa.Table:
        table = ticks(rows)
        once = pa.array([value] * PIECE).cast(kind)
        return table.append_column("k", pa.chunked_array([once.slice(0, len(c)) for c in table["ts"].chunks]))

    few, _ = peak_of(keyed(4 * PIECE), "count", key="k")
    most, many = peak_of(keyed(12 * PIECE), "count", key="k")
    assert most < 1.25 * few + 100 * many


def test_of_two_keys_none_is_taken_for_the_other() -> None:
    """The second key comes in the last row alone."""
    table = ticks(2 * PIECE)
    for one, other in ((1.0, 2.0), (0.0, None), (np.nan, 0.0), ("a", "b")):
        last = pa.array([other], pa.string() if one == "a" else pa.float64())
        column = pa.chunked_array(
            [pa.array([one], last.type).take(pa.array(np.zeros(2 * PIECE - 1, np.int64))), last]
        )
        keyed = table.append_column("k", column)
        found = ag.sase("PATTERN SEQ(E a, E b) WITHIN 2").match(keyed, time="ts", key="k", output="count")
        assert found.num_rows == 2 * PIECE - 2


class Counted:
    """How often engines ask for arrays, and for longer ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        for name in ("array", "longer"):
            monkeypatch.setattr(Host, name, self.counting(getattr(Host, name)))

    def counting(self, right):
        def counted(*args, **named):
            self.calls += 1
            return right(*args, **named)

        return counted


@pytest.mark.parametrize("output", ["all", "count"])
def test_buffers_are_used_again_within_an_evaluation(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One key or many: once the arrays are as long as the window needs, no more are asked for."""
    counted = Counted(monkeypatch)
    table = ticks(4 * PIECE)
    alone = np.zeros(table.num_rows, np.int8)
    alone[0] = 1  # a second key: so it is not matched in slices
    keyed = table.append_column("k", pa.array(alone))
    calls = []
    for rows in (PIECE, 4 * PIECE):
        counted.calls = 0
        QUERY.match(keyed.slice(0, rows), time="ts", key="k", output=output)
        calls.append(counted.calls)
    assert calls[1] <= calls[0] + 3  # a longer array now and then, whatever comes
    assert calls[0] < 60


def test_allocations_for_a_million_events_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    QUERY.match(ticks(8 * PIECE), time="ts", output="count")
    assert counted.calls <= 8 * 40
