"""Our own Spark runtime, against itself: what the query costs beside the pipeline it is in, many keys, cores, skew.

`clicks/read` is the pipeline of `clicks/match` with a function that takes what it is given and looks at nothing; `clicks/sorted` is
what one would write by hand in its place: rows that Spark partitions and sorts, and the same function.

Each measurement is a Spark of its own in a process of its own, with as many cores as it says: parquet in and out, one
run after a warm-up on a tenth. `python -m bench.on_spark NAME` is such a process; it prints a JSON object.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import augury as ag
from augury.generate import clicks
from bench.growing import Record
from bench.runner import all_cores, cpu_of_children
from bench.workloads import ABC, FUNNEL, SHORT, letters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROW_GROUP = 1 << 17  # rows: Spark reads a file in parallel by its row groups
ROOT = Path(__file__).resolve().parents[1]
KEYED = {"time": "ts", "type": "kind", "key": "user"}


@dataclass(frozen=True)
class Case:
    """One measurement; its cost per event is compared with another's, where `over` names one."""

    name: str
    rows: int
    data: Callable[[int], pa.Table]
    text: str
    roles: dict[str, Any]
    output: str = "all"
    cores: int = 2
    reads_only: bool = False  # the same pipeline, with a function in it that looks at nothing
    sorted: bool = False  # … and Spark's own partitioning and sorting in the place of ours
    over: str | None = None
    at_most: float | None = None  # seconds per event over those of the other; what must be reached


def cases(*, quick: bool = False) -> list[Case]:
    """All of them, at full or at reduced size."""
    scale = 10 if quick else 1
    funnel = functools.partial(clicks, users=10_000)
    abc = functools.partial(letters, rare=1 / 3)
    many = f"{FUNNEL} RETURN a.ts, b.ts, c.ts"
    return [
        Case("clicks/read", 5_000_000 // scale, funnel, SHORT, KEYED, reads_only=True),
        Case("clicks/sorted", 5_000_000 // scale, funnel, SHORT, KEYED, reads_only=True, sorted=True),
        Case("clicks/match", 5_000_000 // scale, funnel, SHORT, KEYED, over="clicks/read", at_most=1 / 0.7),
        Case("keys/10000", 10_000_000 // scale, functools.partial(tens, keys=10_000), many, KEYED),
        Case(
            "keys/1000000",
            10_000_000 // scale,
            functools.partial(tens, keys=1_000_000 // scale),
            many,
            KEYED,
            over="keys/10000",
            at_most=1.3,
        ),
        Case(
            "unkeyed/1",
            1_000_000 // scale,
            abc,
            f"{ABC} WITHIN 600",
            {"time": "ts", "type": "kind"},
            "count",
            cores=1,
        ),
        Case(
            "unkeyed/2",
            1_000_000 // scale,
            abc,
            f"{ABC} WITHIN 600",
            {"time": "ts", "type": "kind"},
            "count",
            cores=2,
            over="unkeyed/1",
            at_most=1 / 1.6,
        ),
        Case("skew", 11_000_000 // scale, hot, many, KEYED),
    ]


def tens(rows: int, keys: int) -> pa.Table:
    """Events of so many keys in turn: each has rows / keys of them."""
    rng = np.random.default_rng(0)
    kinds = pa.array(["view", "cart", "buy"]).take(pa.array(rng.choice(3, rows, p=[0.6, 0.25, 0.15])))
    times = pa.array(np.arange(rows, dtype=np.int64) * 1000).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "kind": kinds, "user": pa.array(np.arange(rows) % keys)})


def hot(rows: int) -> pa.Table:
    """One key has ten of eleven events; each of a million others (of a tenth as many, at a tenth the size) has one."""
    table = tens(rows, 1)
    users = np.where(np.arange(rows) % 11 == 0, np.arange(rows) // 11 + 1, 0)
    return table.set_column(2, "user", pa.array(users))


def measure(chosen: Iterable[Case]) -> Iterator[Record]:
    """A record of each case, from a process of its own."""
    done: dict[str, Record] = {}
    for case in chosen:
        arguments = [sys.executable, "-m", "bench.on_spark", case.name]
        with all_cores():
            answer = subprocess.run(  # noqa: S603  # ourselves
                arguments, cwd=ROOT, check=True, capture_output=True, text=True
            )
        record: Record = {"workload": f"spark/{case.name}", "system": "augury on spark", "cores": case.cores}
        record |= json.loads(answer.stdout.splitlines()[-1])
        record["events_per_second"] = round(record["events"] / record["seconds"])
        done[case.name] = record
        yield record
        if case.over in done and case.at_most is not None:
            base = done[case.over]
            ratio = (record["seconds"] / record["events"]) / (base["seconds"] / base["events"])
            yield {
                "workload": f"spark/{case.name} over spark/{case.over}",
                "ratio": round(ratio, 3),
                "goal": {"ratio": round(case.at_most, 3)},
                "reached": ratio <= case.at_most,
            }


def _run(case: Case) -> Record:
    """In the process of its own."""
    from unittest.mock import patch

    from augury.runtime import spark_batch, spark_worker

    class Read(spark_worker.Task):
        """Takes all batches, and gives none."""

        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            yield from ()

    def none(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    def asked(df: DataFrame) -> DataFrame:
        if case.sorted:
            key, time_ = case.roles["key"], case.roles["time"]
            return df.repartition(key).sortWithinPartitions(key, time_).mapInArrow(none, "nothing long")
        matched: DataFrame = query.match(df, output=case.output, **case.roles)
        return matched

    query = ag.sase(case.text)
    spark = ag.spark.session(cores=case.cores)
    table = case.data(case.rows)
    with (
        tempfile.TemporaryDirectory(prefix="augury-bench-") as name,
        patch.object(spark_batch, "Task", Read if case.reads_only else spark_worker.Task),
    ):
        folder, out = Path(name), Path(name) / "out"
        seconds, used = 0.0, None
        for rows in (case.rows // 10, case.rows):
            given = folder / f"{rows}.parquet"
            pyarrow.parquet.write_table(table.slice(0, rows), given, row_group_size=ROW_GROUP)
            shutil.rmtree(out, ignore_errors=True)
            begun, cpu = time.perf_counter(), cpu_of_children()
            asked(spark.read.parquet(str(given))).write.parquet(str(out))
            seconds, until = time.perf_counter() - begun, cpu_of_children()
            used = None if cpu is None or until is None else until - cpu
        found = pyarrow.dataset.dataset(out, format="parquet").count_rows() if not case.reads_only else 0
        spark.stop()
    record: Record = {"events": case.rows, "seconds": seconds, "rows": found}
    if used is not None:
        record["cpu_seconds"] = round(used, 2)
    if not case.reads_only:
        expected = query.match(table, output=case.output, **case.roles).num_rows
        record |= {"expected": expected, "agrees": expected == found}
    return record


if __name__ == "__main__":
    asked = next(c for c in cases(quick="--quick" in sys.argv) if c.name == sys.argv[1])
    print(json.dumps(_run(asked)))
