"""The laws of explanations: there is one for every query, each of its lines is one, and it says what is done."""

import ast
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury as ag
from augury.engines import passes
from augury.errors import QueryError
from augury.pattern import text_of_pattern
from augury.plan.choice import AUTO, ENGINES, check_covered
from augury.plan.split import Split
from augury.resolve import resolve, without_schema
from augury.runtime.options import OUTPUTS
from augury.schema import Columns, roles_of
from conformance.queries import cases
from property.patterns import patterns

EXAMPLES = settings.default.max_examples


def lines_are_lines(explanation):
    return all(
        unicodedata.category(sign) not in ("Cc", "Cf", "Zl", "Zp", "Cs")
        for sign in explanation.replace("\n", "")
    )


def can(query, plan):
    try:
        check_covered(query.pattern, plan)
    except QueryError:
        return False
    return True


@given(patterns(), st.sampled_from((AUTO, *(e.plan for e in ENGINES))), st.sampled_from(OUTPUTS))
def test_every_query_is_explained_without_a_schema(given_, plan, output):
    pattern, params = given_
    query = ag.sase(text_of_pattern(pattern), **params)
    if not can(query, plan):
        with pytest.raises(QueryError, match="evaluates"):
            query.explain(plan=plan, output=output)
        return
    shown = query.explain(plan=plan, output=output)
    assert lines_are_lines(shown)
    assert shown.startswith("QUERY\n   1  PATTERN")


@given(
    cases(),
    st.sampled_from((AUTO, *(e.plan for e in ENGINES))),
    st.sampled_from(OUTPUTS),
    st.booleans(),
    st.booleans(),
)
def test_every_query_is_explained_with_its_data(case, plan, output, rows, kernel):
    query = ag.sase(case.text)
    arguments = {name: value for name, value in case.arguments.items() if name != "bad_rows"}
    data = case.table
    if "bad_rows" in case.arguments or not rows:
        data = data.schema
    if not can(query, plan):
        with pytest.raises(QueryError, match="evaluates"):
            query.explain(data, output=output, plan=plan, kernel=kernel, **arguments)
        return
    shown = query.explain(data, output=output, plan=plan, kernel=kernel, **arguments)
    assert lines_are_lines(shown)
    if kernel and plan != "definition":
        listed = shown.split("\nIts text, after the numbers of the query's lines\n")[1].split("\n")
        ast.parse("\n".join(line.split(" | ", 1)[1] for line in listed))


@given(cases())
def test_types_change_nothing_of_where_predicates_are_tested(case):
    pattern = ag.sase(case.text).pattern
    columns = Columns.of(case.table.schema)
    arguments = case.arguments
    roles = roles_of(columns, "ts", arguments.get("type"), arguments.get("key"), arguments.get("tiebreak"))
    try:
        query = resolve(pattern, columns, roles)
    except QueryError:
        pytest.fail("cases are made to fit their data")
    known, unknown = (passes.outline(placed) for placed in (query, without_schema(pattern)))
    assert places(known.split) == places(unknown.split)
    assert known.registers.merged == unknown.registers.merged
    assert known.automaton.absences == unknown.automaton.absences
    assert [bool(live) for live in known.registers.live] == [bool(live) for live in unknown.registers.live]


def places(split: Split):
    guards = (*split.guards, *split.leaves, split.accept)
    return [(g.of_event, g.of_run, len(g.dynamic), len(g.history)) for g in guards]
