"""Random automata and streams for them, from a seed: small, and with every kind of arc, register and value."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import augury as ag

STATES = ("q0", "q1", "q2", "q3")

GUARDS = (
    None,
    "x > 1",
    "x < 2",
    "x = 1",
    "e.x <> 2",
    "kind = 'A'",
    "kind <> 'B'",
    "x is null",
    "x > r.n",
    "r.n < 3",
    "r.n + x > 2 and kind = 'A'",
    "kind = r.s",
    "r.s < kind or x > 2",
    "r.f > 1.5",
    "y > r.f and x < 3",
    "r.n is null or x = 0",
)
BARE = ("r.n < 2", "r.n = 1", "r.f < 3", "r.s = 'A'", "r.n is null")
UPDATES: tuple[dict[str, Any], ...] = (
    {},
    {"n": "r.n + 1"},
    {"n": "x"},
    {"s": "kind"},
    {"f": "r.f + y", "n": "r.n + x"},
    {"n": "least(r.n, x)"},
    {"s": "'B'", "n": "0"},
    {"f": "r.n"},
    {"n": "null"},
)
BARE_UPDATES: tuple[dict[str, Any], ...] = ({}, {"n": "r.n + 1"}, {"n": "0"}, {"s": "'A'"}, {"f": "r.f * 2"})


def random_arc(rng: random.Random, *, lively: bool = True) -> tuple[str, dict[str, Any]]:
    """The name of the builder's method, and what it is called with."""
    kind = rng.choices(("arc", "epsilon", "window_end"), (8, 1, 1))[0]
    source, target = rng.choice(STATES), rng.choice(STATES)
    if kind == "epsilon" and STATES.index(source) >= STATES.index(target):
        source, target = sorted((source, target))
        if source == target:
            kind = "arc"
    of_event = kind == "arc"
    if of_event and rng.random() < 0.2:  # what passes over events
        return kind, {"source": source, "target": source, "when": rng.choice((None, "x < 2", "kind <> 'B'"))}
    arguments: dict[str, Any] = {
        "source": source,
        "target": target,
        "when": rng.choice(GUARDS if of_event else (None, *BARE)),
        "update": rng.choice(UPDATES if of_event else BARE_UPDATES),
    }
    if lively and rng.random() < 0.3:
        ends = sorted(rng.randint(0, 20) for _ in range(2))
        arguments["lifetime"] = (rng.choice((None, ends[0])), rng.choice((None, ends[1])))
    return kind, arguments


def random_automaton(rng: random.Random, *, within: bool = True, lively: bool = True) -> ag.Automaton:
    registers: dict[str, Any] = {
        "n": rng.choice((0, 1)),
        "s": rng.choice(("", "A")),
        "f": rng.choice((0.0, 1.0)),
    }
    afa = ag.Automaton(start="q0", final=rng.sample(STATES, rng.randint(1, 2)), registers=registers)
    afa.arc("q0", "q1", when=rng.choice((None, "x > 0", "kind = 'A'")))
    for _ in range(rng.randint(1, 5)):
        kind, arguments = random_arc(rng, lively=lively)
        if kind == "window_end" and not within:
            continue
        getattr(afa, kind)(**arguments)
    return afa


SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("k", pa.string()),
        ("kind", pa.string()),
        ("x", pa.int64()),
        ("y", pa.float64()),
        ("seq", pa.int64()),
    ]
)


def random_events(rng: random.Random, many: int, *, start: int = 0, span: int = 20) -> pa.Table:
    rows = [
        {
            "ts": start + rng.randint(0, span),
            "k": rng.choice(("a", "b", None)) if rng.random() < 0.5 else "a",
            "kind": rng.choice(("A", "B", "C", None)),
            "x": rng.choice((0, 1, 2, 3, None)),
            "y": rng.choice((0.0, -0.0, 0.5, 1.0, 2.5, float("nan"), None)),
            "seq": 0,
        }
        for _ in range(many)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def numbered(rng: random.Random, table: pa.Table, *, lost: float = 0.1) -> pa.Table:
    """The events with numbers by key in the order of time, some of them lost."""
    rows = sorted(table.to_pylist(), key=lambda r: r["ts"])
    counts: dict[Any, int] = {}
    kept = []
    for row in rows:
        counts[row["k"]] = counts.get(row["k"], 0) + 1
        row["seq"] = counts[row["k"]]
        if rng.random() >= lost:
            kept.append(row)
    rng.shuffle(kept)
    return pa.Table.from_pylist(kept, schema=SCHEMA)


def bag(table: pa.Table) -> list[str]:
    """The rows without their order."""
    return sorted(map(shown, table.to_pylist()))


def shown(row: dict[str, Any]) -> str:
    """A row as text. Of registers that are equal but for a zero's sign either may be told."""
    return repr(row).replace("-0.0", "0.0")
