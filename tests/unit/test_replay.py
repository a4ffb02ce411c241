"""Streams that arrive again: the same rows in the same order for whoever asks, and as many as the clock says."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import augury as ag
from augury import generate, replay
from augury.replay import Arrivals, Arriving, Clock, Generated, Recorded

CLICKS = Generated("clicks", 3000, 5, (("users", 7),))
DISTURBED = Arriving(CLICKS, disorder=0.2, late=0.05, duplicates=0.1, delay=60_000_000, seed=3)


def whole(arriving: Arriving) -> pa.Table:
    return pa.concat_tables(arriving.tables())


@pytest.fixture
def parts_of_500(monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(name: str, rows: int, **named: Any) -> Any:
        return made(name, rows, part=500, **named)

    made = generate.stream
    monkeypatch.setattr(generate, "stream", stream)


def test_what_is_generated_is_what_generate_makes() -> None:
    assert whole(Arriving(CLICKS)).equals(generate.clicks(3000, users=7, seed=5))
    parts = generate.disturbed(
        generate.stream("clicks", 3000, seed=5, users=7),
        delay=60_000_000,
        disorder=0.2,
        late=0.05,
        duplicates=0.1,
        seed=3,
    )
    assert whole(DISTURBED).equals(pa.concat_tables(parts))


@pytest.mark.usefixtures("parts_of_500")
@pytest.mark.parametrize("arriving", [Arriving(CLICKS), DISTURBED])
def test_rows_have_the_same_numbers_for_whoever_asks(arriving: Arriving) -> None:
    table, arrivals = whole(arriving), Arrivals(arriving)
    rng = np.random.default_rng(0)
    for _ in range(40):
        start, end = sorted(rng.integers(0, table.num_rows + 200, 2).tolist())
        found = pa.concat_tables([table.schema.empty_table(), *arrivals.between(start, end)])
        assert found.equals(table.slice(start, end - start))


@pytest.mark.usefixtures("parts_of_500")
@pytest.mark.parametrize("arriving", [Arriving(CLICKS), DISTURBED])
def test_the_clock_says_how_many_rows_are_there(arriving: Arriving) -> None:
    table = whole(arriving)
    reached = np.maximum.accumulate(table["ts"].cast(pa.int64()).to_numpy())
    now = 100.0
    clock = Clock(arriving, 60.0, now=lambda: now)
    start = clock.there(0)
    assert start == 1
    for passed in (0.5, 0.5, 7.0, 0.0, 30.0):
        now += passed
        expected = int(np.searchsorted(reached, reached[0] + (now - 100) * 60_000_000, side="right"))
        assert clock.there(0) == clock.there(start) == expected
        assert clock.there(start, 3) == min(start + 3, expected)
        start = expected
    assert 1 < start < table.num_rows
    now += 1e9
    assert clock.there(start) == clock.total == table.num_rows
    assert Clock(arriving).there(10) == table.num_rows


def test_who_goes_on_later_goes_on_at_the_pace_of_then() -> None:
    now = 0.0
    clock = Clock(Arriving(Generated("stock", 1000)), 10.0, now=lambda: now)
    assert clock.there(500) == 501
    now += 2
    assert clock.there(501) == 521
    assert clock.there(990) == 990


def test_a_stream_without_an_end_has_none() -> None:
    arriving = Arriving(Generated("stock"))
    assert Clock(arriving).total is None
    assert Clock(arriving).there(0) is None
    assert Clock(arriving).there(7, 5) == 12
    first = next(Arrivals(arriving).between(0, 10))
    assert first.num_rows == 10


# ------------------------------------------------------------------ files


TIMES = [
    pa.array([3, 1, 2, 1], pa.int32()),
    pa.array([dt.date(2024, 1, d) for d in (3, 1, 2, 1)]),
    pa.array([3_000, 1_000, 2_000, 1_000], pa.timestamp("ms", "Europe/Vienna")),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda t: str(t.type))
@pytest.mark.parametrize("written", ["parquet", "arrow"])
def test_files_are_replayed_in_order_of_time(tmp_path: Path, times: pa.Array, written: str) -> None:
    table = pa.table({"at": times, "n": range(4)})
    if written == "parquet":
        pq.write_table(table, tmp_path / "x.parquet")
    else:
        pyarrow.feather.write_feather(table, str(tmp_path / "x.arrow"))
    recorded = Recorded(str(next(tmp_path.iterdir())), "at")
    assert whole(Arriving(recorded))["n"].to_pylist() == [1, 3, 2, 0]
    disturbed = Arriving(recorded, disorder=0.5, duplicates=1.0, delay=2)
    assert sorted(whole(disturbed)["n"].to_pylist()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_folder_is_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = generate.clicks(900, seed=1)
    (tmp_path / "day=2").mkdir()
    for name, start in (("a.parquet", 0), ("b.parquet", 300), ("day=2/c.parquet", 600)):
        pq.write_table(stream.slice(start, 300), tmp_path / name)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "_temporary.parquet").write_text("half")
    recorded = Recorded(str(tmp_path), "ts")
    monkeypatch.setattr(replay, "PART", 100)
    parts = list(recorded.parts())
    assert [p.num_rows for p in parts] == [100] * 9
    assert pa.concat_tables(parts).equals(stream)


def test_what_cannot_be_replayed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"at": [1, None], "name": ["a", "b"]}), path)
    with pytest.raises(ag.DataError, match="1 row has no time in the column at"):
        whole(Arriving(Recorded(str(path), "at")))
    with pytest.raises(ag.QueryError, match="no column ts"):
        Recorded(str(path), "ts").schema()
    with pytest.raises(ag.QueryError, match="time column name is a string"):
        Recorded(str(path), "name").schema()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ag.DataError, match="holds no parquet"):
        Recorded(str(tmp_path / "empty"), "ts").schema()
    with pytest.raises(ag.DataError, match="cannot be read"):
        Recorded(str(tmp_path / "none.parquet"), "ts").schema()
    path.write_text("no parquet")
    with pytest.raises(ag.DataError, match="cannot be read"):
        Recorded(str(path), "ts").schema()
    with pytest.raises(ag.QueryError, match="cannot be made"):
        whole(Arriving(Generated("clicks", 10, 0, (("symbols", 3),))))
    with pytest.raises(ag.QueryError, match="late=2"):
        whole(Arriving(CLICKS, late=2, delay=1))


@pytest.mark.parametrize(
    ("given", "type_", "found"),
    [
        ("12", pa.int16(), 12),
        (None, pa.int64(), 100),
        ("30 seconds", pa.timestamp("ns"), 30 * 10**9),
        ("1500 milliseconds", pa.timestamp("s"), 2),
        (None, pa.timestamp("us"), 60 * 10**6),
        ("25 hours", pa.date32(), 2),
        ("1 day", pa.date64(), 86_400_000),
    ],
)
def test_a_delay_is_in_the_units_of_the_column(given: str | None, type_: pa.DataType, found: int) -> None:
    assert replay.delay_of(given, type_) == found


def test_a_delay_that_is_none_is_told() -> None:
    with pytest.raises(ag.QueryError, match="no length of time from 0 on for the time column ts"):
        replay.delay_of("3 hours", pa.int64())
    with pytest.raises(ag.QueryError, match="no length of time"):
        replay.delay_of("3", pa.timestamp("us"))
