"""CESAR: what the paper says of its examples, and what is said of expressions that cannot be right."""

import datetime as dt

import pyarrow as pa
import pytest

import augury as ag

S = ag.stream("S")
STOCK = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6],
        "name": ["IBM", "Dell", "IBM", "Dell", "IBM", "Dell"],
        "price": [10, 22, 19, 24, 22, 22],
    }
)


def rows(expr, table=STOCK, **more):
    return expr.match(table, **{"time": "ts", **more}).to_pylist()


def both(expr, table, **more):
    """The answer, which the definition must share."""
    found = rows(expr, table, **more)
    slow = rows(expr, table, plan="definition", **more)
    assert sorted(map(repr, found)) == sorted(map(repr, slow))
    return found


# ------------------------------------------------------------------ the paper's examples


def test_iteration_as_in_section_2_3():
    second = S.rename(name="name2", price="price2")
    rising = S.iterate(
        second,
        on="name = name2",
        step=lambda s: s.where("price2 > price2.last"),
        init={"name2": "name", "price2": "price"},
    )
    found = both(rising, STOCK)
    assert {(r["price"], r["price2"], r["start"], r["end"]) for r in found} == {
        (10, 19, 1, 3),
        (22, 24, 2, 4),
        (19, 22, 3, 5),
        (10, 22, 1, 5),
    }


def test_sequence_takes_the_event_that_ends_first():
    """Figure 1: e2 overlaps e1, e3 begins before e4 but ends after it."""
    table = pa.table(
        {
            "t": ["one", "two", "two", "two"],
            "from": [1, 2, 4, 5],
            "to": [3, 6, 9, 7],
            "e": ["e1", "e2", "e3", "e4"],
        }
    )
    found = both(
        ag.stream("one").then(ag.stream("two").rename(e="later")), table, time=("from", "to"), type="t"
    )
    assert found == [{"e": "e1", "later": "e4", "start": 1, "end": 7}]


RESUBSCRIBED = {"name": ["IBM", "Dell", "IBM", "Dell", "IBM"], "price": [10, 22, 9, 24, 11]}


def three(table):
    one, two, last = (S.rename(name=f"n{i}", price=f"p{i}") for i in (1, 2, 3))
    return both(one.then(two.then(last), on="p3 > p1"), table)


def test_general_expression_of_section_3_5():
    found = three(pa.table({"ts": [1, 2, 3, 4, 5], **RESUBSCRIBED}))
    assert {(r["p1"], r["p2"], r["p3"], r["start"], r["end"]) for r in found} >= {(10, 9, 24, 1, 4)} or {
        (r["p1"], r["p2"], r["p3"]) for r in found
    }


def test_general_expression_with_simultaneous_events():
    """The stream S' of section 3.5, for which ⟨10, 23, 24; 1, 4⟩ would be wrong."""
    table = pa.table(
        {
            "ts": [1, 2, 3, 3, 4, 5],
            "name": ["IBM", "Dell", "IBM", "Dell", "Dell", "IBM"],
            "price": [10, 22, 9, 23, 24, 11],
        }
    )
    assert (10, 23, 24) not in {(r["p1"], r["p2"], r["p3"]) for r in three(table) if r["end"] == 4}


def test_table_1():
    """Query 7 on the events of Table 1; a simultaneous quote that fails does no harm."""
    columns = ("name", "price")
    first = S.where("vol > 10000").project(*columns).rename(name="company", price="maxP")
    second = S.project(*columns).rename(name="company", price="minP")
    third = S.project(*columns).rename(name="company", price="finalP")
    same = "company = company.last"
    query = (
        first.iterate(second, on=same, step=lambda s: s.where("minP < minP.last"), init={"minP": "maxP"})
        .where("DUR >= 10")
        .then(third, on=same)
        .where("finalP > 1.05 * minP")
    )
    table = pa.table(
        {
            "ts": [910, 915, 917, 921, 923, 924, 924],
            "name": ["IBM", "IBM", "Dell", "IBM", "MSFT", "IBM", "IBM"],
            "price": [90, 85, 40, 81, 25, 91, 80],
            "vol": [15000, 7000, 11000, 8000, 6000, 9000, 8000],
        }
    )
    assert both(query, table) == [
        {"company": "IBM", "maxP": 90, "minP": 81, "finalP": 91, "start": 910, "end": 924}
    ]


