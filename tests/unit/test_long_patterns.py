"""Patterns of many components: more arcs than a word has bits, and kernels that no one waits for a compiler to read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.engines import eager, events, generated, patience
from augury.engines.generated import allows, masks_of, split_by_word
from augury.query import sase
from conformance.compare import table_difference
from conformance.test_compiled import QUERIES, results, stream


def chain(components: int, strategy: str = "skip_till_next_match") -> ag.Query:
    names = [f"a{n}" for n in range(components)]
    bound = ", ".join(f"E {name}" for name in names)
    tests = " AND ".join(f"{name}.x >= {n % 5}" for n, name in enumerate(names))
    text = f"PATTERN SEQ({bound}) WHERE {strategy}({', '.join(names)}) {{ {tests} }}"
    return sase(f"{text} RETURN a0.x, {names[-1]}.x AS y")


def rising(rows: int) -> pa.Table:
    return pa.table({"ts": np.arange(rows), "x": np.arange(rows) % 23})


@pytest.mark.parametrize("components", [63, 64, 65, 130])
@pytest.mark.parametrize("plan", ["eager", "eager-unmerged", "backtrack"])
def test_a_pattern_may_have_more_arcs_than_a_word_has_bits(components: int, plan: str) -> None:
    query, table = chain(components), rising(components * 2)
    wanted = query.match(table, time="ts", plan="definition")
    assert wanted.num_rows > 0
    assert table_difference(wanted, query.match(table, time="ts", plan=plan)) is None


def test_a_thousand_components() -> None:
    query, table = chain(1000), rising(1700)
    found = query.match(table, time="ts", plan="eager")
    counts = query.match(table, time="ts", output="count")["count"].to_pylist()
    assert sum(counts) == found.num_rows > 0
    assert found.num_rows == query.match(table, time="ts", plan="backtrack").num_rows


def test_bits_are_told_apart_by_their_masks() -> None:
    assert allows([0, 2]) == "m & 5"
    assert allows([65, 3, 63]) == f"m & {1 << 63 | 8} or m1 & 2"
    assert masks_of([-1, 3, 128]) == ["", "1", "2"]
    assert list(split_by_word([-1, 70])) == [(range(64), 8), (range(64, 71), 1)]


@pytest.mark.parametrize("name", ["kleene, average", "absence", "strict"])
def test_several_masks_do_what_one_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of two bits makes several masks of few arcs, and few arcs are soon compiled."""
    table = stream(3000, 2)
    wanted = results(QUERIES[name], table, "all")["plain"]
    assert wanted.num_rows > 0
    monkeypatch.setattr(generated, "WORD", 2)
    for how, found in results(QUERIES[name], table, "all", backtrack=True).items():
        assert table_difference(wanted, found) is None, how


def test_a_long_kernel_is_compiled_only_for_work_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[bool] = []
    right = eager.Evaluation._kernel

    def seen(self, source):
        ways.append(self.fast)
        return right(self, source)

    monkeypatch.setattr(eager.Evaluation, "_kernel", seen)
    monkeypatch.setattr(events, "COMPILED_FROM", 1000)
    monkeypatch.setattr(patience, "is_due", lambda _: False)  # whatever ran compiled before
    query, table = sase("PATTERN SEQ(E a, E b) WHERE a.x > b.x AND a.x > 990 WITHIN 3"), rising(4000)
    for lines, worth, expected in ((10**6, 1.0, [True]), (1, 1e9, [False]), (1, 0.0, [False, True])):
        monkeypatch.setattr(patience, "LONG", lines)
        monkeypatch.setattr(patience, "WORTH", worth)
        monkeypatch.setattr(patience, "SOON", 0.0)
        query.match(table, time="ts", plan="eager")
        assert ways == expected
        ways.clear()
    monkeypatch.setattr(patience, "TOO_LONG", 1)
    query.match(table, time="ts", plan="eager")
    assert ways == [False]
