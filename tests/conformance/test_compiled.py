"""Compiled kernels say what the same source says uncompiled, and both what the definition says.

A compile for each random query would take a day, so a fixed sample is compiled, over streams that are long
enough for what short ones do not reach: arrays that grow, graphs that are compacted, partitions by the hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.engines import eager, patience
from augury.query import sase
from augury.resolve import output_schema, resolve
from augury.runtime.by_definition import Definition
from augury.runtime.by_engine import Engine, How
from augury.schema import Columns, roles_of
from conformance.compare import table_difference

QUERIES = {
    "singletons": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { a.x < c.x } WITHIN 40",
    "rising, any": "PATTERN SEQ(A a, B b, C c) WHERE a.y < b.y AND b.y < c.y WITHIN 30",
    "kleene, next": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { a[i].x > a[i-1].x } WITHIN 40",
    "kleene, average": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { [k] AND a[i].y > avg(a[..i-1].y) } WITHIN 90",
    "kleene at the end": "PATTERN SEQ(A a, B+ b[]) WHERE partition_contiguity(a, b[]) { [k] AND b[b.LEN].x > 2 }",
    "every event": "PATTERN SEQ(A+ a[], C c) WHERE skip_till_any_match(a[], c) { a[].x <= c.x AND a[i].s <> a[i-1].s } WITHIN 12",
    "absence": "PATTERN SEQ(A a, ~(B b), C c, ~(A d)) WHERE b.x = a.x AND d.x > c.x AND [k] WITHIN 60",
    "strict": "PATTERN SEQ(A a, A+ b[], C c) WHERE strict_contiguity(a, b[], c) { [k] } RETURN a.x, sum(b[].x) AS s, b.LEN AS n",
    "text": "PATTERN SEQ(A a, B b) WHERE upper(a.s) = b.s OR b.s LIKE 'b%' AND a.d < b.d WITHIN 15 RETURN a.s, b.d",
    "nulls": "PATTERN SEQ(A+ a[], B b) WHERE a[i].n >= max(a[..i-1].n) AND count(a[].n) > 1 AND b.n IS NULL WITHIN 24",
}


BACKTRACKED = ("kleene, average", "kleene at the end", "every event", "absence", "strict", "nulls")


def stream(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    n = rng.normal(size=rows).round(1)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, rows * 2, rows)),
            "kind": pa.array(rng.choice(["A", "B", "C", "D"], rows, p=[0.3, 0.3, 0.2, 0.2])),
            "k": rng.integers(0, 4, rows),
            "x": rng.integers(0, 5, rows),
            "y": rng.normal(size=rows).round(2),
            "s": pa.array(rng.choice(["a", "b", "B", "A", "ba"], rows)),
            "d": pa.array([int(v) for v in rng.integers(0, 9, rows)], pa.int64()).cast(pa.decimal128(22, 2)),
            "n": pa.array(n, mask=rng.random(rows) < 0.2),
        }
    ).take(pa.array(rng.permutation(rows)))


def results(
    text: str,
    table: pa.Table,
    output: str,
    *,
    key: str | None = None,
    defined: bool = False,
    backtrack: bool = False,
) -> dict[str, pa.Table]:
    pattern, columns = sase(text).pattern, Columns.of(table.schema)
    query = resolve(pattern, columns, roles_of(columns, "ts", "kind", key))
    schema = output_schema(query, table.schema, output, match_id=False, time=pa.int64())
    ways = {"compiled": How(fast=True), "plain": How(fast=False)}
    if backtrack:
        ways["backtrack"] = How("backtrack", fast=True)
    found = {name: Engine(query, schema, output, how).whole(table) for name, how in ways.items()}
    if defined:
        found["definition"] = Definition(query, schema, output, 10**6).whole(table)
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_compiled_plain_and_defined_agree(name: str) -> None:
    for rows, seed in ((120, 1), (3000, 2)):
        for output in ("all", "count"):
            found = results(
                QUERIES[name], stream(rows, seed), output, defined=rows < 200, backtrack=name in BACKTRACKED
            )
            assert found["plain"].num_rows > 0
            for how, table in found.items():
                assert table_difference(found["plain"], table) is None, f"{rows} rows, {output}: {how}"


def test_many_keys_are_matched_apart_in_compiled_kernels() -> None:
    rng = np.random.default_rng(3)
    table = stream(4000, 3).append_column(
        "user", pa.array(rng.integers(0, 2**62, 900)[rng.integers(0, 900, 4000)])
    )
    found = results(QUERIES["singletons"].replace("WITHIN 40", "WITHIN 4000"), table, "all", key="user")
    assert found["plain"].num_rows > 0
    assert table_difference(found["plain"], found["compiled"]) is None


def test_a_count_beyond_38_digits_is_null_and_one_before_is_exact() -> None:
    """k events of A before one B have 2**k - 1 matches under skip_till_any."""
    rows = 160
    table = pa.table({"ts": np.arange(rows), "kind": pa.array(["A", "B"] * (rows // 2))})
    found = results("PATTERN SEQ(A+ a[], B b)", table, "count")
    expected = [2**k - 1 for k in range(1, rows // 2 + 1)]
    for how in ("compiled", "plain"):
        assert [None if n is None else int(n) for n in found[how]["count"].to_pylist()] == expected, how
    wide = pa.table({"ts": np.arange(200), "kind": pa.array(["A"] * 199 + ["B"])})
    assert results("PATTERN SEQ(A+ a[], B b)", wide, "count")["compiled"]["count"].to_pylist() == [None]
    twice = pa.table({"ts": np.arange(400), "kind": pa.array((["A"] * 199 + ["B"]) * 2)})
    windowed = results("PATTERN SEQ(A+ a[], B b) WITHIN 100", twice, "count")["compiled"]
    assert [int(n) for n in windowed["count"].to_pylist()] == [2**99 - 1] * 2


def test_a_count_of_39_digits_is_told_by_its_multiple_of_a_power_of_two() -> None:
    """2**126 lies below 10**38, and what wide numbers hold is taken by it."""
    kinds = ["A"] * 120 + ["C"] + ["A"] * 6 + ["C", "B", "A", "C", "B"]
    table = pa.table({"ts": np.arange(len(kinds)), "kind": pa.array(kinds)})
    first, before = 2**120 - 1, 2**126 - 1
    assert 2**126 < first + before < 10**38 < first + before + 2**127 - 1
    found = results("PATTERN SEQ(A+ a[], C c, B b)", table, "count")
    for how in ("compiled", "plain"):
        counts = [None if n is None else int(n) for n in found[how]["count"].to_pylist()]
        assert counts == [first + before, None], how


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest", "count", "compressed"])
def test_slow_work_starts_again_compiled(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table with much to do: the answer is the same, and nothing of the first try is in it."""
    query, table = sase(QUERIES["rising, any"]), stream(3000, 5)
    wanted = query.match(table, time="ts", type="kind", output=output, plan="eager")
    ways: list[bool] = []
    right = eager.Evaluation.drive

    def watched(self: Any, store: Any) -> Any:
        ways.append(self.fast)
        yield from right(self, store)

    monkeypatch.setattr(eager.Evaluation, "drive", watched)
    monkeypatch.setattr(patience, "is_due", lambda _: False)  # whatever ran compiled before
    monkeypatch.setattr(patience, "SOON", 0.0)
    monkeypatch.setattr(patience, "WORTH", 0.0)
    found = query.match(table, time="ts", type="kind", output=output)
    assert ways[0] is False
    assert ways[-1] is True
    if (
        output == "compressed"
    ):  # one set of matches has more than one graph: how, depends on what was dropped when
        wanted, found = ag.expand(wanted), ag.expand(found)
    assert table_difference(wanted, found) is None


def test_small_calls_add_up_until_they_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that come a few at a time: compiled once their work has been worth it, and from then on for any number."""
    ways: list[bool] = []
    right = eager.Evaluation.finished

    def watched(self: Any) -> None:
        ways.append(self.fast)
        right(self)

    monkeypatch.setattr(eager.Evaluation, "finished", watched)
    monkeypatch.setattr(patience, "_ready", set())
    monkeypatch.setattr(patience, "_spent", {})
    monkeypatch.setattr(patience, "WORTH", 1e9)
    query, table = sase(QUERIES["rising, any"]), stream(300, 5).sort_by("ts")
    wanted = query.match(table, time="ts", type="kind")
    m = query.matcher(table.schema, time="ts", type="kind")
    found = []
    for start in range(0, 300, 30):
        if start == 150:
            assert not any(ways)
            monkeypatch.setattr(patience, "WORTH", 1e-9)
            monkeypatch.setattr(patience, "Slow", AssertionError)  # nothing has to be begun again
            ways.clear()
        m.insert(table.slice(start, 30))
        found.append(m.advance(table["ts"][start]))
    found.append(m.close())
    assert all(ways)
    assert len(ways) > 4
    assert table_difference(wanted, pa.concat_tables(found).drop_columns(["op"])) is None
