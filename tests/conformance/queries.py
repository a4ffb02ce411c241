"""Random SASE+ queries and small streams to ask them of, as data of their own.

    Choices (Hypothesis, or a seed) ─> Case: Query + Stream ─┬─ text, table, arguments ─> a plan
                                                             └─ the structures below   ─> the oracle

Nothing here comes from `augury`: the oracle reads the structures, the library reads the text that is written
from them, and so the parser, the checks and the placing of predicates are judged along with the engine.
Values are few and nulls many, so that predicates bite; times are ticks, which the table writes as integers,
dates or timestamps.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from hypothesis import strategies as st

T = TypeVar("T")

# ------------------------------------------------------------------ queries as data


@dataclass(frozen=True)
class Component:
    type: str
    var: str
    kleene: bool = False
    negated: bool = False


# Which event of a variable: SEMANTICS' attribute forms.
ONE, FIRST, CURRENT, PREVIOUS, LAST, EACH, BEFORE = "one", "[1]", "[i]", "[i-1]", "[LEN]", "[]", "[..i-1]"


@dataclass(frozen=True)
class Ref:
    var: str
    at: str
    name: str


@dataclass(frozen=True)
class Size:
    """`a.LEN`."""

    var: str


@dataclass(frozen=True)
class Fold:
    """An aggregate over EACH event of a variable, or those BEFORE the current one; `arg` refers to them by `over`."""

    fn: str
    var: str
    over: str
    arg: Any


@dataclass(frozen=True)
class Const:
    value: bool | int | float | str | None


@dataclass(frozen=True)
class Binary:
    op: str  # + - * / % = <> < <= > >=
    left: Any
    right: Any


@dataclass(frozen=True)
class Function:
    name: str  # abs, least, greatest, coalesce, length
    args: tuple[Any, ...]


@dataclass(frozen=True)
class IsNull:
    arg: Any
    negated: bool


@dataclass(frozen=True)
class OneOf:
    arg: Any
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Between:
    arg: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Like:
    arg: Any
    pattern: str


@dataclass(frozen=True)
class Not:
    arg: Any


@dataclass(frozen=True)
class Chain:
    op: str  # AND, OR
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Apart:
    """The time between two events, in ticks: `b.ts - a.ts < 3`, or `< 3 seconds`."""

    later: Ref
    earlier: Ref
    op: str
    ticks: int


@dataclass(frozen=True)
class Column:
    """One item of RETURN: a variable (a string), or an expression; `name` is what its column is called."""

    expr: Any
    name: str
    written: bool  # with AS


STRICT, PARTITION, NEXT, ANY = (
    "strict_contiguity",
    "partition_contiguity",
    "skip_till_next_match",
    "skip_till_any_match",
)


@dataclass(frozen=True)
class Query:
    components: tuple[Component, ...]
    strategy: str = ANY
    predicates: tuple[Any, ...] = ()
    partition: tuple[str, ...] = ()
    within: float | None = None  # in ticks
    returns: tuple[Column, ...] | None = None
    braces: bool = False  # the strategy before the conditions in braces, or as one of them
    named: bool = True  # the strategy is written, even where it is the default

    @property
    def positives(self) -> tuple[Component, ...]:
        return tuple(c for c in self.components if not c.negated)

    @property
    def negated(self) -> tuple[Component, ...]:
        return tuple(c for c in self.components if c.negated)

    @property
    def has_open_negation(self) -> bool:
        """Whether a negated component stands before the first or after the last."""
        return self.components[0].negated or self.components[-1].negated


def parts(node: Any) -> Iterator[Any]:
    """An expression and all below it."""
    yield node
    for name in getattr(node, "__dataclass_fields__", ()):
        value = getattr(node, name)
        for child in value if isinstance(value, tuple) else (value,):
            if hasattr(child, "__dataclass_fields__"):
                yield from parts(child)


def variables_of(node: Any) -> set[str]:
    return {p.var for p in parts(node) if isinstance(p, Ref | Size | Fold)}


# ------------------------------------------------------------------ streams as data

_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

TIMES: dict[str, tuple[pa.DataType, str | None, Callable[[int], Any]]] = {
    "int64": (pa.int64(), None, lambda t: t),
    "int16": (pa.int16(), None, lambda t: t),
    "date32": (pa.date32(), "days", lambda t: dt.date(2026, 1, 30) + dt.timedelta(days=t)),
    "timestamp[s]": (
        pa.timestamp("s"),
        "minutes",
        lambda t: (_START + dt.timedelta(minutes=t)).replace(tzinfo=None),
    ),
    "timestamp[us, UTC]": (
        pa.timestamp("us", "UTC"),
        "milliseconds",
        lambda t: _START + dt.timedelta(milliseconds=t),
    ),
}
"""How ticks are stored: the column's type, the unit that one tick is, and what a tick reads as."""

