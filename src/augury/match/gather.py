"""Some rows of an array, for every type that Arrow has.

Arrow's own `take` knows neither views of strings nor run-end encoded arrays, nor what nests them; polars
sends every string as a view.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rows = npt.NDArray[np.int64]


def gather(array: Any, rows: Rows) -> Any:
    """The array's values at these rows, in the array's own type."""
    t = pa.types
    kind = array.type
    if arrow_takes(kind):
        return array.take(pa.array(rows))
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(gather(array.storage, rows))
    if t.is_string_view(kind) or t.is_binary_view(kind):
        plain = pa.large_string() if t.is_string_view(kind) else pa.large_binary()
        return array.cast(plain).take(pa.array(rows)).cast(kind)
    if t.is_run_end_encoded(kind):
        return _run_ends(array, rows)
    if t.is_struct(kind):
        fields = [gather(array.field(i), rows) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=_missing(array, rows))
    if t.is_list(kind) or t.is_large_list(kind):
        return _lists(array, rows)
    values = array.to_pylist()  # maps, views of lists and lists of a fixed size that hold such values
    return pa.array([values[row] for row in rows], kind)


def decoded(column: Any) -> Any:
    """The values themselves, as one array of a type that all of Arrow's kernels know."""
    whole = one_array(column)
    t = pa.types
    while True:
        kind = whole.type
        if isinstance(kind, pa.BaseExtensionType):
            whole = whole.storage
        elif t.is_dictionary(kind):
            whole = decoded(whole.dictionary).take(whole.indices)
        elif t.is_run_end_encoded(kind):
            runs = _runs(whole, np.arange(len(whole)))
            whole = decoded(whole.values).take(pa.array(runs))
        elif t.is_string_view(kind) or t.is_binary_view(kind):
            return whole.cast(pa.large_string() if t.is_string_view(kind) else pa.large_binary())
        elif t.is_decimal32(kind) or t.is_decimal64(kind):
            return whole.cast(pa.decimal128(kind.precision, kind.scale))
        else:
            return whole


def in_one_chunk(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """The table with these columns in one chunk each: done once, not for each piece of a result."""
    for name in names:
        place = table.schema.get_field_index(name)
        column = table.column(place)
        if column.num_chunks != 1:
            table = table.set_column(place, table.schema.field(place), one_array(column))
    return table


def one_array(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        return column.chunk(0)  # combine_chunks would copy it
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # an extension, or more than one array can hold
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    return whole


def arrow_takes(kind: pa.DataType) -> bool:
    """Whether Arrow's `take` knows the type, and all that is nested in it."""
    t = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return arrow_takes(kind.storage_type)
    if t.is_dictionary(kind):  # the dictionary stays as it is
        return True
    if t.is_string_view(kind) or t.is_binary_view(kind) or t.is_run_end_encoded(kind):
        return False
    if not t.is_nested(kind):
        return True
    return all(arrow_takes(kind.field(i).type) for i in range(kind.num_fields))


def _missing(array: Any, rows: Rows) -> Any:
    return array.is_null().take(pa.array(rows))


def _run_ends(array: Any, rows: Rows) -> Any:
    """Each row's run is found, and the values are encoded anew."""
    values = gather(array.values, _runs(array, rows))
    try:
        return pc.run_end_encode(values, run_end_type=array.type.run_end_type)
    except pa.ArrowNotImplementedError:  # nested values: a run for each row says the same
        runs = pa.array(np.arange(1, len(rows) + 1), array.type.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(runs, values, array.type)


def _runs(array: Any, rows: Rows) -> Rows:
    """The run in which each row lies."""
    return np.searchsorted(array.run_ends.to_numpy() - array.offset, rows, side="right")


def _lists(array: Any, rows: Rows) -> Any:
    """The elements of the chosen lists, laid one behind the other."""
    offsets = array.offsets.to_numpy()
    present = array.is_valid().to_numpy(zero_copy_only=False)[rows]
    starts = np.where(present, offsets[:-1][rows], 0)
    lengths = np.where(present, (offsets[1:] - offsets[:-1])[rows], 0)
    ends = np.cumsum(np.concatenate([[0], lengths]))
    flat = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
    values = gather(array.values, flat)
    made = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
    width = pa.int64() if pa.types.is_large_list(array.type) else pa.int32()
    return made.from_arrays(pa.array(ends, width), values, type=array.type, mask=pa.array(~present))


def no_rows(schema: Any) -> Any:
    """A table of these columns without rows; Arrow's own way to make one does not know nested extensions."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def rows_of_table(table: Any, rows: Rows) -> Any:
    """Some rows of a table."""
    columns = [gather(one_array(column), rows) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)
