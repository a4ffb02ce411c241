"""Laws of a matcher: how events are cut into calls, the order in which they arrive, what is late, and where its state is
stored say nothing of the answer. That the answer is the right one, the conformance suite tells.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury as ag
from augury.runtime import names
from conformance.compare import table_difference

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.int64()), ("x", pa.int64())])
ROLES: dict[str, Any] = {"time": "ts", "type": "kind", "key": "k"}
QUERIES = {
    "pairs": "PATTERN SEQ(A a, B b) WHERE a.x <= b.x WITHIN 6",
    "steps": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) WITHIN 12",
    "no window": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) AND [x]",
    "kleene": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) AND a[i].x >= a[i-1].x WITHIN 7",
    "absent between": "PATTERN SEQ(A a, ~(C c), B b) WHERE c.x = a.x WITHIN 8",
    "absent before": "PATTERN SEQ(~(C c), A a, B b) WITHIN 6",
    "absent after": "PATTERN SEQ(A a, B b, ~(C c)) WHERE c.x > b.x WITHIN 6",
    "strict": "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) WITHIN 9",
    "partition": "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [x] } WITHIN 9",
}
OUTPUTS = [
    ("all", False),
    ("all", True),
    ("non_overlap", True),
    ("longest", True),
    ("count", False),
    ("compressed", False),
]


def rows(rng: random.Random, many: int) -> list[dict[str, Any]]:
    return [
        {
            "ts": None if rng.random() < 0.03 else rng.randint(0, 40),
            "kind": rng.choice(["A", "A", "B", "B", "C", None]),
            "k": rng.choice([0, 1, 1, None]),
            "x": rng.choice([0, 1, 2, None]),
        }
        for _ in range(many)
    ]


def table(of: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(of, schema=SCHEMA)


@pytest.mark.filterwarnings("ignore::augury.DataWarning")
@pytest.mark.parametrize(("output", "match_id"), OUTPUTS)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(QUERIES)), many=st.sampled_from([2, 10**6]))
def test_a_matcher_answers_for_all_events_but_the_late_ones(
    output: str, match_id: bool, seed: int, name: str, many: int
) -> None:
    """Also where its partitions are found by the hash table of many."""
    rng = random.Random(seed)
    told = {**ROLES, "output": output, "match_id": match_id, "bad_rows": "drop"}
    query = ag.sase(QUERIES[name])
    late: list[pa.Table] = []
    before, names.MANY = names.MANY, many
    try:
        m = query.matcher(SCHEMA, **told, on_late=late.append)
        frontier, found, taken, expected_late = -100, [], [], []
        for _ in range(rng.randint(1, 8)):
            some = rows(rng, rng.randint(0, 14))
            found.append(m.insert(table(some)))
            for row in some:
                is_late = row["ts"] is not None and row["ts"] < frontier
                (expected_late if is_late else taken).append(row)
            if rng.random() < 0.7:
                frontier = max(frontier, rng.randint(-2, 40))
                found.append(m.advance(frontier))
            if rng.random() < 0.5:
                m = query.matcher(SCHEMA, **told, on_late=late.append, state=m.state())
        stats = m.stats
        found.append(m.close())
    finally:
        names.MANY = before
    assert [r for t in late for r in t.to_pylist()] == expected_late
    good = [row for row in taken if row["ts"] is not None]
    assert (stats["late_events"], stats["events"], stats["bad_rows"]) == (
        len(expected_late),
        len(good),
        len(taken) - len(good),
    )
    changes = pa.concat_tables(found)
    assert set(changes["op"].to_pylist()) <= {"insert"}
    got, wanted = changes.drop_columns(["op"]), query.match(table(good), **told)
    if output == "compressed":
        got, wanted = ag.expand(got, query), ag.expand(wanted, query)
    assert table_difference(wanted.replace_schema_metadata(None), got.replace_schema_metadata(None)) is None


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(QUERIES)))
def test_what_is_kept_is_bounded_by_the_window(seed: int, name: str) -> None:
    """After a punctuation nothing is there that is older than all that a match to come can need."""
    rng = random.Random(seed)
    query = ag.sase(QUERIES[name])
    m = query.matcher(SCHEMA, **ROLES)
    window = 0 if name == "no window" else int(QUERIES[name].rpartition(" ")[2])
    for t in range(0, 200, 20):
        some = [{**row, "ts": rng.randint(t, t + 19)} for row in rows(rng, 12)]
        m.insert(table(some))
        m.advance(t + 20)
    m.advance(10**6)
    if window:
        assert m.stats["kept_events"] == m.stats["partitions"] == m.stats["live_runs"] == 0
    assert m.stats["waiting_events"] == 0
    assert m.stats["kept_events"] <= 120
