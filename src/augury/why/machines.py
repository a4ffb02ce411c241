"""Why an automaton did or did not accept: how near to a final state its computations came, and what stopped them.

A computation begins at each event and consumes the events after it one by one. Of those that begin at one event the one is told
that came nearest to a final state, in arcs, and of these the one that went on for longest. Changes are asked of the
definition, as those of patterns are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.afa import EVENT, Arc, Machine, Move, Ready, Takes, ready
from augury.errors import DataError, QueryError
from augury.expr.columns import physical_values
from augury.expr.printing import quoted, text_of
from augury.expr.tree import Attr, Expr, Logic, typed, walk
from augury.match.rows import taken
from augury.one_key import pulled, time_of
from augury.runtime.afa import program_of
from augury.runtime.options import Options
from augury.runtime.table import without_bad_rows
from augury.semantics import afa
from augury.semantics.afa import Config, Output
from augury.why.answer import Fix, NearMiss, Why
from augury.why.changes import as_window
from augury.why.rules import Broken
from augury.why.values import shown_span, shown_value

if TYPE_CHECKING:
    from augury.afa_query import AutomatonQuery

MOST = 300  # events: each begins computations that may run to the end
Path = tuple[tuple[int, int], ...]
"""The rows that a computation has consumed, and the state that each led to."""
Remake = Callable[[Machine], "AutomatonQuery"]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The computation from an event that came nearest to a final state, and what it met then."""

    path: Path
    left: float  # arcs to a final state
    why: Broken


class _Question:
    def __init__(self, machine: Machine, table: pa.Table, options: Options, remake: Remake) -> None:
        program = program_of(machine, table.schema, options)
        self.machine = machine
        self.remake = remake
        self.ready: Ready = program.query
        self.given, _ = without_bad_rows(table, program)
        if self.given.num_rows > MOST:
            raise DataError(
                f"{self.given.num_rows:,} events are more than the {MOST} of which why() follows every computation; name one "
                'key, as in key={"user": 7}, or pass a part of the data'
            )
        order = np.array(afa.stream_order(self.given, self.ready), np.int64)
        self.ordered = pa.Table.from_arrays(
            [taken(c, order) for c in self.given.columns], schema=self.given.schema
        )
        self.order: list[int] = order.tolist()
        columns = self.ready.columns.types
        self.values = {n: physical_values(self.ordered.column(n), columns[n]) for n in self.ready.reads}
        self.times: list[int] = self.values[self.ready.roles.time]
        self.streams = afa.streams(self.ordered, self.ready)
        self.base = self.accepted(machine) or []
        self.left = distances(self.ready)

    def accepted(self, machine: Machine) -> list[Output] | None:
        """What a variant accepts; None where it cannot be asked: an ε cycle without an end, say."""
        try:
            return afa.outputs(
                self.ordered, ready(machine, self.ready.columns, self.ready.roles, self.ready.sequence)
            )
        except QueryError:
            return None

    def new(self, machine: Machine, wanted: Callable[[Output], bool]) -> list[Output]:
        """The subsequences that a variant accepts and the automaton does not."""
        known = {(o.first, o.last) for o in self.base}
        found = [o for o in self.accepted(machine) or [] if (o.first, o.last) not in known and wanted(o)]
        return sorted(found, key=lambda o: (self.times[o.last] - self.times[o.first], o.first, o.last))

    def fix(self, rule: str, said: str, machine: Machine, output: Output) -> Fix:
        rows = next(s for s in self.streams if output.first in s)
        events = tuple(self.order[r] for r in rows if output.first <= r <= output.last)
        return Fix(rule, said, self.remake(machine), {"events": events})


