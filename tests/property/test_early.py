"""The law of SASE+ matches before they are certain: after every call inserts minus retracts are the matches of the
events released so far; what waits for time to pass is reported once, and in the end all are.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import augury as ag
from augury.expr.columns import from_arrow
from augury.expr.types import from_arrow as type_of
from conformance.compare import canonical, rows_of
from conformance.queries import seeded_case

OUTPUTS = ("all", "non_overlap", "count", "longest")


def bag(table: pa.Table) -> Counter[Any]:
    return Counter(canonical(row) for row in rows_of(table))


def differences(seed: int) -> None:
    rng = random.Random(seed)
    case = seeded_case(f"early/{seed}", max_events=14)
    query, table = ag.sase(case.text), case.table
    times = from_arrow(table.column("ts"), type_of(table.schema.field("ts").type))
    good = [n for n in range(table.num_rows) if times.mask()[n]]
    told = {**case.arguments, "output": rng.choice(OUTPUTS)}
    if told["output"] in ("all", "non_overlap"):
        told["match_id"] = rng.random() < 0.3
    m = query.matcher(table.schema, speculate=None, **told)
    waits = m.core.waits
    rng.shuffle(good)
    here: list[int] = []
    current: Counter[Any] = Counter()
    frontier: int | None = None

    def check(changes: pa.Table, *, ended: bool = False) -> None:
        for op, *row in rows_of(changes):
            current[canonical(row)] += 1 if op == "insert" else -1
            assert current[canonical(row)] >= 0, (seed, "taken back before it came")
            assert op == "insert" or not waits, (seed, "what is certain was taken back")
        if waits and not ended:
            return
        got = Counter({row: n for row, n in current.items() if n})
        wanted = bag(query.match(table.take(pa.array(here, pa.int64())), **told))
        assert got == wanted, (seed, told, case.text, "missing", wanted - got, "too many", got - wanted)

    while good:
        what = rng.choices(("insert", "retract", "advance", "save"), (6, 2, 2, 1))[0]
        if what == "insert":
            chunk = [good.pop() for _ in range(min(len(good), rng.randint(1, 4)))]
            here += [n for n in chunk if frontier is None or times.values[n] >= frontier]
            check(m.insert(table.take(pa.array(chunk, pa.int64()))))
        elif what == "retract":
            open_ = [n for n in here if frontier is None or times.values[n] >= frontier]
            gone = rng.sample(open_, min(len(open_), rng.randint(1, 2)))
            here = [n for n in here if n not in gone]
            check(m.retract(table.take(pa.array(gone, pa.int64()))))
        elif what == "advance" and good:
            at = rng.choice(good)
            frontier = max(int(times.values[at]), frontier if frontier is not None else -(2**62))
            check(m.advance(table.column("ts")[at]))
        elif what == "save":
            m = query.matcher(table.schema, speculate=None, state=m.state(), **told)
    check(m.close(), ended=True)


@pytest.mark.parametrize("block", range(4))
def test_after_every_call_the_changes_amount_to_the_matches(block: int) -> None:
    for seed in range(60):
        differences(1000 * block + seed)
