"""CESAR's texts to trees: the predicates and values that stand in the methods of an expression.

They are written in the expression language of all queries. A bare name is an attribute, `x.last` the one of the event
before in a sequence, DUR the duration; there are no variables, no lists of events and so no aggregates.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from augury.algebra import DUR, LAST, Text, check_known
from augury.errors import QueryError, locating
from augury.expr.printing import quoted, text_of
from augury.expr.tree import Agg, At, Attr, Expr, Len, Name, Param, rewrite, walk
from augury.lang.params import bound, canonical
from augury.lang.sase import parse_raw

ELSEWHERE = "x.last is the value of the event before: it has a meaning in on= and in step= alone"


def predicate(
    text: object,
    params: Mapping[str, Any],
    *,
    current: Sequence[str] | None,
    last: Sequence[str] | None,
    in_sequence: bool,
) -> Text:
    """An expression's tree. `current` and `last` are the names that x and x.last may have, if they are known."""
    if not isinstance(text, str):
        raise QueryError(
            f"a condition is a text, not {text!r}",
            hint='write it as a string: where("vol > 10000")',
        )
    return _text(text, params, current, last, in_sequence)


def value(
    given: object,
    *,
    current: Sequence[str] | None,
    last: Sequence[str] | None,
    in_sequence: bool,
) -> Text:
    """What `extend` assigns: an expression if it is a text, else a constant."""
    if isinstance(given, str):
        return _text(given, {}, current, last, in_sequence)
    return Text(_VALUE, None, (("value", canonical("value", given)),))


_VALUE = Param("value", None)


def _text(
    text: str,
    params: Mapping[str, Any],
    current: Sequence[str] | None,
    last: Sequence[str] | None,
    in_sequence: bool,
) -> Text:
    with locating(text):
        names = None if current is None else tuple(current)
        parsed, wanted = _checked(text, names, None if last is None else tuple(last), in_sequence)
        if wanted != params.keys():
            bound([parsed], params)  # which says what is missing, or too much
        return Text(parsed, text, tuple((n, canonical(n, v)) for n, v in params.items()))


@functools.lru_cache(maxsize=4096)
def _checked(
    text: str, current: tuple[str, ...] | None, last: tuple[str, ...] | None, in_sequence: bool
) -> tuple[Expr, frozenset[str]]:
    """A text's tree, with names that there are, and the names of its parameters."""
    parsed = _parsed(text)
    for node in walk(parsed):
        if not isinstance(node, Attr):
            continue
        if node.var == LAST and not in_sequence:
            raise QueryError(f"{quoted(node.name)}.last has no meaning here", span=node.span, hint=ELSEWHERE)
        if node.name != DUR:
            try:
                check_known(node.name, last if node.var == LAST else current)
            except QueryError as error:
                error.span = node.span
                raise
    return parsed, frozenset(n.name for n in walk(parsed) if isinstance(n, Param))


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Expr:
    """The tree of a text, its references as the algebra has them. Many queries differ in their parameters alone."""
    return rewrite(parse_raw(text), _reference)


def _reference(node: Expr) -> Expr:
    match node:
        case Name():
            return Attr("", At.ONE, node.name, span=node.span)
        case Attr(at=At.ONE, name="last"):
            if node.var == DUR:
                _wrong(node, "there is no DUR.last", "DUR is the duration of the event at hand")
            return replace(node, var=LAST, name=node.var)
        case Attr(at=At.ONE):
            _wrong(
                node,
                f"{text_of(node)} names a variable, and a CESAR expression has none",
                f"an attribute stands by itself: {quoted(node.name)}; of the event before: {quoted(node.name)}.last",
            )
        case Attr() | Len() | Agg():
            _wrong(
                node,
                f"{text_of(node)} is of Kleene variables, and a CESAR expression has none",
                "aggregates are extend() before, in and after iterate(): initialise, accumulate, finish",
            )
    return node


def _wrong(node: Expr, message: str, hint: str) -> NoReturn:
    raise QueryError(message, span=node.span, hint=hint)
