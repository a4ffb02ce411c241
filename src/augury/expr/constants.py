"""Constants: what a text or a parameter says, as the physical value of its kind, and as that of another kind."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any, Self

from augury.errors import QueryError
from augury.expr.tree import Literal, Param
from augury.expr.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    INT64_MAX,
    INT64_MIN,
    MICROSECONDS_PER_DAY,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    decimal_type,
)

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # instants are UTC without saying so


def convert(value: Any, source: Kind, target: Kind) -> Any:
    """What a Cast means for a value that is not null; None where it does not fit."""
    match target:
        case Kind.FLOAT:
            return float(value)
        case Kind.DECIMAL:
            return Decimal(value)
        case Kind.INT:
            return value if INT64_MIN <= value <= INT64_MAX else None
        case Kind.TIMESTAMP if source is Kind.DATE:
            return in_range(value * MICROSECONDS_PER_DAY)
    return value  # DURATION and INT share their form


def in_range(value: int) -> int | None:
    """An integer, or None where 64 bits do not hold it."""
    return value if INT64_MIN <= value <= INT64_MAX else None


def constant(node: Literal) -> Literal:
    if node.kind == "constant":
        return node
    types = {"null": NULL, "bool": BOOL, "int": INT, "number": FLOAT, "string": STRING, "duration": DURATION}
    value: Any = node.value
    if node.kind == "number":
        value = Written(node.value)
    elif node.kind == "int" and value > INT64_MAX:
        return Literal("constant", value, span=node.span, type=UINT)
    return Literal("constant", value, span=node.span, type=types[node.kind])


class Written(float):
    """A number as the text has it: a double that remembers its digits, for when a decimal meets it."""

    exact: Decimal

    def __new__(cls, exact: Any) -> Self:
        self = super().__new__(cls, exact)
        self.exact = exact
        return self


def bound(node: Param) -> Literal:
    """The constant that a parameter stands for."""
    value, kind = physical(node.value)
    if kind is None:
        raise QueryError(
            f"parameter :{node.name} is a {type(node.value).__name__}, which is no value of a query",
            span=node.span,
            hint="bind a number, a string, a boolean, a date, a datetime or a timedelta"
            + ("; a list goes into IN (:name)" if isinstance(node.value, list | tuple) else ""),
        )
    if kind is INT and not INT64_MIN <= value <= INT64_MAX:
        kind = UINT
        if not 0 <= value < 2**64:
            raise QueryError(f"parameter :{node.name} does not fit in 64 bits", span=node.span)
    return Literal("constant", value, slot=node.slot, span=node.span, type=kind)


def physical(value: Any) -> tuple[Any, Type | None]:
    """A Python value in its kind's physical form, and its type; (value, None) for what is no scalar."""
    match value:
        case None:
            return None, NULL
        case bool():
            return value, BOOL
        case int():
            return value, INT
        case float():
            return value, FLOAT
        case Decimal() if value.is_finite():
            return value, _decimal(value)
        case Decimal():
            return (math.nan if value.is_nan() else float(value)), FLOAT
        case str():
            return value, STRING
        case bytes():
            return value, Type(Kind.BINARY)
        case dt.datetime():
            zone = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            return microseconds(zone - EPOCH), TIMESTAMP
        case dt.date():
            return (value - EPOCH.date()).days, Type(Kind.DATE)
        case dt.timedelta():
            return microseconds(value), DURATION
    return value, None


def _decimal(value: Decimal) -> Type:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return Type(Kind.DECIMAL, arrow=decimal_type(len(digits) + exponent, -exponent))


def microseconds(delta: dt.timedelta) -> int:
    return delta // dt.timedelta(microseconds=1)
