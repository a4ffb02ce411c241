"""Codes for values that a kernel cannot hold: one number for each distinct text or decimal of a batch.

A `Domain` has all values of one kind that the kernel can meet, constants included, in ascending order if an
order is asked for. Then equal is equal and less is less among the codes, and a function of one value is an
array indexed by code.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import QueryError
from augury.expr import decimals, texts
from augury.expr.like import like_parts
from augury.expr.physical import Coded, Column, encoded, values
from augury.expr.types import INT64_MAX, INT64_MIN, Kind, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Texts:
    """Strings, or binaries; `recased` closes the set under lower and upper as far as they are used."""

    def __init__(
        self,
        kind: Kind,
        columns: Iterable[Column],
        constants: Iterable[Any],
        *,
        ordered: bool = True,
        recased: Iterable[str] = (),
    ) -> None:
        form = pa.large_string() if kind is Kind.STRING else pa.large_binary()
        self.kind = kind
        self._columns = list(columns)
        parts = [c.values.distinct if isinstance(c.values, Coded) else c.values for c in self._columns]
        # All are hashed once, in one go: for columns of many distinct values that is what binding costs.
        dictionary = pa.concat_arrays([pa.array(constants, form), *parts]).dictionary_encode()
        found, functions, size = dictionary.dictionary, list(recased), -1
        while functions and len(found) != size:  # upper(lower(x)) may be new: "İ"
            size = len(found)
            more = [encoded(Column(texts.recased(Column(found), fn))).distinct for fn in functions]
            found = pc.unique(pa.concat_arrays([found, *more])).drop_null()
        codes = np.asarray(dictionary.indices.fill_null(0), np.int64)
        if ordered and len(found):
            ascending = pc.array_sort_indices(found)
            ranks = np.empty(len(found), np.int64)
            ranks[ascending.to_numpy()] = np.arange(len(found))
            found, codes = found.take(ascending), ranks[codes]
        self.values: Any = found if len(found) else pa.array([b"" if kind is Kind.BINARY else ""], form)
        ends = np.cumsum([len(dictionary) - sum(map(len, parts)), *map(len, parts)])
        self._codes = [codes[start:end] for start, end in pairwise(ends.tolist())]

    def codes(self, column: Column) -> NDArray[np.int64]:
        """The codes of a column's values; 0, as good as any, where there is none."""
        for known, codes in zip(self._columns, self._codes, strict=True):
            if known is column:
                return codes[column.values.codes] if isinstance(column.values, Coded) else codes
        distinct = encoded(column)
        at = pc.index_in(distinct.distinct, value_set=self.values).fill_null(0)
        return np.asarray(at.to_numpy(zero_copy_only=False)[distinct.codes], np.int64)

    def code(self, value: Any) -> int:
        return int(pc.index_in(pa.scalar(value, self.values.type), value_set=self.values).as_py())

    def decode(self, codes: NDArray[Any]) -> Column:
        return Column(Coded(np.asarray(codes, np.int64), self.values))

    def listed(self) -> list[Any]:
        return list(self.values.to_pylist())

    def length(self) -> NDArray[np.int64]:
        return texts.length(Column(self.values))

    def recased(self, fn: str) -> NDArray[np.int64]:
        return self.codes(Column(texts.recased(Column(self.values), fn)))

    def like(self, pattern: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = texts.matcher(pattern)(self.values).to_numpy(zero_copy_only=False)
        return found

    def patterns(self) -> NDArray[np.bool_]:
        """Which are valid as patterns of LIKE."""
        return np.array([_is_pattern(v) for v in self.listed()], np.bool_)

    def utf8(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """All bytes, and where each value ends, a 0 in front."""
        data = b"".join(v.encode() for v in self.listed())
        ends = np.cumsum(pc.binary_length(self.values).to_numpy(zero_copy_only=False))
        return np.frombuffer(data or b"\0", np.uint8), np.concatenate([np.zeros(1, np.int64), ends])


def _is_pattern(text: str) -> bool:
    if "\\" not in text:
        return True
    try:
        like_parts(text)
    except QueryError:
        return False
    return True


class Decimals:
    """Decimals, whatever their digits and scales."""

    kind = Kind.DECIMAL

    def __init__(self, columns: Iterable[Column], constants: Iterable[Decimal]) -> None:
        found = set(constants)
        for column in columns:
            found.update(v for v in _distinct(column)[1] if v is not None)
        self.values = sorted(found) or [Decimal(0)]
        self._codes = {value: code for code, value in enumerate(self.values)}

    def codes(self, column: Column) -> NDArray[np.int64]:
        at, distinct = _distinct(column)
        found = np.array([0 if v is None else self._codes[v] for v in distinct], np.int64)
        return found[at]

    def code(self, value: Decimal) -> int:
        return self._codes[value]

    def decode(self, codes: NDArray[Any]) -> Column:
        found = np.empty(len(codes), object)
        found[:] = [self.values[code] for code in codes]
        return Column(found)

    def listed(self) -> list[Any]:
        return list(self.values)

    def floats(self) -> NDArray[np.float64]:
        return np.array([float(v) for v in self.values])

    def order(self, kind: Kind) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """For comparisons with integers: `whole` and `part` as `scalars.order` takes them."""
        pairs = [integer_and_part(v, kind) for v in self.values]
        form = np.int64 if kind is Kind.INT else np.uint64
        return np.array([p[0] for p in pairs], form), np.array([p[1] for p in pairs], np.int64)


def integer_and_part(value: Decimal, kind: Kind) -> tuple[int, int]:
    """The floor of a decimal, and 1 if it is above that, within a kind of integers: -1 if it is below them all."""
    low, high = (INT64_MIN, INT64_MAX) if kind is Kind.INT else (0, 2**64 - 1)
    whole, is_exact = decimals.scaled_floor(value, 0)
    if whole > high:
        return high, 1
    return (low, -1) if whole < low else (whole, 0 if is_exact else 1)


def _distinct(column: Column) -> tuple[NDArray[np.int64], list[Decimal | None]]:
    """Codes and what they stand for, as a dictionary of this column alone."""
    array = column.values
    if isinstance(array, np.ndarray):
        return np.arange(len(array)), values(column, Type(Kind.DECIMAL))
    if array.type.bit_width < 128:  # Arrow has no dictionary of these
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    dictionary = array.dictionary_encode()
    distinct = [*dictionary.dictionary.to_pylist(), None]
    return np.asarray(dictionary.indices.fill_null(len(distinct) - 1), np.int64), distinct
