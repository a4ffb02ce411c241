"""Tests by the slots that decide them, and what follows from them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from augury.automaton import lower
from augury.expr.printing import text_of
from augury.expr.tree import Attr, Expr, rewrite
from augury.plan.joins import Join, equalities, joins_of
from augury.plan.split import split
from augury.query import sase
from augury.resolve import resolve
from augury.schema import Columns, roles_of

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string())]
)


def joins(where: str, variables: str = "abcd") -> tuple[list[tuple[str, Join]], list[Expr]]:
    components = ", ".join(f"E {v}" for v in variables)
    columns = Columns.of(SCHEMA)
    query = resolve(
        sase(f"PATTERN SEQ({components}) WHERE {where}").pattern, columns, roles_of(columns, "ts", "kind")
    )
    automaton = lower(query)
    made = joins_of(automaton, split(automaton))

    exprs = made.columns

    def shown(join: Join) -> str:
        def named(node: Expr) -> Expr:
            if not isinstance(node, Attr):
                return node
            return rewrite(exprs[int(node.name)], lambda n: _of(n, node.var))

        return text_of(rewrite(join.expr, named))

    return [(shown(j), j) for j in made.tests], list(exprs)


def _of(node: Expr, var: str) -> Expr:
    from dataclasses import replace

    return replace(node, var=var) if isinstance(node, Attr) else node


def concluded(where: str, variables: str = "abcd") -> set[str]:
    return {shown for shown, join in joins(where, variables)[0] if join.via}


def test_a_test_is_decided_when_its_last_slot_is_bound_whichever_that_is() -> None:
    ((_, join),) = joins("a.x + b.x > c.x * 2")[0]
    assert join.slots == {0, 1, 2}
    assert join.decided(0, frozenset({1, 2}))
    assert join.decided(2, frozenset({0, 1, 3}))
    assert not join.decided(2, frozenset({0, 3}))
    assert not join.decided(3, frozenset({0, 1, 2}))


def test_what_one_event_decides_is_no_test_between_slots_wherever_it_stands() -> None:
    """An AND in parentheses is one predicate, which is placed at its last variable."""
    columns = Columns.of(SCHEMA)
    pattern = sase("PATTERN SEQ(E a, E b, E c) WHERE (a.x > c.x AND (b.y > 2)) AND a.s = 'u'").pattern
    automaton = lower(resolve(pattern, columns, roles_of(columns, "ts", "kind")))
    made = joins_of(automaton, split(automaton))
    assert [j.slots for j in made.tests] == [{0, 2}]
    assert [(slot, text_of(_of(e.left, "b"))) for slot, e in made.alone] == [(1, "b.y")]  # type: ignore[union-attr]


def test_comparisons_in_a_row_say_one_of_their_ends() -> None:
    assert concluded("a.x < b.x AND b.x < c.x", "abc") == {"a.x < c.x"}
    assert concluded("a.x <= b.x AND c.x >= b.x", "abc") == {"a.x <= c.x"}
    assert concluded("a.x = b.x AND b.x < c.x", "abc") == {"a.x < c.x"}
    assert concluded("a.s < b.s AND b.s <= c.s", "abc") == {"a.s < c.s"}
    assert concluded("a.x < b.x AND b.x < c.x AND c.x < d.x") == {"a.x < c.x", "b.x < d.x", "a.x < d.x"}


@pytest.mark.parametrize(
    "where",
    [
        "a.x < b.x AND c.x < b.x",
        "a.x < b.x AND b.y < c.y",
        "a.x <> b.x AND b.x <> c.x",
        "a.x < b.x OR b.x < c.x",
        "a.x < b.x AND b.x < c.x AND a.x < c.x",
    ],
)
def test_nothing_is_concluded_where_nothing_new_follows(where: str) -> None:
    assert concluded(where, "abc") == set()


def test_a_step_up_follows_through_what_it_is_added_to() -> None:
    assert concluded("a.y + 0.5 < b.y AND b.y + 0.5 < c.y", "abc") == {"a.y + 0.5 + 0.5 < c.y"}
    assert concluded("a.y * 1.05 < b.y AND b.y * 1.05 < c.y", "abc") == {"a.y * 1.05 * 1.05 < c.y"}
    assert concluded("a.y < b.y - 1.5 AND b.y < c.y - 1.5", "abc") == {"a.y < c.y - 1.5 - 1.5"}
    assert concluded("a.x + 2 < b.x AND b.x + 2 < c.x", "abc") == {"a.x + 2 + 2 < c.x"}


def test_of_integers_nothing_is_concluded_that_overflows_where_the_test_does_not() -> None:
    assert concluded("a.x < b.x - 2 AND b.x < c.x - 2", "abc") == set()
    assert concluded("a.x - 2 < b.x AND b.x - 2 < c.x", "abc") == set()
    assert concluded("a.y * -1 < b.y AND b.y * -1 < c.y", "abc") == set()


def test_what_is_concluded_is_of_use_while_something_between_is_open() -> None:
    found = dict(joins("a.x < b.x AND b.x < c.x", "abc")[0])
    join = found["a.x < c.x"]
    assert join.decided(0, frozenset({2}))
    assert not join.decided(0, frozenset({1, 2}))


def test_an_equality_of_two_columns_is_seen_from_both_sides() -> None:
    columns = Columns.of(SCHEMA)
    query = resolve(
        sase("PATTERN SEQ(E a, E b) WHERE a.x = b.x AND a.y < b.y AND a.s = upper(b.s)").pattern,
        columns,
        roles_of(columns, "ts", "kind"),
    )
    automaton = lower(query)
    found = joins_of(automaton, split(automaton)).tests
    assert {(e.slot, e.other) for e in equalities(found, automaton)} == {(0, 1), (1, 0)}
    assert len(list(equalities(found, automaton))) == 4
