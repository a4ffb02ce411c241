"""Who waits for long work may watch it: an engine tells how many of how many events are behind it.

A watcher only sees. It is kept apart from the arguments of an evaluation, because nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """What is evaluated in the block tells `by` how far it is: events done, and events in all."""
    token = _watcher.set(by)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(done: int, total: int) -> None:
    """Called by engines now and then, not for each event."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(done, total)
