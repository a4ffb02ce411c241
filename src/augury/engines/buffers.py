"""The input buffers: for each slot the events that it may bind as far as they tell by themselves, in stream order.

    masks ─> buf: the candidates of slot 0, then of slot 1, …      starts: where each slot's begin
    absences in gaps ─> absent: events that break one, gap by gap  absent_at: where each gap's begin

Kernel indices ascend within a partition and from one to the next, so one array serves all partitions: what a window
holds is a range of it, and no range of a window leaves its partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines.batch import Batch, dense
from augury.engines.compiling import compiled
from augury.engines.kernels import order as sorting
from augury.engines.kernels.search import reach_ends

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Buffers:
    """Candidates by slot, and what narrows their scopes."""

    buf: Ints
    starts: npt.NDArray[np.int64]
    absent: Ints
    absent_at: npt.NDArray[np.int64]  # empty where nothing is absent between neighbours

    @property
    def slots(self) -> int:
        return len(self.starts) - 1

    def of(self, slot: int) -> Ints:
        """A slot's candidates."""
        return self.buf[self.starts[slot] : self.starts[slot + 1]]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many candidates each slot has."""
        return np.diff(self.starts)


def buffers_of(masks: Sequence[Mask], gaps: Mapping[int, Mask]) -> Buffers:
    """Buffers of masks in kernel order; `gaps`: the events that must not stand between a slot and the next one."""
    found = [np.flatnonzero(mask).astype(np.int32) for mask in masks]
    starts = np.concatenate([[0], np.cumsum([len(f) for f in found])]).astype(np.int64)
    absent: list[Ints] = [np.empty(0, np.int32)]
    absent_at = np.zeros(len(masks) if gaps else 0, np.int64)
    if gaps:
        absent.extend(
            np.flatnonzero(gaps[g]).astype(np.int32) if g in gaps else absent[0]
            for g in range(len(masks) - 1)
        )
        absent_at[1:] = np.cumsum([len(a) for a in absent[1:]])
    return Buffers(np.concatenate(found), starts, np.concatenate(absent), absent_at)


def ends_of(batch: Batch, *, windowed: bool, fast: bool) -> Ints:
    """For each event the first one behind it that is in no window with it."""
    if not windowed:
        return np.repeat(batch.segments[1:], np.diff(batch.segments)).astype(np.int32)
    ends = np.empty(len(batch), np.int32)
    if fast:
        compiled(reach_ends)(batch.lows, batch.segments, ends)
    else:
        reach_ends(batch.lows.tolist(), batch.segments.tolist(), ends)
    return ends


@dataclass(frozen=True, slots=True)
class Index:
    """A slot's candidates by the value of a column: which of them have the value that another slot's event has."""

    buf: Ints  # candidates by value, then in stream order
    at: npt.NDArray[np.int64]  # by value: where they begin
    of: Ints  # by kernel index of the other slot's event: its value's number, -1 for none

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.buf, self.at, self.of)


def index_of(
    those: Ints,
    values: npt.NDArray[Any],
    null: Mask | None,
    others: Ints,
    other: tuple[Any, Mask | None],
    *,
    fast: bool,
) -> Index:
    """An index over candidates by their values, for the values of another column at other events.

    Values are numbers by kernel index. A null or a NaN equals nothing.
    """
    words, known = _words(values, null, those)
    other_words, other_known = _words(other[0], other[1], others)
    ids, groups = dense(np.concatenate([words, other_words]), fast=fast)
    own, rest = ids[: len(words)].copy(), ids[len(words) :].copy()
    own[~known] = -1
    rest[~other_known] = -1
    if fast:
        order = np.empty(int((own >= 0).sum()), np.int64)
        at = compiled(sorting.group)(own, groups, order)
    else:
        order = np.argsort(own, kind="stable")[int((own < 0).sum()) :]
        at = np.concatenate([[0], np.cumsum(np.bincount(own[order], minlength=groups))]).astype(np.int64)
    numbers = np.full(len(values), -1, np.int32)
    numbers[others] = rest
    return Index(those[order], at, numbers)


def _words(values: npt.NDArray[Any], null: Mask | None, those: Ints) -> tuple[npt.NDArray[np.int64], Mask]:
    """The values at these events as words, equal for equal values, and which have one."""
    found = values[those]
    known = np.ones(len(found), np.bool_) if null is None else ~null[those]
    if found.dtype.kind == "f":
        found = found + 0.0  # -0.0 is 0.0
        known &= ~np.isnan(found)
        return found.view(np.int64), known
    return (found.view(np.int64) if found.dtype.itemsize == 8 else found.astype(np.int64)), known
