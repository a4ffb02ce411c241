"""The choice between eager and lazy: where it is open, what is estimated, and that it is a good one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.engines import passes
from augury.engines.choosing import is_open, surveyed
from augury.plan.costs import Estimates
from augury.query import sase
from augury.resolve import resolve
from augury.schema import Columns, roles_of

RISING = "PATTERN SEQ(A a, B b, C c) WHERE a.p + 0.3 < b.p AND b.p + 0.3 < c.p WITHIN 200"
ROLES: Any = {"time": "ts", "type": "kind"}


def letters(rows: int, shares: tuple[float, ...], seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    kinds = np.array(["A", "B", "C"])[rng.choice(3, rows, p=shares)]
    return pa.table(
        {
            "ts": np.arange(rows),
            "kind": pa.array(kinds),
            "p": rng.random(rows),
            "k": rng.integers(0, 20, rows),
        }
    )


def planned(text: str, table: pa.Table) -> passes.Plan:
    pattern, columns = sase(text).pattern, Columns.of(table.schema)
    return passes.plan(resolve(pattern, columns, roles_of(columns, "ts", "kind")))


def estimates(text: str, table: pa.Table, output: str = "all") -> Estimates:
    return surveyed(planned(text, table), table, output, fast=False)[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RISING, True),
        ("PATTERN SEQ(A a, B b, C c) WITHIN 200", False),
        ("PATTERN SEQ(A a, B b) WHERE a.p > 0.5 AND [k] WITHIN 200", False),
        ("PATTERN SEQ(A a, B+ b[]) WHERE a.p < b[1].p WITHIN 200", False),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.p < b.p } WITHIN 200", False),
    ],
)
def test_the_data_decides_where_runs_must_remember_something(text: str, expected: bool) -> None:
    plan = planned(text, letters(10, (0.4, 0.4, 0.2)))
    assert is_open(plan, plan.query.pattern.strategy) is expected


def test_counts_and_samples_are_near_what_is_there() -> None:
    found = estimates(RISING, letters(20_000, (0.6, 0.3, 0.1))).statistics
    assert found.totals == pytest.approx((12_000, 6_000, 2_000), rel=0.1)
    assert found.reach == pytest.approx(199, rel=0.02)
    assert found.selectivity[0] == pytest.approx(0.245, abs=0.08)  # 0.7 squared, and half of it
    assert len(found.counts) == 8
    assert sum(found.sizes) == 20_000


def test_an_order_begins_where_little_is_left_to_do() -> None:
    rare = estimates(RISING, letters(20_000, (0.499, 0.499, 0.002)))
    assert rare.order[0] == 2
    assert rare.best != "eager"
    first = estimates(RISING, letters(20_000, (0.002, 0.499, 0.499)))
    assert first.order[0] == 0


def test_the_tree_is_worth_it_where_what_is_rare_changes() -> None:
    parts = [
        letters(5_000, shares, seed)
        for seed, shares in enumerate(((0.002, 0.499, 0.499), (0.499, 0.002, 0.499), (0.499, 0.499, 0.002)))
    ]
    table = pa.concat_tables(parts)
    table = table.set_column(0, "ts", pa.array(np.arange(table.num_rows)))
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.p + 0.6 < b.p AND b.p + 0.2 < c.p WITHIN 400"
    found = estimates(text, table)
    assert found.best == "lazy-tree"
    query = ag.sase(text)
    result, measures = query.profile(table, **ROLES)
    assert measures["lazy_evaluations"] == 1
    wanted = query.match(table, **ROLES, plan="eager")
    key = [(name, "ascending") for name in ("match_end", "match_start")]
    assert result.num_rows == wanted.num_rows > 0
    for column in ("match_start", "match_end"):
        assert result.sort_by(key).column(column) == wanted.sort_by(key).column(column)


@pytest.mark.parametrize("output", ["all", "count", "longest"])
@pytest.mark.parametrize("shares", [(0.498, 0.498, 0.004), (0.34, 0.33, 0.33)])
def test_auto_gives_what_every_plan_gives(output: str, shares: tuple[float, ...]) -> None:
    query, table = ag.sase(RISING), letters(3_000, shares)
    wanted = query.match(table, **ROLES, output=output, plan="eager")
    found, measures = query.profile(table, **ROLES, output=output)
    key = [(name, "ascending") for name in ("match_end", "match_start") if name in found.schema.names]
    assert found.num_rows == wanted.num_rows > 0
    assert found.sort_by(key).column("match_end") == wanted.sort_by(key).column("match_end")
    assert measures["lazy_evaluations"] == (1 if shares[2] < 0.01 else measures["lazy_evaluations"])


def test_few_events_and_other_plans_ask_no_question() -> None:
    query = ag.sase(RISING)
    _, few = query.profile(letters(500, (0.498, 0.498, 0.004)), **ROLES)
    assert few["lazy_evaluations"] == 0
    _, eager = query.profile(letters(3_000, (0.498, 0.498, 0.004)), **ROLES, plan="eager")
    assert eager["lazy_evaluations"] == 0


def test_lazy_plans_ask_far_less_where_the_last_event_is_rare() -> None:
    query, table = ag.sase(RISING), letters(6_000, (0.4975, 0.4975, 0.005))
    _, eager = query.profile(table, **ROLES, plan="eager-unmerged")
    for plan in ("lazy-chain", "lazy-tree"):
        _, lazy = query.profile(table, **ROLES, plan=plan)
        assert lazy["run_evaluations"] * 5 < eager["run_evaluations"]
        assert lazy["peak_runs"] * 5 < eager["peak_runs"]
        assert lazy["peak_buffered_events"] <= 200
