"""Output events: what runs in final states, and runs whose window has passed, say of their subsequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.afa import ENDLESS, REGISTER, Ready, Takes
from augury.engines.afa import Runs, endless, no_runs
from augury.expr.columns import Column, evaluate, to_arrow, truth
from augury.expr.physical import concat, take
from augury.expr.tree import Attr
from augury.match.identity import value_digests

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Found:
    """Output events, column by column. `end` is the place of the last event in a stretch."""

    start: Ints  # the first event's id
    end: Ints
    valid_from: Ints
    first: Ints  # the earliest time: valid_to is that and the window
    registers: list[Column]
    contents: Ints | None = None  # what the events are, where they are listed

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Any) -> Found:
        return Found(
            self.start[rows],
            self.end[rows],
            self.valid_from[rows],
            self.first[rows],
            [take(c, np.arange(len(self))[rows]) for c in self.registers],
            None if self.contents is None else self.contents[rows],
        )


def no_outputs(query: Ready) -> Found:
    none = np.zeros(0, np.int64)
    return Found(none, none, none, none, no_runs(query).registers)


def accepted(found: Runs, ends: Ints, times: Ints, query: Ready) -> Found:
    """The output events of runs in final states; `ends` are their places, `times` those of their last events."""
    last = found.extras.get("last", times)
    made = Found(found.id, ends, last, found.first, found.registers, found.extras.get("list"))
    return unlike(made, query)


def unlike(found: Found, query: Ready) -> Found:
    """Those of one subsequence that end with equal registers once."""
    if len(found) < 2:
        return found
    again = (found.start[1:] == found.start[:-1]) & (found.end[1:] == found.end[:-1])
    if not again.any():
        return found
    tokens = names_of(found, query)
    _, kept = np.unique(tokens, axis=1, return_index=True)
    return found.take(np.sort(kept))


def names_of(found: Found, query: Ready) -> npt.NDArray[np.uint64]:
    """For each output event what tells it from others: its events and its registers, nulls and NaNs alike."""
    lanes = register_lanes(found.registers, query, len(found))
    words = [found.start.astype(np.int64).view(np.uint64), found.end.astype(np.int64).view(np.uint64)]
    if found.contents is not None:
        words.append(found.contents.view(np.uint64))
    return np.stack([*words, found.valid_from.view(np.uint64), *lanes])


def register_lanes(registers: Sequence[Column], query: Ready, rows: int) -> npt.NDArray[np.uint64]:
    """Registers as two words, equal for equal values."""
    if not query.registers:
        return np.zeros((2, rows), np.uint64)
    names = [f"r{n}" for n in range(len(registers))]
    arrays = [to_arrow(c, r.type) for c, r in zip(registers, query.registers, strict=True)]
    table = pa.Table.from_arrays(arrays, names=names)
    return value_digests(table, names, {n: r.type for n, r in zip(names, query.registers, strict=True)})


def at_window_end(found: Runs, query: Ready) -> tuple[Ints, list[Column]]:
    """What runs reach by arcs that wait for the window's end: the number of each run, and its registers.

    Time stands still at the last instant of each run's window, so what is reached is closed under ε arcs too.
    """
    assert query.window is not None
    instant = found.first + np.int64(query.window - 1)
    which, state, registers = np.arange(len(found)), found.state, found.registers
    kinds: tuple[Takes, ...] = (Takes.WINDOW_END,)
    seen: Any = None
    reached: list[tuple[Ints, list[Column]]] = []
    rounds = 0
    while len(which):
        parts = []
        for arc in query.arcs:
            if arc.takes not in kinds:
                continue
            good = (state == arc.source) & (instant[which] >= arc.low)
            if arc.high is not None:
                good &= instant[which] < arc.high
            if not good.any():
                continue
            rows = np.flatnonzero(good)
            leaf = _register_leaf([take(c, rows) for c in registers], query)
            if arc.when is not None:
                true = truth(evaluate(arc.when, leaf, len(rows)))
                rows = rows[true]
                leaf = _register_leaf([take(c, rows) for c in registers], query)
            if not len(rows):
                continue
            new = [
                take(c, rows) if u is None else evaluate(u, leaf, len(rows))
                for c, u in zip(registers, arc.updates, strict=True)
            ]
            parts.append((which[rows], np.full(len(rows), arc.target), new))
        if not parts:
            break
        which, state, registers = _joined(parts, query)
        lanes = register_lanes(registers, query, len(which))
        tokens = np.stack([which.view(np.uint64), state.view(np.uint64), *lanes])
        _, kept = np.unique(tokens, axis=1, return_index=True)
        if seen is not None:
            is_old = {t.tobytes() for t in np.ascontiguousarray(seen.T)}
            columns = np.ascontiguousarray(tokens.T)
            kept = np.array([k for k in kept if columns[k].tobytes() not in is_old], np.int64)
        kept = np.sort(kept)
        which, state = which[kept], state[kept]
        registers = [take(c, kept) for c in registers]
        seen = tokens[:, kept] if seen is None else np.concatenate([seen, tokens[:, kept]], axis=1)
        final = np.isin(state, list(query.final))
        reached.append((which[final], [take(c, final) for c in registers]))
        kinds = (Takes.WINDOW_END, Takes.EPSILON)
        rounds += 1
        if rounds > ENDLESS:
            raise endless()
    parts = [(w, np.zeros(len(w), np.int64), r) for w, r in reached]
    if not parts:
        return np.zeros(0, np.int64), no_runs(query).registers
    which, _, registers = _joined(parts, query)
    order = np.argsort(which, kind="stable")
    return which[order], [take(c, order) for c in registers]


def _register_leaf(registers: Sequence[Column], query: Ready) -> Callable[[Any], Column]:
    places = {r.name: n for n, r in enumerate(query.registers)}

    def leaf(node: Attr) -> Column:
        assert node.var == REGISTER
        return registers[places[node.name]]

    return leaf


def _joined(
    parts: Sequence[tuple[Ints, Ints, list[Column]]], query: Ready
) -> tuple[Ints, Ints, list[Column]]:

    return (
        np.concatenate([w for w, _, _ in parts]),
        np.concatenate([s for _, s, _ in parts]),
        [concat([r[n] for _, _, r in parts]) for n in range(len(query.registers))],
    )


def ended(found: Runs, ends: Ints, query: Ready, known: Found) -> Found:
    """The output events of runs whose window has passed; `known` are those that they gave before."""
    assert query.window is not None
    which, registers = at_window_end(found, query)
    if not len(which):
        return no_outputs(query)
    first = found.first[which]
    contents = found.extras["list"][which] if "list" in found.extras else None
    made = Found(found.id[which], ends[which], first + np.int64(query.window - 1), first, registers, contents)
    made = unlike(made, query)
    if len(known):  # an ordinary one of the same lifetime and registers is the same output event
        there = {t.tobytes() for t in np.ascontiguousarray(names_of(known, query).T)}
        tokens = np.ascontiguousarray(names_of(made, query).T)
        made = made.take(np.array([t.tobytes() not in there for t in tokens], np.bool_))
    return made


def joined(parts: Sequence[Found], query: Ready) -> Found:
    """All output events, by their last events, then their first ones."""
    start, end, valid_from, first = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("start", "end", "valid_from", "first")
    )
    registers = [concat([p.registers[n] for p in parts]) for n in range(len(query.registers))]
    whole = Found(start, end, valid_from, first, registers)
    order = np.lexsort((whole.start, whole.end))
    return whole if bool((order[1:] > order[:-1]).all()) else whole.take(order)
