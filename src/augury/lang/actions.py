"""What each alternative of the grammar builds: components, expressions, clauses.

Lark calls an action as soon as it has read the alternative, so the tree grows from its leaves and no
recursion depends on the text. Whatever one alternative shows to be wrong is told here, at its place.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from typing import Any, NamedTuple, NoReturn

import lark
from lark import Token

from augury.errors import QueryError, Span
from augury.expr.functions import AGGREGATES
from augury.expr.printing import UNITS, quoted, reference, text_of
from augury.expr.tree import (
    Agg,
    At,
    Attr,
    Between,
    Binary,
    Call,
    Expr,
    In,
    IsNull,
    Len,
    Like,
    Literal,
    Logic,
    Name,
    Node,
    Param,
    Unary,
    children,
    walk,
)
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.lang.lexer import MAX_DEPTH
from augury.lang.situation import span_of
from augury.pattern import Component, Item, Strategy
from augury.time import Window


class Word(NamedTuple):
    text: str
    span: Span
    quoted: bool


@dataclass(frozen=True, slots=True)
class PartitionTest(Node):
    names: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class StrategyTest(Node):
    strategy: Strategy
    variables: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class _Grouped(Node):
    """Parentheses, until the chains of AND around them are built."""

    expr: Any


class Block(NamedTuple):
    strategy: StrategyTest
    conditions: Any


class Clauses(NamedTuple):
    components: tuple[Component, ...]
    conditions: Any
    window: Window | None
    items: tuple[Item, ...] | None


def _span(*parts: Any) -> Span:
    spans = [span_of(p) if isinstance(p, Token) else p.span for p in parts if p is not None]
    return Span(min(s.start for s in spans), max(s.end for s in spans))


def ungroup(node: Any) -> Any:
    return node.expr if isinstance(node, _Grouped) else node


def _operands(node: Any) -> Any:
    """An operand of something other than a top-level AND: no place for clauses that are no values."""
    node = ungroup(node)
    if isinstance(node, PartitionTest | StrategyTest):
        what = "an [attribute] test" if isinstance(node, PartitionTest) else "a strategy"
        raise QueryError(
            f"{what} stands only as a part of its own in WHERE",
            span=node.span,
            hint="join it with AND at the top, outside parentheses, OR and NOT",
        )
    return node


class Actions(lark.Transformer[Token, Any]):
    """One method for each alternative of the grammar."""

    def query(self, parts: list[Any]) -> Clauses:
        _, components, *rest = parts
        found = {"WHERE": None, "WITHIN": None, "RETURN": None}
        for word, clause in zip(rest[::2], rest[1::2], strict=True):
            if word is not None:
                found[word.type] = clause
        return Clauses(tuple(components), found["WHERE"], found["WITHIN"], found["RETURN"])

    def expression(self, parts: list[Any]) -> Any:
        return self._value(parts[0])

    # -- PATTERN

    def sequence(self, parts: list[Any]) -> list[Component]:
        return [p for p in parts if isinstance(p, Component)]

    single = sequence

    def positive(self, parts: list[Any]) -> Component:
        return next(p for p in parts if isinstance(p, Component))

    def negated(self, parts: list[Any]) -> Component:
        return replace(
            self.positive(parts),
            negated=True,
            span=_span(*(p for p in parts if isinstance(p, Token | Component))),
        )

    def typed(self, parts: list[Any]) -> Component:
        type_, plus, var, brackets = parts
        return Component(
            type_.text, var.text, plus is not None or brackets is not None, span=_span(type_, var)
        )

    def brackets(self, _parts: list[Any]) -> bool:
        return True

    # -- WHERE

    def block(self, parts: list[Any]) -> Block:
        word, _, variables, close, _, conditions, _ = parts
        return Block(self.strategy([word, None, variables, close]), conditions)

    def strategy(self, parts: list[Any]) -> StrategyTest:
        word, _, variables, close = parts
        return StrategyTest(Strategy(word.lower()), tuple(variables), span=_span(word, close))

    def variables(self, parts: list[Any]) -> list[Word]:
        return [p for p in parts if isinstance(p, Word)]

    def variable(self, parts: list[Any]) -> Word:
        word: Word = parts[0]
        return word

    def partition(self, parts: list[Any]) -> PartitionTest:
        return PartitionTest(tuple(p for p in parts if isinstance(p, Word)), span=_span(parts[0], parts[-1]))

    # -- WITHIN and RETURN

    def window(self, parts: list[Any]) -> Window:
        number, unit = parts
        amount = _decimal(number)
        if unit is not None:
            # Rounded up to instants, which says the same: differences of times are whole.
            amount = _EXACT.multiply(amount, _unit(number, unit)).to_integral_value(ROUND_CEILING)
        if amount > INT64_MAX:
            raise QueryError(
                "the window is larger than time itself", span=_span(*parts), hint="leave WITHIN out"
            )
        return Window(amount, unit is not None, span=_span(*parts))

    def everything(self, _parts: list[Any]) -> None:
        return None

    def listed(self, parts: list[Any]) -> tuple[Item, ...]:
        return tuple(p for p in parts if isinstance(p, Item))

    def item(self, parts: list[Any]) -> Item:
        expr, _, alias = parts
        return Item(self._value(expr), None if alias is None else alias.text)

    # -- expressions

    def or_expr(self, parts: list[Any]) -> Logic:
        args = tuple(self._value(p) for p in parts[::2])
        return Logic("OR", args, span=_span(*args))

    def and_expr(self, parts: list[Any]) -> Logic:
        return Logic("AND", tuple(parts[::2]), span=_span(*parts[::2]))

    def negation(self, parts: list[Any]) -> Unary:
        return Unary("NOT", self._value(parts[1]), span=_span(*parts))

    def comparison(self, parts: list[Any]) -> Binary:
        left, op, right = parts
        return self._binary({"==": "=", "!=": "<>"}.get(op, str(op)), left, right)

    def binary(self, parts: list[Any]) -> Binary:
        left, op, right = parts
        return self._binary(str(op), left, right)

    def _binary(self, op: str, left: Any, right: Any) -> Binary:
        return Binary(op, self._value(left), self._value(right), span=_span(left, right))

    @staticmethod
    def _value(node: Any) -> Any:
        """An operand: an AND below it is a value like any other."""
        return finished(_operands(node))

    def member(self, parts: list[Any]) -> Expr:
        arg, negated, _, _, *rest = parts
        items = tuple(self._value(p) for p in rest[::2])
        return self._maybe_not(negated, In(self._value(arg), items, span=_span(arg, parts[-1])))

    def between(self, parts: list[Any]) -> Expr:
        arg, negated, _, low, _, high = parts
        node = Between(self._value(arg), self._value(low), self._value(high), span=_span(arg, high))
        return self._maybe_not(negated, node)

    def like(self, parts: list[Any]) -> Expr:
        arg, negated, _, pattern = parts
        return self._maybe_not(
            negated, Like(self._value(arg), self._value(pattern), span=_span(arg, pattern))
        )

    def is_null(self, parts: list[Any]) -> Expr:
        arg, _, negated, null = parts
        return IsNull(self._value(arg), negated is not None, span=_span(arg, null))

    @staticmethod
    def _maybe_not(negated: Token | None, node: Expr) -> Expr:
        return node if negated is None else Unary("NOT", node, span=node.span)

    def minus(self, parts: list[Any]) -> Expr:
        sign, arg = parts
        if isinstance(arg, Literal) and arg.kind in ("int", "number") and not _is_signed(arg.value):
            value: Any = arg.value
            if arg.kind == "int" and -value < INT64_MIN:
                raise QueryError(
                    f"-{value} does not fit in 64 bits",
                    span=_span(sign, arg),
                    hint=f"write -{value}.0 for a double",
                )
            return replace(
                arg, value=-value if arg.kind == "int" else value.copy_negate(), span=_span(sign, arg)
            )
        return Unary("-", self._value(arg), span=_span(sign, arg))

    def plus(self, parts: list[Any]) -> Any:
        return self._value(parts[1])

    def parentheses(self, parts: list[Any]) -> _Grouped:
        return _Grouped(finished(_operands(parts[1])), span=_span(parts[0], parts[-1]))

    def number(self, parts: list[Any]) -> Literal:
        token = parts[0]
        if token.isdecimal():
            value = int(token)
            if value >= 2**64:
                raise QueryError(
                    f"{token} does not fit in 64 bits",
                    span=_span(token),
                    hint=f"write {token}.0 for a double",
                )
            return Literal("int", value, span=_span(token))
        return Literal("number", _decimal(token), span=_span(token))

    def share(self, parts: list[Any]) -> Literal:
        token = parts[0]
        value = _canonical(_decimal(token, str(token[:-1])).scaleb(-2, _EXACT))
        return Literal("number", value, span=_span(token))

    def duration(self, parts: list[Any]) -> Literal:
        number, unit = parts
        amount = _EXACT.multiply(_decimal(number), _unit(number, unit))
        if amount != amount.to_integral_value() or amount > INT64_MAX:
            what = "larger than 64 bits hold" if amount > INT64_MAX else "no whole number of microseconds"
            raise QueryError(
                f"{number} {unit} is {what}",
                span=_span(number, unit),
                hint="durations are counted in microseconds, in 64 bits",
            )
        return Literal("duration", int(amount), span=_span(number, unit))

    def string(self, parts: list[Any]) -> Literal:
        return Literal("string", parts[0][1:-1].replace("''", "'"), span=_span(parts[0]))

    def true(self, parts: list[Any]) -> Literal:
        return Literal("bool", True, span=_span(parts[0]))

    def false(self, parts: list[Any]) -> Literal:
        return Literal("bool", False, span=_span(parts[0]))

    def null(self, parts: list[Any]) -> Literal:
        return Literal("null", None, span=_span(parts[0]))

    def param(self, parts: list[Any]) -> Param:
        return Param(parts[1].text, None, span=_span(*parts))

    def bare(self, parts: list[Any]) -> Name:
        return Name(parts[0].text, span=parts[0].span)

    def attribute(self, parts: list[Any]) -> Attr | Len:
        var, _, name = parts
        if name.text == "LEN" and not name.quoted:
            return Len(var.text, span=_span(var, name))
        return Attr(var.text, At.ONE, name.text, span=_span(var, name))

    def indexed(self, parts: list[Any]) -> Attr:
        var, _, index, close, _, name = parts
        at = At.EACH if index is None else _which(index, var)
        return Attr(var.text, at, name.text, span=_span(var, name if name is not None else close))

    def bare_indexed(self, parts: list[Any]) -> NoReturn:
        var, _, index, close = parts
        v = quoted(var.text)
        if index is None:
            raise QueryError(
                f"{v}[] names events, not an attribute of them",
                span=_span(var, close),
                hint=f"write {v}[].attribute; how many there are is {v}.LEN, and in RETURN the whole list is {v}",
            )
        form = reference(var.text, _which(index, var))
        raise QueryError(
            f"{form} names an event, not an attribute of it",
            span=_span(var, close),
            hint=f"write {form}.attribute",
        )

    def index(self, parts: list[Any]) -> tuple[bool, Any, Span]:
        dots, at = parts
        return dots is not None, ungroup(at), _span(*parts)

    def call(self, parts: list[Any]) -> Call | Agg:
        name, _, *rest = parts
        span = _span(name, parts[-1])
        args = tuple(self._value(p) for p in rest[:-1:2] if p is not None)
        fn = name.text.lower()
        return _aggregate(fn, args, span) if fn in AGGREGATES else Call(fn, args, span=span)

    def name(self, parts: list[Any]) -> Word:
        token = parts[0]
        if token.type != "QUOTED":
            return Word(str(token), _span(token), False)
        text = token[1:-1].replace("``", "`")
        if not text:
            raise QueryError(
                "a quoted name cannot be empty",
                span=_span(token),
                hint="write the name between the backticks",
            )
        return Word(text, _span(token), True)

    word = name


def _is_signed(value: Any) -> bool:
    """Whether a literal has its sign already; -0 stays an operation, for integers have no such value."""
    return bool(value.is_signed()) if isinstance(value, Decimal) else value <= 0


def finished(node: Any) -> Any:
    """The node with no grouping left in it, and no clause that is no value."""
    if isinstance(node, Logic):
        return replace(node, args=tuple(_operands(a) for a in node.args))
    return node


_EXACT = Context(prec=200)  # whatever the program around us has set: 40 digits times a unit are exact
_MAX_DIGITS = 40


def _decimal(token: Token, text: str | None = None) -> Decimal:
    try:
        value = _canonical(Decimal(text or str(token)))
    except InvalidOperation:
        value = Decimal("Infinity")
    digits = len(value.as_tuple().digits)
    if digits > _MAX_DIGITS:
        raise QueryError(
            f"a number of {digits} digits, more than {_MAX_DIGITS}", span=_span(token), hint="a double has 17"
        )
    if not value.is_finite() or value > Decimal("1.7e308") or (value and value.adjusted() < -400):
        raise QueryError(
            f"{token} is not a number that a double can hold",
            span=_span(token),
            hint="the largest is 1.7e308",
        )
    return value


def _canonical(value: Decimal) -> Decimal:
    """One form for equal numbers: no zeros at the end, whole ones written out unless they are long."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return value
    if not any(digits):
        return Decimal((sign, (0,), 0))
    shown = "".join(map(str, digits))
    bare = shown.rstrip("0")
    exponent += len(shown) - len(bare)
    if 0 < exponent <= 20 - len(bare):
        bare, exponent = bare + "0" * exponent, 0
    return Decimal((sign, tuple(map(int, bare)), exponent))


