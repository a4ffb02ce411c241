"""Arrow arrays to physical values and back; every unit, width and encoding ends here.

A `Column` is what the readings compute with: one physical form for each kind (see `types`), whatever the
data stores. Numbers and times are NumPy arrays that share the Arrow buffers where they can. Texts and
decimals stay in Arrow; `Coded` keeps a dictionary, so that what is costly is done once for each distinct value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from augury.expr import types
from augury.expr.types import INT64_MAX, MICROSECONDS_PER_DAY, Kind, Type

Mask = NDArray[np.bool_]


class Coded(NamedTuple):
    """Texts by reference: `distinct[codes[row]]`. The distinct values need not be, and may hold a null."""

    codes: NDArray[np.int64]
    distinct: Any  # a large_string or large_binary array, never empty


class Lists(NamedTuple):
    """Row r has the elements offsets[r] to offsets[r + 1] of `items`."""

    offsets: NDArray[np.int64]
    items: Column


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Physical values, and which of them count: what stands at an invalid row means nothing.

    BOOL, INT, UINT, FLOAT and times are NumPy arrays; STRING and BINARY `Coded` or a large_string or
    large_binary array; DECIMAL a decimal array, or Decimals in a NumPy array where no Arrow type is known to
    hold them; LIST `Lists`; OPAQUE the Arrow array as it came.
    """

    values: Any
    valid: Mask | None = None  # None: every row

    def __len__(self) -> int:
        if isinstance(self.values, Coded):
            return len(self.values.codes)
        return len(self.values.offsets) - 1 if isinstance(self.values, Lists) else len(self.values)

    def mask(self) -> Mask:
        return np.ones(len(self), np.bool_) if self.valid is None else self.valid


NUMPY_FORMS: dict[Kind, Any] = {
    Kind.NULL: np.bool_,
    Kind.BOOL: np.bool_,
    Kind.INT: np.int64,
    Kind.UINT: np.uint64,
    Kind.FLOAT: np.float64,
    Kind.DATE: np.int64,
    Kind.TIMESTAMP: np.int64,
    Kind.TIME: np.int64,
    Kind.DURATION: np.int64,
}

_TEXTS = {Kind.STRING: pa.large_string(), Kind.BINARY: pa.large_binary()}

