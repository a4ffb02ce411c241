"""A matcher of automata: what it costs in counts, what it keeps, and arcs that come and go."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import augury as ag

DATA = Path(__file__).parents[1] / "data"
SCHEMA = pa.schema([("ts", pa.int64()), ("x", pa.int64())])


def events(*pairs):
    return pa.table({"ts": [t for t, _ in pairs], "x": [x for _, x in pairs]}, SCHEMA)


def rising():
    """A rise, what is 0 being passed over, up to a 9."""
    afa = ag.Automaton(start="a", final=["c"], registers={"top": 0})
    afa.arc("a", "b", when="x > 0 and x < 9", update={"top": "x"})
    afa.arc("b", "b", when="x > r.top and x < 9", update={"top": "x"})
    afa.arc("b", "b", when="x = 0")
    return afa.arc("b", "c", when="x = 9")


def told(changes):
    return [(r["op"], r["valid_from"], r["valid_to"]) for r in changes.to_pylist()]


def test_what_is_late_costs_the_events_up_to_where_nothing_differs():
    m = rising().query(within=50).matcher(SCHEMA, time="ts", speculate=None)
    rng = np.random.default_rng(1)
    many = [(2 * t, int(x)) for t, x in enumerate(rng.choice((0, 1, 2, 3), 2000))]
    m.insert(events(*many))
    before = m.stats["recomputed"]
    m.insert(events((2001, 2)))  # in the middle of two thousand
    assert 0 < m.stats["recomputed"] - before < 200


def test_an_event_that_all_pass_over_takes_nothing_back():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    assert told(m.insert(events((1, 1), (3, 2), (5, 3), (9, 9)))) == [
        ("insert", 9, 101),
        ("insert", 9, 103),
        ("insert", 9, 105),
    ]
    before = m.stats["recomputed"], m.stats["nodes"]
    assert m.insert(events((4, 0), (6, 0))).num_rows == 0
    assert m.stats["nodes"] == before[1]
    assert m.stats["recomputed"] - before[0] <= 6
    assert told(m.insert(events((7, 1))))[:3] == [("retract", 9, t) for t in (101, 103, 105)]


def test_events_that_are_passed_over_share_a_version():
    rng = np.random.default_rng(2)

    def nodes(share):
        m = rising().query(within=500).matcher(SCHEMA, time="ts", speculate=None)
        m.insert(events(*((t, 0 if rng.random() < share else 1 + t // 250) for t in range(1500))))
        return m.stats["nodes"], m.stats["recomputed"]

    kept, made = nodes(0.9)
    assert kept * 5 < made


def test_in_order_nothing_is_computed_twice_and_only_the_last_version_is_kept():
    m = rising().query(within=10).matcher(SCHEMA, time="ts")
    for t in range(0, 300, 10):
        m.insert(events(*((t + n, n % 5) for n in range(10))))
        m.advance(t + 10)
        assert m.stats["kept_events"] == 0
        assert m.stats["nodes"] <= 10


def test_a_punctuation_frees_what_lies_before_it():
    m = rising().query(within=20).matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events(*((t, 1 + t % 3) for t in range(500))))
    assert m.stats["kept_events"] == 500
    bytes_before = m.stats["bytes"]
    m.advance(490)
    assert m.stats["kept_events"] == 10
    assert m.stats["bytes"] * 10 < bytes_before


def test_events_for_lists_are_kept_as_long_as_a_run_has_them():
    m = rising().query(within=20).matcher(SCHEMA, time="ts", speculate=0, events=True)
    m.insert(events((1, 1), (2, 2), (30, 1), (32, 0), (33, 3)))
    m.advance(34)
    assert m.stats["kept_events"] == 3
    m.insert(events((40, 9)))
    found = m.advance(41).to_pylist()
    assert [[e["ts"] for e in row["events"]] for row in found] == [[30, 32, 33, 40], [33, 40]]


def test_an_arc_that_comes_now_costs_nothing_of_what_is_kept():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events(*((t, 1 + t % 8) for t in range(100))))
    before = m.stats["recomputed"]
    kernels = dict(m.core.history.stepper._sources)
    for n in range(20):
        assert m.add_arc("b", "c", when=f"x = {20 + n}", id=f"n{n}").num_rows == 0
        assert m.remove_arc(f"n{n}").num_rows == 0
    assert m.stats["recomputed"] == before
    m.insert(events((101, 1)))
    assert m.core.history.stepper._sources == kernels  # arcs of one kind are bits of one mask


def test_arcs_that_have_ended_are_forgotten():
    m = rising().query(within=10).matcher(SCHEMA, time="ts")
    for t in range(0, 200, 10):
        m.insert(events((t, 1)))
        m.add_arc("b", "c", when="x = 7", update={"top": f"r.top + {t}"}, id=f"n{t}")
        m.remove_arc(f"n{t}", at=t + 12)
        m.advance(t + 10)
    assert m.stats["arcs"] <= 7
    assert len(m.core.history.stepper.slots.slots) < 30


def test_an_arc_holds_for_events_later_than_all_received():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events((1, 1), (5, 5)))
    assert m.add_arc("b", "c", when="x = 5", id="five").num_rows == 0  # 5 is not later than 5
    assert told(m.insert(events((4, 5)))) == []  # nor is 4, though it comes later
    assert told(m.insert(events((6, 5))))[-1:] == [("insert", 6, 105)]
    m.remove_arc("five")
    assert m.insert(events((7, 5))).num_rows == 0


def test_an_arc_of_the_past_is_matched_with_what_is_kept():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events((1, 1), (5, 5), (6, 1)))
    assert told(m.add_arc("b", "d", when="x = 5", id="five", lifetime=(5, 6), final=True)) == [
        ("insert", 5, 101)
    ]
    assert told(m.remove_arc("five", at=5)) == [("retract", 5, 101)]
    with pytest.raises(ag.QueryError, match="not final"):
        m.add_arc("a", "b", final=True)
    m.advance(10)
    with pytest.raises(ag.DataError, match="before the last punctuation"):
        m.add_arc("b", "c", lifetime=(5, None))
    with pytest.raises(ag.DataError, match="before the last punctuation"):
        m.remove_arc("a0", at=3)
    with pytest.raises(ag.QueryError, match="no arc x"):
        m.remove_arc("x")


def test_many_changes_at_once():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events((1, 1), (5, 5), (6, 7)))
    arc = {"source": "b", "target": "c", "when": "x = 5", "update": {"top": 2}}
    control = pa.table(
        {
            "version": [2, 1],
            "action": ["add_arc", "remove_arc"],
            "name": ["five", "a3"],
            "query": [json.dumps(arc), None],
            "at": [5, 5],
        }
    )
    assert m.apply(control).to_pylist() == [{"op": "insert", "top": 2, "valid_from": 5, "valid_to": 101}]
    assert m.insert(events((9, 9))).num_rows == 0
    bad = pa.table({"version": [1, 2], "action": ["remove_arc", "frob"], "name": ["five", "x"], "at": [7, 7]})
    with pytest.raises(ag.DataError, match="frob"):
        m.apply(bad)
    assert told(m.insert(events((10, 4), (11, 5))))[-1:] == [("insert", 11, 110)]  # five is still there


def test_changes_that_are_put_back_leave_no_state_behind():
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None)
    to_new = json.dumps({"from": "b", "to": "new", "when": "x = 5"})
    bad = pa.table(
        {"version": [1, 2], "action": ["add_arc", "frob"], "name": ["n", "x"], "query": [to_new, None]}
    )
    with pytest.raises(ag.DataError):
        m.apply(bad)
    m.add_arc("b", "end", when="x = 6", final=True)
    m.apply(bad.slice(0, 1))
    assert m.insert(events((1, 1), (2, 5))).num_rows == 0  # "new" is not "end"
    assert told(m.insert(events((3, 1), (4, 6)))) == [("insert", 4, 103)]


def test_the_plan_restart_gives_the_same_and_pays_for_all():
    def run(plan):
        m = rising().query(within=30).matcher(SCHEMA, time="ts", speculate=None, plan=plan)
        found = []
        for t in range(0, 200, 10):
            found += told(m.insert(events(*((t + n, (t * 7 + n * 3) % 10) for n in range(10)))))
            found += told(m.add_arc("b", "c", when=f"x = {t % 9}", id=f"n{t}"))
            found += told(m.advance(t))
        return sorted(found), m.stats["recomputed"]

    (found, cost), (restarted, paid) = run("eager"), run("restart")
    assert found == restarted
    assert paid > 2 * cost


def test_sequence_numbers_wait_for_nothing_and_speculate_on_nothing():
    schema = pa.schema([*SCHEMA, ("seq", pa.int64())])
    m = rising().query(within=100).matcher(schema, time="ts", sequence="seq")

    def at(*triples):
        return pa.Table.from_pylist(
            [dict(zip(("ts", "x", "seq"), t, strict=True)) for t in triples], schema=schema
        )

    assert m.insert(at((1, 1, 1), (4, 9, 3))).num_rows == 0  # 2 is missing
    assert told(m.insert(at((3, 2, 2)))) == [("insert", 4, 101), ("insert", 4, 103)]
    revised = sorted(told(m.insert(at((3, 0, 2)))))  # 2 again: the run from 1 has another top now
    assert revised == [("insert", 4, 101), ("retract", 4, 101), ("retract", 4, 103)]
    assert m.close().num_rows == 0


def test_a_window_that_has_passed():
    afa = ag.Automaton(start="a", final=["c"]).arc("a", "b", when="x = 1").arc("b", "b", when="x <> 2")
    m = afa.window_end("b", "c").query(within=10).matcher(SCHEMA, time="ts", speculate=None)
    assert m.insert(events((1, 1), (2, 3), (5, 1), (13, 2))).num_rows == 0
    assert m.advance(10).num_rows == 0
    assert told(m.advance(11)) == [("insert", 10, 11)]
    assert told(m.close()) == []


def test_a_state_goes_on_with_the_arcs_as_they_are():
    query = rising().query(within=100)
    m = query.matcher(SCHEMA, time="ts", speculate=None)
    m.insert(events((1, 1), (5, 5)))
    m.add_arc("b", "end", when=lambda e, r: e.x == 7, id="seven", final=True)
    m.remove_arc("a3")
    again = query.matcher(SCHEMA, time="ts", speculate=None, state=m.state())
    more = events((6, 9), (7, 7))
    assert again.insert(more).equals(m.insert(more))
    assert again.retract(events((1, 1))).equals(m.retract(events((1, 1))))
    with pytest.raises(ag.DataError, match="another query"):
        rising().query(within=99).matcher(SCHEMA, time="ts", speculate=None, state=m.state())


def test_what_is_late_or_unknown_is_told():
    seen = []
    m = rising().query(within=100).matcher(SCHEMA, time="ts", speculate=None, on_late=seen.append)
    m.insert(events((5, 1)))
    m.advance(4)
    m.insert(events((3, 1), (9, 9)))
    assert m.stats["late_events"] == 1
    assert seen[0].to_pylist() == [{"ts": 3, "x": 1}]
    with pytest.raises(ag.DataError, match="names no event"):
        m.retract(events((5, 2)))
    with pytest.raises(ag.QueryError):
        m.advance(20, where="z > 1")
    assert m.advance(20, where="x > 1").num_rows == 0


def golden():
    """The matcher whose state lies in `tests/data`: a key, an arc that came and one that went, events of each kind."""
    query = rising().query(within=100)
    schema = pa.schema([*SCHEMA, ("k", pa.string())])
    told = {"time": "ts", "key": "k", "speculate": 50, "events": True}
    return query, schema, told


def test_a_state_of_version_1_goes_on():
    query, schema, told = golden()
    rows = [{"ts": t, "x": x, "k": k} for t, x, k in ((1, 1, "a"), (2, 2, "a"), (3, 1, "b"), (70, 9, "a"))]
    m = query.matcher(schema, **told)
    m.insert(pa.Table.from_pylist(rows, schema=schema))
    m.advance(3)
    m.add_arc(
        "b", "end", when="x = 7", update={"top": "r.top + 1"}, id="seven", final=True, lifetime=(60, 90)
    )
    m.remove_arc("a3", at=80)
    stored = (DATA / "state-1-automaton.bin").read_bytes()
    for again in (m, query.matcher(schema, state=stored, **told)):
        again.insert(pa.Table.from_pylist([{"ts": 75, "x": 7, "k": "b"}], schema=schema))
        found = again.close().to_pylist()
        ends = [(r["k"], r["top"], r["valid_from"], [e["ts"] for e in r["events"]]) for r in found]
        assert sorted(ends) == [("a", 2, 70, [1, 2, 70]), ("a", 2, 70, [2, 70]), ("b", 2, 75, [3, 75])]


def test_a_compiled_history_says_what_an_uncompiled_one_says():
    schema = pa.schema([*SCHEMA, ("s", pa.string())])
    afa = ag.Automaton(start="a", final=["c"], registers={"n": 0, "s": "", "f": 0.5})
    afa.arc("a", "b", when="x < 3", update={"n": "x", "s": "s"}).arc("b", "b", when="x = 5")
    afa.arc("b", "b", when="x > r.n", update={"n": "x", "f": "r.f * 2 + x"}).epsilon("b", "c", when="r.n = 4")
    afa.arc("b", "c", when="s > r.s and x < 5", update={"f": "null"})
    query = afa.query(within=40)
    rng = np.random.default_rng(3)
    rows = [
        {"ts": int(t), "x": int(rng.integers(7)), "s": "xyz"[rng.integers(3)]} for t in rng.permutation(300)
    ]
    matchers = [query.matcher(schema, time="ts", speculate=None) for _ in range(2)]
    matchers[1].core.history.fast = True
    for start in range(0, 300, 60):
        part = pa.Table.from_pylist(rows[start : start + 60], schema=schema)
        slow, fast = (m.insert(part) for m in matchers)
        assert slow.num_rows > 0
        assert fast.equals(slow)
        gone = part.slice(0, 3)
        slow, fast = (m.retract(gone) for m in matchers)
        assert fast.equals(slow)
