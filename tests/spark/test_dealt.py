"""How rows are dealt to tasks and held there: the workers' own code without Spark in between, in very small pieces."""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.runtime import spark_layout, spark_pack, spark_shelf, spark_worker
from augury.runtime.options import Options
from augury.runtime.slices import values_of
from augury.runtime.spark_batch import TOLD_BY, layout_of
from augury.runtime.spark_layout import GROUPS, Layout, by_partition
from augury.runtime.spark_pack import PACKED, Pack, is_hashed_here
from augury.runtime.spark_shards import places
from augury.runtime.spark_shelf import Part, Shelf, by_time
from augury.runtime.spark_worker import Task
from conformance.compare import table_difference
from conformance.queries import ANY, NEXT, STRICT, seeded_case
from spark.frames import as_spark_has_it

OUTPUTS = ("all", "non_overlap", "longest", "count", "compressed")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of five rows, slices of four, and no memory for blobs."""
    monkeypatch.setattr(spark_pack, "CHUNK", 5)
    monkeypatch.setattr(spark_worker, "SLICE", 4)
    monkeypatch.setattr(spark_shelf, "ROOM", 0)
    monkeypatch.setattr(spark_layout, "SPAN", 3)
    monkeypatch.setattr(spark_layout, "GROUPS", 2)


def in_tasks(
    query: ag.Query, table: pa.Table, arguments: dict[str, Any], tasks: int, together: int
) -> tuple[pa.Table, Layout]:
    """The result as Spark makes it of rows that lie in two places, `together` neighbouring tasks in one."""
    program = query._program(table.schema, Options(**arguments))
    layout = layout_of(program, tasks)
    reads = pa.schema([table.schema.field(name) for name in program.reads])
    rows = table.select(program.reads)
    here = tuple(name for name in program.partition if is_hashed_here(reads.field(name).type))
    others = [name for name in program.partition if name not in here]
    if others:
        columns = [values_of(table.column(name), program.columns, name) for name in others]
        numbers: dict[Any, int] = {}  # keys that are equal have one
        keys = [numbers.setdefault(key, len(numbers)) for key in zip(*columns, strict=True)]
        hashes = [random.Random(key).getrandbits(64) - (1 << 63) for key in keys]
        rows = rows.append_column("hash", pa.array(hashes, pa.int64()))
    pack = Pack(program, reads, layout, bool(others), here, places(layout.tasks))
    sent: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    half = rows.num_rows // 2
    for part in (rows.slice(half), rows.slice(0, half)):
        for batch in pack(part.to_batches(max_chunksize=3)):
            assert batch.schema == PACKED
            for row in range(batch.num_rows):
                sent[batch.column(1)[row].as_py() // together].append(batch.slice(row, 1))
    task = Task(program, reads, layout, TOLD_BY.get(program.cutting().cut, ""))
    found = [pa.Table.from_batches(task(batches), program.gives) for batches in sent.values()]
    return pa.concat_tables([*found, program.gives.empty_table()]), layout


def asked(seed: str, **wanted: Any) -> tuple[ag.Query, pa.Table, dict[str, Any]] | None:
    case = seeded_case(seed, **wanted)
    table = as_spark_has_it(case.table)
    if table is None or table.column(case.arguments["time"]).null_count:
        return None
    output = random.Random(seed).choice(OUTPUTS)
    # Matches that differ in the sign of a zero alone have one identity, and are numbered as they are reported.
    named = output not in ("count", "compressed") and not any(map(_has_minus_zero, table.columns))
    arguments = {**case.arguments, "output": output, "match_id": named}
    return ag.sase(case.text), table, arguments


def _has_minus_zero(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and any(str(v) == "-0.0" for v in column.to_pylist())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("part", range(4))
def test_tasks_find_what_the_definition_finds(part: int) -> None:
    cut, many = Counter[str](), 0
    for number in range(150):
        wanted = {"strategies": (ANY, NEXT, STRICT), "partition": (), "key": False} if number % 2 else {}
        found = asked(f"dealt/{part}/{number}", **wanted)
        if found is None:
            continue
        query, table, arguments = found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ag.DataWarning)
            expected = query.match(table, plan="definition", **arguments).replace_schema_metadata(None)
        got, layout = in_tasks(query, table, arguments, 1 + number % 5, 1 + number % 3)
        if arguments["output"] == "compressed":
            expected, got = ag.expand(expected, query), ag.expand(got, query)
        said = table_difference(expected, got)
        assert said is None, f"{number}: {arguments}\n{query.text}\n{said}"
        cut["time" if layout.length else "key" if layout.groups > 1 else "one"] += 1
        many += expected.num_rows
    assert min(cut["time"], cut["key"]) > 20
    assert many > 100


@pytest.mark.parametrize("tasks", [1, 3, 200, 1000])
def test_every_row_is_dealt_once_by_its_key_and_in_order(tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    times, hashes = rng.integers(0, 50, 5_000), rng.integers(-(2**63), 2**63, 5_000)
    layout = by_partition(tasks)
    rows, ends = layout.dealt(times, hashes)
    assert rows is not None
    assert sorted(rows.tolist()) == list(range(5_000))
    where = np.searchsorted(ends, np.arange(5_000), "right")  # the group that each place is in
    for group in set(where.tolist()):
        assert (np.diff(times[rows[where == group]]) >= 0).all()
    task = where // layout.groups
    of_all = dict(zip(hashes[rows].tolist(), task.tolist(), strict=True))
    some, ends = layout.dealt(times[:1000], hashes[:1000])
    of_some = zip(
        hashes[some].tolist(), np.searchsorted(ends, np.arange(1000), "right") // layout.groups, strict=True
    )
    assert all(of_all[h] == t for h, t in of_some), "the task hangs on the key alone"
    assert len(set(task.tolist())) > tasks * 0.5
    assert layout.groups <= GROUPS


@pytest.mark.parametrize(("before", "after"), [(0, 7), (7, 0), (7, 7)])
def test_a_task_has_all_that_is_around_its_slices(before: int, after: int) -> None:
    rng = np.random.default_rng(before)
    times = rng.integers(-1_000, 1_000, 3_000)
    layout = Layout(5, 1, 8 * (before + after), before, after)
    rows, ends = layout.dealt(times, None)
    assert rows is not None
    assert len(rows) < 1.2 * len(times)
    for task in range(5):
        begin = ends[task - 1] if task else 0
        has = rows[begin : ends[task]]
        assert len(set(has.tolist())) == len(has)
        assert (np.diff(times[has]) >= 0).all()
        own = times[layout.owner(times) == task]
        needs = {
            row
            for row, time in enumerate(times.tolist())
            if bool(((own - before <= time) & (time <= own + after)).any())
        }
        assert needs <= set(has.tolist())


def test_the_ends_of_time_are_dealt_too() -> None:
    times = np.array([-(2**63), -(2**63) + 1, -1, 0, 2**63 - 2, 2**63 - 1])
    layout = Layout(3, 1, 800, 0, 100)
    rows, _ = layout.dealt(times, None)
    assert rows is not None
    assert set(rows.tolist()) == set(range(6))


def test_parts_come_in_order_of_time_and_equal_times_together() -> None:
    rng = np.random.default_rng(0)
    parts = [
        Part(0, pa.record_batch({"ts": np.sort(rng.integers(0, 200, size))}))
        for size in (300, 1, 500, 40, 700)
    ]
    newest, rows = -1, []
    for some in by_time(parts, "ts", 100):
        times = np.concatenate([part.rows.column("ts").to_numpy() for part in some])
        assert times.min() > newest
        newest = int(times.max())
        rows.append(len(times))
    assert sum(rows) == 1541
    assert max(rows) < 130


def test_a_shelf_without_room_reads_the_same_from_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", None, "ä"], "x": [[1], None, []]})
    blob = table.to_batches()[0].serialize()
    ends = np.array([1, 3], "<i4").tobytes()
    packed = pa.record_batch([[0], [0], [ends], [blob.to_pybytes()]], schema=PACKED)
    for room in (0, 1 << 20):
        monkeypatch.setattr(spark_shelf, "ROOM", room)
        with Shelf(table.schema, 2) as shelf:
            shelf.put(packed)
            shelf.put(packed)
            assert (shelf.file is None) == (room > 0)
            groups = [[part.rows.to_pylist() for part in parts] for parts in shelf.groups_of_rows(1)]
            whole = [len(part.rows) for parts in shelf.groups_of_rows(6) for part in parts]
        rows = table.to_pylist()
        assert groups == [[rows[:1], rows[:1]], [rows[1:], rows[1:]]]
        assert whole == [3, 3]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
)
def test_keys_that_are_hashed_here(kind: pa.DataType) -> None:
    keys = (
        pa.array([-7, None, 0, 7, 100] * 40, pa.int64())
        .cast(pa.int32() if kind == pa.date32() else pa.int64())
        .cast(kind)
    )
    table = pa.table({"ts": range(200), "kind": ["A", "B", "A", "A"] * 50, "k": keys})
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) WITHIN 50")
    for key in ("k", ["k", "kind"]):
        arguments = {"time": "ts", "type": "kind", "key": key}
        expected = query.match(table, **arguments)
        got, _ = in_tasks(query, table, arguments, 3, 1)
        assert table_difference(expected, got) is None
        assert (expected.num_rows > 0) == (key == "k")
