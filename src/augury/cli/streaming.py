"""`augury stream`: a query on events as they come, with a view of how it goes.

files, replayed ──────┐
a folder, as it grows ┴─> calls of rows ─> matcher: insert, advance ─> matches, written as they become certain
                                               └─> a live table on stderr, where somebody looks
"""

from __future__ import annotations

import datetime as dt
import sys
import time as clock
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from augury.cli.files import Source, sources_from
from augury.cli.inputs import Data
from augury.cli.matching import Roles, Target, read, told_types, told_warnings
from augury.cli.outputs import STDOUT, writing
from augury.cli.queries import naming, query_from
from augury.cli.screen import show_table, stderr, words_of
from augury.cli.trouble import UsageError, note
from augury.errors import DataError, QueryError, one_line
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MIN, INTEGERS, Kind
from augury.expr.types import from_arrow as type_of
from augury.match.gather import rows_of_table
from augury.replay import Arrivals, Arriving, Clock, Held, delay_of, length_of
from augury.runtime.changes import OP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from rich.console import RenderableType

    from augury.cli.outputs import Writer
    from augury.runtime.matcher import Matcher

_PULSE = 0.1  # seconds between two looks at a clock, and at a folder
_RECENT = 5.0  # seconds that a rate is of


@dataclass(frozen=True, slots=True)
class Arrival:
    """How the events come, as the options say it."""

    speed: float | None
    batch: int
    lateness: str | None
    disorder: float
    late: float
    duplicates: float
    delay: str | None
    follow: bool
    idle: float | None

    @property
    def is_plain(self) -> bool:
        return self.disorder == self.late == self.duplicates == 0

    def check(self) -> None:
        """Complain of what does not go together."""
        if self.follow and (self.speed is not None or not self.is_plain):
            raise UsageError(
                "--follow takes events as they come; --speed, --disorder and the like are of a replay"
            )
        if self.idle is not None and not self.follow:
            raise UsageError("--idle says when --follow ends; a replay ends with its last row")


def stream(
    given: str,
    params: Sequence[str],
    data: Callable[[], Data],
    folder: str | None,
    roles: Roles,
    target: Target,
    options: dict[str, Any],
    arrival: Arrival,
    *,
    quiet: bool,
) -> None:
    """Match events as they come; what is certain is written at once."""
    arrival.check()
    if options["output"] == "compressed" and target.format == "csv":
        raise UsageError("CSV cannot hold compressed matches; write parquet or Arrow")
    began = clock.monotonic()
    with naming(given):
        query = query_from(given, params)
        if arrival.follow:
            assert folder is not None
            grown = _Folder(folder, data, arrival, roles)
            schema, arguments, tables = grown.schema(), grown.arguments(), grown.tables()
            named: Data = grown.first
        else:
            named = data()
            table, arguments = read(query, named, roles, options, quiet=quiet)
            schema, tables = table.schema, _replayed(table, arguments["time"], arrival)
        with told_types(named, schema), told_warnings():
            matcher = query.matcher(schema, **arguments, **options)
            run = _Run(matcher, _lateness(schema, arguments["time"], arrival), target)
            try:
                run.through(tables, quiet=quiet)
            finally:
                if not quiet and isinstance(sys.exception(), KeyboardInterrupt | None):
                    note(run.told(clock.monotonic() - began))


def _lateness(schema: pa.Schema, time: str, arrival: Arrival) -> int:
    """How far behind the newest event no other is waited for, in instants: as long as rows are held up, if nobody says."""
    if arrival.lateness is None and arrival.is_plain:
        return 0
    given, name = (arrival.delay, "--delay") if arrival.lateness is None else (arrival.lateness, "--lateness")
    try:
        return length_of(given, name, schema.field(time).type, time)
    except QueryError:
        usual = "100" if type_of(schema.field(time).type).kind in INTEGERS else "'30 seconds'"
        raise UsageError(f"{name} {given!r} is no length of time of {time}; write {name} {usual}") from None


# ------------------------------------------------------------------ where events come from

Tables = Iterator["pa.Table | None"]  # None: nothing has come, and time goes on


