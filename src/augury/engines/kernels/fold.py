"""Aggregates of lists that lie one after another: in stream order, as the definition folds them."""

from __future__ import annotations

from typing import Any

Array = Any


def sum_floats(values: Array, valid: Array, starts: Array, ends: Array, total: Array, count: Array) -> None:
    for m in range(len(starts)):
        t = 0.0
        n = 0
        for k in range(starts[m], ends[m]):
            if valid[k]:
                t = t + values[k]
                n += 1
        total[m] = t
        count[m] = n


def sum_integers(values: Array, valid: Array, starts: Array, ends: Array, total: Array, count: Array) -> None:
    """An overflow stays one: count is then -1."""
    for m in range(len(starts)):
        t = 0
        n = 0
        for k in range(starts[m], ends[m]):
            if valid[k] and n >= 0:
                v = values[k]
                if (v > 0 and t > 9223372036854775807 - v) or (v < 0 and t < -9223372036854775808 - v):
                    n = -1
                    t = 0
                else:
                    t = t + v
                    n += 1
        total[m] = t
        count[m] = n


def least_places(values: Array, valid: Array, starts: Array, ends: Array, place: Array) -> None:
    """Where the first of the least values is; NaN is above all; -1 where there is none."""
    for m in range(len(starts)):
        best = -1
        for k in range(starts[m], ends[m]):
            if valid[k]:
                v = values[k]
                if best < 0 or (v == v and (v < values[best] or values[best] != values[best])):
                    best = k
        place[m] = best


def greatest_places(values: Array, valid: Array, starts: Array, ends: Array, place: Array) -> None:
    for m in range(len(starts)):
        best = -1
        for k in range(starts[m], ends[m]):
            if valid[k]:
                v = values[k]
                top = values[best] if best >= 0 else v
                if best < 0 or (top == top and (v != v or v > top)):
                    best = k
        place[m] = best
