"""Compressed rows to the rows of `output="all"`: the graphs are read back and walked as an engine's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from time import monotonic

import numpy as np
import pyarrow as pa

from augury.engines.batch import COMPILED_FROM
from augury.engines.host import Host
from augury.engines.kernels.check import first_bad_graph
from augury.engines.patience import WORTH, Slow
from augury.engines.walk import Graph, Walker
from augury.errors import DataError
from augury.match.compressed import COLUMNS, Graphs, disassemble
from augury.match.rows import Matches, joined
from augury.pattern import Pattern
from augury.resolve import Resolved, output_schema, typed_items
from augury.runtime.by_engine import rows_of_matches
from augury.runtime.room import Room
from augury.schema import Columns, Roles


def expand(table: pa.Table, pattern: Pattern, *, match_id: bool = False) -> pa.Table:
    """The rows of `output="all"` from those of `output="compressed"`."""
    events, time, graphs = disassemble(table)
    columns = Columns.of(events.schema)
    query = Resolved(
        pattern=pattern,
        columns=columns,
        roles=Roles(time="", key=tuple(name for name in table.schema.names if name not in COLUMNS)),
        tests=(),
        window=None,
        reads=tuple(columns.types),
        items=typed_items(pattern, columns),
    )
    schema = output_schema(query, events.schema, "all", match_id=match_id, time=time.type)
    few = len(graphs.nodes[0]) < COMPILED_FROM

    def listed(*, fast: bool, until: float = math.inf) -> pa.Table:
        return _listed(
            graphs, events, query, schema, time, match_id=match_id, host=Host(fast=fast), until=until
        )

    try:
        return listed(fast=not few, until=monotonic() + WORTH if few else math.inf)
    except Slow:  # few nodes, and many matches
        return listed(fast=True)


def _listed(
    graphs: Graphs,
    events: pa.Table,
    query: Resolved,
    schema: pa.Schema,
    time: pa.ChunkedArray,
    *,
    match_id: bool,
    host: Host,
    until: float,
) -> pa.Table:
    """A row for each match of the graphs; what is not done in time raises `Slow`."""
    pattern = query.pattern
    kleene = [c.kleene for c in pattern.positives]
    graph = _checked(graphs, kleene, host)
    bounds = np.zeros(1, np.int32), np.full(1, max(1, events.num_rows), np.int32)
    walker = Walker(host, kleene, *bounds, room=1 << 20 if host.fast else 1 << 12, most=Room().limit)

    def walked() -> Iterator[Matches]:
        for piece in itertools.chain(walker.walk(graph, len(graphs.rows)), walker.rest()):
            yield piece
            if monotonic() > until:
                raise Slow

    pieces: Iterable[Matches] = walked()
    room = Room()
    if match_id:
        pieces = [joined(room.holding(pieces), query)]
    tables = []
    for piece in pieces:
        tables.append(rows_of_matches(piece, events, query, schema, host.run, time))
        room.takes(tables[-1])
    none = joined([], query)
    return pa.concat_tables(tables or [rows_of_matches(none, events, query, schema, host.run, time)])


def _checked(graphs: Graphs, kleene: list[bool], host: Host) -> Graph:
    """The graphs in one arena, if they are graphs of this pattern's matches."""
    slot, event, left, right = graphs.nodes
    listed = [host.listed(a) for a in (*graphs.nodes, graphs.node_offsets, graphs.event_offsets)]
    many = host.listed(np.array(kleene))
    bad = host.run(first_bad_graph)(*listed, many, host.array("i8", len(slot)))
    if bad >= 0:
        raise DataError(
            f"compressed row {bad} is damaged, or another query made it: its nodes are no graph of this query's matches"
        )
    begin = np.repeat(graphs.node_offsets[:-1], np.diff(graphs.node_offsets))
    own_events = np.repeat(graphs.event_offsets[:-1], np.diff(graphs.node_offsets))
    arrays = [
        np.where(slot >= 0, event + own_events, 0),
        np.where(left >= 0, left + begin + 1, 0),
        np.where(slot >= 0, -1 - slot, right + begin + 1),
        np.zeros(len(slot), np.int64),
    ]
    none = [0, 0, 0, -1]
    nodes = [np.concatenate([[first], a]).astype(np.int32) for first, a in zip(none, arrays, strict=True)]
    roots = graphs.node_offsets[1:].astype(np.int32)
    return Graph(*(host.listed(a) for a in (*nodes, np.zeros(len(roots), np.int32), roots)))
