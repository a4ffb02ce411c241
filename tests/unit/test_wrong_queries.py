"""Wrong queries: each is told what is wrong, where, and what to write (data/wrong_queries.toml)."""

import json
import tomllib
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import augury as ag

DATA = tomllib.loads((Path(__file__).parents[1] / "data" / "wrong_queries.toml").read_text(encoding="utf-8"))
TYPES = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(12, 2),
    "list of string": pa.list_(pa.string()),
    "struct": pa.struct([("lat", pa.float64()), ("lon", pa.float64())]),
}
CASES = [pytest.param(case, id=case["name"]) for case in DATA["case"]]


def events_that_must_not_be_read(schema):
    """A stream of one batch, whose rows have no time: reading it is another error."""
    columns = {name: TYPES[kind] for name, kind in schema["columns"].items()}

    def batches():
        raise AssertionError("an event was read before the query was refused")
        yield

    return pa.RecordBatchReader.from_batches(pa.schema(columns.items()), batches())


def ask(case):
    query = ag.sase(case["text"], **case.get("params", {}))
    assert "schema" in case, "the query was taken"
    schema = DATA["schema"][case["schema"]]
    query.match(events_that_must_not_be_read(schema), **{**schema["match"], **case.get("match", {})})


def error_of(case):
    with pytest.raises(ag.QueryError) as caught:
        ask(case)
    return caught.value


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_query_is_told_what_is_wrong_and_where(case):
    error = error_of(case)
    assert error.message == case["message"]
    assert (error.line, error.column) == (case.get("line"), case.get("column"))
    assert case.get("hint", "") in (error.hint or "")
    assert ("hint" in case) == (error.hint is not None)


@pytest.mark.parametrize("case", CASES)
def test_the_error_shows_the_line_with_a_caret_under_the_column(case):
    error = error_of(case)
    if "line" not in case:
        assert str(error).split("\n")[0] == case["message"]
        return
    line = case["text"].split("\n")[case["line"] - 1]
    place = case["column"] - 1
    head, shown, caret = str(error).split("\n")[:3]
    assert head == f"{case['line']}:{case['column']}: {case['message']}"
    assert caret.strip("^ ") == ""
    under = caret.index("^")
    start = place - (under - 2)  # of what is shown of a long line
    assert 0 <= start <= place
    assert (
        shown[2:]
        == line[start : start + 100].replace("\x00", " ").replace("\xa0", " ").replace("\ufeff", " ").rstrip()
    )
    if line:
        assert len(line) > 100 or start == 0


def test_names_of_cases_are_their_own():
    names = [case["name"] for case in DATA["case"]]
    assert len(set(names)) == len(names) > 350


@pytest.mark.parametrize("text", [5, None, b"PATTERN A a", ["PATTERN A a"]])
def test_a_query_that_is_no_string_is_refused(text):
    with pytest.raises(ag.QueryError, match="a query is a string, not"):
        ag.sase(text)


# ------------------------------------------------------------------ limits, whose texts are long


def refused(text):
    with pytest.raises(ag.QueryError) as caught:
        ag.sase(text)
    return caught.value


def test_brackets_nest_a_hundred_deep():
    error = refused("PATTERN A a WHERE " + "(" * 101 + "a.x" + ")" * 101)
    assert (error.message, error.column) == ("brackets are nested more than 100 deep", 19 + 100)
    assert ag.sase("PATTERN A a WHERE " + "(" * 100 + "a.x" + ")" * 100)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("PATTERN A a WHERE a.x > 1" + " + 1" * 120, 19),
        ("PATTERN A a WHERE " + "NOT " * 120 + "a.active", 19),
        ("PATTERN A a WHERE " + "- " * 120 + "a.x > 1", 19),
        ("PATTERN A a RETURN a.x" + " * 2" * 120 + " AS y", 20),
        ("PATTERN A+ a[] WHERE sum(a[].x" + " + a[].x" * 3000 + ") > 1", 26),
        ("PATTERN A+ a[] WHERE a[1" + " + 1" * 3000 + "].x > 1", 24),
    ],
)
def test_expressions_nest_a_hundred_deep(text, column):
    error = refused(text)
    assert (error.message, error.column) == ("an expression is nested more than 100 deep", column)
    assert "split a long sum with parentheses" in error.hint


def test_chains_are_as_long_as_you_like():
    chain = " AND ".join(f"a.x <> {n}" for n in range(1000))
    assert len(ag.sase(f"PATTERN A a WHERE {chain}").pattern.predicates) == 1000
    assert ag.sase(f"PATTERN A a WHERE a.x IN ({', '.join(map(str, range(1000)))})")


