"""A table as kernels see it: partitions one after another, each in stream order, and the windows' bounds.

    rows ─ partition ids ─┬─ stream order (time, then ties) ─> order: kernel index -> row
                          └─ segments: where each partition begins

Small tables are ordered by NumPy, large ones by counting passes that are compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engines.compiling import compiled
from augury.engines.kernels import order as sorting
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MAX, INT64_MIN, Kind, storage
from augury.match.gather import decoded
from augury.match.rows import taken
from augury.resolve import Resolved
from augury.semantics import sase as semantics

Ints = npt.NDArray[np.int64]

COMPILED_FROM = 100_000  # rows from which a compiled kernel is worth its start


@dataclass(frozen=True, slots=True)
class Batch:
    """Events ready for a kernel. Arrays are indexed by kernel index, but for `order` itself."""

    order: Ints  # the table's row
    segments: Ints  # of each partition, and the end
    times: Ints
    lows: npt.NDArray[np.int32]  # the first event in a window with this one
    breaks: npt.NDArray[np.bool_] | None  # the event before in the key's stream is in another partition

    def __len__(self) -> int:
        return len(self.order)


def prepare(
    table: pa.Table, query: Resolved, partition: tuple[str, ...], *, breaks: bool, fast: bool
) -> Batch:
    """Order and partition the events. Rows that no partition holds (a null in an [attr]) are left out."""
    times = _times(table, query)
    key, keys = _ids(table, query, query.roles.key, nulls_apart=False, fast=fast)
    ids, groups = _ids(table, query, partition, nulls_apart=True, fast=fast)
    if partition:
        ids, groups = _joined(key, ids, groups, fast=fast)
    else:
        ids, groups = key, keys
    stream = _stream_order(times, fast=fast)
    order, segments = _grouped(ids, groups, stream, fast=fast)
    order = _ties_resolved(order, segments, times, table, query, fast=fast)
    ordered = times[order]
    lows = np.empty(len(order), np.int32)
    if query.window is None:
        lows[:] = np.repeat(segments[:-1], np.diff(segments))
    else:
        bound = compiled(sorting.window_lows) if fast else sorting.window_lows
        bound(
            ordered if fast else ordered.tolist(), segments if fast else segments.tolist(), query.window, lows
        )
    gaps = None
    if breaks:
        gaps = _breaks(order, key, keys, times, table, query, stream, fast=fast)
    return Batch(order, segments, ordered, lows, gaps)


def _times(table: pa.Table, query: Resolved) -> Ints:
    read = from_arrow(table.column(query.roles.time), query.columns.types[query.roles.time])
    return np.ascontiguousarray(read.values, dtype=np.int64)


def _stream_order(times: Ints, *, fast: bool) -> Ints | None:
    """Rows by time, stable; None where they are so already."""
    if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
        return None
    if not fast:
        return np.argsort(times, kind="stable")
    order = np.arange(len(times), dtype=np.int64)
    compiled(sorting.radix_order)(times.view(np.uint64) ^ np.uint64(1 << 63), order, np.empty_like(order))
    return order


def _grouped(ids: Ints, groups: int, stream: Ints | None, *, fast: bool) -> tuple[Ints, Ints]:
    """Rows by partition, each in stream order, and where partitions begin."""
    if groups == 1 and (len(ids) == 0 or ids.min() >= 0):
        order = np.arange(len(ids), dtype=np.int64) if stream is None else stream
        return order, np.array([0, len(ids)], np.int64)
    kept = int((ids >= 0).sum())
    order = np.empty(kept, np.int64)
    if fast:
        if stream is None:
            return order, compiled(sorting.group)(ids, groups, order)
        return order, compiled(sorting.group_in)(ids, groups, stream, order)
    rows = np.arange(len(ids)) if stream is None else stream
    rows = rows[ids[rows] >= 0]
    order = rows[np.argsort(ids[rows], kind="stable")]
    return order, np.concatenate([[0], np.cumsum(np.bincount(ids[order], minlength=groups))]).astype(np.int64)


# ------------------------------------------------------------------ partitions


def _ids(
    table: pa.Table, query: Resolved, names: tuple[str, ...], *, nulls_apart: bool, fast: bool
) -> tuple[Ints, int]:
    """A number for each row's values in these columns, and how many numbers there are.

    Nulls and NaNs are values like others for a key; for [attr] tests they are in no partition: -1.
    """
    ids = np.zeros(table.num_rows, np.int64)
    groups = 1
    for name in names:
        words, nulls = _words(table.column(name), query, name, nan_is_null=nulls_apart)
        new, count = dense(words, fast=fast)
        if nulls is not None:
            new = np.where(nulls, -1 if nulls_apart else count, new)
            count += 1
        if groups == 1 and not nulls_apart:
            ids, groups = new, count
            continue
        ids, groups = _joined(ids, new, count, fast=fast)
    return ids, groups


def _words(
    column: pa.ChunkedArray, query: Resolved, name: str, *, nan_is_null: bool
) -> tuple[Ints, npt.NDArray[np.bool_] | None]:
    """Values as int64 words, equal for equal values, and which are null."""
    kind = query.columns.types[name].kind
    if kind in (Kind.STRING, Kind.BINARY, Kind.DECIMAL):
        encoded = decoded(column).dictionary_encode()
        codes = encoded.indices
        nulls = np.asarray(codes.is_null()) if codes.null_count else None
        return codes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), nulls
    if kind is Kind.NULL:
        return np.zeros(len(column), np.int64), np.ones(len(column), np.bool_)
    read = from_arrow(column, query.columns.types[name])
    null = None if read.valid is None else ~read.valid
    values = read.values
    if kind is Kind.FLOAT:
        values = values + 0.0  # -0.0 is 0.0
        nan = np.isnan(values)
        if nan.any():
            if nan_is_null:
                null = nan if null is None else null | nan
            values[nan] = np.nan  # one NaN, whatever its bits
        return values.view(np.int64), null
    return values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(np.int64), null


def dense(words: Ints, *, fast: bool) -> tuple[Ints, int]:
    """Equal words as equal numbers from 0; small ranges are numbered by subtraction."""
    if len(words) == 0:
        return words, 1
    low, high = int(words.min()), int(words.max())
    if high - low <= 4 * len(words) + 64:
        return words - low, high - low + 1
    if not fast:
        distinct, ids = np.unique(words, return_inverse=True)
        return ids.astype(np.int64), len(distinct)
    size = 1 << max(4, (2 * len(words)).bit_length())
    ids = np.empty(len(words), np.int64)
    table = np.empty(size, np.int64), np.full(size, -1, np.int64)
    return ids, int(compiled(sorting.dense_ids)(words, *table, ids))


def _joined(ids: Ints, new: Ints, count: int, *, fast: bool) -> tuple[Ints, int]:
    """One number for a pair of numbers; what either leaves out (-1) is left out."""
    out = (ids < 0) | (new < 0)
    joined, groups = dense(np.where(out, 0, ids * np.int64(count) + new), fast=fast)
    return np.where(out, np.int64(-1), joined), groups


def _breaks(
    order: Ints,
    key: Ints,
    keys: int,
    times: Ints,
    table: pa.Table,
    query: Resolved,
    stream: Ints | None,
    *,
    fast: bool,
) -> npt.NDArray[np.bool_]:
    """Where the event before, in the whole stream of the key, is not the one before in the partition."""
    whole, key_segments = _grouped(key, keys, stream, fast=fast)
    whole = _ties_resolved(whole, key_segments, times, table, query, fast=fast)
    place = np.empty(len(times), np.int64)
    place[whole] = np.arange(len(whole))
    at = place[order]
    gaps = np.ones(len(order), np.bool_)
    gaps[1:] = at[1:] != at[:-1] + 1
    return gaps


# ------------------------------------------------------------------ ties


def _ties_resolved(
    order: Ints, segments: Ints, times: Ints, table: pa.Table, query: Resolved, *, fast: bool
) -> Ints:
    """Events of one partition and time ordered by tiebreak, then by what else is read."""
    if len(order) < 2:
        return order
    ordered = times[order]
    tied = ordered[1:] == ordered[:-1]
    inner = segments[1:-1]
    tied[inner[(inner > 0) & (inner < len(order))] - 1] = False
    if not tied.any():
        return order
    member = np.zeros(len(order), np.bool_)
    member[1:] |= tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    rows = order[places]
    starts = np.concatenate([[True], ~tied])[places]
    leading = dict.fromkeys([query.roles.time, *query.roles.tiebreak])
    names = [*leading, *(n for n in query.reads if n not in leading)]
    ranked = [rank(pa.chunked_array([taken(table.column(n), rows)])) for n in names]
    words = [coarse for coarse, _ in ranked] + [fine for _, fine in ranked if fine is not None]
    result = order.copy()
    if fast:
        begins = np.append(np.flatnonzero(starts), len(rows))
        place, spare = np.arange(len(rows)), np.empty(len(rows), np.int64)
        compiled(sorting.sort_runs)(np.stack(words), begins, place, spare)
        result[places] = rows[place]
    else:
        result[places] = rows[np.lexsort([*reversed(words), np.cumsum(starts)])]
    return result


def rank(column: pa.ChunkedArray) -> tuple[Ints, Ints | None]:
    """Values as numbers in their order, nulls first and NaN last, and what tells equals apart."""
    stored = storage(column.type)
    if pa.types.is_nested(stored) or pa.types.is_interval(stored) or pa.types.is_null(stored):
        keys = semantics.order_keys(column)
        # The second numbers are compared only where the first are equal.
        return _places([k for k, _ in keys]), _places(keys)
    plain = decoded(column)
    null = np.asarray(plain.is_null()) if plain.null_count else None
    fine = None
    if stored in (pa.timestamp("ns", getattr(stored, "tz", None)), pa.duration("ns")):
        # An instant is a microsecond: what lies below only tells equals apart.
        fine = plain.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        words = fine // 1000
    elif pa.types.is_floating(stored):
        values = plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
        fine = np.where(values == 0, -np.signbit(values).astype(np.int64), 0)
        words = _float_words(values)
    elif pa.types.is_integer(stored) and stored != pa.uint64():
        words = plain.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    elif pa.types.is_temporal(stored):
        width = pa.int32() if stored.bit_width == 32 else pa.int64()
        words = plain.cast(width).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    else:  # each distinct value has its place among them
        encoded = plain.dictionary_encode()
        ranks = pc.rank(encoded.dictionary, sort_keys="ascending", tiebreaker="dense")
        words = ranks.cast(pa.int64()).take(encoded.indices).fill_null(0).to_numpy(zero_copy_only=False)
    return _nulls_first(words, null), fine


def _float_words(values: Any) -> Ints:
    """The bits of floats, turned so that they are in the order of the values; -0.0 is 0.0, NaN the last."""
    values = values + 0.0
    bits = values.view(np.int64)
    words: Ints = bits ^ ((bits >> np.int64(63)) & np.int64(INT64_MAX))
    words[np.isnan(values)] = INT64_MAX
    return words


def _nulls_first(words: Ints, null: npt.NDArray[np.bool_] | None) -> Ints:
    if null is None:
        return words
    if int(words.min()) == INT64_MIN:  # no number is left below: number them anew, from 1 on
        words = np.unique(words, return_inverse=True)[1].astype(np.int64) + 1
    words = words.copy()
    words[null] = INT64_MIN
    return words


def _places(keys: list[tuple[Any, ...]]) -> Ints:
    """For each key its place among the distinct ones."""
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], np.int64)