def _replayed(table: pa.Table, time: str, arrival: Arrival) -> Tables:
    """Files as they once arrived, so many rows at a time, at the pace that is asked for."""
    missing = ~from_arrow(table.column(time), type_of(table.schema.field(time).type)).mask()
    if missing.any():  # bad rows come first: whether they may, the matcher says
        yield rows_of_table(table, np.flatnonzero(missing))
        table = rows_of_table(table, np.flatnonzero(~missing))
    delay = 0 if arrival.is_plain else delay_of(arrival.delay, table.schema.field(time).type, time)
    arriving = Arriving(Held(table, time), arrival.disorder, arrival.late, arrival.duplicates, delay)
    paced, arrivals, place = Clock(arriving, arrival.speed), Arrivals(arriving), 0
    while place < (paced.total or 0):
        end = paced.there(place, arrival.batch)
        assert end is not None
        if end == place:
            yield None
            clock.sleep(_PULSE)
        yield from arrivals.between(place, end)
        place = end


class _Folder:
    """The files of a folder: those that are there, and those that come. What is being written is left until it is whole."""

    def __init__(self, path: str, data: Callable[[], Data], arrival: Arrival, roles: Roles) -> None:
        self.path = path
        self.arrival = arrival
        self.roles = roles
        self._sizes: dict[str, int] = {}
        self._taken: set[str] = set()
        self._quiet_since = clock.monotonic()
        while not self._there():
            self._wait()
        self.first = data()

    def schema(self) -> pa.Schema:
        return self.first.schema()

    def arguments(self) -> dict[str, Any]:
        return self.roles.arguments(self.schema(), self.first.name)

    def tables(self) -> Tables:
        """The rows of the files, in the order in which these come; those that are there at the start by name."""
        while True:
            for source in self._whole():
                self._taken.add(source.path)
                self._quiet_since = clock.monotonic()
                table = replace(self.first, sources=(source,)).read(quiet=True)
                for start in range(0, table.num_rows, self.arrival.batch):
                    yield table.slice(start, self.arrival.batch)
            yield None
            if self.arrival.idle is not None and clock.monotonic() - self._quiet_since > self.arrival.idle:
                return
            clock.sleep(_PULSE)

    def _there(self) -> tuple[Source, ...]:
        try:
            return sources_from([self.path])
        except (DataError, UsageError):  # no file yet
            return ()

    def _wait(self) -> None:
        if self.arrival.idle is not None and clock.monotonic() - self._quiet_since > self.arrival.idle:
            raise DataError(f"{self.path} has no data files, and none came in {self.arrival.idle:g} seconds")
        clock.sleep(_PULSE)

    def _whole(self) -> list[Source]:
        """New files that have not grown since the last look."""
        found = []
        for source in self._there():
            if source.path in self._taken:
                continue
            size = source.size or 0
            if self._sizes.get(source.path) == size:
                found.append(source)
            self._sizes[source.path] = size
        return found


# ------------------------------------------------------------------ a run


class _Run:
    """Events go in, matches come out, and what happens is counted."""

    def __init__(self, matcher: Matcher, lateness: int, target: Target) -> None:
        self.matcher = matcher
        self.lateness = lateness
        self.target = target
        self.newest: int | None = None
        self.matches = 0
        self.recent: list[pa.Table] = []  # the newest rows, for a screen
        self.figures = Figures()

    def through(self, tables: Tables, *, quiet: bool) -> None:
        """All events, to the end of the stream; Ctrl-C leaves what has been found in a whole file."""
        with ExitStack() as opened:
            writer = None
            if self.target.path is not None:
                assert self.target.format is not None
                schema = self.matcher.program.gives
                writer = opened.enter_context(writing(self.target.path, self.target.format, schema))
            try:
                with _View(self, quiet=quiet) as view:
                    for table in tables:
                        if table is not None:
                            self._take(table, writer)
                        view.look()
                    self._give(self.matcher.close(), writer)
            except KeyboardInterrupt:
                opened.close()  # without an error: what was found is kept
                self._shown()
                raise
        self._shown()

    def _take(self, table: pa.Table, writer: Writer | None) -> None:
        m = self.matcher
        m.insert(table)
        times = from_arrow(table.column(m.program.clock), m.program.columns.types[m.program.clock])
        known = np.asarray(times.values)[times.mask()]
        if len(known):
            newest = int(known.max())
            self.newest = newest if self.newest is None else max(self.newest, newest)
            self._give(m.advance_to(max(self.newest - self.lateness, INT64_MIN)), writer)
        self.figures.take(table.num_rows, self.matches)

    def _give(self, changes: pa.Table, writer: Writer | None) -> None:
        if not changes.num_rows:
            return
        rows = changes.drop_columns([OP])
        self.matches += rows.num_rows
        if writer is not None:
            writer.write(rows)
            if self.target.path == STDOUT:
                sys.stdout.buffer.flush()
        if self.target.limit:
            last = rows.slice(max(0, rows.num_rows - self.target.limit))
            self.recent.append(last)
            while sum(t.num_rows for t in self.recent[1:]) >= self.target.limit:
                self.recent.pop(0)

    def newest_rows(self) -> pa.Table | None:
        """The matches that were found last."""
        import pyarrow as pa

        if not self.recent:
            return None
        whole = pa.concat_tables(self.recent)
        start = max(0, whole.num_rows - self.target.limit)
        return rows_of_table(whole, np.arange(start, whole.num_rows))

    def _shown(self) -> None:
        rows = self.newest_rows()
        if self.target.path is None and rows is not None:
            show_table(rows, self.target.limit)

    def told(self, took: float) -> str:
        """The closing line."""
        counts = self.matcher.stats
        late = f", {counts['late_events']:,} late" if counts["late_events"] else ""
        many = f"{self.matches:,} match{'' if self.matches == 1 else 'es'}"
        if self.target.path is None and self.matches > self.target.limit:
            many += f", the last {self.target.limit:,} shown; -o FILE keeps them all"
        elif self.target.path not in (None, STDOUT):
            many += f" in {self.target.path}"
        return f"{many} ({counts['events'] + counts['late_events']:,} events{late}, {took:.2f} s)"

    def lag(self) -> str:
        """From the last punctuation to the newest event: how long a match waits at most, besides its query's own reasons."""
        m = self.matcher
        if self.newest is None or m.frontier is None:
            return "–"
        behind = self.newest - m.frontier
        kind = m.program.columns.types[m.program.clock].kind
        units = {Kind.TIMESTAMP: dt.timedelta(microseconds=1), Kind.DATE: dt.timedelta(days=1)}
        return str(behind * units[kind]) if kind in units else f"{behind:,}"


