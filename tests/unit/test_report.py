"""The report says what the records say: its pages are made of them again, and its verdicts follow from them."""

import json
import re

import pytest

from bench import figures, report
from bench.experiments import Experiment, experiments
from bench.findings import PAPER_LENGTH, PAPER_MERGED, PAPER_RUNS, Paper, exponent, findings, straightness

ROOT = report.ROOT


@pytest.fixture(scope="module")
def kept():
    return report.read(report.KEPT)


def test_the_page_is_what_the_records_give(kept):
    assert report.PAGE.read_text(encoding="utf-8") == report.page(kept), "run: sh dev report --again"


def test_the_readme_has_the_figures_of_the_records(kept):
    (found,) = report.BLOCK.finditer(report.README.read_text(encoding="utf-8"))
    assert found[0] == f"{found[1]}{report.readme_block(kept)}{found[2]}", "run: sh dev report --again"


def test_the_figures_are_drawn_from_the_records_and_all_are_shown(kept):
    paper = Paper(kept.all)
    drawn = {f.file: f for f in figures.FIGURES if f.draws(paper)}
    folder = report.KEPT.parent
    assert {p.name for p in folder.glob("*.svg")} == drawn.keys()
    page = report.PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(evaluation/(.+?\.svg)\)", page)) == drawn.keys()
    for name, figure in drawn.items():
        assert f"drawn from {figure.digest(paper)}" in (folder / name).read_text(encoding="utf-8")


def test_a_figure_is_drawn_the_same_again(tmp_path):
    figure = figures.FIGURES[0]
    paper = Paper(made(like_the_paper))
    for name in ("one.svg", "two.svg"):
        figures.draw(figure, paper, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert figure.digest(paper) != figure.digest(Paper(made(all_alike)))


# ------------------------------------------------------------------ verdicts


def made(say):
    """A record of every experiment, with what `say` makes of it."""
    return [
        {
            "workload": e.name,
            "events": 100_000,
            "profiled_events": 100_000,
            "matching_events": 100_000,
            "matches": 1000,
            "length_from_below": 250.0,
            **say(e),
        }
        for e in experiments(quick=False)
    ]


def like_the_paper(e):
    """Records of an engine that does as the paper's did."""
    query, w = e.query.replace("max", "").replace("avg", ""), e.within / 500
    short = query == "p2s2" or e.query == "p3maxs2"
    length = PAPER_LENGTH.get("p2" + query[-2:] if "max" in e.query else query, 100)
    length *= 1 if short else w
    runs = 0.01 if short else PAPER_RUNS.get(query, 2) * w
    per_event = 2e-6 if short else 1e-4 * w * w * (0.5 if length < 200 * w else 1)
    less = 0.5 if e.p == 0.55 and not query.startswith("p1") else 1
    length *= less
    seconds = 100_000 * per_event * less
    kernel = 0.8 * seconds
    if e.plan == "eager":
        gain = 1.5 if e.p == 0.7 else 2
        seconds, kernel = seconds / gain, kernel / gain
    if e.plan == "backtrack":
        alike = short or (e.output == "non_overlap" and "*" not in e.query)
        seconds *= 1.3 if alike else 250
    merged = dict(zip((500, 1000, 1500, 2000), PAPER_MERGED.get(query, (0,) * 4), strict=True))[e.within]
    return {
        "matches": round(1000 * w) if not short else 10,
        "matched_events": length * (1000 * w if not short else 10),
        "seconds": seconds,
        "preparing_seconds": 0.0,
        "kernel_seconds": kernel,
        "runs_begun": 1000,
        "runs_merged": 10 * merged,
        "runs_per_step": runs / 2,
        "nodes": 100_000 * (0.5 if query.startswith("p2") else 1) * w,
        "events_read": 160_000,
    }


def all_alike(e):
    """Records of an engine that takes as long for anything."""
    return {
        "matches": 10,
        "matched_events": 10,
        "seconds": 1.0,
        "preparing_seconds": 0.1,
        "kernel_seconds": 0.1,
        "runs_begun": 1000,
        "runs_merged": 0,
        "runs_per_step": 1.0,
        "nodes": 1,
        "events_read": 100_000,
    }


def test_records_like_the_papers_hold_all_that_it_found():
    found = findings(made(like_the_paper))
    assert len(found) == 24
    assert [f"{f.number} {f.verdict}: {f.measured}" for f in found if f.verdict != "holds"] == []


def test_records_that_are_all_alike_hold_only_what_says_alike():
    found = {f.number: f.verdict for f in findings(made(all_alike))}
    assert {n for n, verdict in found.items() if verdict == "holds"} == {
        "1.1",
        "1.5",
        "1.6",
        "2.1",
        "3.3",
        "4.1",
        "5.2",
        "7.1",
    }
    assert {n for n, verdict in found.items() if verdict == "in part"} == {"1.3", "6.2"}


def test_what_was_not_measured_is_left_out():
    few = [r for r in made(like_the_paper) if r["workload"] == Experiment("p1s2").name]
    assert findings(few) == []


def test_fits():
    assert exponent([(x, 3 * x**2) for x in (1, 2, 5)]) == pytest.approx(2)
    assert straightness([(x, 3 * x + 1) for x in (1, 2, 5)]) == pytest.approx(1)
    assert straightness([(1, 1), (2, 5), (3, 1)]) == pytest.approx(0)


def test_every_finding_says_why_where_it_does_not_hold(kept):
    assert all(f.why for f in findings(kept.all) if f.verdict != "holds")


def test_peers_are_told_apart_in_the_opening_table():
    machine = {"cpu": "c", "cores": 2, "system": "s", "python": "3", "commit": "c", "changed": False}
    told = [
        {
            "question": "q",
            "system": system,
            "workload": f"peers/q/{system.replace(' ', '-')}",
            "events_per_second": rate,
            "run": 0,
        }
        for system, rate in (("augury", 2e6), ("flink", 4e4), ("plain spark", 3.5e5), ("numpy", 2.5e7))
    ]
    line = report.side_by_side(
        report.Records({"runs": [machine], "quick": False, "records": told})
    ).splitlines()[2]
    assert line == "| `q` | 2.0 M (1.00) | – | 40.0 k (50) | 350 k (5.71) | 25.0 M (0.08) |"


def test_runs_are_told_once_each_and_questions_that_are_torn():
    machine = {
        "cpu": "c",
        "cores": 2,
        "system": "s",
        "python": "3",
        "commit": "a",
        "changed": False,
        "load": 0.5,
    }
    told = [
        {"question": "q", "system": s, "workload": f"peers/q/{s}", "run": r}
        for s, r in (("augury", 0), ("flink", 1))
    ]
    one = report.Records({"runs": [machine], "quick": False, "records": told[:1]})
    assert (
        report.when(one)
        == "in one run of `sh dev bench`. Before a run began the machine's load was 0.5 at most."
    )
    two = report.Records(
        {"runs": [machine, machine | {"commit": "b", "changed": True}], "quick": False, "records": told}
    )
    assert "in 2 runs of `sh dev bench`, each question's systems in one but for `q`." in report.when(two)
    assert report.how(two.runs) == "c, 2 cores; s; Python 3; commits a, b and changes to it"


def test_the_kept_records_are_records(kept):
    raw = json.loads(report.KEPT.read_text(encoding="utf-8"))
    assert all(run["cpu"] for run in raw["runs"])
    assert {r["run"] for r in raw["records"]} == set(range(len(raw["runs"])))
    assert all("skipped" in r or r["workload"] for r in kept.all)
    assert all(r["agrees"] for r in kept.all if "agrees" in r)
