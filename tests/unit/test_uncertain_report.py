"""The page on imprecise times says what its records say."""

import itertools
import json

from bench import uncertain, uncertain_report


def kept():
    return json.loads(uncertain_report.KEPT.read_text(encoding="utf-8"))


def test_the_page_is_what_the_records_give():
    found = uncertain_report.PAGE.read_text(encoding="utf-8")
    assert found == uncertain_report.page(kept()), "run: python -m bench.uncertain_report --again"


def test_every_figure_of_the_page_is_there():
    folder = uncertain_report.KEPT.parent
    drawn = {p.stem.removeprefix("figure-") for p in folder.glob("*.svg")}
    assert drawn == {f for f in uncertain_report.FIGURES if uncertain_report.points(kept()["records"], f)}


def test_experiments_are_the_papers_figures():
    every = list(uncertain.experiments(quick=False))
    assert {e.figure for e in every} == set(uncertain_report.FIGURES)
    assert len({e.name for e in every}) == len(every)
    assert sum(bool(e.goal) for e in every) == 8
    quick = {e.name for e in uncertain.experiments(quick=True)}
    assert quick < {e.name for e in every}


def test_a_worst_case_has_no_overlap():
    table = uncertain.worst(5, 2).to_pydict()
    rows = sorted(zip(table["lower"], table["upper"], table["kind"], strict=True))
    kinds = [kind for _, _, kind in rows[:15]]
    assert kinds == ["T0"] * 5 + ["T1"] * 5 + ["T2"] * 5
    for (_, upper, one), (lower, _, other) in itertools.pairwise(rows[:15]):
        assert one == other or upper < lower


def test_how_far_auto_is_from_the_best_plan():
    made = [
        {"workload": "uncertain/4b/5/auto", "plan": "auto", "x": 5, "events_per_second": 50, "seconds": 1},
        {
            "workload": "uncertain/4b/5/sorted",
            "plan": "sorted",
            "x": 5,
            "events_per_second": 100,
            "seconds": 1,
        },
    ]
    assert "2.00 times" in uncertain_report.auto_is_near(uncertain_report.points(made, "4b"))
