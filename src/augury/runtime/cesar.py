"""CESAR expressions as a program: one, or a set of them that is evaluated as one.

expressions ─ resolve ─> Streams ─┬─ evaluator: Levels over a whole table
                                  └─ core: Levels that go on from call to call; speculating, a copy of their runs
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury import algebra
from augury.engines.eager import EVERYTHING, Share
from augury.engines.levels import Levels, shares_recipe
from augury.engines.runs import Runs, lies_compiled
from augury.errors import QueryError
from augury.expr.columns import from_arrow
from augury.expr.functions import UserFunction, called
from augury.expr.types import INT64_MAX
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import canonical, value_digests
from augury.resolve_cesar import Known, Source, Span, Typed, output_schema, resolve, span_of
from augury.runtime.changes import INSERT, RETRACT, with_op
from augury.runtime.options import Options
from augury.runtime.program import Fault, bad_times, faults_of_time
from augury.runtime.slices import Cut, Cutting
from augury.runtime.state import read_events, written_events
from augury.runtime.streams import Reader, Writer, by_definition, measured, result_table
from augury.schema import Columns, Roles, roles_of

Mask = npt.NDArray[np.bool_]

COMPILED_FROM = 2_000  # events of one query from which a kernel that lies compiled on disk is faster
WORTH_COMPILING = 100_000  # … and from which compiling it is: 15 s once, and uncompiled some 100 µs an event
QUERY = "query"  # of a set: the column with the query's name

ALONE: Typed = Source("", {})  # a shape of which every query is read by itself
NEVER_CUT = Cutting(Cut.NOWHERE, "a sequence may reach over all of its partition")


@dataclass(slots=True)
class Streams:
    """Expressions that have met their data, by name; one alone has the name "".

    It does not change, but for a matcher's own copy of a set.
    """

    members: dict[str, Member]
    united: United | None  # of a set
    span: Span
    roles: Roles
    columns: Columns
    options: Options
    given: pa.Schema
    shapes: dict[Any, Typed | None] = field(
        default_factory=dict
    )  # None: one was met; ALONE: parameters decide too much
    schemas: dict[int, tuple[Typed, pa.Schema]] = field(default_factory=dict)
    known: Known = field(default_factory=dict)

    @property
    def gives(self) -> pa.Schema:
        if self.united is not None:
            return self.united.schema
        return output_schema(self.members[""].query, self.columns, self.span)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        texts = (text for m in self.members.values() for text in algebra.texts(m.node))
        return called({t.text: t.expr for t in texts}.values())

    @property
    def name(self) -> str:
        options, roles = self.options, self.roles
        members = sorted(self.members.items())
        parts = [
            [(name, algebra.notation(m.node), values_in(m.node)) for name, m in members],
            self.united is None,
            *(roles.time, roles.end, roles.type, list(roles.key)),
            [[field.name, str(field.type)] for field in self.given],
            options.plan == "definition",
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.given.names)

    @property
    def clock(self) -> str:
        return self.span.end

    @property
    def partition(self) -> tuple[str, ...]:
        return self.span.key

    def cutting(self) -> Cutting:
        return NEVER_CUT

    def faults(self, table: pa.Table) -> list[Fault]:
        return faults_of_time(table, self.columns, self.roles)

    def bad_rows(self, named: Callable[[str], str]) -> str:
        return bad_times(self.roles, named)

    def lags(self) -> dict[str, int | None]:
        """A result is certain as soon as the instants of its end have passed; it may have started at any time."""
        return {"end": 0, "start": None}

    def unending(self) -> str | None:
        return None

    def condition(self, named: Callable[[str], str]) -> str | None:
        """The rows of a base stream."""
        if self.span.type is None:
            return None
        from augury.runtime.spark_filter import text_literal

        types = sorted({base.type for m in self.members.values() for base in algebra.bases(m.node)})
        listed = ", ".join(text_literal(t) for t in types)
        return f"{named(self.span.type)} IN ({listed})"

    def evaluator(self, *, profile: bool = False) -> Evaluation:
        _ = profile  # counting costs nothing here
        return Evaluation(self)

    def core(self, *, speculates: bool = False) -> Going:
        if self.options.plan == "definition":
            raise QueryError(
                "the definition looks at whole tables",
                hint='leave plan out: plan="auto" goes on from call to call',
            )
        return Speculating(self) if speculates else Going(self)

    def rows(self, pieces: list[tuple[npt.NDArray[np.int64], pa.Table]], names: Sequence[str]) -> pa.Table:
        """The result's rows from those of each query; `names` are the queries' by their numbers."""
        gives = self.gives
        if self.united is None:
            return result_table([t for _, t in pieces], gives)
        tables = []
        for numbers, table in pieces:
            named = pa.array([names[n] for n in numbers.tolist()], pa.string())
            tables.append(wider(table.add_column(0, QUERY, named), gives))
        return result_table(tables, gives)

    def member(self, node: algebra.Node) -> Member:
        """An expression that meets the columns. Of those that differ in plain values alone only the first one is read."""
        values: list[Any] = []
        name = algebra.shape(node, values)
        shared = self.shapes.get(name)
        if shared is None and name in self.shapes:  # a second one of this shape
            query = resolve(algebra.bound(node, itertools.count()), self.columns, self.span, self.known)
            shared = self.shapes[name] = query if shares_recipe(query) else ALONE
        if shared is not None and shared is not ALONE:
            return Member(node, shared, tuple(values))
        if shared is None:
            self.shapes[name] = None
        return Member(node, resolve(algebra.bound(node, None), self.columns, self.span, self.known), ())

    def schema_of(self, member: Member) -> pa.Schema:
        """The columns of one query's result."""
        known = self.schemas.get(id(member.query))
        if (
            known is None or known[0] is not member.query
        ):  # in a copy in another process identities are others
            found = output_schema(member.query, self.columns, self.span)
            known = self.schemas[id(member.query)] = member.query, found
        return known[1]


