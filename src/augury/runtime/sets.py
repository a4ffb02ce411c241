"""A set of queries as one program: its CESAR expressions share a network, queries of other languages run each by itself.

    queries ─┬─ expressions ─> Streams ─> one evaluation, one core  ┐
             └─ others ─> a program each ─> its evaluation, its core ┴─> rows with the query's name in front

A matcher's set changes while it runs: `add` and `remove` cost what one query costs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.asking import Asking, check_member
from augury.engines.eager import EVERYTHING, Share
from augury.errors import DataError, QueryError
from augury.expr.columns import from_arrow
from augury.expr.functions import UserFunction
from augury.match.gather import no_rows, rows_of_table
from augury.runtime import cesar
from augury.runtime.cesar import (
    NEVER_CUT,
    QUERY,
    Going,
    Speculating,
    Streams,
    United,
    many_are_made,
    wider,
)
from augury.runtime.changes import changes_of
from augury.runtime.matcher import Matcher
from augury.runtime.options import Options
from augury.runtime.program import Core, Evaluator, Fault, Program
from augury.runtime.slices import Cutting
from augury.schema import Columns, Roles

Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Sets:
    """Queries that have met their data. It does not change, but for a matcher's own copy."""

    streams: Streams  # the expressions
    others: dict[str, Program]
    schemas: dict[str, pa.Schema]  # of the others' results
    order: dict[str, None]  # all names, as they came
    types: dict[str, frozenset[str]]  # the stream types that each names
    reader: Callable[[str], Asking] | None = None  # of the queries that come while a stream runs

    @property
    def options(self) -> Options:
        return self.streams.options

    @property
    def given(self) -> pa.Schema:
        return self.streams.given

    @property
    def name(self) -> str:
        others = sorted((name, program.name) for name, program in self.others.items())
        return f"{self.streams.name} {json.dumps(others)}" if others else self.streams.name

    @property
    def roles(self) -> Roles:
        return self.streams.roles

    @property
    def columns(self) -> Columns:
        return self.streams.columns

    @property
    def reads(self) -> tuple[str, ...]:
        return self.streams.reads

    @property
    def gives(self) -> pa.Schema:
        return self.streams.gives

    @property
    def clock(self) -> str:
        return self.streams.clock

    @property
    def partition(self) -> tuple[str, ...]:
        return self.streams.partition

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        found = [*self.streams.functions, *(f for p in self.others.values() for f in p.functions)]
        return tuple({f.name: f for f in found}.values())

    def cutting(self) -> Cutting:
        return NEVER_CUT

    def faults(self, table: pa.Table) -> list[Fault]:
        return self.streams.faults(table)

    def bad_rows(self, named: Callable[[str], str]) -> str:
        return self.streams.bad_rows(named)

    def lags(self) -> dict[str, int | None]:
        """By column the longest of its members'."""
        found: dict[str, int | None] = {}
        every = [p.lags() for p in self.others.values()]
        for lags in [self.streams.lags(), *every] if self.streams.members else every:
            for column, lag in lags.items():
                known = found.get(column, lag)
                found[column] = None if known is None or lag is None else max(known, lag)
        return found

    def unending(self) -> str | None:
        return next((said for p in self.others.values() if (said := p.unending()) is not None), None)

    def condition(self, named: Callable[[str], str]) -> str | None:
        parts = [p.condition(named) for p in self.others.values()]
        if self.streams.members:
            parts.append(self.streams.condition(named))
        known = [p for p in parts if p is not None]
        return (
            " OR ".join(f"({p})" for p in dict.fromkeys(known))
            if parts and len(known) == len(parts)
            else None
        )

    def evaluator(self, *, profile: bool = False) -> SetEvaluation:
        return SetEvaluation(self, profile=profile)

    def core(self, *, speculates: bool = False) -> SetCore:
        return Revising(self) if speculates else SetCore(self)

    # -------------------------------------------------------------- members

    def insert(self, name: str, query: Asking) -> None:
        """One query more; where it does not fit, nothing has changed."""
        united = self.streams.united
        assert united is not None
        node = query._algebra  # noqa: SLF001  # what a set asks of its members
        if node is not None:
            member = self.streams.member(node)
            united.add(name, self.streams.schema_of(member))
            self.streams.members[name] = member
        else:
            program = query._program(self.given, self._options_of_others())  # noqa: SLF001  # the seam itself
            if program.clock != self.clock:
                raise QueryError(
                    f"{name!r} goes by the time column {program.clock!r}, and the set by {self.clock!r}",
                    hint="expressions of intervals and patterns of uncertain times cannot be in one set",
                )
            gives = program.gives
            united.add(name, gives)
            self.others[name], self.schemas[name] = program, gives
        self.order[name] = None
        self.types[name] = query._types  # noqa: SLF001
        self._check_types(name)

    def delete(self, name: str) -> None:
        united = self.streams.united
        assert united is not None
        del self.order[name], self.types[name]
        if name in self.others:
            del self.others[name]
            united.remove(self.schemas.pop(name))
        else:
            united.remove(self.streams.schema_of(self.streams.members.pop(name)))

    def copy(self) -> Sets:
        """A set of a matcher's own."""
        made = program_of({}, self.given, self.options)
        made.streams.shapes, made.streams.schemas = self.streams.shapes, self.streams.schemas
        made.order, made.types, made.reader = dict(self.order), dict(self.types), self.reader
        united = made.streams.united
        assert united is not None
        for name in self.order:
            if name in self.others:
                made.others[name], made.schemas[name] = self.others[name], self.schemas[name]
                united.add(name, self.schemas[name])
            else:
                member = self.streams.members[name]
                made.streams.members[name] = member
                united.add(name, self.streams.schema_of(member))
        return made

    def _options_of_others(self) -> Options:
        return replace(self.options, plan="auto") if self.options.plan == "unshared" else self.options

    def _check_types(self, name: str) -> None:
        """Without a type column the data is one stream, for all queries the same."""
        if self.roles.type is not None or not self.types[name]:
            return
        other = next((t for n, t in self.types.items() if n != name and t), None)
        if other is not None and other != self.types[name]:
            first, second = sorted(other | self.types[name])[:2]
            self.delete(name)
            raise QueryError(
                f"the set names the streams {first!r} and {second!r}, but was not told the type column",
                hint="pass type=, the column that holds the names of types",
            )


