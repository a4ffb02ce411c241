"""Every error of the checker, with the words that tell what to do; and the types that come out."""
# ruff: noqa: DTZ001  # timestamps without a zone are among what is tested

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from augury.errors import QueryError
from augury.expr import functions, types
from augury.expr.check import check, check_condition, missing
from augury.expr.constants import physical
from augury.expr.printing import text_of
from augury.expr.tree import Agg, At, Attr, Call, Cast, Literal, walk
from augury.expr.types import Kind
from augury.lang.sase import parse_expression

SCHEMA = {
    "i": pa.int64(),
    "i8": pa.int8(),
    "u": pa.uint64(),
    "x": pa.float64(),
    "f": pa.float32(),
    "d": pa.decimal128(5, 2),
    "e": pa.decimal128(10, 4),
    "w": pa.decimal256(76, 0),
    "v": pa.decimal256(76, 76),
    "s": pa.string(),
    "b": pa.bool_(),
    "t": pa.timestamp("s", "Europe/Berlin"),
    "n": pa.timestamp("ns"),
    "day": pa.date32(),
    "h": pa.time32("s"),
    "p": pa.duration("s"),
    "l": pa.list_(pa.float64()),
    "ls": pa.list_(pa.string()),
    "o": pa.struct([("k", pa.int64())]),
    "z": pa.null(),
}


def type_of(reference):
    try:
        return types.from_arrow(SCHEMA[reference.name])
    except KeyError:
        message, hint = missing("column", reference.name, SCHEMA)
        raise QueryError(message, span=reference.span, hint=hint) from None


@pytest.fixture(autouse=True)
def _registered():
    before = dict(functions._registered)

    def ratio(x: float, y: float) -> float:
        return x / y

    functions.function(ratio)
    functions.function(lambda _: 1.0, name="area", reads=[list[float]], returns=float)
    functions.function(lambda n: n, name="counted", reads=[int], returns=int)
    yield
    functions._registered.clear()
    functions._registered.update(before)


