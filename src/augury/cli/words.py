"""What words of the command line mean: numbers, lists of names, lengths of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from augury.cli.trouble import UsageError
from augury.time import microseconds_in

_NUMBER = re.compile(r"(\d[\d_,]*(?:\.\d+)?(?:e\d+)?)\s*([kmg]?)", re.IGNORECASE)
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


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


def microseconds_named(text: str) -> int:
    """A length of time: `30 seconds`, `5min`, `1.5 h`.

    >>> microseconds_named("30 seconds"), microseconds_named("1.5h")
    (30000000, 5400000000)
    """
    found = microseconds_in(text)
    if found is None:
        raise UsageError(f"{text!r} is no length of time; write 30 seconds, 5 minutes or 1.5 hours")
    return found


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
