"""LIKE: its patterns as parts, and as regular expressions that are never slow."""

from __future__ import annotations

import re
from functools import lru_cache

from augury.errors import QueryError
from augury.expr.tree import Expr


def is_like(value: str, pattern: str) -> bool | None:
    """Null where a pattern out of the data is none; one in the query was checked."""
    regex = like_regex(pattern)
    return None if regex is None else regex.fullmatch(value) is not None


@lru_cache(maxsize=256)
def like_regex(pattern: str) -> re.Pattern[str] | None:
    """What stands between two % is found where it first can be: atomic groups, so no pattern is slow."""
    try:
        parts = like_parts(pattern)
    except QueryError:
        return None
    pieces = [""]
    for part in parts:
        if part == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if part == "_" else re.escape(part[1:])
    first, *rest = pieces
    found = "".join(f"(?>.*?{piece})" for piece in rest[:-1]) + (f".*{rest[-1]}" if rest else "")
    return re.compile(first + found, re.DOTALL)


def like_parts(pattern: str, at: Expr | None = None) -> list[str]:
    """A LIKE pattern as its parts: "%" and "_" the wildcards, anything longer or else literal text.

    A backslash takes the sign after it literally; a literal part starts with "=" to tell it apart.
    """
    parts: list[str] = []
    text = ""
    signs = iter(pattern)
    for sign in signs:
        if sign in "%_":
            if text:
                parts.append("=" + text)
                text = ""
            parts.append(sign)
        elif sign != "\\":
            text += sign
        elif (escaped := next(signs, "")) in ("%", "_", "\\"):
            text += escaped
        else:
            raise QueryError(
                "a backslash in a LIKE pattern stands before %, _ or another backslash",
                span=None if at is None else at.span,
            )
    if text:
        parts.append("=" + text)
    return parts
