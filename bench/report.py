"""The report: `python -m bench.report [RECORDS]` makes docs/evaluation.md, its figures, and the README's figures.

It takes the newest full records of bench/records, or the ones named, and keeps them beside the figures: every number in
the pages is one of theirs, or computed from them. `python -m bench.report --again` writes the pages from the
records that are kept.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import figures
from bench.experiments import QUERIES, WINDOWS
from bench.findings import BACKTRACK, BASIC, HOLDS, MERGED, PAPER_MERGED, SKIPPING, Finding, Paper, findings
from bench.growing import Record

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evaluation.md"
KEPT = ROOT / "docs" / "evaluation" / "records.json"
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- figures: made by `sh dev report` -->\n).*?(<!-- end of figures -->)", re.DOTALL)

SYSTEMS = {
    "augury": "Augury in process",
    "augury on spark": "Augury on Spark",
    "flink": "Flink CEP",
    "plain spark": "plain Spark",
    "numpy": "NumPy by hand",
}


class Records:
    """Records as they were read, and what the pages ask of them."""

    def __init__(self, told: Record) -> None:
        self.runs: list[Record] = told["runs"]
        self.quick = bool(told["quick"])
        self.all: list[Record] = told["records"]
        self.by_name = {r["workload"]: r for r in self.all}

    @property
    def questions(self) -> list[str]:
        return list(dict.fromkeys(r["question"] for r in self.all if "question" in r))

    def of(self, question: str, system: str) -> Record | None:
        return self.by_name.get(f"peers/{question}/{system.replace(' ', '-')}")

    @property
    def torn(self) -> list[str]:
        """Questions whose systems were not all measured in one run."""
        runs: dict[str, set[int]] = {}
        for r in self.all:
            if "question" in r:
                runs.setdefault(r["question"], set()).add(r["run"])
        return [question for question, those in runs.items() if len(those) > 1]

    @property
    def skipped(self) -> list[Record]:
        return [r for r in self.all if "skipped" in r]


def read(path: Path) -> Records:
    return Records(json.loads(path.read_text(encoding="utf-8")))


# ------------------------------------------------------------------ pieces


def rate(x: float) -> str:
    """Events a second, to be read at a glance."""
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if x >= unit:
            return f"{x / unit:.1f}{name}" if x < 100 * unit else f"{x / unit:.0f}{name}"
    return f"{x:.0f}"


def times(x: float) -> str:
    return f"{x:.2f}" if x < 10 else f"{x:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def side_by_side(records: Records) -> str:
    """The opening table."""
    rows = []
    for question in records.questions:
        ours = records.of(question, "augury")
        base = ours["events_per_second"] if ours else None
        cells = [f"`{question}`"]
        for system in SYSTEMS:
            record = records.of(question, system)
            cells.append("–" if record is None else _cell(record["events_per_second"], base))
        rows.append(cells)
    return table(["", *SYSTEMS.values()], rows)


def _cell(per_second: float, base: float | None) -> str:
    return rate(per_second) if base is None else f"{rate(per_second)} ({times(base / per_second)})"


def on_spark(records: Records) -> str:
    """What the opening table does not say at a glance: Spark with us against Spark without."""
    found, processor = [], []
    for question in records.questions:
        ours, plain = records.of(question, "augury on spark"), records.of(question, "plain spark")
        if ours is not None and plain is not None:
            ratio = ours["events_per_second"] / plain["events_per_second"]
            found.append(f"{times(ratio)} on `{question}`")
            if "cpu_seconds" in ours and "cpu_seconds" in plain:
                each, theirs = (r["cpu_seconds"] / r["events"] for r in (ours, plain))
                processor.append(f"{times(theirs / each)} on `{question}`")
    if not found:
        return ""
    used = (
        f" By the processor's time, which others on the machine disturb less: {', '.join(processor)}."
        if processor
        else ""
    )
    return f"On the same Spark, Augury has this many times the throughput of plain Spark: {', '.join(found)}.{used}"


def how(runs: Sequence[Record]) -> str:
    """The machine, what ran on it, and at which commits; each machine once."""
    commits: dict[str, dict[str, None]] = {}
    for run in runs:
        memory = f", {run['memory_gb']} GB of memory" if run.get("memory_gb") else ""
        names = ("python", "numba", "numpy", "pyarrow", "pyspark", "java")
        versions = ", ".join(f"{'Python' if n == 'python' else n} {run[n]}" for n in names if n in run)
        machine = f"{run['cpu']}, {run['cores']} cores{memory}; {run['system']}; {versions}"
        commits.setdefault(machine, {})[
            f"{run['commit']}{' and changes to it' if run['changed'] else ''}"
        ] = None
    return "; and ".join(
        f"{machine}; {'commit' if len(those) == 1 else 'commits'} {', '.join(those)}"
        for machine, those in commits.items()
    )


def when(records: Records) -> str:
    """In one run or in several, and what else the machine did."""
    runs = "in one run" if len(records.runs) == 1 else f"in {len(records.runs)} runs"
    together = ""
    if len(records.runs) > 1:
        torn = " but for " + ", ".join(f"`{q}`" for q in records.torn) if records.torn else ""
        together = f", each question's systems in one{torn}"
    loads = [run["load"] for run in records.runs if run.get("load") is not None]
    load = f" Before a run began the machine's load was {max(loads):g} at most." if loads else ""
    return f"{runs} of `sh dev bench{' --quick' if records.quick else ''}`{together}.{load}"


def asked(records: Records) -> str:
    """What each question is: its events and its query."""
    lines = []
    for question in records.questions:
        ours = records.of(question, "augury")
        if ours is not None:
            query = " ".join(str(ours["query"]).split())
            lines.append(f"- `{question}`: {ours['events']:,} events, output `{ours['output']}`. `{query}`")
    return "\n".join(lines)


def checks(records: Records) -> str:
    """Whether the answers are the same, which are not and why, and what could not finish."""
    compared = [r for r in records.all if "agrees" in r]
    agree = [r for r in compared if r["agrees"]]
    lines = [
        f"- {len(agree)} of {len(compared)} answers of peers that must be ours are: they find as many matches."
    ]
    lines += [
        f"- `{r['workload']}` finds {r.get('rows', r.get('matches')):,} where {r['expected']:,} are expected."
        for r in compared
        if not r["agrees"]
    ]
    by_reason: dict[str, list[Record]] = {}
    for r in records.all:
        if "differs" in r:
            by_reason.setdefault(r["differs"], []).append(r)
    for reason, those in by_reason.items():
        found = "; ".join(f"`{r['question']}` {r['matches']:,} against {r['ours_finds']:,}" for r in those)
        lines.append(f"- {reason}. Matches in as many events, Flink's against ours: {found}.")
    bounded = [r for r in records.all if "bounded" in r and "question" in r]
    lines += [f"- {SYSTEMS[r['system']]} on `{r['question']}` was given {r['bounded']}." for r in bounded]
    lines += [f"- Not measured: {r['skipped']}" for r in records.skipped]
    return "\n".join(lines)


def findings_table(found: Sequence[Finding]) -> str:
    rows = [[f.number, f.paper, f"{f.measured} (asked: {f.criterion})", f.verdict] for f in found]
    return table(["", "the paper", "here", ""], rows)


def reasons(found: Sequence[Finding]) -> str:
    return "\n".join(f"- **{f.number} {f.verdict}.** {f.why}" for f in found if f.why)


def table_2(paper: Paper) -> str:
    """The paper's Table 2, and the runs per step of merging."""
    rows: dict[str, list[str]] = {
        "match length": [],
        "runs per time step": [],
        "… with merging": [],
        "runs merged (%)": [],
        "matching (%)": [],
        "… of which the kernel (%)": [],
        "construction (%)": [],
        "events read again, backtracking": [],
    }
    for q in QUERIES:
        basic, merged, back = (paper.at(q, plan=p) for p in (BASIC, MERGED, BACKTRACK))
        cells = (
            *(f"{basic.length:.1f}", f"{basic.runs:.3f}", f"{merged.runs:.3f}", f"{merged.merged:.1f}"),
            *(
                f"{basic.share:.0f}",
                f"{100 * basic.kernel * basic.throughput:.0f}",
                f"{100 - basic.share:.0f}",
            ),
            f"{back.reread:.2f}",
        )
        for row, cell in zip(rows.values(), cells, strict=True):
            row.append(cell)
    return table(["W = 500, p = 0.7", *QUERIES], [[name, *cells] for name, cells in rows.items()])