def test_a_text_has_a_hundred_thousand_characters():
    fits = "PATTERN A a" + " " * 99_989
    assert ag.sase(fits)
    error = refused(fits + " ")
    assert error.message == "the query has 100001 characters, more than 100000"
    assert "IN (:names)" in error.hint


def test_half_a_character_is_refused_wherever_it_stands():
    for text in ("PATTERN A a WHERE a.x = '\ud800'", "PATTERN A a -- \udfff", "PATTERN `\ud8aa` a"):
        error = refused(text)
        assert error.message.startswith("half a character stands here: U+D")
        assert str(error).encode()


def test_numbers_have_limits():
    assert refused("PATTERN A a WHERE a.x > " + "9" * 501).message == "a number of 501 signs, more than 500"
    assert refused("PATTERN A a WHERE a.x > 1." + "3" * 45).message == "a number of 46 digits, more than 40"
    assert ag.sase("PATTERN A a WHERE a.x > 1." + "3" * 39)
    assert ag.sase("PATTERN A a WHERE a.x > 18446744073709551615 AND a.x > -9223372036854775808")


# ------------------------------------------------------------------ the error itself


def test_a_long_line_is_shown_around_its_caret():
    error = refused("PATTERN A a WHERE " + "a.x = 1 AND " * 40 + "b.x = 1" + " AND a.x = 1" * 40)
    _, shown, caret, _ = str(error).split("\n")
    assert len(shown) <= 102
    assert shown[caret.index("^") :].startswith("b.x = 1 AND")
    assert caret.count("^") == 3


def test_the_caret_stands_under_wide_letters_and_marks():
    _, shown, caret, *_ = str(refused("PATTERN A a WHERE a.価格 = 'é́' AND b.x = 1")).split("\n")
    before = shown[: shown.index("b.x")]
    assert (
        caret.index("^") == len(before) + 2 - 1
    )  # two ideographs are wider by one each, a mark has no width


def test_an_error_can_be_pickled_and_raised_again():
    import copy
    import pickle

    error = refused("PATTERN SEQ(A a, B b)\nWHERE c.x > 1")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is ag.QueryError
        assert str(again) == str(error)
        assert (again.message, again.line, again.column, again.hint) == (error.message, 2, 7, error.hint)
    for other in (ag.DataError("1 row\nhas no time"), ag.LimitError("2 runs exceed max_runs=1")):
        assert repr(pickle.loads(pickle.dumps(other))) == repr(other)


def test_all_errors_are_augurys():
    assert all(issubclass(e, ag.AuguryError) for e in (ag.QueryError, ag.DataError, ag.LimitError))
    assert not issubclass(ag.AuguryError, ValueError)


def test_without_a_text_there_is_no_place():
    from augury.pattern import Component, Pattern

    with pytest.raises(ag.QueryError) as caught:
        Pattern((Component("A", "a"), Component("B", "a")))
    assert (caught.value.line, caught.value.column) == (None, None)
    assert str(caught.value) == (
        "the variable a is declared twice\nhint: give each component a variable of its own"
    )


def test_a_pattern_made_by_hand_is_checked_like_one_from_text():
    from augury.expr.tree import Call
    from augury.pattern import Component, Pattern

    with pytest.raises(ag.QueryError, match="there is no function frobnicate"):
        Pattern((Component("A", "a"),), predicates=(Call("frobnicate", ()),))


def test_a_registered_function_is_checked_when_the_query_is_built():
    @ag.function(name="spread_of_two")
    def spread(bid: float, ask: float) -> float:
        return ask - bid

    assert ag.sase("PATTERN Q q WHERE spread_of_two(q.bid, q.ask) > 1")
    assert refused("PATTERN Q q WHERE spread_of_two(q.bid) > 1").message == (
        "spread_of_two takes 2 arguments, here are 1"
    )
    assert "did you mean spread_of_two?" in refused("PATTERN Q q WHERE spred_of_two(q.bid) > 1").hint


@pytest.mark.parametrize("text", ["1E+999999999", "-1E-999999999", "0E+999999", "1" * 101])
@pytest.mark.parametrize("form", ["a.x = :v", "a.x IN (:v)"])
def test_a_decimal_that_cannot_be_written_out_is_refused(form, text):
    with pytest.raises(ag.QueryError, match="a Decimal that is too long to write out") as caught:
        ag.sase(f"PATTERN A a WHERE {form}", v=Decimal(text))
    assert caught.value.hint == "it has at most 100 digits, and an exponent from -400 to 400"
    stored = json.dumps(
        {
            "augury": 1,
            "language": "sase",
            "text": f"PATTERN A a WHERE {form}",
            "params": {"v": {"decimal": text}},
        }
    )
    with pytest.raises(ag.QueryError, match="too long to write out"):
        ag.from_json(stored)
