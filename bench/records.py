"""Records as JSON, each with the run that it was made in, and as a table to look at.

A run is a machine at a commit. A file may hold records of several: what is measured later is added to what is there,
and takes the place of what has its name.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from augury.spark.java import version_of

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]


def machine() -> Record:
    """What the figures depend on besides the code."""
    versions = {name: importlib.metadata.version(name) for name in ("numba", "numpy", "pyarrow")}
    versions |= {"pyspark": importlib.metadata.version("pyspark")} if find_spec("pyspark") is not None else {}
    java = shutil.which("java")
    if java is not None:
        versions["java"] = str(version_of(Path(java)))
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **versions,
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "load": round(os.getloadavg()[0], 1)
        if hasattr(os, "getloadavg")
        else None,  # of others, before it began
    }


def _memory() -> int | None:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    said: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), value.strip())
    number = f" (family {said.get('cpu family')}, model {said.get('model')})" if "model" in said else ""
    return said.get("model name", platform.processor()) + number


def _git(*args: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # fixed arguments
            ["git", *args],  # noqa: S607  # whichever git the developer uses
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def default_path(machine: Record, *, quick: bool) -> Path:
    name = machine["commit"] or "records"
    return ROOT / "bench" / "records" / f"{name}{'-quick' if quick else ''}.json"


@dataclass(frozen=True)
class Kept:
    """Records, and the runs that made them: each record has the number of its own."""

    runs: list[Record]
    records: list[Record]
    quick: bool

    def with_run(self, machine: Record, done: list[Record]) -> Kept:
        """The same and a run's records, which take the places of older ones; a ratio goes with what it compares."""
        new = {record["workload"] for record in done}
        left = [r for r in self.records if r["workload"] not in new and not _compares(r, new)]
        runs = [*self.runs, machine]
        kept = [*left, *({**record, "run": len(runs) - 1} for record in done)]
        used = sorted({record["run"] for record in kept})
        kept = [{**record, "run": used.index(record["run"])} for record in kept]
        return Kept([runs[k] for k in used], kept, self.quick)


def _compares(record: Record, new: set[str]) -> bool:
    return not new.isdisjoint(record["workload"].split(" over ")) and " over " in record["workload"]


def write(path: Path, kept: Kept) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, runs = (
        ",\n".join(f"    {json.dumps(each)}" for each in listed) for listed in (kept.records, kept.runs)
    )
    path.write_text(
        f'{{\n  "runs": [\n{runs}\n  ],\n  "quick": {json.dumps(kept.quick)},\n  "records": [\n{rows}\n  ]\n}}\n',
        encoding="utf-8",
    )


def read(path: Path) -> Kept:
    told = json.loads(path.read_text(encoding="utf-8"))
    return Kept(told["runs"], told["records"], told["quick"])


def by_workload(path: Path) -> dict[str, Record]:
    """Older records by what they measured."""
    return {r["workload"]: r for r in read(path).records}


# ------------------------------------------------------------------ to look at


def heading(machine: Record) -> str:
    return f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, numba {machine['numba']}"


def line(record: Record, before: Record | None = None) -> str:
    """One record: what was reached, and whether it is what must be."""
    cells = [f"{record['workload']:<44}"]
    if "skipped" in record:
        return f"{cells[0]}  skipped: {record['skipped']}"
    if "ratio" in record:
        cells.append(f"{record['ratio']:>10.2f} x")
    else:
        cells.append(f"{record['seconds']:>10.4f} s")
    for name, unit in (("events_per_second", "M ev/s"), ("matched_events_per_second", "M matched/s")):
        if name in record:
            cells.append(f"{record[name] / 1e6:>8.2f} {unit}")
    if "bytes_per_key" in record:
        cells.append(f"{record['bytes_per_key']:>8.1f} bytes a key")
    if "grown" in record:
        cells.append(f"{record['last_mb']:.0f} MB, {record['grown']:.2f} times what the first fifth took")
    if "reached" in record:
        cells.append("reached" if record["reached"] else f"NOT REACHED, wanted {_said(record['goal'])}")
    if record.get("agrees") is False:
        cells.append(f"FOUND {record.get('rows', record.get('matches'))}, ours finds {record['expected']}")
    if "bounded" in record:
        cells.append(f"{record['events']:,} of {record['of_events']:,} events")
    if before is not None and "seconds" in before and "seconds" in record:
        cells.append(f"{before['seconds'] / record['seconds']:.2f} times as fast")
    return "  ".join(cells)


def _said(goal: Record) -> str:
    words = {
        "events_per_second": lambda v: f"{v / 1e6:g} M ev/s",
        "matched_per_second": lambda v: f"{v / 1e6:g} M matched/s",
        "seconds": lambda v: f"{v:g} s",
        "ratio": lambda v: f"{v:g} x",
        "bytes_per_key": lambda v: f"{v:g} bytes a key",
        "grown": lambda v: f"{v:g} times",
    }
    return " or ".join(words[name](value) for name, value in goal.items())
