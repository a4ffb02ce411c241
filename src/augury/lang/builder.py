"""Arcs drawn one by one, each checked as far as it can be without data: what `ag.Automaton` is made with.

What users write, texts and lambdas, becomes one tree (`afa.Machine`). Names of a text mean: `r.x` a register,
`e.x` or a bare `x` an attribute of the event.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from augury.afa import (
    ENDLESS,
    EVENT,
    REGISTER,
    RESERVED,
    Machine,
    Move,
    Register,
    Takes,
    Written,
    assigned,
    names_event,
    type_of,
    unassignable,
)
from augury.errors import QueryError, locating
from augury.expr.check import check, check_call, check_condition, missing
from augury.expr.constants import physical
from augury.expr.interpret import interpret
from augury.expr.printing import quoted
from augury.expr.tree import (
    Agg,
    At,
    Attr,
    Binary,
    Call,
    Expr,
    Len,
    Literal,
    Name,
    Param,
    Unary,
    rewrite,
    walk,
)
from augury.expr.types import FLOAT, Kind
from augury.lang.params import canonical
from augury.lang.tracing import Term, traced, tree
from augury.time import Window

Guard = str | Callable[..., Any] | bool | Written | None
Update = Mapping[str, Any] | Callable[..., Any] | None

_FLOATS = frozenset({"sqrt", "ln", "exp", "pow", "corr"})


# ------------------------------------------------------------------ one arc


def move_of(
    takes: Takes,
    source: str,
    target: str,
    when: Guard,
    update: Update,
    name: Any,
    lifetime: tuple[Any, Any] | None,
    registers: tuple[Register, ...],
    taken: Iterable[str],
) -> Move:
    """An arc as it is written; `taken` are the ids that it must not have."""
    known = set(taken)
    arc = next(f"a{n}" for n in itertools.count(len(known)) if f"a{n}" not in known) if name is None else name
    if not isinstance(arc, str) or arc == "":
        raise QueryError(f"an arc's id is a string, not {arc!r}")
    if arc in known:
        raise QueryError(f"there is an arc {quoted(arc)} already", hint="give each arc an id of its own")
    variables = (EVENT, REGISTER) if takes is Takes.EVENT else (REGISTER,)
    guard = None if when is None or when is True else _guard(when, variables, arc)
    written = _updates(update, variables, arc)
    if guard is not None:
        _check_guard(guard, registers)
    types = {r.name: r for r in registers}
    for register, value in written:
        if register not in types:
            message, hint = missing("register", register, types)
            raise QueryError(f"the arc {quoted(arc)}: {message}", hint=hint)
        _check_update(value, types[register], registers, arc)
    low, high = _lifetime(lifetime, arc)
    return Move(arc, state_of(source), state_of(target), takes, guard, written, low, high)


def state_of(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise QueryError(f"a state is named by a string, not {name!r}", hint='write "q0", say')
    return name


def register_of(name: object, given: Any) -> tuple[str, Any]:
    if not isinstance(name, str) or not name:
        raise QueryError(f"a register is named by a string, not {name!r}", hint='write {"n": 0}, say')
    if name in RESERVED:
        raise QueryError(
            f"a register cannot be named {name}: a column of the result is", hint="give it another name"
        )
    value = canonical(name, given)
    if value is None:
        raise QueryError(
            f"the register {quoted(name)} starts as null, so it has no type",
            hint="start it at a value of the type that it will hold, such as 0 or ''",
        )
    if physical(value)[1] is None:
        raise QueryError(
            f"the register {quoted(name)} starts as a {type(given).__name__}",
            hint="a register holds a single value",
        )
    return name, value


def _guard(when: Any, variables: tuple[str, ...], arc: str) -> Written:
    if isinstance(when, Written):
        return when
    if isinstance(when, str):
        return parsed(when, variables, arc)
    found = traced(when, variables, f"the arc {quoted(arc)}") if callable(when) else when
    return Written(_meant(_numbered(tree(found)), variables, arc))


def _updates(update: Any, variables: tuple[str, ...], arc: str) -> tuple[tuple[str, Written], ...]:
    if update is None:
        return ()
    is_traced = callable(update)
    if is_traced:
        update = traced(update, variables, f"the arc {quoted(arc)}")
    if not isinstance(update, Mapping):
        raise QueryError(
            f"the arc {quoted(arc)}: an update is a dict of registers and their new values, not {type(update).__name__}",
            hint='write update={"n": "r.n + 1"} or update=lambda e, r: {"n": r.n + 1}',
        )
    found = []
    for name, value in update.items():
        if isinstance(value, Written):
            written = value
        elif isinstance(value, str) and not is_traced:
            written = parsed(value, variables, arc)
        else:
            if callable(value) and not isinstance(value, Term):
                value = traced(value, variables, f"the arc {quoted(arc)}")  # noqa: PLW2901  # the same value
            written = Written(_meant(_numbered(tree(value)), variables, arc))
        found.append((name, written))
    return tuple(found)


def _numbered(expr: Expr) -> Expr:
    """The constants of a lambda with names of their own, for when it is written as text."""
    count = itertools.count()
    return rewrite(expr, lambda n: replace(n, name=f"p{next(count)}") if isinstance(n, Param) else n)


def parsed(
    text: str, variables: tuple[str, ...], arc: str, params: Mapping[str, Any] | None = None
) -> Written:
    """An expression of an arc from its text."""
    from augury.lang.sase import parse_expression

    with locating(text):
        return Written(_meant(parse_expression(text, params), variables, arc), text)


def _meant(expr: Expr, variables: tuple[str, ...], arc: str) -> Expr:
    """The expression with every name meaning an attribute or a register."""

    def change(node: Expr) -> Expr:
        match node:
            case Name():
                return Attr(EVENT, At.ONE, node.name, span=node.span)
            case Len():
                return Attr(node.var, At.ONE, "LEN", span=node.span)
        return node

    found = rewrite(expr, change)
    for node in walk(found):
        if isinstance(node, Call):
            check_call(node)
        is_one = isinstance(node, Attr) and node.at is At.ONE and node.var in (EVENT, REGISTER)
        if isinstance(node, Agg) or (isinstance(node, Attr) and not is_one):
            raise QueryError(
                "an arc sees one event and the registers",
                span=node.span,
                hint="write e.x for the event's attribute and r.x for a register; a register can sum and count",
            )
        if isinstance(node, Attr) and node.var not in variables:
            raise QueryError(
                f"the arc {quoted(arc)} consumes no event, so it sees registers only",
                span=node.span,
                hint=f"a register is written r.{quoted(node.name)}",
            )
    return found


def _check_guard(guard: Written, registers: tuple[Register, ...]) -> None:
    with locating(guard.text):
        if names_event(guard.expr) is None:
            check_condition(guard.expr, type_of(None, registers))
        else:
            _registers_exist(guard.expr, registers)


def _registers_exist(expr: Expr, registers: tuple[Register, ...]) -> None:
    known = type_of(None, registers)
    for node in walk(expr):
        if isinstance(node, Attr) and node.var == REGISTER:
            known(node)


def _check_update(value: Written, register: Register, registers: tuple[Register, ...], arc: str) -> None:
    with locating(value.text):
        if names_event(value.expr) is None:
            assigned(check(value.expr, type_of(None, registers)), register, arc)
            return
        _registers_exist(value.expr, registers)
        if register.type.kind is Kind.INT and _is_float(value.expr, registers):
            raise unassignable(FLOAT, register, arc, value.expr.span)


def _is_float(expr: Expr, registers: tuple[Register, ...]) -> bool:
    """Whether it is a float whatever the columns' types are."""
    match expr:
        case Literal():
            return expr.kind == "number"
        case Attr(var=var, name=name) if var == REGISTER:
            return any(r.name == name and r.type.kind is Kind.FLOAT for r in registers)
        case Unary(op="-", arg=arg):
            return _is_float(arg, registers)
        case Call(fn=fn):
            return fn in _FLOATS
        case Binary(op=op, left=left, right=right) if op in "+-*/%":
            duration = any(isinstance(n, Literal) and n.kind == "duration" for n in walk(expr))
            return not duration and (op == "/" or _is_float(left, registers) or _is_float(right, registers))
        case Param(value=value):
            return isinstance(value, float)
    return False


