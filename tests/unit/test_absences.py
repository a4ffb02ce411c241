"""Absences that runs tell: no match is enumerated only to be dropped."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury as ag
from augury.automaton import Absent, Action, lower
from augury.resolve import resolve
from augury.schema import Columns, roles_of

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64())])


def automaton(text: str):
    columns = Columns.of(SCHEMA)
    return lower(resolve(ag.sase(text).pattern, columns, roles_of(columns, "ts", "kind", None, None)))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("PATTERN SEQ(A a, ~(N n), B b)", Absent.ENDS),
        ("PATTERN SEQ(A a, ~(N n), B b) WHERE n.x = a.x", Absent.ENDS),
        ("PATTERN SEQ(A a, ~(N n), B b) WHERE n.x = b.x", Absent.FILTERS),
        ("PATTERN SEQ(A+ a[], ~(N n), B b) WHERE n.x > 3", Absent.SINCE),
        ("PATTERN SEQ(A+ a[], ~(N n), B b) WHERE n.x = a[1].x", Absent.FILTERS),
        ("PATTERN SEQ(~(N n), A a, B b) WITHIN 10", Absent.BOUNDS),
        ("PATTERN SEQ(A a, B b, ~(N n)) WHERE n.x > 3 WITHIN 10", Absent.BOUNDS),
        ("PATTERN SEQ(A a, B b, ~(N n)) WHERE n.x = b.x WITHIN 10", Absent.FILTERS),
    ],
)
def test_the_cheapest_way_that_knows_enough(text: str, how: Absent) -> None:
    built = automaton(text)
    assert [known for _, known in built.absences] == [how]
    assert any(arc.action is Action.END for arc in built.arcs) == (how is Absent.ENDS)


def stream(*kinds: str) -> pa.Table:
    return pa.table({"ts": range(len(kinds)), "kind": kinds, "x": range(len(kinds))})


@pytest.mark.parametrize(
    ("text", "kinds", "counts"),
    [
        # Every way to take some of the 190 A's, but for those that take none after N.
        ("PATTERN SEQ(A+ a[], ~(N n), B b)", "A" * 100 + "N" + "A" * 90 + "B", [2**190 - 2**100]),
        # The first B is in one window with N; the second has nothing after it.
        ("PATTERN SEQ(A+ a[], B b, ~(N n)) WITHIN 1000", "A" * 110 + "BNAB", [2**111 - 1]),
        # N is out of the window of the first two A's.
        ("PATTERN SEQ(A+ a[], B b, ~(N n)) WITHIN 105", "A" * 100 + "BAAAAAN", [2**100 - 2**98]),
        # N may not come before the first A in the window.
        ("PATTERN SEQ(~(N n), A+ a[], B b) WITHIN 1000", "A" * 50 + "N" + "A" * 40 + "B", [2**90 - 2**40]),
    ],
)
def test_counts_of_more_matches_than_there_is_time_for(text: str, kinds: str, counts: list[int]) -> None:
    found = ag.sase(text).match(stream(*kinds), time="ts", type="kind", output="count")
    expected = [n if n < 10**38 else None for n in counts]
    assert [None if c is None else int(c) for c in found["count"].to_pylist()] == expected
