"""Laws of expressions: the readings are equal, and what is printed parses to the same tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from augury.expr import functions
from augury.expr.printing import text_of
from augury.lang.sase import parse_expression
from readings import Kernel, bits, interpreted, typed_over, vectorised

TABLES = settings(max_examples=max(600, settings().max_examples))
EXPRESSIONS = 4  # over each table, for tables take longer to make; one kernel holds all of them


@pytest.fixture(autouse=True, scope="module")
def _functions():
    def spread(x: float, y: float) -> float:
        return None if y == 1.0 else x - y

    def whole(x: float, y: float) -> int:
        return int(x > y) * 2**40

    before = dict(functions._registered)
    functions.function(spread)
    functions.function(whole)
    yield
    functions._registered.clear()
    functions._registered.update(before)


FUNCTIONS = ("spread", "whole")


@st.composite
def cases(draw, make):
    table = draw(strategies.tables())
    schema = {name: table.schema.field(name).type for name in table.column_names}
    return table, [draw(make(schema, functions=FUNCTIONS)) for _ in range(EXPRESSIONS)]


def check_readings(table, expressions):
    nodes = [typed_over(e, table) for e in expressions]
    expected = interpreted(nodes, table)
    kernel = Kernel(nodes, table)
    readings = {"columns": vectorised(nodes, table), "kernel": kernel.run()}
    for name, found in readings.items():
        for expression, values, right in zip(expressions, found, expected, strict=True):
            said = f"{name}: {text_of(expression)}\n{kernel.source}"
            assert [bits(v) for v in values] == [bits(v) for v in right], said


@TABLES
@given(cases(strategies.conditions))
def test_conditions_read_alike(case):
    check_readings(*case)


@TABLES
@given(cases(strategies.expressions))
def test_values_read_alike(case):
    check_readings(*case)


@TABLES
@given(st.data())
def test_what_is_printed_parses_to_the_same_tree(data):
    schema = data.draw(strategies.schemas())
    for _ in range(EXPRESSIONS):
        expression = data.draw(strategies.expressions(schema, functions=FUNCTIONS))
        assert parse_expression(text_of(expression)) == expression
