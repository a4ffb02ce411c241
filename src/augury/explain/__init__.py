"""What becomes of a query: its automaton, its plan, and where each of its predicates is tested.

    Pattern ─┬─ a schema: resolve ─────────────┬─ lower, split, allocate ─> Told ─> sections ─> Explanation
             └─ none: placed, types unknown ───┘   (the passes that `match` runs)

Nothing is decided here. What is told is read off what the passes made, and `match` runs the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from augury.errors import QueryError
from augury.explain import generated, moves, sections
from augury.explain.told import Told, told_of
from augury.explain.words import Page
from augury.pattern import Pattern
from augury.runtime.options import Options

__all__ = ["Explanation", "explain"]


class Explanation(str):
    """A text that shows itself as it is, at a prompt and in a notebook; for everything else it is a string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(pattern: Pattern, data: Any, options: Options, *, kernel: bool) -> Explanation:
    """How a query would be evaluated, with some data or without."""
    if data is None and kernel:
        raise QueryError(
            "a kernel is generated for the types of columns: explain(kernel=True) needs data or a schema",
            hint="pass a table, or its pyarrow.Schema",
        )
    told = told_of(pattern, data, options, kernel=kernel)
    page = Page()
    for section in _sections(told, kernel=kernel):
        section(told, page)
    return Explanation(page.text())


def _sections(told: Told, *, kernel: bool) -> list[Callable[[Told, Page], None]]:
    """What is told, in order."""
    generates = told.choice.engine.generates
    every: list[Callable[[Told, Page], None]] = [
        sections.query,
        sections.plan,
        moves.automaton,
        moves.predicates,
    ]
    if generates:
        every.append(sections.memory)
    every += [sections.partitions, sections.negation, sections.output, sections.slices]
    if generates:
        every.append(sections.compiling)
    if kernel:
        every.append(generated.kernel)
    return every
