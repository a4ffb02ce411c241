"""The one history of an engine that follows one run at a time: its events, first to last."""

from __future__ import annotations

from typing import Any

import numpy as np


def gather_path(path: Any, path_slot: Any, depth: int, slot: int) -> Any:
    """The events that the path binds to one slot, first to last."""
    first = 0
    while first < depth and path_slot[first] != slot:
        first += 1
    last = first
    while last < depth and path_slot[last] == slot:
        last += 1
    events = np.empty(last - first, np.int64)
    for k in range(first, last):
        events[k - first] = path[k]
    return events
