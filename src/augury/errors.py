"""What can be wrong: the query or the data. Every error says where, what, and the remedy.

A `QueryError` is raised deep inside, where only a `Span` of the text is known; the entry point that
owns the text adds it with `locating`, and from then on the error can draw its caret line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Span(NamedTuple):
    """Half-open character offsets into a query's text."""

    start: int
    end: int


class AuguryError(Exception):
    """The base of every error that Augury raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class DataError(AuguryError):
    """The data, or a stored state, is not what was promised."""


class LimitError(AuguryError):
    """The work grew past a limit that was set to protect the machine. The text names both numbers."""


class DataWarning(UserWarning):
    """Rows were dropped because they were bad, as was asked for."""


class QueryError(AuguryError):
    """The query is wrong, by itself or for the schema it met.

    `line` and `column` count from 1 and are None where the query has no text.
    """

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message: str = self.args[0]
        self.span = span
        self.hint = None if hint is None else one_line(hint)
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (self.message, self.span, self.hint, self.text))

    @property
    def line(self) -> int | None:
        return None if self.text is None or self.span is None else position(self.text, self.span.start)[0]

    @property
    def column(self) -> int | None:
        return None if self.text is None or self.span is None else position(self.text, self.span.start)[1]

    def __str__(self) -> str:
        parts = [self.message]
        if self.text is not None and self.span is not None:
            parts = [f"{self.line}:{self.column}: {self.message}", *_caret(self.text, self.span)]
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


def _restored(message: str, span: Span | None, hint: str | None, text: str | None) -> QueryError:
    return QueryError(message, span=span, hint=hint, text=text)


_LONGEST_WORD = 120
_LONGEST_MESSAGE = 2_000


def one_line(message: str) -> str:
    """The message fit for a terminal and a log, whatever names from queries and data are in it.

    Newlines, control characters and marks that turn the direction of writing are spelled as escapes, and
    words that are too long lose their middle.
    """
    shown = "".join(c if c.isprintable() else _escaped(c) for c in message)
    shown = re.sub(
        rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: _shortened(word.group(), _LONGEST_WORD), shown
    )
    return _shortened(shown, _LONGEST_MESSAGE)


def _escaped(sign: str) -> str:
    # Other scripts' spaces are not "printable" to Python; there is nothing wrong with them.
    return sign if unicodedata.category(sign) == "Zs" else sign.encode("unicode_escape").decode()


def _shortened(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = length // 4
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset. Lines end at a newline, as editors count them."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


_WIDTH = 100  # characters of a query's line that an error shows


def _caret(text: str, span: Span) -> list[str]:
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.start)
    line = text[line_start : len(text) if line_end < 0 else line_end]
    column = span.start - line_start
    first = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
    shown = "".join(c if c.isprintable() else " " for c in line[first : first + _WIDTH])
    before, under = shown[: column - first], shown[column - first :][: span.end - span.start]
    return [f"  {shown}".rstrip(), "  " + " " * _cells(before) + "^" * max(1, _cells(under))]


def _cells(shown: str) -> int:
    """How many places of a terminal a text takes: an ideograph two, a mark on a letter none."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in shown
    )


@contextmanager
def locating(text: str | None) -> Iterator[None]:
    """Give the text to every QueryError that leaves the block without one."""
    try:
        yield
    except QueryError as error:
        if error.text is None:
            error.text = text
        raise