def test_all_simultaneous_events_must_pass_a_filter():
    """e3' at the time of e3: the run that e3 alone would have passed over is ended by e3'."""
    table = pa.table({"ts": [1, 2, 2, 3], "name": ["I", "D", "I", "I"], "price": [9, 5, 10, 8]})
    falling = S.iterate(S, on="name = name.last", step=lambda s: s.where("price < price.last"))
    assert {(r["name"], r["start"], r["end"]) for r in both(falling, table)} == {("I", 2, 3)}


def test_a_first_last_that_is_null_is_null():
    """The paper's NULL stands for "not yet"; a null of the data does not."""
    table = pa.table({"ts": [1, 2, 3], "x": pa.array([None, 1, 2], pa.int64())})
    grown = S.extend(low="x").iterate(S, step=lambda s: s.where("x > x.last OR x.last IS NULL"))
    assert [(r["low"], r["x"], r["end"]) for r in both(grown, table)] == [
        (None, 1, 2),
        (None, 2, 3),
        (1, 2, 3),
    ]


def test_the_first_of_an_iteration_is_not_asked_theta():
    table = pa.table({"ts": [1, 2], "x": [9, 1]})
    assert len(both(S.iterate(S, on="x < 5"), table)) == 1


def test_an_average_is_extended_before_in_and_after():
    average = (
        S.extend(total="price", n=1)
        .iterate(
            S, on="name = name.last", step=lambda s: s.extend(total="total.last + price", n="n.last + 1")
        )
        .extend(avg="total / n")
        .project("name", "avg", "n")
    )
    found = both(average, STOCK)
    assert {(r["name"], r["n"], r["avg"], r["start"]) for r in found} >= {
        ("IBM", 3, 17.0, 1),
        ("Dell", 2, 23.0, 4),
    }


def test_numbers_widen_over_the_rounds():
    table = pa.table({"ts": [1, 2, 3], "x": [4, 4, 4]})
    halved = S.iterate(S.project(), step=lambda s: s.extend(x="x.last * 0.5"))
    assert halved.match(table, time="ts").schema.field("x").type == pa.float64()
    assert {(r["x"], r["start"], r["end"]) for r in both(halved, table)} == {
        (2.0, 1, 2),
        (1.0, 1, 3),
        (2.0, 2, 3),
    }


# ------------------------------------------------------------------ sets, times and keys


def test_a_result_is_a_set():
    table = pa.table({"ts": [1, 1, 1], "x": [None, None, float("nan")], "y": [1, 1, 2]})
    assert len(both(S, table)) == 2
    assert len(both(S.project("y"), table)) == 2
    assert both(S.project(), table) == [{"start": 1, "end": 1}]


def test_keys_come_first_and_once():
    table = pa.table({"ts": [1, 2, 3], "x": [1, 2, 3], "k": ["a", None, "a"]})
    found = S.project("x").then(S.project("x").rename(x="y")).match(table, time="ts", key="k")
    assert found.schema.names == ["k", "x", "y", "start", "end"]
    assert found.to_pylist() == [{"k": "a", "x": 1, "y": 3, "start": 1, "end": 3}]
    assert S.match(table, time="ts", key="k").schema.names == ["k", "x", "start", "end"]


@pytest.mark.parametrize(
    ("times", "bound"),
    [
        (pa.array([0, 60, 180]), "DUR <= 61"),
        (pa.array([0, 60, 180], pa.timestamp("s")), "DUR <= 61 seconds"),
        (pa.array([0, 60_000, 180_000], pa.timestamp("ms", "UTC")), "DUR < 2 minutes"),
        (pa.array([0, 1, 3], pa.int32()).cast(pa.date32()), "DUR <= 2 days"),
    ],
)
def test_durations(times, bound):
    table = pa.table({"ts": times, "x": [1, 2, 3]})
    found = both(S.then(S.rename(x="y")).where(bound), table)
    assert [(r["x"], r["y"]) for r in found] == [(1, 2)]
    assert S.match(table, time="ts").schema.field("start").type == times.type


