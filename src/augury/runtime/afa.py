"""Automata over a table in process: order → step → output events."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.afa import RESERVED, Machine, Move, Ready, Register, Takes, Written, ready
from augury.engines.afa import Stepper
from augury.engines.afa_history import History
from augury.engines.afa_outputs import Found
from augury.engines.afa_source import Options as KernelOptions
from augury.engines.afa_whole import Whole
from augury.engines.eager import EVERYTHING, Share
from augury.errors import QueryError
from augury.expr.columns import Column, from_arrow, result_type, to_arrow
from augury.expr.functions import UserFunction, called
from augury.expr.physical import from_values
from augury.expr.printing import quoted, text_of
from augury.expr.types import INT64_MAX, INTEGERS, Kind, Type, storage
from augury.match.gather import one_array, rows_of_table
from augury.match.identity import parameters_of
from augury.match.rows import taken
from augury.measures import Measures
from augury.runtime.options import Options
from augury.runtime.program import Fault, bad_times, faults_of_time
from augury.runtime.slices import Cut, Cutting
from augury.schema import Columns, Roles, roles_of

if TYPE_CHECKING:
    from augury.runtime.afa_core import AutomatonCore

PIECE = 1 << 22  # events from which on a table in order is matched piece by piece
PLANS = ("auto", "eager", "eager-unmerged", "can", "restart", "definition")


@dataclass(frozen=True, slots=True)
class Codec:
    """How arcs that are added while a matcher runs are made of what is written, and written again: languages know."""

    draw: Callable[[Takes | None, Mapping[str, Any], tuple[Register, ...], set[str]], Move]
    tell: Callable[[Move], dict[str, Any]]
    condition: Callable[[str], Written]


@dataclass(frozen=True, slots=True)
class Automata:
    """A `Machine` as a `Program`."""

    query: Ready
    options: Options
    gives: pa.Schema
    given: pa.Schema
    functions: tuple[UserFunction, ...]  # as they were registered where the program was made
    codec: Codec | None = None

    @property
    def name(self) -> str:
        options, roles, m = self.options, self.query.roles, self.query.machine
        parts = [
            *(m.start, m.final, [(name, repr(value)) for name, value in m.registers], str(m.within)),
            *([_named(move) for move in m.moves], roles.time, roles.key, roles.tiebreak),
            *(options.sequence, options.events, options.plan in ("definition", "restart")),
            [[field.name, str(field.type)] for field in self.given],
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    @property
    def roles(self) -> Roles:
        return self.query.roles

    @property
    def columns(self) -> Columns:
        return self.query.columns

    @property
    def reads(self) -> tuple[str, ...]:
        return self.query.reads

    @property
    def clock(self) -> str:
        return self.query.roles.time

    @property
    def partition(self) -> tuple[str, ...]:
        return self.query.roles.key

    def cutting(self) -> Cutting:
        return Cutting(Cut.NOWHERE, because="an automaton forgets by itself what it has passed")

    def faults(self, table: pa.Table) -> list[Fault]:
        found = faults_of_time(table, self.columns, self.roles)
        if self.query.sequence is not None:
            roles = Roles(self.query.sequence)
            found += [
                Fault(f.rows, f"no number in the column {quoted(self.query.sequence)}")
                for f in faults_of_time(table, self.columns, roles)
            ]
        return found

    def bad_rows(self, named: Callable[[str], str]) -> str:
        numbers = "" if self.query.sequence is None else f" OR {named(self.query.sequence)} IS NULL"
        return bad_times(self.roles, named) + numbers

    def lags(self) -> dict[str, int | None]:
        """What comes later is valid from the frontier or later, unless numbers and not times give the order."""
        return {"valid_from": None if self.query.sequence is not None else 0}

    def unending(self) -> str | None:
        return None

    def condition(self, named: Callable[[str], str]) -> str | None:
        del named
        return None  # every event counts: subsequences have no gaps

    def evaluator(self, *, profile: bool = False) -> Evaluation:
        if self.options.plan == "restart":
            raise QueryError(
                'plan="restart" restarts a running matcher when an arc changes; a table has none',
                hint='use it in query.matcher(…), or plan="eager"',
            )
        return Evaluation(self, profile=profile)

    def core(self, *, speculates: bool = False) -> AutomatonCore:
        from augury.runtime.afa_core import AutomatonCore

        del speculates
        if self.options.plan == "definition":
            raise QueryError(
                'plan="definition" is for tables: it forgets nothing and starts anew each time',
                hint='use plan="auto", or "restart"',
            )
        return AutomatonCore(self)


def _named(move: Move) -> list[Any]:
    """What an arc says, with its constants."""
    written = [("", move.when), *move.updates]
    return [
        *(move.id, move.source, move.target, move.takes.name, repr(move.low), repr(move.high)),
        [[name, text_of(w.expr), parameters_of([w.expr])] for name, w in written if w is not None],
    ]


class Evaluation:
    """All output events of tables."""

    def __init__(self, program: Automata, *, profile: bool) -> None:
        self.program = program
        self.profile = profile
        self.measures = Measures()

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        del share  # it is not cut
        query, options, gives = self.program.query, self.program.options, self.program.gives
        if options.plan == "definition":
            self.measures.add(
                Measures(
                    events=table.num_rows, peak_buffered_events=table.num_rows, peak_bytes=int(table.nbytes)
                )
            )
            return by_definition(table, query, gives, events=options.events)
        stepper = stepper_of(query, options, profile=self.profile)
        pieces = self._pieces(stepper, table)
        if pieces is not None:
            found = [self._followed(pieces[0], part) for part in pieces[1]]
            self._count(stepper, table, PIECE * (8 * len(stepper.slots.columns) + 100))
            return pa.concat_tables(found)
        whole = Whole(stepper, table)
        made = whole.run()
        self._count(stepper, table, int(table.nbytes) + whole.drive.room * 8 * len(whole.drive.source.pool))
        listed = listed_events(table, whole.rows, made.start, made.end) if options.events else None
        return rows_of(made, table, whole.rows[made.end], query, gives, listed)

    def _pieces(self, stepper: Stepper, table: pa.Table) -> tuple[History, list[pa.Table]] | None:
        """A large table that lies in order of time, piece by piece: what is needed beside it does not grow with it."""
        if table.num_rows <= PIECE:
            return None
        history = History(stepper, table.schema, events=self.program.options.events)
        name = self.program.clock
        times = np.asarray(from_arrow(table.column(name), self.program.columns.types[name]).values)
        if not history.follows or bool((times[1:] < times[:-1]).any()):
            return None
        cuts = [0]
        while cuts[-1] < len(times):  # events of one time stay together
            end = min(cuts[-1] + PIECE, len(times))
            cuts.append(int(np.searchsorted(times, times[end - 1], side="right")))
        return history, [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]

    def _followed(self, history: History, part: pa.Table) -> pa.Table:
        made = history.follow(part)
        return rows_of(made.found, history.keys, made.key, self.program.query, self.program.gives, None)

    def _count(self, stepper: Stepper, table: pa.Table, peak_bytes: int) -> None:
        counts = stepper.measures
        self.measures.add(
            Measures(
                events=table.num_rows,
                batch_evaluations=counts["batch_evaluations"],
                run_evaluations=counts["run_evaluations"],
                run_steps=counts["run_steps"],
                peak_runs=counts["peak_runs"],
                peak_buffered_events=table.num_rows,
                peak_bytes=peak_bytes,
            )
        )

    def measured(self) -> dict[str, int]:
        counts = asdict(self.measures)
        return {"predicate_evaluations": counts["batch_evaluations"] + counts["run_evaluations"], **counts}


def program_of(machine: Machine, schema: pa.Schema, options: Options, codec: Codec | None = None) -> Automata:
    """An automaton that met its data's columns: what is wrong with it is told here."""
    options.takes("events", "sequence")
    if options.output != "all":
        raise QueryError(
            f'output="{options.output}": an automaton gives its output events one by one',
            hint='leave output out, or write output="all"',
        )
    if options.match_id:
        raise QueryError("match_id= names matches, and an automaton gives output events", hint="leave it out")
    if options.plan not in PLANS:
        raise QueryError(f'plan="{options.plan}" evaluates no automaton', hint='use plan="auto", or "eager"')
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    if roles.end is not None:
        raise QueryError(
            f"time= names one column, not {options.time!r}",
            hint="an automaton's events have a time each; their lifetimes come of the window",
        )
    query = ready(machine, columns, roles, options.sequence)
    for name in roles.key:
        if name in RESERVED:
            raise QueryError(
                f"the key column {quoted(name)} is named like a column of the result", hint="rename it"
            )
    gives = output_schema(query, schema, events=options.events)
    exprs = [w.expr for m in machine.moves for w in (m.when, *(u for _, u in m.updates)) if w is not None]
    return Automata(query, options, gives, schema, called(exprs), codec)


