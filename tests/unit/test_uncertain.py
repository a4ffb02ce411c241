"""Imprecise times: what is asked wrongly, what a result remembers, limits, and long or wide matches."""

from __future__ import annotations

import datetime as dt
import math
import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import augury as ag

TIME = ("lower", "upper")
EVENTS = pa.table(
    {
        "kind": ["A", "B", "B"],
        "lower": [1, 2, 3],
        "upper": [2, 4, 3],
        "x": [1.0, 2.0, 3.0],
        "s": ["u", "v", "w"],
    }
)
PAIR = ag.sase("PATTERN SEQ(A a, B b)")
NEXT = ag.sase("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b)")


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"time": ("lower", "x")}, "x is a number"),
        ({"time": ("lower", "lower")}, 'time="lower"'),
        ({"time": ("lower", "until")}, "no time column until"),
        ({"pmf": "s"}, "pmf column s is a string"),
        ({"pmf": "q"}, "q"),
        ({"pmf": 5}, "pmf="),
        ({"min_confidence": 1.5}, "a number from 0 to 1"),
        ({"min_confidence": True}, "a number from 0 to 1"),
        ({"top": 0}, "a whole number from 1 on"),
        ({"output": "count"}, 'output="all"'),
        ({"plan": "eager"}, '"sorted"'),
        ({"events": True}, "automata"),
        ({"time": "lower", "plan": "point"}, "imprecise times"),
        ({"time": "lower", "top": 3}, "time=(lower, upper)"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_any_event_is_read(told: dict[str, Any], says: str) -> None:
    with pytest.raises(ag.QueryError) as caught:
        PAIR.match(EVENTS, **{"time": TIME, "type": "kind", **told})
    assert says in str(caught.value)


def test_bounds_of_two_kinds_are_refused() -> None:
    day = pa.array([dt.date(2026, 1, 1)])
    with pytest.raises(ag.QueryError, match="kind"):
        PAIR.match(pa.table({"lower": [1], "upper": day, "kind": ["A"]}), time=TIME, type="kind")


def test_a_column_named_like_one_of_the_results_is_refused() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) RETURN a.x AS confidence")
    with pytest.raises(ag.QueryError, match="two columns of the result are named confidence"):
        query.match(EVENTS, time=TIME, type="kind")


def test_the_columns_are_known_without_events() -> None:
    result = PAIR.match(EVENTS.slice(0, 0), time=TIME, type="kind", key="s")
    assert result.schema.names == ["s", "a", "b", "range_start", "range_end", "confidence"]
    assert result.num_rows == 0
    returning = ag.sase("PATTERN SEQ(A a, B b) RETURN a, b.x")
    result = returning.match(EVENTS, time=TIME, type="kind", match_id=True)
    assert result.schema.names == ["match_id", "range_start", "range_end", "confidence", "a", "b_x"]
    assert set(result.schema.field("a").type.names) == {"kind", "lower", "upper", "x", "s"}
    assert len(set(result.column("match_id").to_pylist())) == result.num_rows == 2


def test_columns_that_nobody_reads_are_left_out() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) RETURN b.x")
    m = query.matcher(EVENTS.schema, time=TIME, type="kind")
    assert m.reads.names == ["kind", "lower", "upper", "x"]


def test_an_interval_at_the_ends_of_time() -> None:
    last = 2**63 - 1
    events = pa.table({"kind": ["A", "B"], "lower": [last - 3, last - 1], "upper": [last - 2, last]})
    row = PAIR.match(events, time=TIME, type="kind").to_pylist()[0]
    assert (row["range_start"], row["range_end"], row["confidence"]) == (last - 3, last, 1.0)
    events = pa.table({"kind": ["A", "B"], "lower": [-(2**63), last - 1], "upper": [0, last]})
    with pytest.raises(ag.DataError, match="instants"):
        PAIR.match(events, time=TIME, type="kind")


