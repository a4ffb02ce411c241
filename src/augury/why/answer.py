"""The question put together, and its answer as a text, a table and a picture."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError, LimitError, QueryError, locating, one_line
from augury.expr.columns import physical_values
from augury.expr.printing import quoted
from augury.match.gather import decoded
from augury.match.rows import taken
from augury.one_key import pulled, time_of
from augury.pattern import text_of_pattern
from augury.resolve import Resolved
from augury.runtime.options import Options
from augury.runtime.sequences import program_of
from augury.runtime.table import without_bad_rows
from augury.semantics import sase
from augury.semantics.sase import Bound, Stream
from augury.why.changes import Asked, Change, changes
from augury.why.rules import Broken, assignments, broken_rules
from augury.why.runs import Miss, Steps, furthest, never_begun
from augury.why.values import shown_instant

if TYPE_CHECKING:
    from augury.afa import Ready
    from augury.asking import Asking
    from augury.pictures.canvas import Picture
    from augury.query import Query

MOST = 5_000  # events that are looked at
_ID = "row"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Events that came near to a match; `rows` are places in the data as they were given."""

    events: Mapping[str, tuple[int, ...]]  # by variable the rows bound
    reached: int  # components bound
    because: Broken
    row: int | None  # at which it broke
    also: tuple[Broken, ...] = ()  # other rules that are broken
    change: Fix | None = None  # that would give a match beginning with the same event

    @property
    def first(self) -> int | None:
        return next((rows[0] for rows in self.events.values() if rows), None)


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the query that gives a match, and that match."""

    rule: str
    said: str
    query: Asking
    events: Mapping[str, tuple[int, ...]]

    def __str__(self) -> str:
        return one_line(self.said)


class Why:
    """Why a query did or did not match: `print` it, see its `table` and `changes`, `plot` it.

    `matches` is how many there are; `misses` are the nearest ones that are none; `changes` the smallest changes of the query
    that would give a match more, each with the `query` that it makes.
    """

    def __init__(
        self,
        query: Asking,
        data: pa.Table,
        resolved: Resolved | Ready,
        matches: int | None,
        misses: Sequence[NearMiss],
        fixes: Sequence[Fix],
        notes: Sequence[str],
        is_match: bool | None,
        *,
        of: int,
    ) -> None:
        self.query = query
        self.matches = matches
        self.misses = tuple(misses)
        self.changes = tuple(fixes)
        self.is_match = is_match  # of the events that were asked about; None where none were
        self.data = data
        self.resolved = resolved
        self.of = of  # how far a match comes
        self.numbers: Sequence[int] | None = None  # what the rows are called, if not by their places
        self._notes = tuple(notes)

    @property
    def table(self) -> pa.Table:
        """A row for each near miss: what it bound, how far it came, the rule and the event that ended it, and a change that helps."""
        rows = [
            {
                "events": [{"variable": v, "row": r} for v, rows in m.events.items() for r in rows],
                "reached": m.reached,
                "of": self.of,
                "rule": m.because.rule,
                "row": m.row,
                "because": one_line(m.because.said),
                "values": [{"name": n, "value": v} for n, v in m.because.values],
                "change": None if m.change is None else str(m.change),
                "query": None if m.change is None else str(m.change.query),
            }
            for m in self.misses
        ]
        return pa.Table.from_pylist(rows, schema=_SCHEMA)

    def plot(self) -> Picture:
        """Draw the near misses on a line of time: what they bound, where they broke and why."""
        from augury.pictures.misses import draw

        return draw(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from importlib.util import find_spec

        text = f'<pre style="line-height:1.5;white-space:pre-wrap">{html.escape(str(self))}</pre>'
        if find_spec("matplotlib") is None or not self.misses:
            return text
        drawn = self.plot().svg()
        return f'<div style="max-width:100%;overflow-x:auto">{drawn[drawn.index("<svg") :]}</div>{text}'

    def headline(self) -> str:
        """The answer in one sentence."""
        if self.is_match is not None:
            return "These events are a match." if self.is_match else "These events are no match."
        many = {None: "too many matches to list them", 0: "no match", 1: "1 match"}.get(
            self.matches, f"{self.matches} matches"
        )
        return f"{many[0].upper()}{many[1:]} among {self.data.num_rows:,} events."

    def _lines(self) -> Iterable[str]:
        yield self.headline()
        if self.misses:
            yield ""
            yield "WHAT BROKE" if self.is_match is not None else "NEAREST MISSES"
        for n, miss in enumerate(self.misses, 1):
            bound = ", ".join(
                f"{quoted(v)}{'[]' if len(r) > 1 else ''} = {self.named(r)}" for v, r in miss.events.items()
            )
            yield f"{n:>3}  {bound or 'no event begins a run'}" + (
                f"  ({miss.reached} of {self.of})" if self.is_match is None else ""
            )
            yield f"     {self.placed(miss)}"
            for other in miss.also:
                yield f"     also: {other}"
            if miss.change is not None:
                yield f"     would match: {miss.change}"
        if self.changes:
            yield ""
            yield "CHANGES THAT GIVE A MATCH, THE SMALLEST FIRST"
            for fix in self.changes:
                bound = ", ".join(f"{quoted(v)} = {self.named(r)}" for v, r in fix.events.items())
                yield f"     {fix}:  {bound}"
        for note in self._notes:
            yield ""
            yield note

    def placed(self, miss: NearMiss) -> str:
        """The broken rule, and the event at which it broke."""
        return str(miss.because) if miss.row is None else f"at {self.named((miss.row,))}: {miss.because}"

    def named(self, rows: Sequence[int]) -> str:
        """Events in a few words: their rows and times."""
        of = self.resolved
        times = physical_values(
            self.data.column(of.roles.time).take(pa.array(rows[:1])), of.columns.types[of.roles.time]
        )
        time = shown_instant(times[0], of.columns.types[of.roles.time].kind)
        called = rows if self.numbers is None else [self.numbers[r] for r in rows]
        numbers = ", ".join(map(str, called[:6])) + (f" … {called[-1]}" if len(called) > 6 else "")
        kind = ""
        if of.roles.type is not None:
            kind = f"{decoded(self.data.column(of.roles.type))[rows[0]].as_py()} "
        return one_line(f"{kind}row {numbers} at {time}")


_SCHEMA = pa.schema(
    [
        ("events", pa.list_(pa.struct([("variable", pa.string()), ("row", pa.int64())]))),
        ("reached", pa.int64()),
        ("of", pa.int64()),
        ("rule", pa.string()),
        ("row", pa.int64()),
        ("because", pa.string()),
        ("values", pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))),
        ("change", pa.string()),
        ("query", pa.string()),
    ]
)


# ------------------------------------------------------------------ the question


class _Question:
    """The events in stream order, and the way back to the rows as they were given."""

    def __init__(self, query: Query, table: pa.Table, options: Options) -> None:
        program = program_of(query.pattern, table.schema, options)
        self.query = query
        self.given, _ = without_bad_rows(table, program)
        if self.given.num_rows > MOST:
            raise DataError(
                f"{self.given.num_rows:,} events are more than the {MOST:,} of which why() follows every run; name one key, as in "
                'key={"user": 7}, or pass a part of the data'
            )
        self.resolved = program.query
        order = np.array(sase.stream_order(self.given, self.resolved), np.int64)
        ordered = pa.Table.from_arrays(
            [taken(c, order) for c in self.given.columns], schema=self.given.schema
        )
        self.order = order.tolist()
        self.place = {row: n for n, row in enumerate(self.order)}
        self.streams = sase.streams(ordered, self.resolved)
        self.asked = Asked(self.given, self.resolved)

    @property
    def length(self) -> int:
        return len(self.resolved.pattern.positives)

    def events(self, bound: Bound) -> dict[str, tuple[int, ...]]:
        """A binding in stream order by variable, in rows as they were given."""
        named = zip(self.resolved.pattern.positives, bound, strict=False)
        return {c.var: tuple(self.order[r] for r in rows) for c, rows in named}

    def fix(self, change: Change) -> Fix:
        from augury.query import Query

        named = {c.var: rows for c, rows in zip(change.pattern.positives, change.bound, strict=True)}
        query = Query(change.pattern, text_of_pattern(change.pattern), self.query.params)
        return Fix(change.rule, change.said, query, named)

    def miss(self, miss: Miss, also: Sequence[Broken] = (), change: Fix | None = None) -> NearMiss:
        row = None if miss.why.event is None else self.order[miss.why.event]
        return NearMiss(self.events(miss.bound), len(miss.bound), miss.why, row, tuple(also), change)


def why(
    query: Query,
    data: Any,
    *,
    time: Any,
    key: Any,
    events: Any,
    event: Any,
    limit: int,
    arguments: Any,
    numbers: Sequence[int] | None = None,
) -> Why:
    """Why a query did or did not match on these data; of some events, why they are no match.

    `numbers` are what the rows are called, where the data are a part of others.
    """
    table, names = pulled(data, key)
    with locating(query.text):
        options = Options(time=time_of(table.schema, time), key=names, **arguments)
        options.of_a_table()
        question = _Question(query, table, options)
        if events is not None:
            answer = _of_events(question, _rows_by_variable(question, events))
        else:
            answer = _of_all(question, None if event is None else _row_of(question, event), max(limit, 1))
        answer.numbers = numbers
        return answer


def _of_all(question: _Question, about: int | None, limit: int) -> Why:
    base = question.asked.base
    notes = []
    firsts = {question.place[b[0][0]] for b in base or ()}
    found: list[Miss] = []
    steps = Steps()
    try:
        for stream, row in ((s, r) for s in question.streams for r in s.rows if r not in firsts):
            miss = furthest(stream, row, steps)
            found += [] if miss is None else [miss]
    except LimitError:
        notes.append(
            f"Only the runs of the first {len(found):,} first events were followed: it would be too much work for all."
        )
    if base is None:
        notes.append("The query has more matches than can be told apart here; pass a part of the data.")
    if about is not None:
        at = question.place[about]
        found = [m for m in found if at in m.events or m.why.event == at]
    if not found and not firsts:
        begins = [m for s in question.streams if (m := never_begun(s)) is not None]
        found = sorted(begins, key=lambda m: m.more)[:1]
    found.sort(key=lambda m: (-len(m.bound), m.more, -len(m.events), m.events[:1]))

    def wanted(bound: Bound) -> bool:
        return about is None or any(about in rows for rows in bound)

    fixes = [question.fix(c) for c in changes(question.asked, wanted)] if base is not None else []
    misses = []
    for miss in found[:limit]:
        change = _change_of(question, miss) if base is not None else None
        misses.append(question.miss(miss, change=change))
        if about is not None and change is not None and change.said not in [f.said for f in fixes]:
            fixes.append(change)  # of a match that the event itself keeps from being one
    if not fixes and base is not None and not base:
        notes.append("No change of one rule or of two gives a match among these events.")
    if question.asked.too_much:
        notes.append("Some changes would give too many matches to be looked at, and are not told.")
    matches = None if base is None else sum(wanted(b) for b in base)
    return Why(
        question.query,
        question.given,
        question.resolved,
        matches,
        misses,
        fixes,
        notes,
        None,
        of=question.length,
    )


def _change_of(question: _Question, miss: Miss) -> Fix | None:
    """The smallest change of one rule with which a match begins where this run began."""
    first = question.order[miss.events[0]] if miss.bound else None
    found = changes(question.asked, lambda bound: first in (None, bound[0][0]), pairs=False)
    return question.fix(found[0]) if found else None


# ------------------------------------------------------------------ a given set of events


def _of_events(question: _Question, given: list[Bound]) -> Why:
    """The first rule that they break: of the ways to give them to the variables, the one that goes well for longest."""
    best: tuple[int, Bound, list[Broken]] | None = None
    for bound in given:
        stream = _stream_of(question, bound)
        broken = _broken(stream, bound)
        if not broken:
            best = (0, bound, [])
            break
        flat = [row for rows in bound for row in rows]
        at = len(flat) if broken[0].rule == "negation" else sum(r <= (broken[0].event or 0) for r in flat)
        if best is None or at > best[0]:
            best = (at, bound, broken)
    assert best is not None
    _, bound, broken = best
    rows = tuple(tuple(question.order[r] for r in part) for part in bound)
    if not broken:
        return Why(
            question.query,
            question.given,
            question.resolved,
            _many(question),
            [],
            [],
            [],
            True,
            of=question.length,
        )
    fixes = [question.fix(c) for c in changes(question.asked, lambda b: b == rows)]
    miss = question.miss(Miss(bound, broken[0]), broken[1:], fixes[0] if fixes else None)
    return Why(
        question.query,
        question.given,
        question.resolved,
        _many(question),
        [miss],
        fixes,
        [],
        False,
        of=question.length,
    )


def _many(question: _Question) -> int | None:
    return None if question.asked.base is None else len(question.asked.base)


def _stream_of(question: _Question, bound: Bound) -> Stream:
    return next(s for s in question.streams if bound[0][0] in s.rows)


def _broken(stream: Stream, bound: Bound) -> list[Broken]:
    outside = next((r for rows in bound for r in rows if r not in stream.rows), None)
    if outside is not None:
        return [Broken("key", "it has another key than the first event", outside)]
    return list(broken_rules(stream, bound))


def _rows_by_variable(question: _Question, events: Any) -> list[Bound]:
    """The bindings that the events may mean, in stream order."""
    positives = question.resolved.pattern.positives
    if isinstance(events, Mapping) and not set(events) <= {c.var for c in positives}:
        unknown = next(name for name in events if name not in {c.var for c in positives})
        raise QueryError(
            f"events= names {unknown!r}, which is no positive variable",
            hint=f"its names are {', '.join(quoted(c.var) for c in positives)}",
        )
    if isinstance(events, Mapping):
        parts = []
        for c in positives:
            given = events.get(c.var)
            listed = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
            if not listed or (len(listed) > 1 and not c.kleene):
                many = "no event" if not listed else f"{len(listed)} events"
                raise QueryError(
                    f"events= has {many} for {c}",
                    hint="give each variable its event, a Kleene variable one or more",
                )
            parts.append(tuple(question.place[_row_of(question, e)] for e in listed))
        return [tuple(parts)]
    listed = events.to_pylist() if isinstance(events, pa.Table) else list(events)
    rows = sorted({question.place[_row_of(question, e)] for e in listed})
    found = list(assignments(question.resolved, rows))
    if not found:
        most = "" if any(c.kleene for c in positives) else " and no more"
        raise QueryError(
            f"{len(rows)} events cannot be a match: the pattern binds {len(positives)}{most or ' or more'}",
            hint='say which event is which: events={"a": 0, "b": [2, 3]}',
        )
    return found


def _row_of(question: _Question, event: Any) -> int:
    """A row of the data: its number, or the values of some of its columns."""
    many = question.given.num_rows
    if isinstance(event, int) and not isinstance(event, bool):
        if not 0 <= event < many:
            raise DataError(f"there is no row {event}: the data have {many} rows, from 0 on")
        return event
    if not isinstance(event, Mapping):
        raise QueryError(
            f"{event!r} names no event", hint="give the number of its row, or a dict of its columns' values"
        )
    for name in event:
        question.resolved.columns.type_of(name)
    columns = {name: decoded(question.given.column(name)).to_pylist() for name in event}
    rows = [
        r
        for r in range(many)
        if all(columns[n][r] == v or (columns[n][r] is v is None) for n, v in event.items())
    ]
    if not rows:
        raise DataError(one_line(f"no event has {', '.join(f'{n} = {v!r}' for n, v in event.items())}"))
    if len(rows) > 1:
        raise DataError(
            one_line(
                f"{len(rows)} events have {', '.join(f'{n} = {v!r}' for n, v in event.items())}; name more columns"
            )
        )
    return rows[0]
