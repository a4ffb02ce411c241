"""The evaluation of the paper on imprecise timestamps (section 5, appendices D and E), on its workload.

A stream has one attribute that goes from 1 to 1000 again and again, an event at each instant t, known to be between
t - δ and t + δ; component j takes the multiples of v_j. The worst cases of appendix D have each type's events after
all of the type before. The cluster's trace is a reconstruction (`augury.generate.hadoop`): the paper's is not public.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import augury as ag
from augury.engines.imprecise import join, search
from augury.errors import LimitError
from augury.generate import hadoop
from augury.runtime.options import Options
from augury.runtime.uncertain import program_of
from bench.growing import STEP, Record, bounded

ANY, NEXT = "skip_till_any_match", "skip_till_next_match"
EVENTS = 400_000
FIRST = 200
MOST_RUNS = 10_000_000
BASIC = ("point", "any_state")  # the paper's two frameworks, without its optimisations
OPTIMISED = ("any_state", "sorted", "selective", "auto")
HALVES = (1, 5, 10, 20, 30, 40, 50)
LENGTHS = {
    2: (20, 50),
    3: (20, 25, 50),
    4: (20, 25, 40, 50),
    5: (20, 25, 40, 50, 50),
    6: (20, 20, 25, 40, 50, 50),
}
FREQUENCIES = ((20, 25, 50), (10, 25, 100), (5, 25, 200), (4, 25, 250), (2, 25, 500))
WINDOWS = (10, 25, 50, 100, 150, 200)
GOALS = {(ANY, 5): 1_000_000, (ANY, 50): 300_000, (NEXT, 5): 300_000, (NEXT, 50): 50_000}
TRACE = 7_000_000
TRACE_SECONDS = 30.0

MONITORING = {
    "task": "PATTERN SEQ(TaskStart a, Load b, TaskFinish c, Load d) WHERE a.task = c.task AND b.node = a.node "
    "AND d.node = a.node AND b.value > 80 AND d.value <= 50 WITHIN 600",
    "merge": "PATTERN SEQ(MergeStart a, Load b, MergeFinish c) WHERE a.task = c.task AND b.node = a.node "
    "AND b.value > 90 WITHIN 450",
    "rise": "PATTERN SEQ(Load a, TaskStart b, Load c) WHERE b.node = a.node AND c.node = a.node AND a.value < 40 "
    "AND c.value > 90 WITHIN 300",
    "pull": "PATTERN SEQ(TaskStart a, Pull b, Load c) WHERE skip_till_next_match(a, b, c) AND b.task = a.task "
    "AND c.node = a.node AND c.value > 90 WITHIN 300",
}


@dataclass(frozen=True)
class Experiment:
    """One measurement: a point of a figure, by a plan."""

    figure: str
    x: Any  # where it stands in its figure
    plan: str
    strategy: str = ANY
    half: int = 5
    within: int = 100
    values: tuple[int, ...] = LENGTHS[3]

    @property
    def name(self) -> str:
        return f"uncertain/{self.figure}/{self.x}/{self.plan}"

    @property
    def text(self) -> str:
        if self.figure == "4f":
            return MONITORING[self.x]
        names = "abcdefgh"[: len(self.values)]
        if self.figure == "6":
            components = ", ".join(f"T{k} {name}" for k, name in enumerate(names))
            return f"PATTERN SEQ({components}) WITHIN {self.within}"
        tests = " AND ".join(f"{n}.v % {v} = 0" for n, v in zip(names, self.values, strict=True))
        variables = ", ".join(names)
        components = ", ".join(f"E {name}" for name in names)
        return (
            f"PATTERN SEQ({components}) WHERE {self.strategy}({variables}) AND {tests} WITHIN {self.within}"
        )

    @property
    def goal(self) -> Record:
        if self.plan != "auto":
            return {}
        if self.figure == "4f":
            return {"seconds": TRACE_SECONDS}
        if self.figure in ("4b", "4e") and (self.strategy, self.half) in GOALS:
            return {"events_per_second": GOALS[self.strategy, self.half]}
        return {}


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """All figures' points; a quick run has the second and the last of each line."""

    def some(points: Any) -> Any:
        listed = list(points)
        return [listed[1], listed[-1]] if quick else listed

    every = ("point", *OPTIMISED)
    yield from (Experiment("4a", h, p, half=h) for h in some(HALVES) for p in BASIC)
    yield from (Experiment("4b", h, p, half=h) for h in some(HALVES) for p in OPTIMISED)
    yield from (Experiment("4c", n, p, values=LENGTHS[n]) for n in some(LENGTHS) for p in OPTIMISED)
    yield from (Experiment("4d", v[0], p, values=v) for v in some(FREQUENCIES) for p in OPTIMISED)
    yield from (Experiment("4e", h, p, NEXT, half=h) for h in some(HALVES) for p in every)
    yield from (Experiment("4f", q, p) for q in some(MONITORING) for p in OPTIMISED)
    yield from (Experiment("5a", w, p, within=w) for w in some(WINDOWS) for p in BASIC)
    yield from (Experiment("5b", n, p, values=LENGTHS[n]) for n in some(LENGTHS) for p in BASIC)
    yield from (Experiment("5c", n, p, NEXT, values=LENGTHS[n]) for n in some(LENGTHS) for p in every)
    yield from (Experiment("6", n, p, half=2, within=240) for n in some((5, 10, 15, 20)) for p in every)


