"""The lazy plans: whatever the order in which slots are bound, the matches are the definition's.

The laws ask every plan; few of their random queries are sequences of single events, so here all are, and a chain
takes its order from the seed. A fixed sample runs compiled, over streams that are long enough for stretches with
different anchors, lists that grow and windows that close.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.query import sase
from augury.resolve import output_schema, resolve
from augury.runtime.by_engine import Engine, How
from augury.schema import Columns, roles_of
from conformance.compare import table_difference
from conformance.judge import OUTPUTS, answer, parsed
from conformance.plans import DEFINITION, in_process
from conformance.queries import ANY, NEXT, seeded_case

TREE = in_process("lazy-tree")


@pytest.mark.parametrize("part", range(4))
def test_seeded_sequences_in_any_order_equal_the_definition(part: int) -> None:
    for number in range(part * 60, part * 60 + 60):
        case = seeded_case(f"lazy/{number}", kleene=0, strategies=(ANY, ANY, NEXT))
        order = [c.var for c in parsed(case.text).pattern.positives]
        random.Random(number).shuffle(order)
        for output in (*OUTPUTS, "compressed"):
            wanted = answer(DEFINITION, case, output)
            chain = answer(in_process("lazy-chain"), case, output, order=order)
            tree = answer(TREE, case, output)
            if output == "compressed":
                wanted, chain, tree = (ag.expand(t) for t in (wanted, chain, tree))
            assert table_difference(wanted, chain) is None, f"{case}\n{output}, order={order}"
            assert table_difference(wanted, tree) is None, f"{case}\n{output}, the tree"


def test_whatever_auto_chooses_it_finds_what_the_definition_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augury.runtime.by_engine.FEW", 0)
    for number in range(80):
        case = seeded_case(f"auto/{number}", kleene=0, strategies=(ANY,))
        for output in ("all", "count", "longest"):
            wanted, found = answer(DEFINITION, case, output), answer(in_process("auto"), case, output)
            assert table_difference(wanted, found) is None, f"{case}\n{output}"


QUERIES = {
    "rising": "PATTERN SEQ(A a, B b, C c) WHERE a.y < b.y AND b.y < c.y WITHIN 30",
    "rising by steps, some null": "PATTERN SEQ(A a, B b, C c, D d) WHERE a.n + 0.5 < b.n AND b.n + 0.5 < c.n AND c.n < d.n * 2 WITHIN 40",
    "equal": "PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.s = c.s AND a.n <> c.n WITHIN 50",
    "texts": "PATTERN SEQ(A a, B b) WHERE upper(a.s) = b.s OR b.s LIKE 'b%' AND a.d < b.d WITHIN 15",
    "absences": "PATTERN SEQ(~(D d), A a, ~(B b), ~(D e), C c, ~(A z)) WHERE z.x = 3 AND e.x > a.x AND [k] WITHIN 60",
    "next": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { [k] AND a.x <= b.x } WITHIN 90",
    "one": "PATTERN SEQ(A a, ~(B b)) WHERE a.x > 2 WITHIN 7",
    "no window": "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x = 1 AND b.x = 2 AND c.y > a.y + 2.2",
}


def stream(rows: int, seed: int) -> pa.Table:
    """The shares of types change along it."""
    rng = np.random.default_rng(seed)
    kinds = [
        rng.choice(["A", "B", "C", "D"], rows // 4, p=p)
        for p in ([0.4, 0.4, 0.1, 0.1], [0.05, 0.45, 0.3, 0.2], [0.4, 0.05, 0.45, 0.1], [0.25] * 4)
    ]
    n = rng.normal(size=rows).round(1)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, rows * 2, rows)),
            "kind": pa.array(np.concatenate(kinds)),
            "k": rng.integers(0, 3, rows),
            "x": rng.integers(0, 5, rows),
            "y": rng.normal(size=rows).round(2),
            "s": pa.array(rng.choice(["a", "b", "B", "A", "ba"], rows)),
            "d": pa.array([int(v) for v in rng.integers(0, 9, rows)], pa.int64()).cast(pa.decimal128(22, 2)),
            "n": pa.array(n, mask=rng.random(rows) < 0.2),
        }
    ).take(pa.array(rng.permutation(rows)))


def result(text: str, table: pa.Table, output: str, how: How) -> pa.Table:
    pattern, columns = sase(text).pattern, Columns.of(table.schema)
    query = resolve(pattern, columns, roles_of(columns, "ts", "kind"))
    schema = output_schema(query, table.schema, output, match_id=False, time=pa.int64())
    return Engine(query, schema, output, how).whole(table)


@pytest.mark.parametrize("name", QUERIES)
def test_every_order_equals_the_eager_plan(name: str) -> None:
    text, table = QUERIES[name], stream(1200, 5)
    variables = [c.var for c in sase(text).pattern.positives]
    wanted = {output: result(text, table, output, How(fast=False)) for output in ("all", "count")}
    assert wanted["all"].num_rows > 0
    for order in itertools.permutations(variables):
        for output in ("all", "count"):
            found = result(text, table, output, How("lazy-chain", order, fast=False))
            assert table_difference(wanted[output], found) is None, f"{order}, {output}"


@pytest.mark.parametrize("name", ["rising by steps, some null", "equal", "absences"])
def test_compiled_trees_and_chains_equal_plain_ones(name: str) -> None:
    table = stream(4000, 2)
    for output in ("all", "count"):
        wanted = result(QUERIES[name], table, output, How(fast=False))
        for plan in ("lazy-tree", "lazy-chain"):
            for fast in (True, False):
                found = result(QUERIES[name], table, output, How(plan, fast=fast))
                assert table_difference(wanted, found) is None, f"{output}, {plan}, compiled: {fast}"
