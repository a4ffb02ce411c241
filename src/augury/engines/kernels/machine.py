"""What depends on a run and an event, as data: programs of three-address instructions over words and nulls.

An instruction is (operation, target, x, y); targets are temporaries, and the last one is the program's value. Null is a
flag beside each word. AND, OR and NOT are SQL's; no instruction can fail, so that all are executed.
"""

from __future__ import annotations

from typing import Any

from augury.engines.kernels.network import as_float, as_word, compared
from augury.expr.scalars import (
    add_overflows,
    float_remainder,
    multiply_overflows,
    remainder,
    subtract_overflows,
)

LOAD_EVENT, LOAD_RUN, LOAD_CONSTANT, LOAD_DURATION = range(4)
COMPARE = 10  # + the comparison: 10 to 15 of integers, 18 to 23 of doubles
AND, OR, NOT, IS_NULL = range(30, 34)
ADD, SUBTRACT, MULTIPLY, REMAINDER, NEGATE, ABSOLUTE = range(40, 46)
FLOAT_ADD, FLOAT_SUBTRACT, FLOAT_MULTIPLY, FLOAT_DIVIDE, FLOAT_REMAINDER, FLOAT_NEGATE, FLOAT_ABSOLUTE = (
    range(50, 57)
)
TO_FLOAT, COALESCE, LEAST, GREATEST, FLOAT_LEAST, FLOAT_GREATEST = range(60, 66)

_LEAST_WORD = -0x8000000000000000


def program(p: int, k: int, e: int, ev: Any, au: Any, st: Any) -> tuple[int, bool]:
    """The value of a program for a run (or none, -1) and an event: its word, and whether it is null."""
    start = ev.start[e] if k < 0 else st.start[k]
    return machine(
        au.program_start[p],
        au.program_end[p],
        au.code,
        au.constants,
        au.constant_null,
        st.words,
        st.nulls,
        ev.words,
        ev.nulls,
        e * au.width,
        st.regs,
        st.null,
        k * au.registers,
        start,
        ev.end[e],
        au.unit,
    )


def machine(
    first: int,
    last: int,
    code: Any,
    constants: Any,
    constant_null: Any,
    words: Any,
    nulls: Any,
    event: Any,
    event_null: Any,
    e: int,
    regs: Any,
    null_of: Any,
    k: int,
    start: int,
    end: int,
    unit: int,
) -> tuple[int, bool]:
    """Executes instructions. It is told what it reads one by one: passing all tables costs more than a short program."""
    target = 0
    for i in range(first, last):
        op = code[4 * i]
        target = code[4 * i + 1]
        x = code[4 * i + 2]
        y = code[4 * i + 3]
        if op == 0:
            words[target] = event[e + x]
            nulls[target] = event_null[e + x]
        elif op == 1:
            words[target] = regs[k + x]
            nulls[target] = null_of[k + x]
        elif op == 2:
            words[target] = constants[x]
            nulls[target] = constant_null[x]
        elif op == 3:
            bad = subtract_overflows(end, start)
            span = 0 if bad else end - start
            bad = bad or add_overflows(span, 1)
            span = 0 if bad else span + 1
            bad = bad or multiply_overflows(span, unit)
            words[target] = 0 if bad else span * unit
            nulls[target] = bad
        elif op < 30:
            null = nulls[x] or nulls[y]
            nulls[target] = null
            words[target] = 0 if null else compared(op - 10, words[x], words[y])
        elif op == 30:
            false = (not nulls[x] and words[x] == 0) or (not nulls[y] and words[y] == 0)
            nulls[target] = not false and (nulls[x] or nulls[y])
            words[target] = not false
        elif op == 31:
            true = (not nulls[x] and words[x] != 0) or (not nulls[y] and words[y] != 0)
            nulls[target] = not true and (nulls[x] or nulls[y])
            words[target] = true
        elif op == 32:
            nulls[target] = nulls[x]
            words[target] = words[x] == 0
        elif op == 33:
            words[target] = nulls[x] != 0
            nulls[target] = 0
        elif op < 50:
            _integers(op, target, x, y, words, nulls)
        elif op < 60:
            _doubles(op, target, x, y, words, nulls)
        else:
            _choices(op, target, x, y, words, nulls)
    return words[target], nulls[target] != 0


def _integers(op: int, target: int, x: int, y: int, words: Any, nulls: Any) -> None:
    u = words[x]
    v = words[y]
    null = nulls[x] != 0
    value = 0
    if op >= 44:
        null = null or u == _LEAST_WORD
        if not null:
            value = -u if op == 44 or u < 0 else u
    else:
        null = null or nulls[y] != 0
        if op == 40:
            null = null or add_overflows(u, v)
            if not null:
                value = u + v
        elif op == 41:
            null = null or subtract_overflows(u, v)
            if not null:
                value = u - v
        elif op == 42:
            null = null or multiply_overflows(u, v)
            if not null:
                value = u * v
        else:
            null = null or v == 0
            if not null:
                value = remainder(u, v)
    words[target] = value
    nulls[target] = null


def _doubles(op: int, target: int, x: int, y: int, words: Any, nulls: Any) -> None:
    null = nulls[x] != 0
    value = 0.0
    if op >= 55:
        if not null:
            value = as_float(words[x])
            value = -value if op == 55 else abs(value)
    else:
        null = null or nulls[y] != 0
        if not null:
            u = as_float(words[x])
            v = as_float(words[y])
            if op == 50:
                value = u + v
            elif op == 51:
                value = u - v
            elif op == 52:
                value = u * v
            elif v == 0.0:
                null = True
            elif op == 53:
                value = u / v
            else:
                value = float_remainder(u, v)
    words[target] = as_word(value if value == value else as_float(0x7FF8000000000000))
    nulls[target] = null


def _choices(op: int, target: int, x: int, y: int, words: Any, nulls: Any) -> None:
    if op == 60:
        nulls[target] = nulls[x]
        words[target] = as_word(float(words[x]))
        return
    first = nulls[y] != 0
    if op == 61:
        first = nulls[x] == 0
    elif not first and nulls[x] == 0:
        u = words[x]
        v = words[y]
        if op == 62:
            first = u <= v
        elif op == 63:
            first = u >= v
        else:  # NaN is above all
            a = as_float(u)
            b = as_float(v)
            first = (a <= b or b != b) if op == 64 else (a >= b or a != a)
    at = x if first else y
    words[target] = words[at]
    nulls[target] = nulls[at]


FUNCTIONS = ("_integers", "_doubles", "_choices", "machine", "program")
HELPERS = (add_overflows, subtract_overflows, multiply_overflows, remainder, float_remainder)
