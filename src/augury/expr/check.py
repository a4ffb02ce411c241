"""Check an expression against a schema: every node gets its type, every constant its physical value.

What comes out is simpler than what went in, so that the readings are short: parameters and literals are
`Literal("constant", …)`, BETWEEN is two comparisons, IN has constants of its argument's kind alone
(otherwise it is a chain of ORs), and each change of kind is a visible `Cast`.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa

from augury.errors import QueryError
from augury.expr import functions
from augury.expr.constants import Written, bound, constant, convert, physical
from augury.expr.like import like_parts
from augury.expr.printing import quoted
from augury.expr.tree import (
    COMPARISONS,
    Agg,
    Attr,
    Between,
    Binary,
    Call,
    Cast,
    Expr,
    In,
    IsNull,
    Len,
    Like,
    Literal,
    Logic,
    Name,
    Param,
    Unary,
    children,
    typed,
)
from augury.expr.types import (
    BOOL,
    DURATION,
    FLOAT,
    INSTANTS,
    INT,
    INTEGERS,
    NULL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    UINT,
    UNORDERED,
    Kind,
    Type,
    common_decimal,
    storage,
)

TypeOf = Callable[[Attr | Name], Type]
"""The type of what a reference names; raises QueryError where there is no such thing."""


def check(node: Expr, type_of: TypeOf) -> Expr:
    """The typed form of an expression."""
    checked = _Checker(type_of).check(node)
    _refuse_growth(checked)
    return checked


def check_condition(node: Expr, type_of: TypeOf) -> Expr:
    """The typed form of a predicate, which must be true or false."""
    checked = check(node, type_of)
    return _condition(checked)


def missing(what: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """Message and hint for a name that does not exist: the nearest ones, and the list."""
    names = sorted(known)
    by_lower = {n.lower(): n for n in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.65)
    listed = ", ".join(map(quoted, names[:20])) + (", …" if len(names) > 20 else "")
    hint = f"did you mean {quoted(by_lower[near[0]])}? " if near else ""
    return (
        f"there is no {what} {quoted(name)}",
        f"{hint}there is: {listed}" if names else "there is none at all",
    )


def check_call(node: Call) -> None:
    """What a call shows without a schema: that there is such a function, and how many arguments it takes."""
    user = functions.registered(node.fn)
    if user is None and node.fn in functions.AGGREGATES:
        _fail(
            node,
            f"{node.fn} is an aggregate: it reads all events of a Kleene variable",
            f"write {node.fn}(a[].x) or {node.fn}(a[..i-1].x); for values side by side least and greatest",
        )
    if user is None and node.fn not in functions.BUILTINS:
        message, hint = missing("function", node.fn, functions.known_names())
        _fail(node, message, functions.ELSEWHERE.get(node.fn, hint))
    low, high = functions.BUILTINS[node.fn] if user is None else (len(user.args), len(user.args))
    given = len(node.args)
    if given < low or (high is not None and given > high):
        wanted = str(low) if low == high else f"{low} to {high}" if high else f"at least {low}"
        _fail(
            node,
            f"{node.fn} takes {wanted} argument{'' if wanted in ('1', 'at least 1') else 's'}, here are {given}",
        )


_SPARE = 2_000  # nodes, and as many for each node that there is: far beyond any IN or BETWEEN of plain values
_TIMES = 16


def _refuse_growth(root: Expr) -> None:
    """BETWEEN and IN repeat what they test. Inside one another they double with every level, and so would
    the work of all who walk the tree.
    """
    sizes: dict[int, int] = {}  # by node's identity, what is repeated counted as often

    def size(node: Expr) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(map(size, children(node)))
        return sizes[id(node)]

    whole = size(root)
    if whole > _SPARE + _TIMES * len(sizes):
        _fail(
            root,
            f"BETWEEN and IN inside one another make {whole} terms of an expression of {len(sizes)}",
            "what BETWEEN or IN tests should be a plain value; split the expression with AND and OR",
        )


def _condition(node: Expr) -> Expr:
    node = _settled(node, BOOL)
    kind = typed(node).kind
    if kind is Kind.NULL:
        return _cast(node, BOOL)
    if kind is not Kind.BOOL:
        _fail(node, f"a condition is true or false, this is {typed(node).named}", "compare it with something")
    return node


def _settled(node: Expr, wanted: Type) -> Expr:
    """A registered function that does not say what it returns is taken to return what its place asks for."""
    if wanted.kind in (Kind.BOOL, Kind.STRING) and isinstance(node, Call):
        user = functions.registered(node.fn)
        if user is not None and user.returns is None:
            return replace(node, type=BOOL if wanted.kind is Kind.BOOL else STRING)
    return node


class _Checker:
    def __init__(self, type_of: TypeOf) -> None:
        self.type_of = type_of

    def check(self, node: Expr) -> Expr:
        match node:
            case Literal():
                return constant(node)
            case Param():
                return bound(node)
            case Attr() | Name():
                return replace(node, type=self.type_of(node))
            case Len():
                return replace(node, type=INT)
            case Agg():
                return self._aggregate(node)
            case Unary(op="NOT"):
                return replace(node, arg=_condition(self.check(node.arg)), type=BOOL)
            case Unary():
                return self._negative(node)
            case Binary() if node.op in COMPARISONS:
                return _compare(node, node.op, self.check(node.left), self.check(node.right))
            case Binary():
                return _arithmetic(node, self.check(node.left), self.check(node.right))
            case Logic():
                return replace(node, args=tuple(_condition(self.check(a)) for a in node.args), type=BOOL)
            case Between():
                arg = self.check(node.arg)
                low = _compare(node, ">=", arg, self.check(node.low))
                high = _compare(node, "<=", arg, self.check(node.high))
                return Logic("AND", (low, high), span=node.span, type=BOOL)
            case In():
                return self._member(node)
            case IsNull():
                return replace(node, arg=self.check(node.arg), type=BOOL)
            case Like():
                return self._like(node)
            case Call():
                return self._call(node)
            case Cast():
                return node

    def _negative(self, node: Unary) -> Expr:
        arg = self.check(node.arg)
        kind = typed(arg).kind
        if kind not in NUMBERS and kind not in (Kind.DURATION, Kind.NULL):
            _fail(node, f"{typed(arg).named} has no negative")
        if kind in (Kind.DECIMAL, Kind.NULL):
            arg = _cast(arg, FLOAT)
        elif kind is Kind.UINT:
            arg = _cast(arg, INT)
        return replace(node, arg=arg, type=_computed(typed(arg)))

    def _member(self, node: In) -> Expr:
        arg = self.check(node.arg)
        items: list[Expr] = []
        for item in node.items:
            if isinstance(item, Param) and isinstance(item.value, list | tuple):
                items.extend(bound(replace(item, value=v)) for v in item.value)
            else:
                items.append(self.check(item))
        tests = [_compare(node, "=", arg, item) for item in items]
        if not tests:  # a list that was bound: what is sought is not in it, whatever it is
            return Literal("constant", False, span=node.span, type=BOOL)
        same = [
            t.right for t in tests if isinstance(t, Binary) and t.left is arg and isinstance(t.right, Literal)
        ]
        if len(same) == len(tests) and all(typed(s).kind is typed(arg).kind for s in same):
            return replace(node, arg=arg, items=tuple(same), type=BOOL)
        return tests[0] if len(tests) == 1 else Logic("OR", tuple(tests), span=node.span, type=BOOL)

    def _like(self, node: Like) -> Expr:
        arg, pattern = (self._text(e, "LIKE") for e in (node.arg, node.pattern))
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            like_parts(pattern.value, node)
        return replace(node, arg=arg, pattern=pattern, type=BOOL)

    def _text(self, node: Expr, user: str) -> Expr:
        arg = _settled(self.check(node), STRING)
        if typed(arg).kind is Kind.NULL:
            return _cast(arg, STRING)
        if typed(arg).kind is not Kind.STRING:
            _fail(node, f"{user} reads strings, this is {typed(arg).named}")
        return arg

    def _aggregate(self, node: Agg) -> Expr:
        arg = self.check(node.arg)
        kind = typed(arg).kind
        match node.fn:
            case "count":
                result = INT
            case "first" | "last":
                result = typed(arg)
            case "min" | "max":
                if kind in UNORDERED:
                    _fail(node, f"{typed(arg).named} has no {node.fn}")
                result = typed(arg)
            case "sum" if kind is Kind.DURATION:
                result = DURATION
            case _:
                if kind not in NUMBERS and kind is not Kind.NULL:
                    _fail(node, f"{node.fn} needs numbers, this is {typed(arg).named}")
                exact = node.fn == "sum" and kind in INTEGERS
                arg = _cast(arg, INT if exact else FLOAT)
                result = _computed(typed(arg))
        return replace(node, arg=arg, type=result)

    def _call(self, node: Call) -> Expr:
        check_call(node)
        user = functions.registered(node.fn)
        if user is not None:
            return self._user_call(node, user)
        if node.fn in ("lower", "upper"):
            return replace(node, args=(self._text(node.args[0], node.fn),), type=STRING)
        args = [self.check(a) for a in node.args]
        return _BUILTIN_RULES[node.fn](node, args)

    def _user_call(self, node: Call, user: functions.UserFunction) -> Expr:
        args = []
        for wanted, raw in zip(user.args, node.args, strict=True):
            arg = self.check(raw)
            kind = typed(arg).kind
            if wanted is None or typed(arg) == wanted:
                args.append(_cast(arg, FLOAT) if kind is Kind.DECIMAL else arg)
            elif kind is Kind.NULL or (kind, wanted.kind) in _WIDENED:
                args.append(_cast(arg, wanted))
            elif wanted.kind is Kind.LIST and _is_number_list(typed(arg)):
                args.append(arg)
            else:
                _fail(raw, f"{node.fn} reads {wanted.named} here, this is {typed(arg).named}")
        return replace(node, args=tuple(args), type=user.returns or FLOAT)


_WIDENED = {(kind, Kind.FLOAT) for kind in NUMBERS} | {(Kind.UINT, Kind.INT)}


def _fail(node: Expr, message: str, hint: str | None = None) -> NoReturn:
    raise QueryError(message, span=node.span, hint=hint)


def _cast(node: Expr, to: Type) -> Expr:
    """The node as another kind; a constant is converted here and now."""
    kind = typed(node).kind
    if kind is to.kind:
        return node
    if isinstance(node, Literal):
        value: Any = node.value
        if value is not None:
            value = convert(value, kind, to.kind)
        return replace(node, value=value, type=to)
    return Cast(node, span=node.span, type=to)


def _compare(at: Expr, op: str, left: Expr, right: Expr) -> Expr:
    left, right = _settled(left, typed(right)), _settled(right, typed(left))
    kinds = {typed(left).kind, typed(right).kind}
    for node in (left, right):
        if typed(node).kind in UNORDERED:
            _fail(at, f"{typed(node).named} cannot be compared", "compare one of its parts, or use IS NULL")
    if Kind.NULL in kinds:
        other = typed(right if typed(left).kind is Kind.NULL else left)
        left, right = _cast(left, other), _cast(right, other)
    elif kinds == {Kind.INT, Kind.UINT} or len(kinds) == 1:
        pass
    elif kinds <= NUMBERS:
        left, right = _common_number(left, right)
    elif kinds == {Kind.DATE, Kind.TIMESTAMP}:
        left, right = _cast(left, TIMESTAMP), _cast(right, TIMESTAMP)
    elif Kind.STRING in kinds and kinds & {Kind.DATE, Kind.TIMESTAMP}:
        left, right = _dated(at, left, right), _dated(at, right, left)
    else:
        _cannot(at, op, left, right)
    return Binary(op, left, right, span=at.span, type=BOOL)


def _common_number(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Decimals meet integers and written numbers exactly, doubles as doubles."""
    kinds = {typed(left).kind, typed(right).kind}
    if Kind.DECIMAL in kinds and Kind.FLOAT in kinds:
        left, right = _exact(left), _exact(right)
        kinds = {typed(left).kind, typed(right).kind}
    target = FLOAT if Kind.FLOAT in kinds else Type(Kind.DECIMAL)
    return _cast(left, target), _cast(right, target)


