"""Matches to rows: gather the bound events, column by column.

    Matches (positions in the ordered table) + computed items ─> the columns of `output_schema`

Engines give positions only. Whatever an engine computed for RETURN comes in as finished columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.expr.tree import Agg, Attr, Expr, Name, typed
from augury.expr.types import UNORDERED, storage
from augury.match.gather import gather, one_array
from augury.match.identity import match_ids
from augury.resolve import Resolved

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slot:
    """The events of one positive variable in all matches: one each, or a list each."""

    rows: Rows
    offsets: npt.NDArray[np.int32] | None = None  # of a Kleene variable

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """How many events each match has here."""
        return np.ones(len(self.rows), np.int32) if self.offsets is None else np.diff(self.offsets)

    @property
    def first(self) -> Rows:
        return self.rows if self.offsets is None else self.rows[self.offsets[:-1]]

    @property
    def last(self) -> Rows:
        return self.rows if self.offsets is None else self.rows[self.offsets[1:] - 1]


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches column by column: a slot for each positive component."""

    slots: tuple[Slot, ...]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def nbytes(self) -> int:
        return sum(s.rows.nbytes + (0 if s.offsets is None else s.offsets.nbytes) for s in self.slots)

    @property
    def first(self) -> Rows:
        return self.slots[0].first

    @property
    def last(self) -> Rows:
        return self.slots[-1].last


def from_bindings(bound: Sequence[tuple[tuple[int, ...], ...]], query: Resolved) -> Matches:
    """Matches given one by one, as the definition has them."""
    slots = []
    for place, c in enumerate(query.pattern.positives):
        rows = np.array([row for b in bound for row in b[place]], dtype=np.int64)
        offsets = None
        if c.kleene:
            offsets = np.zeros(len(bound) + 1, dtype=np.int32)
            np.cumsum([len(b[place]) for b in bound], out=offsets[1:])
        slots.append(Slot(rows, offsets))
    return Matches(tuple(slots))


def joined(pieces: Sequence[Matches], query: Resolved) -> Matches:
    """All pieces as one."""
    slots = []
    for place, c in enumerate(query.pattern.positives):
        rows = np.concatenate([np.empty(0, np.int64), *(p.slots[place].rows for p in pieces)])
        offsets = None
        if c.kleene:
            lengths = np.concatenate([np.zeros(1, np.int64), *(p.slots[place].lengths for p in pieces)])
            offsets = np.cumsum(lengths).astype(np.int32)
        slots.append(Slot(rows, offsets))
    return Matches(tuple(slots))


def flat(found: Matches) -> tuple[Rows, Rows]:
    """Every match's events one after another, and where those of each slot end: (match, slot)."""
    lengths = np.stack([s.lengths for s in found.slots], axis=1).astype(np.int64)
    ends = np.cumsum(lengths).reshape(lengths.shape)
    events = np.empty(int(lengths.sum()), np.int64)
    for place, slot in enumerate(found.slots):
        starts = ends[:, place] - lengths[:, place]
        before = np.cumsum(lengths[:, place]) - lengths[:, place]
        events[np.repeat(starts - before, lengths[:, place]) + np.arange(len(slot.rows))] = slot.rows
    return events, ends


