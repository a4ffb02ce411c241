"""`augury match --spark` gives what it gives without; here in the tests' session, which is the active one."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from augury.cli.app import app
from augury.generate import rfid
from conformance.compare import table_difference

THEFT = """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE   skip_till_next_match(a, c) { [tag_id] }
WITHIN  12 hours"""
PAIR = "PATTERN SEQ(A a, B b) WITHIN 3"
ROLES = ["--time", "ts", "--type", "kind"]

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, stdin: bytes | None = None) -> Any:
    return CliRunner().invoke(app, list(words), input=stdin, env={"COLUMNS": "120"})


def same(*words: str, rows: int | None = None) -> pa.Table:
    """Asserts that the words find the same rows, of the same types, with `--spark` and without."""
    tables = []
    for name, spark in (("here", []), ("spark", ["--spark"])):
        result = run("match", *words, *spark, "-o", f"{name}.arrow", "--overwrite")
        assert result.exit_code == 0, result.stderr
        tables.append(pa.ipc.open_file(f"{name}.arrow").read_all())
    here, there = tables
    assert there.schema.equals(here.schema, check_metadata=True)
    assert table_difference(here, there) is None
    assert rows is None or here.num_rows == rows
    return here


def read_by_spark(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each call handed to Spark's own reader."""
    from augury.cli import on_spark

    told: list[int] = []
    reads = on_spark.parquet_frame
    monkeypatch.setattr(on_spark, "parquet_frame", lambda *a: (told.append(len(a[1])), reads(*a))[1])
    return told


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_the_same_rows_of_every_format(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = read_by_spark(monkeypatch)
    made = run("generate", "rfid", "--rows", "300", "--theft", "0.3", "-o", f"r.{ending}")
    assert made.exit_code == 0, made.stderr
    same(THEFT, f"r.{ending}", *ROLES, "--match-id", "--key", "tag_id")
    assert told == ([1] if ending == "parquet" else [])


def test_files_of_many_kinds_of_columns_in_folders_that_tell_some(monkeypatch: pytest.MonkeyPatch) -> None:
    told = read_by_spark(monkeypatch)
    for place, day in enumerate(("2024-01-01", "__HIVE_DEFAULT_PARTITION__")):
        Path(f"d/day={day}/shop=é%20{place}").mkdir(parents=True)
        table = pa.table(
            {
                "ts": pa.array([place, 10], pa.timestamp("ms")),
                "kind": ["A", "B"],
                "at": pa.array([5, None], pa.timestamp("us", "Europe/Berlin")),
                "price": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
                "small": pa.array([1, -1], pa.int8()),
                "list": pa.array([[{"x": 1.5}], None]),
                **({"only": [1, 2]} if place else {}),
            }
        )
        pq.write_table(table, f"d/day={day}/shop=é%20{place}/part.parquet")
    found = same("PATTERN SEQ(A a, B b) WITHIN 1 day", "d", *ROLES, rows=4)
    assert told == [2]
    assert {row["shop"] for row in found["a"].to_pylist()} == {"é 0", "é 1"}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**63, None], pa.uint64()),
        pa.array([7, 2**32 - 1], pa.uint32()),
        pa.array([1, 2], pa.duration("s")),
        pa.array(["x", None]).dictionary_encode(),
        pa.array([1000, 2000], pa.timestamp("ns", "UTC")),
        pa.array([b"ab", None], pa.binary(2)),
        pa.array([1.5, None], pa.float16()),
        pa.array([["x", "y"], None], pa.list_(pa.large_string())),
    ],
    ids=lambda column: str(column.type),
)
def test_types_that_spark_reads_otherwise_go_through_arrow(
    column: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = read_by_spark(monkeypatch)
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["A", "B"], "x": column}), "t.parquet")
    query = f"{PAIR} RETURN a.x, b.x AS later"
    if column.type == pa.uint64():
        result = run("match", query, "t.parquet", *ROLES, "--spark")
        assert result.exit_code == 4
        assert "Spark cannot hold the column x (uint64)" in result.stderr
    else:
        same(query, "t.parquet", *ROLES, rows=1)
    assert told == ([1] if pa.types.is_dictionary(column.type) or pa.types.is_list(column.type) else [])


def test_lists_of_fixed_size_come_back_as_lists() -> None:
    column = pa.array([[1, 2], None], pa.list_(pa.int64(), 2))
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["A", "B"], "x": column}), "t.parquet")
    result = run("match", f"{PAIR} RETURN a.x, b.x AS later", "t.parquet", *ROLES, "--spark", "-f", "jsonl")
    assert json.loads(result.stdout) == {"match_start": 1, "match_end": 2, "a_x": [1, 2], "later": None}


@pytest.mark.parametrize("output", ["non_overlap", "longest", "count", "compressed"])
def test_other_outputs(output: str) -> None:
    pq.write_table(rfid(200, theft=0.3, seed=1), "r.parquet")
    same(THEFT, "r.parquet", *ROLES, "--output", output)


def test_rows_without_a_time_are_told() -> None:
    pq.write_table(pa.table({"ts": [1, None, 2], "kind": ["A", "A", "B"]}), "t.parquet")
    same(PAIR, "t.parquet", *ROLES, "--bad-rows", "drop", rows=1)
    dropped = run("match", PAIR, "t.parquet", *ROLES, "--bad-rows", "drop", "--spark")
    assert "1 row has no time in the column ts and was dropped" in dropped.stderr
    refused = run("match", PAIR, "t.parquet", *ROLES, "--spark")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "1 row has no time in the column ts; mend them, or drop them with --bad-rows drop" in " ".join(
        refused.stderr.split()
    )


def test_what_tasks_say_is_one_line() -> None:
    pq.write_table(pa.table({"ts": range(50), "kind": ["A"] * 49 + ["B"], "x": range(50)}), "t.parquet")
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x"
    result = run("match", query, "t.parquet", *ROLES, "--spark", "--max-runs", "5", "-q")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "exceed --max-runs 5" in result.stderr
    assert not {"Traceback", "java", "py4j"} & set(result.stderr.replace(".", " ").split())


def test_standard_input_and_output() -> None:
    lines = b'{"ts":1,"kind":"A"}\n{"ts":2,"kind":"B"}\n'
    found = run("match", PAIR, "-", *ROLES, "--spark", "-q", stdin=lines)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["match_end"] == 2
    assert found.stderr == ""


def test_tasks_are_counted(spark: Any, connect: Any) -> None:
    from augury.spark.running import tasks_told

    for session in (spark, connect):
        told: list[tuple[int, int]] = []
        with tasks_told(session, lambda done, total, told=told: told.append((done, total))):
            session.range(0, 40, 1, 4).selectExpr("java_method('java.lang.Thread', 'sleep', 20L)").collect()
        assert told
        assert all(0 <= done <= total for done, total in told)
        assert told[-1][1] >= 4
