"""Imprecise times: every plan is the definition, and so are a matcher's rows, whatever the order and the cuts."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import augury as ag
from augury.engines.imprecise import search
from augury.semantics import imprecise as definition
from uncertain_cases import PLANS, Case, by_definition, case, difference, rows_of, streams, unrelated

SEEDS = st.integers(0, 10**9)


@given(SEEDS)
@settings(max_examples=150)
def test_worlds_one_by_one_are_point_matches_and_a_product(seed: int) -> None:
    asked = case(random.Random(seed), most_events=5, most_slots=3)
    for stream, _, when in [(s, q, w) for ss, q, w in [streams(asked, asked.events)] for s in ss]:
        if math.prod(len(when[row]) for row in stream.rows) <= 600:
            by_worlds, by_points = definition.by_worlds(stream, when), definition.by_points(stream, when)
            key = lambda f: f.signature  # noqa: E731
            assert sorted(by_worlds, key=key) == sorted(by_points, key=key)


@pytest.mark.parametrize("plan", [*PLANS, "auto"])
@given(SEEDS)
@settings(max_examples=200)
def test_a_plan_is_the_definition(plan: str, seed: int) -> None:
    asked = case(random.Random(seed))
    result = asked.query.match(asked.events, plan=plan, **asked.told)
    said = difference(by_definition(asked, asked.events), rows_of(asked, result))
    assert said is None, f"{plan}: {said}\n{asked.text}\n{asked.told}\n{asked.events.to_pylist()}"


@given(SEEDS, st.sampled_from([0.05, 0.1, 0.25, 0.5, 1.0]), st.sampled_from([None, 1, 2]))
@settings(max_examples=150)
def test_few_and_confident_rows_are_those_of_all(seed: int, least: float, most: int | None) -> None:
    asked = case(random.Random(seed))
    asked = replace(asked, told={**asked.told, "min_confidence": least, "top": most})
    wanted = by_definition(asked, asked.events)
    for plan in PLANS:
        result = asked.query.match(asked.events, plan=plan, **asked.told)
        said = difference(wanted, rows_of(asked, result))
        assert said is None, f"{plan}: {said}\n{asked.text}\n{asked.told}\n{asked.events.to_pylist()}"


def as_it_comes(asked: Case, rng: random.Random) -> pa.Table:
    """A matcher's rows; each is reported when nothing in it, and nothing that could spoil it, can still happen."""
    table = asked.events
    m = asked.query.matcher(table.schema, **asked.told)
    lower = table.column("lo").to_pylist()
    rest, found = list(range(table.num_rows)), []
    for cut in [*sorted(rng.sample(range(14), k=rng.randint(0, 5))), None]:
        now = [r for r in rest if cut is None or lower[r] < cut or rng.random() < 0.3]
        rest = [r for r in rest if r not in now]
        rng.shuffle(now)
        found.append(m.insert(table.take(pa.array(now, pa.int64()))))
        m = asked.query.matcher(table.schema, **asked.told, state=m.state())
        changes = m.close() if cut is None else m.advance(cut)
        for row in changes.to_pylist():
            assert row["op"] == "insert"
            if cut is not None:
                assert row[asked.variables[-1]]["hi"] < cut
        found.append(changes)
    return pa.concat_tables(found).drop_columns(["op"])


@given(SEEDS)
@settings(max_examples=200)
def test_rows_of_a_matcher_are_those_of_the_whole_stream(seed: int) -> None:
    rng = random.Random(seed)
    asked = case(rng, most_events=10)
    said = difference(by_definition(asked, asked.events), rows_of(asked, as_it_comes(asked, rng)))
    assert said is None, f"{said}\n{asked.text}\n{asked.told}\n{asked.events.to_pylist()}"


@given(SEEDS)
@settings(max_examples=100)
def test_a_row_is_reported_once_its_last_event_and_all_that_could_spoil_it_are_over(seed: int) -> None:
    """Under skip_till_any that is its last event's upper bound: the punctuation after it reports the row."""
    asked = case(random.Random(seed))
    asked = replace(asked, text=asked.text.replace("skip_till_next_match", "skip_till_any_match"))
    m = asked.query.matcher(asked.events.schema, **asked.told)
    m.insert(asked.events)
    when = {}
    for t in range(16):
        for row in m.advance(t).to_pylist():
            when[tuple(row[v]["id"] for v in asked.variables)] = (t, row[asked.variables[-1]])
    for t, last in when.values():
        assert t == last["hi"] + 1
    assert when.keys() == by_definition(asked, asked.events).keys()


@given(SEEDS)
@example(9)
@settings(max_examples=100)
def test_point_matches_sum_up_to_the_confidence(seed: int) -> None:
    asked = case(random.Random(seed))
    result = asked.query.match(asked.events, **asked.told)
    for place in range(result.num_rows):
        row = result.slice(place, 1)
        points = ag.point_matches(row, stream=asked.events)
        assert math.isclose(
            sum(points.column("probability").to_pylist()), row.column("confidence")[0].as_py()
        )
        first, last = (points.column(v).to_pylist() for v in (asked.variables[0], asked.variables[-1]))
        assert (min(first), max(last)) == (
            row.column("range_start")[0].as_py(),
            row.column("range_end")[0].as_py(),
        )


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_compiled_loops_are_those_that_run_as_they_are(seed: int) -> None:
    asked = case(random.Random(seed))
    wanted = by_definition(asked, asked.events)
    with patch("augury.engines.imprecise.events.COMPILED_FROM", 0):
        for plan in PLANS:
            result = asked.query.match(asked.events, plan=plan, **asked.told)
            assert difference(wanted, rows_of(asked, result)) is None


@given(SEEDS)
@settings(max_examples=100)
def test_what_matches_share_changes_nothing(seed: int) -> None:
    """Matches of three events are evaluated together; one by one they are the same, and the definition's."""
    rng = random.Random(seed)
    asked = unrelated(rng, rng.randint(3, 9))
    got = rows_of(asked, asked.query.match(asked.events, **asked.told))
    assert difference(by_definition(asked, asked.events), got) is None, (
        f"{asked.text}\n{asked.events.to_pylist()}"
    )
    with patch.object(search, "HULL", -1):
        assert difference(got, rows_of(asked, asked.query.match(asked.events, **asked.told))) is None


def test_instants_that_are_sure_are_points() -> None:
    """Where no two times are equal, an interval of length one is a point."""
    rng = random.Random(1)
    for _ in range(20):
        asked = case(rng)
        times = rng.sample(range(30), asked.events.num_rows)
        events = asked.events.set_column(0, "lo", pa.array(times, pa.int64()))
        events = events.set_column(1, "hi", pa.array(times, pa.int64()))
        told = {k: v for k, v in asked.told.items() if k != "pmf"}
        uncertain = rows_of(asked, asked.query.match(events, **told))
        sure = asked.query.match(events, **{**told, "time": "lo"})
        wanted = {
            tuple(row[v]["id"] for v in asked.variables): (row["match_start"], row["match_end"], 1.0)
            for row in sure.to_pylist()
        }
        assert difference(wanted, uncertain) is None
