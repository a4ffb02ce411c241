"""The evaluation of the paper on automata (section 6, appendix D): its figures, on its synthetic stream of ticks.

A price rises with probability p and falls otherwise, by about 0.70 (sd 0.30). Q1 asks for k balanced V-patterns after a drop,
Q2 for V-patterns until the price is back, Q3 for eight ticks up or down. Streams are given in calls of some events, and
there is a punctuation every window.

    8   throughput by plan                        9   arcs that change: ours and operator restart
    10  output against speculation                12  throughput, 13 memory, against disorder, with and without numbers
    16  throughput, 17 memory, against events that are passed over
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import augury as ag
from bench.growing import Record

CALL = 10_000
GOALS = {("8", "table"): 5_000_000, ("12", 0.1): 500_000}


@dataclass(frozen=True)
class Experiment:
    """A point of a figure."""

    figure: str
    x: Any
    how: str

    @property
    def name(self) -> str:
        return f"automata/{self.figure}/{self.x}/{self.how}"


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """All figures' points; a quick run has the last of each line."""

    def some(points: Any) -> Any:
        return points[-1:] if quick else points

    yield from (Experiment("8", "table", plan) for plan in ("eager", "can"))
    yield from (Experiment("8", "matcher", how) for how in ("in order", "numbers"))
    yield from (
        Experiment("9", d, how) for d in some((0, 10_000, 1000, 100, 10)) for how in ("eager", "restart")
    )
    yield from (Experiment("10", s, str(i)) for i in (0.7, 0.9) for s in some((0, 100, 300, 1000)))
    yield from (
        Experiment("12", w, how) for w in some((0.0, 0.02, 0.05, 0.1)) for how in ("times", "numbers")
    )
    yield from (Experiment("16", i, "shared") for i in some((0.0, 0.2, 0.5, 0.8, 0.9)))


@functools.lru_cache(maxsize=4)
def ticks(rows: int, p: float = 0.5, ignorable: float = 0.0) -> pa.Table:
    """The paper's generator; events that no pattern looks at have no change."""
    rng = np.random.default_rng(1)
    change = np.where(rng.random(rows) < p, 1, -1) * np.abs(rng.normal(0.70, 0.30, rows))
    change[rng.random(rows) < ignorable] = 0.0
    at = np.arange(rows)
    return pa.table({"ts": at, "seq": at, "price": 100 + np.cumsum(change), "change": change})


def disturbed(table: pa.Table, share: float, places: int) -> pa.Table:
    """A share of the events comes later, by up to so many places."""
    rng = np.random.default_rng(2)
    at = np.arange(table.num_rows, dtype=np.float64)
    moved = rng.random(table.num_rows) < share
    at[moved] += rng.integers(1, places, int(moved.sum())) + 0.5
    return table.take(pa.array(np.argsort(at, kind="stable")))


def q1(k: int, within: int, drop: float = 0.25, *, passes: bool = False) -> Any:
    afa = ag.Automaton(start="q0", final=["q3"], registers={"r1": 0, "r2": 0})
    afa.arc("q0", "q1", when=f"-change > {drop}")
    afa.arc("q1", "q1", when="change < 0", update={"r1": "r.r1 + 1"})
    afa.arc("q1", "q2", when="change < 0", update={"r1": "r.r1 + 1"})
    afa.arc("q2", "q2", when="change > 0", update={"r1": "r.r1 - 1"})
    more = {"r1": "r.r1 - 1", "r2": "r.r2 + 1"}
    afa.arc("q2", "q1", when=f"change > 0 and r.r2 < {k - 1}", update=more)
    afa.arc("q2", "q3", when=f"change > 0 and r.r1 = 1 and r.r2 = {k - 1}", update=more)
    if passes:
        afa.arc("q1", "q1", when="change = 0").arc("q2", "q2", when="change = 0")
    return afa.query(within=within)


def q2(within: int) -> Any:
    afa = ag.Automaton(start="q0", final=["q3"], registers={"before": 0.0, "k": 0})
    afa.arc("q0", "q1", when="-change > 0.25", update={"before": "price - change"})
    afa.arc("q1", "q1", when="change < 0").arc("q1", "q2", when="change < 0")
    afa.arc("q2", "q2", when="change > 0 and price < r.before")
    afa.arc("q2", "q1", when="change > 0 and price < r.before", update={"k": "r.k + 1"})
    afa.arc("q2", "q3", when="change > 0 and price >= r.before", update={"k": "r.k + 1"})
    return afa.query(within=within)


