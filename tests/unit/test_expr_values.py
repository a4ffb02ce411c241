"""What expressions mean, as tables; every example is read in all three ways."""
# ruff: noqa: DTZ001  # timestamps without a zone are among what is tested

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from readings import bits, read

NAN, INF = math.nan, math.inf
MIN, MAX = -(2**63), 2**63 - 1


def same(found, expected):
    assert [bits(v) for v in found] == [bits(v) for v in expected]


def booleans(*values):
    return pa.array(values, pa.bool_())


TRUTH = [True, False, None]


@pytest.mark.parametrize("p", TRUTH)
@pytest.mark.parametrize("q", TRUTH)
def test_logic_has_three_values(p, q):
    def in_sql(word):
        if word == "AND":
            return False if False in (p, q) else None if None in (p, q) else True
        return True if True in (p, q) else None if None in (p, q) else False

    columns = {"p": booleans(p), "q": booleans(q)}
    for word in ("AND", "OR"):
        assert read(f"a.p {word} a.q", **columns) == [in_sql(word)]
        negated = in_sql(word)
        assert read(f"NOT (a.p {word} a.q)", **columns) == [None if negated is None else not negated]
        assert read(f"(a.p {word} a.q) IS NULL", **columns) == [in_sql(word) is None]
    assert read("NOT a.p", **columns) == [None if p is None else not p]
    assert read("a.p = a.q", **columns) == [None if None in (p, q) else p == q]
    assert read("a.p < a.q", **columns) == [None if None in (p, q) else p < q]


CONSTANTS = [
    ("NULL = NULL", None),
    ("NULL IS NULL", True),
    ("NULL AND FALSE", False),
    ("NULL OR TRUE", True),
    ("NULL IN (1, 2)", None),
    ("1 + NULL", None),
    ("-NULL", None),
    ("coalesce(NULL, NULL)", None),
    ("length(NULL)", None),
    ("upper(NULL) LIKE 'a'", None),
    ("1 = 1.0", True),
    ("80% = 0.8", True),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("-7.5 % 2", -1.5),
    ("7 / 2", 3.5),
    ("1 / 0", None),
    ("0.0 / 0", None),
    ("1 % 0", None),
    ("1.5 % 0.0", None),
    ("9223372036854775807 + 1", None),
    ("9223372036854775807 + 0", MAX),
    ("-9223372036854775808 - 1", None),
    ("-(-9223372036854775808)", None),
    ("abs(-9223372036854775808)", None),
    ("-9223372036854775808 % -1", 0),
    ("-9223372036854775808 * -1", None),
    ("4611686018427387904 * 2", None),
    ("4611686018427387904 * -2", MIN),
    ("9223372036854775808 + 0", None),
    ("9223372036854775807 < 9223372036854775808", True),
    ("9007199254740993 = 9007199254740992.0", True),  # integers widen to doubles
    ("9007199254740993 = 9007199254740992", False),
    ("round(2.675, 2)", 2.68),
    ("round(-2.5)", -3.0),
    ("round(2.5)", 3.0),
    ("round(0.49999999999999994)", 0.0),
    ("round(1.005, 2)", 1.01),
    ("round(-0.4)", -0.0),
    ("round(150, -2)", 200),
    ("round(-149, -2)", -100),
    ("round(1250.0, -2)", 1300.0),
    ("round(9223372036854775807, -1)", None),
    ("round(-9223372036854775808, -1)", None),
    ("round(9223372036854775807, -18)", 9 * 10**18),
    ("round(9223372036854775807, -19 + 1)", "the number of digits"),
    ("ceil(2.1)", 3),
    ("floor(-2.1)", -3),
    ("ceil(1E300)", None),
    ("floor(9223372036854775807.0)", None),
    ("ceil(-9223372036854775808.0)", MIN),
    ("sqrt(-1) <> sqrt(-1)", True),
    ("ln(0)", None),
    ("ln(-1)", None),
    ("exp(1000)", INF),
    ("exp(0)", 1.0),
    ("pow(2, 10)", 1024.0),
    ("pow(10, 400)", INF),
    ("pow(-10, 401)", -INF),
    ("pow(0, -1)", INF),
    ("pow(-8, 1 / 3) = 0", False),
    ("pow(0, 0)", 1.0),
    ("least(3, 1, NULL, 2)", 1),
    ("greatest(1, 2.5)", 2.5),
    ("greatest(NULL, 'b', 'a')", "b"),
    ("coalesce(NULL, 2, 3)", 2),
    ("length('😀ß')", 2),
    ("upper('straße')", "STRASSE"),
    ("lower('İ')", "i̇"),
    ("lower(upper('ß'))", "ss"),
    ("'a' < 'B'", False),
    ("'\uffff' < '😀'", True),  # by code point: UTF-16 has it the other way round
    ("'' < 'a'", True),
    ("5 minutes", 300_000_000),
    ("2 * 90 seconds = 3 minutes", True),
    ("1 hour / 1 minute", 60.0),
    ("1 hour / 0 minutes", None),
    ("abs(1 minute - 2 minutes)", 60_000_000),
    ("9223372036854775807 microseconds + 1 microsecond", None),
    ("2 BETWEEN 1 AND 3", True),
    ("NOT 2 BETWEEN NULL AND 1", True),
    ("2 BETWEEN NULL AND 3", None),
    ("1 IN (2, NULL)", None),
    ("1 IN (1, NULL)", True),
    ("NOT 1 IN (1, NULL)", False),
    ("1 IN (1.0, 2)", True),
    ("'b' IN ('a', 'b')", True),
]


