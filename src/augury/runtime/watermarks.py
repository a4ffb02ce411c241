"""Spark's watermark and the instants of a query's time column: what the one says about the other.

    time column ─ as microseconds ─> watermark (milliseconds) ─ as an instant, minus a lag ─> frontier of the matchers

An integer n is the instant of n microseconds, a date its midnight in UTC, a timestamp without a zone one of UTC. A
watermark of 0 is none. It has a grain of a millisecond, so a lateness is rounded up to that: what is final is so a
little later, and nothing else changes.
"""

from __future__ import annotations

import pyarrow as pa

from augury.expr.types import INT64_MAX, MICROSECONDS_PER_DAY

MILLISECOND = 1000  # microseconds


def microseconds(type_: pa.DataType) -> int:
    """How many microseconds an instant of a time column is."""
    return MICROSECONDS_PER_DAY if pa.types.is_date(type_) else 1


def milliseconds(span: int, type_: pa.DataType) -> int:
    """A number of instants as the delay of a watermark, in whole milliseconds."""
    return -(-span * microseconds(type_) // MILLISECOND)


def frontier(watermark: int, lag: int, type_: pa.DataType) -> int | None:
    """The first instant that is not before a watermark (ms) less a lag (microseconds); None: there is no watermark yet."""
    if watermark <= 0:
        return None
    return -(-(watermark * MILLISECOND - lag) // microseconds(type_))


def watermark_for(instant: int, lag: int, type_: pa.DataType) -> int:
    """The lowest watermark whose frontier is at an instant or after it."""
    least = (instant - 1) * microseconds(type_) + 1  # in microseconds: what is rounded up to the instant
    return max(1, min(-(-(least + lag) // MILLISECOND), INT64_MAX))


def in_microseconds(name: str, type_: pa.DataType) -> str:
    """SQL for a time column as microseconds, whatever the session's zone."""
    t = pa.types
    if t.is_date(type_):
        return f"cast(unix_date({name}) AS bigint) * {MICROSECONDS_PER_DAY}L"
    if t.is_timestamp(type_) and type_.tz is None:
        # What Spark offers for a timestamp without a zone goes through the session's, but for its parts.
        day = f"cast(unix_date(cast({name} AS date)) AS bigint) * {MICROSECONDS_PER_DAY}L"
        seconds = f"cast(extract(SECOND FROM {name}) * 1000000 AS bigint)"
        return f"({day} + hour({name}) * 3600000000L + minute({name}) * 60000000L + {seconds})"
    if t.is_timestamp(type_):
        return f"unix_micros({name})"
    return f"cast({name} AS bigint)"