ERRORS = [
    ("a.y", ["there is no column y"]),
    ("-a.s", ["a string has no negative"]),
    ("-a.b", ["a boolean has no negative"]),
    ("NOT a.x", ["a condition is true or false, this is a number", "compare it"]),
    ("a.b AND a.s", ["a condition is true or false, this is a string"]),
    ("a.x LIKE 'a'", ["LIKE reads strings, this is a number"]),
    ("a.s LIKE 1", ["LIKE reads strings, this is an integer"]),
    ("a.s LIKE 'a\\b'", ["a backslash in a LIKE pattern stands before %, _ or another backslash"]),
    ("a.s LIKE 'a\\'", ["a backslash"]),
    ("lower(a.i)", ["lower reads strings"]),
    ("upper(1)", ["upper reads strings"]),
    ("lengh(a.s)", ["there is no function lengh", "did you mean length?"]),
    ("frobnicate(1)", ["there is no function frobnicate", "there is: abs"]),
    ("abs()", ["abs takes 1 argument, here are 0"]),
    ("pow(1)", ["pow takes 2 arguments, here are 1"]),
    ("round(1, 2, 3)", ["round takes 1 to 2 arguments"]),
    ("least(1)", ["least takes at least 2 arguments"]),
    ("ratio(1)", ["ratio takes 2 arguments, here are 1"]),
    ("ratio(a.s, 1)", ["ratio reads a number here, this is a string"]),
    ("area(a.ls)", ["area reads a list of number here, this is a list of string"]),
    ("counted(1.5)", ["counted reads an integer here, this is a number"]),
    ("a.l = a.l", ["a list of number cannot be compared", "IS NULL"]),
    ("a.o = NULL", ["a nested value cannot be compared"]),
    ("a.l IN (1)", ["a list of number cannot be compared"]),
    ("a.s = 1", ["a string cannot be compared with an integer (=)", "a string is written 'so'"]),
    ("a.s < 1.5", ["a string cannot be compared with a number (<)"]),
    ("a.b = 1", ["a boolean cannot be compared", "a boolean is a condition by itself"]),
    ("a.b = 'true'", ["a boolean cannot be compared"]),
    ("a.p > 5", ["a duration cannot be compared with an integer", "one of integers with a plain number"]),
    ("a.p > 5.5", ["with its unit, such as 5 minutes"]),
    ("a.i BETWEEN 'a' AND 2", ["an integer cannot be compared with a string (>=)"]),
    ("a.i IN ('a')", ["an integer cannot be compared with a string (=)"]),
    ("a.h = a.t", ["a time of day cannot be compared with a timestamp"]),
    ("a.t = a.s", ["a string cannot be compared with a timestamp", "constant"]),
    ("a.t > 'yesterday'", ["'yesterday' is not a timestamp", "write '2026-01-31'"]),
    ("a.day > '2026-02-30'", ["'2026-02-30' is not a date"]),
    ("a.t = 5", ["a timestamp cannot be compared with an integer"]),
    ("a.s + 'b'", ["+ is not defined for a string and a string", "no arithmetic on strings"]),
    ("a.t + a.t", ["+ is not defined for a timestamp and a timestamp"]),
    ("a.t + 5", ["+ is not defined for a timestamp and an integer"]),
    ("a.p + 5", ["+ is not defined for a duration and an integer", "integer time takes plain numbers"]),
    ("a.p * 1.5", ["* is not defined for a duration and a number"]),
    ("a.p / 2", ["/ is not defined for a duration and an integer"]),
    ("5 minutes - a.t", ["- is not defined for a duration and a timestamp"]),
    ("a.b + 1", ["+ is not defined for a boolean and an integer"]),
    ("round(a.x, a.i)", ["the number of digits is a whole constant from -18 to 18"]),
    ("round(a.x, 19)", ["the number of digits"]),
    ("round(a.x, TRUE)", ["the number of digits"]),
    ("sqrt(a.s)", ["sqrt needs a number, this is a string"]),
    ("abs(a.t)", ["abs needs a number, this is a timestamp"]),
    ("ceil(a.p)", ["ceil needs a number"]),
    ("least(a.x, a.s)", ["least needs values of one type, here are: number, string"]),
    ("coalesce(a.l, a.l)", ["coalesce needs values of one type, here are: list"]),
    ("coalesce(a.w, a.v)", ["coalesce: no decimal type of 76 digits"]),
    ("length(a.x)", ["length needs a string, this is a number"]),
    ("corr(a.l, a.x)", ["corr needs two columns of lists of numbers, this is a number"]),
    ("corr(a.ls, a.l)", ["this is a list of string"]),
    ("min(a[].l)", ["a list of number has no min"]),
    ("max(a[].o)", ["a nested value has no max"]),
    ("sum(a[].s)", ["sum needs numbers, this is a string"]),
    ("avg(a[].t)", ["avg needs numbers, this is a timestamp"]),
    ("avg(a[].p)", ["avg needs numbers, this is a duration"]),
]


@pytest.mark.parametrize(("text", "fragments"), ERRORS)
def test_errors_say_what_is_wrong_where(text, fragments):
    with pytest.raises(QueryError) as caught:
        check(parse_expression(text), type_of)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert caught.value.span is not None


def test_an_aggregate_called_like_a_function():
    with pytest.raises(QueryError, match="sum is an aggregate") as caught:
        check(Call("sum", (Literal("int", 1), Literal("int", 2))), type_of)
    assert "sum(a[].x)" in caught.value.hint


@pytest.mark.parametrize("text", ["a.x", "1", "'a'", "a.l", "a.t"])
def test_a_predicate_is_a_condition(text):
    with pytest.raises(QueryError, match="a condition is true or false"):
        check_condition(parse_expression(text), type_of)


def test_null_is_a_condition():
    assert check_condition(parse_expression("NULL"), type_of).type == types.BOOL
    assert check_condition(parse_expression("a.z"), type_of).type == types.BOOL


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        (2**64, "does not fit in 64 bits"),
        (-(2**63) - 1, "does not fit in 64 bits"),
    ],
)
def test_parameters_that_are_no_values(value, fragment):
    with pytest.raises(QueryError, match=fragment):
        check(parse_expression("a.x = :p", {"p": value}), type_of)


