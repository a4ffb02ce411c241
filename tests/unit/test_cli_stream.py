"""`augury stream`: what `match` finds, as it comes."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import augury as ag
from augury.cli import streaming
from augury.cli.app import app
from augury.cli.matching import Target
from augury.generate import clicks, stock

QUERY = (
    "PATTERN SEQ(view a, cart b) WHERE skip_till_next_match(a, b) WITHIN 10 minutes RETURN a.user, b.ts AS at"
)
ROLES = ["-t", "ts", "--type", "kind", "-k", "user"]


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["stream", *words], env={"COLUMNS": "120"})


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    table = clicks(3000, users=20, seed=3)
    pq.write_table(table, tmp_path / "clicks.parquet")
    rows = ag.sase(QUERY).match(table, time="ts", type="kind", key="user").to_pylist()
    (tmp_path / "expected").write_text(
        "\n".join(sorted(f"{r['a_user']} {r['at'].isoformat()}" for r in rows))
    )
    return tmp_path


def found(told: str) -> list[str]:
    rows = [json.loads(line) for line in told.splitlines()]
    return sorted(f"{r['a_user']} {r['at'].replace('Z', '+00:00')}" for r in rows)


def expected(files: Path) -> list[str]:
    return (files / "expected").read_text().splitlines()


@pytest.mark.parametrize(
    "options", [[], ["--batch", "70"], ["--disorder", "0.3", "--delay", "5 minutes"], ["--speed", "1e9"]]
)
def test_a_replay_finds_what_match_finds(files: Path, options: list[str]) -> None:
    result = run(QUERY, str(files / "clicks.parquet"), *ROLES, *options)
    assert result.exit_code == 0, result.stderr
    assert found(result.stdout) == expected(files)
    assert len(expected(files)) > 100
    assert f"{len(expected(files)):,} matches (3,000 events, " in result.stderr


def test_matches_go_into_a_file(files: Path) -> None:
    out = files / "out.parquet"
    result = run(QUERY, str(files / "clicks.parquet"), *ROLES, "-o", str(out))
    assert result.exit_code == 0, result.stderr
    rows = pq.read_table(out).to_pylist()
    assert sorted(f"{r['a_user']} {r['at'].isoformat()}" for r in rows) == expected(files)
    assert result.stdout == ""
    assert run(QUERY, str(files / "clicks.parquet"), *ROLES, "-o", str(out)).exit_code == 2


def test_what_is_late_is_counted(files: Path) -> None:
    words = [QUERY, str(files / "clicks.parquet"), *ROLES, "--late", "0.1", "--batch", "10"]
    result = run(*words)
    assert result.exit_code == 0
    late = int(result.stderr.partition(" events, ")[2].partition(" late")[0])
    assert 100 < late < 350
    assert "late" not in run(*words, "--lateness", "1 day").stderr


def test_a_folder_is_followed_as_it_grows(files: Path) -> None:
    table, folder = pq.read_table(files / "clicks.parquet"), files / "landing"
    folder.mkdir()

    def land() -> None:
        for number in range(3):
            time.sleep(0.2)
            pq.write_table(table.slice(1000 * number, 1000), folder / f"{number}.parquet")

    thread = threading.Thread(target=land)
    thread.start()
    result = run(QUERY, str(folder), *ROLES, "--follow", "--idle", "1.5")
    thread.join()
    assert result.exit_code == 0, result.stderr
    assert found(result.stdout) == expected(files)


def test_a_folder_that_stays_empty_is_told(tmp_path: Path) -> None:
    result = run(QUERY, str(tmp_path), *ROLES, "--follow", "--idle", "0.1")
    assert result.exit_code == 4
    assert "none came in 0.1 seconds" in result.stderr


def test_an_interruption_keeps_what_was_found(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(streaming.clock, "sleep", sleep)
    folder = files / "landing"
    folder.mkdir()
    (files / "clicks.parquet").rename(folder / "clicks.parquet")
    out = files / "out.jsonl"
    result = run(QUERY, str(folder), *ROLES, "--follow", "-o", str(out))
    assert result.exit_code == 130
    assert 100 < len(out.read_text().splitlines()) <= len(expected(files))
    assert "matches in" in result.stderr


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["--follow", "--speed", "3"], "--follow takes events as they come", 2),
        (["--idle", "3"], "--idle says when --follow ends", 2),
        (["--speed", "fast"], "no number above 0", 2),
        (["--late", "0.1", "--delay", "soon"], "--delay 'soon' is no length of time of ts", 2),
        (
            ["--lateness", "12"],
            "--lateness '12' is no length of time of ts; write --lateness '30 seconds'",
            2,
        ),
        (["--output", "compressed", "-f", "csv"], "CSV cannot hold compressed", 2),
        (["--plan", "fastest"], "not known", 3),
    ],
)
def test_what_does_not_go_together_is_told(files: Path, words: list[str], says: str, code: int) -> None:
    result = run(QUERY, str(files / "clicks.parquet"), *ROLES, *words)
    assert says in result.stderr.replace("\n", " ")
    assert result.exit_code == code


def test_bad_rows_are_refused_or_dropped(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1, None, 2], "x": [1, 2, 3]}), tmp_path / "x.parquet")
    words = ["PATTERN SEQ(x a, x b)", str(tmp_path / "x.parquet"), "-t", "ts"]
    refused = run(*words)
    assert refused.exit_code == 4
    assert "1 row has no time" in refused.stderr
    dropped = run(*words, "--bad-rows", "drop")
    assert dropped.exit_code == 0, dropped.stderr
    assert len(dropped.stdout.splitlines()) == 1


# ------------------------------------------------------------------ the live table


def drawn(run: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(streaming.picture(run))
    return out.getvalue()


def test_the_live_table_tells_how_it_goes() -> None:
    table = stock(500, symbols=3)
    query = ag.sase(
        "PATTERN SEQ(Stock a, Stock b) WHERE strict_contiguity(a, b) WITHIN 5 RETURN a.symbol AS s, b.price AS p"
    )
    one = streaming._Run(
        query.matcher(table.schema, time="ts", type="kind"), 100, Target(None, None, False, 5)
    )
    assert "matches" in drawn(one)
    one._take(table, None)
    head, figures, _, names, *rows = drawn(one).splitlines()
    assert head.split() == [
        "events",
        "events/s",
        "matches",
        "matches/s",
        "lag",
        "live",
        "runs",
        "events",
        "kept",
        "state",
        "late",
    ]
    assert figures.split()[0] == "500"
    assert figures.split()[2] == str(one.matches)
    assert figures.split()[4] == "100"
    assert one.matches > 300
    assert names.split() == ["match_start", "match_end", "s", "p"]
    assert len(rows) == 5


def test_rates_are_those_of_the_last_seconds() -> None:
    now = 0.0
    figures = streaming.Figures(now=lambda: now)
    for _ in range(20):
        now += 1
        figures.take(1000, 0)
    assert figures.rates()[0] == pytest.approx(1000)
    for _ in range(10):
        now += 1
        figures.take(10, 5)
    assert figures.rates()[0] == pytest.approx(10)
    assert len(figures.marks) < 10