def _exact(node: Expr) -> Expr:
    """A number that stands in the text, or was bound, as the decimal that it prints as."""
    if isinstance(node, Literal) and typed(node).kind is Kind.FLOAT and isinstance(node.value, float):
        exact = node.value.exact if isinstance(node.value, Written) else Decimal(repr(node.value))
        if exact.is_finite():
            return replace(node, value=exact, type=Type(Kind.DECIMAL))
    return node


def _cannot(at: Expr, op: str, left: Expr, right: Expr) -> NoReturn:
    kinds = {typed(left).kind, typed(right).kind}
    hint = None
    if Kind.DURATION in kinds and kinds & INTEGERS:
        hint = "a difference of timestamps is compared with 5 minutes, one of integers with a plain number"
    elif Kind.DURATION in kinds and kinds & NUMBERS:
        hint = "write the number with its unit, such as 5 minutes"
    elif Kind.STRING in kinds and kinds & NUMBERS:
        hint = "a string is written 'so', a number without quotes"
    elif Kind.BOOL in kinds:
        hint = "a boolean is a condition by itself: write a.flag or NOT a.flag"
    _fail(at, f"{typed(left).named} cannot be compared with {typed(right).named} ({op})", hint)


def _dated(at: Expr, node: Expr, other: Expr) -> Expr:
    """A string constant beside a date or timestamp is read as one, when the query is checked."""
    if typed(node).kind is not Kind.STRING:
        return _cast(node, TIMESTAMP)
    if not isinstance(node, Literal) or not isinstance(node.value, str):
        _fail(
            at,
            f"a string cannot be compared with {typed(other).named}",
            "only a date or time written as a constant can",
        )
    try:
        value, _ = physical(dt.datetime.fromisoformat(node.value.strip()))
    except (ValueError, OverflowError):
        _fail(
            node,
            f"'{node.value[:40]}' is not {typed(other).named}",
            "write '2026-01-31' or '2026-01-31 12:30:00'",
        )
    return replace(node, value=value, type=TIMESTAMP)