def why(
    machine: Machine, remake: Remake, query: AutomatonQuery, data: Any, *, time: Any, key: Any, event: Any, limit: int, arguments: Any
) -> Why:  # fmt: skip
    """Why an automaton did or did not accept among these events."""
    table, names = pulled(data, key)
    options = Options(time=time_of(table.schema, time), key=names, **arguments)
    question = _Question(machine, table, options, remake)
    if event is not None and (type(event) is not int or not 0 <= event < question.given.num_rows):
        raise DataError(f"there is no row {event!r}: the data have {question.given.num_rows} rows, from 0 on")
    first: int | None = None if event is None else question.order.index(event)
    firsts = {o.first for o in question.base}
    found = [
        stopped(question, rows[n:])
        for rows in question.streams
        for n, row in enumerate(rows)
        if row not in firsts and first in (None, row)
    ]
    begun = [s for s in found if s.path] or found
    begun.sort(key=lambda s: (s.left, -len(s.path), s.path[:1]))
    fixes = list(changes(question, lambda o: first in (None, o.first)))
    misses = [_miss(question, s) for s in begun[: max(limit, 1)]]
    many = sum(first in (None, o.first) for o in question.base)
    of = question.left[0]
    notes = [] if math.isfinite(of) else ["No way leads from the start to a final state."]
    if not fixes and not question.base and not notes:
        notes.append("No change of the window or of one arc gives a match among these events.")
    roles = question.ready
    return Why(
        query, question.given, roles, many, misses, fixes, notes, None, of=int(of) if math.isfinite(of) else 0
    )


def _miss(question: _Question, s: Stopped) -> NearMiss:
    events: dict[str, tuple[int, ...]] = {}
    for row, state in s.path:
        name = question.ready.states[state]
        events[name] = (*events.get(name, ()), question.order[row])
    start = question.left[0]
    reached = int(start - s.left) if math.isfinite(start) and math.isfinite(s.left) else 0
    at = None if s.why.event is None else question.order[s.why.event]
    change = None
    if s.path:
        change = next(iter(changes(question, lambda o: o.first == s.path[0][0])), None)
    return NearMiss(events, reached, s.why, at, (), change)


def distances(query: Ready) -> list[float]:
    """For each state how many arcs lead from it to a final one, at least."""
    left = [0.0 if n in query.final else math.inf for n in range(len(query.states))]
    for _ in query.states:
        for arc in query.arcs:
            left[arc.source] = min(left[arc.source], left[arc.target] + 1)
    return left


def stopped(question: _Question, rows: Sequence[int]) -> Stopped:
    """The computation that begins with the first of these events and came nearest, as the definition steps them."""
    query, times = question.ready, question.times
    live: dict[str, tuple[Config, Path]] = {}
    for c in afa.closure({Config(0, query.initial)}, query, times[rows[0]]):
        live[repr(c)] = (c, ())
    best: tuple[tuple[float, int], Config, Path] = ((question.left[0], 0), *next(iter(live.values())))
    for n, row in enumerate(rows):
        if _cut(question, rows[: n + 1]) is not None:
            break
        stepped: dict[str, tuple[Config, Path]] = {}
        for c, path in live.values():
            for moved in afa.step({c}, query, question.values, row, times[row]):
                for reached in afa.closure({moved}, query, times[row]):
                    stepped.setdefault(repr(reached), (reached, (*path, (row, reached.state))))
        live = stepped
        for c, path in live.values():
            came = (question.left[c.state], -len(path))
            if came < best[0]:
                best = (came, c, path)
        if not live:
            break
    (left, _), config, path = best
    return Stopped(path, left, _met(question, rows, config, len(path)))


def _cut(question: _Question, rows: Sequence[int]) -> Broken | None:
    """What keeps the last of these events from following the others, whatever the arcs are."""
    query = question.ready
    times = [question.times[r] for r in rows]
    if len(rows) > 1 and afa.is_gap(question.values, query, rows[-2], rows[-1]):
        return Broken("gap", "events are missing before it, as the numbers tell", rows[-1])
    end = afa.lifetime_end(times, query)
    if end is not None and max(times) >= end:
        kind = query.columns.types[query.roles.time].kind
        span = shown_span(max(times) - min(times), kind)
        return Broken(
            "window",
            f"it comes {span} after the first event, and the window is {query.machine.within}",
            rows[-1],
        )
    return None


