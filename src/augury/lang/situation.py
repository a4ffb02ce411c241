"""Where a text stops to parse: the tokens around the place, the clause, and the brackets open before it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from augury.errors import QueryError, Span
from augury.lang.lexer import SIGNS, tokens

if TYPE_CHECKING:
    from lark import Token, UnexpectedToken


@dataclass(frozen=True, slots=True)
class Situation:
    before: Sequence[Token]
    token: Token  # its type is $END at the end of the text
    after: Sequence[Token]
    expected: frozenset[str]
    span: Span
    clause: str  # the clause's keyword, "" before the first
    open: tuple[Token, ...]  # brackets that are not closed before the token

    def types(self, back: int) -> tuple[str, ...]:
        """The types of the last tokens before this one."""
        return tuple(t.type for t in self.before[-back:])

    def back(self, n: int) -> Token | None:
        return self.before[-n] if len(self.before) >= n else None

    @property
    def at_end(self) -> bool:
        return self.token.type == "$END"

    @property
    def next(self) -> str:
        return self.after[0].type if self.after else ""


class Finding(NamedTuple):
    """What a rule makes of a situation; what it leaves out is the default."""

    message: str | None = None
    hint: str | None = None
    span: Span | None = None


CLAUSES = ("PATTERN", "WHERE", "WITHIN", "RETURN")
PAIRS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSING = {closing: opening for opening, closing in PAIRS.items()}
TEXTS = {kind: sign for sign, kind in SIGNS.items()}
NAMES = ("NAME", "QUOTED")
VALUES = frozenset(
    {*NAMES, "NUMBER", "SHARE", "STRING", "LPAR", "COLON", "TRUE", "FALSE", "NULL", "NOT", "STRATEGY"}
)
WANT_VALUE = frozenset(
    "WHERE RETURN AND OR NOT COMMA LPAR LBRACE COMPARISON PLUS MINUS STAR SLASH PERCENT LIKE BETWEEN".split()
)


def situation(text: str, error: UnexpectedToken) -> Situation:
    every: list[Token] = []
    with contextlib.suppress(QueryError):  # something further on is wrong too
        every.extend(tokens(text))
    token = error.token
    place = len(every)
    if token.type != "$END":
        place = next(i for i, t in enumerate(every) if t.start_pos == token.start_pos)
    before = every[:place]
    clause = ""
    opened: list[Token] = []
    for previous, t in zip([None, *before], before, strict=False):
        if t.type in CLAUSES and not opened and (previous is None or previous.type not in WANT_VALUE):
            clause = t.type
        if t.type in PAIRS:
            opened.append(t)
        elif opened and t.type == PAIRS[opened[-1].type]:
            opened.pop()
    end = _end(before[-1]) if before else 0
    span = Span(end, end) if token.type == "$END" else span_of(token)
    expected = frozenset(error.accepts or error.expected)
    return Situation(before, token, every[place + 1 :], expected, span, clause, tuple(opened))


def span_of(first: Token, last: Token | None = None) -> Span:
    assert first.start_pos is not None
    return Span(first.start_pos, _end(last or first))


def _end(token: Token) -> int:
    assert token.end_pos is not None
    return token.end_pos


def touch(left: Token | None, right: Token | None) -> bool:
    """Whether nothing stands between two tokens."""
    return left is not None and right is not None and left.end_pos == right.start_pos


# ------------------------------------------------------------------ what stands there, and what could


def shown(token: Token) -> str:
    """A token as messages name it: signs in quotes, so that a comma is seen."""
    if token.type in TEXTS or token.type == "COMPARISON":
        return f'"{token}"'
    if token.type == "UNKNOWN":
        return f'"{token}"' if token.isprintable() else f"U+{ord(token):04X}"
    return str(token) if len(token) <= 40 else f"{token[:30]}…{token[-9:]}"


def default(s: Situation) -> str:
    found = "the query ends" if s.at_end else f"{shown(s.token)} stands"
    return f"{found} where {wanted(s.expected, s.clause)} is expected"


def wanted(expected: Iterable[str], clause: str) -> str:
    """The tokens that could have come, in a reader's words."""
    left = set(expected)
    said: list[str] = []
    if left >= {"NAME", "NUMBER", "STRING", "LPAR"}:
        said.append("a value")
        left &= {"STAR", "RPAR", "RSQB"}
    elif left >= {"NAME", "QUOTED"}:
        if clause == "PATTERN":
            said.append("a component" if "TILDE" in left else "a variable")
            left -= {"PLUS", "TILDE", "LPAR"}
        else:
            said.append("a name")
        left = {t for t in left if t in TEXTS}
    elif left >= {"PLUS", "MINUS"}:
        said.append("an operator")
        left -= {"STAR", "SLASH", "PERCENT", "COMPARISON", "IN", "BETWEEN", "LIKE", "IS", "NOT"}
        left -= {"PLUS", "MINUS", "LPAR", "DOT", "LSQB", "NAME"}
    elif "NAME" in left:  # a unit, after a number
        left -= {"NAME"}
    if len(left) > 1:
        left -= {"LSQB"}
    order = [*sorted(t for t in left if t in TEXTS), *"AND OR AS WHERE WITHIN RETURN".split()]
    order += sorted(left - {*order, "$END"})
    said.extend(f'"{TEXTS[t]}"' if t in TEXTS else _PLAIN.get(t, t) for t in order if t in left)
    if "$END" in left:
        said.append("the end of the query")
    return said[0] if len(said) == 1 else ", ".join(said[:-1]) + " or " + said[-1]


_PLAIN = {"NUMBER": "a number", "SHARE": "a share", "STRING": "a string", "COMPARISON": "a comparison"}
