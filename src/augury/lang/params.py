"""Parameters: `:name` in a text is bound to a value, which stays a value and never becomes text.

A value is kept in one form, whatever library it came from, so that a query that went through JSON is
equal to the one before and names its matches alike.
"""

from __future__ import annotations

import base64
import datetime as dt
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from augury.errors import QueryError, Span
from augury.expr.printing import quoted
from augury.expr.tree import Expr, Param, rewrite, walk
from augury.expr.types import INT64_MAX, INT64_MIN, MICROSECONDS_PER_DAY


def bound(exprs: Sequence[Expr], params: Mapping[str, Any]) -> list[Expr]:
    """The expressions with their parameters bound, every value used."""
    found = [node for e in exprs for node in walk(e) if isinstance(node, Param)]
    names = {node.name for node in found}
    spare = sorted(set(params) - names)
    for node in found:
        if node.name not in params:
            raise _unbound(node, spare)
    if spare:
        near = difflib.get_close_matches(spare[0], sorted(names), n=1)
        known = f"did you mean {near[0]}? " if near else ""
        raise QueryError(
            f"there is no parameter :{quoted(spare[0])} in the query",
            hint=f"{known}write :{quoted(spare[0])} where the value goes",
        )
    values = {node.name: canonical(node.name, params[node.name], node.span) for node in found}

    def bind(node: Expr) -> Expr:
        return replace(node, value=values[node.name]) if isinstance(node, Param) else node

    return [rewrite(e, bind) for e in exprs]


def bound_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The values as trees hold them."""
    return {name: canonical(name, value) for name, value in params.items()}


def _unbound(node: Param, spare: list[str]) -> QueryError:
    near = difflib.get_close_matches(node.name, spare, n=1)
    hint = f"give it one: ag.sase(text, {node.name}=…)"
    if near:
        hint = f"a value was given for {near[0]}; did you mean :{near[0]}?"
    elif not node.name.isidentifier():
        hint = f"give it one: ag.sase(text, **{{{node.name!r}: …}})"
    return QueryError(f"the parameter :{quoted(node.name)} has no value", span=node.span, hint=hint)


def canonical(name: str, given: Any, span: Span | None = None) -> Any:
    """A value in its one form: Python's own types, an instant in UTC, a list as a tuple."""
    value = _python(given)
    if isinstance(value, AbstractSet):
        items = [_scalar(name, v, span) for v in value]
        return tuple(sorted(items, key=repr))  # a set of strings has another order in every process
    if isinstance(value, list | tuple | range):
        return tuple(_scalar(name, v, span) for v in value)
    return _scalar(name, value, span)


_NUMPY_TIMES = {"M": "datetime64[us]", "m": "timedelta64[us]"}


def _python(value: Any) -> Any:
    """What NumPy, Arrow, pandas and polars hold, as Python's own."""
    if isinstance(value, np.ndarray | np.generic):
        # NumPy itself would make plain integers of nanoseconds.
        unit = _NUMPY_TIMES.get(value.dtype.kind)
        return (value if unit is None else value.astype(unit)).tolist()
    for reader in ("as_py", "to_pylist", "to_list"):
        if hasattr(value, reader):
            return getattr(value, reader)()
    return value


_LONGEST_DAYS = INT64_MAX // MICROSECONDS_PER_DAY


def _scalar(name: str, given: Any, span: Span | None) -> Any:
    value = _python(given)
    match value:
        case None | bool():
            return value
        case int() if INT64_MIN <= value < 2**64:
            return int(value)
        case float():
            return math.nan if math.isnan(value) else float(value)
        case str() if not any("\ud800" <= c <= "\udfff" for c in value):
            return str.__str__(value)
        case bytes() | bytearray():
            return bytes(value)
        case Decimal() if value.is_finite() and _is_bounded(value):
            return Decimal(value)
        case dt.datetime() | dt.timedelta() if _is_not_a_time(value):
            return None
        case dt.datetime():
            return _instant(name, value, span)
        case dt.date():
            return dt.date(value.year, value.month, value.day)
        case dt.timedelta() if abs(value.days) < _LONGEST_DAYS:
            return dt.timedelta(value.days, value.seconds, value.microseconds)
    what, hint = _refused(value)
    raise QueryError(
        f"the parameter :{quoted(name)} is bound to {what}, which no query computes with",
        span=span,
        hint=hint,
    )