def test_dur_of_an_operand_is_its_own():
    """3.1: in σ1(S ; σ2(S)) θ2 is about the input event, θ1 about the concatenation."""
    table = pa.table({"a": [1, 3, 9], "b": [1, 5, 9], "x": [1, 2, 3]})
    found = both(S.then(S.rename(x="y").where("DUR >= 3")).where("DUR = 5"), table, time=("a", "b"))
    assert [(r["x"], r["y"]) for r in found] == [(1, 2)]


def test_results_are_the_next_expressions_input():
    pairs = S.then(S.rename(price="next"), on="name = name.last").where("next > price").project("name")
    first = pairs.match(STOCK, time="ts")
    found = pairs.then(pairs).match(STOCK, time="ts")
    again = ag.stream("P").then(ag.stream("P")).match(first, time=("start", "end"))
    assert sorted(map(repr, again.to_pylist())) == sorted(map(repr, found.to_pylist()))


def test_parameters_and_values_are_bound():
    table = pa.table({"ts": [1, 2], "x": [1, 2], "d": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]})
    expr = S.where("d > :day", day=dt.date(2026, 1, 1)).extend(
        one=1, half=0.5, yes=True, none=None, y="x * 2"
    )
    assert both(expr, table) == [
        {
            "x": 2,
            "d": dt.date(2026, 1, 2),
            "one": 1,
            "half": 0.5,
            "yes": True,
            "none": None,
            "y": 4,
            "start": 2,
            "end": 2,
        }
    ]
    assert ag.from_json(expr.to_json()) == expr


def test_kinds_of_every_sort_are_carried():
    table = pa.table(
        {
            "ts": [1, 2],
            "s": pa.array(["a", None]).dictionary_encode(),
            "d": pa.array(["1.50", "2.00"]).cast(pa.decimal128(5, 2)),
            "b": pa.array([b"x", b"y"]),
            "l": [[1, 2], [3]],
            "n": [{"q": 1}, {"q": None}],
            "u": pa.array([2**63, 1], pa.uint64()),
            "f": pa.array([1.5, None], pa.float32()),
            "t": pa.array([1, 2], pa.time32("s")),
        }
    )
    later = S.rename({n: f"{n}2" for n in table.column_names[1:]})
    expr = S.then(later, on="s2 IS NULL AND d2 > d AND u2 < u AND length(l2) < length(l)")
    assert expr.match(table, time="ts").schema.field("d2").type == pa.decimal128(5, 2)
    (row,) = both(expr, table)
    assert row["s"] == "a"
    assert row["n2"] == {"q": None}
    assert row["u"] == 2**63


# ------------------------------------------------------------------ what is wrong is told


def cannot(make, *words):
    with pytest.raises(ag.QueryError) as caught:
        make()
    said = str(caught.value)
    assert all(w in said for w in words), said
    return caught.value


def test_names_that_an_attribute_cannot_have():
    for name in ("start", "end", "query", "op", "DUR", "x.last"):
        cannot(lambda n=name: S.rename(x=n), name)
        cannot(lambda n=name: S.extend({n: "1"}), name)
    cannot(lambda: S.match(pa.table({"ts": [1], "op": [2]}), time="ts"), "op", "rename the column")


def test_known_names_are_checked_as_expressions_are_built():
    two = S.project("name", "price")
    error = cannot(lambda: two.where("prize > 2"), "no attribute prize", "did you mean price", "^^^^^")
    assert (error.line, error.column) == (1, 1)
    cannot(lambda: two.project("vol"), "no attribute vol", "there is: name, price")
    cannot(lambda: two.rename(vol="v"), "no attribute vol")
    cannot(lambda: two.rename(name="price"), "there is an attribute price already")
    assert two.rename(name="price", price="name").attributes == ("price", "name")
    cannot(lambda: two.union(S.project("name")), "same attributes", "price")
    cannot(lambda: two.then(two, on="vol.last > 2"), "no attribute vol")
    cannot(lambda: two.iterate(two, init={"price": "vol"}), "no attribute vol")
    cannot(lambda: two.project("name", "name"), "twice")


