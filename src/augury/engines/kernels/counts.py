"""Histories as counts: how many matches a run stands for, by their first event.

A row has one number for each first event that is still in the window: how many matches begin there or later. So
the number at the window's edge is all of them, and when the window moves nothing is taken off anywhere.

    first events   starts[z] for z in head .. tail, ascending
    row r          place[r] is UNIT: one match for each z in first[r] .. beyond[r], and no number is stored
                   else words[place[r] + z] for z in first[r] .. beyond[r]; first[r] <= head, beyond it is 0

A number is one word as long as all are small. A wide one is two words of 63 bits, which hold it up to multiples
of 2**126, and about how large it is, as a double: numbers are only ever added, so it is right but for some
roundings, and tells the multiple. Decimal columns end at 10**38, of which that is about the half.
"""

from __future__ import annotations

from typing import Any

Ints = Any

UNIT = -(1 << 40)
MASK = (1 << 63) - 1


def pack_rows(
    rows: Ints, head: int, first: Ints, beyond: Ints, place: Ints, new_first: Ints, new_beyond: Ints, new_place: Ints
) -> int:  # fmt: skip
    """Places for rows `rows`, one after another, first events before `head` left out; returns where they end."""
    used = 0
    for to in range(len(rows)):
        row = rows[to]
        begin = max(first[row], head)
        end = max(beyond[row], begin)
        new_first[to] = begin - head
        new_beyond[to] = end - head
        if place[row] == UNIT:
            new_place[to] = UNIT
        else:
            new_place[to] = used - new_first[to]
            used += end - begin
    return used


def pack_words(
    rows: Ints, head: int, place: Ints, words: Ints, new_first: Ints, new_beyond: Ints, new_place: Ints, new_words: Ints
) -> None:  # fmt: skip
    """One word of every number, to its new place."""
    for to in range(len(rows)):
        of = place[rows[to]]
        if of != UNIT:
            of += head
            at = new_place[to]
            for z in range(new_first[to], new_beyond[to]):
                new_words[at + z] = words[of + z]
