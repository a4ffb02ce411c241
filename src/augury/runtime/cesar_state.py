"""The runs of CESAR as sections of a state.

A run stands at a state of one of the queries: that is how it is found again, whatever numbers nodes have there. What is
coded in this process (texts, decimals, nested values, keys) travels as values: `values` and `keys` are Arrow tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from augury.engines.kernels import network as kernel
from augury.engines.levels import Levels
from augury.engines.network import Network
from augury.engines.programs import CODED
from augury.engines.words import arrow_of, column_of
from augury.errors import DataError
from augury.expr.physical import from_arrow
from augury.expr.types import Type
from augury.runtime.state import read_events, written_events
from augury.runtime.streams import Reader

RUNS = pa.schema(
    [
        ("query", pa.string()),
        *((name, pa.int64()) for name in ("state", "start", "end", "key")),
        ("words", pa.list_(pa.int64())),
        ("nulls", pa.list_(pa.bool_())),
    ]
)


def packed(levels: Levels, reader: Reader, numbers: Mapping[str, int]) -> list[bytes]:
    """The sections: runs, keys, values."""
    owner = _owners(levels, numbers)
    columns: dict[str, list[Any]] = {name: [] for name in RUNS.names}
    pools: dict[str, tuple[Type, dict[int, int]]] = {}
    keys: dict[int, int] = {}
    for level, network in enumerate(levels.networks):
        for node, start, end, key, words, nulls in _live(network):
            if (level, node) not in owner:
                continue  # of a query that is gone
            row = []
            for word, null, of in zip(words, nulls, network.types[node], strict=False):
                if of.kind in CODED and not null:
                    _, pool = pools.setdefault(str(of.arrow), (of, {}))
                    row.append(pool.setdefault(word, len(pool)))
                else:
                    row.append(word)
            query, state = owner[level, node]
            found = (query, state, start, end, keys.setdefault(key, len(keys)), row, nulls[: len(row)])
            for name, value in zip(RUNS.names, found, strict=True):
                columns[name].append(value)
    runs = pa.table([pa.array(columns[f.name], f.type) for f in RUNS], schema=RUNS)
    known = np.array(list(keys), np.int64)
    held = {
        str(place): arrow_of(reader.keys.column(place, known), of)
        for place, of in enumerate(reader.keys.types)
    }
    key_table = pa.table({**held, "n": np.arange(len(keys))})
    lists = {}
    for name, (of, pool) in pools.items():
        values = arrow_of(column_of(np.array(list(pool), np.int64), None, of, levels.codes), of)
        lists[name] = pa.array([values], pa.list_(values.type))
    value_table = pa.table({"": [0], **lists})
    return [written_events([t], t.schema) for t in (runs, key_table, value_table)]


def unpacked(levels: Levels, reader: Reader, queries: Mapping[str, int], sections: dict[str, bytes]) -> None:
    """Put the runs of these sections into levels that have none."""
    runs = read_events(sections["runs"], RUNS)
    if not runs.num_rows:
        return
    keys, values = (pa.ipc.open_stream(sections[name]).read_all() for name in ("keys", "values"))
    columns = [from_arrow(keys.column(str(i)), of) for i, of in enumerate(reader.keys.types)]
    numbers = reader.keys.numbers(columns, keys.num_rows)
    place = {name: node for node, name in _owners(levels, queries).items()}
    pools: dict[str, Any] = {}
    by_level: dict[int, list[tuple[int, int, int, int, list[int], list[int]]]] = {}
    for row in runs.to_pylist():
        if (row["query"], row["state"]) not in place:
            raise DataError("the state has runs of a query that is not here")
        level, node = place[row["query"], row["state"]]
        words = []
        for word, null, of in zip(
            row["words"], row["nulls"], levels.networks[level].types[node], strict=True
        ):
            if of.kind in CODED and not null:
                name = str(of.arrow)
                if name not in pools:
                    listed = values.column(name).combine_chunks().flatten()
                    pools[name] = levels.codes.words(from_arrow(listed, of), of)
                word = int(pools[name][word])  # noqa: PLW2901
            words.append(word)
        found = (
            node,
            row["start"],
            row["end"],
            int(numbers[row["key"]]),
            words,
            [int(n) for n in row["nulls"]],
        )
        by_level.setdefault(level, []).append(found)
    for level, found_runs in by_level.items():
        network = levels.networks[level]
        network.runs.put(network.variant, found_runs, network.tables(), network.nodes, network.edges)


def _owners(levels: Levels, numbers: Mapping[str, int]) -> dict[tuple[int, int], tuple[str, int]]:
    """For each node a query that has it, and which of its states it is."""
    found: dict[tuple[int, int], tuple[str, int]] = {}
    for name, number in numbers.items():
        for state, node in enumerate(levels.states(number)):
            found.setdefault(node, (name, state))
    return found


def _live(network: Network) -> Any:
    """The runs that are alive: node, start, end, key, words, nulls."""
    runs = network.runs
    if not runs.at or not runs.at["control"][kernel.LIVE]:
        return
    width = runs.registers
    for k in range(len(runs.at["node"])):
        node = int(runs.at["node"][k])
        if node >= 0 and not network.at["node_dead"][node]:
            base = k * width
            words = [int(w) for w in runs.at["regs"][base : base + width]]
            nulls = [bool(n) for n in runs.at["null"][base : base + width]]
            start, end, key = (int(runs.at[name][k]) for name in ("start", "end", "key"))
            yield node, start, end, key, words, nulls
