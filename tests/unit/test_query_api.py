"""What a call returns: columns, types, names of matches, inputs of every kind, bad rows, chains."""

import datetime as dt
import random
import re
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import augury as ag
from augury.expr.columns import physical_values
from augury.expr.types import UNORDERED, from_arrow


@pytest.fixture(params=["definition", "auto"])
def plan(request):
    return request.param


SHOP = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6],
        "kind": ["Shelf", "Shelf", "Exit", "Register", "Exit", "Exit"],
        "store": ["n", "s", "n", "s", "s", "n"],
        "tag": [7, 8, 7, 8, 8, 7],
    }
)
EVENT = pa.struct(list(SHOP.schema))
THEFT = ag.sase("PATTERN SEQ(Shelf a, ~(Register r), Exit c) WHERE [tag]")
SERIES = ag.sase("PATTERN SEQ(Shelf a, Exit+ e[]) WHERE [tag]")


def rows(table):
    return sorted(map(repr, table.to_pylist()))


def shuffled(table, seed):
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    return table.take(order)


# ------------------------------------------------------------------ columns of the result


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest"])
def test_without_return_come_keys_ends_and_variables(output, plan):
    result = THEFT.match(SHOP, time="ts", type="kind", key=["store", "tag"], output=output, plan=plan)
    assert result.schema == pa.schema(
        [
            ("store", pa.string()),
            ("tag", pa.int64()),
            ("match_start", pa.int64()),
            ("match_end", pa.int64()),
            ("a", EVENT),
            ("c", EVENT),
        ]
    )
    assert {(r["store"], r["tag"], r["match_start"]) for r in result.to_pylist()} == {("n", 7, 1)}


def test_keys_stand_in_the_order_in_which_they_are_named(plan):
    result = THEFT.match(SHOP, time="ts", type="kind", key=("tag", "store"), plan=plan)
    assert result.column_names[:2] == ["tag", "store"]
    assert THEFT.match(SHOP, time="ts", type="kind", key=[], plan=plan).column_names[0] == "match_start"


def test_a_kleene_variable_is_a_list_of_structs(plan):
    result = SERIES.match(SHOP, time="ts", type="kind", output="longest", plan=plan)
    assert result.schema.field("e").type == pa.list_(EVENT)
    assert sorted([e["ts"] for e in r["e"]] for r in result.to_pylist()) == [[3, 6], [5]]


def test_return_star_is_as_if_there_were_none(plan):
    star = ag.sase("PATTERN SEQ(Shelf a, Exit+ e[]) WHERE [tag] RETURN *")
    assert star == SERIES
    given = {"time": "ts", "type": "kind", "key": "store", "plan": plan}
    assert star.match(SHOP, **given).equals(SERIES.match(SHOP, **given))


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest"])
def test_with_return_come_the_ends_and_the_items_in_order(output, plan):
    query = ag.sase(
        "PATTERN SEQ(Shelf a, Exit+ e[]) WHERE [tag] RETURN e[1].ts, a.tag, e, e[].ts AS every, e[e.LEN].ts AS last, "
        "e.LEN AS n, a, a.tag / 2 AS half, e[].ts - a.ts AS waits, a.store AS `the store`"
    )
    result = query.match(SHOP, time="ts", type="kind", key="store", output=output, plan=plan)
    assert result.schema == pa.schema(
        [
            ("match_start", pa.int64()),
            ("match_end", pa.int64()),
            ("e_1_ts", pa.int64()),
            ("a_tag", pa.int64()),
            ("e", pa.list_(EVENT)),
            ("every", pa.list_(pa.int64())),
            ("last", pa.int64()),
            ("n", pa.int64()),
            ("a", EVENT),
            ("half", pa.float64()),
            ("waits", pa.list_(pa.int64())),
            ("the store", pa.string()),
        ]
    )
    (row,) = [r for r in result.to_pylist() if r["every"] == ([3, 6] if output != "non_overlap" else [3])]
    assert row["e_1_ts"] == 3
    assert (row["last"], row["n"]) == (row["every"][-1], len(row["every"]))
    assert row["waits"] == [t - 1 for t in row["every"]]
    assert (row["half"], row["the store"]) == (3.5, "n")


def test_count_has_the_end_the_keys_and_a_decimal(plan):
    result = SERIES.match(SHOP, time="ts", type="kind", key="store", output="count", plan=plan)
    assert result.schema == pa.schema(
        [("match_end", pa.int64()), ("store", pa.string()), ("count", pa.decimal128(38, 0))]
    )
    found = {(r["match_end"], r["store"], r["count"]) for r in result.to_pylist()}
    assert found == {(3, "n", Decimal(1)), (5, "s", Decimal(1)), (6, "n", Decimal(2))}


def test_count_and_compressed_take_no_notice_of_return(plan):
    query = ag.sase(str(SERIES) + " RETURN a.ts")
    given = {"time": "ts", "type": "kind", "plan": plan}
    assert query.match(SHOP, output="count", **given).equals(SERIES.match(SHOP, output="count", **given))
    packed = query.match(SHOP, output="compressed", **given)
    assert ag.expand(packed).column_names == ["match_start", "match_end", "a_ts"]