@functools.lru_cache(maxsize=2)
def stream(half: int) -> pa.Table:
    """The stream of section 5.1."""
    at = np.arange(EVENTS)
    return pa.table({"v": at % 1000 + 1, "lower": at - half, "upper": at + half})


@functools.lru_cache(maxsize=1)
def worst(many: int, half: int) -> pa.Table:
    """The stream of Figure 6, again and again: `many` events of a type, then as many of the next, none overlapping."""
    rounds = max(1, 20_000 // (3 * many))
    kind = np.tile(np.repeat(np.arange(3), many), rounds)
    step = 2 * half + 1
    at = np.repeat(np.arange(rounds) * 1000, 3 * many) + np.tile(np.repeat(np.arange(3), many) * 80, rounds)
    at = at + np.tile(np.minimum(np.arange(many) * step, 75 - half), 3 * rounds)
    kinds = pa.array([f"T{k}" for k in range(3)]).take(pa.array(kind))
    return pa.table({"kind": kinds, "lower": at - half, "upper": at + half})


@functools.lru_cache(maxsize=1)
def trace(rows: int) -> pa.Table:
    return hadoop(rows)


def data(experiment: Experiment, *, quick: bool) -> pa.Table:
    """The stream of an experiment."""
    if experiment.figure == "4f":
        return trace(200_000 if quick else TRACE)
    return worst(experiment.x, experiment.half) if experiment.figure == "6" else stream(experiment.half)


def measure(experiment: Experiment, *, quick: bool) -> Record:
    """The record of one experiment."""
    table = data(experiment, quick=quick)
    budget = (0.15 if quick else 1.5) * (
        20 if experiment.figure == "4f" else 10 if experiment.goal and quick else 1
    )
    kind = "kind" if experiment.figure in ("4f", "6") else None
    options = Options(time=("lower", "upper"), type=kind, plan=experiment.plan, max_runs=MOST_RUNS)
    program = program_of(ag.sase(experiment.text).pattern, table.schema, options)

    def call(size: int) -> Any:
        engine = program.evaluator()
        engine.fast = True
        return engine, engine.whole(table.slice(0, size))

    record: Record = {
        "workload": experiment.name,
        "system": "augury",
        "plan": experiment.plan,
        "output": "all",
        "query": experiment.text,
        "x": experiment.x,
        "half": experiment.half,
    }
    size, why = _most(call, table.num_rows, budget)
    if not size:
        return record | {"skipped": f"{experiment.name}: {why}"}
    engine, result = call(size)
    seconds = min(_timed(lambda: call(size)) for _ in range(3))
    record |= {"events": size, "rows": result.num_rows, "matches": result.num_rows, "seconds": seconds}
    record["events_per_second"] = round(size / seconds)
    record |= {k: v for k, v in engine.measured().items() if k in ("pairs", "peak_runs", "point_matches")}
    record["confidence_seconds"] = _of_confidences(lambda: call(size))
    if experiment.goal:
        record["goal"] = experiment.goal
        at_least, at_most = experiment.goal.get("events_per_second"), experiment.goal.get("seconds")
        good = seconds <= at_most if at_most is not None else record["events_per_second"] >= at_least
        if at_least is not None or not quick:  # a quick run has a part of the trace
            record["reached"] = bool(good)
    return bounded(record, size, table.num_rows, budget)


def _most(call: Callable[[int], Any], rows: int, budget: float) -> tuple[int, str]:
    """How many events a plan does within the budget, and below its limit of runs; why it does none."""
    size, done = min(FIRST, rows), 0
    try:
        call(size)  # compiles what there is to compile
        while True:
            took = _timed(lambda: call(size))  # noqa: B023  # called at once
            done = size
            if size == rows or STEP * took > budget:
                return done, ""
            size = min(STEP * size, rows)
    except LimitError as error:
        return done, str(error)


def _timed(call: Callable[[], Any]) -> float:
    """Seconds of the processor: all is done in one thread, and a shared machine has less to say."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def _of_confidences(call: Callable[[], Any]) -> float:
    """How much of a call goes into confidences."""
    spent = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal spent
            begun = time.process_time()
            found = function(*arguments)
            spent += time.process_time() - begun
            return found

        return run

    with (
        patch.object(search, "chain_confidences", timed(join.chain_confidences)),
        patch.object(search, "gapped", timed(search.gapped)),
    ):
        call()
    return spent
