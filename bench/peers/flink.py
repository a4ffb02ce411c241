"""Flink CEP: all questions to one JVM, by the driver `FlinkPeer.java`.

`python -m bench.peers.flink` (or `sh dev flink`) fetches the jars, 330 MB, into a folder beside this file. FLINK_LIB names a folder
that has them already. Where they or a Java compiler are absent, this peer is skipped and says so.

Flink has the whole machine: one task at a time, but also what its runtime, its garbage collector and its compiler use.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.growing import Record, bounded
from bench.questions import Question
from bench.runner import all_cores

HERE = Path(__file__).resolve().parent
FETCHED = HERE / ".flink"
DRIVER = HERE / "FlinkPeer.java"
COLUMNS = ("ts", "kind", "key", "price", "volume")
# Flink's serializers look into java.lang and java.util, which Java has closed since 17.
OPENED = tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.util"))


class Absent(Exception):  # noqa: N818  # not an error: a peer that is not here
    """What is missing, and how to get it."""


def jars() -> Path:
    """The folder with Flink's jars."""
    named = os.environ.get("FLINK_LIB")
    folders = [Path(named)] if named else [FETCHED]
    installed = importlib.util.find_spec("pyflink")
    if installed is not None and installed.origin is not None:
        folders.append(Path(installed.origin).parent / "lib")
    for folder in folders:
        if any(folder.glob("flink-cep-*.jar")) and any(folder.glob("flink-dist*.jar")):
            return folder
    raise Absent("Flink's jars are not here; `sh dev flink` fetches them, or FLINK_LIB names their folder")


def java(program: str) -> str:
    """The path of java or javac, of JAVA_HOME or of the PATH."""
    home = os.environ.get("JAVA_HOME")
    beside = shutil.which(program, path=str(Path(home) / "bin")) if home else None
    found = beside or shutil.which(program)
    if found is None:
        raise Absent(f"there is no {program}: the driver needs a JDK, 17 or newer, by JAVA_HOME or the PATH")
    return found


def compiled(classes: Path) -> str:
    """The class path with the driver, compiled into the folder."""
    lib = jars()
    path = os.pathsep.join(str(jar) for jar in sorted(lib.glob("flink-*.jar")))
    done = subprocess.run(  # noqa: S603  # the machine's own compiler over our own file
        [java("javac"), "-nowarn", "-cp", path, "-d", str(classes), str(DRIVER)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Absent(f"javac does not compile the driver against the jars of {lib}: {done.stderr[:500]}")
    return os.pathsep.join([str(classes), str(lib / "*")])


def ask(asked: Sequence[tuple[Question, pa.Table, Path | None]], budget: float) -> dict[str, list[Record]]:
    """By question what the driver said of each part of its stream; the matches of the last are written to the path."""
    with tempfile.TemporaryDirectory(prefix="augury-flink-") as folder:
        place = Path(folder)
        classes = compiled(place)
        tasks = []
        for number, (question, table, matches) in enumerate(asked):
            events = place / f"{number}.csv"
            write_events(question, table, events)
            tasks.append(
                f"{question.name} {events} {question.flink_window} {question.flink_first} {matches or '-'}"
            )
        listed = place / "tasks"
        listed.write_text("\n".join(tasks), encoding="utf-8")
        command = [java("java"), "-Xmx4g", *OPENED, "-cp", classes, "FlinkPeer", str(listed), str(budget)]
        with all_cores():
            done = subprocess.run(  # noqa: S603  # the machine's own Java over our own driver
                command, capture_output=True, text=True, check=False, timeout=120 + 8 * budget * len(asked)
            )
    if done.returncode:
        raise RuntimeError(f"the driver of Flink failed: {done.stderr[-2000:]}")
    told: dict[str, list[Record]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            run = json.loads(line)
            told.setdefault(run.pop("workload"), []).append(run)
    return told


def write_events(question: Question, table: pa.Table, path: Path) -> None:
    """The columns that the driver reads, as it reads them."""
    assert question.flink is not None
    nothing = pa.array(np.zeros(table.num_rows, np.int64))
    columns = [nothing if name is None else table.column(name) for name in question.flink]
    columns[0] = columns[0].cast(pa.int64())
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(pa.table(columns, names=COLUMNS), path, write_options=options)


def measure(chosen: Sequence[Question], *, quick: bool) -> list[Record]:
    """A record for each question, of the largest part of its stream that the budget allows."""
    budget = 1.5 if quick else 10.0
    asked = [(q, q.stream(q.rows), None) for q in chosen]
    try:
        told = ask(asked, budget)
    except Absent as absent:
        return [{"workload": "peers/flink", "system": "flink", "skipped": str(absent)}]
    return [record_of(question, table, told[question.name], budget) for question, table, _ in asked]


def record_of(question: Question, table: pa.Table, runs: list[Record], budget: float) -> Record:
    size = runs[-1]["events"]
    best = min((run for run in runs if run["events"] == size), key=lambda run: run["seconds"])
    record: Record = {
        "workload": f"peers/{question.name}/flink",
        "question": question.name,
        "system": "flink",
        "version": version(),
        **best,
        "events_per_second": round(size / best["seconds"], 1),
    }
    expected = question.flink_should_find(table.slice(0, size))
    if question.flink_differs is None:
        record |= {"expected": expected, "agrees": best["matches"] == expected}
    else:
        record |= {"ours_finds": expected, "differs": question.flink_differs}
    return bounded(record, size, table.num_rows, budget)


def version() -> str:
    (jar, *_) = sorted(jars().glob("flink-cep-*.jar"))
    return jar.stem.removeprefix("flink-cep-")


def fetch() -> None:
    """The jars of the pinned wheel, into the folder beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
        ]
        subprocess.run(  # noqa: S603  # fixed arguments
            [*pip, "--requirement", str(HERE / "flink.txt"), "--dest", folder], check=True
        )
        (wheel,) = Path(folder).glob("*.whl")
        FETCHED.mkdir(exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                jar = Path(name).name
                if name.startswith("pyflink/lib/") and jar.startswith(
                    ("flink-cep-", "flink-dist-", "log4j-")
                ):
                    (FETCHED / jar).write_bytes(archive.read(name))
    print(f"Flink {version()} is in {FETCHED}")


if __name__ == "__main__":
    fetch()
