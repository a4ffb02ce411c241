"""Automata on Spark give what they give in process."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import augury as ag
from machines import bag, numbered, random_automaton, random_events


def test_automata_give_what_they_give_in_process(spark: Any) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        query = random_automaton(rng).query(within=rng.randint(3, 12))
        table = random_events(rng, 40, span=60)
        told: dict[str, Any] = {"time": "ts", "key": "k", "events": seed % 2 == 0}
        if seed == 5:
            table, told = numbered(rng, table), {**told, "sequence": "seq"}
        got = query.match(spark.createDataFrame(table), **told).toArrow()
        assert bag(got) == bag(query.match(table, **told)), seed


def test_lambdas_and_registered_functions_go_to_the_workers(spark: Any) -> None:
    @ag.function
    def doubled(x: int) -> int:
        return 2 * x

    afa = ag.Automaton(start="a", final=["b"], registers={"n": 0})
    afa.arc("a", "b", when=lambda e, r: e.x > r.n, update=lambda e, r: {"n": ag.fn.doubled(e.x)})
    table = pa.table({"ts": [1, 2, 3], "k": [1, 1, 2], "x": [1, 0, 3]})
    found = afa.query(within=5).match(spark.createDataFrame(table), time="ts", key="k").toArrow()
    assert sorted(found.column("n").to_pylist()) == [2, 6]
