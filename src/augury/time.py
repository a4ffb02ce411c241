"""The one place where times meet windows.

Time is discrete. An instant is 1 of an integer column, a day of a date, a microsecond of a timestamp,
and every window becomes a whole number W of instants: `last - first < W`. A window that is no whole
number of instants is rounded up, which says the same for whole differences.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Any

from augury.errors import QueryError, Span
from augury.expr.printing import UNITS, duration_text, quoted
from augury.expr.types import INT64_MAX, INTEGERS, MICROSECONDS_PER_DAY, Kind, Type

_INSTANTS_OF = {Kind.DATE: Decimal(MICROSECONDS_PER_DAY), Kind.TIMESTAMP: Decimal(1)}


@dataclass(frozen=True, slots=True)
class Window:
    """WITHIN: a number of instants of an integer column, or microseconds if it was given with a unit."""

    amount: Decimal
    has_unit: bool
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return duration_text(self.amount) if self.has_unit else str(self.amount)


def is_time(type_: Type) -> bool:
    return type_.kind in INTEGERS or type_.kind in _INSTANTS_OF


def instants(window: Window, time: Type, column: str) -> int:
    """The window as W for a time column of this type."""
    timed = time.kind in _INSTANTS_OF
    if timed and not window.has_unit:
        raise QueryError(
            f"WITHIN {window} has no unit, but the time column {quoted(column)} is {time.named}",
            span=window.span,
            hint=f"write WITHIN {window} {'days' if time.kind is Kind.DATE else 'seconds'}, or another unit",
        )
    if window.has_unit and not timed:
        raise QueryError(
            f"WITHIN {window} is a duration, but the time column {quoted(column)} is {time.named}",
            span=window.span,
            hint="write a plain number, such as WITHIN 500",
        )
    exact = window.amount / _INSTANTS_OF.get(time.kind, Decimal(1))
    return min(int(exact.to_integral_value(ROUND_CEILING)), INT64_MAX)


def span(given: Any, name: str, time: Type, column: str) -> int:
    """A length of time that was given as an argument, in instants: 500, "5 seconds" or a timedelta.

    >>> from augury.expr.types import INT
    >>> span(500, "lateness", INT, "ts")
    500
    """
    window = _window_of(given)
    timed = time.kind in _INSTANTS_OF
    if window is None or window.amount < 0 or window.has_unit != timed:
        example = '"5 minutes" or a timedelta' if timed else "500"
        raise QueryError(
            f"{name}={given!r} is no length of time from 0 on for the time column {quoted(column)}, "
            f"which is {time.named}",
            hint=f"write {name}={example}, say",
        )
    return instants(window, time, column)


_SPAN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*")


def _window_of(given: Any) -> Window | None:
    match given:
        case dt.timedelta():
            return Window(Decimal(given // dt.timedelta(microseconds=1)), has_unit=True)
        case str() if found := _SPAN.fullmatch(given):
            amount = UNITS.get(found[2].lower().removesuffix("s"))
            return None if amount is None else Window(Decimal(found[1]) * amount, has_unit=True)
        case int() if not isinstance(given, bool):
            return Window(Decimal(given), has_unit=False)
    return None
