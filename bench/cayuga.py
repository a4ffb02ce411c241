"""The technical benchmark of the Cayuga paper (section 5.1): five templates of queries over a stream of eight attributes.

    Table 2 ─> Parameters ─> events, queries ─> a set, shared or not

Attributes d0 … d3 are discrete, c0 … c3 continuous. Each θ has two equalities and two inequalities; one equality, on the
query's primary attribute, is the same in all steps. Attributes and values are chosen by Zipf's law.
"""

from __future__ import annotations

import functools
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.cesar import Expression, stream
from augury.query_set import QuerySet
from bench.growing import Record

TEMPLATES = ("linear_stat", "linear_dyn", "filter", "non_deterministic", "non_deterministic_agg")


@dataclass(frozen=True)
class Parameters:
    """Table 2, with its default values."""

    events: int = 100_000
    discrete: int = 4
    continuous: int = 4
    queries: int = 200_000
    domain: int = 100
    ranges: int = 25
    selectivity: float = 0.7
    zipf: tuple[float, float, float] = (
        1.0,
        1.0,
        0.8,
    )  # of the steps; the first one's is that of attributes, too
    duration: int = 20
    seed: int = 1


def events(p: Parameters) -> pa.Table:
    """Uniform values, an event for each instant."""
    rng = np.random.default_rng(p.seed)
    columns: dict[str, Any] = {"ts": np.arange(p.events)}
    for i in range(p.discrete):
        columns[f"d{i}"] = rng.integers(0, p.domain, p.events)
    for i in range(p.continuous):
        columns[f"c{i}"] = rng.random(p.events)
    return pa.table(columns)


def _zipf(rng: np.random.Generator, many: int, exponent: float, size: int) -> np.ndarray[Any, Any]:
    """Numbers below `many`, the first ones more often."""
    weights = 1.0 / np.arange(1, many + 1) ** exponent
    return rng.choice(many, size, p=weights / weights.sum())


@dataclass(frozen=True)
class Theta:
    """One step's predicate: values by names of parameters, and the text that has their names."""

    text: str
    values: dict[str, Any]


def _thetas(p: Parameters) -> list[tuple[int, int, list[Theta]]]:
    """For each query its primary attribute and value, and its steps' predicates."""
    rng = np.random.default_rng(p.seed + 1)
    primary = _zipf(rng, p.discrete, p.zipf[0], p.queries)
    constant = _zipf(rng, p.domain, p.zipf[0], p.queries)
    steps = [
        (
            (primary + 1 + _zipf(rng, p.discrete - 1, p.zipf[0], p.queries)) % p.discrete,
            _zipf(rng, p.domain, exponent, p.queries),
            _zipf(rng, p.continuous, p.zipf[0], p.queries),
            _zipf(rng, p.continuous - 1, p.zipf[0], p.queries),
            _zipf(rng, p.ranges, exponent, (p.queries * 2)).reshape(p.queries, 2),
            rng.integers(0, 2, (p.queries, 2)),
        )
        for exponent in p.zipf
    ]
    found = []
    for q in range(p.queries):
        thetas = []
        for other, value, first, second, ranges, sides in steps:
            a, b = int(first[q]), int((first[q] + 1 + second[q]) % p.continuous)
            signs = [("<", ">")[int(s)] for s in sides[q]]
            bounds = [_bound(p, int(r), sign) for r, sign in zip(ranges[q], signs, strict=True)]
            text = f"d{primary[q]} = :p AND d{other[q]} = :v AND c{a} {signs[0]} :x AND c{b} {signs[1]} :y"
            values = {"p": int(constant[q]), "v": int(value[q]), "x": bounds[0], "y": bounds[1]}
            thetas.append(Theta(text, values))
        found.append((int(primary[q]), int(constant[q]), thetas))
    return found


