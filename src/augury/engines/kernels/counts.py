"""Histories as counts: how many matches a run stands for, by their first event.

A row has one number for each first event that is still in the window, and their total. An event that leaves
the window is taken off every total, so counting costs no walk and no enumeration. Numbers are three words of
60 bits; one of 2**140 or more is only known to be large (`sat`), and so is a total that holds one. Decimal
columns end at 10**38, long before. Shifts round down, so a borrow is carried as a carry is. No function calls
another: each is compiled by itself.

    first events   starts[z] for z in head .. tail, ascending
    row r          words w0, w1, w2 at r * width + z, for z in low[r] .. high[r]; elsewhere it is 0
                   total t0, t1, t2 of what is not large, and `large` many that are
"""

from __future__ import annotations

from typing import Any

Ints = Any

MASK = (1 << 60) - 1
LARGE = 1 << 20  # in the third word: 2**140
SAT = 1 << 40  # marks a number that is only known to be large


def new_row(
    row: int, z: int, width: int, w0: Ints, w1: Ints, w2: Ints, low: Ints, high: Ints, total: Ints
) -> None:
    """One match, whose first event is z."""
    w0[row * width + z] = 1
    w1[row * width + z] = 0
    w2[row * width + z] = 0
    low[row] = z
    high[row] = z + 1
    total[4 * row] = 1
    total[4 * row + 1] = 0
    total[4 * row + 2] = 0
    total[4 * row + 3] = 0


def copy_row(
    row: int,
    other: int,
    head: int,
    width: int,
    w0: Ints,
    w1: Ints,
    w2: Ints,
    low: Ints,
    high: Ints,
    total: Ints,
) -> None:
    begin = low[other]
    begin = max(begin, head)
    end = high[other]
    a = row * width
    b = other * width
    for z in range(begin, end):
        w0[a + z] = w0[b + z]
        w1[a + z] = w1[b + z]
        w2[a + z] = w2[b + z]
    low[row] = begin
    high[row] = end
    for k in range(4):
        total[4 * row + k] = total[4 * other + k]


def add_row(
    row: int,
    other: int,
    head: int,
    width: int,
    w0: Ints,
    w1: Ints,
    w2: Ints,
    low: Ints,
    high: Ints,
    total: Ints,
) -> None:
    """The matches of another row added; the two may be one row."""
    begin = low[other]
    begin = max(begin, head)
    end = high[other]
    if begin >= end:
        return
    low[row] = max(low[row], head)
    a = row * width
    b = other * width
    if low[row] >= high[row]:
        low[row] = begin
        high[row] = begin
    while low[row] > begin:
        low[row] -= 1
        w0[a + low[row]] = 0
        w1[a + low[row]] = 0
        w2[a + low[row]] = 0
    while high[row] < end:
        w0[a + high[row]] = 0
        w1[a + high[row]] = 0
        w2[a + high[row]] = 0
        high[row] += 1
    for z in range(begin, end):
        x = w2[b + z]
        y = w2[a + z]
        if x == SAT:
            if y != SAT:
                total[4 * row] -= w0[a + z]
                total[4 * row + 1] -= w1[a + z]
                total[4 * row + 2] -= y
                total[4 * row + 3] += 1
                w0[a + z] = 0
                w1[a + z] = 0
                w2[a + z] = SAT
        elif y != SAT:
            c0 = w0[b + z]
            c1 = w1[b + z]
            s0 = w0[a + z] + c0
            s1 = w1[a + z] + c1 + (s0 >> 60)
            s2 = y + x + (s1 >> 60)
            if s2 >= LARGE:
                total[4 * row] -= w0[a + z]
                total[4 * row + 1] -= w1[a + z]
                total[4 * row + 2] -= y
                total[4 * row + 3] += 1
                w0[a + z] = 0
                w1[a + z] = 0
                w2[a + z] = SAT
            else:
                total[4 * row] += c0
                total[4 * row + 1] += c1
                total[4 * row + 2] += x
                w0[a + z] = s0 & MASK
                w1[a + z] = s1 & MASK
                w2[a + z] = s2
    carry = total[4 * row] >> 60
    total[4 * row] &= MASK
    total[4 * row + 1] += carry
    carry = total[4 * row + 1] >> 60
    total[4 * row + 1] &= MASK
    total[4 * row + 2] += carry


def expire(
    row: int, z: int, width: int, w0: Ints, w1: Ints, w2: Ints, low: Ints, high: Ints, total: Ints
) -> None:
    """A first event has left the window."""
    if low[row] <= z < high[row]:
        at = row * width + z
        if w2[at] == SAT:
            total[4 * row + 3] -= 1
        else:
            total[4 * row] -= w0[at]
            total[4 * row + 1] -= w1[at]
            total[4 * row + 2] -= w2[at]
            carry = total[4 * row] >> 60
            total[4 * row] &= MASK
            total[4 * row + 1] += carry
            carry = total[4 * row + 1] >> 60
            total[4 * row + 1] &= MASK
            total[4 * row + 2] += carry


def add_total(done: Ints, total: Ints, row: int) -> None:
    """The matches that a row stands for complete now."""
    done[3] += total[4 * row + 3]
    done[0] += total[4 * row]
    done[1] += total[4 * row + 1]
    done[2] += total[4 * row + 2]
    carry = done[0] >> 60
    done[0] &= MASK
    done[1] += carry
    carry = done[1] >> 60
    done[1] &= MASK
    done[2] += carry


def pack_rows(
    rows: Ints,
    count: int,
    head: int,
    width: int,
    new_width: int,
    w0: Ints,
    w1: Ints,
    w2: Ints,
    low: Ints,
    high: Ints,
    total: Ints,
    n0: Ints,
    n1: Ints,
    n2: Ints,
    new_low: Ints,
    new_high: Ints,
    new_total: Ints,
) -> None:
    """Rows `rows[:count]` to the front of other arrays, first events before `head` left out."""
    for to in range(count):
        row = rows[to]
        begin = low[row]
        begin = max(begin, head)
        end = high[row]
        begin = min(begin, end)
        for z in range(begin, end):
            n0[to * new_width + z - head] = w0[row * width + z]
            n1[to * new_width + z - head] = w1[row * width + z]
            n2[to * new_width + z - head] = w2[row * width + z]
        new_low[to] = begin - head
        new_high[to] = end - head
        for k in range(4):
            new_total[4 * to + k] = total[4 * row + k]
