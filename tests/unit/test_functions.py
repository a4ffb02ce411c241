"""Registered functions in queries, by every plan: what they may read and make, and what need not be said of them."""

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.expr import functions


@pytest.fixture(params=["definition", "auto"])
def plan(request):
    return request.param


CHEQUES = pa.table(
    {"ts": [1, 2, 3], "s": ["a", "b", None], "n": [1, 4, 9], "p": [{"x": 1}, {"x": 1}, {"x": 2}]},
    schema=pa.schema([("ts", "int64"), ("s", "string"), ("n", "int64"), ("p", pa.struct([("x", "int64")]))]),
)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(functions, "_registered", {})
    ag.function(lambda s, t: s + t, name="joined", reads=[str, str], returns=str)
    ag.function(lambda p, q: p["x"] == q["x"], name="alike", reads=[None, None], returns=bool)
    ag.function(lambda x, y: x + y, name="added", reads=[float, float], returns=float)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("joined(a.s, b.s) = 'ab'", [(1, 2)]),
        ("alike(a.p, b.p) AND length(joined(a.s, b.s)) > 1", [(1, 2)]),
        ("NOT alike(a.p, b.p)", [(1, 3), (2, 3)]),
        ("added(a.n, b.n) >= 10", [(1, 3), (2, 3)]),
    ],
)
def test_a_function_may_read_and_make_what_it_likes_of_several_events(registered, plan, condition, found):
    query = ag.sase(f"PATTERN SEQ(A a, A b) WHERE {condition} RETURN a.ts, b.ts")
    rows = query.match(CHEQUES, time="ts", plan=plan).to_pylist()
    assert sorted((r["a_ts"], r["b_ts"]) for r in rows) == found


def test_a_function_of_several_events_runs_over_many_rows(registered):
    """So many that kernels without Python would be compiled."""
    rows = 100_000
    many = pa.table({"ts": range(rows), "x": [0.0] * (rows - 2) + [1.0, 2.0]})
    query = ag.sase("PATTERN SEQ(A a, A b) WHERE strict_contiguity(a, b) AND added(a.x, b.x) > 1 RETURN a.ts")
    assert query.match(many, time="ts").column("a_ts").to_pylist() == [rows - 2]


def test_a_function_that_does_not_say_what_it_returns_gives_what_its_place_asks_for(registered, plan):
    ag.function(lambda n: n % 2 == 1, name="is_odd")
    ag.function(lambda s: s * 2, name="twice")
    query = ag.sase("PATTERN A a WHERE is_odd(a.n) AND twice(a.s) = 'aa' RETURN twice(a.n) AS d")
    result = query.match(CHEQUES, time="ts", plan=plan)
    assert result.column("d").to_pylist() == [2.0]
    assert result.schema.field("d").type == pa.float64()


@pytest.mark.parametrize(
    ("given", "type_"),
    [
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
        ("float64", pa.float64()),
        (pa.string(), pa.string()),
    ],
)
def test_a_function_may_be_given_types_of_arrow(registered, given, type_):
    ag.function(lambda _: 7 if type_ != pa.string() else "7", name="seven", reads=[pa.int64()], returns=given)
    result = ag.sase("PATTERN A a RETURN seven(a.n) AS s").match(CHEQUES, time="ts")
    assert result.schema.field("s").type == type_


def test_functions_without_a_signature_say_what_they_read(registered):
    with pytest.raises(ag.QueryError, match="how many arguments most takes is not known"):
        ag.function(max, name="most")
    ag.function(np.sqrt, name="root", reads=[float])
    result = ag.sase("PATTERN A a RETURN root(a.n) AS r").match(CHEQUES, time="ts")
    assert result.column("r").to_pylist() == [1.0, 2.0, 3.0]


def test_nothing_is_in_an_empty_list(plan):
    for condition, count in [("a.n IN (:l)", 0), ("a.n NOT IN (:l)", 3), ("NOT (a.s IN (:l))", 3)]:
        query = ag.sase(f"PATTERN A a WHERE {condition}", l=[])
        assert query.match(CHEQUES, time="ts", plan=plan).num_rows == count
        assert ag.from_json(query.to_json()) == query


SHELVES = pa.table(
    {
        "ts": [1, 2, 3, 4],
        "kind": ["A", "B", "A", "B"],
        "x": [1.0, 0.0, 0.0, 4.0],
        "s": ["1", "b", "3", None],
    }
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SEQ(A a, B b) WHERE a.x <> 0 AND inverse(a.x) >= 1", [(1, 2), (1, 4)]),
        ("SEQ(A a, B b) WHERE a.x <> 0 AND b.x <> 0 AND inverse(a.x) >= inverse(b.x)", [(1, 4)]),
        ("SEQ(A a, B b) WHERE a.x = 0 OR inverse(a.x) = b.x + 1", [(1, 2), (3, 4)]),
        ("SEQ(A a, B b) WHERE number(a.s) = 1", [(1, 2), (1, 4)]),
        ("SEQ(A a, ~(A n), B b) WHERE n.x <> 0 AND inverse(n.x) = 1 AND a.x = 1", [(1, 2), (1, 4)]),
        ("SEQ(A a, ~(A n), B b) WHERE n.x <> a.x AND inverse(a.x - n.x) = 1", [(1, 2), (3, 4)]),
        ("SEQ(A+ a[], B b) WHERE a[1].x = 1 AND number(a[i].s) > number(a[i-1].s)", [(1, 2), (1, 4), (1, 4)]),
        ("SEQ(A+ a[], B b) WHERE sum(number(a[].s)) > 2", [(1, 4), (3, 4)]),
    ],
)
@pytest.mark.parametrize("every_plan", ["definition", "eager", "eager-unmerged", "backtrack"])
def test_a_function_is_asked_only_where_it_was_put(registered, every_plan, query, found):
    """Events of other types, and those that the predicates before it refuse, are not its business."""
    ag.function(lambda x: 1 / x, name="inverse", reads=[float], returns=float)
    ag.function(int, name="number", reads=[str], returns=int)
    result = ag.sase(f"PATTERN {query}").match(SHELVES, time="ts", type="kind", plan=every_plan)
    ends = zip(result.column("match_start").to_pylist(), result.column("match_end").to_pylist(), strict=True)
    assert sorted(ends) == found
