"""`profile` counts what an evaluation did, and changes nothing of its answer."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury as ag

PLANS = ("definition", "eager", "eager-unmerged", "backtrack")


def events(kinds: str, **columns: list[int]) -> pa.Table:
    return pa.table({"ts": list(range(len(kinds))), "kind": list(kinds), **columns})


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("output", ["all", "count", "non_overlap", "longest", "compressed"])
def test_the_result_is_what_match_gives_and_every_measure_is_told(plan: str, output: str) -> None:
    query = ag.sase("PATTERN SEQ(A+ a[], B b) WHERE a[i].x > a[i-1].x AND b.x > a[1].x WITHIN 6")
    table = events("AABABB", x=[1, 2, 3, 2, 5, 4])
    given = {"time": "ts", "type": "kind", "output": output, "plan": plan}
    result, measures = query.profile(table, **given)
    assert result.equals(query.match(table, **given))
    assert measures["events"] == 6
    assert measures["rows"] == result.num_rows
    assert measures["bad_rows"] == 0
    named = {"predicate_evaluations", "peak_runs", "peak_buffered_events", "peak_bytes"}
    assert all(measures[name] > 0 for name in named)
    assert measures["runs_merged"] >= 0
    assert all(type(n) is int for n in measures.values())


def test_merging_keeps_one_run_where_the_basic_algorithm_keeps_one_for_each_choice() -> None:
    query = ag.sase("PATTERN SEQ(A+ a[], B b)")
    table = events("A" * 8 + "B")
    merged = query.profile(table, time="ts", type="kind")[1]
    apart = query.profile(table, time="ts", type="kind", plan="eager-unmerged")[1]
    assert merged["peak_runs"] == 1
    assert merged["runs_merged"] > 0
    assert apart["peak_runs"] == 2**8 - 1
    assert apart["runs_merged"] == 0


def test_a_register_costs_a_run_for_each_of_its_values() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE a.x < b.x")
    table = events("AAAAAB", x=[1, 2, 1, 2, 1, 9])
    measures = query.profile(table, time="ts", type="kind")[1]
    assert measures["peak_runs"] == 2
    assert measures["runs_merged"] == 3
    assert measures["run_evaluations"] == 2  # b, tried with either value
    assert query.profile(table, time="ts", type="kind", plan="eager-unmerged")[1]["run_evaluations"] == 5


def test_a_predicate_on_one_event_is_evaluated_once_for_each() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE a.x > 1 AND b.x > 1")
    measures = query.profile(events("AAAB", x=[1, 2, 3, 4]), time="ts", type="kind")[1]
    assert measures["batch_evaluations"] == 2 * 4
    assert measures["run_evaluations"] == 0
    assert measures["predicate_evaluations"] == 8


def test_the_window_bounds_what_is_buffered() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) WITHIN 3")
    for plan in ("eager", "eager-unmerged"):
        measures = query.profile(events("A" * 50 + "B"), time="ts", type="kind", plan=plan)[1]
        assert measures["peak_buffered_events"] == 3
        assert measures["peak_runs"] <= 3


@pytest.mark.parametrize("many", [200, 1100])  # 2**1100 is more than a float holds
def test_counts_that_no_decimal_holds_are_counted(many: int) -> None:
    table = events("A" * many + "B")
    result, measures = ag.sase("PATTERN SEQ(A+ a[], B b)").profile(
        table, time="ts", type="kind", output="count"
    )
    assert result["count"].to_pylist() == [None]
    assert measures["counts_beyond"] == 1


def test_dropped_rows_are_counted() -> None:
    table = pa.table({"ts": [1, None, 2], "x": [1, 2, 3]})
    with pytest.warns(ag.DataWarning):
        measures = ag.sase("PATTERN SEQ(E a, E b)").profile(table, time="ts", bad_rows="drop")[1]
    assert (measures["bad_rows"], measures["events"]) == (1, 2)


@pytest.mark.parametrize(
    "strategy", ["skip_till_any_match", "skip_till_next_match", "strict_contiguity", "partition_contiguity"]
)
@pytest.mark.parametrize("output", ["all", "count"])
def test_runs_are_counted_after_each_event_as_the_definition_has_them(strategy: str, output: str) -> None:
    query = ag.sase(
        f"PATTERN SEQ(A+ a[], B b, C c) WHERE {strategy}(a[], b, c) {{ [one] AND a[i].x >= a[i-1].x }} WITHIN 5"
    )
    kinds = "XABAXCABBXXXXXXXABCCAXBBCC"
    table = events(kinds, x=[3 + n % 4 for n in range(len(kinds))], one=[1] * len(kinds))
    given = {"time": "ts", "type": "kind", "output": output}
    told = {plan: query.profile(table, plan=plan, **given)[1] for plan in PLANS}
    assert told["definition"]["runs_begun"] == kinds.count("A")
    for name in ("runs_begun", "run_steps"):
        assert told["eager-unmerged"][name] == told["definition"][name] > 0
    assert told["eager"]["runs_begun"] == kinds.count("A")
    assert 0 < told["eager"]["run_steps"] <= told["definition"]["run_steps"]


def test_a_run_is_alive_until_its_window_ends() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) WITHIN 4")
    for plan in ("definition", "eager", "eager-unmerged"):
        measures = query.profile(events("AXXXXXX"), time="ts", type="kind", plan=plan)[1]
        assert measures["run_steps"] == 4


@pytest.mark.parametrize("plan", ["eager", "eager-unmerged"])
def test_no_run_waits_between_a_series_and_what_follows(plan: str) -> None:
    """Proceed is constrained: a run leaves the series only with an event that begins the next component."""
    query = ag.sase(
        "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { a[i].x > a[i-1].x AND b.x = a[1].x }"
    )
    table = events("ABABABABAB", x=[1, 0, 2, 0, 3, 0, 4, 0, 5, 0])
    measures = query.profile(table, time="ts", type="kind", plan=plan)[1]
    assert measures["rows"] == 0
    assert measures["peak_runs"] == 5  # one for each first event


@pytest.mark.parametrize("plan", ["eager", "eager-unmerged", "backtrack"])
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match"])
def test_the_window_is_asked_at_every_edge(plan: str, strategy: str) -> None:
    """A run that only passes over events ends with its window: no predicate is tried for it any more."""
    query = ag.sase(f"PATTERN SEQ(A a, B b, C c) WHERE {strategy}(a, b, c) {{ b.x < a.x }} WITHIN 5")
    table = events("A" + "B" * 60, x=[1] + [1] * 60)
    measures = query.profile(table, time="ts", type="kind", plan=plan)[1]
    assert measures["run_evaluations"] == 4
    taking = ag.sase(f"PATTERN SEQ(A+ a[], C c) WHERE {strategy}(a[], c) {{ a[i].x < a[i-1].x }} WITHIN 5")
    measures = taking.profile(events("A" + "B" * 30 + "A", x=[9] * 32), time="ts", type="kind", plan=plan)[1]
    assert measures["run_evaluations"] == 0


def test_a_register_that_no_test_will_read_keeps_no_runs_apart() -> None:
    """a.x matters until b is bound: from there on the five runs have one future."""
    query = ag.sase("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { a.x < b.x }")
    told = query.profile(events("AAAAAB" + "D" * 9, x=[1, 2, 3, 4, 5, 9] + [0] * 9), time="ts", type="kind")[
        1
    ]
    assert told["peak_runs"] == 5
    assert told["runs_merged"] == 4
    kept = ag.sase(
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { a.x < b.x AND a.x < c.x }"
    )
    told = kept.profile(events("AAAAABC", x=[1, 2, 3, 4, 5, 9, 9]), time="ts", type="kind")[1]
    assert told["runs_merged"] == 0
