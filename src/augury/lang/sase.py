"""SASE+ text to `Pattern`, and the expression text of the other languages to trees.

    text ─ lexer ─> tokens ─ Lark, LALR(1) ─> actions (below) ─> Clauses ─> Pattern, which validates itself

The tree is built while Lark parses, so no recursion depends on the text; its depth is bounded before
anything recursive sees it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

import lark

from augury.errors import QueryError, locating
from augury.expr.printing import quoted
from augury.expr.tree import (
    Agg,
    At,
    Attr,
    Expr,
    Logic,
    children,
)
from augury.lang.actions import (
    Actions,
    Block,
    Clauses,
    PartitionTest,
    StrategyTest,
    Word,
    finished,
    refuse_deep,
    ungroup,
)
from augury.lang.complaints import unexpected
from augury.lang.lexer import QueryLexer
from augury.lang.params import bound
from augury.pattern import Pattern, Strategy, undeclared


def parse(text: str, params: Mapping[str, Any] | None = None) -> Pattern:
    """The pattern that a SASE+ text says, its parameters bound to values."""
    with locating(text):
        clauses = _parse(text, "query")
        assert isinstance(clauses, Clauses)
        return _pattern(clauses, params or {})


def parse_expression(text: str, params: Mapping[str, Any] | None = None) -> Expr:
    """An expression by itself, as the other languages write them."""
    with locating(text):
        return bound([parse_raw(text)], params or {})[0]


def parse_raw(text: str) -> Expr:
    """The same with parameters that are not bound yet."""
    expr: Expr = _parse(text, "expression")
    refuse_deep(expr)
    return expr


# ------------------------------------------------------------------ from clauses to a Pattern


def _pattern(clauses: Clauses, params: Mapping[str, Any]) -> Pattern:
    conditions = clauses.conditions
    strategies: list[StrategyTest] = []
    if isinstance(conditions, Block):
        strategies.append(conditions.strategy)
        conditions = conditions.conditions
    partition: list[Word] = []
    predicates: list[Expr] = []
    for part in _top_level(conditions):
        if isinstance(part, StrategyTest):
            strategies.append(part)
        elif isinstance(part, PartitionTest):
            partition.extend(part.names)
        else:
            predicates.append(finished(ungroup(part)))
    if len(strategies) > 1:
        raise QueryError(
            "a query has one strategy, here is a second", span=strategies[1].span, hint="keep one of them"
        )
    items = clauses.items or ()
    for expr in (*predicates, *(i.expr for i in items)):
        refuse_deep(expr)
        _refuse_stray_range(expr)
    values = bound([*predicates, *(i.expr for i in items)], params)
    returns = tuple(replace(i, expr=e) for i, e in zip(items, values[len(predicates) :], strict=True))
    pattern = Pattern(
        components=clauses.components,
        strategy=strategies[0].strategy if strategies else Strategy.ANY,
        predicates=tuple(values[: len(predicates)]),
        partition=tuple(w.text for w in partition),
        within=clauses.window,
        returns=returns or None,
        strategy_span=strategies[0].span if strategies else None,
        partition_spans=tuple(w.span for w in partition),
    )
    for strategy in strategies:
        _check_strategy(strategy, pattern)
    return pattern


def _top_level(conditions: Any) -> list[Any]:
    if conditions is None:
        return []
    if isinstance(conditions, Logic) and conditions.op == "AND":
        return list(conditions.args)
    return [conditions]


def _check_strategy(test: StrategyTest, p: Pattern) -> None:
    for word in test.variables:
        if p.component(word.text) is None:
            raise undeclared(word.text, p, word.span)
    named = [w.text for w in test.variables]
    everything = sorted(c.var for c in p.components)
    if sorted(named) not in (everything, sorted(c.var for c in p.positives)):
        wanted = ", ".join(quoted(c.var) + ("[]" if c.kleene else "") for c in p.positives)
        raise QueryError(
            f"{test.strategy.value} names all positive variables of the pattern, each once",
            span=test.span,
            hint=f"write {test.strategy.value}({wanted})",
        )


def _refuse_stray_range(root: Expr) -> None:
    if isinstance(root, Agg):
        return
    if isinstance(root, Attr) and root.at is At.BEFORE:
        v = quoted(root.var)
        raise QueryError(
            f"{v}[..i-1] is a range of events, for aggregates",
            span=root.span,
            hint=f"write avg({v}[..i-1].{quoted(root.name)}), say, or {v}[i-1].{quoted(root.name)} for the one before",
        )
    for child in children(root):
        _refuse_stray_range(child)


# ------------------------------------------------------------------ Lark


@functools.cache
def _lark() -> lark.Lark:
    grammar = resources.files("augury.lang").joinpath("sase.lark").read_text(encoding="utf-8")
    return lark.Lark(
        grammar,
        parser="lalr",
        lexer=QueryLexer,
        start=["query", "expression"],
        transformer=Actions(),
        maybe_placeholders=True,
    )


def _parse(text: str, start: str) -> Any:
    if not isinstance(text, str):
        raise QueryError(f"a query is a string, not a {type(text).__name__}")
    try:
        return _lark().parse(text, start=start)
    except lark.exceptions.VisitError as error:  # what an action raised, in Lark's wrapping
        raise error.orig_exc from None
    except lark.UnexpectedToken as error:
        raise unexpected(text, error) from None
