"""When a match is certain, if events up to some instant are known and no earlier one can come any more.

    by its last event    once that is known; with a trailing negation where matches of one event are reported
                         together, once nothing can break any of them: W later
    by its first event   once the window of that has passed: for `longest`, and for a trailing negation

Everything a matcher and Spark's streams decide about time is here and in `time.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.engines.eager import Share
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.resolve import Resolved

BEFORE_ALL = INT64_MIN - 1  # bounds are Python's integers: they may lie beyond the 64 bits that times have


@dataclass(frozen=True, slots=True)
class Certainty:
    """Whose time says when a match is certain, and how long after that."""

    by_first: bool
    delay: int | None  # None: only at the end of the stream
    window: int | None
    lookback: bool  # a leading negation: events before the first one matter

    def settled(self, frontier: int | None) -> int:
        """The latest time of a first or last event whose matches are certain before the frontier; None: the end."""
        if frontier is None:
            return INT64_MAX
        if self.delay is None:
            return BEFORE_ALL
        return frontier - (0 if self.by_first else 1) - self.delay

    def share(self, done: int, settled: int) -> Share:
        """The matches that have become certain since all up to `done` were."""
        bounds = (done + 1, settled)
        return Share(starts=bounds) if self.by_first else Share(ends=bounds)

    def due(self, time: int) -> int:
        """The frontier at which what has its first or last event at a time is certain."""
        return (
            INT64_MAX
            if self.delay is None
            else min(INT64_MAX, time + self.delay + (0 if self.by_first else 1))
        )

    @property
    def waits(self) -> bool:
        """Whether matches become certain though no event comes."""
        return self.by_first or self.delay != 0

    @property
    def reach(self) -> int | None:
        """How long before the frontier an event may lie that a match to come can need; None: at any time."""
        if self.window is None:
            return None
        delayed = self.delay if self.delay and not self.by_first else 0
        return self.window + delayed + (self.window if self.lookback and self.by_first else 0)

    def needed_after(self, frontier: int) -> int:
        """Matches that are not certain yet need only events later than this time."""
        return BEFORE_ALL if self.reach is None else frontier - self.reach

    def expires(self, time: int) -> int:
        """The frontier from which an event of this time is of no use."""
        return INT64_MAX if self.reach is None else min(INT64_MAX, time + self.reach)


def certainty(query: Resolved, output: str) -> Certainty:
    """When matches of a query are certain."""
    components = query.pattern.components
    trailing, lookback = components[-1].negated, components[0].negated
    window = query.window
    if output == "longest" or (output == "all" and trailing):
        return Certainty(True, window, window, lookback)
    return Certainty(False, window if trailing else 0, window, lookback)