_ABBREVIATED = {
    **dict.fromkeys(("us", "usec", "micros"), "microseconds"),
    **dict.fromkeys(("ms", "msec", "millis"), "milliseconds"),
    **dict.fromkeys(("s", "sec", "secs"), "seconds"),
    **dict.fromkeys(("m", "min", "mins"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs"), "hours"),
    "d": "days",
    **dict.fromkeys(("w", "wk", "wks"), "weeks"),
}


def _unit(number: Token, token: Token) -> int:
    word = token.lower()
    singular = word.removesuffix("s")
    if singular in UNITS:
        return UNITS[singular]
    raise QueryError(f"{token} is no unit of time", span=_span(token), hint=_unit_hint(number, token))


def _unit_hint(number: Token, token: Token) -> str:
    word = token.lower()
    if number.end_pos == token.start_pos and (word[0] == "_" or number == "0"):
        return "numbers are written in decimal digits alone: 1000"
    if word.removesuffix("s") in ("month", "quarter", "year"):
        return f"a {word.removesuffix('s')} has no fixed length; write it in days"
    if word.removesuffix("s") in ("event", "row"):
        return "a window is a span of time; how many events a Kleene variable has is a.LEN"
    known = [f"{unit}s" for unit in UNITS]
    near = [_ABBREVIATED[word]] if word in _ABBREVIATED else difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{hint}the units are: {', '.join(known)}"


def _which(index: tuple[bool, Any, Span], var: Word) -> At:
    before, at, span = index
    match at:
        case Literal(kind="int", value=1) if not before:
            return At.FIRST
        case Name(name="i") if not before:
            return At.CURRENT
        case Binary(op="-", left=Name(name="i"), right=Literal(kind="int", value=1)):
            return At.BEFORE if before else At.PREVIOUS
        case Len(var=other) if not before and other == var.text:
            return At.LAST
    refuse_deep(at)
    v = quoted(var.text)
    raise QueryError(
        f"there is no {v}[{'..' if before else ''}{text_of(at)}]", span=span, hint=_index_hint(before, at, v)
    )


def _index_hint(before: bool, at: Any, v: str) -> str:
    """What was meant, as far as that can be told, and the forms that there are."""
    forms = f"the forms are {v}[1], {v}[i], {v}[i-1], {v}[{v}.LEN], {v}[] and, in an aggregate, {v}[..i-1]"
    match at:
        case _ if before:
            return f"the range of all events before the current one is {v}[..i-1]"
        case Literal(kind="int", value=0):
            return f"events count from 1: {v}[1]; {forms}"
        case Literal(kind="int", value=int(n)) if n < 0:
            return f"the last event is {v}[{v}.LEN]; {forms}"
        case Len() | Name(name="LEN" | "len" | "last" | "LAST" | "n") | Attr(name="len" | "length"):
            return f"the last event is {v}[{v}.LEN]; {forms}"
        case Name(name="I"):
            return f"names are case-sensitive: {v}[i]; {forms}"
        case Binary(op="+", left=Name(name="i")):
            return f"look back instead of ahead: {v}[i-1] and {v}[i]; {forms}"
    return forms


def _aggregate(fn: str, args: tuple[Any, ...], span: Span) -> Agg:
    if len(args) != 1:
        hint = f"write {fn}(a[].x)"
        if fn in ("min", "max") and len(args) > 1:
            hint += f"; of several values side by side: {'least' if fn == 'min' else 'greatest'}(x, y)"
        raise QueryError(f"{fn} takes one argument, here are {len(args)}", span=span, hint=hint)
    arg = args[0]
    refuse_deep(arg)
    if any(isinstance(node, Agg) for node in walk(arg)):
        raise QueryError(
            "an aggregate cannot stand inside an aggregate",
            span=span,
            hint="compare the two instead, each by itself",
        )
    found = [node for node in walk(arg) if isinstance(node, Attr | Len | Name)]
    ranges = {(node.var, node.at) for node in found if isinstance(node, Attr)}
    if len(ranges) != 1 or not all(isinstance(n, Attr) and n.at in (At.EACH, At.BEFORE) for n in found):
        raise QueryError(
            f"{fn} reads the events of one Kleene variable; this is {text_of(arg)}",
            span=span,
            hint=_aggregate_hint(fn, found),
        )
    ((var, over),) = ranges
    return Agg(fn, var, over, arg, span=span)


def _aggregate_hint(fn: str, found: list[Any]) -> str:
    v, x = "a", "x"
    match found:
        case [Attr(var=var, name=name)]:
            v, x = quoted(var), quoted(name)
        case [Name()] if fn == "count":
            return "how many events there are is a.LEN; count(a[].x) leaves out the nulls"
        case [Name(name=name)]:
            x = quoted(name)
    return f"write {fn}({v}[].{x}) for all events, {fn}({v}[..i-1].{x}) for those before the current one"


def refuse_deep(root: Expr) -> None:
    level = [root]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise QueryError(
                f"an expression is nested more than {MAX_DEPTH} deep",
                span=root.span,
                hint="chains of AND, OR and IN may be as long as you like; split a long sum with parentheses",
            )
        level = [c for node in level for c in children(node)]
