"""What Hypothesis makes: columns of every Arrow type with the values that hurt, and well-typed expressions.

Values are mostly sampled from short pools of extremes, because errors live there and because equal values
must meet; an expression is built as the parser builds it, so that it can be printed and parsed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from augury.expr import types
from augury.expr.tree import At, Attr, Between, Binary, Call, In, IsNull, Like, Literal, Logic, Unary
from augury.expr.types import Kind

MIN, MAX = -(2**63), 2**63 - 1

_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -2.5,
    2.675,
    0.1,
    0.3,
    1e16,
    9007199254740993.0,
    2.0**63,
    -(2.0**63),
    1e300,
]
FLOATS = [*_FLOATS, -1e300, 5e-324, 710.0, math.inf, -math.inf, *[math.nan] * 5]
TEXTS = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "aß",
    "ß",
    "SS",
    "İ",
    "ı",
    "é",
    "日本",
    "😀",
    "a😀b",
    "\uffff",
    "%",
    "_",
    "\\",
    "a%",
]
TEXTS += ["%a", "_b", "a\nb", "it's", "\\%", "a\\", "2026-01-31", "abcabc", "\0", "DŽ"]
BYTES = [b"", b"a", b"ab", b"\0", b"\xff", b"\x80a", "ß".encode()]
DECIMALS = ["0", "1", "-1", "0.1", "0.10", "0.3", "2.5", "-2.5", "999.99", "-999.99", "0.01"]
LONG_DECIMALS = [*DECIMALS, "12345678901234567.891", "-9223372036854775808", "9223372036854775807.5", "1e-10"]
SECONDS = [0, 1, -1, 59, 86_399, 86_400, -86_400, 1_000_000_007, 253_402_300_799]
LISTS = [[], [1.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0, 4.0], [0.5, None, 3.0], [None, None], [3.0, 3.0, 3.0]]
LISTS += [[math.nan, 1.0, 2.0], [math.inf, 1.0, 2.0], [1e300, -1e300, 5.0], [-0.0, 0.0, 1.0]]


def _integers(arrow):
    bits = arrow.bit_width
    low, high = (
        (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if pa.types.is_signed_integer(arrow) else (0, 2**bits - 1)
    )
    pool = [
        low,
        low + 1,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        10,
        100,
        2**31,
        2**53,
        2**53 + 1,
        2**63 - 1,
        high - 1,
        high,
    ]
    return [v for v in pool if low <= v <= high]


def _ticks(unit):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    pool = [s * per_second for s in SECONDS] + [s * per_second + 1 for s in SECONDS] + [MIN, MAX]
    return [v for v in pool if MIN <= v <= MAX]


def _times(arrow):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[arrow.unit]
    return [s * per_second for s in (0, 1, 59, 3600, 86_399)] + [86_400 * per_second - 1]


_UNITS = ("s", "ms", "us", "ns")
ARROW_TYPES = {
    Kind.BOOL: [pa.bool_()],
    Kind.INT: [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()],
    Kind.UINT: [pa.uint64()],
    Kind.FLOAT: [pa.float16(), pa.float32(), pa.float64()],
    Kind.DECIMAL: [
        pa.decimal32(5, 2),
        pa.decimal64(15, 3),
        pa.decimal128(38, 10),
        pa.decimal128(5, -2),
        pa.decimal256(50, 20),
    ],
    Kind.STRING: [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    Kind.BINARY: [pa.binary(), pa.large_binary(), pa.binary_view()],
    Kind.DATE: [pa.date32(), pa.date64()],
    Kind.TIMESTAMP: [pa.timestamp(u, tz) for u in _UNITS for tz in (None, "UTC", "Europe/Berlin")],
    Kind.TIME: [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")],
    Kind.DURATION: [pa.duration(u) for u in _UNITS],
    Kind.LIST: [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int16())],
}


def _stored_pool(arrow):
    """The values of a type as Python values or stored integers, and whether they are the latter."""
    t = pa.types
    if t.is_boolean(arrow):
        return [True, False], None
    if t.is_integer(arrow):
        return _integers(arrow), None
    if t.is_floating(arrow):
        with np.errstate(over="ignore"):
            return [arrow.to_pandas_dtype()(v) for v in FLOATS], None
    if t.is_decimal(arrow):
        limit = Decimal(10) ** (arrow.precision - arrow.scale)
        steps = Fraction(10) ** arrow.scale
        pool = map(Decimal, LONG_DECIMALS)
        return [v for v in pool if abs(v) < limit and (steps * Fraction(v)).denominator == 1], None
    if t.is_timestamp(arrow) or t.is_duration(arrow):
        return _ticks(arrow.unit), pa.int64()
    if t.is_time(arrow):
        return _times(arrow), pa.int32() if t.is_time32(arrow) else pa.int64()
    if t.is_date32(arrow):
        return [0, 1, -1, 20_000, -(2**31), 2**31 - 1], pa.int32()
    if t.is_date64(arrow):
        return [0, 86_400_000, -86_400_000, MAX // 86_400_000 * 86_400_000], pa.int64()
    if t.is_list(arrow) or t.is_large_list(arrow):
        if t.is_integer(arrow.value_type):
            return [[None if v is None or not abs(v) < 1e4 else int(v) for v in one] for one in LISTS], None
        return LISTS, None
    return (BYTES if types.from_arrow(arrow).kind is Kind.BINARY else TEXTS), None


_POOLS = {arrow: _stored_pool(arrow) for group in ARROW_TYPES.values() for arrow in group}


@st.composite
def arrays(draw, arrow, rows):
    """An array of a type: nulls or none, perhaps a slice of a longer one."""
    pool, stored = _POOLS[arrow]
    choices = st.sampled_from([None, *pool] if draw(st.booleans()) else pool)
    ahead = draw(st.sampled_from([0, 0, 2]))
    found = draw(st.lists(choices, min_size=rows + ahead, max_size=rows + ahead))
    if stored is not None:
        return pa.array(found, stored).view(arrow)[ahead:]
    if pa.types.is_decimal(arrow) and arrow.scale < 0:
        return pa.array(found, pa.decimal128(38, 0)).cast(arrow)[ahead:]
    if pa.types.is_float16(arrow):
        return pa.array(found, pa.float16())[ahead:]
    if pa.types.is_floating(arrow):
        return pa.array([None if v is None else float(v) for v in found], pa.float64()).cast(arrow)[ahead:]
    return pa.array(found, arrow)[ahead:]


_USUAL = [Kind.FLOAT, Kind.FLOAT, Kind.INT, Kind.STRING, Kind.BOOL]
ALL_TYPES = st.sampled_from([arrow for group in ARROW_TYPES.values() for arrow in group])


@st.composite
def schemas(draw, size=8):
    """Names and types: every kind has its turn, the types of one kind too."""
    kinds = draw(st.lists(st.sampled_from([*ARROW_TYPES, *_USUAL]), min_size=3, max_size=size))
    return {
        f"{kind.name.lower()}{i}": draw(st.sampled_from(ARROW_TYPES[kind])) for i, kind in enumerate(kinds)
    }


@st.composite
def tables(draw, schema=None, min_rows=1, max_rows=6):
    schema = draw(schemas()) if schema is None else schema
    rows = draw(st.integers(min_rows, max_rows))
    return pa.table({name: draw(arrays(arrow, rows)) for name, arrow in schema.items()})


# ------------------------------------------------------------------ expressions

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
PATTERNS = [
    "",
    "%",
    "a",
    "a%",
    "%b",
    "%a%",
    "a%b",
    "_",
    "_%",
    "%\\%%",
    "\\_b",
    "%ß",
    "a_b",
    "%b%c%",
    "\\\\",
    "é",
    "%%",
]
NULL = Literal("null", None)


def number(text):
    return Literal("number", Decimal(text))


INTEGER_LITERALS = [Literal("int", v) for v in (0, 1, -1, 2, 3, 10, 127, -128, 2**53 + 1, MAX, MIN)]
NUMBER_LITERALS = [
    *INTEGER_LITERALS,
    *(Literal("int", v) for v in (2**63, 2**64 - 1)),
    *map(number, ["0.1", "0.8", "2.5", "-2.5", "1E+300", "-0.0", "0.30", "9223372036854775807.5", "1e-30"]),
    number("12345678901234567891.5"),
]
DURATION_LITERALS = [Literal("duration", v) for v in (1, 1_000_000, 3_600_000_000, 86_400_000_000, MAX)]
INSTANT_LITERALS = [
    Literal("string", v) for v in ("1970-01-01", "1970-01-02 00:00:01", "2026-01-31", "1969-12-31T23:59:59")
]
TEXT_LITERALS = [Literal("string", v) for v in TEXTS]


@dataclass
class Expressions:
    """Draws well-typed expressions over a schema; `functions` are registered ones of (number, number) -> number."""

    draw: object
    schema: dict
    functions: tuple[str, ...] = ()

    def pick(self, choices):
        return self.draw(st.sampled_from(choices))

    def attributes(self, *kinds):
        return [Attr("a", At.ONE, n) for n, t in self.schema.items() if types.from_arrow(t).kind in kinds]

    def leaf(self, attributes, literals):
        options = [*attributes, *attributes, *attributes, *literals] if attributes else [*literals]
        return self.pick([*options, NULL] if self.draw(st.integers(0, 9)) == 0 or not options else options)

    def any(self, depth):
        kinds = [self.condition, self.number, self.integer, self.text, self.instant, self.duration]
        return self.pick([*kinds, self.time, self.binary, self.decimal])(depth)

    def condition(self, depth):
        if depth <= 0:
            return self.leaf(self.attributes(Kind.BOOL), [Literal("bool", True), Literal("bool", False)])
        forms = [
            self._compare,
            self._compare,
            self._compare,
            self._logic,
            self._logic,
            self._not,
            self._in,
            self._between,
        ]
        return self.pick([*forms, self._like, self._is_null, self._choose_condition, self._same_condition])(
            depth - 1
        )

    def _operand(self):
        """What is compared with its like: a way to draw one, and constants of it."""
        return self.pick(
            [
                (self.number, NUMBER_LITERALS),
                (self.number, NUMBER_LITERALS),
                (self.decimal, [*NUMBER_LITERALS]),
                (self.integer, NUMBER_LITERALS),
                (self.text, TEXT_LITERALS),
                (self.instant, INSTANT_LITERALS),
                (self.duration, DURATION_LITERALS),
                (self.time, [NULL]),
                (self.binary, [NULL]),
            ]
        )

    def _compare(self, depth):
        make, literals = self._operand()
        left = make(depth)
        right = self.pick(literals) if self.draw(st.integers(0, 2)) == 0 else make(depth)
        if self.draw(st.booleans()):
            left, right = right, left
        if (
            all(isinstance(e, Literal) and e.kind == "string" for e in (left, right))
            and literals is INSTANT_LITERALS
        ):
            left = NULL
        return Binary(self.pick(COMPARISONS), left, right)

    def _logic(self, depth):
        args = [self.condition(depth) for _ in range(self.draw(st.integers(2, 3)))]
        return Logic(self.pick(["AND", "OR"]), tuple(args))

    def _not(self, depth):
        return Unary("NOT", self.pick([self.condition, self._compare])(depth))

    def _in(self, depth):
        make, literals = self._operand()
        count = self.draw(st.sampled_from([1, 2, 3, 12]))
        items = [self.pick([*literals, NULL]) if self.draw(st.integers(0, 9)) else NULL for _ in range(count)]
        if count == 2 and self.draw(st.booleans()):
            items[0] = make(depth)
        return In(self._not_a_text_among_instants(make(depth), items), tuple(items))

    def _between(self, depth):
        make, literals = self._operand()
        low, high = (self.pick(literals) if self.draw(st.booleans()) else make(depth) for _ in range(2))
        return Between(self._not_a_text_among_instants(make(depth), [low, high]), low, high)

    @staticmethod
    def _not_a_text_among_instants(arg, others):
        """NULL compared with texts would make of them texts, which other dates then do not meet."""
        return (
            arg if not isinstance(arg, Literal) else others[0] if not isinstance(others[0], Literal) else arg
        )

    def _like(self, depth):
        pattern = Literal("string", self.pick(PATTERNS))
        return Like(
            self.text(depth), self.text(0, literals=[pattern]) if self.draw(st.booleans()) else pattern
        )

    def _is_null(self, depth):
        options = [self.any(depth), *self.attributes(Kind.LIST)]
        return IsNull(self.pick(options), self.draw(st.booleans()))

    def _choose_condition(self, depth):
        return self._choice(self.condition, depth)

    def _same_condition(self, depth):
        return Binary(self.pick(COMPARISONS), self.condition(depth), self.condition(depth))

    def _choice(self, make, depth):
        args = tuple(make(depth) for _ in range(self.draw(st.integers(2, 3))))
        return Call(self.pick(["least", "greatest", "coalesce"]), args)

    def number(self, depth):
        if depth <= 0 or self.draw(st.integers(0, 2)) == 0:
            kinds = (Kind.INT, Kind.UINT, Kind.FLOAT, Kind.FLOAT, Kind.DECIMAL)
            return self.leaf([a for k in kinds for a in self.attributes(k)], NUMBER_LITERALS)
        forms = ["binary"] * 5 + [
            "integer",
            "integer",
            "minus",
            "call",
            "call",
            "round",
            "choice",
            "corr",
            "share",
        ]
        match self.pick([*forms, "function"] if self.functions else forms):
            case "binary":
                return Binary(
                    self.pick(["+", "-", "*", "/", "%"]), self.number(depth - 1), self.number(depth - 1)
                )
            case "integer":
                return self.integer(depth)
            case "minus":
                return Unary("-", self.number(depth - 1))
            case "call":
                return Call(self.pick(["abs", "sqrt", "ln", "exp"]), (self.number(depth - 1),))
            case "round":
                digits = Literal("int", self.draw(st.integers(-18, 18)))
                return Call("round", (self.number(depth - 1), *self.pick([(), (digits,)])))
            case "choice":
                return self._choice(self.number, depth - 1)
            case "corr" if lists := self.attributes(Kind.LIST):
                return Call("corr", (self.pick(lists), self.pick(lists)))
            case "share":
                return Binary("/", self.duration(depth - 1), self.duration(depth - 1))
            case "function":
                return Call(self.pick(self.functions), (self.number(depth - 1), self.number(depth - 1)))
        return Call("pow", (self.number(depth - 1), self.number(depth - 1)))

    def integer(self, depth):
        """An integer; one that `*` takes beside a duration."""
        if depth <= 0:
            return self.leaf(self.attributes(Kind.INT, Kind.UINT), INTEGER_LITERALS)
        match self.pick(
            ["binary", "binary", "binary", "minus", "abs", "whole", "round", "choice", "length", "list"]
        ):
            case "binary":
                return Binary(
                    self.pick(["+", "-", "*", "%"]), self.integer(depth - 1), self.integer(depth - 1)
                )
            case "minus":
                return Unary("-", self.integer(depth - 1))
            case "abs":
                return Call("abs", (self.integer(depth - 1),))
            case "whole":
                return Call(self.pick(["ceil", "floor"]), (self.number(depth - 1),))
            case "round":
                return Call(
                    "round", (self.integer(depth - 1), Literal("int", self.draw(st.integers(-18, 2))))
                )
            case "choice":
                return self._choice(self.integer, depth - 1)
            case "list" if lists := self.attributes(Kind.LIST):
                return Call("length", (self.pick(lists),))
        return Call("length", (self.text(depth - 1),))

    def decimal(self, depth):
        decimals = self.attributes(Kind.DECIMAL)
        if depth <= 0 or not decimals or self.draw(st.booleans()):
            return self.leaf(decimals, NUMBER_LITERALS)
        args = tuple(self.pick(decimals) for _ in range(2))
        return Call(self.pick(["least", "greatest", "coalesce"]), args)

    def text(self, depth, literals=TEXT_LITERALS):
        if depth <= 0:
            return self.leaf(self.attributes(Kind.STRING), literals)
        if self.draw(st.booleans()):
            return Call(self.pick(["lower", "upper"]), (self.text(depth - 1),))
        return self._choice(self.text, depth - 1) if self.draw(st.booleans()) else self.text(0)

    def instant(self, depth):
        attributes = self.attributes(Kind.DATE, Kind.TIMESTAMP)
        if depth <= 0 or not attributes:
            return self.pick(attributes) if attributes else NULL
        match self.pick(["leaf", "plus", "minus", "choice"]):
            case "plus":
                return Binary(
                    "+", *self.draw(st.permutations([self.pick(attributes), self._some_duration(depth - 1)]))
                )
            case "minus":
                return Binary("-", self.pick(attributes), self._some_duration(depth - 1))
            case "choice":
                return self._choice(self.instant, depth - 1)
        return self.instant(0)

    def _some_duration(self, depth):
        """NULL is no duration."""
        found = self.duration(depth)
        return self.pick(DURATION_LITERALS) if found == NULL or isinstance(found, Call) else found

    def duration(self, depth):
        attributes = self.attributes(Kind.DURATION)
        if depth <= 0:
            return self.pick([*attributes, *DURATION_LITERALS])
        match self.pick(["leaf", "sum", "between", "times", "minus", "abs", "choice"]):
            case "sum":
                return Binary(self.pick(["+", "-"]), self.duration(depth - 1), self.duration(depth - 1))
            case "between" if instants := self.attributes(Kind.DATE, Kind.TIMESTAMP):
                return Binary("-", self.pick(instants), self.pick(instants))
            case "times":
                whole = self.integer(depth - 1)
                factors = [
                    self.duration(depth - 1),
                    self.pick(INTEGER_LITERALS) if _is_unknown(whole) else whole,
                ]
                return Binary("*", *self.draw(st.permutations(factors)))
            case "minus":
                return Unary("-", self.duration(depth - 1))
            case "abs":
                return Call("abs", (self.duration(depth - 1),))
            case "choice":
                return self._choice(self.duration, depth - 1)
        return self.duration(0)

    def time(self, depth):
        attributes = self.attributes(Kind.TIME)
        if not attributes:
            return NULL
        return (
            self._choice(self.time, depth - 1)
            if depth > 0 and self.draw(st.booleans())
            else self.pick(attributes)
        )

    def binary(self, depth):
        attributes = self.attributes(Kind.BINARY)
        if not attributes:
            return NULL
        return (
            self._choice(self.binary, depth - 1)
            if depth > 0 and self.draw(st.booleans())
            else self.pick(attributes)
        )


def _is_unknown(node):
    """Whether an integer expression is made of NULL alone, and so has no type of its own."""
    return node == NULL or isinstance(node, Binary | Unary | Call)


@st.composite
def conditions(draw, schema, depth=3, functions=()):
    return Expressions(draw, schema, functions).condition(draw(st.integers(1, depth)))


@st.composite
def expressions(draw, schema, depth=3, functions=()):
    return Expressions(draw, schema, functions).any(draw(st.integers(0, depth)))
