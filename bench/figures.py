"""The paper's Figure 8, drawn from records: one small SVG for each part, which names the data it was drawn from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.experiments import QUERIES
from bench.findings import BACKTRACK, BASIC, MERGED, SKIPPING, Paper

Series = dict[str, list[tuple[Any, float]]]  # by label the points, by name or by number

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # told apart by everybody
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "augury",  # the same data make the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}


@dataclass(frozen=True)
class Figure:
    """One part of Figure 8."""

    letter: str
    experiment: str
    title: str
    x: str
    y: str
    data: Callable[[Paper], Series]
    bars: bool = False
    log: bool = True
    log_x: bool = False

    @property
    def file(self) -> str:
        return f"figure-8{self.letter}.svg"

    def draws(self, paper: Paper) -> bool:
        """Whether there is anything to see: a line needs two points."""
        series = self.data(paper).values()
        return any(len(points) >= (1 if self.bars else 2) for points in series)

    def digest(self, paper: Paper) -> str:
        """What tells whether a file was drawn from these records."""
        said = json.dumps([self.letter, self.data(paper)], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def _bars(paper: Paper, queries: tuple[str, ...], plans: dict[str, str], output: str = "all") -> Series:
    found: Series = {}
    for label, plan in plans.items():
        points = [(q, f"paper/{q}/500/0.7/{plan}/{output}") for q in queries]
        found[label] = [(q, paper.known[name].throughput) for q, name in points if name in paper.known]
    return found


def _by_window(paper: Paper) -> Series:
    return {q: [(w, x.throughput) for w, x in paper.windows(q)] for q in QUERIES[1:]}


def _cost(paper: Paper) -> Series:
    return {q: [(x.output, 1e9 / x.throughput) for _, x in paper.windows(q)] for q in QUERIES[1:]}


def _gains(paper: Paper) -> Series:
    found: Series = {}
    for q in SKIPPING:
        merged = dict(paper.windows(q, MERGED))
        both = [(w, x, merged[w]) for w, x in paper.windows(q) if w in merged]
        found[f"{q}, kernel"] = [(w, x.kernel / y.kernel) for w, x, y in both]
        found[f"{q}, with its columns"] = [(w, x.matching / y.matching) for w, x, y in both]
    return found


_EVENTS = "events per second"

FIGURES = (
    Figure("a", "1", "8(a) throughput of the basic algorithm, W = 500", "", _EVENTS,
           lambda paper: _bars(paper, QUERIES, {"basic": BASIC}), bars=True),
    Figure("b", "2", "8(b) throughput of the basic algorithm, by W", "W", _EVENTS, _by_window),
    Figure("c", "2", "8(c) cost against output, W from 500 on", "events in matches, per event", "ns per event", _cost, log_x=True),
    Figure("d", "3", "8(d) basic and backtracking, all results", "", _EVENTS,
           lambda paper: _bars(paper, QUERIES, {"basic": BASIC, "backtrack": BACKTRACK}), bars=True),
    Figure("e", "4", "8(e) basic and backtracking, non-overlapping results", "", _EVENTS,
           lambda paper: _bars(paper, ("p3s2", "p3s3", "p3*s2", "p3*s3"), {"basic": BASIC, "backtrack": BACKTRACK}, "non_overlap"),
           bars=True),
    Figure("f", "5", "8(f) with and without merging, W = 500", "", _EVENTS,
           lambda paper: _bars(paper, QUERIES, {"basic": BASIC, "merged": MERGED}), bars=True),
    Figure("g", "6", "8(g) gain of merging, without construction", "W", "times the throughput", _gains, log=False),
)  # fmt: skip


def draw_all(paper: Paper, folder: Path) -> None:
    """Every figure that the records have points for."""
    for figure in FIGURES:
        path = folder / figure.file
        path.unlink(missing_ok=True)
        if figure.draws(paper):
            draw(figure, paper, path)


def draw(figure: Figure, paper: Paper, path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(5.6, 3.0), layout="constrained")
        axes = canvas.add_subplot()
        series = {label: points for label, points in figure.data(paper).items() if points}
        (_draw_bars if figure.bars else _draw_lines)(axes, series)
        if figure.log:
            axes.set_yscale("log")
            least = min(y for points in series.values() for _, y in points)
            axes.set_ylim(bottom=10 ** math.floor(math.log10(least)))  # bars begin at a power of ten
        else:
            axes.set_ylim(bottom=0)
        if figure.log_x:
            axes.set_xscale("log")
        axes.set(xlabel=figure.x, ylabel=figure.y, title=figure.title)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        if len(series) > 1:
            axes.legend(frameon=False, fontsize=8)
        described = {"Date": None, "Description": f"drawn from {figure.digest(paper)}"}
        canvas.savefig(path, format="svg", metadata=described)


def _draw_bars(axes: Any, series: Series) -> None:
    names = list(dict.fromkeys(name for points in series.values() for name, _ in points))
    width = 0.8 / len(series)
    for k, (label, points) in enumerate(series.items()):
        left = [names.index(name) - 0.4 + (k + 0.5) * width for name, _ in points]
        axes.bar(left, [y for _, y in points], width, label=label, color=COLOURS[k])
    axes.set_xticks(range(len(names)), names)


def _draw_lines(axes: Any, series: Series) -> None:
    for k, (label, points) in enumerate(series.items()):
        dashed = "--" if "columns" in label else "-"
        colour = COLOURS[k // 2 if "," in label else k]
        axes.plot(*zip(*points, strict=True), dashed, marker="o", markersize=3, label=label, color=colour)