def test_unsigned_and_narrow_integers() -> None:
    for kind in (pa.uint64(), pa.int16()):
        events = EVENTS.cast(pa.schema([f.with_type(kind) if f.name in TIME else f for f in EVENTS.schema]))
        result = PAIR.match(events, time=TIME, type="kind")
        assert result.schema.field("range_start").type == kind
        assert result.column("range_end").to_pylist() == [4, 3]


# ------------------------------------------------------------------ point matches


def test_point_matches_of_a_row_that_remembers_its_query() -> None:
    result = PAIR.match(EVENTS, time=TIME, type="kind")
    points = ag.point_matches(result.slice(0, 1))
    assert points.schema.names == ["a", "b", "probability"]
    assert points.num_rows == 5
    assert math.isclose(sum(points.column("probability").to_pylist()), 5 / 6)


def test_point_matches_of_a_dict_need_the_query_and_its_columns() -> None:
    row = PAIR.match(EVENTS, time=TIME, type="kind").to_pylist()[1]
    with pytest.raises(ag.QueryError, match="which query"):
        ag.point_matches(row)
    with pytest.raises(ag.QueryError, match="time="):
        ag.point_matches(row, PAIR)
    points = ag.point_matches(row, PAIR, time=TIME, type="kind")
    assert points.to_pylist() == [
        {"a": 1, "b": 3, "probability": 0.5},
        {"a": 2, "b": 3, "probability": 0.5},
    ]


def test_point_matches_under_skip_till_next_need_the_stream() -> None:
    result = NEXT.match(EVENTS, time=TIME, type="kind")
    with pytest.raises(ag.QueryError, match="stream"):
        ag.point_matches(result.slice(0, 1))
    points = ag.point_matches(result.slice(0, 1), stream=EVENTS)
    assert math.isclose(sum(points.column("probability").to_pylist()), result.column("confidence")[0].as_py())
    with pytest.raises(ag.DataError, match="no such event"):
        ag.point_matches(result.slice(0, 1), stream=EVENTS.slice(0, 1))


def test_point_matches_of_rows_without_events_are_refused() -> None:
    result = ag.sase("PATTERN SEQ(A a, B b) RETURN a.x").match(EVENTS, time=TIME, type="kind")
    with pytest.raises(ag.QueryError, match="RETURN"):
        ag.point_matches(result.slice(0, 1))
    whole = PAIR.match(EVENTS, time=TIME, type="kind")
    with pytest.raises(ag.DataError, match="one row"):
        ag.point_matches(whole)


# ------------------------------------------------------------------ long patterns, wide intervals


def chain(length: int, strategy: str, window: int | None = None) -> ag.Query:
    names = [f"e{k}" for k in range(length)]
    where = f"{strategy}({', '.join(names)}) AND " if strategy else ""
    tests = " AND ".join(f"{name}.n = {k}" for k, name in enumerate(names))
    within = "" if window is None else f" WITHIN {window}"
    return ag.sase(f"PATTERN SEQ({', '.join(f'E {name}' for name in names)}) WHERE {where}{tests}{within}")


def in_order(length: int, width: int) -> Fraction:
    """How likely it is that so many events, each somewhere in one interval, happen in one order and at no two at once."""
    return Fraction(math.comb(width, length), width**length)


@pytest.mark.parametrize("strategy", ["", "skip_till_next_match"])
@pytest.mark.parametrize("length", [2, 3, 5, 8])
def test_wide_intervals_of_long_patterns(strategy: str, length: int) -> None:
    width = 1000 if not strategy else 60
    events = pa.table({"n": list(range(length)), "lower": [5] * length, "upper": [4 + width] * length})
    row = chain(length, strategy).match(events, time=TIME).to_pylist()[0]
    assert math.isclose(row["confidence"], in_order(length, width), rel_tol=1e-9)
    assert (row["range_start"], row["range_end"]) == (5, 4 + width)


