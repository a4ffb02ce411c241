"""`query.why` by example: each rule that can end a run, what is said of it, and the change that helps."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import augury as ag
from augury.errors import DataError, QueryError

EVENTS = pa.table(
    {
        "ts": [1, 3, 4, 9, 20, 22, 30],
        "kind": list("AXBCABC"),
        "x": [5, 4, 3, 8, 2, 9, 7],
        "user": [1, 1, 1, 1, 2, 2, 2],
    }
)


def why(text, data=EVENTS, **more):
    return ag.sase(text).why(data, **{"time": "ts", "type": "kind", **more})


def said(answer):
    return {change.rule: change.said for change in answer.changes}


def test_a_window_that_is_too_short():
    answer = why("PATTERN SEQ(A a, C c) WHERE c.x = 8 WITHIN 5")
    assert answer.matches == 0
    assert answer.misses[0].because.rule == "window"
    assert answer.misses[0].row == 3
    assert "8 after the first event" in str(answer)
    assert said(answer)["window"] == "WITHIN 9"


def test_a_bound_that_is_too_tight():
    answer = why("PATTERN SEQ(A a, B b) WHERE b.x > 9")
    assert answer.misses[0].because.rule == "predicate"
    assert answer.misses[0].because.values == (("b.x", "3"),)
    assert said(answer) == {"predicate": "b.x >= 9"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("b.x < 3", "b.x <= 3"),
        ("10 < b.x", "9 <= b.x"),
        ("b.x > a.x + 100", "b.x >= a.x + 7"),
        ("b.x > 5 * a.x", "b.x >= 5 * a.x - 1"),
        ("b.x > 4.6 * a.x", "b.x >= 4.5 * a.x"),
        ("b.x = 100", "without b.x = 100"),
        ("b.x * b.x > 200.0", "b.x * b.x >= 81.0"),
    ],
)
def test_a_bound_is_moved_as_little_as_will_do(given, told):
    answer = why(f"PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) {{ {given} }}", EVENTS.slice(4))
    if given == "b.x < 3":
        answer = why("PATTERN SEQ(A a, B b) WHERE b.x < 3")
    assert said(answer)["predicate"] == told


def test_a_parameter_is_a_bound_and_the_others_stay_parameters():
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE b.x > :least AND a.x > :low", least=50, low=1)
    (change,) = query.why(EVENTS, time="ts", type="kind").changes
    assert change.said == "b.x >= 9"
    assert change.query.params["low"] == 1
    assert change.query.match(EVENTS, time="ts", type="kind").num_rows == 2


def test_a_strategy_that_lets_nothing_pass():
    answer = why("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { a.x = 5 }")
    assert answer.misses[0].because.rule == "strategy"
    assert answer.misses[0].row == 1
    assert said(answer)["strategy"] == "skip_till_next_match"


def test_a_next_match_that_is_taken_first():
    data = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "x": [0, 1, 5]})
    answer = why("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b)", data, events={"a": 0, "b": 2})
    assert answer.is_match is False
    assert answer.misses[0].because.rule == "strategy"
    assert answer.misses[0].row == 1
    assert "it begins b" in str(answer)


def test_an_event_that_is_forbidden():
    answer = why("PATTERN SEQ(A a, ~(X n), B b) WHERE b.x < a.x")
    assert answer.misses[0].because.rule == "negation"
    assert answer.misses[0].row == 1
    assert said(answer)["negation"] == "without ~(X n)"


def test_another_partition():
    answer = why("PATTERN SEQ(A a, B b) WHERE [user] AND b.x > 8 AND a.x = 5")
    assert said(answer)["partition"] == "without [user]"


def test_an_event_that_never_came():
    answer = why("PATTERN SEQ(A a, B b, Z z)")
    assert answer.misses[0].because.rule == "end"
    assert answer.misses[0].reached == 2
    assert "no Z comes for z" in str(answer)
    assert answer.changes == ()
    assert "No change of one rule or of two" in str(answer)


def test_nothing_that_begins_says_what_came_closest():
    answer = why("PATTERN SEQ(A a, B b) WHERE a.x > 6")
    assert answer.misses[0].reached == 0
    assert answer.misses[0].row == 0
    assert said(answer)["predicate"] == "a.x >= 5"


def test_two_rules_at_once():
    answer = why("PATTERN SEQ(A a, C c) WHERE c.x > 20 WITHIN 5")
    (change,) = answer.changes
    assert change.rule == "window and predicate"
    assert change.query.match(EVENTS, time="ts", type="kind").num_rows == 1


def test_a_match_is_no_miss():
    answer = why("PATTERN SEQ(A a, B b)", event=0)
    assert answer.matches == 2
    assert all(miss.first != 0 for miss in answer.misses)
    assert why("PATTERN SEQ(A a, B b)", events=[0, 2]).is_match is True


def test_the_first_rule_that_given_events_break():
    answer = why("PATTERN SEQ(A a, B b, C c) WHERE b.x > a.x WITHIN 5", events={"a": 0, "b": 2, "c": 3})
    assert [answer.misses[0].because.rule, *(b.rule for b in answer.misses[0].also)] == [
        "predicate",
        "window",
    ]
    assert said(answer) == {"window and predicate": "WITHIN 9, and b.x >= a.x - 2"}


def test_events_are_named_by_their_values_too():
    query = "PATTERN SEQ(A a, B+ b[], C c)"
    named = why(query, events={"a": {"ts": 1}, "b": [{"x": 3, "kind": "B"}], "c": 3})
    assert named.is_match
    with pytest.raises(DataError, match="2 events have kind = 'B'"):
        why(query, events={"a": 0, "b": {"kind": "B"}, "c": 3})
    with pytest.raises(DataError, match="no event has x = 77"):
        why(query, events={"a": {"x": 77}, "b": 2, "c": 3})
    with pytest.raises(DataError, match="no row 70"):
        why(query, events=[70, 2, 3])
    with pytest.raises(QueryError, match="no event for A a"):
        why(query, events={"b": 2, "c": 3})
    with pytest.raises(QueryError, match="'z', which is no positive variable"):
        why(query, events={"z": 2})
    with pytest.raises(QueryError, match="2 events cannot be a match"):
        why(query, events=[0, 3])


def test_another_key_is_a_rule_too():
    answer = why("PATTERN SEQ(A a, B b)", key="user", events=[0, 5])
    assert answer.misses[0].because.rule == "key"


def test_one_key_is_pulled():
    assert why("PATTERN SEQ(A a, B b)", key={"user": 2}).matches == 1
    with pytest.raises(QueryError, match="no key column"):
        why("PATTERN SEQ(A a, B b)", key={"users": 2})
    with pytest.raises(QueryError, match="no value of the column user"):
        why("PATTERN SEQ(A a, B b)", key={"user": "two"})


def test_too_many_events_ask_for_a_key():
    many = pa.table({"ts": range(6000), "kind": ["A"] * 6000})
    with pytest.raises(DataError, match="name one key"):
        why("PATTERN SEQ(A a, B b)", many)


def test_too_many_matches_are_said_to_be_too_many():
    data = pa.table({"ts": range(60), "kind": ["A"] * 59 + ["B"]})
    answer = why("PATTERN SEQ(A+ a[], B b) WHERE b.ts > 5", data)
    assert answer.matches is None
    assert "more matches than can be told apart" in str(answer)


def test_decimals_and_unsigned_integers_have_bounds_too():
    data = pa.table(
        {"ts": [1, 2], "p": [Decimal("1.10"), Decimal("2.25")], "u": pa.array([1, 2], pa.uint64())}
    )
    for bound, told in (
        ("b.p < 2.0", "b.p <= 2.25"),
        ("b.u < 2", "b.u <= 2"),
        ("b.p < a.p", "without b.p < a.p"),
    ):
        answer = ag.sase(f"PATTERN SEQ(T a, T b) WHERE {bound}").why(data, time="ts")
        assert [c.said for c in answer.changes] == [told]


def test_an_interval_of_time_is_refused():
    data = pa.table({"lo": [1], "hi": [2]})
    with pytest.raises(QueryError, match="is an interval"):
        ag.sase("PATTERN T a").why(data, time=("lo", "hi"))
    with pytest.raises(QueryError, match="is an interval"):
        ag.plot_strategies(ag.sase("PATTERN T a"), data, time=("lo", "hi"))


def test_times_are_told_as_times():
    at = [dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC), dt.datetime(2026, 1, 5, 9, 13, 5, tzinfo=dt.UTC)]
    data = pa.table({"ts": pa.array(at, pa.timestamp("us", "UTC")), "kind": ["A", "B"]})
    answer = why("PATTERN SEQ(A a, B b) WITHIN 10 minutes", data)
    assert "13 minutes 5 seconds after the first event" in str(answer)
    (change,) = answer.changes
    assert change.query.match(data, time="ts", type="kind").num_rows == 1


def test_the_table_and_the_notebook_tell_the_same():
    answer = why("PATTERN SEQ(A a, ~(X n), B b) WHERE b.x < a.x")
    rows = answer.table.to_pylist()
    assert rows[0]["rule"] == "negation"
    assert rows[0]["events"] == [{"variable": "a", "row": 0}, {"variable": "b", "row": 2}]
    assert ag.sase(rows[0]["query"]).match(EVENTS, time="ts", type="kind").num_rows == 1
    shown = answer._repr_html_()
    assert "which ~(X n) forbids there" in shown


@pytest.mark.spark
def test_a_key_is_pulled_out_of_spark(spark):
    frame = spark.createDataFrame(EVENTS)
    answer = why("PATTERN SEQ(A a, B b) WHERE b.x < a.x", frame, key={"user": 2})
    assert answer.matches == 0
    assert said(answer)["predicate"] == "b.x <= a.x + 7"
