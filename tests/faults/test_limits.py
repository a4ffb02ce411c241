"""Work that outgrows the machine stops with both numbers, the place and the remedy; and it can be stopped by hand."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.resolve import output_schema, resolve
from augury.runtime.by_engine import Engine, How
from augury.runtime.room import Room
from augury.schema import Columns, roles_of


def engine(text: str, table: pa.Table, output: str, how: How) -> Engine:
    columns = Columns.of(table.schema)
    query = resolve(ag.sase(text).pattern, columns, roles_of(columns, "ts", None, "k"))
    schema = output_schema(query, table.schema, output, match_id=False, time=pa.int64())
    return Engine(query, schema, output, how)


def rising(rows: int) -> pa.Table:
    return pa.table({"ts": np.arange(rows), "k": pa.array(["x"] * rows), "p": np.arange(rows)})


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("output", "words"),
    [("all", "nodes of the match graph exceed"), ("count", "counts of matches by their first event exceed")],
)
def test_a_graph_and_counts_have_a_limit_that_names_both_numbers_and_the_key(output, words, fast) -> None:
    table = rising(4000)
    asked = engine("PATTERN SEQ(E+ a[], E b) WHERE a[i].p > a[i-1].p AND b.p < 0", table, output,
                   How(max_nodes=2000, fast=fast))  # fmt: skip
    with pytest.raises(ag.LimitError, match=rf"^\d+ {words} max_nodes=2000 \(key k='x'\); narrow WITHIN"):
        asked.whole(table)


def test_runs_have_a_limit_that_names_the_key() -> None:
    query = ag.sase("PATTERN SEQ(E a, E b) WHERE a.p > b.p")
    with pytest.raises(ag.LimitError, match=r"\d+ live runs exceed max_runs=100 \(key k='x'\)"):
        query.match(rising(300), time="ts", key="k", max_runs=100)


def test_a_result_that_no_memory_holds_stops_and_says_what_to_ask_instead() -> None:
    table = rising(400)
    asked = engine("PATTERN SEQ(E+ a[], E b)", table, "all", How())
    asked.room = Room(limit=50_000_000)
    with pytest.raises(ag.LimitError, match=r"may take 0\.1 GB.*output=\"count\" or \"compressed\""):
        asked.whole(table)


HEAVY = """
import os, signal, threading
import numpy as np, pyarrow as pa
import augury as ag
rows = {rows}
table = pa.table({{"ts": np.arange(rows), "p": np.arange(rows, 0, -1)}})
query = ag.sase("PATTERN SEQ(E a, E b, E c) WHERE a.p < b.p AND b.p < c.p")
query.match(table.slice(0, {warm}), time="ts", output="count")
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    query.match(table, time="ts", output="count", max_runs=10**9)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize(("rows", "warm"), [(900_000, 100_000), (90_000, 10)])
def test_an_interrupt_stops_a_compiled_kernel_and_an_uncompiled_one(rows, warm) -> None:
    """Each event is compared with all before it: minutes of work without an end in sight."""
    done = subprocess.run(
        [sys.executable, "-c", HEAVY.format(rows=rows, warm=warm)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout == "stopped\n", done.stderr


PAIRS = "PATTERN SEQ(E a, E b)"  # many matches, few of them of one event
MANY = "PATTERN SEQ(E+ a[], E b)"  # of n events there are 2**n matches, about


def limited(text: str, output: str, how: How, *, match_id: bool = False, room: int = 50_000_000) -> Engine:
    table = rising(8)
    columns = Columns.of(table.schema)
    query = resolve(ag.sase(text).pattern, columns, roles_of(columns, "ts", None, "k"))
    schema = output_schema(query, table.schema, output, match_id=match_id, time=pa.int64())
    asked = Engine(query, schema, output, how, match_id=match_id)
    asked.room = Room(limit=room)
    return asked


@pytest.mark.parametrize("plan", ["eager", "backtrack"])
def test_matches_that_wait_for_their_names_take_room_too(plan: str) -> None:
    """A match_id counts equal matches, so all of them are held before the first row is made."""
    asked = limited(PAIRS, "all", How(plan, fast=True), match_id=True)
    with pytest.raises(
        ag.LimitError, match=r"^the first \d+ matches take 0\.1 GB, and results may take 0\.1 GB"
    ):
        asked.whole(rising(3000))


def test_matches_that_are_held_to_choose_among_them_take_room() -> None:
    asked = limited(MANY, "non_overlap", How("backtrack", fast=True))
    with pytest.raises(ag.LimitError, match=r"the first \d+ matches take"):
        asked.whole(rising(400))


def test_compressed_rows_take_room() -> None:
    """Without WITHIN each event's graph holds all before it: small beside the matches, and still n * n."""
    asked = limited(MANY, "compressed", How(fast=True))
    with pytest.raises(ag.LimitError, match=r"the first \d+ rows take 0\.\d GB"):
        asked.whole(rising(4000))


@pytest.mark.parametrize("match_id", [False, True])
def test_expanding_takes_room(match_id, monkeypatch) -> None:
    table = ag.sase(PAIRS).match(rising(1200), time="ts", output="compressed")
    monkeypatch.setattr("augury.runtime.room.memory", lambda: 50_000_000)
    with pytest.raises(ag.LimitError, match=r"the first \d+ matches take"):
        ag.expand(table, match_id=match_id)


def test_counting_what_must_be_listed_holds_no_list() -> None:
    """An absence that asks each match: millions of them, counted in the memory of the events."""
    asked = limited("PATTERN SEQ(E a, ~(E n), E b) WHERE n.p < 3 AND n.p = b.p + 1", "count", How(fast=True))
    asked.whole(rising(100))
    peaks = []
    for rows in (2500, 5000):
        tracemalloc.start()
        try:
            found = asked.whole(rising(rows))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert sum(found["count"].to_pylist()) == rows * (rows - 1) // 2
    assert peaks[1] < peaks[0] + 15_000_000  # the numbers of nine million more last events would be 75 MB


def test_an_event_that_completes_more_matches_than_memory_holds_stops_before_they_are_listed() -> None:
    """Of the last event alone there would be 2**399."""
    table = rising(400)
    asked = engine("PATTERN SEQ(E+ a[], E b) WHERE b.p = 399", table, "all", How())
    asked.room = Room(limit=50_000_000)
    with pytest.raises(
        ag.LimitError, match=r"that one event completes have more than \d+ events.*0\.1 GB; narrow"
    ):
        asked.whole(table)
    assert asked.room.rows == 0
