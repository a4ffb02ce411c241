"""Compressed results: one row for each event that completes matches, with the graph of them all.

    key columns · match_end · times: list · events: list of structs · nodes: list of {slot, event, left, right}

A node binds `events[event]` to the positive component number `slot` and points `left` at the node of the
event before (-1: it was the first). A union, `slot` -1, joins the histories `left` and `right`. Children
stand before parents and the last node is the root; every path from it is one match. Each row stands by
itself, so rows may be filtered, stored and shuffled; `expand` gives the rows of `output="all"` back.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError, QueryError
from augury.expr.printing import quoted
from augury.match.rows import Rows, key_column, taken
from augury.resolve import Resolved

Bound = tuple[tuple[int, ...], ...]

QUERY = b"augury.query"
NODE = pa.struct([("slot", pa.int32()), ("event", pa.int32()), ("left", pa.int32()), ("right", pa.int32())])
COLUMNS = ("match_end", "times", "events", "nodes")


def schema_of(query: Resolved, schema: pa.Schema) -> pa.Schema:
    key = [schema.field(k) for k in query.roles.key]
    taken_names = [k.name for k in key if k.name in COLUMNS]
    if taken_names:
        raise QueryError(
            f"the key column {quoted(taken_names[0])} is named like a column of the compressed result",
            hint="rename the column, or use another output",
        )
    time = schema.field(query.roles.time).type
    event = pa.struct([schema.field(name) for name in query.reads])
    return pa.schema(
        [
            *key,
            pa.field("match_end", time),
            pa.field("times", pa.list_(time)),
            pa.field("events", pa.list_(event)),
            pa.field("nodes", pa.list_(NODE)),
        ]
    )


def pack(found: Sequence[Bound], table: pa.Table, query: Resolved) -> pa.Table:
    """The compressed rows of matches given one by one; those that begin alike share nodes."""
    rows: list[int] = []
    nodes: list[list[tuple[int, int, int, int]]] = []
    for row, group in itertools.groupby(sorted(found, key=lambda b: b[-1][-1]), key=lambda b: b[-1][-1]):
        rows.append(row)
        nodes.append(_trie(list(group)))
    return assemble(graphs_of(rows, nodes), table, query)


def _trie(found: list[Bound]) -> list[tuple[int, int, int, int]]:
    """Nodes over rows of the table, for matches that complete together."""
    made: dict[tuple[tuple[int, int], ...], int] = {}
    nodes: list[tuple[int, int, int, int]] = []
    root = -1
    for bound in found:
        path = tuple((slot, row) for slot, rows in enumerate(bound) for row in rows)
        node = -1
        for length in range(1, len(path) + 1):
            prefix = path[:length]
            if prefix not in made:
                made[prefix] = len(nodes)
                nodes.append((*path[length - 1], node, -1))
            node = made[prefix]
        if root >= 0:
            nodes.append((-1, -1, root, node))
            node = len(nodes) - 1
        root = node
    return nodes


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs of many rows: their nodes one after another, and the events that they name."""

    rows: Rows  # by graph: the table's row that completes its matches
    nodes: tuple[Rows, ...]  # slot, place in the graph's own events, left, right
    node_offsets: Rows
    events: Rows  # rows of the table
    event_offsets: Rows


def graphs_of(rows: Sequence[int], nodes: Sequence[Sequence[tuple[int, int, int, int]]]) -> Graphs:
    """Graphs given node by node, their events as rows of the table."""
    flat = np.array([n for graph in nodes for n in graph], dtype=np.int64).reshape(-1, 4)
    node_offsets = np.cumsum([0, *(len(graph) for graph in nodes)])
    events: list[Rows] = [np.empty(0, np.int64)]
    for start, end in itertools.pairwise(node_offsets):
        binding = flat[start:end, 0] >= 0
        used, places = np.unique(flat[start:end, 1][binding], return_inverse=True)
        flat[start:end, 1][binding] = places
        events.append(used)
    slot, event, left, right = flat.T
    event_offsets = np.cumsum([len(e) for e in events])
    ends = np.array(rows, dtype=np.int64)
    return Graphs(ends, (slot, event, left, right), node_offsets, np.concatenate(events), event_offsets)


def assemble(graphs: Graphs, table: pa.Table, query: Resolved) -> pa.Table:
    """The table of compressed rows."""
    schema = schema_of(query, table.schema)
    time = table.column(query.roles.time)
    events = pa.StructArray.from_arrays(
        [taken(table.column(name), graphs.events) for name in query.reads],
        fields=[table.schema.field(name) for name in query.reads],
    )
    nodes = pa.StructArray.from_arrays([pa.array(n, pa.int32()) for n in graphs.nodes], fields=list(NODE))
    event_offsets = pa.array(graphs.event_offsets, pa.int32())
    arrays = [
        *(key_column(taken(table.column(k), graphs.rows)) for k in query.roles.key),
        taken(time, graphs.rows),
        pa.ListArray.from_arrays(event_offsets, taken(time, graphs.events)),
        pa.ListArray.from_arrays(event_offsets, events),
        pa.ListArray.from_arrays(pa.array(graphs.node_offsets, pa.int32()), nodes),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def disassemble(table: pa.Table) -> tuple[pa.Table, pa.ChunkedArray, Graphs]:
    """The events of all rows as one table, their times, and the graphs over them."""
    for name in COLUMNS:
        if name not in table.schema.names:
            raise DataError(f'the table has no column {name}: expand takes the result of output="compressed"')
    times, events, nodes = (table.column(name).combine_chunks() for name in ("times", "events", "nodes"))
    flat = events.flatten()
    fields = [flat.type.field(i) for i in range(flat.type.num_fields)]
    columns = [flat.field(i) for i in range(flat.type.num_fields)]
    names = [field.name for field in NODE]
    if not pa.types.is_struct(nodes.type.value_type) or {f.name for f in nodes.type.value_type} != set(names):
        raise DataError("a compressed row is damaged: its nodes have other fields")
    parts = [nodes.flatten().field(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names]
    node_offsets, event_offsets = (
        np.concatenate([[0], np.cumsum(pc.list_value_length(a).fill_null(0).to_numpy())]).astype(np.int64)
        for a in (nodes, events)
    )
    slot, event, left, right = parts
    graphs = Graphs(
        np.arange(table.num_rows),
        (slot, event, left, right),
        node_offsets,
        np.arange(len(flat), dtype=np.int64),
        event_offsets,
    )
    own = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    return own, pa.chunked_array([times.flatten()]), graphs
