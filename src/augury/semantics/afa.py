"""The definition of automata: every contiguous subsequence is tried, every computation kept apart.

    stream of a key ─ each first event ─> configurations (state, registers) ─ event by event ─> output events

Plain Python with no fast path. Time complexity is no concern here; being read beside the reference is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from augury.afa import ENDLESS, EVENT, Arc, Ready, Takes
from augury.errors import QueryError
from augury.expr.columns import physical_values
from augury.expr.interpret import interpret
from augury.expr.tree import Agg, Attr, Len
from augury.semantics.sase import key_value, order_keys

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[Any, ...]


class Config(NamedTuple):
    """A state and the registers there: an instantaneous description without what is still to be read."""

    state: int
    registers: Values


class Output(NamedTuple):
    """An output event. `first` and `last` are positions in the ordered table."""

    first: int
    last: int
    registers: Values
    valid_from: int
    valid_to: int | None


def stream_order(table: pa.Table, query: Ready) -> list[int]:
    """Rows in stream order: time, tiebreak, then all other columns; or by sequence number."""
    roles = query.roles
    leading = [roles.time, *roles.tiebreak] if query.sequence is None else [query.sequence]
    names = list(dict.fromkeys([*leading, *query.reads]))
    keys = [order_keys(table.column(name)) for name in names]
    return sorted(
        range(table.num_rows), key=lambda row: ([k[row][0] for k in keys], [k[row][1] for k in keys])
    )


def streams(table: pa.Table, query: Ready) -> list[list[int]]:
    """The rows of each key, in the table's order."""
    values = [physical_values(table.column(n), query.columns.types[n]) for n in query.roles.key]
    parts: dict[Values, list[int]] = {}
    for row in range(table.num_rows):
        parts.setdefault(tuple(key_value(v[row]) for v in values), []).append(row)
    return list(parts.values())


def outputs(
    table: pa.Table, query: Ready, frontier: int | None = None, *, ended: bool = True
) -> list[Output]:
    """All output events on an ordered table.

    `window_end` arcs are taken where the window has passed: before `frontier`, or anywhere if the stream has ended.
    """
    values = {n: physical_values(table.column(n), query.columns.types[n]) for n in query.reads}
    found: list[Output] = []
    for rows in streams(table, query):
        for first in range(len(rows)):
            found.extend(_from(rows[first:], values, query, frontier, ended=ended))
    return found


def _from(
    rows: Sequence[int],
    values: dict[str, list[Any]],
    query: Ready,
    frontier: int | None,
    *,
    ended: bool,
) -> Iterator[Output]:
    """The output events of all subsequences that begin with the first of these events."""
    times = [values[query.roles.time][row] for row in rows]
    configs = closure({Config(0, query.initial)}, query, times[0])
    for at, row in enumerate(rows):
        if at and is_gap(values, query, rows[at - 1], row):
            return
        end = lifetime_end(times[: at + 1], query)
        if end is not None and times_in(times[: at + 1])[1] >= end:
            return
        configs = closure(step(configs, query, values, row, times[at]), query, times[at])
        if not configs:
            return
        last = times_in(times[: at + 1])[1]
        accepted = distinct(c.registers for c in configs if c.state in query.final)
        yield from (Output(rows[0], row, registers, last, end) for registers in accepted)
        if end is not None and (ended or (frontier is not None and end <= frontier)):
            following = times[at + 1] if at + 1 < len(times) else None
            if following is None or following >= end:
                ends = at_window_end(configs, query, end - 1)
                for registers in distinct(c.registers for c in ends if c.state in query.final):
                    if last != end - 1 or not contains(accepted, registers):
                        yield Output(rows[0], row, registers, end - 1, end)


def times_in(times: Sequence[int]) -> tuple[int, int]:
    """The earliest and the latest: sequence numbers may give an order that is not that of time."""
    return min(times), max(times)


def lifetime_end(times: Sequence[int], query: Ready) -> int | None:
    """Where the first of the events' lifetimes ends."""
    return None if query.window is None else times_in(times)[0] + query.window


