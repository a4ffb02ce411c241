"""Histories as counts: how many matches a run stands for, by their first event.

A row has one number for each first event that is still in the window, and their total. An event that leaves
the window is taken off every total, so counting costs no walk and no enumeration.

    first events   starts[z] for z in head .. tail, ascending
    row r          words[base[r] + z - first[r]] for z in first[r] .. beyond[r]; elsewhere it is 0
                   totals[r] is their sum over z in head .. tail

A number is one word as long as all are small. Wide numbers are three words of 60 bits; one of 2**140 or more is
only known to be large (SAT in its third word), and totals say in a fourth word how many of theirs are. Decimal
columns end at 10**38, long before. Shifts round down, so a borrow is carried as a carry is. No function calls
another: each is compiled by itself.
"""

from __future__ import annotations

from typing import Any

Ints = Any

MASK = (1 << 60) - 1
LARGE = 1 << 20  # in the third word: 2**140
SAT = 1 << 40


def add_word(total: Ints, row: int, w0: Ints, w1: Ints, w2: Ints, to: int, of: int) -> None:
    """Add the number at `of` to the one at `to`, and to the row's total; the two may be one."""
    x = w2[of]
    y = w2[to]
    if y == SAT:
        return
    s0 = w0[to] + w0[of]
    s1 = w1[to] + w1[of] + (s0 >> 60)
    s2 = y + x + (s1 >> 60)
    if s2 >= LARGE:
        total[4 * row] -= w0[to]
        total[4 * row + 1] -= w1[to]
        total[4 * row + 2] -= y
        total[4 * row + 3] += 1
        w0[to] = 0
        w1[to] = 0
        w2[to] = SAT
    else:
        total[4 * row] += w0[of]
        total[4 * row + 1] += w1[of]
        total[4 * row + 2] += x
        w0[to] = s0 & MASK
        w1[to] = s1 & MASK
        w2[to] = s2


def carry(total: Ints, at: int) -> None:
    """Words of 60 bits again, after a sum or a difference of them."""
    over = total[at] >> 60
    total[at] &= MASK
    total[at + 1] += over
    over = total[at + 1] >> 60
    total[at + 1] &= MASK
    total[at + 2] += over


def take_off(total: Ints, row: int, w0: Ints, w1: Ints, w2: Ints, of: int) -> None:
    """A first event has left the window: its number is no part of the total."""
    if w2[of] == SAT:
        total[4 * row + 3] -= 1
        return
    at = 4 * row
    total[at] -= w0[of]
    total[at + 1] -= w1[of]
    total[at + 2] -= w2[of]
    over = total[at] >> 60
    total[at] &= MASK
    total[at + 1] += over
    over = total[at + 1] >> 60
    total[at + 1] &= MASK
    total[at + 2] += over


def add_total(done: Ints, total: Ints, row: int) -> None:
    """The matches that a row stands for complete now."""
    done[3] += total[4 * row + 3]
    done[0] += total[4 * row]
    done[1] += total[4 * row + 1]
    done[2] += total[4 * row + 2]
    over = done[0] >> 60
    done[0] &= MASK
    done[1] += over
    over = done[1] >> 60
    done[1] &= MASK
    done[2] += over


def add_number(done: Ints, w0: Ints, w1: Ints, w2: Ints, of: int) -> None:
    """The matches of one first event complete now."""
    if w2[of] == SAT:
        done[3] += 1
        return
    done[0] += w0[of]
    done[1] += w1[of]
    done[2] += w2[of]
    over = done[0] >> 60
    done[0] &= MASK
    done[1] += over
    over = done[1] >> 60
    done[1] &= MASK
    done[2] += over


def pack_rows(
    rows: Ints, head: int, first: Ints, beyond: Ints, new_base: Ints, new_first: Ints, new_beyond: Ints
) -> int:
    """Places for rows `rows`, one after another, first events before `head` left out; returns where they end."""
    used = 0
    for to in range(len(rows)):
        row = rows[to]
        begin = max(first[row], head)
        end = max(beyond[row], begin)
        new_base[to] = used
        new_first[to] = begin - head
        new_beyond[to] = end - head
        used += end - begin
    return used


def pack_words(
    rows: Ints, head: int, base: Ints, first: Ints, words: Ints, new_base: Ints, new_first: Ints, new_beyond: Ints,
    new_words: Ints,
) -> None:  # fmt: skip
    """One word of every number, to its new place."""
    for to in range(len(rows)):
        row = rows[to]
        at = new_base[to] - new_first[to]
        of = base[row] - first[row] + head
        for z in range(new_first[to], new_beyond[to]):
            new_words[at + z] = words[of + z]
