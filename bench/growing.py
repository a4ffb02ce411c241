"""How much of a stream a system gets through in the time that it is given.

Some baselines cannot finish: they are asked about the stream's first events, then about four times as many, and so on,
as long as the time that it takes is likely to stay within the budget. What they are judged by is the largest
part, and the record says how large it was and why it was no larger.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]

STEP = 4


def part(
    rows: int, first: int, budget: float, run: Callable[[int], object], *, least: float = 0.0
) -> tuple[int, float]:
    """The most of the rows that `run` does within the budget of seconds, and what that took.

    Below `least` seconds a run says nothing about a larger one, so it goes on.
    """
    size, before = min(first, rows), float("inf")
    while True:
        begun = time.perf_counter()
        run(size)
        took = time.perf_counter() - begun
        growth = max(STEP, took / before)  # within the first window the cost of an event grows
        if size == rows or (took > least and growth * took > budget):
            return size, took
        size, before = min(STEP * size, rows), max(took, 1e-9)


def bounded(record: Record, size: int, rows: int, budget: float) -> Record:
    """What the record says of a part: nothing, if it is the whole."""
    if size == rows:
        return record
    words = f"the first {size:,} of {rows:,} events: more were likely to take more than {budget:g} s"
    return record | {"of_events": rows, "bounded": words}