NAN = float("nan")

NUMBER, TEXT, TRUTH = "number", "text", "truth"


@dataclass(frozen=True)
class Kind:
    """One type that columns have here, and the values that they hold."""

    arrow: pa.DataType
    of: str
    values: tuple[Any, ...]


KINDS = {
    "int": Kind(pa.int64(), NUMBER, (0, 1, 1, 2, 3, None)),
    "small": Kind(pa.int8(), NUMBER, (1, 1, 2, 2, None)),
    "wide": Kind(pa.int32(), NUMBER, (4, 7, 1, 9, 2, 8, 3, 6, 5, None)),
    "huge": Kind(pa.int64(), NUMBER, (1, 2**62, -(2**62), 2**62, None)),
    "float": Kind(pa.float64(), NUMBER, (1.0, 0.0, 2.0, NAN, 0.5, -0.0, NAN, None)),
    "zeros": Kind(pa.float64(), NUMBER, (0.0, 0.0, -0.0, 1.0, NAN, None)),
    "decimal": Kind(pa.decimal128(6, 2), NUMBER, (Decimal("0.25"), Decimal("1.00"), Decimal("2.50"), None)),
    "text": Kind(pa.string(), TEXT, ("a", "a", "b", "ab", "B", "", None)),
    "name": Kind(pa.string(), TEXT, ("p", "p", "q", None)),
    "truth": Kind(pa.bool_(), TRUTH, (False, True, True, None)),
}


@dataclass(frozen=True)
class Stream:
    """Rows in the order of arrival; `rows[r][c]` is the value in the column number c."""

    columns: tuple[tuple[str, str], ...]  # (name, kind), kind a name of KINDS, "time" or "type"
    rows: tuple[tuple[Any, ...], ...]
    time_kind: str = "int64"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def kind_of(self, name: str) -> str:
        return dict(self.columns)[name]

    @property
    def schema(self) -> pa.Schema:
        types = {"time": TIMES[self.time_kind][0], "type": pa.string()}
        return pa.schema([(n, types[k] if k in types else KINDS[k].arrow) for n, k in self.columns])

    def stored(self, name: str, value: Any) -> Any:
        """A value as the table has it."""
        return TIMES[self.time_kind][2](value) if name == "ts" and value is not None else value


@dataclass(frozen=True)
class Case:
    query: Query
    stream: Stream
    type: str | None = "kind"
    key: tuple[str, ...] = ()
    tiebreak: tuple[str, ...] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """What `match` is told."""
        given: dict[str, Any] = {"time": "ts"}
        if self.type is not None:
            given["type"] = self.type
        if self.key:
            given["key"] = self.key[0] if len(self.key) == 1 else list(self.key)
        if self.tiebreak:
            given["tiebreak"] = self.tiebreak[0] if len(self.tiebreak) == 1 else list(self.tiebreak)
        if any(row[self.stream.names.index("ts")] is None for row in self.stream.rows):
            given["bad_rows"] = "drop"
        return given

    @property
    def text(self) -> str:
        return text_of(self.query, TIMES[self.stream.time_kind][1])

    @property
    def table(self) -> pa.Table:
        return table_of(self.stream)

    def __str__(self) -> str:
        lines = [self.text, ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())]
        schema = self.stream.schema
        lines.append(" | ".join(f"{f.name}:{f.type}" for f in schema))
        lines.extend(" | ".join("null" if v is None else str(v) for v in row) for row in self.stream.rows)
        return "\n".join(lines)


