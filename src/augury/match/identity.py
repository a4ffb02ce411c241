"""`match_id`: the same match has the same name in every runtime and after every replay.

A match is named by the query, the contents of its events (the columns that are read, in the physical
form of their kinds, so that a time unit or a dictionary makes no difference), variable by variable, and
its ordinal among matches that are equal in all this. Two lanes of 64 bits, column at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.expr.columns import from_arrow, physical_values
from augury.expr.tree import Expr, Param, walk
from augury.expr.types import Kind, Type
from augury.match.gather import decoded, gather, one_array
from augury.resolve import Resolved

if TYPE_CHECKING:
    from augury.match.rows import Matches, Slot

Lanes = npt.NDArray[np.uint64]  # (2, n)

_MULTIPLIERS = np.array([[0x9E3779B97F4A7C15], [0xC2B2AE3D27D4EB4F]], dtype=np.uint64)


def match_ids(found: Matches, table: pa.Table, query: Resolved) -> pa.Array:
    """One name of 32 hexadecimal signs for each match."""
    contents = event_digests(table, query, found)
    lanes = _seed(f"{query.pattern}|{query.reads}|{parameters(query)}", len(found))
    for place, slot in enumerate(found.slots):
        lanes = _mix(lanes * _MULTIPLIERS + _slot_digest(slot, contents, place))
    lanes = _mix(lanes + _ordinals(lanes))
    text = np.ascontiguousarray(lanes.T.astype(">u8")).tobytes().hex().encode()
    offsets = np.arange(len(found) + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(len(found), pa.py_buffer(offsets.tobytes()), pa.py_buffer(text))


def parameters(query: Resolved) -> str:
    """The values of the query's parameters: what its text does not say."""
    return parameters_of((*query.pattern.predicates, *(i.expr for i in query.pattern.returns or ())))


def parameters_of(exprs: Iterable[Expr]) -> str:
    """The values of the parameters in some expressions."""
    bound = {(n.name, canonical(n.value).hex()) for e in exprs for n in walk(e) if isinstance(n, Param)}
    return json.dumps(sorted(bound))


def event_digests(table: pa.Table, query: Resolved, found: Matches) -> Lanes:
    """By row a digest of what it holds in the columns that are read; of rows that no match binds, nothing."""
    is_bound = np.zeros(table.num_rows, np.bool_)
    for slot in found.slots:
        is_bound[slot.rows] = True
    bound = np.flatnonzero(is_bound)
    if len(bound) < table.num_rows:
        columns = [gather(one_array(table.column(name)), bound) for name in query.reads]
        table = pa.Table.from_arrays(columns, names=query.reads)
    digests = np.zeros((2, len(is_bound)), np.uint64)
    digests[:, bound] = value_digests(table, query.reads, query.columns.types)
    return digests


def value_digests(table: pa.Table, names: Sequence[str], types: Mapping[str, Type]) -> Lanes:
    """A digest of what each row holds in some columns: equal for equal values, nulls and NaNs alike."""
    lanes = _seed("event", table.num_rows)
    for name in names:
        values = _column_words(table.column(name), types[name])
        lanes = _mix(lanes * _MULTIPLIERS + values + _seed(name, 1))
    return lanes


def _column_words(column: pa.ChunkedArray, type_: Type) -> Lanes:
    """Each value as two words; a null has words of its own."""
    match type_.kind:
        case (
            Kind.BOOL
            | Kind.INT
            | Kind.UINT
            | Kind.FLOAT
            | Kind.DATE
            | Kind.TIMESTAMP
            | Kind.TIME
            | Kind.DURATION
        ):
            read = from_arrow(column, type_)
            values = read.values
            if type_.kind is Kind.FLOAT:
                values = np.where(np.isnan(values), np.nan, values + 0.0)
                words = values.view(np.uint64)
            else:
                words = values.astype(np.int64).view(np.uint64) if values.dtype != np.uint64 else values
            lanes = _mix(words[None, :] * _MULTIPLIERS + _seed(type_.kind.value, 1))
            if read.valid is not None:
                lanes[:, ~read.valid] = _seed("null", 1)
            return lanes
    return _hashed(column, type_)


def _hashed(column: pa.ChunkedArray, type_: Type) -> Lanes:
    """Values of any length: each distinct one is hashed once, where the type can be dictionary encoded."""
    if type_.kind in (Kind.STRING, Kind.BINARY, Kind.DECIMAL):
        encoded = decoded(column).dictionary_encode()
        distinct: list[Any] = [*encoded.dictionary.to_pylist(), None]
        codes = encoded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False)
        return _digests(distinct)[:, codes]
    return _digests(physical_values(column, type_))


def _digests(values: list[Any]) -> Lanes:
    raw = b"".join(hashlib.blake2b(canonical(v), digest_size=16).digest() for v in values)
    return np.frombuffer(raw, dtype="<u8").reshape(-1, 2).T.astype(np.uint64)


def canonical(value: Any) -> bytes:
    """Bytes that are equal for equal values and differ for others, whatever nests."""
    match value:
        case None:
            return b"n"
        case bytes():
            return b"b%d:" % len(value) + value
        case str():
            raw = value.encode()
            return b"s%d:" % len(raw) + raw
        case float():
            return b"f" + (b"nan" if value != value else repr(value + 0.0).encode())
        case dict():
            return b"{" + b"".join(canonical(v) for v in value.values()) + b"}"
        case list() | tuple():
            return b"[" + b"".join(canonical(v) for v in value) + b"]"
        case Decimal():  # 1.50 is 1.5
            plain = f"{value:f}"
            return b"v" + (plain.rstrip("0").rstrip(".") if "." in plain else plain).encode() + b";"
    return b"v" + str(value).encode() + b";"


def _slot_digest(slot: Slot, contents: Lanes, place: int) -> Lanes:
    words = contents[:, slot.rows]
    if slot.offsets is None:
        return _mix(words + _seed(f"slot {place}", 1))
    starts = slot.offsets[:-1].astype(np.int64)
    within = np.arange(len(slot.rows), dtype=np.int64) - np.repeat(starts, np.diff(slot.offsets))
    words = _mix(
        words + _mix((within + 1).astype(np.uint64)[None, :] * _MULTIPLIERS) + _seed(f"slot {place}", 1)
    )
    return np.add.reduceat(words, starts, axis=1) if len(starts) else words


def _ordinals(lanes: Lanes) -> Lanes:
    """0, 1, 2 … among equal matches, in the order in which they are reported."""
    order = np.lexsort((lanes[1], lanes[0]))
    a, b = lanes[0][order], lanes[1][order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    starts = np.flatnonzero(fresh)
    ordinal = np.empty(len(order), dtype=np.uint64)
    ordinal[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return ordinal[None, :] * _MULTIPLIERS


def _seed(word: str, n: int) -> Lanes:
    pair = np.frombuffer(hashlib.blake2b(word.encode(), digest_size=16).digest(), dtype="<u8")
    return np.repeat(pair.astype(np.uint64)[:, None], n, axis=1)


def _mix(x: Lanes) -> Lanes:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
