"""Whatever text comes, the outcome is a query or a QueryError, soon, and the error can be shown."""

import json
import os
import random
import re
import time
import tomllib
from pathlib import Path

import pytest

import augury as ag
from augury.lang.lexer import MAX_LENGTH, tokens
from augury.lang.sase import parse, parse_expression
from augury.pattern import text_of_pattern

CASES = {"ci": 2000, "dev": 2000, "long": 100_000}[os.environ.get("HYPOTHESIS_PROFILE", "ci")]
SOON = 0.050  # seconds; a query of a few lines takes one thousandth
SOON_PER_SIGN = 0.000_2  # ten times what a long text took when this was written

WRONG = tomllib.loads((Path(__file__).parents[1] / "data" / "wrong_queries.toml").read_text(encoding="utf-8"))
RIGHT = [
    "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours",
    """PATTERN SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match(a[], b) { [symbol] AND a[1].volume > 1000
       AND a[i].price > avg(a[..i-1].price) AND b.volume < 80% * a[a.LEN].volume } WITHIN 1 hour""",
    "PATTERN A a",
    "PATTERN (A a) RETURN *",
    "PATTERN SEQ(A a, NOT B b, C+ c) WHERE partition_contiguity(a, c) AND [x, `y z`]\nRETURN a, c[].x AS xs",
    "PATTERN SEQ(~(N n), A a, B b, ~(M m)) WHERE n.x = a.x AND m.x <> b.x WITHIN 500 -- both ends",
    "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < 5 minutes AND (a.x = 1 OR NOT b.flag) /* two */ WITHIN 2.5 days",
    "PATTERN SEQ(A a, B b) WHERE a.name LIKE 'it''s%' AND b.name IN ('x', 'y', :name) AND a.x BETWEEN -1 AND +1e3",
    "PATTERN SEQ(A a, B b) WHERE a.x IS NOT NULL AND b.x IS NULL AND a.x % 5 = .5 AND b.x NOT IN (1, 2.0, NULL)",
    "PATTERN A+ a[] WHERE a.LEN >= 3 AND sum(a[].x) / count(a[].x) > :limit AND a[i].x > a[i-1].x + 18446744073709551615",
    "PATTERN SEQ(A a, B b) RETURN a.x, b.x AS `b x`, abs(round(a.x - b.x, 2)) AS d, coalesce(a.y, 'none') AS y, a",
    "PATTERN SEQ(`from` from, `価格` 価格, SEQ seq) WHERE from.`to` = 価格.価格 AND seq.type = TRUE",
]
SEEDS = [*RIGHT, *(case["text"] for case in WRONG["case"])]
PIECES = """PATTERN SEQ ( ) [ ] { } , . .. : + - * / % ~ NOT WHERE WITHIN RETURN AND OR IN BETWEEN IS NULL LIKE TRUE AS
    skip_till_next_match strict_contiguity a b a.x a[] a[i] a[i-1] a[1] a[a.LEN] .LEN a[..i-1].x avg( max( abs( frob(
    1 0 -1 1.5 80% 1e9 1e999 99999999999999999999 'it' ' `n` ` :p 5 minutes minuets <> = == != <= === && ; " ? ! $p @
    /* */ -- # \\ é 価 🙂 \u00a0 \u202e \x00 \ud800 \u0301 \ufeff \r \n SELECT""".split(" ")
LETTERS = [
    chr(n)
    for n in (0, 9, 10, 13, 27, 34, 39, 45, 46, 92, 96, 127, 160, 0x301, 0x2028, 0x202E, 0xD800, 0x1F642)
]


def outcome(text, make=None):
    """The query or the error, made three times at most: a busy machine is no slow parser."""
    params = dict.fromkeys(re.findall(r":(\w+)", text), 5)
    budget = max(SOON, SOON_PER_SIGN * len(text))
    for _ in range(3):
        start = time.perf_counter()
        try:
            found = parse(text, params) if make is None else make(text)
        except ag.QueryError as error:
            found = error
        if time.perf_counter() - start < budget:
            return found
    raise AssertionError(f"{len(text)} characters took longer than {budget} s")


def check(text):
    found = outcome(text)
    if isinstance(found, ag.QueryError):
        check_error(found, text)
    else:
        printed = text_of_pattern(found)
        if len(printed) <= MAX_LENGTH:  # what is quoted is a little longer
            assert parse(printed, dict.fromkeys(re.findall(r":(\w+)", text), 5)) == found
    return found


