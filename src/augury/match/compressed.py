"""Compressed results: one row for each event that completes matches, with the graph of them all.

    key columns · match_end · times: list · events: list of structs · nodes: list of {slot, event, left, right}

A node binds `events[event]` to the positive component number `slot` and points `left` at the node of the
event before (-1: it was the first). A union, `slot` -1, joins the histories `left` and `right`. Children
stand before parents and the last node is the root; every path from it is one match. Each row stands by
itself, so rows may be filtered, stored and shuffled; `expand` gives the rows of `output="all"` back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, QueryError
from augury.expr.printing import quoted
from augury.match.rows import key_column, taken
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
    return assemble(rows, nodes, table, query)


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


def assemble(
    rows: Sequence[int],
    nodes: Sequence[Sequence[tuple[int, int, int, int]]],
    table: pa.Table,
    query: Resolved,
) -> pa.Table:
    """The table of compressed rows, `nodes[i]` the graph that ends at row `rows[i]` of the ordered table."""
    schema = schema_of(query, table.schema)
    flat = np.array([n for graph in nodes for n in graph], dtype=np.int64).reshape(-1, 4)
    node_offsets = np.cumsum([0, *(len(graph) for graph in nodes)])
    event_rows: list[np.ndarray[Any, Any]] = []
    for start, end in itertools.pairwise(node_offsets):
        binding = flat[start:end, 0] >= 0
        used, places = np.unique(flat[start:end, 1][binding], return_inverse=True)
        flat[start:end, 1][binding] = places
        event_rows.append(used)
    event_offsets = pa.array(np.cumsum([0, *(len(e) for e in event_rows)]), pa.int32())
    every = np.concatenate([np.empty(0, np.int64), *event_rows])
    ends = np.array(rows, dtype=np.int64)
    time = table.column(query.roles.time)
    events = pa.StructArray.from_arrays(
        [taken(table.column(name), every) for name in query.reads],
        fields=[table.schema.field(name) for name in query.reads],
    )
    nodes_array = pa.StructArray.from_arrays(
        [pa.array(flat[:, i], pa.int32()) for i in range(4)], fields=list(NODE)
    )
    arrays = [
        *(key_column(taken(table.column(k), ends)) for k in query.roles.key),
        taken(time, ends),
        pa.ListArray.from_arrays(event_offsets, taken(time, every)),
        pa.ListArray.from_arrays(event_offsets, events),
        pa.ListArray.from_arrays(pa.array(node_offsets, pa.int32()), nodes_array),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def unpack(table: pa.Table, slots: int) -> tuple[pa.Table, pa.ChunkedArray, list[Bound]]:
    """The events of all rows as one table, their times, and the matches over them."""
    for name in COLUMNS:
        if name not in table.schema.names:
            raise DataError(f'the table has no column {name}: expand takes the result of output="compressed"')
    events = table.column("events").combine_chunks()
    nodes = table.column("nodes").combine_chunks()
    times = table.column("times").combine_chunks()
    parts = [nodes.flatten().field(i).to_numpy() for i in range(4)]
    node_offsets, event_offsets = nodes.offsets.to_numpy(), events.offsets.to_numpy()
    found: list[Bound] = []
    for row in range(table.num_rows):
        start, end = node_offsets[row] - node_offsets[0], node_offsets[row + 1] - node_offsets[0]
        graph = np.stack([p[start:end] for p in parts], axis=1)
        base = int(event_offsets[row] - event_offsets[0])
        found.extend(_bound(path, slots, base) for path in paths(graph))
    flat = events.flatten()
    columns = [flat.field(i) for i in range(flat.type.num_fields)]
    schema = pa.schema([flat.type.field(i) for i in range(flat.type.num_fields)])
    return pa.Table.from_arrays(columns, schema=schema), pa.chunked_array([times.flatten()]), found


def paths(nodes: np.ndarray[Any, Any]) -> Iterator[list[tuple[int, int]]]:
    """Every path of a graph, as (slot, event) from the first event to the last."""
    if not len(nodes):
        return
    check_graph(nodes)
    stack: list[tuple[int, tuple[Any, ...]]] = [(len(nodes) - 1, ())]
    while stack:
        node, tail = stack.pop()
        while node >= 0:
            slot, event, left, right = (int(x) for x in nodes[node])
            if slot < 0:
                stack.append((right, tail))
            else:
                tail = ((slot, event), tail)
            node = left
        path = []
        while tail:
            head, tail = tail
            path.append(head)
        yield path


def check_graph(nodes: np.ndarray[Any, Any]) -> None:
    """Children stand before parents: otherwise the table was damaged, and a walk might not end."""
    own = np.arange(len(nodes))
    union = nodes[:, 0] < 0
    if (nodes[:, 2:] >= own[:, None]).any() or (nodes[union, 2:] < 0).any() or (nodes[~union, 1] < 0).any():
        raise DataError("a compressed row is damaged: its nodes are not in order")


def _bound(path: list[tuple[int, int]], slots: int, base: int) -> Bound:
    bound: list[list[int]] = [[] for _ in range(slots)]
    for slot, event in path:
        bound[slot].append(base + event)
    return tuple(tuple(rows) for rows in bound)
