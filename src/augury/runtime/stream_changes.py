"""Changes of a query while its stream runs: a log that every shard keeps alike, and matchers brought up to it.

    change ─ valid for all that is known? ─┬─> log: version, from when it holds, at which frontier it is made
                                           └─> rejected, with the reason
    bucket: which versions it has ─> those that it has not, in order ─> matcher

Whether a change is good is decided by a model, a matcher without events that has made all changes of the log: so
shards that know the same log and the same watermark agree, whatever events they have. A bucket makes up for the changes
that it has missed when it is next looked at, each at the frontier at which it was to be made.
"""

from __future__ import annotations

import datetime as dt
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, cast

import pyarrow as pa

from augury.errors import AuguryError, DataError, QueryError
from augury.expr.types import INT64_MIN, MICROSECONDS_PER_DAY
from augury.runtime.afa import Automata
from augury.runtime.afa_matcher import AutomatonMatcher
from augury.runtime.matcher import Matcher
from augury.runtime.program import Program
from augury.runtime.sets import SetMatcher, Sets

ADD, REMOVE, ADD_ARC, REMOVE_ARC = "add", "remove", "add_arc", "remove_arc"
NO_VERSION = INT64_MIN
COLUMNS = ("version", "action", "name", "query", "at")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # of columns without a zone
_COUNT = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a control stream; once it is accepted, also at which frontier it is made."""

    version: int
    action: str
    name: str | None
    query: str | None
    at: int | None  # the instant from which it holds
    made: int | None = None  # None: there was no watermark

    def __str__(self) -> str:
        version = "no version" if self.version == NO_VERSION else f"version {self.version}"
        return f"{version}, {self.action} {self.name!r}"


def changeable(program: Program) -> bool:
    """Whether a language's queries can change while they run."""
    return isinstance(program, Automata | Sets)


@dataclass(frozen=True, slots=True)
class Log:
    """The changes that were accepted, as they came, and the versions of all that were ever seen."""

    changes: tuple[Change, ...] = ()
    seen: frozenset[int] = frozenset()

    def to_json(self) -> str:
        """As a shard stores it."""
        return json.dumps(
            {"changes": [list(asdict(c).values()) for c in self.changes], "seen": sorted(self.seen)}
        )

    @classmethod
    def from_json(cls, text: str) -> Log:
        """As a shard stored it."""
        told = json.loads(text)
        return cls(tuple(Change(*c) for c in told["changes"]), frozenset(told["seen"]))

    def due(self, done: frozenset[int], frontier: int | None) -> list[Change]:
        """The changes that are to be made by a frontier and are not done, in order."""
        by = INT64_MIN if frontier is None else frontier
        waiting = [c for c in self.changes if c.version not in done and _order(c)[0] <= by]
        return sorted(waiting, key=_order)


def _order(change: Change) -> tuple[int, int]:
    return (INT64_MIN if change.made is None else change.made, change.version)


def read(told: Iterable[str]) -> list[Change]:
    """Rows of a control stream, each as a JSON object without what is null; `at` is an instant."""
    rows = [json.loads(text) for text in told]
    changes = [
        Change(
            version=row.get("version", NO_VERSION),
            action=str(row.get("action")),
            name=row.get("name"),
            query=row.get("query"),
            at=row.get("at"),
        )
        for row in rows
    ]
    return sorted(changes, key=lambda c: (c.version, str(c)))


