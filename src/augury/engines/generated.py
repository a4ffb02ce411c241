"""What a generated kernel is, and what of it is chosen when it is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from augury.errors import one_line
from augury.pattern import Part, Pattern, text_of_part
from augury.plan.registers import Register


@dataclass(frozen=True, slots=True)
class Array:
    """A growing array of the kernel: of a state's runs, or of the runs that take the event at hand."""

    name: str
    state: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Source:
    """A generated kernel: its text, and the arrays that it works on.

    The text holds nothing that a user wrote. What it was made of is told beside it, by `words`.
    """

    text: str
    columns: tuple[tuple[str, int, bool], ...]  # (name, derived column, whether it is the null mask)
    arrays: tuple[Array, ...]
    bits: tuple[int, ...]  # by arc: its place in the masks, -1 for none
    constants: tuple[str, ...]  # what the expressions read besides
    registers: tuple[Register, ...]  # by their numbers
    origins: tuple[tuple[Part, ...], ...]  # by line of the text: what of the pattern it was written for

    @property
    def length(self) -> int:
        """Its lines."""
        return len(self.origins)

    def words(self, pattern: Pattern) -> list[str]:
        """By line of the text: what the query says there."""
        said = {
            origin: one_line("; ".join(filter(None, (text_of_part(pattern, part) for part in origin))))
            for origin in set(self.origins)
        }
        return [said[origin] for origin in self.origins]


WORD = 64  # arcs of one mask


def masks_of(bits: Sequence[int]) -> list[str]:
    """The numbers of an event's masks, as they end in names: of the first "", then "1" and so on."""
    return [str(word or "") for word in range(max(bits) // WORD + 1)]


def allows(bits: Iterable[int]) -> str:
    """The condition that the event at hand is one for any of these bits."""
    found: dict[int, int] = {}
    for bit in sorted(bits):
        word, place = divmod(bit, WORD)
        found[word] = found.get(word, 0) | 1 << place
    return " or ".join(f"m{word or ''} & {those}" for word, those in found.items())


def split_by_word(bits: Sequence[int]) -> Iterator[tuple[range, int]]:
    """For each mask the bits that it holds, and of how many bytes it is."""
    many = max(bits) + 1
    for first in range(0, many, WORD):
        held = range(first, min(first + WORD, many))
        yield held, next(n for n in (1, 2, 4, 8) if len(held) <= 8 * n)


@dataclass(frozen=True, slots=True)
class Options:
    """What of a plan's kernel is chosen when it is run."""

    windowed: bool
    counting: bool = False
    wide: bool = False  # counts of three words
    clear: bool = False  # a completed match ends all runs of its partition
    apart: bool = False  # runs of different first events are never merged: a root knows its matches' start
    bounded: bool = False  # absences bound the first events of the matches that an event completes
    profile: bool = False
    keeps: bool = False  # says of each partition which events runs that go on may have begun with