def is_gap(values: dict[str, list[Any]], query: Ready, before: int, row: int) -> bool:
    """Whether events are missing between two neighbours, as their numbers tell."""
    if query.sequence is None:
        return False
    numbers = values[query.sequence]
    return numbers[row] is None or numbers[before] is None or numbers[row] != numbers[before] + 1


def step(
    configs: Iterable[Config], query: Ready, values: dict[str, list[Any]], row: int, time: int
) -> set[Config]:
    """The event is consumed along every arc that it may take."""
    return {
        Config(arc.target, updated(arc, c.registers, query, values, row))
        for c in configs
        for arc in query.arcs
        if arc.takes is Takes.EVENT
        and arc.source == c.state
        and arc.lives_at(time)
        and holds(arc, c.registers, query, values, row)
    }


def closure(
    configs: set[Config], query: Ready, time: int, kinds: Sequence[Takes] = (Takes.EPSILON,)
) -> set[Config]:
    """All that is reached without consuming an event; `time` is that of the event that set it off."""
    reached, waiting = {_token(c): c for c in configs}, list(configs)
    made = 0
    while waiting:
        c = waiting.pop()
        for arc in query.arcs:
            if arc.takes in kinds and arc.source == c.state and arc.lives_at(time):
                if not holds(arc, c.registers, query, {}, -1):
                    continue
                new = Config(arc.target, updated(arc, c.registers, query, {}, -1))
                if _token(new) not in reached:
                    reached[_token(new)] = new
                    waiting.append(new)
                    made += 1
                    if made > ENDLESS:
                        raise endless(arc)
    return set(reached.values())


def endless(arc: Arc) -> QueryError:
    return QueryError(
        f"the ε arc {arc.id} is on a cycle that does not end: its registers have not repeated in {ENDLESS} moves",
        hint="give it a `when` that stops it",
    )


def at_window_end(configs: set[Config], query: Ready, time: int) -> set[Config]:
    """What is reached by at least one arc that waits for the window's end."""
    begun = {
        Config(arc.target, updated(arc, c.registers, query, {}, -1))
        for c in configs
        for arc in query.arcs
        if arc.takes is Takes.WINDOW_END
        and arc.source == c.state
        and arc.lives_at(time)
        and holds(arc, c.registers, query, {}, -1)
    }
    return closure(begun, query, time, (Takes.EPSILON, Takes.WINDOW_END))


def holds(arc: Arc, registers: Values, query: Ready, values: dict[str, list[Any]], row: int) -> bool:
    return arc.when is None or evaluate(arc.when, registers, query, values, row) is True


def updated(arc: Arc, registers: Values, query: Ready, values: dict[str, list[Any]], row: int) -> Values:
    """The new registers; every update reads the old ones."""
    return tuple(
        old if expr is None else evaluate(expr, registers, query, values, row)
        for old, expr in zip(registers, arc.updates, strict=True)
    )


def evaluate(expr: Any, registers: Values, query: Ready, values: dict[str, list[Any]], row: int) -> Any:
    places = {r.name: n for n, r in enumerate(query.registers)}

    def leaf(node: Attr | Len | Agg) -> Any:
        assert isinstance(node, Attr)
        return values[node.name][row] if node.var == EVENT else registers[places[node.name]]

    return interpret(expr, leaf)


def canonical(registers: Values) -> Values:
    """What tells output events apart: nulls are one, NaNs are one, -0.0 is 0.0."""
    return tuple("NaN" if v != v else (v + 0.0 if isinstance(v, float) else v,) for v in registers)


def _token(c: Config) -> tuple[int, str]:
    """What tells computations apart: a zero's sign does, for a query can ask for it."""
    return c.state, repr(c.registers)


def distinct(found: Iterable[Values]) -> list[Values]:
    return list({canonical(registers): registers for registers in found}.values())


def contains(found: Iterable[Values], registers: Values) -> bool:
    return any(canonical(f) == canonical(registers) for f in found)