def _arithmetic(node: Binary, left: Expr, right: Expr) -> Expr:
    lk, rk, op = typed(left).kind, typed(right).kind, node.op
    kinds = {lk, rk}
    if Kind.NULL in kinds and kinds <= NUMBERS | {Kind.NULL}:
        left, right = (
            _cast(left, FLOAT if lk is Kind.NULL else typed(left)),
            _cast(right, FLOAT if rk is Kind.NULL else typed(right)),
        )
        kinds = {typed(left).kind, typed(right).kind}
    if kinds <= NUMBERS:
        target = INT if kinds <= INTEGERS and op != "/" else FLOAT
        return replace(node, left=_cast(left, target), right=_cast(right, target), type=target)
    if op == "-" and kinds <= INSTANTS:
        return replace(node, left=_cast(left, TIMESTAMP), right=_cast(right, TIMESTAMP), type=DURATION)
    if (op in "+-" and lk in INSTANTS and rk is Kind.DURATION) or (
        op == "+" and lk is Kind.DURATION and rk in INSTANTS
    ):
        moved = left if lk in INSTANTS else right
        result = typed(moved) if typed(moved).kind is Kind.TIMESTAMP else TIMESTAMP
        left, right = (
            (left if lk is Kind.DURATION else _cast(left, result)),
            (right if rk is Kind.DURATION else _cast(right, result)),
        )
        return replace(node, left=left, right=right, type=_microseconds_of(result))
    if op in "+-" and kinds == {Kind.DURATION}:
        return replace(node, left=left, right=right, type=DURATION)
    if op == "*" and Kind.DURATION in kinds and kinds & INTEGERS and len(kinds) == 2:
        product = replace(node, left=_cast(left, INT), right=_cast(right, INT), type=INT)
        return Cast(product, span=node.span, type=DURATION)
    if op == "/" and kinds == {Kind.DURATION}:
        return replace(
            node, left=_cast(_cast(left, INT), FLOAT), right=_cast(_cast(right, INT), FLOAT), type=FLOAT
        )
    hint = None
    if Kind.DURATION in kinds and kinds & NUMBERS:
        hint = "a duration is added to a date, a timestamp or a duration; an integer time takes plain numbers"
    elif Kind.STRING in kinds:
        hint = "there is no arithmetic on strings"
    _fail(node, f"{op} is not defined for {typed(left).named} and {typed(right).named}", hint)