def check_error(error, text):
    assert str(error)
    for said in (error.message, error.hint or ""):
        assert all(c.isprintable() or c in "\u3000\u00a0" for c in said), said
        assert len(said) <= 2000
    if error.line is None:
        assert error.column is None
        return
    lines = text.split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert error.span.start <= error.span.end <= len(text)
    shown = str(error).split("\n")
    assert len(shown) == (4 if error.hint else 3)
    assert set(shown[2]) <= {" ", "^"}
    assert "^" in shown[2]


# ------------------------------------------------------------------ how texts are spoilt


def change_a_sign(rng, text):
    at = rng.randrange(len(text) + 1)
    sign = rng.choice([rng.choice(LETTERS), chr(rng.randrange(32, 127)), chr(rng.randrange(0x110000)), ""])
    return text[:at] + sign + text[at + rng.randrange(2) :]


def change_a_token(rng, text):
    pieces = split(text)
    at = rng.randrange(len(pieces))
    match rng.randrange(4):
        case 0:
            del pieces[at]
        case 1:
            pieces.insert(at, rng.choice(PIECES))
        case 2:
            pieces[at] = rng.choice(PIECES)
        case 3:
            pieces.insert(rng.randrange(len(pieces) + 1), pieces[at])
    return rng.choice([" ", " ", ""]).join(pieces)


def swap_tokens(rng, text):
    pieces = split(text)
    one, two = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    pieces[one], pieces[two] = pieces[two], pieces[one]
    return " ".join(pieces)


def cut(rng, text):
    one, two = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    return rng.choice([text[:one], text[one:], text[:one] + text[two:], text[one:two]])


def splice(rng, text):
    other = rng.choice(SEEDS)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def repeat(rng, text):
    one, two = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    return text[:two] + text[one:two] * rng.randrange(1, 4) + text[two:]


def nonsense(rng, _text):
    return " ".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 30)))


def split(text):
    try:
        return [str(t) for t in tokens(text)] or ["PATTERN"]
    except ag.QueryError:
        return text.split() or ["PATTERN"]


SPOILT = [change_a_sign, change_a_token, swap_tokens, cut, splice, repeat, nonsense]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda f: f.__name__)
def test_a_spoilt_text_is_a_query_or_a_query_error(spoil):
    rng = random.Random(spoil.__name__)
    kinds = set()
    for number in range(CASES):
        text = RIGHT[number % len(RIGHT)] if number % 2 else rng.choice(SEEDS)
        for _ in range(rng.choice([1, 1, 2, 4])):
            text = spoil(rng, text)
        kinds.add(type(check(text)).__name__)
    assert kinds <= {"Pattern", "QueryError"}
    assert "QueryError" in kinds


@pytest.mark.parametrize("text", SEEDS)
def test_a_seed_cut_off_anywhere_is_a_query_or_a_query_error(text):
    for end in range(0, len(text), 1 if text in RIGHT else 7):
        check(text[:end])


def test_an_expression_by_itself_is_an_expression_or_a_query_error():
    rng = random.Random("expression")
    for _ in range(CASES):
        text = change_a_token(rng, rng.choice(RIGHT).partition("WHERE ")[2] or "a.x > 1")
        found = outcome(text, lambda t: parse_expression(t, dict.fromkeys(re.findall(r":(\w+)", t), 5)))
        if isinstance(found, ag.QueryError):
            check_error(found, text)


REPEATED = [
    ("(", ")"), ("[", "]"), ("{", "}"), ("NOT ", ""), ("- ", ""), ("+ ", ""), ("~", ""), ("a.x + ", "a.x"), ("a.", "x"),
    ("abs(", ")"), ("sum(", ")"), ("a[", "]"), ("a[i-", "1]"), ("a.x IN (", ")"), ("a.x = ", "1"), ("a.x % ", "1"),
    ("a.x BETWEEN ", "1"), ("a.x AND ", "a.x"), ("a.x OR ", "a.x"), ("1 ", ""), ("'", ""), ("''", "'"), ("`", ""), ("-", ""),
    ("/*", "*/"), ("/* ", ""), ("\n", ""), (" ", ""), (",", ""), ("a,", "a"), ("a", ""), ("9", ""), ("9", "%"), ("é", ""), (".", ""),
    ("\u0301", ""), (":p ", ""), ("[x] AND ", "[x]"), ("strict_contiguity(a) AND ", "a.x"), ("PATTERN ", ""), ("a.x IS NOT ", "NULL"),
    ("CASE ", ""), ("5 minuets ", ""), ("frob(", ")"), ("1e", "9"), ("80%", ""), ("a.x LIKE ", "'%'"),
]  # fmt: skip