def q3(within: int) -> Any:
    rng = np.random.default_rng(3)
    afa = ag.Automaton(start="s0", final=["s8"])
    for n in range(8):
        afa.arc(f"s{n}", f"s{n + 1}", when=_tick(rng), id=f"{n}.0")
    return afa.query(within=within)


def _tick(rng: np.random.Generator) -> str:
    return "change > 0" if rng.random() < 0.5 else "change < 0"


def measure(e: Experiment, *, quick: bool) -> Record:
    """One point: throughput, output and memory."""
    rows = 20_000 if quick else 200_000 if e.figure == "9" else 1_000_000
    match e.figure:
        case "8" if e.x == "table":
            query, table = q1(2, 2000), ticks(rows)
            query.match(table, time="ts", plan=e.how)  # compiled, and the table in memory
            begun = time.perf_counter()
            found = query.match(table, time="ts", plan=e.how).num_rows
            record: Record = {"seconds": time.perf_counter() - begun, "outputs": found}
        case "8":
            told = {"speculate": None} if e.how == "in order" else {"sequence": "seq"}
            record = fed(q1(2, 2000), ticks(rows), 2000, **told)
        case "9":
            record = fed(q3(500), ticks(rows), 500, plan=e.how, speculate=None, changes=int(e.x), call=1000)
        case "10":
            table = disturbed(ticks(rows, ignorable=float(e.how)), 0.05, 5000)
            record = fed(q1(1, 500, passes=True), table, 500, late=5000, speculate=int(e.x))
        case "12":
            told = {"speculate": None} if e.how == "times" else {"sequence": "seq"}
            record = fed(q2(500), disturbed(ticks(rows, 0.7), float(e.x), 1000), 500, late=1000, **told)
        case _:
            query = q1(1, 500, 0.0, passes=True)
            record = fed(query, ticks(rows, ignorable=float(e.x)), 500, speculate=None)
    record |= {"workload": e.name, "system": "augury", "events": rows}
    record["events_per_second"] = round(rows / record["seconds"])
    goal = GOALS.get((e.figure, e.x)) if e.how in ("eager", "times") else None
    if goal is not None:
        record |= {"goal": {"events_per_second": goal}, "reached": record["events_per_second"] >= goal}
    return record


def fed(
    query: Any,
    table: pa.Table,
    window: int,
    *,
    late: int = 0,
    changes: int = 0,
    call: int = CALL,
    **told: Any,
) -> Record:
    """The events in calls, a punctuation for each window, and an arc in another's place every so many events."""
    rng = np.random.default_rng(4)
    m = query.matcher(table.schema, time="ts", **told)
    version, named = 0, [0] * 8
    outputs = kept = runs = 0
    begun, reached = time.perf_counter(), 0
    for start in range(0, table.num_rows, call):
        if changes:
            rows = []
            for at in range(start - start % -changes, min(start + call, table.num_rows), changes):
                n = int(rng.integers(8))
                told_arc = json.dumps({"from": f"s{n}", "to": f"s{n + 1}", "when": _tick(rng)})
                rows.append((version, "remove_arc", f"{n}.{named[n]}", "", at))
                rows.append((version + 1, "add_arc", f"{n}.{named[n] + 1}", told_arc, at))
                version, named[n] = version + 2, named[n] + 1
            names = ("version", "action", "name", "query", "at")
            if rows:
                outputs += m.apply(
                    pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
                ).num_rows
        outputs += m.insert(table.slice(start, call)).num_rows
        t = max(0, start + call - late - call) // window * window
        if t > reached:
            outputs += m.advance(t).num_rows
            reached = t
        stats = m.stats
        kept, runs = max(kept, stats["bytes"]), max(runs, stats["nodes"])
    outputs += m.close().num_rows
    made = {"recomputed": m.stats["recomputed"], "peak_bytes": kept, "peak_nodes": runs}
    return {"seconds": time.perf_counter() - begun, "outputs": outputs, **made}