def table_of(stream: Stream) -> pa.Table:
    columns = {}
    for place, field in enumerate(stream.schema):
        values = [stream.stored(field.name, row[place]) for row in stream.rows]
        columns[field.name] = pa.array(values, field.type)
    return pa.table(columns, schema=stream.schema)


# ------------------------------------------------------------------ a query as text


def text_of(query: Query, unit: str | None) -> str:
    lines = [f"PATTERN SEQ({', '.join(_component(c) for c in query.components)})"]
    conditions = [_text(p, unit) for p in query.predicates]
    if query.partition:
        conditions.insert(len(conditions) // 2, f"[{', '.join(query.partition)}]")
    variables = ", ".join(c.var + ("[]" if c.kleene else "") for c in query.positives)
    strategy = f"{query.strategy}({variables})" if query.named or query.strategy != ANY else ""
    if strategy and query.braces and conditions:
        lines.append(f"WHERE {strategy} {{ {' AND '.join(conditions)} }}")
    elif strategy or conditions:
        lines.append("WHERE " + "\n  AND ".join(([strategy] if strategy else []) + conditions))
    if query.within is not None:
        lines.append(f"WITHIN {query.within:g}" + (f" {unit}" if unit else ""))
    if query.returns is not None:
        items = (
            item.expr
            if isinstance(item.expr, str)
            else _text(item.expr, unit) + (f" AS {item.name}" if item.written else "")
            for item in query.returns
        )
        lines.append("RETURN " + ", ".join(items))
    return "\n".join(lines)


def _component(c: Component) -> str:
    shown = f"{c.type}{'+' if c.kleene else ''} {c.var}{'[]' if c.kleene else ''}"
    return f"~({shown})" if c.negated else shown


def _ref(node: Ref) -> str:
    return f"{node.var}{ {ONE: '', LAST: f'[{node.var}.LEN]'}.get(node.at, node.at) }.{node.name}"


def _text(node: Any, unit: str | None) -> str:
    def t(child: Any) -> str:
        return _text(child, unit)

    match node:
        case Ref():
            return _ref(node)
        case Size(var):
            return f"{var}.LEN"
        case Fold(fn, _, _, arg):
            return f"{fn}({t(arg)})"
        case Const(value):
            if isinstance(value, str):
                return "'" + value.replace("'", "''") + "'"
            return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else repr(value)
        case Binary(op, left, right):
            return f"({t(left)} {op} {t(right)})"
        case Function(name, args):
            return f"{name}({', '.join(map(t, args))})"
        case IsNull(arg, negated):
            return f"{t(arg)} IS {'NOT ' if negated else ''}NULL"
        case OneOf(arg, items):
            return f"{t(arg)} IN ({', '.join(map(t, items))})"
        case Between(arg, low, high):
            return f"({t(arg)} BETWEEN {t(low)} AND {t(high)})"
        case Like(arg, pattern):
            return f"{t(arg)} LIKE '{pattern}'"
        case Not(arg):
            return f"NOT ({t(arg)})"
        case Chain(op, args):
            return "(" + f" {op} ".join(f"({t(a)})" for a in args) + ")"
        case Apart(later, earlier, op, ticks):
            # a negative duration is written as zero minus it: a literal of it has no sign
            amount = f"{ticks} {unit}" if unit else f"{ticks}"
            return f"{_ref(later)} - {_ref(earlier)} {op} {amount}"
    raise AssertionError(node)


# ------------------------------------------------------------------ where choices come from


class Choices(Protocol):
    """The source of all randomness: simpler values first, so that Hypothesis shrinks towards them."""

    def integer(self, low: int, high: int) -> int: ...


class Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


class Seeded:
    """Choices from a seed, for hundreds of thousands of cases outside Hypothesis."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def one_of(choices: Choices, values: Sequence[T]) -> T:
    return values[choices.integer(0, len(values) - 1)]


def chance(choices: Choices, percent: int) -> bool:
    """True so often; False is the simpler answer."""
    return choices.integer(0, 99) >= 100 - percent


# ------------------------------------------------------------------ random cases


@st.composite
def cases(draw: Callable[[Any], Any], **wanted: Any) -> Case:
    return random_case(Drawn(draw), **wanted)


def seeded_case(seed: int | str, **wanted: Any) -> Case:
    return random_case(Seeded(seed), **wanted)


def random_case(
    choices: Choices,
    *,
    strategies: Sequence[str] = (ANY, NEXT, PARTITION, STRICT),
    negation: bool = True,
    returns: bool = True,
    window: bool = True,
    partition: tuple[str, ...] | None = None,
    key: bool = True,
    max_events: int = 10,
    kleene: int = 45,
) -> Case:
    """A query and a stream; the keywords leave parts of the language out, for laws that need it.

    Half of the cases are dense: few types, one or two plain comparisons, little else. There the matches are
    many and what is wrong with one feature shows; the others mix all features.
    """
    dense = chance(choices, 50)
    columns = _random_columns(choices)
    types = ("A", "B", "C")[: one_of(choices, (1, 1, 2) if dense else (1, 2, 1, 2, 3))]
    components = _random_components(choices, types, 20 if dense else 40 if negation else 0, kleene)
    if not negation:
        components = tuple(c for c in components if not c.negated)
    strategy = one_of(choices, strategies)
    attributes = [name for name, _ in columns if name not in ("ts", "kind", "seq")]
    if partition is None:
        partition = ("g",) if strategy == PARTITION or chance(choices, 5 if dense else 20) else ()
        if partition and chance(choices, 15):
            partition = (*partition, one_of(choices, [a for a in attributes if a != "g"]))
    within: float | None = None
    open_negation = components[0].negated or components[-1].negated
    if open_negation or (window and chance(choices, 25 if dense else 50)):
        within = one_of(choices, (3, 4, 6, 2, 1, 2.5, 5, 10))
    query = Query(
        components,
        strategy,
        _random_predicates(choices, components, columns, dense),
        partition,
        within,
        braces=chance(choices, 50),
        named=chance(choices, 50),
    )
    if returns and chance(choices, 15 if dense else 30):
        query = replace(query, returns=_random_returns(choices, query, columns))
    keys: tuple[str, ...] = ()
    if key and chance(choices, 10 if dense else 30):
        keys = ("k",) if chance(choices, 80) else ("k", one_of(choices, [a for a in attributes if a != "k"]))
    ties = () if chance(choices, 60) else ("seq",) if chance(choices, 70) else (one_of(choices, attributes),)
    heavy = sum(c.kleene for c in query.positives)
    most = min(max_events, 10 if heavy < 2 else 8 if heavy == 2 else 7)
    untyped = len({c.type for c in components}) == 1 and chance(choices, 15)
    size = min(most, one_of(choices, (5, 6, 7, 8) if dense else (3, 4, 5, 6, 7, 8, 9, 10, 5, 6, 7, 2, 1, 0)))
    stream = _random_stream(choices, columns, types, size, query)
    return Case(query, stream, None if untyped else "kind", keys, ties)


def _random_columns(choices: Choices) -> tuple[tuple[str, str], ...]:
    """Always ts, kind, x, y, g and k, the latter two what partitions and keys are made of; sometimes more."""
    columns = [
        ("ts", "time"),
        ("kind", "type"),
        ("x", one_of(choices, ("int", "wide", "int", "wide", "small", "huge"))),
        ("y", one_of(choices, ("float", "float", "int", "decimal"))),
        ("g", one_of(choices, ("small", "zeros", "name", "truth"))),
        ("k", one_of(choices, ("small", "zeros", "name", "truth"))),
    ]
    columns.extend(
        extra for extra in (("s", "text"), ("f", "truth"), ("seq", "small")) if chance(choices, 50)
    )
    if all(name != "seq" for name, _ in columns):
        columns.append(("seq", "small"))
    if chance(choices, 50):  # the schema's order decides ties
        for i in range(len(columns) - 1, 0, -1):
            j = choices.integer(0, i)
            columns[i], columns[j] = columns[j], columns[i]
    return tuple(columns)


def _random_components(
    choices: Choices, types: Sequence[str], negation: int, kleene: int
) -> tuple[Component, ...]:
    positives = one_of(choices, (2, 1, 2, 3, 2, 3, 4))
    components = [
        Component(one_of(choices, types), "abcd"[i], kleene=chance(choices, kleene)) for i in range(positives)
    ]
    if chance(choices, negation):
        for name in "nm"[: choices.integer(1, 2)]:
            place = choices.integer(0, len(components))
            components.insert(place, Component(one_of(choices, types), name, negated=True))
    return tuple(components)


def _random_stream(
    choices: Choices, columns: tuple[tuple[str, str], ...], types: Sequence[str], n: int, query: Query
) -> Stream:
    tick = 0
    rows: list[dict[str, Any]] = []
    nulls = chance(choices, 40)  # streams without any let more predicates hold
    for _ in range(n):
        tick += one_of(choices, (1, 1, 0, 2))
        if rows and chance(choices, 6):
            rows.append(dict(rows[choices.integer(0, len(rows) - 1)]))
            continue
        row: dict[str, Any] = {}
        for name, kind in columns:
            if kind == "time":
                row[name] = None if chance(choices, 1) else tick
            elif kind == "type":
                known = (*types, *types, *types, "Z", None) if chance(choices, 25) else types
                row[name] = one_of(choices, known)
            else:
                values = KINDS[kind].values
                row[name] = one_of(choices, values if nulls else values[:-1])
        rows.append(row)
    if chance(choices, 75):
        _plant(choices, rows, query)
    if chance(choices, 40):
        for i in range(len(rows) - 1, 0, -1):
            j = choices.integer(0, i)
            rows[i], rows[j] = rows[j], rows[i]
    stored = tuple(tuple(row[name] for name, _ in columns) for row in rows)
    return Stream(columns, stored, one_of(choices, ("int64", "int64", *TIMES)))


def _plant(choices: Choices, rows: list[dict[str, Any]], query: Query) -> None:
    """Give some events the types, the partition and the key of one match; its predicates are left to luck."""
    wanted = [c.type for c in query.positives for _ in range(choices.integer(1, 2) if c.kleene else 1)]
    slack = len(rows) - len(wanted)
    if slack < 0:
        return
    at = choices.integer(0, min(slack, 2))
    model = rows[at]
    for kind in wanted:
        skipped = (
            1 if at < len(rows) - len(wanted) and query.strategy != STRICT and chance(choices, 30) else 0
        )
        at = min(at + skipped, len(rows) - 1)
        shared = {name: model[name] for name in ("g", "k", *query.partition)}
        rows[at] = {**rows[at], **shared, "kind": kind}
        at += 1
        if at == len(rows):
            return


# -- predicates

AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
COMPARISONS = ("<=", ">=", "=", "<>", "<", ">", "<=", ">=", "<>")  # those that hold more often, more often


class _Terms:
    """What one predicate may say: for each of its variables the forms that may stand together."""

    def __init__(
        self, choices: Choices, columns: tuple[tuple[str, str], ...], chosen: Sequence[Component]
    ) -> None:
        self.choices = choices
        self.columns = columns
        self.of: dict[str, list[str]] = {NUMBER: [], TEXT: [], TRUTH: []}
        for name, kind in columns:
            if kind in KINDS and name != "seq":
                self.of[KINDS[kind].of].append(name)
        self.huge = {name for name, kind in columns if kind == "huge"}
        self.chosen = tuple(chosen)
        self.mode: dict[str, str] = {}
        iterated = any(c.negated for c in chosen)  # a[i] is for one variable, and not beside a negated one
        for c in chosen:
            if c.kleene:
                modes = (
                    ["first", "closed", "each"]
                    if iterated
                    else ["current", "first", "closed", "each", "current"]
                )
                self.mode[c.var] = one_of(choices, modes)
                iterated = iterated or self.mode[c.var] == "current"

    def numbers(self) -> bool:
        return bool(self.of[NUMBER])

    def reference(self, c: Component, of: str) -> Any:
        """One reference to the variable, in a form of its mode, to an attribute of the class."""
        choices = self.choices
        names = self.of[of]
        if not c.kleene:
            return Ref(c.var, ONE, one_of(choices, names))
        match self.mode[c.var]:
            case "first":
                return Ref(c.var, FIRST, one_of(choices, names))
            case "each":
                at = EACH if chance(choices, 80) else FIRST
                return Ref(c.var, at, one_of(choices, names))
            case "current":
                if of == NUMBER and chance(choices, 30):
                    return self.fold(c.var, BEFORE, names)
                if of != NUMBER and chance(choices, 10):
                    return Fold(
                        one_of(choices, ("first", "last", "min", "max")),
                        c.var,
                        BEFORE,
                        Ref(c.var, BEFORE, one_of(choices, names)),
                    )
                return Ref(
                    c.var, one_of(choices, (CURRENT, PREVIOUS, CURRENT, FIRST)), one_of(choices, names)
                )
        if of == NUMBER and chance(choices, 30):
            return Size(c.var)
        if of == NUMBER and chance(choices, 50):
            return self.fold(c.var, EACH, names)
        return Ref(c.var, one_of(choices, (LAST, LAST, LAST, FIRST, EACH)), one_of(choices, names))

    def fold(self, var: str, over: str, names: Sequence[str]) -> Fold:
        choices = self.choices
        name = one_of(choices, names)
        fn = one_of(
            choices, ("sum", *AGGREGATES, "sum", "avg") if name in self.huge else (*AGGREGATES, "min", "max")
        )
        # doubles of 2**62 and of small numbers lose digits together, and then the order of a sum shows
        arg: Any = Ref(var, over, name)
        if chance(choices, 15) and name not in self.huge:
            arg = Binary("+", arg, Ref(var, over, one_of(choices, [n for n in names if n not in self.huge])))
        return Fold(fn, var, over, arg)


def _random_predicates(
    choices: Choices, components: tuple[Component, ...], columns: tuple[tuple[str, str], ...], dense: bool
) -> tuple[Any, ...]:
    found = []
    for _ in range(one_of(choices, (1, 1, 2) if dense else (1, 0, 2, 1, 1, 2, 3))):
        size = one_of(choices, (1, 2, 1, 2, 2, 3, 0)) if chance(choices, 92) else 1
        chosen: list[Component] = []
        for _ in range(min(size, len(components))):
            left = [
                c
                for c in components
                if c not in chosen and not (c.negated and any(o.negated for o in chosen))
            ]
            if left:
                chosen.append(one_of(choices, left))
        terms = _Terms(choices, columns, chosen)
        plainly = dense and chosen and chance(choices, 80)
        found.append(_plain_comparison(choices, terms) if plainly else _random_condition(choices, terms, 2))
    return tuple(found)


def _plain_comparison(choices: Choices, terms: _Terms) -> Any:
    """Two references to numbers of one name, of different variables where the predicate has them."""
    terms = _Terms(choices, tuple((n, k) for n, k in terms.columns if n == "x"), terms.chosen)
    left, right = terms.reference(terms.chosen[0], NUMBER), terms.reference(terms.chosen[-1], NUMBER)
    return Binary(one_of(choices, ("<=", ">=", "<", ">", "=", "<>")), left, right)


def _random_condition(choices: Choices, terms: _Terms, depth: int) -> Any:
    if not terms.chosen:
        always, never = (
            (Const(True), Binary("<", Const(1), Const(2))),
            (Const(False), Binary("=", Const(None), Const(1))),
        )
        return one_of(choices, never if chance(choices, 15) else always)
    if depth and chance(choices, 18):
        op = one_of(choices, ("OR", "OR", "AND"))
        return Chain(op, tuple(_random_condition(choices, terms, depth - 1) for _ in range(2)))
    if depth and chance(choices, 8):
        return Not(_random_condition(choices, terms, depth - 1))
    if chance(choices, 8):
        plain = [c for c in terms.chosen if not c.kleene or terms.mode[c.var] in ("first", "current")]
        if len(plain) == 2:
            earlier, later = (
                Ref(c.var, ONE if not c.kleene else FIRST if terms.mode[c.var] == "first" else CURRENT, "ts")
                for c in plain
            )
            return Apart(later, earlier, one_of(choices, ("<", "<=", ">", "=")), choices.integer(0, 3))
    of = one_of(
        choices, [of for of, names in terms.of.items() if names for _ in range(4 if of == NUMBER else 1)]
    )
    used = list(terms.chosen)
    left = terms.reference(used[0], of)
    if len(used) > 1:
        right = terms.reference(one_of(choices, used[1:]), of)
    elif chance(choices, 50):
        right = terms.reference(used[0], of)
    else:
        right = _random_constant(choices, of)
    if chance(choices, 10):
        return IsNull(left, not chance(choices, 30))
    match of:
        case "number":
            return _random_comparison(choices, terms, left, right)
        case "text":
            if chance(choices, 30):
                return Like(left, one_of(choices, ("a%", "%b", "_", "%", "a_")))
            if chance(choices, 20):
                return OneOf(
                    left, (right, Const("a"), Const(None)) if chance(choices, 30) else (right, Const("b"))
                )
            return Binary(one_of(choices, COMPARISONS), left, right)
    return left if chance(choices, 50) else Binary(one_of(choices, ("=", "<>", "=")), left, right)


def _random_comparison(choices: Choices, terms: _Terms, left: Any, right: Any) -> Any:
    wild = {p.name for side in (left, right) for p in parts(side) if isinstance(p, Ref)} & terms.huge
    if chance(choices, 25) and not (wild and _is_floating(left, right)):
        op = one_of(choices, ("+", "-", "*", "/", "%"))
        if wild and op in "/%":
            op = "+"
        amount = Const(one_of(choices, (1, 2, 0) if wild else (1, 2, 0, 0.5)))
        side = one_of(choices, (right, left))
        moved = Binary(op, side, amount)
        left, right = (left, moved) if side is right else (moved, right)
    if chance(choices, 12) and not wild:
        name = one_of(choices, ("least", "greatest", "coalesce", "abs"))
        left = Function(name, (left,) if name == "abs" else (left, _random_constant(choices, NUMBER)))
    if chance(choices, 10):
        low, high = sorted((choices.integer(0, 2), choices.integer(0, 3)))
        return Between(left, Const(low), Const(high))
    if chance(choices, 8):
        return OneOf(left, (right, Const(1), Const(2)))
    return Binary(one_of(choices, COMPARISONS), left, right)


def _is_floating(left: Any, right: Any) -> bool:
    """Whether something besides plain references takes part, which may be a double."""
    return any(isinstance(p, Fold | Const) for side in (left, right) for p in parts(side))


def _random_constant(choices: Choices, of: str) -> Const:
    match of:
        case "number":
            return Const(one_of(choices, (1, 0, 2, 0.5, 1.5, 3)))
        case "text":
            return Const(one_of(choices, ("a", "b", "ab", "")))
    return Const(one_of(choices, (True, False)))


# -- RETURN


def _random_returns(
    choices: Choices, query: Query, columns: tuple[tuple[str, str], ...]
) -> tuple[Column, ...] | None:
    names = [name for name, kind in columns if kind != "type"]
    numbers = [name for name, kind in columns if kind in KINDS and KINDS[kind].of == NUMBER]
    items: dict[str, Column] = {}
    for place in range(choices.integer(1, 4)):
        c = one_of(choices, query.positives)
        item = _random_item(choices, c, names, numbers, f"c{place}")
        if all(item.name != taken for taken in ("match_start", "match_end")):
            items.setdefault(item.name, item)
    return tuple(items.values())


def _random_item(
    choices: Choices, c: Component, names: Sequence[str], numbers: Sequence[str], alias: str
) -> Column:
    name = one_of(choices, names)
    if chance(choices, 12):
        return Column(c.var, c.var, False)
    if not c.kleene:
        if chance(choices, 60):
            return Column(Ref(c.var, ONE, name), f"{c.var}_{name}", False)
        return Column(Binary("+", Ref(c.var, ONE, one_of(choices, numbers)), Const(1)), alias, True)
    match choices.integer(0, 5):
        case 0:
            return Column(Ref(c.var, FIRST, name), f"{c.var}_1_{name}", False)
        case 1:
            return Column(Ref(c.var, LAST, name), alias, True)
        case 2:
            return Column(Size(c.var), alias, True)
        case 3:
            return Column(Ref(c.var, EACH, name), alias, True)
        case 4:
            return Column(Binary("*", Ref(c.var, EACH, one_of(choices, numbers)), Const(2)), alias, True)
    number = one_of(choices, numbers)
    return Column(Fold(one_of(choices, AGGREGATES), c.var, EACH, Ref(c.var, EACH, number)), alias, True)
