"""CESAR between tables and words: rows to events in order of their ends, results to rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.levels import Batch, Found, Levels
from augury.engines.words import Codes, Words, arrow_of, column_of, words_of
from augury.expr.columns import Column, from_arrow, to_arrow
from augury.expr.physical import encoded, from_values, take
from augury.expr.types import Kind, Type
from augury.resolve_cesar import Span, Typed, key_in_front, output_schema
from augury.schema import Columns
from augury.semantics import cesar as semantics

Ints = npt.NDArray[np.int64]


class Keys:
    """The keys that have come, by numbers."""

    def __init__(self, types: Sequence[Type], codes: Codes) -> None:
        self.types = types
        self.codes = codes
        self.known: list[tuple[tuple[int, bool], ...]] = []
        self._numbers: dict[tuple[tuple[int, bool], ...], int] = {}

    def numbers(self, columns: Sequence[Column], rows: int) -> Ints:
        """The number of each row's key: nulls are one value, NaNs one, -0.0 is 0.0."""
        if not columns:
            return np.zeros(rows, np.int64)
        ids = np.zeros(rows, np.int64)
        parts: list[tuple[Words, npt.NDArray[np.bool_]]] = []
        for column, of in zip(columns, self.types, strict=True):
            if of.kind is Kind.FLOAT:
                column = Column(column.values + 0.0, column.valid)  # noqa: PLW2901
            words, null = words_of(column, of, self.codes)
            nulls = np.zeros(rows, np.bool_) if null is None else null != 0
            words = np.where(nulls, 0, words)
            parts.append((words, nulls))
            new = np.unique(words, return_inverse=True)[1].reshape(-1) * 2 + nulls
            ids = np.unique(ids * (2 * rows + 2) + new, return_inverse=True)[1].reshape(-1)
        firsts = np.unique(ids, return_index=True)[1]
        of_id = np.zeros(len(firsts), np.int64)
        for place, row in enumerate(firsts.tolist()):
            name = tuple((int(w[row]), bool(n[row])) for w, n in parts)
            if name not in self._numbers:
                self._numbers[name] = len(self.known)
                self.known.append(name)
            of_id[place] = self._numbers[name]
        return of_id[ids]

    def column(self, place: int, numbers: Ints) -> Column:
        """One column of keys by their numbers."""
        distinct, at = np.unique(numbers, return_inverse=True)
        parts = [self.known[n][place] for n in distinct.tolist()]
        words = np.array([w for w, _ in parts], np.int64)
        null = np.array([n for _, n in parts], np.bool_)
        return take(column_of(words, null, self.types[place], self.codes), at.reshape(-1))


def times_of(table: pa.Table, columns: Columns, span: Span) -> tuple[Ints, Ints]:
    """Starts and ends, of rows that have both."""
    start, end = (
        np.ascontiguousarray(from_arrow(table.column(n), columns.types[n]).values, dtype=np.int64)
        for n in (span.start, span.end)
    )
    return start, end


class Reader:
    """Rows of tables as batches for `Levels`."""

    def __init__(self, columns: Columns, span: Span, levels: Levels) -> None:
        self.columns = columns
        self.span = span
        self.levels = levels
        self.keys = Keys([columns.types[k] for k in span.key], levels.codes)

    def batch(self, table: pa.Table) -> Batch:
        """The rows of streams that somebody reads, in order of their ends."""
        types, span = self.columns.types, self.span
        if span.type is None:
            stream = np.zeros(table.num_rows, np.int64)
        else:
            stream = self._streams(table.column(span.type))
        start, end = times_of(table, self.columns, span)
        rows = None
        if len(stream) and stream.min() < 0:
            rows = np.flatnonzero(stream >= 0)
            end = end[rows]
        if len(end) and bool((end[1:] < end[:-1]).any()):
            order = np.argsort(end, kind="stable")
            rows = order if rows is None else rows[order]
            end = end[order]
        if rows is not None:
            stream, start = stream[rows], start[rows]
        known: dict[str, Column] = {}

        def column(name: str) -> Column:
            if name not in known:
                found = from_arrow(table.column(name), types[name])
                known[name] = found if rows is None else take(found, rows)
            return known[name]

        key = self.keys.numbers([column(k) for k in span.key], len(end))
        return Batch(column, stream, start, end, key)

    def _streams(self, column: pa.ChunkedArray) -> Ints:
        """The number of each row's stream, -1 for one that nobody reads."""
        types = from_arrow(column, self.columns.types[self.span.type or ""])
        form = encoded(types)
        numbers = [self.levels.types.get(t, -1) for t in form.distinct.to_pylist()]
        found = np.array(numbers, np.int64)[form.codes]
        return found if types.valid is None else np.where(types.valid, found, -1)


