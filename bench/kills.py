"""A bounded stream whose processes are killed at random moments: what is in its sink at the end must be the batch's answer.

    parent: files, the answer in process ─> child: Spark, stream, parquet ─ SIGKILL ─> the next child, same checkpoint

Killed are Python workers of Spark, when the query fails and is started again, and the driver with its Java, when a new
process goes on. `python -m bench.kills FOLDER` is such a child.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import augury as ag
from augury.generate import clicks, disturbed
from bench.growing import Record

ROOT = Path(__file__).resolve().parents[1]
ROLES: dict[str, Any] = {"time": "ts", "type": "kind", "key": "user"}
LEFT = ag.sase(
    "PATTERN SEQ(view a, cart b, ~(buy c)) WHERE skip_till_next_match(a, b) WITHIN 10 minutes RETURN a.user, b.ts"
)
LATENESS = 120  # seconds


def killed(kills: int, *, rows: int, files: int, seed: int = 0) -> Record:
    """Kill so many times, every third time the driver; what was found in the end."""
    rng = random.Random(seed)  # noqa: S311  # moments
    done = {"workers": 0, "drivers": 0}
    with tempfile.TemporaryDirectory(prefix="augury-kills-") as name:
        folder = Path(name)
        expected = sorted(_prepared(folder, rows, files))
        begun = time.perf_counter()
        starts = 0
        while not (folder / "result.json").exists():
            starts += 1
            _child(folder, kills, done, rng)
            assert starts <= 3 * kills + 3, "the stream does not come to its end"
        found = sorted(json.loads((folder / "result.json").read_text(encoding="utf-8")))
        seconds = time.perf_counter() - begun
    return {
        "workload": "stream/kills",
        "events": rows,
        "kills": sum(done.values()),
        **done,
        "starts": starts,
        "seconds": seconds,
        "rows": len(found),
        "expected": len(expected),
        "agrees": found == expected,
    }


def _prepared(folder: Path, rows: int, files: int) -> list[str]:
    """The stream as files, out of order as far as the watermark allows; the names of its matches."""
    table = clicks(rows, users=200)
    arrived = pa.concat_tables(disturbed([table], delay=LATENESS * 1_000_000, disorder=0.3))
    (folder / "events").mkdir()
    size = -(-rows // files)
    end = pa.table(
        [pa.array([2**52], pa.int64()).cast(table["ts"].type), ["end"], [0], [""]], schema=table.schema
    )
    for number, part in enumerate([*(arrived.slice(at, size) for at in range(0, rows, size)), end]):
        path = folder / "events" / f"{number:04}.parquet"
        pyarrow.parquet.write_table(part, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    found: list[str] = LEFT.match(table, match_id=True, **ROLES)["match_id"].to_pylist()
    return found


def _child(folder: Path, kills: int, done: dict[str, int], rng: random.Random) -> None:
    """Run one child, and kill its workers, or it, until there are kills enough."""
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-m", "bench.kills", str(folder)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as child,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() != "running" or sum(done.values()) >= kills:
                continue
            time.sleep(rng.uniform(0.5, 4))
            processes = list(below(child.pid))
            workers = [pid for pid in processes if "pyspark" in _command(pid)]
            if sum(done.values()) % 3 == 2 or not workers:
                done["drivers"] += 1
                for pid in [*processes, child.pid]:
                    _kill(pid)
                break
            done["workers"] += 1
            _kill(rng.choice(workers))


def below(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that these have."""
    try:
        told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        others = [t.name for t in Path(f"/proc/{pid}/task").iterdir() if t.name != str(pid)]
        for thread in others:
            told += Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for one in map(int, told):
        yield one
        yield from below(one)


def _command(pid: int) -> str:
    try:
        said = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
    return "" if "java" in said.split(" ", 1)[0] else said


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _run(folder: Path) -> None:
    """The child: stream until everything is through, whatever happens to the workers."""
    from pyspark.errors import StreamingQueryException

    spark = ag.spark.session(cores=2, memory="1g", config={"spark.sql.shuffle.partitions": "2"}, tell=False)
    schema = "ts timestamp, kind string, user long, page string"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/events")
    found = LEFT.match(source.withWatermark("ts", f"{LATENESS} seconds"), match_id=True, **ROLES)
    for _ in range(1000):
        writer = found.writeStream.option("checkpointLocation", f"{folder}/checkpoint").format("parquet")
        query = writer.option("path", f"{folder}/matches").trigger(availableNow=True).start()
        print("running", flush=True)
        try:
            query.awaitTermination()
            break
        except StreamingQueryException as error:
            print(str(error).splitlines()[0], file=sys.stderr, flush=True)
    rows: list[Any] = spark.read.parquet(f"{folder}/matches").select("match_id").collect()
    hidden = folder / ".result"
    hidden.write_text(json.dumps([row[0] for row in rows]), encoding="utf-8")
    hidden.rename(folder / "result.json")


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