_MOST_DIGITS = 100  # Arrow's longest decimals have 76
_FARTHEST = 400  # from the point: beyond what a double holds on either side


def _is_bounded(value: Decimal) -> bool:
    """Whether it can be written out: Decimal("1E+999999999") is a short text and a number that fills a memory."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return len(digits) <= _MOST_DIGITS and -_FARTHEST <= exponent <= _FARTHEST


def _is_not_a_time(value: Any) -> bool:
    """Whether this is pandas' NaT, which calls itself a datetime."""
    return bool(value != value)


def _refused(value: Any) -> tuple[str, str]:
    match value:
        case str():
            return "a string with half a character in it", "decode it anew"
        case int():
            return "an integer that does not fit in 64 bits", "bind a float or a Decimal"
        case dt.timedelta():
            return "a timedelta that does not fit in 64 bits", "the longest has 292000 years"
        case Decimal() if value.is_finite():
            return "a Decimal that is too long to write out", (
                f"it has at most {_MOST_DIGITS} digits, and an exponent from -{_FARTHEST} to {_FARTHEST}"
            )
        case Decimal():
            return f"a Decimal that is {value}", "bind a float for values that are not finite"
        case list() | tuple() | range() | AbstractSet():
            return "a list of lists", "bind one list for IN (:name)"
    hint = "bind a number, a string, a boolean, a date, a datetime, a timedelta, or a list for IN (:name)"
    return f"a {type(value).__name__}", hint


def _instant(name: str, value: dt.datetime, span: Span | None) -> dt.datetime:
    plain = dt.datetime.combine(dt.date(value.year, value.month, value.day), value.timetz())
    if plain.utcoffset() is None:
        return plain.replace(tzinfo=None, fold=0)
    try:
        return plain.astimezone(dt.UTC).replace(fold=0)
    except OverflowError:
        raise QueryError(
            f"the parameter :{quoted(name)} is bound to a datetime that has no place in UTC",
            span=span,
            hint="the years are 1 to 9999",
        ) from None


# ------------------------------------------------------------------ values of parameters in JSON

_KINDS: tuple[tuple[str, type, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    ("datetime", dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    ("date", dt.date, dt.date.isoformat, dt.date.fromisoformat),
    (
        "microseconds",
        dt.timedelta,
        lambda v: v // dt.timedelta(microseconds=1),
        lambda n: dt.timedelta(microseconds=n),
    ),
    ("decimal", Decimal, str, Decimal),
    ("float", float, repr, float),
    ("bytes", bytes, lambda v: base64.b64encode(v).decode(), lambda s: base64.b64decode(s, validate=True)),
)


def encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [encoded(v) for v in value]
    for name, type_, encode, _ in _KINDS:
        if isinstance(value, type_):
            return {name: encode(value)}
    return value


def decoded_value(value: Any) -> Any:
    """A parameter's value, which may be a list of values."""
    return [decoded(v) for v in value] if isinstance(value, list) else decoded(value)


def decoded(value: Any) -> Any:
    if isinstance(value, list):
        raise QueryError("this JSON holds no query: a parameter is a list of lists")
    if isinstance(value, dict):
        for name, _, _, decode in _KINDS:
            if value.keys() == {name}:
                try:
                    return decode(value[name])
                except (ValueError, TypeError, ArithmeticError):
                    break
        raise QueryError(
            f"this JSON holds no query: {value!r} is no value", hint="from_json reads what to_json wrote"
        )
    return value
