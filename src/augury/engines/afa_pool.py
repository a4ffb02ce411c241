"""The runs of all versions of a history, in arrays that grow; texts and decimals are numbers of what was seen.

A version is a slice of it. What no version has any more is left behind when the pool is swept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.afa import Ready
from augury.engines.afa import Runs
from augury.expr.columns import Column
from augury.expr.inputs import CODED
from augury.expr.physical import encoded, from_values, take, values
from augury.expr.types import Kind, Type

Ints = npt.NDArray[np.int64]


class Pool:
    """The runs of all versions, appended to. Texts and decimals are numbers of what is in `interned`."""

    def __init__(self, query: Ready, extras: Sequence[str]) -> None:
        self.types = [r.type for r in query.registers]
        self.extras = tuple(extras)
        self.names = ["id", "first", "state", *extras]
        self.arrays: dict[str, npt.NDArray[Any]] = {n: np.zeros(16, np.int64) for n in self.names}
        self.interned: list[Interned | None] = []
        for n, r in enumerate(query.registers):
            sample = from_values([], r.type)
            coded = r.type.kind in CODED
            self.interned.append(Interned(r.type) if coded else None)
            self.arrays[f"r{n}"] = np.zeros(16, np.int64 if coded else sample.values.dtype)
            self.arrays[f"v{n}"] = np.zeros(16, np.bool_)
        self.size = 0

    def append(self, found: Runs) -> int:
        """Put runs at the end; where they begin there."""
        at, self.size = self.size, self.size + len(found)
        if self.size > len(self.arrays["id"]):
            room = max(2 * len(self.arrays["id"]), self.size)
            self.arrays = {
                n: np.concatenate([a[:at], np.zeros(room - at, a.dtype)]) for n, a in self.arrays.items()
            }
        span = slice(at, self.size)
        for name in self.names:
            own = found.extras[name] if name in self.extras else getattr(found, name)
            self.arrays[name][span] = own
        for n, column in enumerate(found.registers):
            interned = self.interned[n]
            codes = column.values if interned is None else interned.codes(column)
            self.arrays[f"r{n}"][span] = codes
            self.arrays[f"v{n}"][span] = column.mask()
        return at

    def runs(self, rows: Any) -> Runs:
        a = self.arrays
        registers = []
        for n, interned in enumerate(self.interned):
            valid = a[f"v{n}"][rows]
            found = a[f"r{n}"][rows]
            kept = None if valid.all() else valid
            registers.append(
                Column(found, kept) if interned is None else Column(interned.column(found).values, kept)
            )
        extras = {name: a[name][rows] for name in self.extras}
        return Runs(a["id"][rows], a["first"][rows], a["state"][rows], extras, registers)

    @property
    def nbytes(self) -> int:
        """What the runs take, without what there is room for."""
        return self.size * sum(a.dtype.itemsize for a in self.arrays.values())


class Interned:
    """Texts, binaries or decimals by number, each once."""

    def __init__(self, of: Type) -> None:
        self.of = of
        self.listed: list[Any] = []
        self.known: dict[Any, int] = {}

    def codes(self, column: Column) -> Ints:
        if self.of.kind is Kind.DECIMAL:
            distinct, places = values(Column(column.values, column.valid), self.of), np.arange(len(column))
        else:
            used = encoded(column)
            which, places = np.unique(used.codes, return_inverse=True)
            distinct = used.distinct.take(pa.array(which)).to_pylist()
        found = np.zeros(len(distinct), np.int64)
        for n, value in enumerate(distinct):
            if value not in self.known:
                self.known[value] = len(self.listed)
                self.listed.append(value)
            found[n] = self.known[value]
        return found[places.reshape(-1)]

    def column(self, codes: Ints) -> Column:
        if not len(codes):
            return from_values([], self.of)
        which, places = np.unique(codes, return_inverse=True)
        distinct = from_values([self.listed[n] for n in which.tolist()], self.of)
        return take(distinct, places.reshape(-1))


@dataclass(slots=True)
class Kept:
    """What is known of each event that is kept, in order of `rank`: time, or number."""

    rank: Ints
    time: Ints
    id: Ints
    key: Ints  # its number
    lo: Ints
    hi: Ints
    finals: Ints

    def __len__(self) -> int:
        return len(self.rank)

    def take(self, rows: Any) -> Kept:
        return Kept(*(getattr(self, n)[rows] for n in KEPT))

    @classmethod
    def none(cls) -> Kept:
        return cls(*(np.zeros(0, np.int64) for _ in KEPT))

    @classmethod
    def joined(cls, parts: Iterable[Kept]) -> Kept:
        listed = list(parts)
        return cls(*(np.concatenate([getattr(p, n) for p in listed]) for n in KEPT))


KEPT = ("rank", "time", "id", "key", "lo", "hi", "finals")
