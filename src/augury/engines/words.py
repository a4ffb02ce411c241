"""Values as words: int64, the bits of a double, or a number that stands for a text, a decimal or what is nested.

The numbers are given out as values come and stay as long as their keeper: a run may hold one for any number of batches.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.programs import CODED
from augury.expr.columns import Column
from augury.expr.physical import Coded, encoded, from_arrow, plain, to_arrow, values
from augury.expr.types import Kind, Type, storage
from augury.semantics.sase import order_keys

Words = npt.NDArray[np.int64]
Nulls = npt.NDArray[np.uint8]


class Codes:
    """The numbers of values, from 0; of equal values the first one stays."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any, name: Any = None) -> int:
        """The number of a value; `name` is what it is compared by, if not by itself."""
        key = (type(value).__name__, value) if name is None else name
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(value)
        return found

    def words(self, column: Column, of: Type) -> Words:
        """The numbers of a column's values; 0, as good as any, for nulls."""
        if of.kind in (Kind.STRING, Kind.BINARY):
            coded = encoded(column)
            numbers = [0 if v is None else self.number(v) for v in coded.distinct.to_pylist()]
            return np.asarray(numbers, np.int64)[coded.codes]
        listed = values(column, of)
        if of.kind is Kind.DECIMAL:
            return np.array(
                [0 if v is None else self.number(v.normalize() if v else Decimal(0)) for v in listed],
                np.int64,
            )
        names = order_keys(_arrow(column, of))
        return np.array(
            [
                0 if v is None else self.number(v, ("nested", str(of.arrow), name[0]))
                for v, name in zip(_arrow(column, of).to_pylist(), names, strict=True)
            ],
            np.int64,
        )


def _arrow(column: Column, of: Type) -> Any:
    return column.values if of.kind is Kind.OPAQUE else to_arrow(column, of)


def words_of(column: Column, of: Type, codes: Codes) -> tuple[Words, Nulls | None]:
    """A column as words, and where it is null."""
    null = None if column.valid is None else (~column.valid).astype(np.uint8)
    if of.kind in CODED:
        return codes.words(column, of), null
    found = np.asarray(column.values)
    if of.kind is Kind.FLOAT:
        nan = np.isnan(found)
        if nan.any():  # one NaN, whatever its bits
            found = np.where(nan, np.nan, found)
        return np.ascontiguousarray(found).view(np.int64), null
    if found.dtype == np.uint64:
        return found.view(np.int64), null
    return found.astype(np.int64, copy=False), null


def column_of(words: Words, null: npt.NDArray[np.bool_] | None, of: Type, codes: Codes) -> Column:
    """Words as a column again."""
    valid = None if null is None or not null.any() else ~null
    kind = of.kind
    if kind in (Kind.STRING, Kind.BINARY):
        distinct, at = np.unique(words if valid is None else np.where(valid, words, -1), return_inverse=True)
        form = pa.large_string() if kind is Kind.STRING else pa.large_binary()
        listed = [None if w < 0 else codes.values[w] for w in distinct.tolist()] or [None]
        return Column(Coded(at.astype(np.int64).reshape(-1), pa.array(listed, form)), valid)
    if kind in CODED:
        listed = [codes.values[w] for w in words.tolist()]
        if valid is not None:
            listed = [v if ok else None for v, ok in zip(listed, valid.tolist(), strict=True)]
        stored = storage(of.arrow) if of.arrow is not None else pa.decimal256(76, 38)
        return from_arrow(pa.array(listed, stored), of)
    if kind is Kind.FLOAT:
        return Column(words.view(np.float64), valid)
    if kind is Kind.UINT:
        return Column(words.view(np.uint64), valid)
    if kind in (Kind.BOOL, Kind.NULL):
        return Column(words != 0, valid)
    return Column(words, valid)


def value_of(word: int, kind: Kind, codes: Codes) -> Any:
    """One word as `interpret` takes it."""
    if kind in CODED:
        return codes.values[word]
    if kind is Kind.FLOAT:
        return float(np.int64(word).view(np.float64))
    if kind is Kind.UINT:
        return word & 0xFFFFFFFFFFFFFFFF
    return bool(word) if kind is Kind.BOOL else word


def word_of(value: Any, kind: Kind, codes: Codes) -> int:
    """A value that is not null as a word."""
    if kind in CODED:
        if kind is Kind.DECIMAL:
            return codes.number(value.normalize() if value else Decimal(0))
        if kind in (Kind.STRING, Kind.BINARY):
            return codes.number(value)
        return codes.number(value, ("constant", repr(value)))
    if kind is Kind.FLOAT:
        return int(np.float64(np.nan if value != value else value).view(np.int64))
    if kind is Kind.UINT:
        return int(np.uint64(value).view(np.int64))
    return int(value)


def arrow_of(column: Column, of: Type) -> pa.Array:
    """A column in the Arrow type that the data has for it, its encoding included."""
    array = to_arrow(column, of) if of.kind is not Kind.DECIMAL or of.arrow is None else plain(column)
    wanted = of.arrow
    if wanted is None or array.type == wanted:
        return array
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, array.cast(wanted.storage_type))
    if pa.types.is_dictionary(wanted):
        return array.cast(wanted.value_type).dictionary_encode().cast(wanted)
    if pa.types.is_run_end_encoded(wanted):
        return pa.compute.run_end_encode(array.cast(wanted.value_type), run_end_type=wanted.run_end_type)
    return array.cast(wanted)
