"""Times a workload: after a warm-up, the best of several calls, on one core."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.workloads import Record, Workload

_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()


@contextmanager
def all_cores() -> Iterator[None]:
    """For peers that start threads and processes of their own: they may use what the machine has."""
    if not _ALL:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def use_one_core() -> None:
    """One thread for each library that would start more, and one core for the process, where that can be said."""
    pa.set_cpu_count(1)
    os.environ["NUMBA_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run(workload: Workload, *, quick: bool = False) -> Record:
    """The record of one workload."""
    record: Record = {
        "workload": workload.name,
        "system": workload.system,
        "plan": workload.plan,
        "output": workload.output,
        **workload.described,
    }
    table = workload.data()
    record["events"] = table.num_rows
    if workload.fresh is not None:
        times = 1 if quick else 5
        best, matches = min(_in_a_new_process(workload.fresh) for _ in range(times))
        record |= {"seconds": best, "matches": matches}
        return _judged(record, workload)
    result = workload.call(table)  # compiles what there is to compile
    found = counted(result, workload.output)
    del result
    walls, cpus = best_of(lambda: workload.call(table), quick=quick)
    record |= found
    record |= {"seconds": min(walls), "cpu_seconds": min(cpus), "calls": len(walls)}
    record["events_per_second"] = round(table.num_rows / record["seconds"])
    if "matched_events" in record:
        record["matched_events_per_second"] = round(record["matched_events"] / record["seconds"])
    if workload.over:
        record["over"] = workload.over
    return _judged(record, workload)


def best_of(call: Callable[[], pa.Table], *, quick: bool) -> tuple[list[float], list[float]]:
    """Seconds of several calls, by the clock and of the processor."""
    at_least, seconds = (2, 0.2) if quick else (5, 3.0)
    walls: list[float] = []
    cpus: list[float] = []
    begun = time.perf_counter()
    while len(walls) < at_least or (time.perf_counter() - begun < seconds and len(walls) < 50):
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        del result
    return walls, cpus


def counted(result: pa.Table, output: str) -> Record:
    """How much a result says: its rows, the matches, and the events in them."""
    if output == "count":
        exact = [n for n in result.column("count").to_pylist() if n is not None]
        few = sum(exact) if len(exact) == result.num_rows else None
        return {"rows": result.num_rows, "matches": None if few is None else f"{few:.6g}"}
    events = 0
    for column in result.columns:
        if pa.types.is_list(column.type):
            events += sum(len(chunk.flatten()) for chunk in column.chunks)
        elif pa.types.is_struct(column.type):
            events += len(column)
    counted: Record = {"rows": result.num_rows, "matches": result.num_rows}
    return counted | ({"matched_events": events} if events else {})


def _in_a_new_process(script: str) -> tuple[float, int]:
    """Seconds and rows that a script prints, run with an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AUGURY_CACHE": folder}
        done = subprocess.run(  # noqa: S603  # our own text, run by our own interpreter
            [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
        )
    seconds, rows = done.stdout.split()
    return float(seconds), int(rows)


def cpu_of_children() -> float | None:
    """Seconds of the processor that this process's children have used, and theirs; None where that is not told.

    What Spark does, it does in such. On a machine that is shared it says more than the clock.
    """
    tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0
    folders = list(Path("/proc").glob("[0-9]*")) if Path("/proc/self/stat").exists() else []
    if not folders or not tick:
        return None
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for folder in folders:
        try:
            said = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        fields = said[said.rindex(")") + 2 :].split()
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        used[int(folder.name)] = sum(map(int, fields[11:15])) / tick  # its own, and of those that ended
    total, todo = 0.0, children.get(os.getpid(), [])
    while todo:
        process = todo.pop()
        total += used[process]
        todo += children.get(process, [])
    return total


def ratios(done: list[Record]) -> list[Record]:
    """Cost per event over that of the workload it is compared with."""
    by_name = {r["workload"]: r for r in done}
    found = []
    for record in done:
        base = by_name.get(record.get("over", ""))
        if base is None:
            continue
        ratio = (record["seconds"] / record["events"]) / (base["seconds"] / base["events"])
        goal = record["goal"]["ratio"]
        found.append(
            {
                "workload": f"{record['workload']} over {base['workload']}",
                "ratio": round(ratio, 3),
                "goal": {"ratio": goal},
                "reached": ratio <= goal,
            }
        )
    return found


def _judged(record: Record, workload: Workload) -> Record:
    goal = {k: v for k, v in vars(workload.goal).items() if v is not None}
    if not goal:
        return record
    record["goal"] = goal
    reached: list[Any] = []
    if workload.goal.events_per_second is not None:
        reached.append(record["events_per_second"] >= workload.goal.events_per_second)
    if workload.goal.matched_per_second is not None:
        rate = record.get("matched_events_per_second", 0)
        reached.append(rate >= workload.goal.matched_per_second)
    if workload.goal.seconds is not None:
        reached.append(record["seconds"] <= workload.goal.seconds)
    if reached:
        record["reached"] = any(reached)
    return record
