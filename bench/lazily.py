"""The evaluation of the paper on lazy evaluation (section 7), on generated prices of its characteristics.

A sequence of three stocks: one of finance, one of hi-tech, and a rare one, neighbours correlated above a threshold over
the history that each event carries. The rare stock stands at the end (abc), at the beginning (cba) or in the middle
(acb). What is counted is the same on every machine: tests between events, partial matches, events in buffers. Figure
10's stream changes its rarest stock every so many events, and its tests are counted by slices of it.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

import augury as ag
from augury.runtime.by_engine import Engine, How
from augury.runtime.options import Options
from augury.runtime.sequences import program_of
from bench.growing import Record

HISTORY = 20  # minutes, and prices in a history
EACH = 10  # events in a minute
THRESHOLD = 0.5
SHARES = (0.1, 0.03, 0.01, 0.003, 0.001)  # of the rare stock's events
SEQUENCES = ("abc", "cba", "acb")
EAGER = ("eager-unmerged", "eager")
ORDERS = tuple("".join(p) for p in itertools.permutations("abc"))
OF = {"a": "finance", "b": "hi-tech", "c": "rare"}
GOALS = {0.001: 30e6, 0.01: 8e6}


@dataclass(frozen=True)
class Experiment:
    """One measurement: a point of a figure."""

    figure: str  # "7" for Figures 7 to 9, "10", "rising"
    sequence: str
    share: float  # of the rare stock
    plan: str
    order: str = ""  # of a chain

    @property
    def name(self) -> str:
        by = f"{self.plan}-{self.order}" if self.order else self.plan
        return f"lazy/{self.figure}/{self.sequence}/{self.share}/{by}"

    @property
    def text(self) -> str:
        if self.figure == "rising":
            return "PATTERN SEQ(A a, B b, C c) WHERE a.p + 0.4 < b.p AND b.p + 0.4 < c.p WITHIN 500 RETURN a.p, c.p"
        components = ", ".join(f"Stock {v}" for v in self.sequence)
        own = " AND ".join(f"{v}.sector = '{OF[v]}'" for v in self.sequence)
        pairs = itertools.pairwise(self.sequence)
        close = " AND ".join(f"corr({x}.history, {y}.history) > {THRESHOLD}" for x, y in pairs)
        return f"PATTERN SEQ({components}) WHERE {own} AND {close} WITHIN {HISTORY}"


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """Every plan and order at every point."""
    ways = [*((p, "") for p in EAGER), *(("lazy-chain", o) for o in ORDERS), ("lazy-tree", ""), ("auto", "")]
    for sequence in SEQUENCES[:1] if quick else SEQUENCES:
        for share in SHARES[-1:] if quick else SHARES:
            yield from (Experiment("7", sequence, share, plan, order) for plan, order in ways)
    yield from (Experiment("10", "abc", 0.01, plan, order) for plan, order in ways)
    for share in (0.001, 0.01, 0.1, 1 / 3):
        for plan in ("eager", "lazy-chain", "lazy-tree", "auto"):
            yield Experiment("rising", "abc", round(share, 3), plan)


@functools.lru_cache(maxsize=2)
def prices(rows: int, shares: tuple[tuple[float, float, float], ...], seed: int = 1) -> pa.Table:
    """Prices of stocks of three sectors, a stretch of the stream for each triple of shares."""
    rng = np.random.default_rng(seed)
    parts = [rng.choice(3, rows // len(shares), p=share) for share in shares]
    sector = np.concatenate(parts)
    stock = sector * 5 + rng.integers(0, 5, len(sector)) * (sector < 2)
    market = np.cumsum(rng.normal(0, 1, len(sector) // EACH + 1))
    at = np.arange(len(sector)) // EACH
    price = 500 + market[at] + rng.normal(0, 2, len(sector))
    table = pa.table(
        {
            "minute": at,
            "seq": np.arange(len(sector)),
            "sector": pa.array(list(OF.values())).take(pa.array(sector)),
            "stock": stock,
            "price": price,
        }
    )
    return ag.with_history(table, "price", HISTORY, time="minute", tiebreak="seq", key="stock").drop_columns(
        ["price", "stock"]
    )


@functools.lru_cache(maxsize=1)
def letters(rows: int, share: float) -> pa.Table:
    """Events of three types, evenly spread but for the last, with prices."""
    rng = np.random.default_rng(7)
    kinds = np.array(["A", "B", "C"])[rng.choice(3, rows, p=((1 - share) / 2, (1 - share) / 2, share))]
    return pa.table({"ts": np.arange(rows), "kind": pa.array(kinds), "p": rng.random(rows)})


def data(experiment: Experiment, *, quick: bool) -> pa.Table:
    """The stream of an experiment."""
    if experiment.figure == "rising":
        return letters(200_000 if quick else 1_000_000, experiment.share)
    rare = experiment.share
    if experiment.figure == "10":
        common = (1 - rare) / 2
        turns = ((common, common, rare), (common, rare, common), (rare, common, common))
        return prices(30_000 if quick else 600_000, turns * (1 if quick else 2))
    return prices(10_000 if quick else 100_000, (((1 - rare) / 2, (1 - rare) / 2, rare),))


def measure(experiment: Experiment, *, quick: bool) -> Record:
    """What an experiment costs: counts, and the seconds of one core."""
    table = data(experiment, quick=quick)
    roles: dict[str, Any] = {"time": "minute", "tiebreak": "seq"}
    if experiment.figure == "rising":
        roles = {"time": "ts", "type": "kind"}
    record: Record = {
        "workload": experiment.name,
        "system": "augury",
        "plan": experiment.plan,
        "query": experiment.text,
        "order": list(experiment.order),
        "share": experiment.share,
        "events": table.num_rows,
    }
    engine = _engine(experiment, table, roles, profile=False)
    engine.whole(table)  # compiled by now
    engine = _engine(experiment, table, roles, profile=False)
    begun = time.process_time()
    record["rows"] = engine.whole(table).num_rows
    record["seconds"] = time.process_time() - begun
    record["events_per_second"] = round(table.num_rows / record["seconds"])
    if experiment.figure == "rising":
        goal = GOALS.get(experiment.share)
        return record | ({"goal": {"events_per_second": goal}} if goal and experiment.plan == "auto" else {})
    engine = _engine(experiment, table, roles, profile=True)
    engine.whole(table)
    record |= {
        name: getattr(engine.measures, name)
        for name in ("run_evaluations", "peak_runs", "peak_waiting_runs", "peak_buffered_events")
    }
    if experiment.figure == "10":
        record["evaluations_by_slice"] = list(_by_slice(experiment, table, roles))
    return record


def _by_slice(experiment: Experiment, table: pa.Table, roles: dict[str, Any]) -> Iterator[int]:
    """Tests between events for each tenth of what lies between two changes of the rarest stock."""
    size = table.num_rows // 60
    for start in range(0, table.num_rows, size):
        engine = _engine(experiment, table, roles, profile=True)
        engine.whole(table.slice(start, size))
        yield engine.measures.run_evaluations


def _engine(experiment: Experiment, table: pa.Table, roles: dict[str, Any], *, profile: bool) -> Engine:
    plan = "eager" if experiment.plan == "auto" else experiment.plan
    program = program_of(ag.sase(experiment.text).pattern, table.schema, Options(**roles, plan=plan))
    how = How(plan, tuple(experiment.order) or None, experiment.plan == "auto", profile=profile, fast=True)
    return Engine(program.query, program.gives, "all", replace(how, max_runs=100_000_000))