class Member(NamedTuple):
    """An expression, what it is for the data's columns, and the values of the parameters that are numbered there."""

    node: algebra.Node
    query: Typed
    values: tuple[Any, ...]


class United:
    """The columns of a set: the query's name, then all that its members have."""

    def __init__(self) -> None:
        self._fields: dict[
            str, tuple[str, pa.Field, int]
        ] = {}  # who had it first, and how many schemas have it
        self._schemas: dict[int, list[Any]] = {}  # by identity: a schema and how many members have it
        self._schema: pa.Schema | None = None

    @property
    def schema(self) -> pa.Schema:
        if self._schema is None:
            fields = (pa.field(f.name, f.type) for _, f, _ in self._fields.values())
            self._schema = pa.schema([pa.field(QUERY, pa.string()), *fields])
        return self._schema

    def check(self, name: str, schema: pa.Schema) -> None:
        """That a member's columns go with those of the others."""
        for column in schema:
            if column.name == QUERY:
                raise QueryError(
                    f"the result of {name!r} has a column named query, and a set has one of its own",
                    hint="rename it",
                )
            known = self._fields.get(column.name)
            if known is not None and known[1].type != column.type:
                raise QueryError(
                    f"the column {column.name!r} is {known[1].type} in the result of {known[0]!r} and {column.type} "
                    f"in that of {name!r}",
                    hint="the results of a set share a table; rename one of them",
                )

    def add(self, name: str, schema: pa.Schema) -> None:
        counted = self._schemas.get(id(schema))
        if counted is not None and counted[0] is schema:
            counted[1] += 1
            return
        self.check(name, schema)
        self._schemas[id(schema)] = [schema, 1]
        for column in schema:
            first, known, many = self._fields.get(column.name, (name, column, 0))
            if not many:
                self._schema = None
            self._fields[column.name] = first, known, many + 1

    def remove(self, schema: pa.Schema) -> None:
        counted = self._schemas[id(schema)]
        counted[1] -= 1
        if counted[1]:
            return
        del self._schemas[id(schema)]
        for column in schema:
            first, known, many = self._fields[column.name]
            if many > 1:
                self._fields[column.name] = first, known, many - 1
            else:
                del self._fields[column.name]
                self._schema = None


def values_in(node: algebra.Node) -> list[str]:
    """The constants and the values of parameters in an expression: its text shows no more than that there is one."""
    return [canonical(value).hex() for text in algebra.texts(node) for _, value in text.values]