def test_compressed_has_a_row_for_each_event_that_completes(plan):
    result = SERIES.match(SHOP, time="ts", type="kind", key="store", output="compressed", plan=plan)
    assert result.column_names == ["store", "match_end", "times", "events", "nodes"]
    assert sorted(result["match_end"].to_pylist()) == [3, 5, 6]


TIMES = {
    "int8": pa.array([1, 2], pa.int8()),
    "uint8": pa.array([1, 2], pa.uint8()),
    "uint64": pa.array([1, 2], pa.uint64()),
    "date32": pa.array([1, 2], pa.date32()),
    "date64": pa.array([86_400_000, 172_800_000], pa.date64()),
    **{u: pa.array([1, 2], pa.timestamp(u)) for u in ("s", "ms", "us", "ns")},
    "zone": pa.array([1, 2], pa.timestamp("ms", "Europe/Berlin")),
    "dictionary": pa.array([1, 2]).dictionary_encode(),
}


@pytest.mark.parametrize("column", TIMES.values(), ids=TIMES)
def test_the_ends_have_the_type_of_the_time_column(column, plan):
    table = pa.table({"t": column})
    result = ag.sase("PATTERN SEQ(A a, A b)").match(table, time="t", plan=plan)
    assert result.schema.field("match_start").type == column.type
    assert result["match_start"].to_pylist() + result["match_end"].to_pylist() == column.to_pylist()
    counted = ag.sase("PATTERN SEQ(A a, A b)").match(table, time="t", output="count", plan=plan)
    assert counted.schema.field("match_end").type == column.type


# ------------------------------------------------------------------ match_id

NAMED = {"time": "ts", "type": "kind", "match_id": True}


def test_match_id_is_the_first_column_and_a_name(plan):
    for key in (None, "store"):
        for query in (SERIES, ag.sase(str(SERIES) + " RETURN a.ts")):
            result = query.match(SHOP, key=key, plan=plan, **NAMED)
            assert result.column_names[0] == "match_id"
            ids = result["match_id"].to_pylist()
            assert len(set(ids)) == len(ids) == 4
            assert all(re.fullmatch("[0-9a-f]{32}", i) for i in ids)


def ids_of(query, table, **given):
    """Each match's name by what it holds."""
    found = query.match(table, **{**NAMED, **given}).to_pylist()
    return sorted((r["match_end"], r["match_id"]) for r in found)


