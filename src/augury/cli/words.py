"""What words of the command line mean: numbers, lists of names, lengths of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from augury.cli.trouble import UsageError

_NUMBER = re.compile(r"(\d[\d_,]*(?:\.\d+)?(?:e\d+)?)\s*([kmg]?)", re.IGNORECASE)
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_UNITS = {
    "us": 1, "microsecond": 1, "ms": 10**3, "millisecond": 10**3, "s": 10**6, "sec": 10**6, "second": 10**6,
    "min": 60 * 10**6, "minute": 60 * 10**6, "h": 3600 * 10**6, "hour": 3600 * 10**6, "d": 86400 * 10**6,
    "day": 86400 * 10**6, "w": 7 * 86400 * 10**6, "week": 7 * 86400 * 10**6,
}  # fmt: skip


def rows_named(text: str) -> int:
    """A number of rows: `1000`, `1e6`, `10M`, `1_000_000`.

    >>> rows_named("1e6"), rows_named("2.5M"), rows_named("1,000")
    (1000000, 2500000, 1000)
    """
    found = _NUMBER.fullmatch(text.strip())
    if found:
        number = Decimal(found[1].replace("_", "").replace(",", "")) * _TIMES[found[2].lower()]
        if number == int(number) and number < 10**15:
            return int(number)
    raise UsageError(f"{text!r} is no number of rows; write 1000, 1e6 or 10M")


def number_named(text: str, option: str) -> float:
    """A number above 0: `60`, `0.5`, `1e3`.

    >>> number_named("1e3", "--speed")
    1000.0
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UsageError(f"{option} {text!r} is no number above 0")
    return found


def microseconds_named(text: str) -> int:
    """A length of time: `30 seconds`, `5min`, `1.5 h`.

    >>> microseconds_named("30 seconds"), microseconds_named("1.5h")
    (30000000, 5400000000)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower())
    unit = None if found is None else _UNITS.get(found[2], _UNITS.get(found[2].rstrip("s")))
    if found is None or unit is None:
        raise UsageError(f"{text!r} is no length of time; write 30 seconds, 5 minutes or 1.5 hours")
    return int(Decimal(found[1]) * unit)


def listed(words: Sequence[str]) -> str:
    """Words between commas; of many the first twenty.

    >>> listed(["ts", "kind"])
    'ts, kind'
    """
    return ", ".join(words[:20]) + (f", … ({len(words):,} in all)" if len(words) > 20 else "")


def names_in(given: list[str] | None) -> list[str]:
    """Column names, each option holding one or several between commas; backticks keep a comma.

    >>> names_in(["user,device", "`a,b`"])
    ['user', 'device', 'a,b']
    """
    found = [
        quoted or plain for text in given or [] for quoted, plain in re.findall(r"`([^`]+)`|([^,`]+)", text)
    ]
    return [name.strip() for name in found if name.strip()]