def output_schema(query: Ready, schema: pa.Schema, *, events: bool) -> pa.Schema:
    """Keys, registers, the lifetime, and the events if they are asked for."""
    moment = lifetime_type(query, schema)
    fields = [schema.field(name) for name in query.roles.key]
    fields += [pa.field(r.name, result_type(r.type)) for r in query.registers]
    fields += [pa.field("valid_from", moment), pa.field("valid_to", moment)]
    if events:
        fields.append(pa.field("events", pa.list_(pa.struct(list(schema)))))
    return pa.schema(fields)


def lifetime_type(query: Ready, schema: pa.Schema) -> pa.DataType:
    """The time column's type, where that holds the ends of windows as well: no smaller integers, no seconds for
    a window of milliseconds.
    """
    stored = storage(schema.field(query.roles.time).type)
    if query.columns.types[query.roles.time].kind in INTEGERS:
        return pa.int64()
    if pa.types.is_timestamp(stored) and stored.unit in ("s", "ms"):
        unit = 1_000_000 if stored.unit == "s" else 1_000
        if (query.window or 0) % unit:
            return pa.timestamp("us", tz=stored.tz)
    return stored


def stepper_of(query: Ready, options: Options, *, profile: bool = False, lists: bool = False) -> Stepper:
    kernel = KernelOptions(
        query.window,
        sequence=query.sequence is not None,
        profile=profile,
        lists=lists,
        embedded=options.plan == "can",
    )
    return Stepper(query, kernel, max_runs=options.most_runs)