# What one of the unit is in the kind's own: the factor, or the divisor as a negative number.
_UNITS = {
    Kind.TIMESTAMP: {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": -1_000},
    Kind.DURATION: {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": -1_000},
    Kind.TIME: {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1},
}


def from_arrow(data: Any, of: Type) -> Column:
    """An Array or ChunkedArray in the physical form of its type."""
    chunks = data.chunks if isinstance(data, pa.ChunkedArray) else [data]
    if not chunks:
        return nulls(0, of)
    columns = [_column(chunk, of) for chunk in chunks]
    return columns[0] if len(columns) == 1 else concat(columns)


def physical_values(data: Any, of: Type) -> list[Any]:
    """An Array or ChunkedArray as the Python values that `interpret` takes."""
    return values(from_arrow(data, of), of)


def values(column: Column, of: Type) -> list[Any]:
    """A column as the Python values that `interpret` takes; null is None."""
    found = column.values
    if isinstance(found, Coded):
        distinct = found.distinct.to_pylist()
        listed = [distinct[code] for code in found.codes.tolist()]
    elif isinstance(found, Lists):
        assert of.element is not None
        items = values(found.items, of.element)
        ends = found.offsets.tolist()
        listed = [items[start:end] for start, end in pairwise(ends)]
    elif isinstance(found, np.ndarray):
        listed = found.tolist()
    else:
        listed = _opaque_values(found) if of.kind is Kind.OPAQUE else found.to_pylist()
    if column.valid is None:
        return listed
    return [v if ok else None for v, ok in zip(listed, column.valid.tolist(), strict=True)]


def from_values(found: list[Any], of: Type) -> Column:
    """The column of some Python values, in the form that `interpret` takes."""
    valid = None if None not in found else np.array([v is not None for v in found], np.bool_)
    if of.kind in NUMPY_FORMS:
        form = NUMPY_FORMS[of.kind]
        return Column(np.array([form(0) if v is None else v for v in found], form), valid)
    if of.kind in _TEXTS:
        return Column(_encoded(pa.array(found, _TEXTS[of.kind])), valid)
    if of.kind is Kind.LIST:
        assert of.element is not None
        lists = [v or () for v in found]
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return Column(Lists(offsets, from_values([v for one in lists for v in one], of.element)), valid)
    if of.kind is Kind.DECIMAL and of.arrow is None:
        decimals = np.empty(len(found), object)
        decimals[:] = [Decimal(0) if v is None else v for v in found]
        return Column(decimals, valid)
    return Column(pa.array(found, _arrow_form(of)), valid)


def spread(column: Column, rows: int) -> Column:
    """A constant's one row over all rows."""
    if len(column) == rows:
        return column
    return take(column, np.zeros(rows, np.int64))


def nulls(rows: int, of: Type) -> Column:
    """A column without a value."""
    valid = np.zeros(rows, np.bool_)
    if of.kind in NUMPY_FORMS:
        return Column(np.zeros(rows, NUMPY_FORMS[of.kind]), valid)
    if of.kind is Kind.LIST:
        assert of.element is not None
        return Column(Lists(np.zeros(rows + 1, np.int64), nulls(0, of.element)), valid)
    return Column(pa.nulls(rows, _arrow_form(of)), valid)


def concat(columns: list[Column]) -> Column:
    """The columns one below the other."""
    valid = None
    if any(c.valid is not None for c in columns):
        valid = np.concatenate([c.mask() for c in columns])
    parts = [c.values for c in columns]
    if any(isinstance(p, Coded) for p in parts):
        parts = [p if isinstance(p, Coded) else _encoded(p) for p in parts]
        starts = np.cumsum([0, *(len(p.distinct) for p in parts)])
        codes = np.concatenate([p.codes + start for p, start in zip(parts, starts, strict=False)])
        return Column(Coded(codes, pa.concat_arrays([p.distinct for p in parts])), valid)
    if isinstance(parts[0], Lists):
        starts = np.cumsum([0, *(len(p.items) for p in parts)])
        ends = [p.offsets[1:] + start for p, start in zip(parts, starts, strict=False)]
        offsets = np.concatenate([np.zeros(1, np.int64), *ends])
        return Column(Lists(offsets, concat([p.items for p in parts])), valid)
    if isinstance(parts[0], np.ndarray):
        return Column(np.concatenate(parts), valid)
    return Column(pa.concat_arrays(parts), valid)


def take(column: Column, rows: NDArray[Any]) -> Column:
    """Some rows of a column, by their numbers or by a mask."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    found = column.values
    valid = None if column.valid is None else column.valid[rows]
    if isinstance(found, Coded):
        return Column(Coded(found.codes[rows], found.distinct), valid)
    if isinstance(found, np.ndarray):
        return Column(found[rows], valid)
    if isinstance(found, Lists):
        starts, lengths = found.offsets[rows], np.diff(found.offsets)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        flat = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Column(Lists(offsets, take(found.items, flat)), valid)
    return Column(found.take(pa.array(rows)), valid)


def encoded(column: Column) -> Coded:
    """A column of texts in its coded form."""
    return column.values if isinstance(column.values, Coded) else _encoded(column.values)


def plain(column: Column) -> Any:
    """A column of texts or decimals as one Arrow array, with its nulls."""
    found = column.values
    if isinstance(found, Coded):
        found = found.distinct.take(pa.array(found.codes))
    elif isinstance(found, np.ndarray):  # decimals without an Arrow type of their own
        found = pa.array(found)
    if column.valid is None or found.null_count == int((~column.valid).sum()):
        return found
    return pc.if_else(pa.array(column.valid), found, pa.scalar(None, found.type))


def _encoded(array: Any) -> Coded:
    dictionary = array.dictionary_encode()
    if len(dictionary.dictionary) == 0:
        return Coded(np.zeros(len(array), np.int64), pa.nulls(1, array.type))
    return Coded(_buffer(dictionary.indices.fill_null(0)).astype(np.int64), dictionary.dictionary)


def _arrow_form(of: Type) -> Any:
    if of.kind in _TEXTS:
        return _TEXTS[of.kind]
    return pa.decimal128(38, 0) if of.arrow is None else types.storage(of.arrow)


def _column(array: Any, of: Type) -> Column:
    if of.kind in _TEXTS and pa.types.is_dictionary(array.type):
        coded = _from_dictionary(array, of)
        if coded is not None:
            return coded
    array = _decoded(array)
    if pa.types.is_null(array.type):
        return nulls(len(array), of)
    assert types.from_arrow(array.type).kind is of.kind, f"a {array.type} is no {of}"
    valid = _valid(array)
    if of.kind in _TEXTS:
        return Column(array.cast(_TEXTS[of.kind]), valid)
    if of.kind is Kind.LIST:
        return Column(_lists(array, of), valid)
    if of.kind is Kind.DECIMAL:
        return Column(_without_negative_scale(array), valid)
    if of.kind is Kind.OPAQUE:
        return Column(array, valid)
    stored = _buffer(array)
    if of.kind is Kind.DATE:
        stored = stored.astype(np.int64)
        return Column(stored // 86_400_000 if pa.types.is_date64(array.type) else stored, valid)
    if of.kind in _UNITS:
        return _scaled(stored.astype(np.int64, copy=False), valid, _UNITS[of.kind][array.type.unit])
    return Column(stored.astype(NUMPY_FORMS[of.kind], copy=False), valid)


def _without_negative_scale(array: Any) -> Any:
    """Arrow has decimals in hundreds, but compares none."""
    if array.type.scale >= 0:
        return array
    plain_type = types.decimal_type(array.type.precision - array.type.scale, 0)
    if plain_type is not None:
        return array.cast(plain_type)
    return from_values(array.to_pylist(), Type(Kind.DECIMAL)).values


def _scaled(stored: NDArray[np.int64], valid: Mask | None, factor: int) -> Column:
    """Into another unit: downwards by floor, upwards null where 64 bits do not hold it."""
    if factor < 0:
        return Column(stored // -factor, valid)
    if factor == 1:
        return Column(stored, valid)
    fits = (stored >= -(2**63 // factor)) & (stored <= INT64_MAX // factor)
    scaled = np.where(fits, stored, 0) * factor
    if not fits.all():
        valid = fits if valid is None else fits & valid
    return Column(scaled, valid)


def _from_dictionary(array: Any, of: Type) -> Column | None:
    """A dictionary of texts with its dictionary kept; None where that holds nothing."""
    distinct = _decoded(array.dictionary)
    if len(distinct) == 0 or pa.types.is_null(distinct.type):
        return None
    codes = _buffer(array.indices.fill_null(0)).astype(np.int64)
    return Column(Coded(codes, distinct.cast(_TEXTS[of.kind])), _valid(array))


def _decoded(array: Any) -> Any:
    """The values themselves, as `types.storage` tells their type."""
    while True:
        if pa.types.is_dictionary(array.type):
            values_, at = array.dictionary, array.indices
        elif pa.types.is_run_end_encoded(array.type):
            rows = np.arange(array.offset, array.offset + len(array))
            values_, at = array.values, pa.array(np.searchsorted(_buffer(array.run_ends), rows, side="right"))
        elif isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
            continue
        else:
            return array
        array = _takeable(values_).take(at)


def _takeable(array: Any) -> Any:
    """Arrow cannot `take` from views of texts."""
    array = _decoded(array)
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _lists(array: Any, of: Type) -> Lists:
    assert of.element is not None
    lengths = pc.list_value_length(array).fill_null(0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(_buffer(lengths), dtype=np.int64)])
    return Lists(offsets, _column(pc.list_flatten(array), of.element))


def _valid(array: Any) -> Mask | None:
    """Which rows have a value, those of a dictionary's null seen through."""
    valid: Mask = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return None if valid.all() else valid


def _buffer(array: Any) -> NDArray[Any]:
    """The values of a primitive array as they lie there, null or not: nothing is copied but booleans."""
    if len(array) == 0:
        return np.zeros(0, array.type.to_pandas_dtype() if not pa.types.is_temporal(array.type) else np.int64)
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    bare = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    found: NDArray[Any] = bare.to_numpy(zero_copy_only=False)
    return found


def _opaque_values(array: Any) -> list[Any]:
    """Nested values: a struct is a dict of physical values, a map a list of pairs, the rest Python's own."""
    t = array.type
    if pa.types.is_struct(t):
        names = [t.field(i).name for i in range(t.num_fields)]
        fields = [_any_values(column) for column in array.flatten()]
        return [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)] or [{}] * len(array)
    if pa.types.is_map(t):
        lists = array.cast(pa.list_(pa.struct([t.key_field, t.item_field])))
        pairs = list(zip(*map(_any_values, pc.list_flatten(lists).flatten()), strict=True))
        ends = np.cumsum(_buffer(pc.list_value_length(lists).fill_null(0))).tolist()
        return [pairs[start:end] for start, end in pairwise([0, *ends])]
    return list(array.to_pylist())


def _any_values(array: Any) -> list[Any]:
    return physical_values(array, types.from_arrow(array.type))


# ------------------------------------------------------------------ and back

_RESULTS = {
    Kind.NULL: pa.null(),
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.UINT: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.DECIMAL: pa.decimal256(76, 38),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIME: pa.time64("ns"),
    Kind.DURATION: pa.duration("us"),
}


def result_type(of: Type) -> Any:
    """The Arrow type of a computed result: the data's own where `check` kept it, encodings seen through."""
    stored = None if of.arrow is None else types.storage(of.arrow)
    if of.kind is not Kind.LIST:
        return _RESULTS[of.kind] if stored is None else stored
    assert of.element is not None
    element = pa.field("item", result_type(of.element))
    if stored is None:
        return pa.list_(element)
    element = stored.value_field.with_type(element.type)
    if pa.types.is_fixed_size_list(stored):
        return pa.list_(element, stored.list_size)
    is_large = pa.types.is_large_list(stored) or pa.types.is_large_list_view(stored)
    return pa.large_list(element) if is_large else pa.list_(element)


def to_arrow(column: Column, of: Type) -> Any:
    """A column as an Arrow array of `result_type(of)`."""
    target = result_type(of)
    if of.kind is Kind.NULL:
        return pa.nulls(len(column), target)
    found = column.values
    if isinstance(found, Lists):
        return _lists_to_arrow(column, of, target)
    if of.kind is Kind.OPAQUE:
        return found
    if not isinstance(found, np.ndarray):
        return plain(column).cast(target)
    invalid = None if column.valid is None else ~column.valid
    if of.kind is Kind.DATE:
        if pa.types.is_date32(target):
            return pa.array(found.astype(np.int32), pa.int32(), mask=invalid).cast(target)
        return pa.array(found * (MICROSECONDS_PER_DAY // 1000), pa.int64(), mask=invalid).cast(target)
    if of.kind in _UNITS:
        return _units_to_arrow(found, invalid, _UNITS[of.kind][target.unit], target)
    return pa.array(found, mask=invalid).cast(target)


def _units_to_arrow(found: NDArray[np.int64], invalid: Mask | None, factor: int, target: Any) -> Any:
    if factor < 0:
        column = _scaled(found, None if invalid is None else ~invalid, -factor)
        found, invalid = column.values, None if column.valid is None else ~column.valid
    else:
        found = found // factor
    stored = pa.int32() if target.bit_width == 32 else pa.int64()
    return pa.array(found, pa.int64(), mask=invalid).cast(stored).view(target)


def _lists_to_arrow(column: Column, of: Type, target: Any) -> Any:
    lists = column.values
    assert of.element is not None
    items = to_arrow(lists.items, of.element)
    if pa.types.is_fixed_size_list(target):  # a null list has its place among the items there
        rows = [
            None if not ok else items[start:end].to_pylist()
            for ok, start, end in zip(column.mask(), lists.offsets, lists.offsets[1:], strict=False)
        ]
        return pa.array(rows, target)
    invalid = None if column.valid is None else pa.array(~column.valid)
    array = pa.LargeListArray.from_arrays(pa.array(lists.offsets), items, mask=invalid)
    return array.cast(target)
