"""Matches over the series in which they were found, or as bars in a lane for each key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.errors import DataError, QueryError
from augury.expr.columns import physical_values
from augury.expr.types import NUMBERS
from augury.match.gather import decoded
from augury.one_key import pulled
from augury.pictures.canvas import DIM, FAINT, INK, SERIES, Picture, fitted, shown, style, width_of
from augury.pictures.found import Found, found_in, time_column
from augury.pictures.timeline import WIDTH, Clock, Labels, dot, margins, packed
from augury.schema import Columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 6
ROWS = 8  # of bars in one lane
LANE_ROW, PANEL, TOP, BOTTOM, SIDE = 17.0, 160.0, 30.0, 34.0, 16.0
TICKS, KINDS = 10.0, 21.0  # the height of a lane's events, without and with their types
NULL = ("∅",)


def plot_matches(
    result: Any,
    data: Any = None,
    *,
    y: str | None = None,
    time: str | tuple[str, str] | None = None,
    type: str | None = None,
    key: Any = None,
    limit: int = 40,
) -> Picture:
    """Draw matches: with `y` over that column of the data, a panel for each key; without it as bars in lanes.

    `result` is what `match` gave; `data` what it was given. The time column is the one in which the matches' times stand, and
    needs no name where only one can be it. `type` names the column whose values are written at the events, `key` the
    key columns where the result does not have them, or one key alone: `key={"user": 7}`.

    >>> import augury as ag
    >>> import pyarrow as pa
    >>> ticks = pa.table({"ts": [1, 2, 3, 4], "price": [5.0, 7.0, 6.0, 9.0]})
    >>> found = ag.sase("PATTERN SEQ(T a, T b) WHERE b.price > a.price + 2").match(ticks, time="ts")
    >>> ag.plot_matches(found, ticks, y="price")
    <Picture of 2 matches>
    """
    if y is not None and data is None:
        raise QueryError(
            "matches are drawn over y= of the data, and there are no data",
            hint="pass them: plot_matches(result, data, y=…)",
        )
    rows, _ = pulled(result, key if _has(result, key) else None)
    events, names = (None, key) if data is None else pulled(data, key)
    if y is not None and events is not None:
        found = Columns.of(events.schema).type_of(y)
        if found.kind not in NUMBERS:
            raise QueryError(
                f"y={y!r} is {found.named}, and a series is of numbers", hint="name a column of numbers"
            )
    at = time_column(events, rows, time)
    matches, keys, of = found_in(rows.slice(0, max(limit, 0)), at, y)
    if events is not None and at is None:
        raise DataError("the data have no column of the kind of the matches' times")
    drawing = _Drawing(matches, rows.num_rows, keys, Clock(dated=False, unit=1.0), events, at, type)
    wanted = [names] if isinstance(names, str) else list(names or keys)
    lanes = drawing.lanes(wanted, y)
    drawing.clock = Clock.of(of, drawing.instants(lanes))
    with style():
        return drawing.series(lanes, y) if y is not None else drawing.bars(lanes)


def _has(result: Any, key: Any) -> bool:
    columns = getattr(result, "columns", None) if not isinstance(result, pa.Table) else result.schema.names
    return isinstance(key, dict) and columns is not None and all(name in list(columns) for name in key)


@dataclass(slots=True)
class Lane:
    """One key: its matches, and the events of the data."""

    name: str
    matches: list[tuple[int, Found]]
    times: list[int]
    values: list[Any]
    kinds: list[str]


@dataclass(slots=True)
class _Drawing:
    matches: list[Found]
    total: int
    keys: tuple[str, ...]
    clock: Clock
    data: pa.Table | None
    time: tuple[str, str | None] | None
    type: str | None

    def lanes(self, names: list[str], y: str | None) -> list[Lane]:
        """The matches by key, and the events of each key that has some."""
        shared = [n for n in names if n in self.keys]
        picks = [self.keys.index(n) for n in shared]
        found: dict[tuple[Any, ...], Lane] = {}
        for number, match in enumerate(self.matches):
            key = tuple(_comparable(match.key[i]) for i in picks)
            title = ", ".join(f"{n} = {match.key[i]}" for n, i in zip(shared, picks, strict=True))
            found.setdefault(key, Lane(title, [], [], [], [])).matches.append((number, match))
        if not found:
            found[()] = Lane("", [], [], [], [])
            shared = []
        if self.data is not None and self.time is not None:
            self._events(found, shared, y)
        return [found[key] for key in sorted(found, key=_in_order)]

    def _events(self, lanes: dict[tuple[Any, ...], Lane], names: list[str], y: str | None) -> None:
        assert self.data is not None
        assert self.time is not None
        table, columns = self.data, Columns.of(self.data.schema)
        for name in [*names, *([y] if y else []), *([self.type] if self.type else [])]:
            columns.type_of(name)
        times = physical_values(table.column(self.time[0]), columns.types[self.time[0]])
        values = physical_values(table.column(y), columns.types[y]) if y else [None] * len(times)
        kinds = decoded(table.column(self.type)).to_pylist() if self.type else [""] * len(times)
        keys = [decoded(table.column(n)).to_pylist() for n in names]
        for row in sorted((r for r, t in enumerate(times) if t is not None), key=times.__getitem__):
            lane = lanes.get(tuple(_comparable(k[row]) for k in keys))
            if lane is not None:
                lane.times.append(times[row])
                lane.values.append(values[row])
                lane.kinds.append("" if kinds[row] is None else str(kinds[row]))

    def instants(self, lanes: list[Lane]) -> list[int]:
        found = [t for lane in lanes if lane.times for t in (lane.times[0], lane.times[-1])]
        for m in self.matches:
            found += [
                m.start,
                *([] if m.end is None else [m.end]),
                *(e.time for e in m.events),
                *(e.end for e in m.events),
            ]
        return found

    def limits(self, lanes: list[Lane]) -> tuple[float, float]:
        at = [self.clock.at(t) for t in self.instants(lanes)] or [0.0, 1.0]
        return margins(min(at), max(at))

    def title(self, lanes: list[Lane], most: int) -> str:
        many = f"{self.total:,} {'match' if self.total == 1 else 'matches'}"
        said = many if len(self.matches) == self.total else f"the first {len(self.matches):,} of {many}"
        if len(lanes) > most:
            said += f", {most} of {len(lanes)} keys"
        return said

    # -------------------------------------------------------------- over a series

    def series(self, lanes: list[Lane], y: str) -> Picture:
        """A panel for each key: the series, and on it each match in a colour of its own."""
        panels = lanes[:PANELS]
        head = 22.0 if any(lane.name for lane in panels) else 8.0
        height = TOP + (PANEL + head) * len(panels) + BOTTOM
        figure = _figure(height)
        _title(figure, height, self.title(lanes, PANELS))
        low, high = self.limits(panels)
        for n, lane in enumerate(panels):
            bottom = BOTTOM + (PANEL + head) * (len(panels) - 1 - n)
            axes = _axes(figure, height, 54, bottom, WIDTH - 54 - SIDE, PANEL)
            numbers = [float("nan") if v is None else float(v) for v in lane.values]
            axes.plot([self.clock.at(t) for t in lane.times], numbers, color=FAINT, linewidth=1.2, zorder=2)
            axes.set_xlim(low, high)
            finite = [v for v in numbers if abs(v) < float("inf")]
            axes.set_ylim(*margins(min(finite), max(finite), 0.14) if finite else (0, 1))
            axes.set_ylabel(fitted(y, PANEL - 40, 9))
            axes.locator_params(axis="y", nbins=5)
            axes.grid(axis="y", color="#eef0f3", linewidth=0.8, zorder=0)
            self.clock.axis(axes)
            if n < len(panels) - 1:
                axes.tick_params(labelbottom=False)
            if lane.name:
                axes.set_title(fitted(lane.name, WIDTH - 100, 9), loc="left", fontsize=9, color=DIM, pad=4)
            self._on_series(axes, lane, numbers)
        return Picture(figure, self._of())

    def _on_series(self, axes: Axes, lane: Lane, numbers: list[float]) -> None:
        labels = Labels(axes)
        told: set[tuple[str, int]] = set()
        for number, match in lane.matches:
            colour = SERIES[number % len(SERIES)]
            points = [(self.clock.at(e.time), e.value, e) for e in match.events if e.value is not None]
            if not points:
                end = match.start if match.end is None else match.end
                part = [
                    (self.clock.at(t), v)
                    for t, v in zip(lane.times, numbers, strict=True)
                    if match.start <= t <= end
                ]
                axes.plot([x for x, _ in part], [v for _, v in part], color=colour, linewidth=2, zorder=3)
                continue
            axes.plot(
                [x for x, _, _ in points],
                [v for _, v, _ in points],
                color=colour,
                linewidth=1.6,
                alpha=0.85,
                zorder=3,
            )
            for x, value, event in points:
                if event.end != event.time:
                    axes.plot(
                        [x, self.clock.at(event.end)], [value, value], color=colour, linewidth=3, alpha=0.35
                    )
                dot(axes, x, value, colour, size=5)
                labels.keep_clear(x, value, 3)
        for number, match in lane.matches:
            for event in match.events:
                if event.value is not None and (event.var, event.time) not in told:
                    told.add((event.var, event.time))
                    where = [(0, 10), (0, -10), (10, 7), (-10, 7)]
                    colour = SERIES[number % len(SERIES)]
                    labels.put(
                        self.clock.at(event.time), event.value, shown(event.var), colour, offsets=where
                    )

    # -------------------------------------------------------------- as bars

    def bars(self, lanes: list[Lane]) -> Picture:
        """A lane for each key: its events as ticks, and above them a bar for each match."""
        low, high = self.limits(lanes)
        side = min(150.0, max((width_of(shown(lane.name), 8) for lane in lanes), default=0.0)) + 22
        inner = WIDTH - side - SIDE
        gap = (high - low) * 10 / inner
        rows: list[list[int]] = []
        heights: list[float] = []
        events = 0.0 if self.data is None else KINDS if self.type else TICKS
        for lane in lanes:
            lane.matches.sort(key=lambda m: (m[1].start, m[0]))
            noted = (
                (high - low) * (30 if any(m.confidence is not None for _, m in lane.matches) else 0) / inner
            )
            spans = [
                (self.clock.at(m.start), (high if m.end is None else self.clock.at(m.end)) + noted)
                for _, m in lane.matches
            ]
            rows.append(packed(spans, gap))
            many = max(rows[-1], default=-1) + 1
            heights.append(LANE_ROW * (min(many, ROWS) + (1 if many > ROWS else 0)) + 4 + events)
        total = sum(heights) + 12 * (len(lanes) - 1)
        height = TOP + total + BOTTOM
        figure = _figure(height)
        _title(figure, height, self.title(lanes, len(lanes)))
        axes = _axes(figure, height, side, BOTTOM, inner, total)
        axes.set(xlim=(low, high), ylim=(total, 0))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        self.clock.axis(axes)
        labels = Labels(axes)
        top = 0.0
        for lane, places, tall in zip(lanes, rows, heights, strict=True):
            if lane.name:
                axes.text(
                    -10 / inner,
                    top + tall / 2,
                    fitted(lane.name, side - 20, 8),
                    transform=axes.get_yaxis_transform(),
                    fontsize=8,
                    color=INK,
                    ha="right",
                    va="center",
                )
            if top:
                axes.axhline(top - 6, color="#eef0f3", linewidth=1, zorder=0)
            self._lane(axes, labels, lane, places, top, top + tall - events)
            top += tall + 12
        return Picture(figure, self._of())

    def _lane(
        self, axes: Axes, labels: Labels, lane: Lane, places: Sequence[int], top: float, under: float
    ) -> None:
        hidden = 0
        told: list[tuple[float, float, str, str]] = []
        for (number, match), place in zip(lane.matches, places, strict=True):
            if place >= ROWS:
                hidden += 1
                continue
            y, colour = top + LANE_ROW * (place + 0.5) + 4, SERIES[number % len(SERIES)]
            strength = 1.0 if match.confidence is None else 0.35 + 0.65 * max(0.0, min(1.0, match.confidence))
            end = axes.get_xlim()[1] if match.end is None else self.clock.at(match.end)
            axes.plot(
                [self.clock.at(match.start), end],
                [y, y],
                color=colour,
                linewidth=2.2,
                alpha=0.55 * strength,
                zorder=3,
            )
            if match.end is None:
                axes.plot([end], [y], marker=5, color=colour, markersize=5, alpha=strength, clip_on=False)
            for event in match.events:
                x = self.clock.at(event.time)
                if event.end != event.time:
                    to = self.clock.at(event.end)
                    axes.plot(
                        [x, to],
                        [y, y],
                        color=colour,
                        linewidth=6,
                        alpha=0.35 * strength,
                        solid_capstyle="butt",
                    )
                    x = (x + to) / 2
                dot(axes, x, y, colour, size=5.5, alpha=strength)
                labels.keep_clear(x, y, 3)
                told.append((x, y, event.var, colour))
            if not match.events:
                for x in (self.clock.at(match.start), end):
                    axes.plot([x], [y], "|", color=colour, markersize=8, alpha=strength)
            if match.confidence is not None:
                labels.put(end, y, f"{match.confidence:.2g}", colour, offsets=[(15, 0)])
        for x, y, var, colour in told:
            labels.put(x, y, shown(var), colour, offsets=[(0, 9), (9, 5), (-9, 5)])
        if hidden:
            where = top + LANE_ROW * (ROWS + 0.5) + 4
            axes.text(
                axes.get_xlim()[0], where, f" and {hidden:,} more", fontsize=7.5, color=DIM, va="center"
            )
        if self.data is not None:
            y = under + 5
            axes.plot(
                [self.clock.at(t) for t in lane.times],
                [y] * len(lane.times),
                "|",
                color=FAINT,
                markersize=6,
                zorder=1,
            )
            for t, kind in zip(lane.times, lane.kinds, strict=True):
                if kind and len(lane.times) <= 200:
                    labels.put(self.clock.at(t), y, fitted(kind, 60, 7.5), DIM, offsets=[(0, -8)])

    def _of(self) -> str:
        return f"{len(self.matches)} {'match' if len(self.matches) == 1 else 'matches'}"


def _in_order(key: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Lanes stand by their keys, whatever the order of the rows: numbers as numbers, what has no order as its text."""
    return [
        ("number", v)
        if isinstance(v, int | float)
        else (type(v).__name__, v if isinstance(v, str) else repr(v))
        for v in key
    ]


def _comparable(value: Any) -> Any:
    """As keys are compared: NaNs are one."""
    return NULL if value is None else ("NaN",) if value != value else value


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH / 72, height / 72))


def _axes(figure: Figure, height: float, left: float, bottom: float, width: float, tall: float) -> Axes:
    return figure.add_axes((left / WIDTH, bottom / height, width / WIDTH, tall / height))


def _title(figure: Figure, height: float, text: str) -> None:
    figure.text(SIDE / WIDTH, 1 - 14 / height, text, fontsize=9.5, weight="bold", va="center")