@pytest.mark.parametrize(("text", "expected"), CONSTANTS)
def test_constants(text, expected):
    if isinstance(expected, str) and "digits" in expected:
        with pytest.raises(Exception, match=expected):
            read(text)
    else:
        same(read(text), [expected])


LIKES = [
    ("abc", "abc", True),
    ("abc", "ab", False),
    ("", "", True),
    ("", "%", True),
    ("", "_", False),
    ("a\nb", "a%b", True),
    ("a\nb", "a_b", True),
    ("😀", "_", True),
    ("ß", "__", False),
    ("a%b", "a\\%b", True),
    ("axb", "a\\%b", False),
    ("a_b", "a\\_b", True),
    ("a\\b", "a\\\\b", True),
    ("abcabc", "%bc", True),
    ("abcab", "%bc", False),
    ("abcabc", "ab%bc", True),
    ("abc", "ab%bc", False),
    ("xaybz", "%a%b%", True),
    ("xbya", "%a%b%", False),
    ("aaab", "%a_b", True),
    ("日本語", "日%語", True),
    ("日本語", "_本_", True),
    ("a.c", "a.c", True),
    ("abc", "a.c", False),
    ("ABC", "abc", False),
    ("abc", "%%%", True),
    ("a", "a%%", True),
    ("a" * 2000, "%a" * 30 + "%b", False),  # no pattern is slow
    (None, "%", None),
]


@pytest.mark.parametrize(("value", "pattern", "expected"), LIKES)
def test_like_from_the_query_and_from_the_data(value, pattern, expected):
    texts = pa.array([value, "other"], pa.string())
    quoted = pattern.replace("'", "''")
    assert read(f"a.s LIKE '{quoted}'", s=texts)[0] is expected
    assert read("a.s LIKE a.p", s=texts, p=[pattern, "o%r"]) == [expected, True]
    coded = texts.dictionary_encode()
    assert read(f"a.s LIKE '{quoted}'", s=coded)[0] is expected


@pytest.mark.parametrize("pattern", ["\\", "a\\", "\\a", "%\\x"])
def test_a_pattern_in_the_data_that_is_none_is_unknown(pattern):
    assert read("a.s LIKE a.p", s=["a", "b"], p=[pattern, "b"]) == [None, True]


def columns_of(arrow, *values):
    return pa.array(values, arrow)


