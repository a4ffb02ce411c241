"""The workloads: a stream, a call over it, what of the result is counted, and what must be reached.

`w1` is the template of the SASE+ paper's experiments (section 6). `clicks` is the funnel that everybody has.
`abc` is the weak case of any engine that follows each run: a register under skip_till_any. `scale` asks what ten
times the events, or ten thousand times the keys, do to an event's cost; `first` how long a new query
takes from its text to its rows, in a process that has imported nothing yet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import augury as ag
from augury.generate import clicks, stock
from bench import by_hand

Record = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """What must be reached: by events a second, or by matched events a second; either will do."""

    events_per_second: float | None = None
    matched_per_second: float | None = None
    seconds: float | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class Workload:
    """One measurement."""

    name: str
    output: str
    data: Callable[[], pa.Table]
    call: Callable[[pa.Table], pa.Table]
    goal: Goal = Goal()
    system: str = "augury"
    plan: str = "auto"
    fresh: str | None = None  # a script for a process of its own, which prints the seconds
    over: str | None = None  # its cost per event is compared with this workload's
    described: Record = field(default_factory=dict)


def workloads(*, quick: bool) -> list[Workload]:
    """All workloads, at full or at reduced size."""
    return [*_w1(quick=quick), *_clicks(quick=quick), *_abc(quick=quick), *_scale(quick=quick), *_first()]


@functools.lru_cache(maxsize=1)
def shared(make: Callable[..., pa.Table], *args: Any, **named: Any) -> pa.Table:
    """The stream of the workloads at hand; neighbours in the list share it."""
    return make(*args, **named)


def asked(text: str, **arguments: Any) -> Callable[[pa.Table], pa.Table]:
    """What asks a query of a table."""
    query = ag.sase(text)
    return lambda table: query.match(table, **arguments)


# ------------------------------------------------------------------ seed 001, section 6

STRATEGIES = {
    "contiguity": "partition_contiguity",
    "next": "skip_till_next_match",
    "any": "skip_till_any_match",
}
ITERATORS = {
    "true": None,
    "rising": "a[i].price > a[i-1].price",
    "max": "a[i].price > max(a[..i-1].price)",
    "min": "a[i].price > min(a[..i-1].price)",
    "avg": "a[i].price > avg(a[..i-1].price)",
}


def template(strategy: str, iterator: str) -> str:
    """The paper's query."""
    tests = ["[symbol]", "a[1].price % 500 = 0", ITERATORS[iterator], "b.volume < 150"]
    said = " AND ".join(t for t in tests if t)
    return f"PATTERN SEQ(Stock+ a[], Stock b) WHERE {STRATEGIES[strategy]}(a[], b) {{ {said} }} WITHIN 500"


def _w1(*, quick: bool) -> Iterator[Workload]:
    del quick  # small as it is
    stream = functools.partial(shared, stock, 200_000, symbols=2, p_up=0.7, p_down=0.15)
    for output in ("count", "all"):
        for strategy in STRATEGIES:
            for iterator in ITERATORS:
                if strategy == "any" and (iterator not in ("true", "rising") or output == "all"):
                    continue  # the paper has no skip_till_any; of some 1e150 matches none are written
                if output == "all":
                    goal = Goal(5e6, 15e6)
                else:
                    goal = Goal(3e6 if (strategy, iterator) == ("any", "rising") else 10e6)
                text = template(strategy, iterator)
                call = asked(text, output=output, time="ts", type="kind")
                name = f"w1/{strategy}/{iterator}/{output}"
                yield Workload(name, output, stream, call, goal, described={"query": text})


# ------------------------------------------------------------------ clicks

FUNNEL = "PATTERN SEQ(view a, cart b, buy c) WHERE skip_till_next_match(a, b, c) WITHIN 1 hour"
SHORT = f"{FUNNEL} RETURN a.user, a.page, b.ts, c.ts"