@dataclass
class Figures:
    """What was taken when: rates of the last seconds."""

    now: Callable[[], float] = clock.monotonic
    events: int = 0
    matches: int = 0
    began: float = field(init=False)
    marks: deque[tuple[float, int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.began = self.now()
        self.marks.append((self.began, 0, 0))

    def take(self, events: int, matches: int) -> None:
        """So many more events, so many matches in all."""
        self.events += events
        self.matches = matches
        self.marks.append((self.now(), self.events, matches))
        while len(self.marks) > 2 and self.marks[1][0] < self.now() - _RECENT:
            self.marks.popleft()

    def rates(self) -> tuple[float, float]:
        """Events and matches a second."""
        then, events, matches = self.marks[0]
        passed = max(self.now() - then, 1e-3)
        return (self.events - events) / passed, (self.matches - matches) / passed


class _View:
    """The live table, on stderr where that is a terminal; nothing elsewhere."""

    def __init__(self, run: _Run, *, quiet: bool) -> None:
        self.run = run
        self.live: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.live import Live

            self.live = Live(console=stderr(), auto_refresh=False, transient=True)
        self.drawn = 0.0

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def look(self) -> None:
        """Draw anew, a few times a second."""
        if self.live is not None and clock.monotonic() - self.drawn > _PULSE:
            self.drawn = clock.monotonic()
            self.live.update(picture(self.run), refresh=True)


def picture(run: _Run) -> RenderableType:
    """How a run is going: its figures, and the matches found last."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = run.matcher.stats
    events, matches = run.figures.rates()
    cells = {
        "events": f"{counts['events']:,}",
        "events/s": f"{events:,.0f}",
        "matches": f"{run.matches:,}",
        "matches/s": f"{matches:,.0f}",
        "lag": run.lag(),
        "live runs": f"{counts['live_runs']:,}",
        "events kept": f"{counts['buffered_events']:,}",
        "state": f"{counts['bytes'] / 1e6:,.1f} MB",
        "late": f"{counts['late_events']:,}",
    }
    if counts["bad_rows"]:
        cells["bad rows"] = f"{counts['bad_rows']:,}"
    figures = Table(box=None, pad_edge=False, header_style="dim")
    for name in cells:
        figures.add_column(name, justify="right", no_wrap=True)
    figures.add_row(*cells.values())
    rows = run.newest_rows()
    if rows is None:
        return figures
    found = Table(box=None, pad_edge=False, header_style="dim")
    for name in rows.schema.names:
        found.add_column(Text(one_line(name)), no_wrap=True, overflow="ellipsis")
    for row in rows.slice(max(0, rows.num_rows - 8)).to_pylist():
        found.add_row(*(Text(words_of(value)) for value in row.values()))
    return Group(figures, Text(), found)