TABLES = [
    # NaN compares as in IEEE 754, and is above all for least and greatest
    ("a.x = a.x", {"x": [NAN, 1.0]}, [False, True]),
    ("a.x <> a.x", {"x": [NAN, 1.0]}, [True, False]),
    ("NOT a.x < 1", {"x": [NAN, 0.0]}, [True, False]),
    ("a.x IN (1, 2)", {"x": [NAN, 2.0]}, [False, True]),
    ("least(a.x, 1.0)", {"x": [NAN, -INF]}, [1.0, -INF]),
    ("greatest(a.x, 1.0)", {"x": [NAN, INF]}, [NAN, INF]),
    ("least(a.x, 0)", {"x": [-0.0, None]}, [-0.0, 0.0]),
    ("a.x % 2", {"x": [INF, NAN, -0.0]}, [NAN, NAN, -0.0]),
    ("5 % a.x", {"x": [INF, -INF, -0.0]}, [5.0, 5.0, None]),
    ("1 / a.x", {"x": [INF, -0.0, 5e-324]}, [0.0, None, INF]),
    ("ceil(a.x)", {"x": [NAN, INF, -0.5]}, [None, None, 0]),
    ("round(a.x, 1)", {"x": [NAN, -INF, 0.25]}, [NAN, -INF, 0.3]),
    # narrow integers are computed in 64 bits
    ("a.i + 1", {"i": columns_of(pa.int8(), 127, None)}, [128, None]),
    ("-a.i", {"i": columns_of(pa.int8(), -128)}, [128]),
    ("a.i * a.i", {"i": columns_of(pa.uint32(), 2**32 - 1, 3_037_000_500)}, [None, None]),
    ("a.i * a.i", {"i": [3_037_000_499, -3_037_000_500]}, [3_037_000_499**2, None]),
    # uint64
    ("a.u = 18446744073709551615", {"u": columns_of(pa.uint64(), 2**64 - 1, 0)}, [True, False]),
    ("a.u > a.i", {"u": columns_of(pa.uint64(), 2**63, 0), "i": [MAX, -1]}, [True, True]),
    ("a.u > a.i", {"u": columns_of(pa.uint64(), 2**53), "i": [2**53 + 1]}, [False]),
    ("a.i IN (5, 18446744073709551615)", {"i": columns_of(pa.uint64(), 2**64 - 1, 6)}, [True, False]),
    ("a.u + 1", {"u": columns_of(pa.uint64(), 2**63, 2**63 - 2)}, [None, MAX]),
    ("-a.u", {"u": columns_of(pa.uint64(), 2**63, 2**63 - 1)}, [None, -MAX]),
    ("abs(a.u)", {"u": columns_of(pa.uint64(), 2**64 - 1)}, [2**64 - 1]),
    ("a.u / 1", {"u": columns_of(pa.uint64(), 2**64 - 1)}, [2.0**64]),
    ("greatest(a.u, a.u)", {"u": columns_of(pa.uint64(), 2**64 - 1, None)}, [2**64 - 1, None]),
    ("greatest(a.u, 1)", {"u": columns_of(pa.uint64(), 2**64 - 1, None)}, [2**64 - 1, 1]),
    ("coalesce(a.u, 0)", {"u": columns_of(pa.uint64(), 2**64 - 1, None)}, [2**64 - 1, 0]),
    ("least(a.u, -1)", {"u": columns_of(pa.uint64(), 2**64 - 1, 5)}, [-1, -1]),
    ("a.u < 0.5", {"u": columns_of(pa.uint64(), 0, 1)}, [True, False]),
    # decimals are compared exactly and computed as doubles
    ("a.d = 0.1", {"d": [Decimal("0.1"), Decimal("0.2")]}, [True, False]),
    ("a.d = a.x", {"d": [Decimal("0.1")], "x": [0.1]}, [True]),
    ("a.d = 0.10000000000000001", {"d": [Decimal("0.10")]}, [False]),
    ("a.d = 12345678901234567890.5", {"d": [Decimal("12345678901234567890.5")]}, [True]),
    ("a.d < 12345678901234567891", {"d": [Decimal("12345678901234567890.5")]}, [True]),
    ("a.d > a.i", {"d": [Decimal("9223372036854775807.5"), Decimal("0.5")], "i": [MAX, 1]}, [True, False]),
    ("a.d >= a.i", {"d": [Decimal("-0.5"), Decimal("1.0")], "i": [0, 1]}, [False, True]),
    ("a.d < a.u", {"d": [Decimal("-0.5")], "u": columns_of(pa.uint64(), 0)}, [True]),
    ("a.d = a.u", {"d": [Decimal(2**64)], "u": columns_of(pa.uint64(), 2**64 - 1)}, [False]),
    ("a.i < a.d", {"d": columns_of(pa.decimal256(76, 0), 10**75), "i": [MAX]}, [True]),
    ("a.i < 1.5", {"i": [1, 2]}, [True, False]),
    ("a.d IN (1, 2.50, 1E+60)", {"d": [Decimal("2.5"), Decimal("1.0")]}, [True, True]),
    ("a.d > 1E-300", {"d": [Decimal("0.0"), Decimal("0.1")]}, [False, True]),
    ("a.d < a.e", {"d": [Decimal("1.20")], "e": columns_of(pa.decimal256(76, 70), Decimal("1.201"))}, [True]),
    (
        "a.d < a.e",
        {
            "d": columns_of(pa.decimal256(76, 0), 10**75, None),
            "e": columns_of(pa.decimal256(76, 70), *[Decimal("1.201")] * 2),
        },
        [False, None],
    ),
    ("a.d * 3", {"d": [Decimal("0.1")]}, [0.1 * 3]),
    ("a.d + 0", {"d": columns_of(pa.decimal128(38, 37), Decimal("0.3"))}, [0.3]),
    ("a.d + 0", {"d": columns_of(pa.decimal256(76, 0), 10**75 + 1)}, [1e75]),
    ("a.d + 0", {"d": columns_of(pa.decimal128(38, 0), 2**53 + 1, -(2**63))}, [2.0**53, -(2.0**63)]),
    # dates and timestamps
    ("a.t = '2026-01-31'", {"t": [dt.date(2026, 1, 31), None]}, [True, None]),
    ("a.t < '2026-01-31 00:00:01'", {"t": [dt.date(2026, 1, 31)]}, [True]),
    ("a.t > '2026-01-31T12:00:00+02:00'", {"t": [dt.datetime(2026, 1, 31, 10, 0, 1)]}, [True]),
    ("a.t = a.d", {"t": [dt.datetime(1970, 1, 2)], "d": [dt.date(1970, 1, 2)]}, [True]),
    ("a.t - a.d", {"t": [dt.datetime(1970, 1, 2, 0, 0, 1)], "d": [dt.date(1970, 1, 2)]}, [1_000_000]),
    ("a.t - a.t < 1 microsecond", {"t": [dt.datetime(1970, 1, 2)]}, [True]),
    ("a.d + 1 day = '1970-01-03'", {"d": [dt.date(1970, 1, 2)]}, [True]),
    ("a.d - 12 hours", {"d": [dt.date(1970, 1, 2)]}, [43_200_000_000]),
    ("a.t = '1970-01-01'", {"t": columns_of(pa.timestamp("ns"), 999)}, [True]),
    ("a.t < '1970-01-01'", {"t": pa.array([-1]).view(pa.timestamp("ns"))}, [True]),
    ("a.t IS NULL", {"t": pa.array([MAX]).view(pa.timestamp("s"))}, [True]),
    (
        "a.t - a.u",
        {"t": pa.array([MIN]).view(pa.timestamp("us")), "u": pa.array([1]).view(pa.timestamp("us"))},
        [None],
    ),
    ("a.t IN ('1970-01-02', '1970-01-03')", {"t": [dt.date(1970, 1, 3)]}, [True]),
    ("a.t BETWEEN '1970-01-01' AND '1970-01-02'", {"t": [dt.date(1970, 1, 3)]}, [False]),
    ("greatest(a.d, a.t)", {"d": [dt.date(1970, 1, 2)], "t": [dt.datetime(1970, 1, 1)]}, [86_400_000_000]),
    ("a.t < a.u", {"t": [dt.time(1)], "u": [dt.time(2)]}, [True]),
    # strings and binaries
    ("a.s = 'ß'", {"s": pa.array(["ß", "ss", None]).dictionary_encode()}, [True, False, None]),
    ("upper(a.s) = 'SS'", {"s": ["ß", "ss", None]}, [True, True, None]),
    ("a.s >= a.r", {"s": ["a", "é"], "r": ["", "z"]}, [True, True]),
    ("a.b < a.c", {"b": [b"\x7f"], "c": [b"\x80"]}, [True]),
    ("upper(a.s)", {"s": pa.array(["xyz", "ab", None])[1:]}, ["AB", None]),
    (
        "lower(a.s)",
        {"s": pa.DictionaryArray.from_arrays([1, 0], pa.array(["x", "AB", "C"])[1:])},
        ["c", "ab"],
    ),
    ("length(a.b)", {"b": ["ß".encode(), None]}, [2, None]),
    ("greatest(a.s, a.r)", {"s": ["a", None], "r": ["b", None]}, ["b", None]),
    ("coalesce(a.s, a.r)", {"s": columns_of(pa.large_string(), None), "r": ["b"]}, ["b"]),
    # lists
    ("length(a.l)", {"l": [[1, None], [], None]}, [2, 0, None]),
    (
        "round(corr(a.l, a.m), 12)",
        {"l": [[1, 2, 3], [1], None, [1, 1]], "m": [[2, 4, 6], [1], [1], [1, 2]]},
        [1.0, None, None, None],
    ),
    ("round(corr(a.l, a.m), 12)", {"l": [[1.0, None, 3.0, 2.0]], "m": [[3.0, 7.0, 1.0, 2.0]]}, [-1.0]),
    ("corr(a.l, a.m)", {"l": [[1.0, 2.0]], "m": [[1.0]]}, [None]),
    ("a.l IS NOT NULL", {"l": [[1], None]}, [True, False]),
    ("a.l IS NULL", {"l": [{"x": 1}, None]}, [False, True]),
]