def test_a_list_is_bound_to_in_alone():
    with pytest.raises(QueryError, match="is no value of a query") as caught:
        check(parse_expression("a.x = :p", {"p": [1, 2]}), type_of)
    assert "IN (:name)" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Kind.NULL),
        (True, Kind.BOOL),
        (1, Kind.INT),
        (1.5, Kind.FLOAT),
        (Decimal("1.5"), Kind.DECIMAL),
        (Decimal("NaN"), Kind.FLOAT),
        (Decimal("sNaN"), Kind.FLOAT),
        (Decimal("-Infinity"), Kind.FLOAT),
        ("a", Kind.STRING),
        (b"a", Kind.BINARY),
        (dt.datetime(1970, 1, 1), Kind.TIMESTAMP),
        (dt.date(1970, 1, 1), Kind.DATE),
        (dt.timedelta(1), Kind.DURATION),
    ],
)
def test_python_values_have_kinds(value, kind):
    assert physical(value)[1].kind is kind


def test_what_is_no_scalar_has_no_kind():
    assert physical(object())[1] is None


TYPES = [
    ("a.i8 + a.i8", pa.int64()),
    ("-a.i8", pa.int64()),
    ("-a.u", pa.int64()),
    ("-a.f", pa.float64()),
    ("abs(a.i8)", pa.int64()),
    ("abs(a.u)", pa.uint64()),
    ("round(a.f)", pa.float64()),
    ("ceil(a.x)", pa.int64()),
    ("abs(a.p)", pa.duration("us")),
    ("-a.p", pa.duration("us")),
    ("a.i / a.i", pa.float64()),
    ("a.d + a.d", pa.float64()),
    ("a.t + 1 minute", pa.timestamp("us", "Europe/Berlin")),
    ("a.day + 1 minute", pa.timestamp("us")),
    ("a.t - a.n", pa.duration("us")),
    ("coalesce(a.i8, a.i8)", pa.int8()),
    ("coalesce(a.i8, 1)", pa.int64()),
    ("coalesce(a.f, a.f)", pa.float32()),
    ("coalesce(a.f, a.x)", pa.float64()),
    ("coalesce(a.t, a.t)", pa.timestamp("s", "Europe/Berlin")),
    ("coalesce(a.t, a.n)", pa.timestamp("us", "Europe/Berlin")),
    ("coalesce(a.day, a.t)", pa.timestamp("us", "Europe/Berlin")),
    ("coalesce(a.d, a.d)", pa.decimal128(5, 2)),
    ("least(a.d, a.e)", pa.decimal128(10, 4)),
    ("least(a.d, 0.5)", pa.float64()),
    ("coalesce(a.z, a.s)", pa.string()),
    ("coalesce(a.z, NULL)", pa.null()),
    ("min(a[].f)", pa.float32()),
    ("sum(a[].i8)", pa.int64()),
    ("sum(a[].u)", pa.int64()),
    ("sum(a[].p)", pa.duration("us")),
    ("avg(a[].i)", pa.float64()),
    ("count(a[].o)", pa.int64()),
    ("last(a[].o)", SCHEMA["o"]),
    ("a.LEN", pa.int64()),
    ("a.s LIKE 'a'", pa.bool_()),
    ("length(a.l)", pa.int64()),
    ("ratio(a.d, 1)", pa.float64()),
]


@pytest.mark.parametrize(("text", "arrow"), TYPES)
def test_a_result_has_a_type_that_holds_it(text, arrow):
    assert check(parse_expression(text), type_of).type.arrow == arrow


def test_what_comes_out_is_simpler_than_what_went_in():
    node = check(parse_expression("a.d BETWEEN 0.1 AND 2 AND a.i IN (1, :p)", {"p": 2}), type_of)
    names = {type(n).__name__ for n in walk(node)}
    assert names == {"Logic", "Binary", "Attr", "Literal", "In"}
    assert all(n.kind == "constant" for n in walk(node) if isinstance(n, Literal))
    assert [n.value for n in walk(node) if isinstance(n, Literal)] == [Decimal("0.1"), Decimal(2), 1, 2]


def test_changes_of_kind_are_visible():
    node = check(parse_expression("a.d + a.i"), type_of)
    assert isinstance(node.left, Cast)
    assert isinstance(node.right, Cast)
    assert text_of(node) == "a.d + a.i"


def test_an_aggregates_argument_is_checked():
    node = check(Agg("avg", "a", At.EACH, Attr("a", At.EACH, "i8")), type_of)
    assert isinstance(node.arg, Cast)