def _computed(found: Type) -> Type:
    """The type of a computed result: the kind's own width and unit, for it need not fit the data's."""
    if found.kind is Kind.TIMESTAMP:
        return _microseconds_of(found)
    return Type(found.kind, arrow=_WIDEST.get(found.kind, found.arrow))


_WIDEST = {
    Kind.INT: pa.int64(),
    Kind.UINT: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("ns"),
    Kind.DURATION: pa.duration("us"),
}


def _microseconds_of(result: Type) -> Type:
    """A computed timestamp is of microseconds, in the zone of the one it came from."""
    zone = getattr(result.arrow, "tz", None)
    return Type(Kind.TIMESTAMP, arrow=pa.timestamp("us", tz=zone))


def _is_number_list(t: Type) -> bool:
    return t.kind is Kind.LIST and t.element is not None and t.element.kind in NUMBERS


def _number_argument(node: Call, arg: Expr, *, whole: bool) -> Expr:
    """A numeric argument, as INT where the function keeps integers and the argument is one."""
    kind = typed(arg).kind
    if kind is Kind.NULL:
        return _cast(arg, FLOAT)
    if kind not in NUMBERS:
        _fail(node, f"{node.fn} needs a number, this is {typed(arg).named}")
    return _cast(arg, INT if whole and kind in INTEGERS else FLOAT)