def _bound(p: Parameters, place: int, sign: str) -> float:
    """One of the distinct ranges, all of about the selectivity that is wanted."""
    share = p.selectivity + (place - p.ranges // 2) * 0.2 / p.ranges * min(p.selectivity, 1 - p.selectivity)
    return share if sign == "<" else 1.0 - share


def queries(p: Parameters, template: str) -> dict[str, Expression]:
    """The queries of a template, by name."""
    base = stream("S")
    attributes = [f"d{i}" for i in range(p.discrete)] + [f"c{i}" for i in range(p.continuous)]
    second = base.rename({a: f"{a}_2" for a in attributes})
    third = base.rename({a: f"{a}_3" for a in attributes})
    make = {
        "linear_stat": _linear,
        "linear_dyn": _linear_dyn,
        "filter": _filter,
        "non_deterministic": _non_deterministic,
        "non_deterministic_agg": _non_deterministic_agg,
    }[template]
    return {f"q{number}": make(p, base, second, third, *steps) for number, steps in enumerate(_thetas(p))}


def _step(theta: Theta, number: int) -> tuple[str, dict[str, Any]]:
    """A θ over the attributes of a step."""
    text = theta.text
    for letter in "dc":
        for i in range(8):
            text = text.replace(f"{letter}{i} ", f"{letter}{i}_{number} ")
    return text, theta.values


def _linear(
    _p: Parameters,
    s: Expression,
    second: Expression,
    third: Expression,
    _a: int,
    _c: int,
    thetas: list[Theta],
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    first = s.where(thetas[0].text, **thetas[0].values)
    return first.then(second).where(two[0], **two[1]).then(third).where(three[0], **three[1])


def _linear_dyn(
    _p: Parameters,
    s: Expression,
    second: Expression,
    third: Expression,
    _a: int,
    _c: int,
    thetas: list[Theta],
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.then(second).where(f"{two[0]} AND c0_2 > 1.01 * c0", **two[1])
    return seconds.then(third).where(f"{three[0]} AND c0_3 > 1.01 * c0_2", **three[1])


def _filter(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    on = [f"DUR <= :t AND d{a}_{n} = :p" for n in (2, 3)]
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.then(second, on=on[0], t=p.duration, p=c).where(two[0], **two[1])
    return seconds.then(third, on=on[1], t=p.duration, p=c).where(three[0], **three[1])


def _non_deterministic(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    on = [f"DUR <= :t AND d{a}_{n} = :p" for n in (2, 3)]
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.iterate(second, on=on[0], t=p.duration, p=c).where(two[0], **two[1])
    return seconds.iterate(third, on=on[1], t=p.duration, p=c).where(three[0], **three[1])


def _non_deterministic_agg(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    found = _non_deterministic(p, s, second, third, a, c, thetas)
    return found.extend({f"sum{i}": f"c{i} + c{i}_2 + c{i}_3" for i in range(p.continuous)})


def query_set(p: Parameters, template: str) -> QuerySet:
    return QuerySet(queries(p, template))


# ------------------------------------------------------------------ the figures


@dataclass(frozen=True)
class Experiment:
    """One point of a figure."""

    name: str
    template: str
    parameters: Parameters
    plan: str = "auto"
    goal: float | None = None  # events a second


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """Figures 16 (queries, Zipf's parameter, selectivity), 17 (sharing) and 20 (the double top)."""
    events = 5_000 if quick else 100_000
    numbers = (100, 1_000) if quick else (1_000, 10_000, 40_000)
    for template in TEMPLATES:
        for many in numbers:
            yield Experiment(
                f"cayuga/16a/{template}/{many}", template, Parameters(events=events, queries=many)
            )
    if not quick:
        for template, many, goal in (("linear_stat", 200_000, 50_000), ("filter", 400_000, 20_000)):
            parameters = Parameters(events=events, queries=many)
            yield Experiment(f"cayuga/16a/{template}/{many}", template, parameters, goal=goal)
    for zipf in (0.8, 1.0, 1.2, 1.4):
        parameters = Parameters(events=events, queries=numbers[1], zipf=(zipf, 1.0, 0.8))
        yield Experiment(f"cayuga/16b/filter/{zipf}", "filter", parameters)
    for selectivity in (0.3, 0.5, 0.7, 0.9):
        parameters = Parameters(events=events, queries=numbers[1], selectivity=selectivity)
        yield Experiment(f"cayuga/16c/filter/{selectivity}", "filter", parameters)
    for plan in ("auto", "unshared"):
        for many in numbers:
            parameters = Parameters(events=1_000, queries=many)
            yield Experiment(f"cayuga/17/{plan}/{many}", "filter", parameters, plan=plan)


def measure(e: Experiment, *, quick: bool) -> Record:
    """One point: how long queries take to be put in, and what a second sees of events."""
    _ = quick
    table = events(e.parameters)
    begun = time.perf_counter()
    asked = query_set(e.parameters, e.template)
    matcher = asked.matcher(table.schema, time="ts", plan=e.plan, max_runs=10_000_000)
    inserted = time.perf_counter() - begun
    matcher.core.streams.levels.compile()
    matcher.insert(table.slice(0, 100))
    matcher.advance(100)  # the first step makes the indexes
    matcher.insert(table.slice(100))
    begun = time.perf_counter()
    found = matcher.advance(table.num_rows).num_rows
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    matcher.add("one more", next(iter(queries(Parameters(queries=1, seed=9), e.template).values())))
    added = time.perf_counter() - begun
    many = table.num_rows - 100
    record: Record = {
        "workload": e.name,
        "system": "augury",
        "plan": e.plan,
        "output": "all",
        "queries": e.parameters.queries,
        "events": many,
        "rows": found,
        "seconds": seconds,
        "events_per_second": round(many / seconds),
        "insert_seconds": inserted,
        "one_more_seconds": added,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if e.goal is not None:
        record |= {"goal": {"events_per_second": e.goal}, "reached": record["events_per_second"] >= e.goal}
    return record


def double_tops(*, quick: bool) -> Iterator[tuple[str, Any]]:
    """Figure 20: both formulations of `examples/stocks.py` over one stream."""
    import runpy
    from pathlib import Path

    rows = 20_000 if quick else 1_000_000
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples/stocks.py"))
    for name, made in (("iterated", "double_top"), ("extrema", "double_top_of_extrema")):
        yield f"cayuga/20/{name}", functools.partial(_double_top, name, example[made](), rows)


def _double_top(name: str, query: Expression, rows: int) -> Record:
    rng = np.random.default_rng(1)
    symbol = rng.integers(0, 100, rows)
    price = np.empty(rows)
    for place in range(100):
        mine = symbol == place
        steps = rng.choice([-1, 1], int(mine.sum())) * rng.uniform(0.005, 0.03, int(mine.sum()))
        price[mine] = np.round(100 * np.exp(np.cumsum(steps) % 1.5), 2)
    table = pa.table({"ts": np.arange(rows), "name": symbol, "price": price})
    query.match(table, time="ts")  # compiled, and the table in memory
    begun = time.perf_counter()
    found = query.match(table, time="ts").num_rows
    seconds = time.perf_counter() - begun
    record: Record = {"workload": f"cayuga/20/{name}", "system": "augury", "plan": "auto", "output": "all"}
    record |= {"events": rows, "rows": found, "seconds": seconds, "events_per_second": round(rows / seconds)}
    if name == "iterated":
        record |= {"goal": {"events_per_second": 5_000_000}, "reached": rows / seconds >= 5_000_000}
    return record
