"""What evaluations cost: the measures of the papers, in counts that are the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Measures:
    """Sums and peaks over evaluations."""

    events: int = 0
    batch_evaluations: int = 0  # of predicates that an event decides by itself
    run_evaluations: int = 0  # of those that a run and an event decide
    peak_runs: int = 0
    peak_waiting_runs: int = (
        0  # of a lazy plan: partial matches that a stream would have wait for events to come
    )
    lazy_evaluations: int = 0  # of tables or slices that a lazy plan was taken for
    runs_merged: int = 0
    runs_begun: int = 0  # by events that begin the first component
    run_steps: int = 0  # over all events of the runs that are alive after it, in its partition
    nodes: int = 0
    peak_nodes: int = 0
    peak_buffered_events: int = 0
    peak_bytes: int = 0
    events_read: int = 0
    counts_beyond: int = 0  # rows of counts that 38 digits do not hold

    def add(self, other: Measures) -> None:
        """What one more evaluation cost: peaks stay peaks, the rest is summed."""
        for f in fields(self):
            known, new = getattr(self, f.name), getattr(other, f.name)
            setattr(self, f.name, max(known, new) if f.name.startswith("peak_") else known + new)
