"""An automaton as its author drew it: `Machine`, where the builder ends; and `Ready`, one that has met its data.

    builder ─> Machine ─ ready(columns, roles) ─> Ready ─┬─ semantics.afa: the definition
                                                         └─ plan.slots ─> engines.afa

In guards and updates `Attr("e", ONE, x)` is an attribute of the event at hand, `Attr("r", ONE, x)` a register.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import pyarrow as pa

from augury.errors import QueryError, Span, locating
from augury.expr.check import check, check_condition, missing
from augury.expr.constants import physical
from augury.expr.printing import quoted
from augury.expr.tree import Attr, Cast, Expr, Literal, Name, typed, walk
from augury.expr.types import INT64_MAX, INT64_MIN, INTEGERS, Kind, Type
from augury.schema import Columns, Roles
from augury.time import Window, instants

EVENT, REGISTER = "e", "r"
RESERVED = ("valid_from", "valid_to", "events", "op")
ENDLESS = 4096
"""ε moves after one event from which on a cycle is taken to have no end: its registers never repeat."""


class Takes(Enum):
    """What sets an arc off."""

    EVENT = "an event"
    EPSILON = "nothing"
    WINDOW_END = "the end of the window"


@dataclass(frozen=True, slots=True)
class Written:
    """An expression, and the text that it was written in, if it was, for errors to point into."""

    expr: Expr
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Move:
    """An arc: `[low, high)` is its lifetime, in values of the time column; None is without an end."""

    id: str
    source: str
    target: str
    takes: Takes
    when: Written | None = None
    updates: tuple[tuple[str, Written], ...] = ()
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class Machine:
    """An automaton. Registers come with their initial values; names are the author's."""

    start: str
    final: tuple[str, ...]
    registers: tuple[tuple[str, Any], ...]
    moves: tuple[Move, ...]
    within: Window | None = None


# ------------------------------------------------------------------ with types


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    type: Type
    initial: Any  # in its physical form


@dataclass(frozen=True, slots=True)
class Arc:
    """A move with types: states are numbers, `updates` has one expression for each register, None where it is kept."""

    id: str
    source: int
    target: int
    takes: Takes
    when: Expr | None
    updates: tuple[Expr | None, ...]
    low: int = INT64_MIN  # events of these times take it: low <= time < high, in instants
    high: int | None = None

    def lives_at(self, time: int) -> bool:
        return self.low <= time and (self.high is None or time < self.high)