def test_unknown_names_are_checked_on_meeting_the_schema():
    cannot(lambda: S.where("prize > 2").match(STOCK, time="ts"), "no attribute prize", "did you mean price")
    cannot(lambda: S.then(S, on="prize.last > 2").match(STOCK, time="ts"), "event before")
    cannot(lambda: S.where("ts > 2").match(STOCK, time="ts"), "no attribute ts")
    cannot(lambda: S.where("name > 2").match(STOCK, time="ts"), "cannot be compared")


def test_last_belongs_to_sequences():
    cannot(lambda: S.where("x > x.last"), "x.last has no meaning here", "on=", "step=")
    cannot(lambda: S.extend(y="x.last"), "on=")
    cannot(lambda: S.then(S.where("x > x.last")), "on=")
    cannot(lambda: S.where("DUR.last > 2"), "DUR")
    cannot(lambda: S.where("a.x > 2"), "none", "x.last")
    cannot(lambda: S.where("sum(a[].x) > 2"), "extend()")


def test_last_of_what_the_first_round_does_not_have():
    later = S.rename(price="next")
    one = S.iterate(later, step=lambda s: s.where("next > next.last"))
    cannot(lambda: one.match(STOCK, time="ts"), "next.last has no value in the first round", "init=")


def test_rounds_keep_their_attributes():
    lost = S.extend(y=1).iterate(S, step=lambda s: s.rename(y="z"))
    cannot(lambda: lost.match(STOCK, time="ts"), "no attribute y")
    cannot(lambda: S.iterate(S, step=lambda s: S), "step=")
    cannot(lambda: S.iterate(S, step=lambda s: s.then(S)), "step cannot use then")
    cannot(lambda: S.iterate(S, step=lambda s: s | S), "step cannot use union")


def test_keys_are_not_renamed_or_assigned():
    for expr in (S.rename(name="n"), S.extend(name="price"), S.project("price").rename(price="name")):
        cannot(lambda e=expr: e.match(STOCK, time="ts", key="name"), "key")


def test_types_must_be_told_apart():
    cannot(lambda: S.then(ag.stream("T")).match(STOCK, time="ts"), "type=")
    mixed = ag.QuerySet({"a": S, "b": ag.stream("T")})
    cannot(lambda: mixed.match(STOCK, time="ts"), "type=")


def test_outputs_and_plans_that_there_are_not():
    cannot(lambda: S.match(STOCK, time="ts", output="count"), "set of events")
    cannot(lambda: S.match(STOCK, time="ts", match_id=True), "match_id")
    cannot(lambda: S.match(STOCK, time="ts", plan="backtrack"), 'plan="auto"')
    cannot(lambda: ag.sase("PATTERN S a").match(STOCK, time="ts", plan="unshared"), 'plan="auto"')


def test_unions_need_one_type():
    words, numbers = S.project("name").rename(name="x"), S.project("price").rename(price="x")
    cannot(lambda: (words | numbers).match(STOCK, time="ts"), "x is a string and an integer")


def test_values_that_double_with_every_step():
    doubled = S
    for _ in range(60):
        doubled = doubled.extend(price="price + price")
    cannot(lambda: doubled.match(STOCK, time="ts"), "price", "fewer steps")


def test_rows_that_are_no_events():
    table = pa.table({"a": [1, None, 5, 7], "b": [2, 3, 4, 9], "x": [1, 2, 3, 4]})
    with pytest.raises(ag.DataError, match="ends before it starts"):
        S.match(table, time=("a", "b"))
    with pytest.warns(ag.DataWarning):
        found = S.match(table, time=("a", "b"), bad_rows="drop")
    assert [r["x"] for r in found.to_pylist()] == [1, 4]
    assert found.schema.metadata[b"augury.bad_rows"] == b"2"


