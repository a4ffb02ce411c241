"""The one place where times meet windows.

Time is discrete. An instant is 1 of an integer column, a day of a date, a microsecond of a timestamp,
and every window becomes a whole number W of instants: `last - first < W`. A window that is no whole
number of instants is rounded up, which says the same for whole differences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

from augury.errors import QueryError, Span
from augury.expr.printing import duration_text, quoted
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


# ------------------------------------------------------------------ lengths of time in words

_UNITS = {
    "us": 1, "microsecond": 1, "ms": 10**3, "millisecond": 10**3, "s": 10**6, "sec": 10**6, "second": 10**6,
    "min": 60 * 10**6, "minute": 60 * 10**6, "h": 3600 * 10**6, "hour": 3600 * 10**6, "d": 86400 * 10**6,
    "day": 86400 * 10**6, "w": 7 * 86400 * 10**6, "week": 7 * 86400 * 10**6,
}  # fmt: skip


def microseconds_in(text: str) -> int | None:
    """A length of time as an argument has it: `30 seconds`, `5min`, `1.5 h`; None if it is none.

    >>> microseconds_in("30 seconds"), microseconds_in("1.5h"), microseconds_in("soon")
    (30000000, 5400000000, None)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower(), re.ASCII)
    unit = None if found is None else _UNITS.get(found[2], _UNITS.get(found[2].removesuffix("s")))
    return None if found is None or unit is None else int(Decimal(found[1]) * unit)