@pytest.mark.parametrize(("text", "columns", "expected"), TABLES)
def test_columns(text, columns, expected):
    same(read(text, **columns), expected)


PARAMETERS = [
    ("a.x = :p", {"p": 0.1}, {"x": [Decimal("0.1")]}, [True]),
    ("a.x = :p", {"p": Decimal("0.1")}, {"x": [0.1]}, [True]),
    ("a.x < :p", {"p": INF}, {"x": [1e308]}, [True]),
    ("a.x IN (:p)", {"p": [1, None, 3]}, {"x": [1, 2]}, [True, None]),
    ("a.x = :p", {"p": 2**64 - 1}, {"x": columns_of(pa.uint64(), 2**64 - 1)}, [True]),
    ("a.x = :p", {"p": b"\xff"}, {"x": [b"\xff"]}, [True]),
    ("a.x = :p", {"p": dt.date(1970, 1, 2)}, {"x": [dt.datetime(1970, 1, 2)]}, [True]),
    (
        "a.x = :p",
        {"p": dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))},
        {"x": [dt.date(1970, 1, 1)]},
        [True],
    ),
    ("a.x < :p", {"p": dt.timedelta(milliseconds=1)}, {"x": [dt.timedelta(0)]}, [True]),
    (
        "coalesce(a.x, :p)",
        {"p": Decimal("1.25")},
        {"x": columns_of(pa.decimal128(3, 1), None)},
        [Decimal("1.25")],
    ),
]


@pytest.mark.parametrize(("text", "params", "columns", "expected"), PARAMETERS)
def test_parameters(text, params, columns, expected):
    same(read(text, params, **columns), expected)


def test_a_batch_may_be_empty():
    assert (
        read("a.x > 1 AND upper(a.s) = 'A'", x=pa.array([], pa.float64()), s=pa.array([], pa.string())) == []
    )
    assert read("1 = 1", x=pa.array([], pa.float64())) == []
