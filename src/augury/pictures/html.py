"""Queries as notebooks show them: the text with its words in colour, and the automaton below it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from augury.errors import one_line
from augury.pictures.canvas import BLUE, DIM, GREEN

if TYPE_CHECKING:
    from augury.pictures.canvas import Picture

_WORDS = re.compile(
    r"(?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`)"
    r"|(?P<word>\b(?:PATTERN|SEQ|WHERE|WITHIN|RETURN|AND|OR|NOT|IN|BETWEEN|IS|NULL|LIKE|AS|TRUE|FALSE"
    r"|strict_contiguity|partition_contiguity|skip_till_next_match|skip_till_any_match)\b)",
    re.IGNORECASE,
)


def of_query(text: str, plot: Callable[[], Picture]) -> str:
    """The query as HTML; without Matplotlib its text alone."""
    shown = "\n".join(one_line(line) for line in text.split("\n"))
    block = f'<pre style="line-height:1.5;margin:0 0 8px">{_coloured(shown)}</pre>'
    if find_spec("matplotlib") is None:
        return block
    drawn = plot().svg()
    return f'{block}<div style="max-width:100%;overflow-x:auto">{drawn[drawn.index("<svg") :]}</div>'


def _coloured(text: str) -> str:
    """The text with its words in colour; all of it escaped."""
    parts: list[str] = []
    at = 0
    for found in _WORDS.finditer(text):
        parts.append(html.escape(text[at : found.start()]))
        colour = BLUE if found["word"] else GREEN if found[0].startswith("'") else DIM
        weight = ";font-weight:600" if found["word"] else ""
        parts.append(f'<span style="color:{colour}{weight}">{html.escape(found[0])}</span>')
        at = found.end()
    return "".join([*parts, html.escape(text[at:])])
