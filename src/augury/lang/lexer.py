"""Text to tokens: one regular expression, and the limits on what a parser has to bear.

A sign that has no meaning becomes an UNKNOWN token, which no rule of the grammar takes: what to say of
it depends on where it stands, and `complaints` knows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lark import Token
from lark.lexer import Lexer

from augury.errors import QueryError, Span

MAX_LENGTH = 100_000
MAX_DEPTH = 100
MAX_NUMBER = 500  # signs of a number; how many digits count is said where its value is read

_STRATEGIES = {"STRICT_CONTIGUITY", "PARTITION_CONTIGUITY", "SKIP_TILL_NEXT_MATCH", "SKIP_TILL_ANY_MATCH"}
_WORDS = {
    *("PATTERN SEQ WHERE WITHIN RETURN AND OR NOT IN BETWEEN IS NULL LIKE TRUE FALSE AS".split()),
    *_STRATEGIES,
}
SIGNS = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ".": "DOT",
    "..": "DOTS",
    ":": "COLON",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "~": "TILDE",
}
_TOKEN = re.compile(
    r"""
    (?P<SKIP>    \s+ | --[^\n]* | /\*.*?\*/ )
  | (?P<OPEN>    /\* )
  | (?P<SHARE>   (?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?% )
  | (?P<NUMBER>  (?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)? )
  | (?P<STRING>  '(?:[^']+|'')*+' )
  | (?P<QUOTED>  `(?:[^`]+|``)*+` )
  | (?P<NAME>    [A-Za-z_]\w* )
  | (?P<COMPARISON> == | = | != | <> | <= | >= | < | > )
  | (?P<SIGN>    \.\. | [()\[\]{},.:+\-*/%~] )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_SURROGATE = re.compile("[\ud800-\udfff]")

_UNCLOSED = {
    "/*": ("this comment does not end", "end it with */"),
    "'": ("this string does not end", "a string ends with a single quote; one inside it is doubled: 'it''s'"),
    "`": ("this quoted name does not end", "a quoted name ends with a backtick; one inside it is doubled"),
}


class QueryLexer(Lexer):
    """The lexer as Lark wants it."""

    def __init__(self, _conf: Any) -> None:
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]  # as Lark calls one that is not its own
        return tokens(data.text if hasattr(data, "text") else str(data))


def tokens(text: str) -> Iterator[Token]:
    """The tokens with their offsets. Depth of brackets, length of text and numbers are bounded here."""
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the query has {len(text)} characters, more than {MAX_LENGTH}",
            hint="bind long lists as a parameter: IN (:names)",
        )
    half = _SURROGATE.search(text)
    if half is not None:
        raise QueryError(
            f"half a character stands here: U+{ord(half.group()):04X}",
            span=Span(*half.span()),
            hint='the text was decoded wrongly; read it with encoding="utf-8"',
        )
    depth = at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        kind, value, end = _unmatched(text, at) if found is None else _matched(text, found)
        if kind == "SIGN":
            kind = SIGNS[value]
            depth += (value in "([{") - (value in ")]}")
            if depth > MAX_DEPTH:
                raise QueryError(f"brackets are nested more than {MAX_DEPTH} deep", span=Span(at, end))
        elif kind in ("NUMBER", "SHARE") and len(value) > MAX_NUMBER:
            raise QueryError(f"a number of {len(value)} signs, more than {MAX_NUMBER}", span=Span(at, end))
        if kind != "SKIP":
            yield Token(kind, value, start_pos=at, end_pos=end)
        at = end


def _matched(text: str, found: re.Match[str]) -> tuple[str, str, int]:
    kind, value, end = found.lastgroup or "", found.group(), found.end()
    if kind == "OPEN":
        raise _unclosed(value, found.start())
    if kind == "NAME":
        if end < len(text) and not text[end].isascii():
            return _name(text, found.start())
        word = value.upper()
        kind = "STRATEGY" if word in _STRATEGIES else word if word in _WORDS else kind
    return kind, value, end


def _unmatched(text: str, at: int) -> tuple[str, str, int]:
    """A name that begins with a letter beyond ASCII, or what has no meaning."""
    sign = text[at]
    if sign in _UNCLOSED:
        raise _unclosed(sign, at)
    if not sign.isascii() and sign.isidentifier():
        return _name(text, at)
    return "UNKNOWN", sign, at + 1


def _name(text: str, at: int) -> tuple[str, str, int]:
    """A name in any script, as Python reads identifiers: its marks and digits are part of it."""
    end = at + 1
    while end < len(text) and ("a" + text[end]).isidentifier():
        end += 1
    return "NAME", text[at:end], end


def _unclosed(opening: str, at: int) -> QueryError:
    message, hint = _UNCLOSED[opening]
    return QueryError(message, span=Span(at, at + len(opening)), hint=hint)
