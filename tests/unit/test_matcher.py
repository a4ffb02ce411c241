"""The matcher: what is certain when, what is late, what is kept, and its state. That its rows are the right ones, the
conformance suite tells (the plans "as it comes").
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import augury as ag
from augury.runtime import room

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.string()), ("x", pa.int64())])
ROLES = {"time": "ts", "type": "kind", "key": "k"}
STEPS = ag.sase(
    "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) WITHIN 20 RETURN a.x, b.x, c.x"
)


def events(*rows: tuple[int, str, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def stream(rows: int, seed: int = 0, until: int = 120) -> pa.Table:
    rng = random.Random(seed)
    return events(
        *(
            (rng.randint(0, until), rng.choice("AABC"), rng.choice("pqr"), rng.randint(0, 5))
            for _ in range(rows)
        )
    )


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


# ------------------------------------------------------------------ what is certain when


QUERIES = {
    "pairs": ("PATTERN SEQ(A a, B b) WHERE a.x <= b.x WITHIN 12", "all"),
    "steps": ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) WITHIN 20", "all"),
    "unbounded": ("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b)", "all"),
    "rising": ("PATTERN SEQ(A+ a[], B b) WHERE a[i].x > a[i-1].x WITHIN 12", "count"),
    "absent after": ("PATTERN SEQ(A a, B b, ~(C c)) WHERE c.x = a.x WITHIN 9", "all"),
    "absent before": ("PATTERN SEQ(~(C c), A a, B b) WITHIN 9", "all"),
    "absent between": ("PATTERN SEQ(A+ a[], ~(C c), B b) WHERE skip_till_next_match(a[], b) WITHIN 9", "all"),
    "longest": ("PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) WITHIN 9", "longest"),
    "apart": ("PATTERN SEQ(A a, B b) WITHIN 12", "non_overlap"),
    "strict": ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) WITHIN 12", "all"),
    "within an attribute": (
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) AND [x] WITHIN 12",
        "non_overlap",
    ),
}


def settled(whole: pa.Table, t: int, name: str) -> pa.Table:
    """Of the whole answer what must have been reported once no event before t can come."""
    if "longest" in name:
        return whole.filter(pc.less_equal(whole["match_start"], t - 9))
    if name == "absent after":
        return whole.filter(pc.less_equal(whole["match_start"], t - 9))
    return whole.filter(pc.less(whole["match_end"], t))


@pytest.mark.parametrize("name", QUERIES)
def test_each_call_returns_what_has_become_certain_and_no_more(name: str) -> None:
    text, output = QUERIES[name]
    query, table = ag.sase(text), stream(400 if name == "within an attribute" else 120, seed=len(name))
    whole = query.match(table, output=output, **ROLES)
    assert whole.num_rows > 3
    m = query.matcher(SCHEMA, output=output, **ROLES)
    m.insert(table)
    said: list[str] = []
    for t in range(0, 140, 7):
        changes = m.advance(t)
        assert set(changes["op"].to_pylist()) <= {"insert"}
        said += sorted_rows(changes.drop_columns(["op"]))
        assert sorted(said) == sorted_rows(settled(whole, t, name)), f"at {t}"
    said += sorted_rows(m.close().drop_columns(["op"]))
    assert sorted(said) == sorted_rows(whole)


def test_going_backwards_does_nothing_and_an_empty_step_has_the_columns() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    assert m.advance(10).column_names == ["op", "match_start", "match_end", "a_x", "b_x", "c_x"]
    assert m.advance(5).num_rows == 0
    m.insert(events((7, "A", "p", 1)))
    assert m.stats["late_events"] == 1


def test_an_event_that_waits_can_be_taken_back() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    twice = events((1, "A", "p", 1), (1, "A", "p", 1), (2, "B", "p", 2), (3, "C", "p", 3))
    m.insert(twice)
    m.retract(twice.slice(1, 2))
    m.insert(events((2, "B", "p", 7)))
    assert m.advance(4).select(["a_x", "b_x", "c_x"]).to_pylist() == [{"a_x": 1, "b_x": 7, "c_x": 3}]
    assert m.stats["retracted"] == 2


def test_a_retraction_that_names_no_event_is_bad_input_and_changes_nothing() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.insert(events((1, "A", "p", 1), (2, "B", "p", 2)))
    before = m.state()
    with pytest.raises(ag.DataError, match="2 retractions name no event that is known"):
        m.retract(events((1, "A", "p", 1), (1, "A", "p", 1), (2, "B", "q", 2)))
    assert m.state() == before
    m = STEPS.matcher(SCHEMA, bad_rows="drop", state=before, **ROLES)
    with pytest.warns(ag.DataWarning, match="1 retraction names no event"):
        m.retract(events((1, "A", "p", 1), (1, "A", "p", 1)))
    assert (m.stats["bad_rows"], m.stats["waiting_events"]) == (1, 1)


def test_a_late_retraction_is_counted_as_late_events_are() -> None:
    late: list[pa.Table] = []
    m = STEPS.matcher(SCHEMA, on_late=late.append, **ROLES)
    m.insert(events((1, "A", "p", 1)))
    m.advance(2)
    m.retract(events((1, "A", "p", 1)))
    assert m.stats["late_events"] == 1
    assert [t.num_rows for t in late] == [1]


def test_late_events_are_counted_and_handed_over() -> None:
    late: list[pa.Table] = []
    m = STEPS.matcher(SCHEMA, on_late=late.append, **ROLES)
    m.advance(5)
    m.insert(events((4, "A", "p", 1), (5, "A", "p", 2), (1, "B", "p", 3)))
    assert m.stats["late_events"] == 2
    assert [t.to_pylist() for t in late] == [events((4, "A", "p", 1), (1, "B", "p", 3)).to_pylist()]
    assert m.stats["waiting_events"] == 1


@pytest.mark.parametrize(
    ("kind", "at", "strange"),
    [
        (pa.int32(), 3, "3"),
        (pa.date32(), dt.date(1970, 1, 4), 3),
        (pa.timestamp("s"), dt.datetime(1970, 1, 1, 0, 0, 3, tzinfo=dt.UTC), 3),
        (pa.timestamp("ns", "Europe/Vienna"), dt.datetime(1970, 1, 1, 0, 0, 3, tzinfo=dt.UTC), True),
    ],
)
def test_a_punctuation_is_a_value_of_the_time_column(kind: pa.DataType, at: Any, strange: Any) -> None:
    table = pa.table({"ts": pa.array([2, 3], pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)})
    if kind == pa.timestamp("ns", "Europe/Vienna"):
        table = pa.table({"ts": pa.array([2 * 10**9, 3 * 10**9], pa.int64()).cast(kind)})
    m = ag.sase("PATTERN E a").matcher(table.schema, time="ts")
    m.insert(table)
    assert m.advance(at).num_rows == 1
    for wrong in (strange, None, "soon", object()):
        with pytest.raises(ag.QueryError, match=r"advance\("):
            m.advance(wrong)


def test_matches_before_they_are_certain() -> None:
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) RETURN a.x, b.x")
    m = query.matcher(SCHEMA, speculate=None, **ROLES)
    assert [r["op"] for r in m.insert(events((1, "A", "p", 1), (5, "B", "p", 5))).to_pylist()] == ["insert"]
    found = m.insert(events((3, "B", "p", 3), (4, "B", "q", 4))).to_pylist()
    assert [(r["op"], r["b_x"]) for r in found] == [("retract", 5), ("insert", 3)]
    again = query.matcher(SCHEMA, speculate=None, state=m.state(), **ROLES)
    found = again.retract(events((3, "B", "p", 3))).to_pylist()
    assert [(r["op"], r["b_x"]) for r in found] == [("retract", 3), ("insert", 5)]
    assert again.advance(6).num_rows == 0
    assert again.stats["kept_events"] == 0
    with pytest.raises(ag.DataError, match="names no event"):
        m.retract(events((9, "B", "p", 3)))
    ahead = query.matcher(SCHEMA, speculate=3, **ROLES)
    ahead.insert(events((1, "A", "p", 1), (2, "B", "p", 2), (5, "A", "p", 5), (6, "B", "p", 6)))
    assert [r["b_x"] for r in ahead.advance(0).to_pylist()] == [2]


def test_what_a_matcher_does_not_do_it_says() -> None:
    with pytest.raises(ag.QueryError, match="gives matches that are certain"):
        STEPS.matcher(SCHEMA, speculate=None, output="compressed", **ROLES)
    for strange in ("1 hour", -1, dt.timedelta(hours=1), "soon"):
        with pytest.raises(ag.QueryError, match="is no length of time"):
            STEPS.matcher(SCHEMA, speculate=strange, **ROLES)
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.close()
    for call in (lambda: m.insert(events()), lambda: m.advance(9), m.state):
        with pytest.raises(ag.QueryError, match="is closed"):
            call()
    with pytest.raises(ag.QueryError, match="named op"):
        ag.sase("PATTERN SEQ(A op, B b)").matcher(SCHEMA, **ROLES)
    with pytest.raises(ag.QueryError, match="no schema of events"):
        STEPS.matcher(5, **ROLES)


def test_events_must_have_the_columns_that_were_promised() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    with pytest.raises(ag.DataError, match="the matcher was made for a column x, and these events have none"):
        m.insert(pa.table({"ts": [1], "kind": ["A"], "k": ["p"]}))
    with pytest.raises(ag.DataError, match="the column x is string"):
        m.insert(pa.table({"ts": [1], "kind": ["A"], "k": ["p"], "x": ["many"]}))
    m.insert(pa.table({"x": pa.array([1], pa.int8()), "ts": [1], "kind": ["A"], "k": ["p"], "more": [0]}))
    assert m.stats["events"] == 1


def test_bad_rows_are_refused_or_counted() -> None:
    bad = pa.table({"ts": [None, 1], "kind": ["A", "A"], "k": ["p", "p"], "x": [1, 1]}, schema=SCHEMA)
    m = STEPS.matcher(SCHEMA, **ROLES)
    with pytest.raises(ag.DataError, match="1 row has no time in the column ts"):
        m.insert(bad)
    assert m.stats["events"] == 0
    m = STEPS.matcher(SCHEMA, bad_rows="drop", **ROLES)
    with pytest.warns(ag.DataWarning, match="1 row has no time") as caught:
        m.insert(bad)
    assert caught[0].filename == __file__
    assert (m.stats["bad_rows"], m.stats["events"]) == (1, 1)


# ------------------------------------------------------------------ what is kept


def test_what_no_match_to_come_can_need_is_gone() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.insert(events((1, "B", "p", 0), (2, "A", "p", 1), (1, "C", "p", 0), (3, "X", "p", 0), (5, "A", "q", 2)))
    m.advance(6)
    assert m.stats["kept_events"] == 2  # of p and of q the event that a run has bound
    assert m.stats["partitions"] == 2
    assert m.stats["live_runs"] == 2
    m.insert(events((6, "B", "p", 3), (7, "C", "p", 4)))
    assert m.advance(8).num_rows == 1
    assert (m.stats["kept_events"], m.stats["partitions"]) == (1, 1)  # p's match is reported
    m.advance(25)
    assert (m.stats["kept_events"], m.stats["partitions"], m.stats["live_runs"]) == (
        0,
        0,
        0,
    )  # q's has expired


def test_memory_is_flat_while_keys_come_and_go() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    rng, kept = random.Random(1), []
    for step in range(60):
        m.insert(
            events(
                *(
                    (step * 10 + rng.randint(0, 9), rng.choice("ABC"), f"user {step}-{n % 7}", n)
                    for n in range(40)
                )
            )
        )
        m.advance(step * 10 + 10)
        kept.append((m.stats["kept_events"], m.stats["partitions"], m.core.kept.rows, m.core.kept.size))
    assert max(k[0] for k in kept) < 120
    assert max(k[1] for k in kept) < 40
    assert max(k[2] for k in kept) < 1024 + 2 * max(k[0] for k in kept) + 400
    assert max(k[3] for k in kept) < 60  # slots are used again


# ------------------------------------------------------------------ state


def test_damaged_states_are_refused_wherever_they_are_damaged() -> None:
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.insert(events((1, "A", "p", 1), (2, "A", "q", 2), (9, "B", "q", 2)))
    m.advance(5)
    state = m.state()
    for length in range(len(state)):
        with pytest.raises(ag.DataError):
            STEPS.matcher(SCHEMA, state=state[:length], **ROLES)
    for place in range(len(state)):
        broken = bytearray(state)
        broken[place] ^= 1 << place % 8
        with pytest.raises(ag.DataError):
            STEPS.matcher(SCHEMA, state=bytes(broken), **ROLES)
    with pytest.raises(ag.DataError, match="no state of a matcher"):
        STEPS.matcher(SCHEMA, state=b"PAR1 and so on", **ROLES)
    with pytest.raises(ag.DataError, match="bytes, not str"):
        STEPS.matcher(SCHEMA, state="AUGURYST", **ROLES)


def test_large_states_are_refused_wherever_they_are_damaged() -> None:
    m, rng = STEPS.matcher(SCHEMA, **ROLES), random.Random(5)
    m.insert(events(*((rng.randint(0, 15), rng.choice("AAB"), f"user{n}", n) for n in range(20_000))))
    m.advance(12)
    state = m.state()
    assert len(state) > 900_000
    STEPS.matcher(SCHEMA, state=state, **ROLES)
    for _ in range(100):
        broken = bytearray(state)
        for _ in range(rng.choice([1, 1, 2, 20])):
            broken[rng.randrange(len(state))] ^= 1 << rng.randrange(8)
        broken = broken[: rng.choice([len(state), len(state), rng.randrange(len(state))])]
        if broken != state:
            with pytest.raises(ag.DataError):
                STEPS.matcher(SCHEMA, state=bytes(broken), **ROLES)
    for longer in (state + b"\0", state + state, state[:5000] + state):
        with pytest.raises(ag.DataError):
            STEPS.matcher(SCHEMA, state=longer, **ROLES)


def written_by_hand(state: bytes, change: Callable[[dict[str, Any]], Any], version: int = 1) -> bytes:
    """The state with another header, and the checksum that goes with it."""
    length = int.from_bytes(state[10:14], "little")
    header = json.loads(state[14 : 14 + length])
    told = change(header)
    text = told if isinstance(told, bytes) else json.dumps(header).encode()
    body = (
        state[:8]
        + version.to_bytes(2, "little")
        + len(text).to_bytes(4, "little")
        + text
        + state[14 + length : -16]
    )
    return body + hashlib.blake2b(body, digest_size=16).digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"no JSON",
        lambda _: b"[1, 2]",
        lambda header: header.pop("frontier"),
        lambda header: header.pop("sections"),
        lambda header: header.pop("done"),
        lambda header: header["sections"].pop(),
        lambda header: header["sections"].append(0),
        lambda header: header["sections"].reverse(),
        lambda header: header.update(sections=[-1, *header["sections"][1:]]),
        lambda header: header.update(counts=7),
    ],
)
def test_states_that_no_matcher_wrote_are_refused(change: Callable[[dict[str, Any]], Any]) -> None:
    state = golden().state()
    STEPS.matcher(SCHEMA, state=written_by_hand(state, lambda _: None), **ROLES)
    with pytest.raises(ag.DataError, match="does not hold what a state"):
        STEPS.matcher(SCHEMA, state=written_by_hand(state, change), **ROLES)
    with pytest.raises(ag.DataError, match="version 2"):
        STEPS.matcher(SCHEMA, state=written_by_hand(state, lambda _: None, version=2), **ROLES)


def test_a_state_is_of_one_query_and_its_columns() -> None:
    state = STEPS.matcher(SCHEMA, **ROLES).state()
    STEPS.matcher(SCHEMA, state=state, **ROLES)
    STEPS.matcher(SCHEMA, state=state, plan="eager-unmerged", max_runs=10, **ROLES)
    wider = SCHEMA.append(pa.field("unread", pa.string()))
    STEPS.matcher(wider, state=state, **ROLES)
    others = [
        (ag.sase(STEPS.text.replace("20", "21")), SCHEMA, ROLES),
        (STEPS, SCHEMA, {**ROLES, "key": None}),
        (STEPS, SCHEMA, {**ROLES, "output": "longest"}),
        (STEPS, SCHEMA.set(3, pa.field("x", pa.float64())), ROLES),
    ]
    for query, schema, roles in others:
        with pytest.raises(ag.DataError, match="made by another query"):
            query.matcher(schema, state=state, **roles)
    limited = "PATTERN SEQ(A a, B b) WHERE a.x > :limit WITHIN 5"
    one = ag.sase(limited, limit=1).matcher(SCHEMA, **ROLES).state()
    with pytest.raises(ag.DataError, match="made by another query"):
        ag.sase(limited, limit=2).matcher(SCHEMA, state=one, **ROLES)


GOLDEN = Path(__file__).parents[1] / "data" / "state-1.bin"


def golden() -> Any:
    """A matcher whose state is in the golden file of version 1."""
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.insert(events((1, "A", "p", 1), (2, "A", "q", 2), (3, "B", "p", 3), (30, "C", "q", 4)))
    m.advance(5)
    m.insert(events((4, "C", "p", 9), (6, "C", "p", 5)))
    return m


def test_a_stored_state_of_version_1_is_read() -> None:
    m = STEPS.matcher(SCHEMA, state=GOLDEN.read_bytes(), **ROLES)
    assert m.stats["late_events"] == 1
    assert m.stats["buffered_events"] == golden().stats["buffered_events"]
    assert m.close().to_pylist() == [
        {"op": "insert", "match_start": 1, "match_end": 6, "a_x": 1, "b_x": 3, "c_x": 5}
    ]


def test_a_state_is_small() -> None:
    """Three steps, one event pending for each of many keys."""
    m = STEPS.matcher(SCHEMA, **ROLES)
    m.insert(events(*((1, "A", f"user{n}", n) for n in range(2000))))
    m.advance(2)
    assert m.stats["kept_events"] == 2000
    assert len(m.state()) < 150 * 2000


def test_what_was_reported_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result is held back where it is half of the machine's memory; what a matcher has given away is not its own."""
    monkeypatch.setattr(room, "memory", lambda: 8_000)
    m = ag.sase("PATTERN SEQ(A a, B b) WITHIN 5").matcher(SCHEMA, **ROLES)
    for at in range(0, 1000, 10):
        m.insert(events((at, "A", "p", 1), (at + 1, "B", "p", 2)))
        assert m.advance(at + 2).num_rows == 1
    m.insert(events(*((2000, "A", "p", n) for n in range(30)), *((2001, "B", "p", n) for n in range(30))))
    with pytest.raises(ag.LimitError, match="half of this machine's memory"):
        m.advance(2010)
