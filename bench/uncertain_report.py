"""The page on imprecise times: `python -m bench.uncertain_report RECORDS` makes docs/evaluation-imprecise.md.

The records of `uncertain/` are kept beside the page's figures; `--again` writes the page from those.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import records
from bench.figures import COLOURS, STYLE
from bench.growing import Record
from bench.report import how, rate, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evaluation-imprecise.md"
KEPT = ROOT / "docs" / "evaluation-imprecise" / "records.json"

FIGURES = {
    "4a": ("Points and events, skip till any match, by the half interval δ", "δ"),
    "4b": ("Event-based plans, skip till any match, by δ", "δ"),
    "4c": ("Event-based plans, skip till any match, by the pattern's length", "components"),
    "4d": (
        "Event-based plans, where the first component is ever more frequent and the last one rarer",
        "v of the first",
    ),
    "4e": ("All plans, skip till next match, by δ", "δ"),
    "4f": ("Cluster monitoring: a reconstructed trace of Hadoop and Ganglia", "query"),
    "5a": ("Points and events, skip till any match, by the window", "W"),
    "5b": ("Points and events, skip till any match, by the pattern's length", "components"),
    "5c": ("All plans, skip till next match, by the pattern's length", "components"),
    "6": ("The worst case: each type's events after all of the type before", "events of a type"),
}


def points(made: Sequence[Record], figure: str) -> dict[str, list[Record]]:
    """A figure's measurements by plan, in order."""
    found: dict[str, list[Record]] = {}
    for record in made:
        if record["workload"].startswith(f"uncertain/{figure}/") and "seconds" in record:
            found.setdefault(record["plan"], []).append(record)
    return found


def figure_table(by_plan: dict[str, list[Record]], x: str) -> str:
    """Events a second by plan."""
    xs = list(dict.fromkeys(r["x"] for those in by_plan.values() for r in those))
    rows = []
    for at in xs:
        cells = [str(at)]
        for those in by_plan.values():
            record = next((r for r in those if r["x"] == at), None)
            cells.append("–" if record is None else rate(record["events_per_second"]))
        rows.append(cells)
    return table([x, *(f"`{plan}`" for plan in by_plan)], rows)


def auto_is_near(by_plan: dict[str, list[Record]]) -> str:
    """How far the chosen plan is from the best one."""
    worst = 1.0
    for record in by_plan.get("auto", []):
        best = max(
            r["events_per_second"] for those in by_plan.values() for r in those if r["x"] == record["x"]
        )
        worst = max(worst, best / record["events_per_second"])
    return f"`auto` takes at most {worst:.2f} times as long as the best plan." if "auto" in by_plan else ""


def goals(made: Sequence[Record]) -> str:
    rows = []
    for r in made:
        if "goal" not in r or "seconds" not in r:
            continue
        goal = r["goal"]
        wanted = (
            f"{rate(goal['events_per_second'])}/s"
            if "events_per_second" in goal
            else f"{goal['seconds']:g} s"
        )
        got = f"{rate(r['events_per_second'])}/s" if "events_per_second" in goal else f"{r['seconds']:.1f} s"
        share = 100 * r.get("confidence_seconds", 0) / r["seconds"]
        said = "" if "reached" not in r else "yes" if r["reached"] else "no"
        rows.append([f"`{r['workload']}`", f"{r['events']:,}", got, wanted, said, f"{min(share, 100):.0f} %"])
    return table(["workload", "events", "here", "must be", "reached", "of that confidences"], rows)


def page(told: Record) -> str:
    """The page, of these records."""
    made = [r for r in told["records"] if r["workload"].startswith("uncertain/")]
    parts = [
        "# Evaluation of imprecise times",
        "<!-- Made by `python -m bench.uncertain_report --again` from evaluation-imprecise/records.json: do not edit. -->",
        (
            "The experiments of the paper on imprecise timestamps (sections 5.1 and 5.2, appendices D and E): events a second "
            "of each plan, by the processor's time of one core, result rows included. The stream, the queries and the defaults (δ = 5, W = 100, "
            "three components, v = 20, 25, 50) are the paper's. Where a plan does not finish in its time it is given the "
            "beginning of the stream, as much as it does. The paper's trace is not public: `augury.generate.hadoop` makes one "
            "like it, 7 million task events known to half a second and loads measured once in 15 seconds."
        ),
        f"Measured on: {how(told['runs'])}.{' A quick run.' if told['quick'] else ''}",
        goals(made),
    ]
    for figure, (title, x) in FIGURES.items():
        by_plan = points(made, figure)
        if by_plan:
            parts += [f"## Figure {figure}: {title}", figure_table(by_plan, x), auto_is_near(by_plan)]
            parts.append(f"![Figure {figure}](evaluation-imprecise/figure-{figure}.svg)")
    skipped = [r["skipped"] for r in made if "skipped" in r]
    if skipped:
        parts += ["## Not measured", "\n".join(f"- {said}" for said in skipped)]
    return "\n\n".join(p for p in parts if p) + "\n"


def draw(told: Record) -> None:
    """A small line for each plan of each figure."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    for figure, (title, x) in FIGURES.items():
        by_plan = points(told["records"], figure)
        if not by_plan:
            continue
        with mpl.rc_context(STYLE):
            canvas = Canvas(figsize=(5.6, 3.0), layout="constrained")
            axes = canvas.add_subplot()
            for k, (plan, those) in enumerate(by_plan.items()):
                xs = [str(r["x"]) if figure in ("4d", "4f") else r["x"] for r in those]
                rates = [r["events_per_second"] for r in those]
                axes.plot(xs, rates, marker="o", markersize=3, label=plan, color=COLOURS[k])
            axes.set_yscale("log")
            axes.set(xlabel=x, ylabel="events per second", title=title)
            axes.title.set_fontsize(8)
            axes.grid(axis="y", color="#dddddd", linewidth=0.6)
            axes.legend(frameon=False, fontsize=8)
            canvas.savefig(KEPT.parent / f"figure-{figure}.svg", format="svg", metadata={"Date": None})


def main(arguments: Sequence[str]) -> int:
    kept = records.read(KEPT if "--again" in arguments else Path(arguments[0]))
    kept = replace(kept, records=[r for r in kept.records if r["workload"].startswith("uncertain/")])
    records.write(KEPT, kept)
    told = json.loads(KEPT.read_text(encoding="utf-8"))
    draw(told)
    PAGE.write_text(page(told), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