def wider(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all of these columns, null where it has none."""
    columns = [
        table.column(f.name).cast(f.type)
        if f.name in table.schema.names
        else pa.nulls(table.num_rows, f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def program_of(node: algebra.Node, schema: pa.Schema, options: Options) -> Streams:
    """An expression that met its data's columns: what is wrong with it is told here."""
    program = empty_program(schema, options, united=None)
    program.members[""] = program.member(node)
    return program


def empty_program(schema: pa.Schema, options: Options, united: United | None) -> Streams:
    """A program without queries."""
    options.takes()
    if options.output != "all":
        raise QueryError(
            f'output="{options.output}" is for patterns: a CESAR expression gives a set of events',
            hint='use output="all"',
        )
    if options.match_id:
        raise QueryError(
            "match_id=True is for patterns: a CESAR expression gives a set of events, which are what they are",
            hint="leave match_id out",
        )
    if options.plan not in ("auto", "unshared", "definition"):
        raise QueryError(f'plan="{options.plan}" cannot evaluate a CESAR expression', hint='use plan="auto"')
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    return Streams({}, united, span_of(columns, roles), roles, columns, options, schema)


@contextmanager
def many_are_made() -> Iterator[None]:
    """Python's collector looks through all that has been made again and again while much is made that stays: a quarter
    of the time of reading many queries, and more the more there are.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _levels(program: Streams) -> tuple[Levels, Reader, Writer]:
    options = program.options
    levels = Levels(program.span, share=options.plan != "unshared", max_runs=options.most_runs)
    reader = Reader(program.columns, program.span, levels)
    return levels, reader, Writer(program.columns, program.span, levels, reader.keys)


def is_worth_compiling(events: int, levels: Levels) -> bool:
    """Whether so many events are done sooner by the compiled kernel."""
    work = events * (1 + levels.size // 100)
    return work >= (COMPILED_FROM if work < WORTH_COMPILING and lies_compiled() else WORTH_COMPILING)


class Evaluation:
    """An evaluation of whole tables; what it cost is added up."""

    def __init__(self, program: Streams) -> None:
        self.program = program
        self._measures: dict[str, int] = {}

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        assert share is EVERYTHING
        program = self.program
        names = list(program.members)
        if program.options.plan == "definition":
            found = []
            for number, member in enumerate(program.members.values()):
                query = resolve(algebra.bound(member.node, None), program.columns, program.span)
                rows = by_definition(query, table, program.columns, program.span)
                found.append((np.full(rows.num_rows, number), rows))
            self._add(
                {"events": table.num_rows, "peak_buffered_events": table.num_rows, "peak_bytes": table.nbytes}
            )
            return program.rows(found, names)
        levels, reader, writer = _levels(program)
        with many_are_made():
            for number, member in enumerate(program.members.values()):
                levels.add(number, member.query, member.values)
        if is_worth_compiling(table.num_rows, levels):
            levels.compile()
        rows = program.rows(writer.tables(levels.step(reader.batch(table))), names)
        self._add(measured(levels, table.num_rows))
        return rows

    def _add(self, more: dict[str, int]) -> None:
        for name, many in more.items():
            known = self._measures.get(name, 0)
            self._measures[name] = max(known, many) if name.startswith("peak") else known + many

    def measured(self) -> dict[str, int]:
        return {"predicate_evaluations": 0, "peak_runs": 0, "runs_merged": 0, **self._measures}


# ------------------------------------------------------------------ events that keep coming


class Going:
    """Runs that go on from call to call. Each step has all events of its instants."""

    SECTIONS: ClassVar[tuple[str, ...]] = ("runs", "keys", "values")

    def __init__(self, program: Streams) -> None:
        self.program = program
        self.levels, self.reader, self.writer = _levels(program)
        self.since: dict[str, int | None] = {}  # by query: its events end later
        self.numbers: dict[str, int] = {}  # … and what the levels know it by
        self.names: list[str] = []  # by these numbers
        with many_are_made():
            for name in program.members:
                self._insert(name, None)

    def _insert(self, name: str, since: int | None) -> None:
        member = self.program.members[name]
        self.levels.add(len(self.names), member.query, member.values, since)
        self.since[name] = since
        self.numbers[name] = len(self.names)
        self.names.append(name)

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        _ = frontier  # nothing waits: what ends before it is certain as it comes
        rows = self._found(new)
        return [with_op(INSERT, rows)] if rows.num_rows else []

    def _found(self, events: pa.Table) -> pa.Table:
        if is_worth_compiling(events.num_rows, self.levels):
            self.levels.compile()
        found = self.writer.tables(self.levels.step(self.reader.batch(events)))
        return self.program.rows(found, self.names)

    @property
    def due(self) -> int:
        """Nothing waits."""
        return INT64_MAX

    def stats(self) -> dict[str, int]:
        runs = [n.runs for n in self.levels.networks]
        return {
            "live_runs": sum(r.live for r in runs),
            "nodes": sum(n.nodes for n in self.levels.networks),
            "buffered_events": 0,
            "bytes": sum(sum(getattr(a, "nbytes", 8 * len(a)) for a in r.at.values()) for r in runs),
        }

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        from augury.runtime.cesar_state import packed

        return {"since": self.since}, packed(self.levels, self.reader, self.numbers)

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        from augury.runtime.cesar_state import unpacked

        self.levels, self.reader, self.writer = _levels(self.program)
        self.since, self.numbers, self.names = {}, {}, []
        for name in self.program.members:
            self._insert(name, header["since"][name])
        unpacked(self.levels, self.reader, self.numbers, sections)

    # -------------------------------------------------------------- sets that change

    def add(self, name: str, since: int | None) -> None:
        """A query that the program has got, for events that end after `since`."""
        self._insert(name, since)

    def remove(self, name: str) -> None:
        """A query that the program has no more."""
        self.levels.remove(self.numbers.pop(name))
        del self.since[name]


class Speculating(Going):
    """Answers before they are certain: settled runs, and the events since, evaluated anew on a copy of the runs."""

    SECTIONS: ClassVar[tuple[str, ...]] = (*Going.SECTIONS, "open", "said")

    def __init__(self, program: Streams) -> None:
        super().__init__(program)
        self.open = no_rows(program.given)  # events that are not settled, in any order
        self.said = no_rows(program.gives)  # results of them that have been told

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        self.open = pa.concat_tables([self.open, new])
        return self._told(frontier)

    def knows(self, events: pa.Table) -> Mask:
        from augury.runtime.matcher import one_of_each

        _, missing = one_of_each(self.open, events, self.program.reads, self.program.columns.types)
        return ~missing

    def retract(self, gone: pa.Table, frontier: int | None) -> list[pa.Table]:
        from augury.runtime.matcher import one_of_each

        out, _ = one_of_each(self.open, gone, self.program.reads, self.program.columns.types)
        self.open = rows_of_table(self.open, np.flatnonzero(~out))
        return self._told(frontier)

    def _told(self, frontier: int | None) -> list[pa.Table]:
        """What is said now and was not, and the other way round. Without a frontier nothing is settled: of a stream
        that has ended all is told just as well.
        """
        final = no_rows(self.program.gives)
        if frontier is not None and bool((ready := self._ends() < frontier).any()):
            final = self._found(rows_of_table(self.open, np.flatnonzero(ready)))
            self.open = rows_of_table(self.open, np.flatnonzero(~ready))
        settled = [(network, network.runs) for network in self.levels.networks]
        for network, runs in settled:
            network.runs = runs.copy()
        try:
            maybe = self._found(self.open)
        finally:
            for network, runs in settled:
                network.runs = _as(network.runs, runs)
        changes = difference(self.said, pa.concat_tables([final, maybe]), self.program.gives)
        self.said = maybe
        return changes

    def _ends(self) -> npt.NDArray[np.int64]:
        clock = self.program.clock
        found = from_arrow(self.open.column(clock), self.program.columns.types[clock])
        return np.asarray(found.values).astype(np.int64)

    @property
    def due(self) -> int:
        """Events that are settled are forgotten."""
        return min(int(self._ends().min()) + 1, INT64_MAX) if self.open.num_rows else INT64_MAX

    def stats(self) -> dict[str, int]:
        known = super().stats()
        return {
            **known,
            "buffered_events": self.open.num_rows,
            "bytes": known["bytes"] + self.open.nbytes + self.said.nbytes,
        }

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        header, sections = super().pack()
        more = [
            written_events([self.open], self.program.given),
            written_events([self.said], self.program.gives),
        ]
        return header, [*sections, *more]

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        super().unpack(header, sections)
        self.open = read_events(sections["open"], self.program.given)
        self.said = read_events(sections["said"], self.program.gives)

    def add(self, name: str, since: int | None) -> None:
        super().add(name, since)
        self.said = wider(self.said, self.program.gives)

    def remove(self, name: str) -> None:
        super().remove(name)
        self.said = self.said.filter(pc.not_equal(self.said.column(QUERY), name)).select(
            self.program.gives.names
        )


def difference(before: pa.Table, now: pa.Table, gives: pa.Schema) -> list[pa.Table]:
    """From one set of rows to another: what is taken back, and what is new."""
    types = Columns.of(gives).types

    def names(table: pa.Table) -> npt.NDArray[Any]:
        return np.ascontiguousarray(value_digests(table, gives.names, types).T).view("V16").reshape(-1)

    old, new = names(before), names(now)
    gone = np.flatnonzero(~np.isin(old, new))
    come = np.flatnonzero(~np.isin(new, old))
    found = [with_op(RETRACT, rows_of_table(before, gone))] if len(gone) else []
    return [*found, with_op(INSERT, rows_of_table(now, come))] if len(come) else found


def _as(copy: Runs, settled: Runs) -> Runs:
    """The settled runs, for the kernel as it has become meanwhile."""
    if copy.fast and not settled.fast:
        settled.compiled()
    elif settled.fast and not copy.fast:
        settled.plain()
    return settled
