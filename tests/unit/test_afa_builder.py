"""`ag.Automaton`: what is wrong is told where it is built, or where it meets its data."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import augury as ag
from augury.engines.batch import COMPILED_FROM

EVENTS = pa.table(
    {"ts": [1, 2, 3], "x": [1, 2, None], "kind": ["A", "B", "A"], "y": [0.5, 1.5, 2.5], "n": [1, 1, 1]}
)


def drawn(**registers):
    return ag.Automaton(start="a", final=["b"], registers=registers)


def rows(afa, table=EVENTS, within=None, **told):
    return afa.query(within=within).match(table, time="ts", **told).to_pylist()


@pytest.mark.parametrize(
    ("build", "says", "hint"),
    [
        (lambda: drawn(n=0).arc("a", "b", update={"n": "r.n + 0.5"}), "assigns a number", "0.0"),
        (lambda: drawn(n=0).arc("a", "b", update={"n": "e.x / 2"}), "assigns a number", "0.0"),
        (lambda: drawn(n=0).arc("a", "b", update=lambda e, r: {"n": e.x * 1.5}), "assigns a number", "0.0"),
        (lambda: drawn(n=0).arc("a", "b", update={"n": "'x'"}), "assigns a string", "n is an integer"),
        (lambda: drawn(n=None), "starts as null", "0 or ''"),
        (lambda: drawn(n=[1]), "list of lists|starts as a", ""),
        (lambda: drawn(valid_from=0), "cannot be named valid_from", ""),
        (lambda: drawn(valid_to=0), "cannot be named valid_to", ""),
        (lambda: drawn(events=0), "cannot be named events", ""),
        (lambda: drawn(op=0), "cannot be named op", ""),
        (lambda: drawn().arc("a", "b", id="k").arc("a", "b", id="k"), "an arc k already", ""),
        (lambda: drawn().arc("a", "b", when=lambda e, r: e.x > 1 and e.y > 2), "no truth value", "& | ~"),
        (lambda: drawn().arc("a", "b", when=lambda e, r: not e.x), "no truth value", "& | ~"),
        (lambda: drawn().arc("a", "b", when=lambda e, r: bool(e.x > 1)), "no truth value", "& | ~"),
        (lambda: drawn().arc("a", "b", when=lambda e, r: 0 < e.x < 2), "no truth value", "& | ~"),
        (lambda: drawn().arc("a", "b", when=lambda e, r: e.x in (1, 2)), "no truth value|iterated", ""),
        (lambda: drawn().arc("a", "b", when=lambda e: e.x > 1), "cannot be called with e and r", ""),
        (lambda: drawn().epsilon("a", "b", when="x > 1"), "sees registers only", "r.x"),
        (lambda: drawn().epsilon("a", "b", when=lambda e, r: e.x > 1), "cannot be called with r", ""),
        (lambda: drawn().arc("a", "b", when="r.m > 1"), "no register m", ""),
        (lambda: drawn(n=0).arc("a", "b", update={"m": "1"}), "no register m", "n"),
        (lambda: drawn(n=0).arc("a", "b", update="r.n + 1"), "is a dict", ""),
        (lambda: drawn().arc("a", "b", when="a[1].x > 1"), "one event and the registers", ""),
        (lambda: drawn().arc("a", "b", when="frob(x) > 1"), "no function frob", "floor"),
        (lambda: drawn().arc("a", "b", lifetime=5), "a pair", "None"),
        (lambda: drawn().arc("a", "b", lifetime=("x", None)), "the end 'x'", ""),
        (lambda: drawn().arc("a", ""), "a state is named", ""),
        (lambda: ag.Automaton(start="a", final=[]), "accepts nothing", ""),
        (lambda: drawn().window_end("a", "b").query(), "no window", "within"),
        (lambda: drawn().query(within=0), "greater than 0", ""),
        (lambda: drawn().query(within="soon"), "is no window", ""),
        (
            lambda: drawn(n=0).epsilon("a", "b", update={"n": "r.n + 1"}).epsilon("b", "a").query(),
            "never ends",
            "when",
        ),
    ],
)
def test_a_wrong_automaton_is_refused_where_it_is_built(build, says, hint):
    with pytest.raises(ag.QueryError, match=says) as told:
        build()
    assert hint in (told.value.hint or "")


@pytest.mark.parametrize(
    ("afa", "told", "says"),
    [
        (drawn().arc("a", "b", when="z > 1"), {}, "no attribute z"),
        (drawn().arc("a", "b", when="kind > 1"), {}, "cannot be compared"),
        (drawn().arc("a", "b", when="x + 1"), {}, "true or false"),
        (drawn(s="").arc("a", "b", update={"s": "x"}), {}, "assigns an integer"),
        (drawn(q=0).arc("a", "b", update={"q": "y"}), {}, "assigns a number"),
        (drawn(kind="").arc("a", "b"), {"key": "kind"}, "named like a key column"),
        (drawn().arc("a", "b", lifetime=(dt.date(2026, 1, 1), None)), {}, "time column"),
        (drawn().arc("a", "b"), {"sequence": "kind"}, "sequence column"),
        (drawn().arc("a", "b"), {"output": "count"}, "one by one"),
        (drawn().arc("a", "b"), {"plan": "restart"}, "restarts a running matcher"),
        (drawn().arc("a", "b"), {"plan": "backtrack"}, "evaluates no automaton"),
        (drawn().arc("a", "b"), {"match_id": True}, "output events"),
        (drawn().arc("a", "b"), {"min_confidence": 0.5}, "says nothing here"),
    ],
)
def test_an_automaton_that_does_not_fit_its_data_is_refused(afa, told, says):
    with pytest.raises(ag.QueryError, match=says):
        rows(afa, **told)


def test_an_error_in_a_text_points_into_it():
    with pytest.raises(ag.QueryError) as told:
        drawn().arc("a", "b", when="x > 1 and kind = 3").query().match(EVENTS, time="ts")
    assert (told.value.line, told.value.column) == (1, 11)


def test_a_cycle_of_epsilons_that_comes_back_adds_nothing():
    afa = drawn(n=0).arc("a", "b").epsilon("b", "c", update={"n": "0"}).epsilon("c", "b")
    assert len(rows(afa)) == 3


def test_a_cycle_that_does_not_end_is_an_error_when_it_runs():
    afa = drawn(n=0).arc("a", "b").epsilon("b", "b", when="r.n >= 0", update={"n": "r.n + 1"})
    for plan in ("eager", "definition"):
        with pytest.raises(ag.QueryError, match="does not end"):
            rows(afa, plan=plan)


def test_texts_and_lambdas_say_the_same():
    text = drawn(n=0).arc(
        "a", "b", when="(x > 1 or kind = 'A') and not y is null", update={"n": "abs(x) + r.n"}
    )
    traced = drawn(n=0).arc(
        "a",
        "b",
        when=lambda e, r: ((e.x > 1) | (e["kind"] == "A")) & ~e.y.is_null(),
        update=lambda e, r: {"n": abs(e.x) + r.n},
    )
    assert rows(text) == rows(traced)
    fn = drawn(n=0).arc(
        "a", "b", when=lambda e, r: e.kind.isin("A", "C"), update=lambda e, r: {"n": ag.fn.least(e.x, r.n)}
    )
    assert rows(fn) == rows(
        drawn(n=0).arc("a", "b", when="kind in ('A', 'C')", update={"n": "least(x, r.n)"})
    )


def test_a_string_is_an_expression_in_a_text_and_a_value_in_a_lambda():
    assert [r["s"] for r in rows(drawn(s="").arc("a", "b", update={"s": "kind"}))] == ["A", "B", "A"]
    afa = drawn(s="").arc("a", "b", update=lambda e, r: {"s": "kind"})
    assert [r["s"] for r in rows(afa)] == ["kind", "kind", "kind"]


def test_registers_are_of_every_scalar_type():
    moment = dt.datetime(2026, 1, 1, 12)  # noqa: DTZ001  # a column without a zone
    values = {
        "i": 1,
        "f": 1.5,
        "b": True,
        "s": "text",
        "d": dt.date(2026, 1, 1),
        "t": moment,
        "z": moment.replace(tzinfo=dt.UTC),
        "w": dt.timedelta(minutes=5),
        "m": Decimal("1.50"),
        "x": b"bytes",
    }
    found = rows(drawn(**values).arc("a", "b", update={"f": "r.i", "t": "r.t + r.w"}), key="n")
    assert {k: v for k, v in found[0].items() if k in values} == {
        **values,
        "f": 1.0,
        "t": moment + values["w"],
    }
    assert list(found[0]) == ["n", *values, "valid_from", "valid_to"]


def test_every_form_of_a_window():
    start = dt.datetime(2026, 1, 1)  # noqa: DTZ001  # a column without a zone
    times = [start + dt.timedelta(seconds=s) for s in (0, 3, 9)]
    table = pa.table({"ts": pa.array(times, pa.timestamp("s"))})
    afa = drawn().arc("a", "c").arc("c", "b")
    for within in ("5 seconds", dt.timedelta(seconds=5), "5000 milliseconds"):
        assert [r["valid_to"] for r in rows(afa, table, within)] == [times[0] + dt.timedelta(seconds=5)]
    short = rows(drawn().arc("a", "b"), table, "1500 milliseconds")
    assert short[0]["valid_to"] == times[0] + dt.timedelta(milliseconds=1500)
    with pytest.raises(ag.QueryError, match="no unit"):
        rows(afa, table, 5)


def test_a_query_goes_through_json():
    afa = drawn(n=0, when=dt.date(2026, 1, 1)).arc(
        "a", "b", when=lambda e, r: e.x.isin(1, 2) | (e.kind == "it's"), id="odd id", lifetime=(None, 3)
    )
    afa.epsilon("b", "b", when="r.n > 5").window_end("a", "b")
    query = afa.query(within=7)
    again = ag.from_json(query.to_json())
    assert again == query
    assert hash(again) == hash(query)
    assert again.match(EVENTS, time="ts").equals(query.match(EVENTS, time="ts"))
    for broken in ('{"augury": 1, "language": "afa"}', '{"augury": 1, "language": "afa", "start": 5}'):
        with pytest.raises(ag.QueryError):
            ag.from_json(broken)


def test_arcs_are_numbered_by_their_places():
    afa = drawn().arc("a", "b").arc("a", "b", id="own").arc("a", "b").arc("a", "b", id="a4").epsilon("a", "b")
    assert [m.id for m in afa.query().machine.moves] == ["a0", "own", "a2", "a4", "a5"]


def test_explain_tells_arcs_masks_and_the_kernel():
    query = drawn(n=0).arc("a", "b", when="x > 1 and r.n < 5", update={"n": "r.n + x"}).query(within=5)
    told = query.explain(EVENTS, time="ts", kernel=True)
    assert "when e.x > 1 AND r.n < 5" in told
    assert "masked: e.x > 1" in told
    assert "def kernel(" in told
    assert "AUTOMATON" in query.explain()


def test_the_kernel_is_compiled_where_there_is_much_to_do():
    many = COMPILED_FROM + 1000
    table = pa.table(
        {"ts": range(many), "x": [n % 7 for n in range(many)], "s": ["ab"[n % 2] for n in range(many)]}
    )
    afa = drawn(n=0, s="").arc("a", "c", when="x = 0", update={"s": "s", "n": "x"})
    afa.arc("c", "c", when="x > r.n", update={"n": "x"}).arc("c", "b", when="s <> r.s and x = 5")
    query = afa.query(within=50)
    whole = query.match(table, time="ts")
    # What a compiled kernel says of the beginning, an uncompiled one says of the beginning alone.
    some = query.match(table.slice(0, 5000), time="ts")
    assert whole.slice(0, some.num_rows).equals(some)
    assert some.num_rows > 100


def test_limits_name_both_numbers():
    table = pa.table({"ts": range(20)})
    with pytest.raises(ag.LimitError, match="max_runs=5"):
        rows(drawn().arc("a", "a").arc("a", "b"), table, max_runs=5)


def test_bad_rows_are_an_error_or_dropped():
    table = pa.table({"ts": [1, None, 3], "seq": [1, 2, None]})
    afa = drawn().arc("a", "b")
    with pytest.raises(ag.DataError, match="no time"):
        rows(afa, table)
    with pytest.warns(ag.DataWarning):
        assert len(rows(afa, table, bad_rows="drop")) == 2
    with pytest.warns(ag.DataWarning):
        assert len(rows(afa, table, bad_rows="drop", sequence="seq")) == 1


def test_runs_that_pass_over_an_event_cost_nothing_each():
    many = 3000
    table = pa.table({"ts": range(many), "x": [n % 3 if n != 2500 else 9 for n in range(many)]})
    afa = drawn().arc("a", "w", when="x = 0").arc("w", "w", when="x < 9").arc("w", "b", when="x = 9")
    for within in (30, 300):
        found, measures = afa.query(within=within).profile(table, time="ts")
        assert found.num_rows == within // 3
        assert measures["peak_runs"] >= within // 3
        assert measures["run_steps"] < many


def test_profile_counts():
    afa = (
        drawn(n=0)
        .arc("a", "a", when="x > 0", update={"n": "r.n + 1"})
        .arc("a", "b", when="x > 0 and r.n > 0")
    )
    result, measures = afa.query(within=3).profile(EVENTS, time="ts")
    assert result.num_rows == 1
    assert measures["events"] == 3
    assert measures["peak_runs"] == 3
    assert measures["predicate_evaluations"] > 0
