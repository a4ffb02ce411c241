"""What each selection strategy takes from the same events: one row of events, and below it the matches of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.errors import LimitError, QueryError, locating
from augury.expr.columns import physical_values
from augury.match.gather import decoded
from augury.match.rows import taken
from augury.one_key import pulled, time_of
from augury.pattern import Pattern, Strategy
from augury.pictures.canvas import DIM, FAINT, INK, PAPER, SERIES, Picture, fitted, sheet, shown, style
from augury.resolve import Resolved
from augury.runtime.options import Options
from augury.runtime.sequences import program_of
from augury.runtime.table import without_bad_rows
from augury.semantics import sase as semantics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from augury.query import Query

MOST = 28  # events that are drawn beside each other
LOOKED_AT, KEYS = 300, 50  # events of a key, and keys, among which a match is looked for
ROWS = 6  # matches of one strategy
STEP, ROW, RADIUS, MARGIN, NAMES = 24.0, 17.0, 6.5, 16.0, 126.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """One strategy's matches on the events at hand: by variable the places of the events."""

    strategy: Strategy
    matches: list[tuple[tuple[int, ...], ...]]


def plot_strategies(
    query: Query, data: Any, *, time: Any = None, key: Any = None, **arguments: Any
) -> Picture:
    """Draw what each strategy selects, were it the query's: the same events above, the matches of each below.

    Arguments are those of `match`; the time column may be left out where one alone can be it. Of several keys the first one
    that has a match is drawn, or the one that is named: `key={"user": 7}`. A picture has room for 28 events: of more, those around a
    match whose events stand close together.

    >>> import augury as ag
    >>> import pyarrow as pa
    >>> events = pa.table({"ts": [1, 2, 3, 4], "kind": ["A", "B", "A", "B"]})
    >>> ag.plot_strategies(ag.sase("PATTERN SEQ(A a, B b)"), events, type="kind")
    <Picture of 3 strategies>
    """
    pattern = getattr(query, "pattern", None)
    if not isinstance(pattern, Pattern):
        raise QueryError(
            "only SASE+ queries have selection strategies",
            hint="query.plot() draws the automaton of any query",
        )
    table, names = pulled(data, key)
    with locating(query.text):
        options = Options(time=time_of(table.schema, time), key=names, **arguments)
        options.of_a_table()
        program = program_of(pattern, table.schema, options)
        table, _ = without_bad_rows(table, program)
        stretch = _stretch(table, program.query, options.most_runs)
        chosen = [
            Chosen(s, _matches(stretch, program.query, s, options)) for s in Strategy if _fits(s, pattern)
        ]
    with style():
        return _draw(stretch, program.query, chosen)


