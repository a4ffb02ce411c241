"""Small questions that a kernel asks about its runs."""

from __future__ import annotations

import math


def same_float(x: float, y: float) -> bool:
    """Equal as a register's value: nothing that a query computes can tell them apart."""
    if x != x or y != y:
        return x != x and y != y
    return x == y and (x != 0.0 or math.copysign(1.0, x) == math.copysign(1.0, y))