def _lifetime(given: Any, arc: str) -> tuple[Any, Any]:
    if given is None:
        return None, None
    try:
        low, high = given
    except (TypeError, ValueError):
        raise QueryError(
            f"the arc {quoted(arc)}: a lifetime is a pair (from, to), not {given!r}",
            hint="None stands for no end: lifetime=(100, None)",
        ) from None
    low, high = (canonical("lifetime", end) for end in (low, high))
    for end in (low, high):
        if not (
            end is None or isinstance(end, dt.date) or (isinstance(end, int) and not isinstance(end, bool))
        ):
            raise QueryError(
                f"the arc {quoted(arc)}: a lifetime has the end {end!r}",
                hint="its ends are values of the time column: integers, dates or timestamps",
            )
    return low, high


def window_of(within: Any) -> Window | None:
    """A window from a number, a text or a timedelta."""
    if within is None or isinstance(within, Window):
        return within
    window = None
    if isinstance(within, str):
        from augury.lang.sase import parse_expression

        with locating(within):
            node = parse_expression(within)
            if isinstance(node, Literal) and node.kind in ("int", "number", "duration"):
                window = Window(Decimal(node.value), node.kind == "duration")  # type: ignore[arg-type]
    elif isinstance(within, dt.timedelta):
        window = Window(Decimal(within // dt.timedelta(microseconds=1)), True)
    elif isinstance(within, int | float | Decimal) and not isinstance(within, bool) and within == within:
        window = Window(Decimal(str(within)), False)
    if window is None or not window.amount.is_finite():
        raise QueryError(
            f"within={within!r} is no window", hint='write a number, "5 seconds", or a timedelta'
        )
    if window.amount <= 0:
        raise QueryError(f"within={within!r}: a window is greater than 0")
    return window


# ------------------------------------------------------------------ cycles that never end


def refuse_endless(machine: Machine, registers: tuple[Register, ...]) -> None:
    """An ε cycle without a `when` goes on for ever, unless it comes back to the registers that it had."""
    free = [m for m in machine.moves if m.takes is Takes.EPSILON and m.when is None]
    known = type_of(None, registers)
    checked = {
        m.id: {
            name: assigned(check(w.expr, known), next(r for r in registers if r.name == name), m.id)
            for name, w in m.updates
        }
        for m in free
    }
    for move in free:
        cycle = _cycle(move, free)
        if not any(m.updates for m in cycle):
            continue
        values = {r.name: r.initial for r in registers}
        seen: set[str] = set()
        while repr(values) not in seen:
            if len(seen) >= ENDLESS:
                raise QueryError(
                    f"the ε arc {quoted(move.id)} is on a cycle that never ends: no arc of it has a `when`, and its "
                    "registers never repeat",
                    hint="give one of the cycle's arcs a when",
                )
            seen.add(repr(values))
            for m in cycle:
                values = {**values, **_assigned(checked[m.id], values)}


def _assigned(updates: Mapping[str, Expr], values: Mapping[str, Any]) -> dict[str, Any]:
    """Some registers' new values, computed of the old ones."""

    def leaf(node: Attr | Len | Agg) -> Any:
        assert isinstance(node, Attr)
        return values[node.name]

    return {name: interpret(expr, leaf) for name, expr in updates.items()}


def _cycle(move: Move, among: list[Move]) -> list[Move]:
    """The arcs of a shortest way from an arc's target back to its source, that arc first; none if there is none."""
    ways: dict[str, list[Move]] = {move.target: [move]}
    waiting = [move.target]
    while waiting:
        state = waiting.pop(0)
        if state == move.source:
            return ways[state]
        for m in among:
            if m.source == state and m.target not in ways:
                ways[m.target] = [*ways[state], m]
                waiting.append(m.target)
    return []
