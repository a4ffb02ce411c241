"""Compiled kernels are kept on disk where that can be; where it cannot, queries are answered all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import numba
import numpy as np
import pyarrow as pa

import augury as ag
from augury.engines import compiling

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ASKED = """
import warnings
import numpy as np, pyarrow as pa
import augury as ag
warnings.simplefilter("error" if {strict} else "always")
table = pa.table({{"ts": np.arange(100_000), "x": np.arange(100_000) % 7}})
print(ag.sase("PATTERN SEQ(E a, E b) WHERE a.x + 5 < b.x WITHIN 7").match(table, time="ts", output="count").num_rows)
"""


def process(cache: str, *, strict: bool) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ASKED.format(strict=strict)],
        env={**os.environ, "AUGURY_CACHE": cache, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_meet_at_an_empty_cache_share_it(tmp_path: Path) -> None:
    asked = [process(str(tmp_path / "cache"), strict=True) for _ in range(3)]
    for one in asked:
        out, err = one.communicate(timeout=240)
        assert out == "14285\n", err
    kept = [path.name for path in (tmp_path / "cache").iterdir() if path.name != "__pycache__"]
    assert len(kept) == 1, "half-written files are left"


def test_where_nothing_can_be_written_queries_are_answered(tmp_path: Path) -> None:
    """A file stands where the folder would be."""
    (tmp_path / "file").write_text("")
    out, err = process(str(tmp_path / "file" / "cache"), strict=False).communicate(timeout=240)
    assert out == "14285\n", err
    assert err.count("compiled kernels cannot be kept in") == 1
    assert "set AUGURY_CACHE" in err


def test_where_numba_finds_no_folder_it_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right, ways = numba.njit, []

    def njit(*functions, **options):
        if options.get("nogil"):  # ours
            ways.append(options.get("cache", False))
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return right(*functions, **options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiling._jitted(lambda n: n + 1)(1) == 2
    assert ways == [True, False]


def test_threads_ask_one_query_at_once() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"ts": np.arange(120_000), "x": rng.integers(0, 1000, 120_000)})
    query = ag.sase(
        "PATTERN SEQ(E+ a[], E b) WHERE skip_till_next_match(a[], b) { a[i].x > a[i-1].x AND b.x < 9 } WITHIN 9"
    )
    parts = {rows: table.slice(0, rows) for rows in (1000, 120_000)}
    wanted = {rows: query.match(part, time="ts", match_id=True) for rows, part in parts.items()}
    found: list[tuple[int, pa.Table]] = []

    def ask(rows: int) -> None:
        found.append((rows, query.match(parts[rows], time="ts", match_id=True)))

    threads = [threading.Thread(target=ask, args=(rows,)) for rows in (*parts, *parts, *parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(threads)
    assert all(wanted[rows].equals(result) for rows, result in found)