VARIANTS = {
    "reversed": lambda t: t.take(list(reversed(range(t.num_rows)))),
    "shuffled": lambda t: shuffled(t, 3),
    "chunks": lambda t: pa.concat_tables([t.slice(i, 1) for i in range(t.num_rows)]),
    "dictionary": lambda t: t.set_column(1, "kind", t["kind"].dictionary_encode()),
    "large strings": lambda t: t.set_column(2, "store", t["store"].cast(pa.large_string())),
    "string views": lambda t: t.set_column(2, "store", t["store"].cast(pa.string_view())),
    "run-end encoded": lambda t: t.set_column(
        2, "store", pa.RunEndEncodedArray.from_arrays([1, 2, 3, 5, 6], ["n", "s", "n", "s", "n"])
    ),
    "narrow integers": lambda t: t.set_column(3, "tag", t["tag"].cast(pa.int8())),
    "polars": pl.from_arrow,
    "pandas": lambda t: t.to_pandas(),
    "duckdb": duckdb.from_arrow,
    "metadata": lambda t: t.replace_schema_metadata({"made": "by hand"}),
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_match_has_one_name_whatever_form_its_events_come_in(variant, plan):
    assert ids_of(SERIES, variant(SHOP), plan=plan) == ids_of(SERIES, SHOP)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_match_has_one_name_in_every_unit_of_time(unit, plan):
    stamps = pa.array([dt.datetime(2026, 1, 1, 0, 0, n) for n in range(6)], pa.timestamp("s"))  # noqa: DTZ001
    base, other = (SHOP.set_column(0, "ts", stamps.cast(pa.timestamp(u))) for u in ("us", unit))
    names = [[i for _, i in ids_of(SERIES, t, plan=plan)] for t in (base, other)]
    assert names[0] == names[1]


def test_every_plan_gives_a_match_the_same_name():
    assert ids_of(SERIES, SHOP, plan="definition") == ids_of(SERIES, SHOP, plan="auto")


def test_names_do_not_depend_on_columns_that_nobody_reads(plan):
    query = ag.sase(str(SERIES) + " RETURN a.ts")
    more = SHOP.append_column("noise", pa.array([random.Random(1).random() for _ in range(6)]))
    assert ids_of(query, more, plan=plan) == ids_of(query, SHOP, plan=plan)
    assert ids_of(SERIES, more, plan=plan) != ids_of(SERIES, SHOP, plan=plan)


def test_other_queries_values_and_events_have_other_names(plan):
    bound = [ag.sase("PATTERN Shelf a WHERE a.ts < :limit", limit=n) for n in (10, 11)]
    text = [ag.sase(f"PATTERN Shelf a WHERE a.ts < {n}") for n in (10, 11)]
    seen = [frozenset(i for _, i in ids_of(q, SHOP, plan=plan)) for q in (*bound, *text)]
    assert len(frozenset.union(*seen)) == sum(map(len, seen)) == 8


def test_names_survive_json_and_other_spelling(plan):
    query = ag.sase("PATTERN Shelf a WHERE a.ts < :limit AND a.tag IN (:tags)", limit=2.5, tags={7, 8})
    spelled = ag.sase("pattern (Shelf a) where a.ts<:limit and a . tag in(:tags)", limit=2.5, tags=[7, 8])
    names = ids_of(query, SHOP, plan=plan)
    assert ids_of(ag.from_json(query.to_json()), SHOP, plan=plan) == names
    assert ids_of(spelled, SHOP, plan=plan) == names


@pytest.mark.parametrize("output", ["non_overlap", "longest"])
def test_what_an_output_leaves_over_keeps_its_names(output, plan):
    some, every = (set(ids_of(SERIES, SHOP, output=o, plan=plan)) for o in (output, "all"))
    assert set() < some < every


def test_equal_events_are_two_and_their_matches_have_two_names(plan):
    twice = pa.concat_tables([SHOP, SHOP])
    result = ag.sase("PATTERN Shelf a WHERE a.tag = 7").match(twice, plan=plan, **NAMED)
    assert result.num_rows == 2
    first, second = result.drop_columns("match_id").to_pylist()
    assert first == second
    assert len(set(result["match_id"].to_pylist())) == 2
    again = ag.sase("PATTERN Shelf a WHERE a.tag = 7").match(shuffled(twice, 5), plan=plan, **NAMED)
    assert set(again["match_id"].to_pylist()) == set(result["match_id"].to_pylist())


# ------------------------------------------------------------------ inputs

INPUTS = {
    "table": lambda t: t,
    "record batch": lambda t: t.to_batches()[0],
    "reader": lambda t: t.to_reader(),
    "reader of small batches": lambda t: t.to_reader(max_chunksize=1),
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": duckdb.from_arrow,
    "chunks of unequal size": lambda t: pa.concat_tables(
        [t.slice(0, 1), t.slice(1, 0), t.slice(1, 4), t.slice(5)]
    ),
    "slice": lambda t: pa.concat_tables([t, t]).slice(6),
}


@pytest.mark.parametrize("given", INPUTS.values(), ids=INPUTS)
def test_any_arrow_speaking_table_is_matched(given, plan):
    result = THEFT.match(given(SHOP), time="ts", type="kind", key="store", plan=plan)
    assert isinstance(result, pa.Table)
    assert rows(result) == rows(THEFT.match(SHOP, time="ts", type="kind", key="store", plan="definition"))


def test_row_numbers_that_pandas_sends_along_are_no_data(plan):
    frame = SHOP.to_pandas().sort_values("tag", kind="stable")
    assert any(name.startswith("__index_level") for name in pa.table(frame).column_names)
    found = THEFT.match(frame[frame.store == "n"], time="ts", type="kind", match_id=True, plan=plan)
    of_the_table = SHOP.filter(pc.equal(SHOP["store"], "n"))
    assert found.equals(THEFT.match(of_the_table, time="ts", type="kind", match_id=True, plan=plan))


def test_an_index_with_a_name_is_a_column(plan):
    frame = SHOP.to_pandas().set_index("ts")
    assert ag.sase("PATTERN Exit e RETURN e.ts").match(frame, time="ts", type="kind", plan=plan).num_rows == 3


class Capsule:
    """A table of a library that nobody knows."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_the_capsule_interface_is_enough(plan):
    result = THEFT.match(Capsule(SHOP), time="ts", type="kind", plan=plan)
    assert result.equals(THEFT.match(SHOP, time="ts", type="kind", plan=plan))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("output", ["all", "non_overlap", "longest", "count"])
def test_the_order_of_rows_changes_nothing(output, seed, plan):
    tied = pa.concat_tables([SHOP, SHOP.set_column(0, "ts", pa.array([1, 1, 3, 3, 3, 6]))])
    given = {"time": "ts", "type": "kind", "output": output, "plan": plan}
    assert rows(SERIES.match(shuffled(tied, seed), **given)) == rows(SERIES.match(tied, **given))


@pytest.mark.parametrize(
    "data",
    [
        *(None, 5, "events.parquet", {"ts": [1]}, [{"ts": 1}], pl.LazyFrame({"ts": [1]})),
        *(pa.array([1, 2]), pa.chunked_array([[1], [2]]), pl.Series("ts", [1, 2]), np.array([1, 2])),
    ],
)
def test_what_is_no_table_is_a_data_error(data):
    with pytest.raises(ag.DataError, match=f"data of type {type(data).__name__} is no table"):
        ag.sase("PATTERN A a").match(data, time="ts")


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(ag.DataError, match=r"call its collect\(\) first"):
        ag.sase("PATTERN A a").match(pl.LazyFrame({"ts": [1]}), time="ts")


def test_two_columns_of_one_name_are_a_data_error(plan):
    table = pa.table([[1], [2]], names=["ts", "ts"])
    with pytest.raises(ag.DataError, match="two columns are named ts; rename one of them"):
        ag.sase("PATTERN A a").match(table, time="ts", plan=plan)


EMPTY = {
    "no rows": SHOP.slice(0, 0),
    "no chunks": pa.table({f.name: pa.chunked_array([], f.type) for f in SHOP.schema}),
    "empty chunks": pa.concat_tables([SHOP.slice(0, 0), SHOP.slice(0, 0)]),
    "polars": pl.from_arrow(SHOP.slice(0, 0)),
}


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest", "count", "compressed"])
@pytest.mark.parametrize("table", EMPTY.values(), ids=EMPTY)
def test_no_events_give_no_rows_of_the_same_columns(table, output, plan):
    given = {"time": "ts", "type": "kind", "key": "tag", "output": output, "plan": plan}
    full, empty = SERIES.match(SHOP, **given), SERIES.match(table, **given)
    assert empty.num_rows == 0
    assert empty.column_names == full.column_names
    if not isinstance(table, pl.DataFrame):
        assert empty.schema == full.schema
    if output == "compressed":
        assert ag.expand(empty).num_rows == 0


def test_no_match_gives_the_same_schema(plan):
    query = ag.sase(
        "PATTERN SEQ(Shelf a, Exit+ e[]) WHERE a.ts > 100 RETURN a.ts, e[].ts AS ts, avg(e[].ts) AS m, e"
    )
    found = ag.sase(str(query).replace("> 100", "> 0"))
    given = {"time": "ts", "type": "kind", "match_id": True, "plan": plan}
    assert query.match(SHOP, **given).schema == found.match(SHOP, **given).schema
    assert query.match(SHOP, **given).num_rows == 0


def test_metadata_of_the_input_is_not_the_results(plan):
    table = SHOP.replace_schema_metadata({"pandas": "{}", "augury.bad_rows": "7"})
    assert THEFT.match(table, time="ts", type="kind", plan=plan).schema.metadata is None


def test_metadata_of_fields_is_carried(plan):
    field = pa.field("ts", pa.int64(), nullable=False, metadata={"unit": "ms"})
    table = pa.table({"ts": pa.array([1])}, schema=pa.schema([field]))
    result = ag.sase("PATTERN A a").match(table, time="ts", plan=plan)
    assert result.schema.field("a").type.field("ts").equals(field, check_metadata=True)


# ------------------------------------------------------------------ every type of Arrow is carried


def views(values):
    return pa.array(values, pa.string_view())


def run_ends(values, type_=pa.int32):
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], type_()), values)


STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string())])
ARROW = {
    "null": pa.nulls(3),
    "bool": pa.array([True, None, False]),
    **{
        str(t): pa.array([1, None, 3], t)
        for t in (*(pa.int8(), pa.int16(), pa.int32(), pa.int64()), *(pa.uint8(), pa.uint16(), pa.uint32()))
    },
    "uint64": pa.array([2**64 - 1, None, 0], pa.uint64()),
    "float16": pa.array([np.float16(1.5), None, np.float16(-2)], pa.float16()),
    "float32": pa.array([0.1, None, float("-inf")], pa.float32()),
    "float64": pa.array([0.1, None, -0.0]),
    **{f"decimal{b}": pa.array([Decimal("1.50"), None, Decimal("-3.25")], make(p, 2))
       for b, make, p in ((32, pa.decimal32, 9), (64, pa.decimal64, 18), (128, pa.decimal128, 38), (256, pa.decimal256, 76))},
    "negative scale": pa.array([Decimal("1E3"), None, Decimal("2E3")], pa.decimal128(5, -3)),
    **{str(t): pa.array(["é", None, "c" * 20], t) for t in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(t): pa.array([b"\0", None, b"c" * 20], t) for t in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed size binary": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "date32": pa.array([-1, None, 3], pa.date32()),
    "date64": pa.array([86_400_000, None, 0], pa.date64()),
    **{f"timestamp {u} {zone}": pa.array([1, None, 3], pa.timestamp(u, tz=zone))
       for u in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin", "+02:00")},
    **{f"time {u}": pa.array([1, None, 3], make(u))
       for make, units in ((pa.time32, ("s", "ms")), (pa.time64, ("us", "ns"))) for u in units},
    **{f"duration {u}": pa.array([1, None, -3], pa.duration(u)) for u in ("s", "ms", "us", "ns")},
    "interval": pa.array([(1, 2, 3), None, (0, 0, 1)], pa.month_day_nano_interval()),
    "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
    "large list": pa.array([[1], None, []], pa.large_list(pa.int64())),
    "fixed size list": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
    "list view": pa.array([[1], None, []], pa.list_view(pa.int64())),
    "large list view": pa.array([[1], None, []], pa.large_list_view(pa.int64())),
    "list of structs": pa.array([[{"x": 1, "y": None}], None, []], pa.list_(STRUCT)),
    "struct": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "c"}], STRUCT),
    "struct of nothing": pa.array([{}, None, {}], pa.struct([])),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "dictionary": pa.array(["a", None, "c"]).dictionary_encode(),
    "dictionary of integers": pa.array([1, None, 3]).dictionary_encode(),
    "dictionary with an order": pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), ["a", "b"], ordered=True),
    "dictionary of structs": pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array([{"x": 1}, {"x": 2}])),
    "dictionary of views": pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), views(["a", "b"])),
    "dictionary of instants": pa.array([5001, None, 5000], pa.timestamp("ns")).dictionary_encode(),
    "run ends": run_ends(["a", None, "c"]),
    "run ends of floats": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int16()), [1.5, None]),
    "run ends of instants": run_ends(pa.array([5001, None, 5000], pa.timestamp("ns")), pa.int64),
    "run ends of lists": run_ends(pa.array([[1], None, []], pa.list_(pa.int8()))),
    "list of views": pa.array([["a"], None, ["c", None]], pa.list_(pa.string_view())),
    "large list of views": pa.array([["a"], None, []], pa.large_list(pa.string_view())),
    "struct of views": pa.array([{"x": "a"}, None, {"x": None}], pa.struct([("x", pa.string_view())])),
    "fixed size list of views": pa.array([["a"], None, ["c"]], pa.list_(pa.string_view(), 1)),
    "list view of views": pa.array([["a"], None, ["c"]], pa.list_view(pa.string_view())),
    "map of views": pa.array([[("a", "b")], None, []], pa.map_(pa.string(), pa.string_view())),
    "struct of run ends": pa.StructArray.from_arrays([run_ends(["a", None, "c"])], ["x"]),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
    "json": pa.array(["1", None, "{}"], pa.json_()),
}  # fmt: skip


@pytest.mark.parametrize("chunked", [False, True], ids=["one chunk", "chunks"])
@pytest.mark.parametrize("column", ARROW.values(), ids=ARROW)
def test_every_type_of_arrow_is_carried_unchanged(column, chunked, plan):
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "v": column})
    if chunked:
        table = pa.concat_tables([table.slice(i, 1) for i in range(3)])
    one, two, three = map(repr, column.to_pylist())
    series = ag.sase("PATTERN SEQ(A a, B+ b[])").match(table, time="ts", type="kind", plan=plan)
    series.validate(full=True)
    assert series.schema.field("a").type == pa.struct(list(table.schema))
    assert {repr(r["a"]["v"]) for r in series.to_pylist()} == {one}
    assert sorted(repr([e["v"] for e in r["b"]]) for r in series.to_pylist()) == sorted(
        [f"[{two}]", f"[{two}, {three}]", f"[{three}]"]
    )
    items = ag.sase("PATTERN SEQ(A a, B+ b[]) RETURN a.v, b[1].v, b[b.LEN].v AS last, b[].v AS vs")
    named = items.match(table, time="ts", type="kind", plan=plan)
    named.validate(full=True)
    assert named.schema.types[2:] == [column.type, column.type, column.type, pa.list_(column.type)]
    assert sorted(map(repr, named["vs"].to_pylist())) == sorted(
        [f"[{two}]", f"[{two}, {three}]", f"[{three}]"]
    )
    packed = ag.sase("PATTERN SEQ(A a, B+ b[])").match(
        table, time="ts", type="kind", output="compressed", plan=plan
    )
    assert rows(ag.expand(packed)) == rows(series)
    assert ag.expand(packed).schema == series.schema


@pytest.mark.parametrize("column", ARROW.values(), ids=ARROW)
def test_aggregates_of_every_type_of_arrow_are_the_definitions(column):
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "v": column})
    query = "PATTERN SEQ(A a, B+ b[]) RETURN first(b[].v) AS f, last(b[].v) AS l, count(b[].v) AS c, a.v IS NULL AS n"
    if from_arrow(column.type).kind not in UNORDERED:
        query += ", min(b[].v) AS least, max(b[].v) AS most"
    wanted, got = (
        ag.sase(query).match(table, time="ts", type="kind", plan=p) for p in ("definition", "auto")
    )
    assert got.schema == wanted.schema
    assert rows(got) == rows(wanted)


KEYS = {name: column for name, column in ARROW.items() if from_arrow(column.type).kind not in UNORDERED}


@pytest.mark.parametrize("column", KEYS.values(), ids=KEYS)
def test_values_of_every_type_of_arrow_are_keys(column, plan):
    once = pa.table({"ts": [1, 2, 3], "v": column})
    table = pa.concat_tables([once, once.set_column(0, "ts", pa.array([4, 5, 6]))])
    pairs = ag.sase("PATTERN SEQ(A a, A b) WHERE a.ts < 4 AND b.ts > 3").match(
        table, time="ts", key="v", plan=plan
    )
    pairs.validate(full=True)
    assert pairs.schema.field("v").type == column.type
    values = physical_values(column, from_arrow(column.type))  # of an instant the microseconds count
    assert sorted((r["match_start"], r["match_end"]) for r in pairs.to_pylist()) == [
        (i + 1, j + 4) for i, x in enumerate(values) for j, y in enumerate(values) if x == y
    ]
    agreeing = ag.sase("PATTERN SEQ(A a, A b) WHERE a.ts < 4 AND b.ts > 3 AND [v]").match(
        table, time="ts", plan=plan
    )
    assert agreeing.num_rows == sum(x == y for x in values for y in values if x is not None)


HALVES = pa.array(np.array([0.0, -0.0, np.nan, np.nan], np.float16))


@pytest.mark.parametrize(
    "key",
    [HALVES, HALVES.cast(pa.float32()), HALVES.cast(pa.float64()).dictionary_encode()],
    ids=["half", "single", "dictionary"],
)
def test_a_zero_is_one_key_whatever_its_sign_and_nan_is_one(key, plan):
    table = pa.table({"ts": [1, 2, 3, 4], "k": key})
    for order in ([0, 1, 2, 3], [1, 0, 3, 2]):
        given = table.take(order).set_column(0, "ts", table["ts"])
        found = ag.sase("PATTERN SEQ(A a, A b)").match(given, time="ts", key="k", plan=plan)
        assert [repr(k) for k in found["k"].to_pylist()] == ["0.0", "nan"]


@pytest.mark.parametrize("column", ARROW.values(), ids=ARROW)
def test_no_match_is_a_table_of_any_type_of_arrow(column, plan):
    table = pa.table({"ts": [1, 2, 3], "v": column})
    found = ag.sase("PATTERN SEQ(A a, A+ b[]) WHERE a.ts > 3").match(table, time="ts", plan=plan)
    assert found.schema.field("b").type == pa.list_(pa.struct(list(table.schema)))
    assert found.num_rows == 0


def structs(values):
    return pa.StructArray.from_arrays([values], ["x"])


NESTED = {  # in stream order
    "instants beyond Python's": structs(pa.array([None, -(2**40), 2**40], pa.timestamp("s"))),
    "days beyond Python's": structs(pa.array([-(2**30), 1, 2**30], pa.date32())),
    "nanoseconds of a day": structs(pa.array([1, 2, 1001], pa.time64("ns"))),
    "structs of lists": structs(pa.array([None, [None], [1]])),
    "maps": pa.array([None, [("a", 1)], [("a", 2)]], pa.map_(pa.string(), pa.int8())),
    "a union": pa.UnionArray.from_dense(
        pa.array([0, 0, 1], pa.int8()),
        pa.array([0, 1, 0], pa.int32()),
        [pa.array([None, 7]), pa.array(["a"])],
    ),
}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]], ids=repr)
@pytest.mark.parametrize("column", NESTED.values(), ids=NESTED)
def test_nested_values_are_ordered_by_what_is_in_them(column, order, plan):
    table = pa.table({"ts": [1, 1, 1], "v": column, "n": [3, 2, 1]})
    shuffled_rows = pa.concat_tables([table.slice(row, 1) for row in order])
    query = ag.sase("PATTERN SEQ(A a, A b, A c) WHERE strict_contiguity(a, b, c) AND (a.v IS NULL OR TRUE)"
                    " RETURN a.n AS x, b.n AS y, c.n AS z")  # fmt: skip
    found = query.match(shuffled_rows, time="ts", plan=plan)
    assert found.select(["x", "y", "z"]).to_pylist() == [{"x": 3, "y": 2, "z": 1}]


FINE = {  # equal in the order, but not the same
    "nanoseconds": pa.array([[1], [2], [3]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ns"))),
    "signs of zero": pa.array([[-0.0], [0.0], [0.0]]),
    "instants of no microsecond": pa.array([-(2**61), 2**61, 2**61 + 1], pa.timestamp("s")),
}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]], ids=repr)
@pytest.mark.parametrize("column", FINE.values(), ids=FINE)
def test_what_the_order_does_not_see_tells_equals_apart(column, order, plan):
    table = pa.table({"ts": [1, 1, 1], "v": column}).take(order)
    found = ag.sase("PATTERN SEQ(A a, A b, A c) WHERE strict_contiguity(a, b, c)").match(
        table, time="ts", plan=plan
    )
    events = [found[name].combine_chunks().field("v") for name in "abc"]
    assert str(pa.concat_arrays(events)) == str(column)


@pytest.mark.parametrize("column", ARROW.values(), ids=ARROW)
def test_events_of_one_time_are_ordered_by_values_of_any_type(column, plan):
    table = pa.table({"ts": [1, 1, 1], "v": column, "n": [1, 2, 3]})
    query = ag.sase("PATTERN SEQ(A a, A b) WHERE strict_contiguity(a, b)")
    straight = query.match(table, time="ts", plan=plan)
    assert straight.num_rows == 2
    backwards = pa.concat_tables([table.slice(i, 1) for i in (2, 1, 0)])
    assert rows(query.match(backwards, time="ts", plan=plan)) == rows(straight)
    assert rows(query.match(table, time="ts", plan="definition")) == rows(straight)
    if table["v"].null_count:
        assert straight.to_pylist()[0]["a"]["v"] is None  # nulls come first


# ------------------------------------------------------------------ bad rows

BAD = pa.table({"ts": [1, None, 3, None], "kind": ["A", "A", "B", "B"], "x": [1, 2, 3, 4]})
PAIR = ag.sase("PATTERN SEQ(A a, B b)")


def test_a_row_without_a_time_is_an_error_that_names_column_and_number(plan):
    with pytest.raises(ag.DataError, match="2 rows have no time in the column ts"):
        PAIR.match(BAD, time="ts", type="kind", plan=plan)
    with pytest.raises(ag.DataError, match=r'1 row has no time in the column ts; mend .* bad_rows="drop"'):
        PAIR.match(BAD.slice(0, 2), time="ts", type="kind", plan=plan)


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest", "count", "compressed"])
def test_bad_rows_are_dropped_and_counted_when_asked(output, plan):
    given = {"time": "ts", "type": "kind", "output": output, "plan": plan}
    with pytest.warns(
        ag.DataWarning, match="2 rows have no time in the column ts and were dropped"
    ) as caught:
        result = PAIR.match(BAD, bad_rows="drop", **given)
    assert caught[0].filename == __file__
    assert result.schema.metadata[b"augury.bad_rows"] == b"2"
    good = PAIR.match(BAD.filter(BAD["ts"].is_valid()), **given)
    assert result.num_rows == 1
    assert rows(result) == rows(good)


def test_no_bad_rows_are_counted_too(plan):
    result = THEFT.match(SHOP, time="ts", type="kind", bad_rows="drop", plan=plan)
    assert result.schema.metadata == {b"augury.bad_rows": b"0"}
    assert THEFT.match(SHOP, time="ts", type="kind", plan=plan).schema.metadata is None


def test_a_time_that_64_bits_do_not_hold_is_a_bad_row(plan):
    beyond = pa.table({"ts": pa.array([1, 2**63, 2**64 - 1], pa.uint64())})
    with pytest.raises(ag.DataError, match="2 rows have no time in the column ts"):
        ag.sase("PATTERN A a").match(beyond, time="ts", plan=plan)
    seconds = pa.table({"ts": pa.array([0, 2**62], pa.timestamp("s"))})
    with pytest.raises(ag.DataError, match="1 row has no time in the column ts"):
        ag.sase("PATTERN A a").match(seconds, time="ts", plan=plan)


def test_all_rows_may_be_bad(plan):
    table = pa.table({"ts": pa.nulls(2, pa.int64())})
    with pytest.warns(ag.DataWarning, match="2 rows have no time"):
        assert ag.sase("PATTERN A a").match(table, time="ts", bad_rows="drop", plan=plan).num_rows == 0


def test_a_null_of_another_column_is_no_bad_row(plan):
    table = pa.table({"ts": [1, 2], "kind": ["A", None], "key": [None, 1]})
    assert ag.sase("PATTERN A a").match(table, time="ts", type="kind", key="key", plan=plan).num_rows == 1


def test_a_limit_names_both_numbers():
    many = pa.table({"ts": list(range(12))})
    with pytest.raises(ag.LimitError, match=r"exceed max_runs=100\b.*raise max_runs"):
        ag.sase("PATTERN SEQ(A+ a[], A b)").match(many, time="ts", max_runs=100, plan="definition")


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "many"])
def test_a_limit_is_a_whole_number_from_one_on(limit):
    with pytest.raises(ag.QueryError, match=f"max_runs={limit!r} is no number of runs"):
        THEFT.match(SHOP, time="ts", type="kind", max_runs=limit)


# ------------------------------------------------------------------ expand

QUERIES = [
    "PATTERN SEQ(Shelf a, Exit+ e[]) WHERE [tag]",
    "PATTERN SEQ(Shelf a, ~(Register r), Exit c) WHERE [tag]",
    "PATTERN SEQ(Shelf+ a[], Exit+ e[]) RETURN a[].ts AS ats, e[1].tag, e, e.LEN AS n",
    "PATTERN Exit e",
]


@pytest.mark.parametrize("key", [None, "store", ["tag", "store"]])
@pytest.mark.parametrize("text", QUERIES)
def test_expand_gives_the_rows_of_all_back(text, key, plan):
    query = ag.sase(text)
    given = {"time": "ts", "type": "kind", "key": key, "plan": plan}
    every = query.match(SHOP, **given)
    packed = query.match(SHOP, output="compressed", **given)
    for table in (packed, packed.combine_chunks(), pa.concat_tables([packed.slice(1), packed.slice(0, 1)])):
        assert rows(ag.expand(table)) == rows(every)
    assert ag.expand(packed).schema == every.schema
    assert rows(ag.expand(pl.from_arrow(packed), query)) == rows(every)


@pytest.mark.parametrize("text", QUERIES)
def test_expanded_matches_have_their_names(text, plan):
    query = ag.sase(text)
    packed = query.match(SHOP, time="ts", type="kind", output="compressed", plan=plan)
    named = query.match(SHOP, plan=plan, **NAMED)
    assert rows(ag.expand(packed, match_id=True)) == rows(named)
    assert ag.expand(packed, match_id=True).column_names == named.column_names


def test_each_compressed_row_stands_by_itself(plan):
    packed = SERIES.match(SHOP, time="ts", type="kind", output="compressed", plan=plan)
    last = packed.filter(pa.compute.equal(packed["match_end"], 6))
    assert {r["match_end"] for r in ag.expand(last).to_pylist()} == {6}
    assert ag.expand(last).num_rows == 2


def test_a_compressed_table_remembers_its_query_and_parameters(plan):
    query = ag.sase("PATTERN SEQ(Shelf a, Exit e) WHERE a.tag = :tag RETURN a.tag, :tag AS asked", tag=7)
    packed = query.match(SHOP, time="ts", type="kind", output="compressed", plan=plan)
    assert {(r["a_tag"], r["asked"]) for r in ag.expand(packed).to_pylist()} == {(7, 7)}


def test_expand_without_a_query_says_so(plan):
    packed = SERIES.match(SHOP, time="ts", type="kind", output="compressed", plan=plan)
    bare = packed.replace_schema_metadata(None)
    with pytest.raises(ag.DataError, match=r"pass it: ag\.expand\(table, query\)"):
        ag.expand(bare)
    assert rows(ag.expand(bare, SERIES)) == rows(ag.expand(packed))
    with pytest.raises(ag.DataError, match="has no column match_end"):
        ag.expand(SHOP, SERIES)
    with pytest.raises(ag.DataError, match="is no table"):
        ag.expand([1], SERIES)


def test_bad_rows_and_the_query_are_both_remembered(plan):
    with pytest.warns(ag.DataWarning):
        packed = PAIR.match(BAD, time="ts", type="kind", bad_rows="drop", output="compressed", plan=plan)
    assert packed.schema.metadata[b"augury.bad_rows"] == b"2"
    assert ag.expand(packed).num_rows == 1


# ------------------------------------------------------------------ chains, and the query as an object


def test_the_result_of_one_query_is_the_input_of_the_next(plan):
    visits = ag.sase("PATTERN SEQ(Shelf a, Exit e) WHERE [tag] RETURN a.tag, a.store, e.ts - a.ts AS took")
    found = visits.match(SHOP, time="ts", type="kind", plan=plan)
    longer = ag.sase(
        "PATTERN SEQ(Visit v, Visit w) WHERE w.took > v.took AND [a_tag] RETURN v.took, w.took, v"
    )
    result = longer.match(found, time="match_end", plan=plan)
    assert result.schema.field("v").type == pa.struct(list(found.schema))
    (row,) = result.to_pylist()
    assert (row["match_start"], row["match_end"], row["v_took"], row["w_took"]) == (3, 6, 2, 5)


def test_a_chain_carries_whole_events_and_keys(plan):
    found = SERIES.match(SHOP, time="ts", type="kind", key="store", plan=plan)
    pairs = ag.sase("PATTERN SEQ(M m, M n) WHERE m.match_end < n.match_end WITHIN 10")
    result = pairs.match(found, time="match_end", key="store", plan=plan)
    assert {(r["match_start"], r["match_end"], len(r["n"]["e"])) for r in result.to_pylist()} == {
        (3, 6, 1),
        (3, 6, 2),
    }
    again = ag.sase("PATTERN M m WHERE m.m IS NOT NULL").match(result, time="match_end", plan=plan)
    assert again.num_rows == result.num_rows


def test_a_query_is_not_changed_by_what_is_done_with_it():
    values = [7]
    query = ag.sase("PATTERN Shelf a WHERE a.tag IN (:tags)", tags=values)
    before = (str(query), hash(query), query.to_json())
    values.append(8)
    query.params["tags"] = (9,)
    assert query.match(SHOP, time="ts", type="kind").num_rows == 1
    assert (str(query), hash(query), query.to_json()) == before
    with pytest.raises(AttributeError):
        query.anything = 1
    with pytest.raises(AttributeError):
        query.text = "PATTERN B b"


def test_match_takes_its_arguments_by_name():
    with pytest.raises(TypeError):
        THEFT.match(SHOP, "ts")
    with pytest.raises(TypeError, match="time"):
        THEFT.match(SHOP)
    with pytest.raises(TypeError, match="tpye"):
        THEFT.match(SHOP, time="ts", tpye="kind")


def test_an_error_of_the_schema_shows_the_query():
    with pytest.raises(ag.QueryError) as caught:
        ag.sase("PATTERN Shelf a\nWHERE a.tga = 7").match(SHOP, time="ts", type="kind")
    assert str(caught.value) == (
        "2:7: there is no attribute tga\n  WHERE a.tga = 7\n        ^^^^^\n"
        "hint: did you mean tag? there is: kind, store, tag, ts"
    )


def test_the_query_is_refused_before_the_data(plan):
    with pytest.raises(ag.QueryError):
        ag.sase("PATTERN A a WHERE a.kind > 5").match(BAD, time="ts", type="kind", plan=plan)


def test_a_column_named_as_one_string_is_one_key(plan):
    one = THEFT.match(SHOP, time="ts", type="kind", key="store", tiebreak="tag", plan=plan)
    assert one.equals(THEFT.match(SHOP, time="ts", type="kind", key=["store"], tiebreak=["tag"], plan=plan))


def test_a_generator_may_name_the_keys(plan):
    names = (name for name in ("store", "tag"))
    assert THEFT.match(SHOP, time="ts", type="kind", key=names, plan=plan).column_names[:2] == [
        "store",
        "tag",
    ]
