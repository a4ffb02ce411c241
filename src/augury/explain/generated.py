"""The generated kernel, and beside each line of it the lines of the query that it was written for.

The text is the one that is run. What the query says of a line stands beside it on the page, and in no source.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from augury.engines.generated import allows, masks_of
from augury.explain.told import Kernel, Told
from augury.explain.words import (
    WIDTH,
    Page,
    arc_name,
    column_of_event,
    listed,
    register_name,
)

_BESIDE = 64  # where the query's words stand
_WORDS = 60  # of the query's beside a line


def kernel(told: Told, page: Page) -> None:
    """The kernel's text with the query beside it."""
    if told.kernel is None:
        page.section("KERNEL", "There is none: this plan is plain Python, the module augury.semantics.sase.")
        return
    made = told.kernel
    nulls = [
        column_of_event(e, told.pattern)
        for e, n in zip(told.outline.split.columns, made.nullable, strict=True)
        if n
    ]
    if not made.of_rows:
        page.say(
            "What follows is for columns without nulls; those of the data may have some, and are asked for them."
        )
    elif nulls:
        page.say(f"In these data there are nulls in {listed(nulls)}.")
    elif told.outline.split.columns:
        page.say("In these data there are no nulls in the columns that it reads.")
    page.section("Its names")
    for name, meaning in _names(told, made):
        page.say(meaning, label=name, hang=14)
    page.section("Its text, after the numbers of the query's lines")
    before = ""
    lines = made.source.text.splitlines()
    for line, origin, words in zip(lines, made.source.origins, made.source.words(told.pattern), strict=True):
        numbers = sorted({told.lines[part] for part in origin if part in told.lines})
        _line(page, line, numbers, "" if words == before else words)
        before = words


def _names(told: Told, made: Kernel) -> Iterable[tuple[str, str]]:
    """What the names in the text mean."""
    source, shape = made.source, told.outline
    text = source.text
    yield (
        ", ".join(["i", *(f"m{n}" for n in masks_of(source.bits))]),
        "the event at hand, and its mask" + ("s" if len(masks_of(source.bits)) > 1 else ""),
    )
    for arc, bit in zip(shape.automaton.arcs, source.bits, strict=True):
        if bit >= 0:
            yield allows([bit]), f"it is one for “{arc_name(arc)}”, as far as it decides by itself"
    for name, column, is_null in source.columns:
        what = column_of_event(shape.split.columns[column], told.pattern)
        yield f"{name}[i]", f"whether it has no {what}" if is_null else f"its {what}"
    for number, register in enumerate(source.registers):
        if re.search(rf"\breg{number}", text) or re.search(rf"_r{number}\b", text):
            yield f"reg{number}", f"of a run: {register_name(register, shape.split, told.pattern)}"
    for state in range(1, shape.automaton.final + 1):
        if f"s{state}_node[j]" in text:
            registers = "".join(
                f", s{state}_r{n}[j] its reg{n}"
                for n, r in enumerate(source.registers)
                if r in shape.registers.live[state]
            )
            meaning = f"how many runs are in state {state}; of run j s{state}_node[j] is what it has bound"
            yield f"runs{state}", f"{meaning}, s{state}_new[j] its newest first event{registers}"
        elif f"runs{state}" in text:
            yield (
                f"runs{state}",
                f"whether there is a run in state {state}; s{state}_node is what it has bound, s{state}_new its newest first event",
            )
    if "path[" in text:
        yield "path", "the events that the run at hand has bound, the first of them at start"
        yield "p_…[top]", "the runs that wait on the stack"
    if "took" in text:
        yield (
            "took, went",
            "whether the run takes the event, and whether it begins the next component with it",
        )
    if "lows[i]" in text:
        yield "low", "the first event that is in the window with this one"


def _line(page: Page, line: str, numbers: list[int], words: str) -> None:
    """One line: the numbers of the query's lines, the text, and what the query says there."""
    left = f"{','.join(map(str, numbers)):>8} | "
    if line.startswith("def "):
        head, *rest = textwrap.wrap(line, WIDTH - len(left), subsequent_indent=" " * len("def kernel("))
        page.as_is(left + head)
        for more in rest:
            page.as_is(f"{' ' * 8} | {more}")
        return
    shown = left + line
    if words:
        short = words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"
        shown = f"{shown.ljust(_BESIDE)}  # {short}"
    page.as_is(shown)