# ------------------------------------------------------------------ rows


def rows_of(
    found: Found, keys: pa.Table, at: Any, query: Ready, schema: pa.Schema, listed: pa.Array | None
) -> pa.Table:
    """Output events as rows; `at` are the rows of a table where their keys are read."""
    arrays: list[Any] = [taken(keys.column(name), at) for name in query.roles.key]
    arrays += [to_arrow(c, r.type) for c, r in zip(found.registers, query.registers, strict=True)]
    arrays += lifetimes(found, query, schema)
    if listed is not None:
        arrays.append(listed)
    return pa.Table.from_arrays(
        [a.cast(f.type) if a.type != f.type else a for a, f in zip(arrays, schema, strict=True)],
        schema=schema,
    )


def lifetimes(found: Found, query: Ready, schema: pa.Schema) -> list[pa.Array]:
    kind = query.columns.types[query.roles.time].kind
    moment = Type(Kind.INT if kind is Kind.UINT else kind, arrow=schema.field("valid_from").type)
    valid_from = to_arrow(Column(found.valid_from), moment)
    if query.window is None:
        return [valid_from, pa.nulls(len(found), valid_from.type)]
    fits = found.first <= INT64_MAX - query.window
    ends = np.where(fits, found.first, 0) + np.int64(query.window)
    return [valid_from, to_arrow(Column(ends, None if fits.all() else fits), moment)]


def listed_events(table: pa.Table, rows: Any, starts: Any, ends: Any) -> pa.Array:
    """For each output event the events from its first to its last; `rows` are the table's, in stream order."""
    lengths = (ends - starts + 1).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(starts, lengths)
    picked = rows_of_table(table, rows[flat])
    struct = pa.StructArray.from_arrays(
        [one_array(c) for c in picked.columns],
        fields=list(table.schema),
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct)


def by_definition(
    table: pa.Table,
    query: Ready,
    schema: pa.Schema,
    *,
    events: bool = False,
    frontier: int | None = None,
    ended: bool = True,
) -> pa.Table:
    """The definition's output events as rows."""
    from augury.semantics import afa as semantics

    table = rows_of_table(table, np.array(semantics.stream_order(table, query), np.int64))
    found = semantics.outputs(table, query, frontier, ended=ended)
    found.sort(key=lambda o: (o.last, o.first))
    stream = [row for rows in semantics.streams(table, query) for row in rows]
    position = {row: place for place, row in enumerate(stream)}
    starts, ends = (
        np.array([position[getattr(o, name)] for o in found], np.int64) for name in ("first", "last")
    )
    listed = listed_events(table, np.array(stream, np.int64), starts, ends) if events else None
    as_found = Found(
        *(starts, ends),
        np.array([o.valid_from for o in found], np.int64),
        np.array([0 if o.valid_to is None else o.valid_to - (query.window or 0) for o in found], np.int64),
        [from_values([o.registers[n] for o in found], r.type) for n, r in enumerate(query.registers)],
    )
    return rows_of(as_found, table, np.array([o.first for o in found], np.int64), query, schema, listed)