class Writer:
    """Results of `Levels` as Arrow columns."""

    def __init__(self, columns: Columns, span: Span, levels: Levels, keys: Keys) -> None:
        self.columns = columns
        self.span = span
        self.levels = levels
        self.keys = keys

    def tables(self, found: Iterable[Found]) -> list[tuple[Ints, pa.Table]]:
        """For each piece and each layout the numbers of the queries, by row, and the rows."""
        pieces = []
        for piece in found:
            for layout in np.unique(piece.layout).tolist():
                rows = np.flatnonzero(piece.layout == layout)
                pieces.append((piece.query[rows], self._rows(piece, rows, self.levels.layouts[layout])))
        return pieces

    def _rows(self, piece: Found, rows: Ints, attrs: Mapping[str, Type]) -> pa.Table:
        span, results = self.span, piece.results
        arrays: dict[str, Any] = {}
        for place, (name, of) in enumerate(attrs.items()):
            column = column_of(results.regs[rows, place], results.null[rows, place], of, self.levels.codes)
            arrays[name] = arrow_of(column, of)
        for place, name in enumerate(span.key):
            if name not in arrays:
                of = self.columns.types[name]
                arrays[name] = arrow_of(self.keys.column(place, results.key[rows]), of)
        for name, column_name, values in (
            ("start", span.start, results.start),
            ("end", span.end, results.end),
        ):
            of = self.columns.types[column_name]
            given = values[rows]
            instants = Column(given.astype(np.uint64) if of.kind is Kind.UINT else given)
            arrays[name] = to_arrow(instants, of)
        return pa.table({n: arrays[n] for n in (*key_in_front(attrs, span.key), "start", "end")})


def result_table(pieces: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The rows of all pieces; of rows that differ in the signs of zeros alone the first one."""
    whole = pa.concat_tables([schema.empty_table(), *(p.cast(schema) for p in pieces)])
    return without_twins(whole)


def without_twins(table: pa.Table) -> pa.Table:
    """A set has 0.0 and -0.0 once. The kernel tells them apart, and few tables have both."""
    names = [f.name for f in table.schema if pa.types.is_floating(f.type)]
    signs = [
        np.signbit(v) & (v == 0)
        for v in (table.column(n).to_numpy(zero_copy_only=False).astype(np.float64) for n in names)
    ]
    if not any(s.any() for s in signs):
        return table
    rows = table.to_pylist()
    best: dict[Any, tuple[list[bool], int]] = {}
    for row, values in enumerate(rows):
        name = tuple((n, repr(semantics.identity(v))) for n, v in values.items())
        mine = [bool(s[row]) for s in signs]
        if name not in best or mine < best[name][0]:
            best[name] = mine, row
    return table.take(pa.array(sorted(row for _, row in best.values())))


def measured(levels: Levels, events: int) -> dict[str, int]:
    """What the evaluation cost."""
    runs = [n.runs for n in levels.networks]
    return {
        "predicate_evaluations": sum(r.evaluations for r in runs),
        "events": events,
        "peak_runs": sum(r.peak for r in runs),
        "runs_merged": 0,
        "peak_buffered_events": events,
        "peak_bytes": sum(sum(a.nbytes for a in r.at.values() if hasattr(a, "nbytes")) for r in runs),
        "states": sum(n.nodes for n in levels.networks),
        "edges": levels.size,
    }


def by_definition(query: Typed, table: pa.Table, columns: Columns, span: Span) -> pa.Table:
    """The definition's answer as a table."""
    found = semantics.events(table, query, columns, span)
    schema = output_schema(query, columns, span)
    arrays = []
    for name in schema.names[:-2]:
        if name in query.attrs:
            of, listed = query.attrs[name], [event.values[name] for _, event in found]
        else:
            place = span.key.index(name)
            of, listed = columns.types[name], [key[place] for key, _ in found]
        arrays.append(_array(listed, of))
    for name, column in (("start", span.start), ("end", span.end)):
        arrays.append(_array([getattr(event, name) for _, event in found], columns.types[column]))
    return pa.table([a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema)


def _array(listed: list[Any], of: Type) -> pa.Array:
    if of.kind in (Kind.LIST, Kind.OPAQUE):
        return pa.array([v.value if isinstance(v, semantics.Nested) else v for v in listed], of.arrow)
    return arrow_of(from_values(listed, of), of)
