"""The laws: equations between answers that hold for every query and every stream.

Two kinds. Against another implementation: the definition and each plan equal the oracle, each plan equals
the definition, down to types and match_ids. Against the same plan asked differently: rows permuted, a
wider window, a stricter strategy, a key instead of a test. Only the second kind finds what all
implementations have in common; every law of it is asked of every plan.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import augury as ag
from conformance import oracle
from conformance.compare import canonical, difference, rows_of, table_difference
from conformance.judge import OUTPUTS, against_definition, against_oracle, answer, minimal, parsed
from conformance.plans import DEFINITION, PLANS, STREAM, Plan, as_it_comes
from conformance.queries import (
    ANY,
    NEXT,
    PARTITION,
    STRICT,
    Case,
    Drawn,
    cases,
    chance,
    seeded_case,
    variables_of,
)

EVERY_PLAN = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)


def some(percent: int) -> Any:
    """A share of the profile's examples: there are many laws, each asked of every plan.

    Some plans cover few of the cases that are drawn.
    """
    return settings(
        max_examples=max(1, settings().max_examples * percent // 100),
        suppress_health_check=[HealthCheck.filter_too_much],
    )


def strategies(*pairs: tuple[str, str]) -> Any:
    """Every plan with each pair of strategies that it knows."""

    def knows(plan: Plan, strategy: str) -> bool:
        return plan.covers(parsed(f"PATTERN SEQ(A a, B b) WHERE [g] AND {strategy}(a, b)"), "all")

    return pytest.mark.parametrize(
        ("plan", "tighter", "looser"),
        [
            pytest.param(plan, *pair, id=f"{plan.name}-{pair[0]}-{pair[1]}")
            for plan in PLANS
            for pair in pairs
            if all(knows(plan, strategy) for strategy in pair)
        ],
    )


def asked(plan: Plan, case: Case, output: str = "all") -> bool:
    """Whether a plan is asked: it covers the query."""
    return plan.covers(parsed(case.text), output)


def rows(plan: Plan, case: Case, output: str = "all") -> list[tuple[Any, ...]]:
    return rows_of(answer(plan, case, output))


def beyond(fewer: Iterable[tuple[Any, ...]], more: Iterable[tuple[Any, ...]]) -> Counter[Any]:
    """The rows of `fewer` that `more` has not, or not so often: empty where `fewer` is a part of `more`."""
    return Counter(map(canonical, fewer)) - Counter(map(canonical, more))


# ------------------------------------------------------------------ against another implementation


@EVERY_PLAN
def test_a_plan_equals_the_oracle_on_seeded_cases(plan: Plan) -> None:
    for number in range(300 if plan is DEFINITION else 100):
        case = seeded_case(f"laws/{number}")
        if against_oracle(plan, case) is not None:
            small = minimal(case, lambda c: against_oracle(plan, c) is not None)
            pytest.fail(f"{small}\n\n{against_oracle(plan, small)}")


@pytest.mark.parametrize("name", ["definition", "backtrack", "eager-unmerged"])
def test_a_matcher_of_any_plan_equals_the_oracle(name: str) -> None:
    for number in range(25):
        said = against_oracle(as_it_comes(name), seeded_case(f"comes/{number}"))
        assert said is None, f"{number}: {said}"


def test_a_stream_equals_the_oracle() -> None:
    for number in range(60):
        said = against_oracle(STREAM, seeded_case(f"stream/{number}"))
        assert said is None, f"{number}: {said}"


@EVERY_PLAN
@some(35)
@given(case=cases())
def test_a_plan_equals_the_oracle(plan: Plan, case: Case) -> None:
    said = against_oracle(plan, case)
    assert said is None, f"{case}\n\n{said}"


@pytest.mark.parametrize("plan", PLANS[1:], ids=lambda plan: plan.name)
@some(35)
@given(case=cases())
def test_a_plan_equals_the_definition_to_its_types_and_ids(plan: Plan, case: Case) -> None:
    said = against_definition(plan, case)
    assert said is None, f"{case}\n\n{said}"


# ------------------------------------------------------------------ the data, presented otherwise


@EVERY_PLAN
@some(20)
@given(data=st.data(), case=cases(), output=st.sampled_from(OUTPUTS))
def test_the_order_of_arrival_does_not_matter(plan: Plan, data: Any, case: Case, output: str) -> None:
    assume(asked(plan, case, output))
    named = output != "count"
    order = data.draw(st.permutations(range(len(case.stream.rows))))
    one = answer(plan, case, output, match_id=named)
    other = answer(plan, case, output, table=case.table.take(pa.array(order, pa.int64())), match_id=named)
    assert table_difference(one, other) is None


@EVERY_PLAN
@some(20)
@given(data=st.data(), case=cases(), output=st.sampled_from(OUTPUTS))
def test_chunks_and_dictionaries_do_not_matter(plan: Plan, data: Any, case: Case, output: str) -> None:
    assume(asked(plan, case, output))
    named = output != "count"
    one = answer(plan, case, output, match_id=named)
    other = answer(plan, case, output, table=presented(case.table, Drawn(data.draw)), match_id=named)
    assert one.schema.names == other.schema.names
    assert difference(rows_of(one), rows_of(other)) is None


def presented(table: pa.Table, choices: Drawn) -> pa.Table:
    """The same values in chunks, and texts in other types and as dictionaries that differ from chunk to chunk."""
    cut = choices.integer(0, table.num_rows)
    shown = pa.concat_tables([table.slice(cut), table.slice(0, cut)])
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            kind = choices.integer(0, 3)
            column = shown.column(place)
            if kind == 1:
                column = (
                    column.dictionary_encode() if field.name == "kind" else column.cast(pa.large_string())
                )
            elif kind == 2:
                column = pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks], _DICTIONARY)
            shown = shown.set_column(place, field.name, column)
    return shown


_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@EVERY_PLAN
@some(15)
@given(case=cases(returns=False), by=st.integers(-1000, 1000))
def test_moving_all_times_moves_the_matches(plan: Plan, case: Case, by: int) -> None:
    case = replace(case, stream=replace(case.stream, time_kind="int64"))
    assume(asked(plan, case))
    at = case.stream.names.index("ts")
    moved = tuple((*r[:at], None if r[at] is None else r[at] + by, *r[at + 1 :]) for r in case.stream.rows)
    later = replace(case, stream=replace(case.stream, rows=moved))
    assert difference(_back(answer(plan, later), by), rows(plan, case)) is None


def _back(table: pa.Table, by: int) -> list[tuple[Any, ...]]:
    def back(value: Any) -> Any:
        if isinstance(value, list):
            return [back(v) for v in value]
        return {**value, "ts": value["ts"] - by} if isinstance(value, dict) else value

    times = [table.schema.names.index(name) for name in ("match_start", "match_end")]
    return [tuple(v - by if i in times else back(v) for i, v in enumerate(row)) for row in rows_of(table)]


@EVERY_PLAN
@some(15)
@given(case=cases())
def test_events_after_the_last_window_change_nothing(plan: Plan, case: Case) -> None:
    """What comes once every window has closed can neither complete nor drop what came before."""
    assume(case.query.within is not None and case.stream.rows and asked(plan, case))
    at = case.stream.names.index("ts")
    last = max((r[at] for r in case.stream.rows if r[at] is not None), default=0)
    model = case.stream.rows[-1]
    far = tuple((*model[:at], last + step, *model[at + 1 :]) for step in (40, 90))
    longer = replace(case, stream=replace(case.stream, rows=(*case.stream.rows, *far)))
    assert not beyond(rows(plan, case), rows(plan, longer))


# ------------------------------------------------------------------ strategies


def loosened(case: Case, strategy: str) -> Case:
    return replace(case, query=replace(case.query, strategy=strategy))


# From 3.2, for one and the same WHERE: strict never passes over; partition passes over what fails the
# [attr] tests, which then fails begin and take too, as skip till next asks; skip till any always may. So each
# allows every run of the one before, and negation filters matches one by one.
@strategies((STRICT, PARTITION), (PARTITION, NEXT), (STRICT, NEXT), (NEXT, ANY))
@some(15)
@given(case=cases(partition=("g",)))
def test_what_a_tighter_strategy_finds_a_looser_one_does(
    plan: Plan, tighter: str, looser: str, case: Case
) -> None:
    few, many = loosened(case, tighter), loosened(case, looser)
    assume(asked(plan, few) and asked(plan, many))
    assert not beyond(rows(plan, few), rows(plan, many))


@strategies((STRICT, ANY), (NEXT, ANY))
@some(15)
@given(case=cases(partition=()))
def test_without_a_partition_too(plan: Plan, tighter: str, looser: str, case: Case) -> None:
    few, many = loosened(case, tighter), loosened(case, looser)
    assume(asked(plan, few) and asked(plan, many))
    assert not beyond(rows(plan, few), rows(plan, many))


# ------------------------------------------------------------------ windows and negation


@EVERY_PLAN
@some(20)
@given(case=cases(), wider=st.sampled_from([0.5, 1, 2, 5]))
def test_a_wider_window_only_adds_matches(plan: Plan, case: Case, wider: float) -> None:
    """Where no negation is open at an end: that one looks as far as the window."""
    assume(case.query.within is not None and not case.query.has_open_negation and asked(plan, case))
    wide = replace(case, query=replace(case.query, within=case.query.within + wider))
    none = replace(case, query=replace(case.query, within=None))
    assert not beyond(rows(plan, case), rows(plan, wide))
    assert not beyond(rows(plan, wide), rows(plan, none))


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_a_negated_component_only_removes_matches(plan: Plan, case: Case) -> None:
    """Without RETURN: what a dropped predicate alone had read would no longer order the events of one time."""
    assume(case.query.negated)
    case = replace(case, query=replace(case.query, returns=None))
    assume(asked(plan, case))
    gone = case.query.negated[0]
    fewer = replace(
        case,
        query=replace(
            case.query,
            components=tuple(c for c in case.query.components if c is not gone),
            predicates=tuple(p for p in case.query.predicates if gone.var not in variables_of(p)),
        ),
    )
    assert not beyond(rows(plan, case), rows(plan, fewer))


@EVERY_PLAN
@some(20)
@given(case=cases(strategies=(ANY,)))
def test_under_any_a_predicate_only_removes_matches(plan: Plan, case: Case) -> None:
    """One on positive variables; one on a negated variable lets fewer events break an absence."""
    absent = {c.var for c in case.query.negated}
    positive = [p for p in case.query.predicates if not variables_of(p) & absent]
    assume(positive)
    case = replace(case, query=replace(case.query, returns=None))
    assume(asked(plan, case))
    rest = tuple(p for p in case.query.predicates if p is not positive[0])
    assert not beyond(rows(plan, case), rows(plan, replace(case, query=replace(case.query, predicates=rest))))


# ------------------------------------------------------------------ keys and partitions


def with_rows(case: Case, kept: Iterable[tuple[Any, ...]]) -> Case:
    return replace(case, stream=replace(case.stream, rows=tuple(kept)))


def by_key(case: Case, name: str) -> list[Case]:
    """The case for each key alone: nulls are one, NaNs are one, -0.0 is 0.0."""
    at = case.stream.names.index(name)
    parts: dict[Any, list[tuple[Any, ...]]] = {}
    for row in case.stream.rows:
        is_nan = row[at] != row[at]
        parts.setdefault("NaN" if is_nan else (row[at],), []).append(row)
    return [with_rows(case, rows) for rows in parts.values()]


@EVERY_PLAN
@some(20)
@given(case=cases(key=False), output=st.sampled_from(OUTPUTS))
def test_a_key_matches_each_part_alone(plan: Plan, case: Case, output: str) -> None:
    keyed = replace(case, key=("k",))
    assume(asked(plan, keyed, output) and asked(plan, case, output))
    alone = [row for part in by_key(case, "k") for row in rows(plan, part, output)]
    whole = answer(plan, keyed, output)
    if output == "count" or case.query.returns is None:
        whole = whole.drop_columns(["k"])
    assert difference(alone, rows_of(whole)) is None


@EVERY_PLAN
@some(20)
@given(
    case=cases(key=False, returns=False, partition=("k",)),
    test=st.sampled_from([(ANY, ANY), (NEXT, NEXT), (PARTITION, STRICT)]),
    output=st.sampled_from(["all", "non_overlap", "longest"]),
)
def test_a_key_is_an_attribute_test_where_nothing_is_null(
    plan: Plan, case: Case, test: tuple[str, str], output: str
) -> None:
    """[k] by a strategy that skips is key=k by the same; partition contiguity is strict contiguity with a key."""
    at = case.stream.names.index("k")
    case = with_rows(case, (r for r in case.stream.rows if r[at] is not None and r[at] == r[at]))
    tested = loosened(case, test[0])
    keyed = replace(loosened(case, test[1]), key=("k",))
    keyed = replace(keyed, query=replace(keyed.query, partition=()))
    assume(asked(plan, tested, output) and asked(plan, keyed, output))
    assert (
        difference(rows(plan, tested, output), rows_of(answer(plan, keyed, output).drop_columns(["k"])))
        is None
    )


# ------------------------------------------------------------------ outputs


def identified(case: Case) -> Case:
    """The case with a column `id`, a number for each event in stream order: then rows tell which events they bind."""
    events = [
        dict(zip(case.stream.names, r, strict=True))
        for r in case.stream.rows
        if r[case.stream.names.index("ts")] is not None
    ]
    order = [oracle.ordering(e["ts"]) for e in events]
    ranked = sorted(range(len(events)), key=lambda i: (order[i], i))
    columns = (*case.stream.columns, ("id", "int"))
    numbered = [(*events[i].values(), number) for number, i in enumerate(ranked)]
    query = replace(case.query, returns=None)
    return replace(
        case,
        query=query,
        stream=replace(case.stream, columns=columns, rows=tuple(numbered)),
        tiebreak=("id",),
    )


def positions(case: Case, row: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    bound = row[len(row) - len(case.query.positives) :]
    return tuple(tuple(e["id"] for e in b) if isinstance(b, list) else (b["id"],) for b in bound)


def flat(bound: tuple[tuple[int, ...], ...]) -> list[int]:
    return [i for own in bound for i in own]


def partition_of(case: Case, row: tuple[Any, ...]) -> Any:
    first = row[len(row) - len(case.query.positives)]
    event = first[0] if isinstance(first, list) else first
    keys = tuple("NaN" if event[k] != event[k] else event[k] for k in case.key)
    return (keys, tuple(event[a] for a in case.query.partition))


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_non_overlap_is_some_of_all_does_not_overlap_and_leaves_no_room(plan: Plan, case: Case) -> None:
    case = identified(case)
    assume(asked(plan, case, "non_overlap"))
    every, chosen = rows(plan, case), rows(plan, case, "non_overlap")
    assert not beyond(chosen, every)
    for where in {partition_of(case, r) for r in every}:
        reported = sorted(flat(positions(case, r)) for r in chosen if partition_of(case, r) == where)
        for one, next_ in itertools.pairwise(reported):
            assert next_[0] > one[-1], "two reported matches overlap"
        for r in every:
            if partition_of(case, r) != where:
                continue
            events = flat(positions(case, r))
            rivals = [one for one in reported if one[-1] <= events[-1] and one[-1] >= events[0]]
            assert rivals, f"{events} was passed over for nothing"


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_longest_is_one_of_all_for_each_first_event(plan: Plan, case: Case) -> None:
    case = identified(case)
    assume(asked(plan, case, "longest"))
    every, chosen = rows(plan, case), rows(plan, case, "longest")
    assert not beyond(chosen, every)
    last: dict[int, int] = {}
    for r in every:
        events = flat(positions(case, r))
        last[events[0]] = max(last.get(events[0], -1), events[-1])
    reported = [flat(positions(case, r)) for r in chosen]
    assert {events[0]: events[-1] for events in reported} == last
    assert len(reported) == len(last)


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_count_is_how_many_matches_each_event_completes(plan: Plan, case: Case) -> None:
    case = identified(case)
    assume(asked(plan, case, "count"))
    completed = Counter(flat(positions(case, r))[-1] for r in rows(plan, case))
    assert sorted(completed.values()) == sorted(int(r[-1]) for r in rows(plan, case, "count"))


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_compressed_rows_expand_to_all(plan: Plan, case: Case) -> None:
    assume(asked(plan, case, "compressed"))
    packed = answer(plan, case, "compressed")
    every = answer(plan, case, match_id=True)
    by_itself = ag.expand(packed, match_id=True)
    assert (
        table_difference(every.replace_schema_metadata(None), by_itself.replace_schema_metadata(None)) is None
    )
    stripped = packed.replace_schema_metadata(None)
    assert table_difference(by_itself, ag.expand(stripped, parsed(case.text), match_id=True)) is None
    halves = [ag.expand(packed.slice(i, 1)) for i in range(packed.num_rows)]
    assert difference(rows_of(ag.expand(packed)), [r for half in halves for r in rows_of(half)]) is None


@EVERY_PLAN
@some(20)
@given(case=cases())
def test_a_match_id_names_one_match(plan: Plan, case: Case) -> None:
    assume(asked(plan, case))
    named = answer(plan, case, match_id=True)
    ids = named.column("match_id").to_pylist()
    assert len(set(ids)) == len(ids)
    assert difference(rows_of(named.drop_columns(["match_id"])), rows(plan, case)) is None


@some(15)
@given(case=cases(returns=False), other=cases(returns=False))
def test_different_queries_give_different_match_ids(case: Case, other: Case) -> None:
    assume(case.text != other.text)
    other = replace(other, stream=case.stream, type=case.type, key=case.key, tiebreak=case.tiebreak)
    try:
        theirs = answer(DEFINITION, other, match_id=True).column("match_id").to_pylist()
    except ag.QueryError:  # it reads what this stream has not, or has otherwise
        assume(False)
    ours = answer(DEFINITION, case, match_id=True).column("match_id").to_pylist()
    assert parsed(case.text) == parsed(other.text) or not set(ours) & set(theirs)


# ------------------------------------------------------------------ the suite itself


def test_the_random_cases_reach_the_whole_language() -> None:
    """Otherwise the laws would hold for want of anything to say."""
    seen: Counter[str] = Counter()
    for number in range(1500):
        case = seeded_case(f"reach/{number}")
        found = oracle.matches(case)
        seen[case.query.strategy] += bool(found)
        seen["matches"] += bool(found)
        seen["several"] += len(found) > 1
        seen["series"] += any(len(own) > 1 for m in found for own in m.chosen)
        seen["passed over"] += case.query.strategy != ANY and any(oracle.passed_over(m.chosen) for m in found)
        seen["predicates"] += bool(found) and bool(case.query.predicates)
        seen["negation"] += bool(found) and bool(case.query.negated)
        seen["dropped"] += bool(case.query.negated) and any(
            oracle.is_positive_match(case, events, chosen) and oracle.is_dropped(case, events, chosen)
            for events in oracle.ordered_streams(case)
            for chosen in oracle.assignments(case, events)
        )
        for word in (
            "[i]",
            "[i-1]",
            "[..i-1]",
            ".LEN]",
            ".LEN ",
            "[1]",
            "[].",
            " IS ",
            " IN ",
            "LIKE",
            "RETURN",
        ):
            seen[word] += bool(found) and word in case.text
        seen["key"] += bool(found) and bool(case.key)
        seen["untyped"] += bool(found) and case.type is None
    wanted = {
        "matches": 400,
        "several": 200,
        "series": 150,
        "passed over": 50,
        "predicates": 300,
        "dropped": 50,
    }
    missed = {what: n for what, n in seen.items() if n < wanted.get(what, 5)}
    assert not missed, f"too few of: {missed}"


def test_a_case_is_written_in_as_few_words_as_its_failure_needs() -> None:
    case = seeded_case("minimal/1")
    small = minimal(case, lambda c: len(c.stream.rows) > 1)
    assert len(small.stream.rows) == 2
    assert not small.query.predicates
    assert chance(_Always(), 1)


class _Always:
    def integer(self, _low: int, high: int) -> int:
        return high