@dataclass(frozen=True, slots=True)
class Ready:
    """An automaton that fits its data. State 0 is the start."""

    machine: Machine
    columns: Columns
    roles: Roles
    window: int | None  # W in instants
    states: tuple[str, ...]
    final: frozenset[int]
    registers: tuple[Register, ...]
    arcs: tuple[Arc, ...]
    sequence: str | None = None  # the column whose numbers give the order

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns make up an event."""
        return tuple(self.columns.types)

    @property
    def initial(self) -> tuple[Any, ...]:
        return tuple(r.initial for r in self.registers)


def registers_of(given: Iterable[tuple[str, Any]]) -> tuple[Register, ...]:
    """The registers with the types of their initial values."""
    found = []
    for name, value in given:
        initial, kind = physical(value)
        assert kind is not None, f"the builder lets no {type(value)} through"
        if kind.kind is Kind.TIMESTAMP and getattr(value, "tzinfo", None) is not None:
            kind = Type(Kind.TIMESTAMP, arrow=pa.timestamp("us", tz="UTC"))
        if kind.kind is Kind.INT and not INT64_MIN <= initial <= INT64_MAX:
            kind = Type(Kind.UINT, arrow=pa.uint64())
        if kind.kind is Kind.DECIMAL:  # a register holds whatever decimals come
            kind = Type(Kind.DECIMAL, arrow=pa.decimal256(76, 38))
        found.append(Register(name, kind, initial))
    return tuple(found)


def ready(machine: Machine, columns: Columns, roles: Roles, sequence: str | None = None) -> Ready:
    """Check the automaton against the columns."""
    registers = registers_of(machine.registers)
    for r in registers:
        if r.name in roles.key:
            raise QueryError(
                f"the register {quoted(r.name)} is named like a key column", hint="give it another name"
            )
    window = None
    if machine.within is not None:
        window = instants(machine.within, columns.types[roles.time], roles.time)
    if sequence is not None and columns.type_of(sequence, "sequence column").kind not in INTEGERS:
        raise QueryError(
            f"the sequence column {quoted(sequence)} is {columns.types[sequence].named}",
            hint="sequence= names a column of integers without gaps",
        )
    result = Ready(machine, columns, roles, window, (machine.start,), frozenset(), registers, (), sequence)
    return with_moves(result, machine.moves, machine.final)


def with_moves(query: Ready, moves: Iterable[Move], final: Iterable[str] = ()) -> Ready:
    """The automaton with more arcs, and more final states."""
    states = {name: n for n, name in enumerate(query.states)}
    for name in final:
        states.setdefault(name, len(states))
    arcs = list(query.arcs)
    for move in moves:
        for name in (move.source, move.target):
            states.setdefault(name, len(states))
        arcs.append(_arc(move, states, query))
    return replace(
        query,
        states=tuple(states),
        final=query.final | {states[name] for name in final},
        arcs=tuple(arcs),
    )


def _arc(move: Move, states: dict[str, int], query: Ready) -> Arc:
    when = None
    if move.when is not None:
        with locating(move.when.text):
            when = check_condition(move.when.expr, type_of(query.columns, query.registers))
    updates: dict[str, Expr] = {}
    for name, written in move.updates:
        register = next(r for r in query.registers if r.name == name)
        with locating(written.text):
            updates[name] = assigned(
                check(written.expr, type_of(query.columns, query.registers)), register, move.id
            )
    time = query.columns.types[query.roles.time]
    low, high = (instant_of(end, time, query.roles.time) for end in (move.low, move.high))
    return Arc(
        move.id,
        states[move.source],
        states[move.target],
        move.takes,
        when,
        tuple(updates.get(r.name) for r in query.registers),
        INT64_MIN if low is None else low,
        high,
    )


def type_of(columns: Columns | None, registers: Iterable[Register]) -> Any:
    """What a reference of a guard or update is; without columns an attribute is an error of the caller."""
    types = {r.name: r.type for r in registers}

    def found(node: Attr | Name) -> Type:
        assert isinstance(node, Attr)
        if node.var == REGISTER:
            if node.name not in types:
                message, hint = missing("register", node.name, types)
                raise QueryError(message, span=node.span, hint=hint)
            return types[node.name]
        assert columns is not None
        if node.name not in columns.types:
            message, hint = missing("attribute", node.name, columns.types)
            if node.name in types:
                hint = f"a register is written r.{quoted(node.name)}; {hint}"
            raise QueryError(message, span=node.span, hint=hint)
        return columns.types[node.name]

    return found


_WIDENED = {
    (Kind.INT, Kind.FLOAT),
    (Kind.UINT, Kind.FLOAT),
    (Kind.DECIMAL, Kind.FLOAT),
    (Kind.UINT, Kind.INT),
    (Kind.INT, Kind.DECIMAL),
    (Kind.UINT, Kind.DECIMAL),
    (Kind.DATE, Kind.TIMESTAMP),
}


def assigned(expr: Expr, register: Register, arc: str) -> Expr:
    """An update's expression in the register's type."""
    found, wanted = typed(expr), register.type
    if found.kind is wanted.kind:
        return expr
    if found.kind is Kind.NULL:
        return Literal("constant", None, span=expr.span, type=wanted)
    if (found.kind, wanted.kind) in _WIDENED:
        return Cast(expr, span=expr.span, type=wanted)
    raise unassignable(found, register, arc, expr.span)


def unassignable(found: Type, register: Register, arc: str, span: Span | None) -> QueryError:
    hint = f"a register's type is its initial value's: {quoted(register.name)} is {register.type.named}"
    if found.kind is Kind.FLOAT and register.type.kind in INTEGERS:
        hint = f"start the register at {register.initial}.0"
    return QueryError(
        f"the arc {quoted(arc)} assigns {found.named} to the register {quoted(register.name)}, "
        f"which is {register.type.named}",
        span=span,
        hint=hint,
    )


def instant_of(value: Any, time: Type, column: str) -> int | None:
    """The end of a lifetime as an instant of the time column."""
    if value is None:
        return None
    found, kind = physical(value)
    match kind.kind if kind is not None else None:
        case Kind.INT if time.kind in INTEGERS:
            return int(found)
        case Kind.DATE if time.kind is Kind.DATE:
            return int(found)
        case Kind.TIMESTAMP if time.kind is Kind.TIMESTAMP:
            return int(found)
        case Kind.DATE if time.kind is Kind.TIMESTAMP:
            return physical(dt.datetime.combine(value, dt.time()))[0]  # type: ignore[no-any-return]
    raise QueryError(
        f"a lifetime has the end {value!r}, and the time column {quoted(column)} is {time.named}",
        hint="an arc's lifetime is a pair of values of the time column's type, None where it has no end",
    )


def names_event(expr: Expr) -> Attr | None:
    """An attribute of the event that is named in it, if there is one."""
    return next((n for n in walk(expr) if isinstance(n, Attr) and n.var == EVENT), None)