def program_of(queries: Mapping[str, Asking], schema: pa.Schema, options: Options) -> Sets:
    """Queries that met their data's columns: what is wrong with one is told here, with its name."""
    made = Sets(cesar.empty_program(schema, _of_all(options), United()), {}, {}, {}, {})
    made.streams.options = options
    with many_are_made():
        for name, query in queries.items():
            try:
                if query._algebra is not None and options.output != "all":  # noqa: SLF001
                    cesar.empty_program(schema, options, None)
                made.insert(name, query)
            except QueryError as error:
                error.message = f"in the query {name!r}: {error.message}"
                raise
    return made


def _of_all(options: Options) -> Options:
    """What is asked of the expressions; patterns of a set may give other outputs."""
    plan = options.plan if options.plan in ("auto", "unshared", "definition") else "auto"
    return replace(options, output="all", match_id=False, plan=plan)


def named(table: pa.Table, name: str, gives: pa.Schema, at: int = 0) -> pa.Table:
    """A member's rows as the set's."""
    column = pa.repeat(pa.scalar(name), table.num_rows)
    return wider(table.add_column(at, QUERY, column), gives)


class SetEvaluation:
    """All queries over whole tables."""

    def __init__(self, program: Sets, *, profile: bool) -> None:
        self.program = program
        self._streams = program.streams.evaluator(profile=profile) if program.streams.members else None
        self._others: dict[str, Evaluator] = {
            n: p.evaluator(profile=profile) for n, p in program.others.items()
        }

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        assert share is EVERYTHING
        gives = self.program.gives
        found = [] if self._streams is None else [self._streams.whole(table)]
        for name, engine in self._others.items():
            found.append(named(engine.whole(table), name, gives))
        return pa.concat_tables([no_rows(gives), *found])

    def measured(self) -> dict[str, int]:
        every = [e.measured() for e in (*([self._streams] if self._streams else []), *self._others.values())]
        total: dict[str, int] = {}
        for one in every:
            for measure, many in one.items():
                known = total.get(measure, 0)
                total[measure] = max(known, many) if measure == "events" else known + many
        return total


# ------------------------------------------------------------------ events that keep coming


