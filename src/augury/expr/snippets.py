"""Pieces of Python source: how tightly they bind, what their opposites are, and chains of `and` and `or`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Code(NamedTuple):
    """A snippet and how tightly its outermost operator binds."""

    text: str
    level: int
    parts: tuple[Code, ...] = ()  # of a chain of `and` or `or`


class Test(NamedTuple):
    """A test and its opposite."""

    yes: Code
    no: Code


class Val(NamedTuple):
    """A value, and the tests one of which is true where it is null."""

    code: Code
    nulls: tuple[Test, ...] = ()


CHOICE, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, PRIMARY = range(9)

TRUE, FALSE = Code("True", PRIMARY), Code("False", PRIMARY)
ALWAYS = Test(TRUE, FALSE)

# What reads a place and no more, so that it may be repeated.
SHORT = re.compile(r"-?[A-Za-z_0-9.]+(e[-+]\d+)?(\[(\w|[-+* ]|\[[\w+-]*\])*\])*", re.ASCII)


def given(text: str) -> Code:
    """A snippet that the kernel's maker wrote."""
    return Code(text, PRIMARY if SHORT.fullmatch(text) else CHOICE)


def at_least(code: Code, level: int) -> str:
    return code.text if code.level >= level else f"({code.text})"


def called(fn: str, *args: str) -> Code:
    return Code(f"{fn}({', '.join(args)})", PRIMARY)


def decided(yes: Code) -> Test:
    """A test and its plain negation."""
    if yes in (TRUE, FALSE):
        return Test(yes, FALSE if yes == TRUE else TRUE)
    return Test(yes, Code(f"not {at_least(yes, NOT)}", NOT))


def never_known() -> tuple[Test, tuple[Test, ...]]:
    return Test(FALSE, FALSE), (ALWAYS,)


def all_of(parts: Iterable[Code]) -> Code:
    return _joined(list(parts), " and ", AND, TRUE, FALSE)


def any_of(parts: Iterable[Code]) -> Code:
    return _joined(list(parts), " or ", OR, FALSE, TRUE)


def _joined(parts: list[Code], word: str, level: int, neutral: Code, decisive: Code) -> Code:
    """A chain, in which nothing is tested again."""
    if decisive in parts:
        return decisive
    flat = (inner for part in parts for inner in (part.parts if part.level == level else (part,)))
    parts = list(dict.fromkeys(part for part in flat if part != neutral))
    if len(parts) < 2:
        return parts[0] if parts else neutral
    return Code(word.join(at_least(p, level) for p in parts), level, tuple(parts))


def merged(*nulls: tuple[Test, ...]) -> tuple[Test, ...]:
    """All tests, each once, in their order."""
    return tuple(dict.fromkeys(test for tests in nulls for test in tests))
