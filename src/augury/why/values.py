"""Physical values as a person reads them: times as times, spans with their unit."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from augury.errors import one_line
from augury.expr.printing import duration_text
from augury.expr.types import MICROSECONDS_PER_DAY, Kind, Type

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # shown as it is stored


def shown_value(value: Any, of: Type) -> str:
    """A value in the physical form of its type."""
    if value is None:
        return "null"
    match of.kind:
        case Kind.DATE | Kind.TIMESTAMP:
            return shown_instant(value, of.kind)
        case Kind.DURATION:
            return shown_span(value, Kind.TIMESTAMP)
        case Kind.STRING:
            return one_line("'" + str(value).replace("'", "''") + "'")
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.FLOAT:
            return f"{value:.10g}" if isinstance(value, float) else str(value)
    return one_line(str(value))


def shown_instant(value: int, kind: Kind) -> str:
    """An instant of a time column."""
    step = {Kind.DATE: MICROSECONDS_PER_DAY, Kind.TIMESTAMP: 1}.get(kind)
    if step is None:
        return str(value)
    try:
        found = _EPOCH + dt.timedelta(microseconds=value * step)
    except OverflowError:
        return str(value)
    return f"{found:%Y-%m-%d}" if kind is Kind.DATE else str(found)


def shown_span(instants: int, kind: Kind) -> str:
    """So many instants of a time column: `13 minutes 5 seconds`."""
    step = {Kind.DATE: MICROSECONDS_PER_DAY, Kind.TIMESTAMP: 1}.get(kind)
    if step is None:
        return str(instants)
    left, parts = abs(instants) * step, []
    for size in (MICROSECONDS_PER_DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1):
        many, left = divmod(left, size)
        if many:
            parts.append(duration_text(Decimal(many * size)))
    return ("-" if instants < 0 else "") + (" ".join(parts) or "no time")