@dataclass(frozen=True, slots=True)
class Changing:
    """How a query takes changes: it has no state of its own."""

    program: Program
    schema: pa.Schema  # of the events
    gives: pa.Schema  # the result's columns, which stay as they are

    def accept(
        self, log: Log, changes: Sequence[Change], frontier: int | None
    ) -> tuple[Log, list[tuple[Change, str]]]:
        """The log with new changes, in order of version, and those that are rejected, with the reasons."""
        rejected = []
        for change in changes:
            if change.version in log.seen:  # it came again: changes are made once
                continue
            if change.version == NO_VERSION:
                rejected.append((change, "it has no version"))
                continue
            try:
                accepted = self._accepted(log, change, frontier)
            except AuguryError as error:
                said = error.message if isinstance(error, QueryError) else str(error)
                rejected.append((change, said))
                log = replace(log, seen=log.seen | {change.version})
            else:
                log = Log((*log.changes, accepted), log.seen | {change.version})
        return log, rejected

    def _accepted(self, log: Log, change: Change, frontier: int | None) -> Change:
        if frontier is not None and change.at is not None and change.at < frontier:
            raise DataError("it holds from a time before the watermark, and what was then has been reported")
        at = frontier if change.at is None else change.at
        known: tuple[str, ...] = (ADD, REMOVE) if isinstance(self.program, Sets) else (ADD_ARC, REMOVE_ARC)
        if change.action not in known:
            raise DataError(
                f"the action {change.action!r} is none of this query's: it is {' or '.join(known)}"
            )
        # A query is removed when all that it finds before then has been reported.
        made = at if change.action == REMOVE else frontier
        accepted = replace(change, at=at, made=made)
        if change.action == REMOVE:
            if change.name not in self._names(log):
                raise DataError(f"there is no query {change.name!r}")
            return accepted
        model = self.matcher(
            None, log, [c.version for c in sorted(log.changes, key=_order) if _is_made(c, frontier)]
        )
        if frontier is not None:
            model.advance_to(frontier)
        self.make(model, accepted)
        missing = [
            f
            for f in list(model.gives)[1:]
            if f.name not in self.gives.names or self.gives.field(f.name).type != f.type
        ]
        if missing:
            named = ", ".join(f"{f.name} ({f.type})" for f in missing)
            raise DataError(f"its result has columns that the running stream has not: {named}")
        return accepted

    def _names(self, log: Log) -> set[str | None]:
        """The queries of the set, all changes made."""
        names: set[str | None] = set(cast("Sets", self.program).order)
        for change in sorted(log.changes, key=_order):
            names = names | {change.name} if change.action == ADD else names - {change.name}
        return names

    def matcher(self, state: bytes | None, log: Log, done: Sequence[int]) -> Matcher:
        """A matcher with these changes made, in this order, in a state that was stored with them or in a fresh one."""
        if isinstance(self.program, Automata):
            arcs = AutomatonMatcher(self.program, self.schema, state=state)
            if state is None:
                for change in _chosen(log, done):
                    self.make(arcs, change)
            return arcs
        assert isinstance(self.program, Sets)
        if state is None:
            fresh = SetMatcher(self.program, self.schema)
            for change in _chosen(log, done):
                self.make(fresh, change)
            return fresh
        program = self.program.copy()
        for change in _chosen(log, done):
            if change.action == ADD:
                program.insert(str(change.name), self._query(change))
            else:
                program.delete(str(change.name))
        return SetMatcher(program, self.schema, state=state)

    def make(self, m: Matcher, change: Change) -> pa.Table:
        """Make one change."""
        if isinstance(m, SetMatcher):
            if change.action == REMOVE:
                return m.remove(str(change.name))
            return m.add_from(str(change.name), self._query(change), change.at)
        assert isinstance(m, AutomatonMatcher)
        at = INT64_MIN if change.at is None else change.at
        row = {**asdict(change), "at": _value(at, self.schema.field(self.program.clock).type)}
        return m.apply(pa.Table.from_pylist([row]))

    def _query(self, change: Change) -> Any:
        reader = cast("Sets", self.program).reader
        assert reader is not None
        return _parsed(reader, str(change.query or ""))


@lru_cache(maxsize=100_000)
def _parsed(reader: Callable[[str], Any], text: str) -> Any:
    """A query of a change: buckets ask for the same ones again and again."""
    return reader(text)


def _is_made(change: Change, frontier: int | None) -> bool:
    return change.made is None or (frontier is not None and change.made <= frontier)


def _chosen(log: Log, versions: Sequence[int]) -> list[Change]:
    by_version = {c.version: c for c in log.changes}
    return [by_version[v] for v in versions]


def _value(instant: int, type_: pa.DataType) -> Any:
    """An instant as users write it, the nearest that Python has."""
    t = pa.types
    if t.is_date(type_):
        days = min(max(instant, dt.date.min.toordinal() - 719_163), dt.date.max.toordinal() - 719_163)
        return dt.date.fromordinal(days + 719_163)
    if t.is_timestamp(type_):
        last = dt.timedelta(days=dt.date.max.toordinal() - 719_163)
        first = dt.timedelta(days=dt.date.min.toordinal() - 719_163)
        days, rest = divmod(instant, MICROSECONDS_PER_DAY)
        if days >= last.days:
            moment = _EPOCH + last
        else:
            moment = _EPOCH + (first if days < first.days else dt.timedelta(days, microseconds=rest))
        return moment if type_.tz is None else moment.replace(tzinfo=dt.UTC)
    return instant


# ------------------------------------------------------------------ what a bucket has made


def packed(state: bytes, done: Sequence[int]) -> bytes:
    """A bucket's bytes, before them the versions of the changes that it has made, in order."""
    return _COUNT.pack(len(done)) + struct.pack(f"<{len(done)}q", *done) + state


def opened(stored: bytes) -> tuple[list[int], bytes]:
    """The versions, and the bucket's bytes."""
    if len(stored) < _COUNT.size:
        raise DataError("the state is damaged: it was cut off")
    (many,) = _COUNT.unpack_from(stored)
    end = _COUNT.size + 8 * many
    if len(stored) < end:
        raise DataError("the state is damaged: it was cut off")
    return list(struct.unpack(f"<{many}q", stored[_COUNT.size : end])), stored[end:]