def table_3(paper: Paper) -> str:
    """The paper's Table 3: what is shared, and what it costs to keep the buffer."""
    rows = []
    for k, w in enumerate(WINDOWS):
        if not all(w in dict(paper.windows(q, MERGED)) for q in SKIPPING):
            continue
        points = {q: (paper.at(q, w), paper.at(q, w, plan=MERGED)) for q in SKIPPING}
        rows.append(
            [
                str(w),
                *(f"{y.merged:.1f} ({PAPER_MERGED[q][k]})" for q, (_, y) in points.items()),
                *(f"{y.nodes:.2f}" for _, y in points.values()),
                *(f"{x.kernel / y.kernel:.2f}" for x, y in points.values()),
                *(f"{x.matching / y.matching:.2f}" for x, y in points.values()),
            ]
        )
    parts = ("merged % (paper)", "nodes per event", "gain, kernel", "gain, matching")
    return table(["W", *(f"{part}, {q}" for part in parts for q in SKIPPING)], rows)


def own_figures(records: Records) -> str:
    """What the engine's own workloads reached, and what they must."""
    rows = []
    for r in records.all:
        if r["workload"].startswith(("paper/", "peers/", "uncertain/", "lazy/")) or (
            "goal" not in r and "seconds" not in r
        ):
            continue
        reached = "" if "reached" not in r else "yes" if r["reached"] else "no"
        rate_of = rate(r["events_per_second"]) if "events_per_second" in r else ""
        if "bytes_per_key" in r:
            rate_of = f"{r['bytes_per_key']} bytes a key"
        if "grown" in r:
            rate_of += f", {r['last_mb']:.0f} MB at the end, {r['first_mb']:.0f} MB at first"
        seconds = f"{r['seconds']:.3f}" if "seconds" in r else f"{r['ratio']:.2f} times"
        rows.append(
            [f"`{r['workload']}`", f"{r['events']:,}" if "events" in r else "", seconds, rate_of, reached]
        )
    return table(["workload", "events", "seconds", "events/s", "reaches its goal"], rows)


