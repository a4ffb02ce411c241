"""A writer of Python source: lines, and indentation by `with`.

It remembers for each line which part of the pattern it was written for. That is kept beside the text, and never in
it: what a user wrote becomes no part of a source that is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from augury.pattern import Part


class Writer:
    """Collects lines; `with w.block("if x:"):` indents what follows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.origins: list[tuple[Part, ...]] = []  # of each line
        self.depth = 0
        self._origin: tuple[Part, ...] = ()

    def __call__(self, *lines: str) -> None:
        self.lines.extend("    " * self.depth + line for line in lines)
        self.origins.extend([self._origin] * len(lines))

    @contextmanager
    def about(self, *parts: Part) -> Iterator[None]:
        """The lines in it are written for these parts of the pattern; for those around it if there are none."""
        around = self._origin
        self._origin = parts or around
        yield
        self._origin = around

    @contextmanager
    def block(self, head: str, *parts: Part) -> Iterator[None]:
        """An indented block; its head is written for these parts of the pattern."""
        around = self._origin
        self._origin = parts or around
        self(head)
        self._origin = around
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self("pass")
        self.depth -= 1

    @contextmanager
    def maybe(self, condition: str, *parts: Part) -> Iterator[None]:
        """`if condition:`, or nothing where it is always true."""
        if condition == "True":
            yield
        else:
            with self.block(f"if {condition}:", *parts):
                yield

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def conjunction(conditions: Iterable[str]) -> str:
    """All of them, as a condition."""
    parts = [c for c in conditions if c != "True"]
    if not parts:
        return "True"
    return parts[0] if len(parts) == 1 else " and ".join(f"({p})" for p in parts)
