"""Near misses on a line of time: what each bound, the event at which it broke, and in words the rule and a change that helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from augury.expr.columns import physical_values
from augury.pictures.canvas import (
    DIM,
    FAINT,
    GREEN,
    PAPER,
    RED,
    SERIES,
    Picture,
    fitted,
    shown,
    style,
    wrapped,
)
from augury.pictures.timeline import WIDTH, Clock, margins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from augury.why import Why
    from augury.why.answer import NearMiss

MOST = 6
MARGIN, HEAD, BOTTOM, TRACK, LINE, GAP = 16.0, 34.0, 34.0, 22.0, 12.0, 12.0
WORDS = 8.0


def draw(why: Why) -> Picture:
    """The picture of an answer."""
    with style():
        return _draw(why)


def _draw(why: Why) -> Picture:
    from matplotlib.figure import Figure

    misses = why.misses[:MOST]
    inner = WIDTH - 2 * MARGIN
    words = [_words(why, miss, inner) for miss in misses]
    total = sum(TRACK + LINE * len(lines) + GAP for lines in words)
    height = HEAD + max(total, 10) + BOTTOM
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    figure.text(
        MARGIN / WIDTH,
        1 - 15 / height,
        fitted(why.headline(), inner, 9.5),
        fontsize=9.5,
        weight="bold",
        va="center",
    )
    axes = figure.add_axes((MARGIN / WIDTH, BOTTOM / height, inner / WIDTH, max(total, 10) / height))
    of, data = why.resolved, why.data
    kind = of.columns.types[of.roles.time]
    times = physical_values(data.column(of.roles.time), kind)
    rows = [r for m in misses for part in m.events.values() for r in part] + [
        m.row for m in misses if m.row is not None
    ]
    clock = Clock.of(kind, [times[r] for r in rows])
    at = [clock.at(times[r]) for r in rows] or [0.0, 1.0]
    low, high = margins(min(at), max(at), 0.05)
    axes.set(xlim=(low, high), ylim=(max(total, 10), 0))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    clock.axis(axes)
    top = 0.0
    for n, (miss, lines) in enumerate(zip(misses, words, strict=True)):
        if n:
            axes.axhline(top - GAP / 2, color="#eef0f3", linewidth=1, zorder=0)
        _track(axes, miss, top + TRACK / 2 + 2, clock, times, SERIES[n % len(SERIES)])
        for k, (text, colour) in enumerate(lines):
            y = top + TRACK + LINE * (k + 0.5) + 2
            axes.text(
                0,
                y,
                text,
                transform=axes.get_yaxis_transform(),
                fontsize=WORDS,
                color=colour,
                va="center",
                zorder=5,
            )
        top += TRACK + LINE * len(lines) + GAP
    return Picture(figure, f"{len(misses)} near {'miss' if len(misses) == 1 else 'misses'}")


def _words(why: Why, miss: NearMiss, width: float) -> list[tuple[str, str]]:
    said = [(line, RED) for line in wrapped(why.placed(miss), width, WORDS, lines=3)]
    if miss.also:
        said.append((fitted(f"and {len(miss.also)} more", width, WORDS), DIM))
    if miss.change is not None:
        said += [(line, GREEN) for line in wrapped(f"would match: {miss.change}", width, WORDS, lines=2)]
    return said


def _track(axes: Axes, miss: NearMiss, y: float, clock: Clock, times: list[int], colour: str) -> None:
    bound = [(clock.at(times[r]), v) for v, rows in miss.events.items() for r in rows]
    xs = [x for x, _ in bound]
    if xs:
        axes.plot([min(xs), max(xs)], [y, y], color=colour, linewidth=1.8, alpha=0.55, zorder=2)
    if miss.row is not None:
        x = clock.at(times[miss.row])
        if xs and x > max(xs):
            axes.plot([max(xs), x], [y, y], color=FAINT, linewidth=1.2, linestyle="--", zorder=1)
        if x not in xs:
            axes.plot([x], [y], "o", markersize=11, markerfacecolor=PAPER, markeredgecolor=RED, zorder=3)
        axes.plot(
            [x], [y - (0 if x not in xs else 9)], "x", markersize=5, color=RED, markeredgewidth=1.6, zorder=6
        )
    drawn: list[float] = []
    room = (axes.get_xlim()[1] - axes.get_xlim()[0]) * 12 / (WIDTH - 2 * MARGIN)
    for x, var in bound:
        axes.plot(
            [x], [y], "o", markersize=11, color=colour, markeredgecolor=PAPER, markeredgewidth=0.6, zorder=4
        )
        if all(abs(x - other) >= room for other in drawn):
            axes.text(
                x, y, fitted(shown(var), 10, 7), fontsize=7, color=PAPER, ha="center", va="center", zorder=5
            )
            drawn.append(x)