# ------------------------------------------------------------------ the pages

TABLES = {"1": table_2, "6": table_3}  # the paper's, as they are here

EXPERIMENTS = {
    "1": "Experiment 1: predicates and strategies",
    "2": "Experiment 2: the window",
    "3": "Experiment 3: basic against backtracking, all results",
    "4": "Experiment 4: basic against backtracking, non-overlapping results",
    "5": "Experiment 5: merging runs",
    "6": "Experiment 6: merging runs, by window, without construction",
    "7": "Another stream: p = 0.55",
}


def page(records: Records) -> str:
    """docs/evaluation.md."""
    found = findings(records.all)
    paper = Paper(records.all)
    tally = {v: sum(f.verdict == v for f in found) for v in (HOLDS, "in part", "does not hold")}
    parts = [
        "# Evaluation",
        (
            "<!-- Made by `sh dev report` from evaluation/records.json: do not edit. The words are in bench/report.py and "
            "bench/findings.py. -->"
        ),
        (
            f"Events a second, and in brackets how many times as long as Augury in process a system takes for an event. "
            f"The same streams and questions, {when(records)}"
        ),
        side_by_side(records),
        on_spark(records),
        f"Measured on: {how(records.runs)}.",
        "## How to read this",
        (
            "- *Augury in process* and *NumPy by hand* run on one core, over a table in memory; the best of several calls.\n"
            "- *Augury on Spark* and *plain Spark* read parquet and write parquet, on `local[2]`: Spark's own work is in both. Both are "
            "warmed, then take turns.\n"
            "- *Flink CEP* has parallelism 1, its events in memory, watermarks every 5 ms, and counts matches without writing them; the "
            "start of its cluster and job is left out. Its runtime may use all cores. The better of two runs over the largest part counts.\n"
            "- *By hand* means written for that one question; no other can be asked.\n"
            "- What cannot finish is given the beginning of the stream, as much as it does in its time. Where a window spans more events "
            "than it was given, that favours it."
        ),
        asked(records),
        "### Whether the answers are the same",
        checks(records),
        "## The experiments of the SASE+ paper",
        (
            "The workload is the paper's: two symbols, prices that rise with probability p, windows of W events of a partition, "
            "200 windows in each partition's stream, and the template `SEQ(Stock+ a[], Stock b)` with `a[1].price % 500 = 0`, an iterator "
            "predicate (p1: true, p2: rising, p3: above the minimum so far) and `b.volume < 150`, under partition contiguity (s2) or skip till "
            "next match (s3). The paper's basic algorithm is the plan `eager-unmerged`, the one with merging is `eager`, and "
            "backtracking is `backtrack`. Where the output is too large to finish, a beginning of the stream stands for it; the records "
            "say which."
        ),
        (
            f"Of {len(found)} findings {tally[HOLDS]} hold, {tally['in part']} hold in part and {tally['does not hold']} do not. Each "
            "verdict is computed from the records by the criterion in brackets."
        ),
    ]
    for number, title in EXPERIMENTS.items():
        those = [f for f in found if f.number.startswith(f"{number}.")]
        drawn = [figure for figure in figures.FIGURES if figure.experiment == number and figure.draws(paper)]
        if not those and not drawn:
            continue
        parts.append(f"### {title}")
        if those:
            parts += [findings_table(those), reasons(those)]
        if number in TABLES and all(f"paper/{q}/500/0.7/{BACKTRACK}/all" in paper.known for q in QUERIES):
            parts.append(TABLES[number](paper))
        parts += [f"![{figure.title}](evaluation/{figure.file})" for figure in drawn]
    parts += [
        "## The engine's own figures",
        "What the workloads of `bench/workloads.py` reach, and those of `bench/live.py`: a matcher.",
        own_figures(records),
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def readme_block(records: Records) -> str:
    """What the README says of speed."""
    return (
        "Events a second, and in brackets how many times as long an event takes as in process; "
        "[docs/evaluation.md](docs/evaluation.md) says how, on what machine, and what else was measured.\n\n"
        f"{side_by_side(records)}\n"
    )


def write(records: Records) -> None:
    """All pages and figures, of these records."""
    PAGE.write_text(page(records), encoding="utf-8")
    figures.draw_all(Paper(records.all), KEPT.parent)
    text = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda m: f"{m[1]}{readme_block(records)}{m[2]}", text), encoding="utf-8")


def newest() -> Path | None:
    made = [p for p in (ROOT / "bench" / "records").glob("*.json") if not p.stem.endswith("-quick")]
    return max(made, key=lambda p: p.stat().st_mtime, default=None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.report", description="Make the report from records.")
    parser.add_argument(
        "records", nargs="?", type=Path, help="default: the newest full ones of bench/records"
    )
    parser.add_argument("--again", action="store_true", help="from the records that the report keeps")
    told: Any = parser.parse_args(arguments)
    source = KEPT if told.again else told.records or newest()
    if source is None:
        print("there are no full records in bench/records; `sh dev bench` makes them", file=sys.stderr)
        return 2
    KEPT.parent.mkdir(exist_ok=True)
    if source != KEPT:
        shutil.copyfile(source, KEPT)
    write(read(KEPT))
    print(
        f"{PAGE.relative_to(ROOT)}, {KEPT.parent.relative_to(ROOT)}/ and the README's figures are made from {source}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
