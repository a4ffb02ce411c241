"""What `why` says is true: rules are broken if and only if there is no match, a change that is told gives the match, a
window that is told could not be shorter, and a match is never called a miss."""

import itertools
import random
import warnings
from dataclasses import replace
from decimal import Decimal

import pytest

import augury as ag
from augury.pattern import Strategy
from augury.resolve import resolve
from augury.runtime.options import Options
from augury.why import changes as of_changes
from augury.why.answer import _Question, _stream_of
from augury.why.rules import assignments, broken_rules, first_broken
from conformance.queries import seeded_case

SEEDS = range(120)


def question(seed):
    case = seeded_case(f"why {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.DataWarning)
        return case, _Question(
            ag.sase(case.text), case.table, Options(**{**case.arguments, "bad_rows": "drop"})
        )


def answer(case, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.DataWarning)
        return ag.sase(case.text).why(case.table, **{**case.arguments, "bad_rows": "drop"}, **more)


def in_order(asked, bound):
    return tuple(tuple(asked.place[r] for r in rows) for rows in bound)


def some_bindings(asked, rng):
    """Bindings in stream order: at random, and matches with one event exchanged."""
    known = [in_order(asked, b) for b in sorted(asked.asked.base)[:10]]
    m = len(asked.resolved.pattern.positives)
    for stream in asked.streams:
        for _ in range(15):
            many = min(len(stream.rows), m + rng.choice([0, 0, 1, 2]))
            ways = list(assignments(asked.resolved, sorted(rng.sample(list(stream.rows), many)), 50))
            if ways:
                yield rng.choice(ways)
    for bound in known:
        yield bound
        flat = [r for rows in bound for r in rows]
        stream = _stream_of(asked, bound)
        flat[rng.randrange(len(flat))] = rng.choice(list(stream.rows))
        ways = list(assignments(asked.resolved, sorted(set(flat)), 50))
        if ways:
            yield rng.choice(ways)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_binding_breaks_a_rule_if_and_only_if_it_is_no_match(seed):
    _, asked = question(seed)
    if asked.asked.base is None:
        pytest.skip("more matches than are looked at")
    matches = {in_order(asked, b) for b in asked.asked.base}
    for bound in some_bindings(asked, random.Random(seed)):
        broken = first_broken(_stream_of(asked, bound), bound)
        assert (broken is None) == (bound in matches), (bound, broken)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_is_true(seed):
    case, asked = question(seed)
    told = answer(case, limit=50)
    base = asked.asked.base
    if base is None:
        pytest.skip("more matches than are looked at")
    assert told.matches == len(base)
    firsts = {b[0][0] for b in base}
    for miss in told.misses:
        assert miss.first not in firsts
        assert miss.reached == len([v for v, rows in miss.events.items() if rows])
        if miss.because.rule == "negation":
            bound = in_order(asked, tuple(miss.events.values()))
            assert [b.rule for b in broken_rules(_stream_of(asked, bound), bound)].count("negation") >= 1
    for change in told.changes:
        check_change(asked, change)
    assert str(told).startswith(told.headline())
    assert told.table.num_rows == len(told.misses)


def check_change(asked, change, about=None):
    """The changed query, read again from its text, has the match that was told; the query itself has it not."""
    events = tuple(change.events.values())
    again = ag.sase(str(change.query), **change.query.params)
    variant = resolve(again.pattern, asked.resolved.columns, asked.resolved.roles)
    found = of_changes.Asked(asked.given, variant).base
    assert events in found
    assert events not in asked.asked.base
    if change.rule == "window":
        check_window(asked, variant, about)
    if change.rule == "strategy":
        order = list(Strategy)
        at = order.index(asked.resolved.pattern.strategy)
        for stricter in order[at + 1 : order.index(again.pattern.strategy)]:
            if stricter is not Strategy.PARTITION or again.pattern.partition:
                assert not new(asked, replace(again.pattern, strategy=stricter), about)


def check_window(asked, variant, about):
    """An instant less would not do."""
    step = variant.pattern.within.amount / variant.window
    shorter = replace(variant.pattern.within, amount=Decimal((variant.window - 1) * step))
    assert not new(asked, replace(variant.pattern, within=shorter), about)


def new(asked, pattern, about):
    found = of_changes.Asked(asked.given, resolve(pattern, asked.resolved.columns, asked.resolved.roles)).base
    return {b for b in found - asked.asked.base if about in (None, b)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rule_that_alone_could_give_a_match_is_told(seed):
    case, asked = question(seed)
    if asked.asked.base is None or asked.asked.too_much:
        pytest.skip("more matches than are looked at")
    told = [c.rule for c in answer(case).changes if " and " not in c.rule]
    could = []
    for family in of_changes.families(asked.resolved.pattern):
        loose = family.loosened(asked.resolved.pattern)
        if family.rule != "window" and loose is not None and asked.asked.new(loose, lambda _: True):
            could.append(family.rule)
    if asked.asked.too_much:
        pytest.skip("more matches than are looked at")
    assert sorted(r for r in told if r != "window") == sorted(could)


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_events_are_a_match_if_and_only_if_they_are_told_so(seed):
    case, asked = question(seed)
    if asked.asked.base is None:
        pytest.skip("more matches than are looked at")
    variables = [c.var for c in asked.resolved.pattern.positives]
    for bound in itertools.islice(some_bindings(asked, random.Random(seed)), 4):
        rows = [[asked.order[r] for r in part] for part in bound]
        told = asked_of(case, dict(zip(variables, rows, strict=True)))
        is_match = tuple(map(tuple, rows)) in asked.asked.base
        assert told.is_match is is_match
        for change in told.changes:
            assert [list(r) for r in change.events.values()] == rows
            check_change(asked, change, tuple(map(tuple, rows)))


def asked_of(case, events):
    """The question of some events. Their rows are those without the bad ones."""
    table = question_table(case)
    return ag.sase(case.text).why(table, **case.arguments, events=events)


def question_table(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.DataWarning)
        return _Question(
            ag.sase(case.text), case.table, Options(**{**case.arguments, "bad_rows": "drop"})
        ).given


def test_the_definition_says_that_every_event_can_be_asked_about():
    case, asked = question(3)
    for row in range(asked.given.num_rows):
        told = ag.sase(case.text).why(asked.given, **case.arguments, event=row)
        assert told.matches == sum(any(row in rows for rows in b) for b in asked.asked.base)
