"""Our queries over Spark streams, against the same pipeline with an operator that does nothing.

Each measurement is a Spark of its own in a process of its own: files of parquet, one a micro-batch, into a sink that drops
all. The first micro-batches, in which Spark, the workers and the kernels start, are not counted; of the others the
median is. `python -m bench.on_streams NAME` is such a process; it prints a JSON object.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import augury as ag
from augury.generate import clicks
from bench.growing import Record
from bench.runner import all_cores
from bench.workloads import SHORT

ROOT = Path(__file__).resolve().parents[1]
KEYED: dict[str, Any] = {"time": "ts", "type": "kind", "key": "user"}
LATENESS = "1 minute"


@dataclass(frozen=True)
class Case:
    """One measurement; its time per micro-batch is compared with another's, where `over` names one."""

    name: str
    batches: Callable[[], Iterator[pa.Table]]
    text: str = SHORT
    warm: int = 3  # micro-batches that are not counted
    does_nothing: bool = False
    over: str | None = None
    at_most: float | None = None  # times the other's seconds
    at_least: float | None = None  # rows a second


def cases(*, quick: bool = False) -> list[Case]:
    """All of them, at full or at reduced size."""
    scale = 10 if quick else 1
    many = functools.partial(_sliced, 1_000_000 // scale, 8)
    few = functools.partial(_sliced, 100, 20)
    wide = functools.partial(_seen, 1_000_000 // scale, 20_000 // scale)
    long = SHORT.replace("1 hour", "1000 days")
    return [
        Case("stream/clicks/nothing", many, does_nothing=True),
        Case("stream/clicks", many, over="stream/clicks/nothing", at_most=1 / 0.7),
        Case("stream/keys", wide, long, warm=4, at_least=60_000),
        Case("stream/latency/nothing", few, warm=8, does_nothing=True),
        Case("stream/latency", few, warm=8, over="stream/latency/nothing", at_most=1.3),
    ]


def _sliced(rows: int, batches: int) -> Iterator[pa.Table]:
    table = clicks(rows * batches, users=10_000)
    for at in range(0, table.num_rows, rows):
        yield table.slice(at, rows)


def _seen(keys: int, touched: int) -> Iterator[pa.Table]:
    """Each key has one event that waits for more; then in each micro-batch some keys have ten."""
    rng = np.random.default_rng(0)
    at = 1_700_000_000_000_000

    def table(users: Any, kinds: Any) -> pa.Table:
        nonlocal at
        times = at + np.arange(len(users), dtype=np.int64) * 100
        at += len(users) * 100 + 120_000_000
        columns = [
            pa.array(times).cast(pa.timestamp("us", "UTC")),
            kinds,
            pa.array(users),
            _pages(len(users)),
        ]
        return pa.table(columns, names=["ts", "kind", "user", "page"])

    yield table(rng.permutation(keys), pa.array(["view"] * keys))
    kinds = pa.array(["view", "cart", "buy"])
    for _ in range(8):
        users = np.repeat(rng.choice(keys, touched, replace=False), 10)
        rng.shuffle(users)
        yield table(users, kinds.take(pa.array(rng.choice(3, len(users), p=[0.6, 0.25, 0.15]))))


def _pages(rows: int) -> pa.Array:
    return pa.array(["/item"]).take(pa.array(np.zeros(rows, np.int64)))


def measure(chosen: Iterable[Case]) -> Iterator[Record]:
    """A record of each case, from a process of its own."""
    done: dict[str, Record] = {}
    for case in chosen:
        arguments = [
            sys.executable,
            "-m",
            "bench.on_streams",
            case.name,
            *(a for a in sys.argv if a == "--quick"),
        ]
        with all_cores():
            answer = subprocess.run(  # noqa: S603  # ourselves
                arguments, cwd=ROOT, check=True, capture_output=True, text=True
            )
        record: Record = {"workload": case.name, "system": "augury on spark"}
        record |= json.loads(answer.stdout.splitlines()[-1])
        if case.at_least is not None:
            record |= {
                "goal": {"events_per_second": case.at_least},
                "reached": record["events_per_second"] >= case.at_least,
            }
        done[case.name] = record
        yield record
        if case.over in done and case.at_most is not None:
            ratio = record["seconds"] / done[case.over]["seconds"]
            yield {
                "workload": f"{case.name} over {case.over}",
                "ratio": round(ratio, 3),
                "goal": {"ratio": round(case.at_most, 3)},
                "reached": ratio <= case.at_most,
            }


def _run(case: Case) -> Record:
    """In the process of its own."""
    from unittest.mock import patch

    from augury.runtime import spark_stream
    from augury.runtime.spark_operator import Shards

    class Nothing(Shards):
        """Takes all rows, and gives none."""

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            del key, timerValues
            for _ in rows:
                pass
            yield from ()

    spark = ag.spark.session(cores=2, config={"spark.sql.shuffle.partitions": "2"})
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "200")
    with (
        tempfile.TemporaryDirectory(prefix="augury-bench-") as name,
        patch.object(spark_stream, "Shards", Nothing if case.does_nothing else Shards),
    ):
        folder = Path(name)
        (folder / "in").mkdir()
        sizes = []
        for number, table in enumerate(case.batches()):
            path = folder / "in" / f"{number:04}.parquet"
            pyarrow.parquet.write_table(table, path)
            os.utime(path, (1_700_000_000 + number,) * 2)
            sizes.append(table.num_rows)
        schema = "ts timestamp, kind string, user long, page string"
        source = (
            spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet((folder / "in").as_uri())
        )
        found = ag.sase(case.text).match(source.withWatermark("ts", LATENESS), **KEYED)
        writer = found.writeStream.format("noop").option("checkpointLocation", (folder / "c").as_uri())
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [p for p in query.recentProgress if p.numInputRows][case.warm :]
        seconds = [p.durationMs["triggerExecution"] / 1000 for p in progress]
        rows = sizes[-1]
        counts = [m for p in query.recentProgress for m in p.observedMetrics.values()]
        stored = sum(path.stat().st_size for path in (folder / "c" / "state").rglob("*") if path.is_file())
        memory = _resident()
        spark.stop()
    return {
        "events": rows,
        "batches": len(seconds),
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "events_per_second": round(rows / statistics.median(seconds)),
        "rows": sum(c.matches for c in counts),
        "state_bytes_stored": stored,
        "state_bytes_a_batch": round(stored / len(sizes)),
        "peak_memory_mb": memory,
    }


def _resident() -> int:
    """What this process and all below it have in memory at most, in MB, as Linux tells it."""
    from bench.kills import below

    total = 0
    for pid in (os.getpid(), *below(os.getpid())):
        try:
            said = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in said.splitlines() if line.startswith("VmHWM:")), 0)
    return total // 1024


if __name__ == "__main__":
    asked = next(c for c in cases(quick="--quick" in sys.argv) if c.name == sys.argv[1])
    print(json.dumps(_run(asked)))