def _met(question: _Question, rows: Sequence[int], config: Config, consumed: int) -> Broken:
    """Why a computation did not go on with the next event."""
    query = question.ready
    name = quoted(query.states[config.state])
    if consumed == len(rows):
        return Broken("end", f"the events end, and {name} is not final")
    row = rows[consumed]
    cut = _cut(question, rows[: consumed + 1])
    if cut is not None:
        return cut
    arcs = [a for a in query.arcs if a.source == config.state and a.takes is Takes.EVENT]
    arcs.sort(key=lambda a: question.left[a.target])
    for arc in arcs:
        if not arc.lives_at(question.times[row]):
            return Broken("lifetime", f"the arc {quoted(arc.id)} is not there at this time", row)
        if not afa.holds(arc, config.registers, query, question.values, row):
            return _untrue(question, arc, config, row)
    if arcs:  # it was taken, and nothing came of it
        return Broken("end", f"{name} takes it, and comes no nearer to a final state", row)
    return Broken("end", f"no arc leaves {name} with an event", row)


def _untrue(question: _Question, arc: Arc, config: Config, row: int) -> Broken:
    """The first condition of a guard that is not true, with what it read."""
    query, when = question.ready, arc.when
    assert when is not None
    written = next(m.when.expr for m in query.machine.moves if m.id == arc.id and m.when is not None)
    parts: list[tuple[Expr, Expr]] = [(when, written)]
    if isinstance(when, Logic) and isinstance(written, Logic) and when.op == written.op == "AND":
        parts = list(zip(when.args, written.args, strict=True))
    for test, said in parts:
        found = afa.evaluate(test, config.registers, query, question.values, row)
        if found is not True:
            how = "unknown" if found is None else "not true"
            return Broken(
                "predicate",
                f"{quoted(arc.id)}: {text_of(said)} is {how}",
                row,
                -1,
                tuple(_read(question, test, config, row)),
            )
    raise AssertionError("a guard that is not true has a part that is not")


def _read(question: _Question, test: Expr, config: Config, row: int) -> Iterator[tuple[str, str]]:
    told: set[str] = set()
    registers = {r.name: r for r in question.ready.registers}
    for node in walk(test):
        if isinstance(node, Attr) and text_of(node) not in told:
            told.add(text_of(node))
            value = afa.evaluate(node, config.registers, question.ready, question.values, row)
            of = typed(node) if node.var == EVENT else registers[node.name].type
            yield text_of(node), shown_value(value, of)


# ------------------------------------------------------------------ changes


def changes(question: _Question, wanted: Callable[[Output], bool]) -> Iterator[Fix]:
    """The shortest window, just longer than some subsequence, with which one more is accepted, and each arc whose guard or lifetime alone forbids one."""
    longer = _longer(question, wanted)
    if longer is not None:
        yield longer
    for move in question.machine.moves:
        for rule, said, other in _freed(move):
            moves = tuple(other if m is move else m for m in question.machine.moves)
            variant = replace(question.machine, moves=moves)
            new = question.new(variant, wanted)
            if new:
                yield question.fix(rule, said, variant, new[0])


def _freed(move: Move) -> Iterator[tuple[str, str, Move]]:
    if move.when is not None:
        said = f"{quoted(move.id)} without {text_of(move.when.expr)}"
        yield "predicate", said, replace(move, when=None)
    if move.low is not None or move.high is not None:
        yield "lifetime", f"{quoted(move.id)} at all times", replace(move, low=None, high=None)


def _longer(question: _Question, wanted: Callable[[Output], bool]) -> Fix | None:
    window, machine = question.ready.window, question.machine
    if window is None:
        return None
    kind = question.ready.columns.types[question.ready.roles.time].kind
    whole = max(question.times, default=0) - min(question.times, default=0) + 1
    open_ended = question.accepted(replace(machine, within=as_window(max(whole, window), kind))) or []
    rows = {row: stream for stream in question.streams for row in stream}
    spans = set()
    for o in open_ended:
        times = [question.times[r] for r in rows[o.first] if o.first <= r <= o.last]
        spans.add(max(times) - min(times))
    for span in sorted(s for s in spans if s >= window):
        variant = replace(machine, within=as_window(span + 1, kind))
        new = question.new(variant, wanted)
        if new:
            return question.fix("window", f"within {variant.within}", variant, new[0])
    return None
