"""Which plan finds the signatures with the least work: how many partial matches each order would make.

Counts tell it: a slot's candidates, how many of them lie within reach of one event, and how many values an equality
test leaves them. Under skip_till_next the pattern's order is special: only there is what surely comes later left out
at each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from augury.engines.imprecise.events import Events


@dataclass(frozen=True, slots=True)
class Chosen:
    plan: str
    because: str
    work: Mapping[str, float] = field(default_factory=dict)  # partial matches, by plan


def chosen(events: Events) -> Chosen:
    """The plan for these events."""
    size = events.question.size
    orders = {
        "sorted": tuple(range(size)),
        "selective": tuple(sorted(range(size), key=lambda k: len(events.slots[k]))),
    }
    work = {plan: _work(events, order) for plan, order in orders.items()}
    if events.question.next:
        # What another order finds is walked once more along its beginnings.
        work["selective"] = work["selective"] + min(work.values())
    plan = min(work, key=lambda p: work[p])
    if work["sorted"] <= 1.2 * work[plan]:
        plan = "sorted"
    counts = ", ".join(str(len(slot)) for slot in events.slots)
    return Chosen(plan, f"of candidates there are {counts} by component", work)


def _work(events: Events, order: tuple[int, ...]) -> float:
    """How many partial matches an order makes, if candidates are spread evenly over time."""
    times, window = events.times, events.question.window
    if not len(events):
        return 0.0
    span = float(times.upper.max() - times.lower.min() + 1)
    width = float((times.upper - times.lower + 1).mean())
    reach = span if window < 0 else min(span, window + 2 * width)
    groups = float(events.group[-1] + 1)
    live = float(len(events.slots[order[0]]))
    total = live
    for depth in range(1, len(order)):
        slot = order[depth]
        matching = len(events.slots[slot]) / groups * reach / span
        for terms in events.classes:
            if slot in terms and any(k in terms for k in order[:depth]):
                matching /= max(1, int(terms[slot].max()) + 1)
        if window < 0 or depth == len(order) - 1:
            matching /= 2
        live *= matching
        total += live
    return total