def _rounding(node: Call, args: list[Expr]) -> Expr:
    arg = _number_argument(node, args[0], whole=True)
    if node.fn != "round":
        return replace(node, args=(arg,), type=INT)
    if len(args) == 1:
        return replace(node, args=(arg,), type=_computed(typed(arg)))
    digits = args[1]
    if not isinstance(digits, Literal) or type(digits.value) is not int or not -18 <= digits.value <= 18:
        _fail(node, "the number of digits is a whole constant from -18 to 18")
    return replace(node, args=(arg, digits), type=_computed(typed(arg)))


def _absolute(node: Call, args: list[Expr]) -> Expr:
    arg = args[0]
    if typed(arg).kind not in (Kind.DURATION, Kind.UINT):
        arg = _number_argument(node, arg, whole=True)
    return replace(node, args=(arg,), type=_computed(typed(arg)))


def _real(node: Call, args: list[Expr]) -> Expr:
    return replace(node, args=tuple(_number_argument(node, a, whole=False) for a in args), type=FLOAT)


def _choice(node: Call, args: list[Expr]) -> Expr:
    """least, greatest and coalesce: one type for all arguments."""
    kinds = {typed(a).kind for a in args} - {Kind.NULL}
    if not kinds:
        target = NULL
    elif len(kinds) == 1 and not kinds & UNORDERED:
        target = _common(node, [typed(a) for a in args if typed(a).kind in kinds])
    elif kinds <= INTEGERS:
        signed = [a for a in args if typed(a).kind is Kind.INT]
        target = UINT if all(_is_natural(a) for a in signed) else INT
    elif kinds <= NUMBERS:
        target = FLOAT
    elif kinds == {Kind.DATE, Kind.TIMESTAMP}:
        target = _microseconds_of(next(typed(a) for a in args if typed(a).kind is Kind.TIMESTAMP))
    else:
        listed = ", ".join(sorted(k.value for k in kinds))
        _fail(node, f"{node.fn} needs values of one type, here are: {listed}")
    return replace(node, args=tuple(_cast(a, target) for a in args), type=target)


def _is_natural(node: Expr) -> bool:
    """A constant that an unsigned integer holds as well."""
    return isinstance(node, Literal) and isinstance(node.value, int) and node.value >= 0


def _common(node: Call, found: list[Type]) -> Type:
    """One kind: stored as all arguments are, or else so that every value fits."""
    stored = [None if t.arrow is None else storage(t.arrow) for t in found]
    is_decimal = found[0].kind is Kind.DECIMAL
    if stored[0] is not None and len({*stored}) == 1 and not (is_decimal and stored[0].scale < 0):
        return found[0]
    if not is_decimal:
        return _computed(found[0])
    decimal = None if None in stored else common_decimal(stored)
    if decimal is None:
        _fail(
            node,
            f"{node.fn}: no decimal type of 76 digits holds all of these",
            "cast them when the data is made",
        )
    return Type(Kind.DECIMAL, arrow=decimal)


def _length(node: Call, args: list[Expr]) -> Expr:
    if typed(args[0]).kind is Kind.NULL:
        args = [_cast(args[0], STRING)]
    if typed(args[0]).kind not in (Kind.STRING, Kind.BINARY, Kind.LIST):
        _fail(node, f"length needs a string, this is {typed(args[0]).named}")
    return replace(node, args=tuple(args), type=INT)


def _correlation(node: Call, args: list[Expr]) -> Expr:
    for arg in args:
        if not _is_number_list(typed(arg)):
            _fail(node, f"corr needs two columns of lists of numbers, this is {typed(arg).named}")
    return replace(node, args=tuple(args), type=FLOAT)


_BUILTIN_RULES: dict[str, Callable[[Call, list[Expr]], Expr]] = {
    "abs": _absolute,
    "ceil": _rounding,
    "floor": _rounding,
    "round": _rounding,
    "sqrt": _real,
    "ln": _real,
    "exp": _real,
    "pow": _real,
    "least": _choice,
    "greatest": _choice,
    "coalesce": _choice,
    "length": _length,
    "corr": _correlation,
}
