"""What `why` says of automata is true: what is accepted is no miss, and a changed automaton accepts what it is told to."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest

import augury as ag
from augury.afa import Takes
from augury.runtime.options import Options
from augury.time import Window
from augury.why.machines import _Question
from machines import random_automaton, random_events

SEEDS = range(150)


def case(seed):
    rng = random.Random(f"why {seed}")
    windowed = rng.random() < 0.7
    query = random_automaton(rng, within=windowed).query(within=rng.randint(1, 12) if windowed else None)
    return query, random_events(rng, rng.randint(1, 12)), rng.choice((None, "k"))


def accepted(query, table, key):
    """The subsequences, as rows of the table."""
    asked = _Question(query._machine, table, Options(time="ts", key=key), type(query))
    found = set()
    for o in asked.base:
        rows = next(s for s in asked.streams if o.first in s)
        found.add(tuple(asked.order[r] for r in rows if o.first <= r <= o.last))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_of_an_automaton_is_true(seed):
    query, table, key = case(seed)
    told = query.why(table, time="ts", key=key, limit=50)
    known = accepted(query, table, key)
    assert told.matches == query.match(table, time="ts", key=key, events=True).num_rows
    firsts = {rows[0] for rows in known}
    for miss in told.misses:
        consumed = sorted(r for rows in miss.events.values() for r in rows)
        assert not consumed or miss.first is not None
        assert not {rows[0] for rows in known if set(rows) <= set(consumed)}
        assert miss.reached <= told.of
    for change in told.changes:
        events = change.events["events"]
        assert events in accepted(change.query, table, key)
        assert events not in known
        if change.rule == "window":
            times = [table["ts"][r].as_py() for r in events]
            assert max(times) - min(times) == int(str(change.query._machine.within)) - 1
    for row in range(table.num_rows):
        one = query.why(table, time="ts", key=key, event=row)
        assert (one.matches > 0) == (row in firsts)
        assert bool(one.misses) != (row in firsts)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_window_that_alone_forbids_is_told(seed):
    query, table, key = case(seed)
    told = {change.said for change in query.why(table, time="ts", key=key).changes}
    known = accepted(query, table, key)
    waits = any(m.takes is Takes.WINDOW_END for m in query._machine.moves)  # then any length may be the one
    if query._machine.within is not None and not waits:
        longer = [c for c in told if c.startswith("within ")]
        wide = {rows for w in range(1, 40) for rows in _within(query, w, table, key)} if not longer else known
        assert wide <= known


def _within(query, window, table, key):
    own = query._machine.within
    if window <= own.amount:
        return set()
    variant = type(query)(replace(query._machine, within=Window(type(own.amount)(window), has_unit=False)))
    return accepted(variant, table, key)


def drop(**more):
    afa = ag.Automaton(start="q0", final="q3", registers={"low": 100})
    afa.arc("q0", "q1", when="change < 0", id="begin").arc(
        "q1", "q1", when="change < 0", id="more", update={"low": "change"}
    )
    afa.arc("q1", "q2", when="change > 0 AND change > r.low + 5", id="turn").arc(
        "q2", "q3", when="change > 3", id="end", **more
    )
    return afa


DATA = pa.table({"ts": [1, 2, 3, 4], "change": [-2, -1, 7, 2]})


def test_an_automaton_s_guard_is_told_with_what_it_read():
    answer = drop().query().why(DATA, time="ts")
    assert answer.matches == 0
    miss = answer.misses[0]
    assert miss.events == {"q1": (0, 1), "q2": (2,)}
    assert (miss.reached, answer.of, miss.row) == (2, 3, 3)
    assert str(miss.because) == "end: e.change > 3 is not true: e.change = 2"
    turn, end = answer.changes
    assert turn.said == "turn without e.change > 0 AND e.change > r.low + 5"
    assert end.said == "end without e.change > 3"
    assert end.query.match(DATA, time="ts").num_rows == 1
    assert "2 of 3" in str(answer)
    assert answer.table.to_pylist()[0]["rule"] == "predicate"
    pytest.importorskip("matplotlib")
    assert "<svg" in answer.plot().svg()


def test_the_part_of_a_guard_that_failed_is_told():
    answer = drop().query().why(pa.table({"ts": [1, 2, 3], "change": [-2, 7, 1]}), time="ts")
    assert (
        str(answer.misses[0].because) == "turn: e.change > r.low + 5 is not true: e.change = 7, r.low = 100"
    )


def test_a_window_of_an_automaton_that_is_too_short():
    data = pa.table({"ts": [1, 2, 3, 40], "change": [-2, -1, 7, 9]})
    answer = drop().query(within=10).why(data, time="ts")
    assert answer.misses[0].because.rule == "window"
    assert [c.said for c in answer.changes] == [
        "within 40",
        "turn without e.change > 0 AND e.change > r.low + 5",
    ]


def test_an_arc_that_is_not_there_yet():
    data = pa.table({"ts": [1, 2, 3, 4], "change": [-2, -1, 7, 9]})
    answer = drop(lifetime=(50, None)).query().why(data, time="ts")
    assert answer.misses[0].because.rule == "lifetime"
    assert [c.said for c in answer.changes] == ["end at all times"]
