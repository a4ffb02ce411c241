"""How rows are dealt to tasks and held there: the worker's own code, without Spark between, in very small pieces."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.runtime import spark_layout, spark_pack, spark_shelf, spark_worker
from augury.runtime.options import Options
from augury.runtime.spark_batch import TOLD_BY
from augury.runtime.spark_layout import Layout, by_partition, by_time, places, spark_hash
from augury.runtime.spark_pack import PACKED, Pack
from augury.runtime.spark_shelf import Part, Shelf
from augury.runtime.spark_worker import Task
from conformance import corpus
from conformance.compare import table_difference
from conformance.queries import ANY, CONTIGUITY, NEXT, STRICT, seeded_case
from spark.frames import as_spark_has_it

OUTPUTS = ("all", "non_overlap", "longest", "count")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of five rows, slices of four, and no memory for blobs."""
    monkeypatch.setattr(spark_pack, "CHUNK", 5)
    monkeypatch.setattr(spark_worker, "SLICE", 4)
    monkeypatch.setattr("augury.runtime.slices.Sliced.__init__.__defaults__", (4,), raising=False)
    monkeypatch.setattr(spark_shelf, "ROOM", 0)
    monkeypatch.setattr(spark_layout, "SPAN", 3)


def in_tasks(query: ag.Query, table: pa.Table, arguments: dict[str, Any], tasks: int, together: int) -> pa.Table:
    """The result as Spark makes it, `together` neighbouring tasks in one."""
    program = query.program(table.schema, Options(**arguments))
    cutting = program.cutting()
    layout = by_partition(tasks) if program.partition else Layout()
    if not program.partition and cutting.cut in TOLD_BY:
        layout = by_time(tasks, cutting) or layout
    reads = pa.schema([table.schema.field(name) for name in program.reads])
    rows = table.select(program.reads)
    if program.partition:
        keys = [repr(ag_key) for ag_key in zip(*(_keys(table.column(n)) for n in program.partition), strict=True)]
        hashes = [random.Random(key).getrandbits(64) - (1 << 63) for key in keys]
        rows = rows.append_column("hash", pa.array(hashes, pa.int64()))
    pack = Pack(program, reads, layout, bool(program.partition), places(layout.tasks))
    sent: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    half = rows.num_rows // 2
    for part in (rows.slice(0, half), rows.slice(half)):
        for batch in pack(part.to_batches(max_chunksize=3)):
            assert batch.schema == PACKED
            for row in range(batch.num_rows):
                sent[batch.column(1)[row].as_py() // together].append(batch.slice(row, 1))
    task = Task(program, reads, layout, TOLD_BY.get(cutting.cut, ""))
    found = [pa.Table.from_batches(list(task(b)), program.gives) for b in sent.values()]
    return pa.concat_tables([*found, program.gives.empty_table()])