def test_a_window_that_cuts_a_long_pattern() -> None:
    """Of the instants of 4 events in 1 … 9, those that lie within 6 of the first: counted by their first."""
    length, width, window = 4, 9, 6
    events = pa.table({"n": list(range(length)), "lower": [1] * length, "upper": [width] * length})
    many = sum(math.comb(min(window - 1, width - first), length - 1) for first in range(1, width + 1))
    for strategy in ("", "skip_till_next_match"):
        row = chain(length, strategy, window).match(events, time=TIME).to_pylist()[0]
        assert math.isclose(row["confidence"], many / width**length, rel_tol=1e-12)


@pytest.mark.parametrize("plan", ["sorted", "any_state", "selective", "point"])
def test_many_events_that_could_spoil_two_gaps(plan: str) -> None:
    """All events are alike: each could be in any gap of the others' matches."""
    rng = random.Random(5)
    lower = [rng.randint(0, 12) for _ in range(9)]
    events = pa.table(
        {"lower": lower, "upper": [low + rng.randint(0, 3) for low in lower], "id": list(range(9))}
    )
    query = ag.sase("PATTERN SEQ(E a, E b, E c) WHERE skip_till_next_match(a, b, c) WITHIN 8")
    wanted = {
        tuple(row[v]["id"] for v in "abc"): row["confidence"]
        for row in query.match(events, time=TIME, plan="definition").to_pylist()
    }
    got = {
        tuple(row[v]["id"] for v in "abc"): row["confidence"]
        for row in query.match(events, time=TIME, plan=plan).to_pylist()
    }
    assert got.keys() == wanted.keys()
    assert all(math.isclose(got[ids], wanted[ids], abs_tol=1e-12) for ids in wanted)


def test_runs_of_any_state_have_a_limit() -> None:
    events = pa.table({"lower": [1] * 40, "upper": [50] * 40})
    query = ag.sase("PATTERN SEQ(E a, E b, E c)")
    with pytest.raises(ag.LimitError, match="max_runs=100"):
        query.match(events, time=TIME, plan="any_state", max_runs=100)


# ------------------------------------------------------------------ matcher


def test_a_matcher_keeps_what_rows_to_come_can_need() -> None:
    m = ag.sase("PATTERN SEQ(A a, B b) WITHIN 10").matcher(EVENTS.schema, time=TIME, type="kind")
    m.insert(EVENTS)
    assert m.advance(4).column("b").to_pylist() == [EVENTS.to_pylist()[2]]
    assert m.stats["kept_events"] == 3
    assert m.advance(5).num_rows == 1
    assert m.stats["kept_events"] == 3  # an event at 5 may still follow a at 2
    m.advance(14)
    assert m.stats["kept_events"] == 0


def test_the_most_confident_rows_are_known_at_the_end() -> None:
    m = PAIR.matcher(EVENTS.schema, time=TIME, type="kind", top=1)
    m.insert(EVENTS)
    assert m.advance(100).num_rows == 0
    assert m.close().column("confidence").to_pylist() == [1.0]


def test_a_matcher_cannot_speculate() -> None:
    with pytest.raises(ag.QueryError, match="speculate"):
        PAIR.matcher(EVENTS.schema, time=TIME, type="kind", speculate=None)


def test_explain_tells_the_plan_and_where_predicates_are_tested() -> None:
    query = ag.sase(
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) AND a.x < b.x AND b.x > 0 WITHIN 5"
    )
    told = query.explain(EVENTS, time=TIME, type="kind")
    assert "sorted" in told
    assert "where a and b are joined" in told
    assert "of b alone" in told
    assert "AUTO" in query.explain(time=TIME, type="kind").upper()


def test_profile_counts() -> None:
    _, measures = PAIR.profile(EVENTS, time=TIME, type="kind", plan="point")
    assert measures["point_events"] == 6
    assert measures["point_matches"] == 7
    assert measures["rows"] == 2
    assert {"predicate_evaluations", "peak_runs", "runs_merged", "peak_buffered_events"} < measures.keys()
    assert measures["peak_bytes"] > 0