@pytest.mark.parametrize("times", [3, 99, 101, 2000])
@pytest.mark.parametrize(("opening", "closing"), REPEATED, ids=json.dumps)
def test_what_is_nested_or_repeated_is_a_query_or_a_query_error(opening, closing, times):
    inside = opening * times + "a.x" + closing * times
    check(f"PATTERN A a WHERE {inside}")
    check(f"PATTERN A+ a[] WHERE a[i].x > {inside} RETURN a")
    check(f"PATTERN A a RETURN {inside} AS y")
    check(f"PATTERN SEQ({inside}")
    check(inside)


@pytest.mark.parametrize(
    "line",
    ["a.x = 1 AND ", "a.x + ", "(", "NOT ", "a.x = 'it''s' OR ", "é", "'", "\n", "-- ", "9", "a.x IN (1, "],
)
def test_texts_up_to_the_limit_take_time_in_proportion(line):
    text = "PATTERN A a WHERE " + line * (MAX_LENGTH // len(line))
    check(text[:MAX_LENGTH])
    assert check(text[:MAX_LENGTH] + " " * len(line)).message.startswith("the query has ")


# ------------------------------------------------------------------ JSON


def check_json(text):
    found = outcome(text, ag.from_json)
    if isinstance(found, ag.QueryError):
        assert str(found)
        assert all(c.isprintable() or c in "\u3000\u00a0" for c in found.message + (found.hint or ""))
    else:
        assert ag.from_json(found.to_json()) == found


JSON_SEEDS = [
    ag.sase(RIGHT[0]).to_json(),
    ag.sase("PATTERN A a WHERE a.x IN (:v)", v=[1, 2.5, "x", b"\0", None, True]).to_json(),
    ag.sase("PATTERN A a WHERE a.x > :v AND a.y < :w", v=float("nan"), w=10**19).to_json(),
]
VALUES = [
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    "",
    "x",
    "\ud800",
    [],
    [[]],
    [1, [2]],
    {},
    {"float": "nan"},
]
VALUES += [{kind: v} for kind in ("datetime", "date", "microseconds", "decimal", "float", "bytes", "x")
           for v in (None, 5, "5", "nan", "2026-01-31", "2026-01-31T00:00:00+23:59", 10**30, [], {}, "é", "1" * 5000)]  # fmt: skip


def test_spoilt_json_is_a_query_or_a_query_error():
    rng = random.Random("json")
    for _ in range(CASES):
        check_json(
            change_a_sign(
                rng, cut(rng, rng.choice(JSON_SEEDS)) if rng.random() < 0.3 else rng.choice(JSON_SEEDS)
            )
        )


@pytest.mark.parametrize("value", VALUES, ids=lambda v: json.dumps(v)[:30])
def test_json_with_another_value_anywhere_is_a_query_or_a_query_error(value):
    for seed in JSON_SEEDS:
        data = json.loads(seed)
        for field in [*data, "more"]:
            check_json(json.dumps({**data, field: value}))
        for name in [*data["params"], "more"]:
            check_json(json.dumps({**data, "params": {**data["params"], name: value}}))
            check_json(json.dumps({**data, "params": {**data["params"], name: [value, value]}}))
        check_json(json.dumps({k: v for k, v in data.items() if k != "params"}))
    check_json(json.dumps(value))


@pytest.mark.parametrize("depth", [10, 300, 480, 900, 2000, 100_000])
def test_json_nested_deep_is_a_query_error(depth):
    head = json.dumps({"augury": 1, "language": "sase", "text": "PATTERN A a WHERE a.x = :v"})[:-1]
    for opening, closing in (("[", "]"), ('{"float": ', "}")):
        text = f'{head}, "params": {{"v": {opening * depth}1{closing * depth}}}}}'
        with pytest.raises(ag.QueryError):
            ag.from_json(text)


@pytest.mark.parametrize("given", [None, 5, b"\xff", b"{}", {}, object], ids=repr)
def test_what_is_no_json_text_is_a_query_error(given):
    with pytest.raises(ag.QueryError, match=r"this is no query in JSON|this JSON holds no query"):
        ag.from_json(given)
