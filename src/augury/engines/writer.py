"""A writer of Python source: lines, and indentation by `with`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Writer:
    """Collects lines; `with w.block("if x:"):` indents what follows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def __call__(self, *lines: str) -> None:
        self.lines.extend("    " * self.depth + line for line in lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self("pass")
        self.depth -= 1

    @contextmanager
    def maybe(self, condition: str) -> Iterator[None]:
        """`if condition:`, or nothing where it is always true."""
        if condition == "True":
            yield
        else:
            with self.block(f"if {condition}:"):
                yield

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def conjunction(conditions: Iterable[str]) -> str:
    """All of them, as a condition."""
    parts = [c for c in conditions if c != "True"]
    if not parts:
        return "True"
    return parts[0] if len(parts) == 1 else " and ".join(f"({p})" for p in parts)
