"""What one shard of a stream does in a micro-batch, wherever its state is stored.

    events, by bucket ──┐
    buckets that are due ┴─> a bucket's bytes ─> matcher: advance, insert ─> changes, late events
                                    ^                   │
                                    └── bytes, due <────┘

A bucket is the state of a matcher: of all keys that live in it. Only those are read and written that have events, or
for which the frontier has come to where something is released, certain or forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.expr.types import INT64_MAX
from augury.runtime.matcher import Matcher
from augury.runtime.program import Program
from augury.runtime.stream_changes import Changing, Log, opened, packed

NEVER = INT64_MAX
COUNTED = ("events", "matches", "late_events")
Ints = npt.NDArray[np.int64]


class Store(Protocol):
    """Where the buckets' bytes are."""

    def get(self, bucket: int) -> bytes | None: ...

    def put(self, bucket: int, state: bytes) -> None: ...

    def remove(self, bucket: int) -> None: ...


@dataclass(slots=True)
class Done:
    """What came of a step."""

    changes: list[pa.Table] = field(default_factory=list)
    late: list[pa.Table] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))


@dataclass(frozen=True, slots=True)
class Shard:
    """How a shard's buckets are matched. It has no state of its own."""

    program: Program
    schema: pa.Schema  # of the events
    chained: bool  # the events are matches of a query before it, never late for this one
    changing: Changing | None = None  # how the query takes changes, if it may change

    def step(
        self,
        store: Store,
        due: Ints,
        events: dict[int, list[pa.Table]],
        frontier: int | None,
        log: Log | None = None,
    ) -> Done:
        """Take in events, and let the buckets know how far time has come. `due` is brought up to date."""
        done = Done()
        for bucket in sorted({*events, *_due_by(due, frontier)}):
            self._bucket(bucket, store, due, events.get(bucket, ()), frontier, log or Log(), done)
        return done

    def _bucket(
        self,
        bucket: int,
        store: Store,
        due: Ints,
        events: Iterable[pa.Table],
        frontier: int | None,
        log: Log,
        done: Done,
    ) -> None:
        stored = store.get(bucket)
        m, made = self._matcher(stored, log)
        m.on_late = done.late.append
        before = m.stats
        pieces = list(events)
        new = pa.concat_tables(pieces) if pieces else None
        if self.changing is not None:
            for change in log.due(frozenset(made), frontier):
                if change.made is not None and not self.chained:
                    done.changes.append(m.advance_to(change.made))
                done.changes.append(self.changing.make(m, change))
                made.append(change.version)
        if frontier is not None and not self.chained:
            done.changes.append(m.advance_to(frontier))
        if new is not None:
            done.changes.append(m.insert(new))
        if frontier is not None and self.chained:
            done.changes.append(m.advance_to(frontier))
        after = m.stats
        for name in COUNTED:
            done.counts[name] += after[name] - before[name]
        if any(after.get(name) for name in ("buffered_events", "live_runs", "partitions")):
            store.put(bucket, m.state() if self.changing is None else packed(m.state(), made))
            due[bucket] = NEVER if m.due is None else m.due
        else:
            due[bucket] = NEVER
            if stored is not None:
                store.remove(bucket)

    def _matcher(self, stored: bytes | None, log: Log) -> tuple[Matcher, list[int]]:
        """A bucket's matcher, and the versions of the changes that it has made."""
        if self.changing is None:
            return Matcher(self.program, self.schema, state=stored), []
        made, state = ([], None) if stored is None else opened(stored)
        return self.changing.matcher(state, log, made), made


def _due_by(due: Ints, frontier: int | None) -> list[int]:
    if frontier is None:
        return []
    return [int(b) for b in np.flatnonzero((due <= frontier) & (due < NEVER))]