class SetCore:
    """The members' cores. A member that came later meets the events that are later than all before it came."""

    SECTIONS: ClassVar[tuple[str, ...]] = ("members",)

    def __init__(self, program: Sets) -> None:
        self.program = program
        self.streams: Going = self._streams_core()
        self.others: dict[str, tuple[Core, int | None]] = {
            name: (self._core(p), None) for name, p in program.others.items()
        }

    def _streams_core(self) -> Going:
        return self.program.streams.core()

    def _core(self, program: Program) -> Core:
        return program.core()

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        found = self.streams.step(new, frontier)
        for name, (core, since) in self.others.items():
            mine = self._read(name, self._later(new, since))
            found.extend(self._named(t, name) for t in core.step(mine, frontier))
        return found

    def _read(self, name: str, table: pa.Table) -> pa.Table:
        return table.select(list(self.program.others[name].reads))

    def _later(self, table: pa.Table, since: int | None) -> pa.Table:
        if since is None or not table.num_rows:
            return table
        return rows_of_table(table, np.flatnonzero(self._times(table) > since))

    def _times(self, table: pa.Table) -> npt.NDArray[np.int64]:
        clock = self.program.clock
        found = from_arrow(table.column(clock), self.program.columns.types[clock])
        return np.asarray(found.values).astype(np.int64)

    def _named(self, table: pa.Table, name: str) -> pa.Table:
        return named(table, name, changes_of(self.program.gives), at=1)

    @property
    def due(self) -> int:
        return min([self.streams.due, *(core.due for core, _ in self.others.values())])

    def stats(self) -> dict[str, int]:
        total = self.streams.stats()
        for core, _ in self.others.values():
            for stat, many in core.stats().items():
                total[stat] = total.get(stat, 0) + many
        return total

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        header, sections = self.streams.pack()
        told: dict[str, Any] = {"": [header, [len(s) for s in sections]]}
        every = list(sections)
        for name, (core, since) in self.others.items():
            header, sections = core.pack()
            told[name] = [header, [len(s) for s in sections], since]
            every.extend(sections)
        return {"members": told}, [b"".join(every)]

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        body, at = sections["members"], 0
        for name, (known, sizes, *since) in header["members"].items():
            core: Core = self.streams if name == "" else self._core(self.program.others[name])
            own: dict[str, bytes] = {}
            for section, size in zip(core.SECTIONS, sizes, strict=True):
                own[section] = body[at : at + size]
                at += size
            core.unpack(known, own)
            if name:
                self.others[name] = core, since[0]
        if set(self.others) != set(self.program.others):
            raise DataError("the state was made by another set of queries")

    # -------------------------------------------------------------- members

    def add(self, name: str, since: int | None) -> None:
        if name in self.program.others:
            self.others[name] = self._core(self.program.others[name]), since
        else:
            self.streams.add(name, since)

    def remove(self, name: str) -> None:
        if name in self.others:
            del self.others[name]
        else:
            self.streams.remove(name)


class Revising(SetCore):
    """The same, before it is certain."""

    def _streams_core(self) -> Going:
        return self.program.streams.core(speculates=True)

    def _core(self, program: Program) -> Core:
        return program.core(speculates=True)

    def knows(self, events: pa.Table) -> Mask:
        assert isinstance(self.streams, Speculating)
        return self.streams.knows(events)

    def retract(self, gone: pa.Table, frontier: int | None) -> list[pa.Table]:
        assert isinstance(self.streams, Speculating)
        found = self.streams.retract(gone, frontier)
        for name, (core, since) in self.others.items():
            mine = self._read(name, self._later(gone, since))
            if mine.num_rows:
                found.extend(self._named(t, name) for t in core.retract(mine, frontier))  # type: ignore[attr-defined]
        return found


class SetMatcher(Matcher):
    """A matcher whose queries come and go."""

    core: SetCore

    def __init__(self, program: Sets, given: pa.Schema, *, state: bytes | None = None) -> None:
        self.queries = program.copy()
        self.newest: int | None = None  # the largest event time received
        super().__init__(self.queries, given, state=state)

    def _in_time(self, data: Any) -> pa.Table:
        table = super()._in_time(data)
        if table.num_rows:
            newest = int(self._times(table).max())
            self.newest = newest if self.newest is None else max(self.newest, newest)
        return table

    def add(self, name: str, query: Asking) -> pa.Table:
        """A query more, for the events later than all that were received so far."""
        return self._added(name, query, self.newest)

    def add_from(self, name: str, query: Asking, at: int | None) -> pa.Table:
        """A query more, for the events from an instant on; None: for all."""
        return self._added(name, query, None if at is None or at <= -(2**63) else at - 1)

    def _added(self, name: str, query: Asking, since: int | None) -> pa.Table:
        self._check_open()
        check_member(name, query)
        if name in self.queries.order:
            raise QueryError(
                f"there is a query {name!r} already", hint="remove it first, or take another name"
            )
        self.queries.insert(name, query)
        try:
            self.core.add(name, since)
        except QueryError:
            self.queries.delete(name)
            raise
        self.gives = changes_of(self.queries.gives)
        return self._changes([])

    def remove(self, name: str) -> pa.Table:
        """A query less: it reports nothing more."""
        self._check_open()
        if name not in self.queries.order:
            listed = ", ".join(list(self.queries.order)[:20]) or "none at all"
            raise QueryError(f"there is no query {name!r}", hint=f"there is: {listed}")
        self.queries.delete(name)
        self.core.remove(name)
        self.gives = changes_of(self.queries.gives)
        return self._changes([])

    def state(self) -> bytes:
        self.counts["newest"] = -(2**63) if self.newest is None else self.newest
        try:
            return super().state()
        finally:
            del self.counts["newest"]

    def _restore(self, state: bytes) -> None:
        super()._restore(state)
        newest = self.counts.pop("newest", -(2**63))
        self.newest = None if newest == -(2**63) else newest