def _clicks(*, quick: bool) -> Iterator[Workload]:
    rows = 1_000_000 if quick else 5_000_000
    stream = functools.partial(shared, clicks, rows, users=10_000)
    roles = {"time": "ts", "type": "kind", "key": "user"}
    for name, text in (("clicks/events", FUNNEL), ("clicks/return", SHORT)):
        call = asked(text, output="all", **roles)
        yield Workload(name, "all", stream, call, Goal(5e6), described={"query": text})
    yield Workload("clicks/return/numpy", "all", stream, by_hand.funnel, system="numpy")


# ------------------------------------------------------------------ A, B, C

ABC = "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price"


def letters(rows: int, rare: float, seed: int = 0) -> pa.Table:
    """Events of types A, B and C at random prices; C is this share of them, A and B the same."""
    rng = np.random.default_rng(seed)
    share = (1 - rare) / 2
    kind = rng.choice(3, rows, p=[share, share, rare])
    names = pa.array(["A", "B", "C"])
    return pa.table(
        {"ts": np.arange(rows), "kind": names.take(pa.array(kind)), "price": rng.random(rows) * 100}
    )


def _abc(*, quick: bool) -> Iterator[Workload]:
    rows = 200_000 if quick else 1_000_000
    for name, rare in (("equal", 1 / 3), ("rare", 0.001)):
        within = round(200 * 2 / (1 - rare))  # 200 live A and as many B
        text = f"{ABC} WITHIN {within}"
        stream = functools.partial(shared, letters, rows, rare)
        call = asked(text, output="count", time="ts", type="kind")
        yield Workload(f"abc/{name}/count", "count", stream, call, Goal(1e6), described={"query": text})


# ------------------------------------------------------------------ cost per event


def _tied(rows: int) -> pa.Table:
    """Ten events of each time: what else they hold must order them."""
    table = stock(rows)
    return table.set_column(0, "ts", pa.array(table.column("ts").to_numpy() // 10))


def _scale(*, quick: bool) -> Iterator[Workload]:
    w1 = asked(template("next", "max"), output="count", time="ts", type="kind")
    size = 200_000
    for rows, over in ((size, None), (10 * size, f"scale/events/{size}")):
        stream = functools.partial(shared, stock, rows)
        yield Workload(f"scale/events/{rows}", "count", stream, w1, Goal(ratio=1.2), over=over)
    yield Workload("scale/ties/2000000", "count", functools.partial(shared, _tied, 10 * size), w1)
    roles = {"time": "ts", "type": "kind", "key": "user"}
    rows = 1_000_000 if quick else 5_000_000
    for users in (100, 10_000, 1_000_000):
        call = asked(FUNNEL, output="count", **roles)
        over = None if users == 100 else "scale/keys/100"
        stream = functools.partial(shared, clicks, rows, users=users)
        yield Workload(f"scale/keys/{users}", "count", stream, call, Goal(ratio=2.5), over=over)


# ------------------------------------------------------------------ the first rows of a new query


def _first() -> Iterator[Workload]:
    script = """
import time
{made}
table = made({rows})
begun = time.perf_counter()
import augury as ag
query = ag.sase({text!r})
found = query.match(table, time="ts", type="kind", output={output!r})
print(time.perf_counter() - begun, found.num_rows)
"""
    rising = template("next", "max")
    w1 = "from augury.generate import stock as made"
    abc = "from bench.workloads import letters\ndef made(rows): return letters(rows, 1 / 3)"
    for name, rows, made, text, output, limit in (
        ("uncompiled", 99_999, w1, rising, "all", 1.0),
        ("compiled", 200_000, w1, rising, "all", 3.0),
        ("heavy", 99_999, abc, f"{ABC} WITHIN 600", "count", 3.0),  # uncompiled it would take 4 s
    ):
        yield Workload(
            f"first/{name}",
            output,
            functools.partial(shared, stock, rows),
            lambda table: table,
            Goal(seconds=limit),
            fresh=script.format(rows=rows, made=made, text=text, output=output),
            described={"query": text},
        )
