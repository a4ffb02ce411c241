"""The experiments of the SASE+ paper (section 6), on its workload: queries × windows × price streams × plans.

The experiments look at the same measurements from several sides, so each is made once, and `bench.findings` and
`bench.report` are the views. A partition has 200 W events, and its window is W of its own events: time is an event's
number in its partition, as the paper counts.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import augury as ag
from augury.engines import eager
from augury.engines.stores import GraphStore
from augury.generate import stock
from augury.match.gather import in_one_chunk
from augury.runtime.by_engine import Engine, How
from augury.runtime.options import MAX_RUNS, Options
from augury.runtime.sequences import program_of
from bench.growing import Record, bounded, part
from bench.runner import counted

SYMBOLS = 2
LONG = 200  # windows in each partition of the stream
PLANS = (
    "eager-unmerged",
    "eager",
    "backtrack",
)  # the paper's basic algorithm, the one with merging, backtracking
WINDOWS = (500, 1000, 1500, 2000)
TOP = 1000  # prices go on at 1 after it
FIRST = 4_000  # events that every system can do

PREDICATES = {
    "p1": None,
    "p2": "a[i].price > a[i-1].price",
    "p3": "a[i].price > min(a[..i-1].price)",
    "p3max": "a[i].price > max(a[..i-1].price)",
    "p3avg": "a[i].price > avg(a[..i-1].price)",
}
STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
QUERIES = tuple(f"{p}{s}" for p in ("p1", "p2", "p3") for s in STRATEGIES)


@dataclass(frozen=True)
class Experiment:
    """One measurement: a query of the template, such as "p2s3", with "*" for a further component."""

    query: str
    within: int = 500
    p: float = 0.7
    plan: str = "eager-unmerged"
    output: str = "all"

    @property
    def name(self) -> str:
        return f"paper/{self.query}/{self.within}/{self.p}/{self.plan}/{self.output}"

    @property
    def text(self) -> str:
        return template(self.query, self.within)


def template(query: str, within: int) -> str:
    """The text of "p2s3", or of "p3*s3"."""
    predicate, strategy = query[:-2].rstrip("*"), STRATEGIES[query[-2:]]
    tests = ["[symbol]", "a[1].price % 500 = 0", PREDICATES[predicate], "b.volume < 150"]
    components, variables = "Stock+ a[], Stock b", "a[], b"
    if "*" in query:
        tests += ["c.price > a[1].price", "c.price < a[a.LEN].price"]
        components, variables = f"{components}, Stock c", f"{variables}, c"
    said = " AND ".join(t for t in tests if t)
    return f"PATTERN SEQ({components}) WHERE {strategy}({variables}) {{ {said} }} WITHIN {within}"


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """All of them: neighbours share their stream."""
    if quick:
        yield from (Experiment(q, plan=plan) for q in QUERIES for plan in PLANS)
        yield from (
            Experiment(q, 1000, plan=plan) for q in ("p1s3", "p2s2", "p2s3", "p3s3") for plan in PLANS[:2]
        )
    else:
        for within in WINDOWS:
            queries = QUERIES if within == WINDOWS[0] else QUERIES[1:]  # p1 is the same under both strategies
            yield from (Experiment(q, within, plan=plan) for q in queries for plan in PLANS)
        yield from (Experiment(f"{p}{s}") for p in ("p3max", "p3avg") for s in STRATEGIES)
        yield from (Experiment(q, p=0.55, plan=plan) for q in QUERIES for plan in PLANS)
    for query in ("p3s3", "p3*s3") if quick else ("p3s2", "p3s3", "p3*s2", "p3*s3"):
        for plan in ("eager-unmerged", "backtrack"):
            yield Experiment(query, plan=plan, output="non_overlap")


@functools.lru_cache(maxsize=2)
def ticks(within: int, p: float, windows: int = LONG) -> pa.Table:
    """Ticks of two symbols, as many windows of each; times are numbers within a symbol."""
    table = stock(SYMBOLS * windows * within, symbols=SYMBOLS, p_up=p, p_down=(1 - p) / 2)
    symbol = table.column("symbol").to_numpy()
    number = np.zeros(len(symbol), np.int64)
    for one in range(1, SYMBOLS + 1):
        those = symbol == one
        number[those] = np.arange(int(those.sum()))
    order = np.lexsort((symbol, number))
    return table.set_column(0, "ts", pa.array(number)).take(pa.array(order)).combine_chunks()


class Asked:
    """A query ready to be asked of parts of a stream, always compiled, and what its evaluation consists of."""

    def __init__(self, text: str, schema: pa.Schema, plan: str, output: str) -> None:
        options = Options(time="ts", type="kind", output=output, plan=plan)
        program = program_of(ag.sase(text).pattern, schema, options)
        self.query, self.gives = program.query, program.gives
        self.plan = plan
        self.output = output

    def engine(self, *, fast: bool = True) -> Engine:
        return Engine(self.query, self.gives, self.output, How(self.plan, fast=fast))

    def whole(self, table: pa.Table) -> pa.Table:
        return self.engine().whole(table)

    def matched(self, table: pa.Table) -> tuple[float, float]:
        """Everything but the construction: seconds until columns are ready, and of the kernel that builds the graph."""
        begun = time.perf_counter()
        evaluation = self._evaluation(table, fast=True)
        ready = time.perf_counter()
        _drive(evaluation)
        return ready - begun, time.perf_counter() - ready

    def profiled(self, table: pa.Table, *, fast: bool) -> Record:
        """Counts of what the matching did, on any stream: no match is constructed. Backtracking does both at once."""
        if self.plan == "backtrack":
            engine = self.engine(fast=fast)
            engine.whole(table)
            return {"profiled_events": table.num_rows, "events_read": engine.measures.events_read}
        evaluation = self._evaluation(table, fast=fast, profile=True)
        _drive(evaluation)
        measured = evaluation.measures
        return {
            "profiled_events": table.num_rows,
            "runs_begun": measured.runs_begun,
            "runs_merged": measured.runs_merged,
            "runs_per_step": round(measured.run_steps / table.num_rows, 4),
            "peak_runs": measured.peak_runs,
            "nodes": measured.nodes,
        }

    def _evaluation(self, table: pa.Table, *, fast: bool, profile: bool = False) -> eager.Evaluation:
        return eager.Evaluation(
            self.engine().plan,
            in_one_chunk(table, self.query.reads),
            max_runs=MAX_RUNS,
            output=self.output,
            profile=profile,
            fast=fast,
        )


def _drive(evaluation: eager.Evaluation) -> None:
    for _ in evaluation.drive(GraphStore(evaluation)):
        pass  # the matches that could be constructed now


def measure(experiment: Experiment, *, quick: bool, windows: int = LONG) -> Record:
    """The record of one experiment: seconds, those of matching alone, and counts."""
    table = ticks(experiment.within, experiment.p, windows)
    budget, calls = _budget(quick=quick)
    asked = Asked(experiment.text, table.schema, experiment.plan, experiment.output)
    size = _most(experiment, quick=quick, windows=windows)
    stream = table.slice(0, size)
    record: Record = {
        "workload": experiment.name,
        "system": "augury",
        "plan": experiment.plan,
        "output": experiment.output,
        "query": experiment.text,
        "paper_query": experiment.query,
        "within": experiment.within,
        "p": experiment.p,
        "events": size,
        **_said(asked.whole(stream), experiment.output),
        "seconds": _best(lambda: asked.whole(stream), calls, budget),
    }
    record["events_per_second"] = round(size / record["seconds"])
    if experiment.plan != "backtrack" and experiment.output == "all":
        # Of the whole stream, whatever its output: nothing is constructed.
        splits = [asked.matched(table) for _ in range(2 * calls)]
        record["matching_events"] = table.num_rows
        record["preparing_seconds"], record["kernel_seconds"] = (min(s) for s in zip(*splits, strict=True))
    whole = stream if experiment.plan == "backtrack" else table
    # Of few events uncompiled: a kernel that counts is another one, to be compiled.
    record |= asked.profiled(whole.slice(0, 20_000) if quick else whole, fast=not quick)
    return bounded(record, size, table.num_rows, budget)


def _budget(*, quick: bool) -> tuple[float, int]:
    """Seconds for one evaluation, and how many there are."""
    return (0.4, 2) if quick else (2.0, 5)


@functools.lru_cache(maxsize=4)
def _most(experiment: Experiment, *, quick: bool, windows: int) -> int:
    """How much of its stream a plan does within the budget, and no more than the basic algorithm: plans are compared."""
    table = ticks(experiment.within, experiment.p, windows)
    basic = replace(experiment, plan=PLANS[0])
    rows = table.num_rows if experiment == basic else _most(basic, quick=quick, windows=windows)
    asked = Asked(experiment.text, table.schema, experiment.plan, experiment.output)
    asked.whole(table.slice(0, FIRST))  # compiles what there is to compile
    budget, _ = _budget(quick=quick)
    return part(rows, FIRST, budget, lambda n: asked.whole(table.slice(0, n)), least=budget / 40)[0]


def _said(found: pa.Table, output: str) -> Record:
    """How much a result says, and the mean length of the matches that do not begin at the top of the prices' range."""
    told = counted(found, output)
    taken = found.column("a").combine_chunks()
    if output == "all" and found.num_rows:
        first = taken.values.field("price").take(taken.offsets[:-1])
        below = np.asarray(pc.less(first, TOP))
        length = np.asarray(pc.list_value_length(taken))[below] + 1
        told["length_from_below"] = round(float(length.mean()), 2) if len(length) else None
    return told


def _best(call: Callable[[], Any], calls: int, budget: float) -> float:
    walls: list[float] = []
    begun = time.perf_counter()
    while len(walls) < 2 or (len(walls) < calls and time.perf_counter() - begun < 2 * budget):
        wall = time.perf_counter()
        call()
        walls.append(time.perf_counter() - wall)
    return min(walls)