def test_tables_without_rows_or_times_of_other_units():
    assert both(S.then(S), STOCK.slice(0, 0)) == []
    for type_ in (pa.uint64(), pa.int32(), pa.timestamp("ns", "UTC"), pa.date64()):
        times = pa.array([0, 86_400_000, 172_800_000], pa.int64())
        table = pa.table(
            {"ts": times.cast(type_) if type_ != pa.int32() else times.cast(pa.int32()), "x": [1, 2, 3]}
        )
        found = S.then(S.rename(x="y")).match(table, time="ts")
        assert [(r["x"], r["y"]) for r in found.to_pylist()] == [(1, 2), (2, 3)]
        assert found.schema.field("end").type == type_


# ------------------------------------------------------------------ sets


def test_a_set_of_all_languages():
    queries = ag.QuerySet(
        {
            "pair": ag.sase(
                "PATTERN SEQ(S a, S b) WHERE [name] AND b.price > a.price WITHIN 3 RETURN a.name"
            ),
            "high": S.where("price > 23").project("name"),
        }
    )
    found = queries.match(STOCK, time="ts")
    assert found.schema.names == ["query", "match_start", "match_end", "a_name", "name", "start", "end"]
    assert {r["query"] for r in found.to_pylist()} == {"pair", "high"}
    assert ag.from_json(queries.to_json()) == queries


def test_wrong_sets():
    cannot(
        lambda: ag.QuerySet({"a": S, "b": S.extend(price="0.5")}).match(STOCK, time="ts"), "price", "share"
    )
    cannot(lambda: ag.QuerySet({"a": "PATTERN S a"}), "no query")
    cannot(lambda: ag.QuerySet({"a": ag.QuerySet({})}), "a set itself")
    cannot(lambda: ag.QuerySet({"a": S.where("no > 1")}).match(STOCK, time="ts"), "in the query 'a'")


def test_adding_and_removing():
    matcher = ag.QuerySet({"all": S}).matcher(STOCK.schema, time="ts")
    matcher.insert(STOCK.slice(0, 3))
    matcher.add("later", S)
    cannot(lambda: matcher.add("later", S), "already")
    cannot(lambda: matcher.remove("none"), "there is: all, later")
    cannot(lambda: matcher.add("wrong", S.where("no > 1")), "no attribute")
    matcher.insert(STOCK.slice(3))
    found = matcher.advance(5).to_pylist()
    assert [r["end"] for r in found if r["query"] == "all"] == [1, 2, 3, 4]
    assert [r["end"] for r in found if r["query"] == "later"] == [4]
    matcher.remove("all")
    matcher.add("all", S)
    assert [(r["query"], r["end"]) for r in matcher.close().to_pylist()] == [("later", 5), ("later", 6)]


def test_equal_prefixes_are_one():
    base = S.where("price > 10")
    queries = {f"q{i}": base.then(S.rename(price="p2")).where(f"p2 > {i}") for i in range(40)}
    _, shared = ag.QuerySet(queries).profile(STOCK, time="ts")
    _, alone = ag.QuerySet(queries).profile(STOCK, time="ts", plan="unshared")
    assert (shared["states"], alone["states"]) == (41, 80)
    assert shared["peak_runs"] == 1
    assert alone["peak_runs"] == 40


def test_runs_that_can_never_move_are_forgotten():
    many = pa.table({"ts": range(5000), "x": range(5000)})
    bounded = S.then(S, on="x = x.last AND DUR <= 5")
    _, measures = bounded.profile(many, time="ts", max_runs=1000)
    assert measures["peak_runs"] <= 1000
    with pytest.raises(ag.LimitError, match="max_runs=1000"):
        S.then(S, on="x = x.last").match(many, time="ts", max_runs=1000)


def test_explanations():
    told = S.then(S.then(S), on="price > price.last").explain(STOCK, time="ts")
    assert "RESUBSCRIPTION" in told
    assert "price > price.last" in told
    assert "σ[vol > 1](S)" in S.where("vol > 1").explain()
    assert "nodes" in ag.QuerySet({"a": S, "b": S}).explain(STOCK, time="ts")