def rows_of(
    found: Matches,
    table: pa.Table,
    query: Resolved,
    schema: pa.Schema,
    computed: dict[int, pa.Array],
    time: pa.ChunkedArray,
) -> pa.Table:
    """The rows of the result. `computed` holds the items of RETURN that are no plain references."""
    columns: dict[str, pa.Array] = {}
    ends = {"match_start": taken(time, found.first), "match_end": taken(time, found.last)}
    if "match_id" in schema.names:
        columns["match_id"] = match_ids(found, table, query)
    if query.items is None:
        for name in query.roles.key:
            columns[name] = key_column(taken(table.column(name), found.first))
        columns.update(ends)
        for c, slot in zip(query.pattern.positives, found.slots, strict=True):
            columns[c.var] = events(table, slot)
    else:
        columns.update(ends)
        for place, item in enumerate(query.items):
            array = computed[place] if place in computed else referenced(item.expr, found, table, query)
            columns[item.name or ""] = array
    arrays = [_of_type(columns[f.name], f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def counted_rows(
    rows: Rows, counts: pa.Array, table: pa.Table, query: Resolved, schema: pa.Schema
) -> pa.Table:
    """A row for each event that completes matches."""
    arrays = [taken(table.column(query.roles.time), rows)]
    arrays.extend(key_column(taken(table.column(k), rows)) for k in query.roles.key)
    return pa.Table.from_arrays([*arrays, counts], schema=schema)


COUNT = pa.decimal128(38, 0)


def counts_of_words(words: Rows) -> pa.Array:
    """Numbers as decimals: one word each, or two and, if the third is not 0, too large to know.

    A count that 38 digits do not hold is null.
    """
    low = words[:, 0].astype(np.uint64)
    high = np.zeros_like(low)
    valid = np.ones(len(low), np.bool_)
    if words.shape[1] > 1:
        high = words[:, 1].astype(np.uint64)
        top, rest = np.uint64(10**38 >> 64), np.uint64(10**38 & (2**64 - 1))
        valid = (words[:, 2] == 0) & ((high < top) | ((high == top) & (low < rest)))
    values = pa.py_buffer(np.stack([low, high], axis=1).tobytes())
    mask = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(COUNT, len(low), [None if valid.all() else mask, values])


def is_plain(expr: Expr) -> bool:
    """Whether an item of RETURN is gathered, not computed: of nested values the first and last are, too."""
    match expr:
        case Agg(fn="first" | "last", arg=Attr()):
            return typed(expr).kind in UNORDERED
    return isinstance(expr, Name | Attr)


def referenced(expr: Expr, found: Matches, table: pa.Table, query: Resolved) -> pa.Array:
    """A variable's events, or one attribute of them."""
    assert isinstance(expr, Name | Attr | Agg)
    var = expr.name if isinstance(expr, Name) else expr.var
    slot = found.slots[[c.var for c in query.pattern.positives].index(var)]
    if isinstance(expr, Name):
        return events(table, slot)
    if isinstance(expr, Agg):
        assert isinstance(expr.arg, Attr)
        return taken(table.column(expr.arg.name), slot.first if expr.fn == "first" else slot.last)
    column = table.column(expr.name)
    match expr.at.value:
        case "[]":
            return as_list(taken(column, slot.rows), slot)
        case "[LEN]":
            return taken(column, slot.last)
    return taken(column, slot.first)


def events(table: pa.Table, slot: Slot) -> pa.Array:
    """The whole events of a variable, as structs or lists of structs."""
    columns = [taken(column, slot.rows) for column in table.columns]
    structs = pa.StructArray.from_arrays(columns, fields=list(table.schema))
    return as_list(structs, slot)


def as_list(values: pa.Array, slot: Slot) -> pa.Array:
    if slot.offsets is None:
        return values
    return pa.ListArray.from_arrays(pa.array(slot.offsets, pa.int32()), values)


def taken(column: pa.ChunkedArray, rows: Rows) -> pa.Array:
    """The column's values at these rows, as one array."""
    return gather(one_array(column), rows)


def key_column(column: pa.Array) -> pa.Array:
    """Keys as they are compared: -0.0 is 0.0."""
    kind = column.type
    if not pa.types.is_floating(storage(kind)):
        return column
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            column.indices, key_column(column.dictionary), ordered=kind.ordered
        )
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(column.run_ends, key_column(column.values), kind)
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(key_column(column.storage))
    if pa.types.is_float16(kind):  # which Arrow does not add
        values = column.fill_null(0).to_numpy(zero_copy_only=False) + np.float16(0)
        return pa.array(values, kind, mask=column.is_null().to_numpy(zero_copy_only=False))
    return pc.add(column, pa.scalar(0.0, kind))


def _of_type(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    return array if array.type == wanted else array.cast(wanted)
