"""When uncompiled work is compiled after all: what is left of it is weighed against the compiler's time.

A small query never waits for a compiler, and how much work a few events make is known only when it is done. Events
that come call by call make little work at a time, and much in all: what a process has spent on a kernel adds up.
"""

from __future__ import annotations

import math

from augury.engines.generated import Source

SOON = 0.3  # seconds of uncompiled work after which the compiler is weighed
WORTH = 1.0  # seconds of it still to come for which a short kernel is compiled, and all begins again
SHORT = 200  # lines of a short kernel; the time to compile grows with the power 1.6 of them
LONG = 600  # lines from which a kernel starts uncompiled however many events there are, …
TOO_LONG = 2500  # … and from which it is never compiled: the compiler would take minutes


class Slow(Exception):  # noqa: N818  # no error: a change of mind
    """An uncompiled evaluation has more to do than its events told: compiled, from the start, it is done sooner."""


def worth_of(source: Source) -> float:
    """The seconds of work for which compiling a kernel is worth its time."""
    return WORTH * max(1.0, math.pow(source.length / SHORT, 1.6))


def reconsider(spent: float, done: float, source: Source) -> None:
    """Whether to go on uncompiled after so many seconds, this share of the work being done: else `Slow`."""
    if spent > SOON and spent * (1 - done) > worth_of(source) * done:
        raise Slow


_KNOWN = 1_000  # kernels whose work is added up; a process with more begins again
_spent: dict[str, float] = {}  # by a kernel's text, the seconds of uncompiled work on it in this process
_ready: set[str] = set()  # the texts of kernels that have run compiled in this process


def is_due(source: Source) -> bool:
    """Whether a kernel is run compiled however few the events are: it is compiled, or its work has been worth it."""
    return source.text in _ready or _spent.get(source.text, 0.0) > worth_of(source)


def is_warm() -> bool:
    """Whether something has run compiled in this process: then what all kernels share is there, or is soon."""
    return bool(_ready)


def worked(source: Source, seconds: float, *, fast: bool) -> None:
    """An evaluation is done: what it says of the next one by the same kernel."""
    if len(_spent) + len(_ready) > _KNOWN:
        _spent.clear()
        _ready.clear()
    if fast:
        _ready.add(source.text)
        _spent.pop(source.text, None)
    else:
        _spent[source.text] = _spent.get(source.text, 0.0) + seconds
