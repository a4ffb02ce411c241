"""The laws of automata over tables: every plan gives what the definition gives, compiled or not, in any order."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import augury as ag
from augury.runtime import afa
from machines import bag, numbered, random_automaton, random_events


def differences(seed: int, **arguments: object) -> None:
    rng = random.Random(seed)
    windowed = rng.random() < 0.8
    query = random_automaton(rng, within=windowed).query(within=rng.randint(1, 12) if windowed else None)
    table = random_events(rng, rng.randint(0, 14))
    if rng.random() < 0.2:
        table, arguments = numbered(rng, table), {**arguments, "sequence": "seq"}
    told = {"time": "ts", "key": rng.choice((None, "k", ["k"])), "events": rng.random() < 0.5, **arguments}
    wanted = bag(query.match(table, plan="definition", **told))
    for plan in ("auto", "eager", "eager-unmerged", "can"):
        assert bag(query.match(table, plan=plan, **told)) == wanted, (seed, plan)
    shuffled = table.take(pa.array(rng.sample(range(table.num_rows), table.num_rows), pa.int64()))
    assert bag(query.match(shuffled, **told)) == wanted, seed
    assert bag(ag.from_json(query.to_json()).match(table, **told)) == wanted, seed


@pytest.mark.parametrize("block", range(6))
def test_every_plan_gives_what_the_definition_gives(block: int) -> None:
    for seed in range(100):
        differences(1000 * block + seed)


def test_a_table_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(afa, "PIECE", 4)
    for seed in range(120):
        rng = random.Random(f"pieces {seed}")
        windowed = seed % 3 > 0
        query = random_automaton(rng, within=windowed).query(within=rng.randint(1, 12) if windowed else None)
        table = random_events(rng, rng.randint(5, 16)).sort_by("ts")
        told = {"time": "ts", "key": rng.choice((None, "k"))}
        try:
            wanted = bag(query.match(table, plan="definition", **told))
        except ag.QueryError:  # a cycle whose registers never repeat is told by every plan
            with pytest.raises(ag.QueryError, match="does not end"):
                query.match(table, **told)
        else:
            assert bag(query.match(table, **told)) == wanted, seed