def _fits(strategy: Strategy, pattern: Pattern) -> bool:
    return strategy is not Strategy.PARTITION or bool(pattern.partition)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the stream of one key: its events in order, and those among them that are drawn."""

    table: pa.Table
    drawn: tuple[int, ...]
    title: str


def _stretch(table: pa.Table, query: Resolved, max_runs: int) -> Stretch:
    """The stretch around the closest events that could be a match, of the first key that has some."""
    order = np.array(semantics.stream_order(table, query), np.int64)
    table = _rows(table, order)
    streams = semantics.streams(table, query)
    if not streams:
        return Stretch(table, (), "")
    loosest = replace(query, pattern=replace(query.pattern, strategy=Strategy.ANY))
    rows, best = streams[0].rows, None
    for stream in streams[:KEYS]:
        part = _rows(table, stream.rows[:LOOKED_AT])
        try:
            found = semantics.matches(part, loosest, max_runs)
        except LimitError:
            found = []
        if found:
            rows, best = stream.rows, min(found, key=lambda m: (m.last - m.first, m.first))
            break
    first, last = (0, 0) if best is None else (best.first, best.last)
    start = first if last - first >= MOST - 2 else max(0, min(first - 2, len(rows) - MOST))
    end = min(start + max(MOST, last - first + 1), len(rows))
    low, high = _around(table, query, rows, start, end)
    part = _rows(table, rows[low:high])
    said = [f"{name} = {decoded(table.column(name))[rows[0]].as_py()}" for name in query.roles.key]
    drawn = tuple(range(start - low, end - low))
    if len(drawn) > MOST:  # events of other partitions stand between, and nothing but a contiguity minds them
        values = semantics.partitions(part, query)
        drawn = tuple(n for n in drawn if values[n] == values[start - low])[:MOST]
        said += [f"{a} = {v}" for a, v in zip(query.pattern.partition, values[start - low], strict=True)]
    if len(drawn) < len(rows):
        said.append(f"{len(drawn)} of {len(rows):,} events")
    return Stretch(part, drawn, ", ".join(said))


def _around(table: pa.Table, query: Resolved, rows: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """The stretch with the events of one window before and after it, which negated components ask for."""
    if query.window is None:
        return start, end
    times = physical_values(table.column(query.roles.time), query.columns.types[query.roles.time])
    low, high = start, end
    while low > 0 and start - low < LOOKED_AT and times[rows[start]] - times[rows[low - 1]] < query.window:
        low -= 1
    while (
        high < len(rows)
        and high - end < LOOKED_AT
        and times[rows[high]] - times[rows[end - 1]] < query.window
    ):
        high += 1
    return low, high


def _rows(table: pa.Table, rows: Any) -> pa.Table:
    places = np.array(rows, np.int64)
    return pa.Table.from_arrays([taken(c, places) for c in table.columns], schema=table.schema)


def _matches(
    stretch: Stretch, query: Resolved, strategy: Strategy, options: Options
) -> list[semantics.Bound]:
    """The matches of a strategy whose events are drawn."""
    asked = replace(query, pattern=replace(query.pattern, strategy=strategy))
    found = semantics.matches(stretch.table, asked, options.most_runs)
    output = "all" if options.output in ("count", "compressed") else options.output
    chosen = semantics.select(found, output, stretch.table, asked)
    return [m.bound for m in chosen if set(m.positions) <= set(stretch.drawn)]


def _draw(stretch: Stretch, query: Resolved, chosen: list[Chosen]) -> Picture:
    title = stretch.title
    heights = [max(ROW * (min(len(c.matches), ROWS) + (len(c.matches) > ROWS)) + 12, 42.0) for c in chosen]
    head = MARGIN + (18 if title else 0)
    top = head + 36
    width = MARGIN + NAMES + STEP * max(len(stretch.drawn), 4) + MARGIN
    figure, axes = sheet(width, top + sum(heights) + MARGIN - 4)
    xs = {row: MARGIN + NAMES + STEP * (n + 0.5) for n, row in enumerate(stretch.drawn)}
    if title:
        axes.text(
            MARGIN,
            MARGIN + 4,
            fitted(title, width - 2 * MARGIN, 9.5),
            fontsize=9.5,
            weight="bold",
            va="center",
        )
    _events(axes, _rows(stretch.table, stretch.drawn), query, list(xs.values()), head)
    for c, tall in zip(chosen, heights, strict=True):
        axes.plot([MARGIN, width - MARGIN], [top, top], color="#eef0f3", linewidth=1)
        own = c.strategy is query.pattern.strategy
        name = c.strategy.value.removesuffix("_match")
        axes.text(MARGIN, top + 14, name, fontsize=8.5, weight="bold" if own else "normal", va="center")
        many = f"{len(c.matches):,} {'match' if len(c.matches) == 1 else 'matches'}"
        axes.text(
            MARGIN, top + 27, f"{many}, the query's" if own else many, fontsize=7.5, color=DIM, va="center"
        )
        _lane(axes, c, query.pattern, xs, top + 14)
        top += tall
    return Picture(figure, f"{len(chosen)} strategies")


def _events(axes: Axes, table: pa.Table, query: Resolved, xs: list[float], top: float) -> None:
    """The row of all events: a type or a number in each, the time below."""
    roles = query.roles
    kinds = decoded(table.column(roles.type)).to_pylist() if roles.type else [None] * table.num_rows
    times = _times(table, query)
    before = -100.0
    for n, (x, kind) in enumerate(zip(xs, kinds, strict=True)):
        text = fitted(str(n + 1) if roles.type is None else "" if kind is None else str(kind), STEP - 2, 7.5)
        axes.plot([x], [top + 10], "o", markersize=4, color=FAINT)
        axes.text(x, top - 1, text, fontsize=7.5, ha="center", va="center", color=INK)
        room = 12 + 4.2 * len(times[n])
        if x - before >= room:
            axes.text(x, top + 22, times[n], fontsize=7, ha="center", va="center", color=DIM)
            before = x


def _times(table: pa.Table, query: Resolved) -> list[str]:
    values = decoded(table.column(query.roles.time)).to_pylist()
    if pa.types.is_timestamp(table.schema.field(query.roles.time).type):
        days = {v.date() for v in values}
        return [f"{v:%H:%M:%S}" if len(days) < 2 else f"{v:%d %H:%M}" for v in values]
    return [shown(v) for v in values]


def _lane(axes: Axes, chosen: Chosen, pattern: Pattern, xs: dict[int, float], top: float) -> None:
    for n, bound in enumerate(chosen.matches[:ROWS]):
        y, colour = top + ROW * n, SERIES[n % len(SERIES)]
        rows = [row for rows in bound for row in rows]
        axes.plot([xs[rows[0]], xs[rows[-1]]], [y, y], color=colour, linewidth=1.6, alpha=0.5, zorder=2)
        for c, events in zip(pattern.positives, bound, strict=True):
            for row in events:
                axes.plot([xs[row]], [y], "o", markersize=2 * RADIUS, color=colour, zorder=3)
                label = fitted(c.var, 2 * RADIUS - 2, 7)
                axes.text(xs[row], y, label, fontsize=7, color=PAPER, ha="center", va="center", zorder=4)
    if len(chosen.matches) > ROWS:
        more = f"and {len(chosen.matches) - ROWS:,} more"
        axes.text(MARGIN + NAMES, top + ROW * ROWS, more, fontsize=7.5, color=DIM, va="center")
