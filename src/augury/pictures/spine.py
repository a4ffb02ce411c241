"""An automaton as a line of stations: states one below the other, the words of their arcs to the right.

Guards are lines of text, and lines of text are wide: a column of states gives every guard a line of its own, whatever the
automaton's shape, and nothing can overlap. An arc to the next state is the line itself; loops bulge to the left, and arcs
that skip states or go back run in lanes left of those. An arc's words and its line have one colour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from augury.pictures.canvas import (
    BLUE,
    DIM,
    FAINT,
    FILL,
    GREEN,
    INK,
    MONO,
    RED,
    Picture,
    families,
    fitted,
    sheet,
    shown,
    style,
    width_of,
    wrapped,
)
from augury.pictures.diagram import Arc, Diagram, Kind, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RADIUS = 13.0
MARGIN = 16.0
LANE = 13.0
LOOPS = 32.0  # what loops need to the left of a circle
TEXT = 330.0  # the widest line of words
HEAD, BODY, SMALL = 9.5, 8.5, 8.0
LEADING = 13.0
_COLOURS = {
    Kind.MOVE: BLUE,
    Kind.TAKE: GREEN,
    Kind.IGNORE: FAINT,
    Kind.SILENT: "#8a6d3b",
    Kind.END: RED,
    Kind.ABSENT: RED,
    Kind.NOTE: DIM,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of words: where it stands below the first one of its state, and how it is set."""

    text: str
    colour: str
    size: float = BODY
    mono: bool = False
    bold: bool = False
    indent: float = 0.0


def draw(diagram: Diagram) -> Picture:
    """The picture of a diagram."""
    with style():
        return _Spine(diagram).drawn()


class _Spine:
    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.lanes = _lanes(diagram)
        self.x = MARGIN + LANE * (1 + max(self.lanes.values(), default=-1)) + LOOPS + RADIUS
        self.text_x = self.x + RADIUS + 16
        self.blocks = [self._blocks(n, state) for n, state in enumerate(diagram.states)]
        self.about = wrapped("   ·   ".join(diagram.about), TEXT, SMALL) if diagram.about else []
        top = MARGIN + LEADING * len(self.about) + (10 if self.about else 0)
        self.ys: list[float] = []
        for blocks in self.blocks:
            self.ys.append(top + RADIUS)
            words = sum(_height(b) for _, b in blocks)
            top += max(2 * RADIUS + 20, words + 12)
        self.height = top - 12 + MARGIN

    def _blocks(self, number: int, state: State) -> list[tuple[Arc | None, list[Line]]]:
        """The words beside a state: its own, then those of each arc that leaves it."""
        head = [Line(line, INK, HEAD, bold=True) for line in wrapped(state.title, TEXT * 0.9, HEAD, lines=2)]
        if state.remembers:
            known = "remembers " + ", ".join(state.remembers)
            head += [Line(line, DIM, SMALL) for line in wrapped(known, TEXT, SMALL, lines=3)]
        found: list[tuple[Arc | None, list[Line]]] = [(None, head)]
        arcs = [arc for arc in self.diagram.arcs if arc.source == number]
        rank = {Kind.NOTE: 0, Kind.TAKE: 1, Kind.IGNORE: 2, Kind.END: 3, Kind.ABSENT: 4}
        arcs.sort(key=lambda a: (rank.get(a.kind, 5), a.target == number + 1))
        return [*found, *((arc, self._words(arc)) for arc in arcs)]

    def _words(self, arc: Arc) -> list[Line]:
        colour = _COLOURS[arc.kind]
        said = DIM if arc.kind is Kind.IGNORE else INK
        head = arc.name
        if arc.target is not None and arc.target not in (arc.source, arc.source + 1):
            head += f"  → {self.diagram.states[arc.target].label}"
        if arc.words and width_of(shown(f"{head}: {arc.words}"), BODY) <= TEXT - 14:
            lines = [Line(shown(f"{head}: {arc.words}"), DIM if colour == FAINT else colour, BODY, indent=14)]
        else:
            lines = [
                Line(
                    fitted(head, TEXT - 14, BODY),
                    DIM if colour == FAINT else colour,
                    BODY,
                    bold=colour != FAINT,
                    indent=14,
                )
            ]
            if arc.words:
                lines += [Line(t, DIM, SMALL, indent=14) for t in wrapped(arc.words, TEXT - 14, SMALL)]
        for guard in arc.guards:
            lines += self._mono(guard, said)
        for update in arc.updates:
            lines += self._mono(update, "#8a6d3b")
        return lines

    def _mono(self, text: str, colour: str) -> list[Line]:
        first, *rest = wrapped(text, TEXT - 34, BODY - 0.5, MONO)
        return [
            Line(first, colour, BODY - 0.5, mono=True, indent=14),
            *(Line(t, colour, BODY - 0.5, mono=True, indent=28) for t in rest),
        ]

    def drawn(self) -> Picture:
        right = max(
            (
                self.text_x + line.indent + _width(line)
                for blocks in self.blocks
                for _, lines in blocks
                for line in lines
            ),
            default=0,
        )
        right = max(
            right, MARGIN + max((width_of(t, SMALL) for t in self.about), default=0), self.text_x + 180
        )
        figure, axes = sheet(right + MARGIN, self.height)
        for n, line in enumerate(self.about):
            axes.text(MARGIN, MARGIN + LEADING * n + 4, line, fontsize=SMALL, color=DIM, va="center")
        for number, blocks in enumerate(self.blocks):
            self._state(axes, number, blocks)
        for arc in self.diagram.arcs:
            if arc.target is not None:
                self._line(axes, arc)
        return Picture(figure, f"{len(self.diagram.states)} states")

    # -------------------------------------------------------------- strokes

    def _state(self, axes: Axes, number: int, blocks: list[tuple[Arc | None, list[Line]]]) -> None:
        from matplotlib.patches import Circle

        state, y = self.diagram.states[number], self.ys[number]
        axes.add_patch(Circle((self.x, y), RADIUS, facecolor=FILL, edgecolor=INK, linewidth=1.2, zorder=3))
        if state.final:
            axes.add_patch(
                Circle((self.x, y), RADIUS - 3, facecolor="none", edgecolor=INK, linewidth=0.9, zorder=4)
            )
        if state.start:
            _arrow(axes, (self.x - RADIUS - 16, y), (self.x - RADIUS, y), INK, 1.2)
        label = fitted(state.label, 2 * RADIUS - 6, 9)
        axes.text(self.x, y, label, fontsize=9, ha="center", va="center", zorder=5)
        at = y - LEADING / 2 + 1
        for arc, lines in blocks:
            if arc is not None:
                at += 3
                self._mark(axes, arc, at + LEADING / 2)
            for line in lines:
                at += LEADING / 2
                axes.text(
                    self.text_x + line.indent,
                    at,
                    line.text,
                    fontsize=line.size,
                    color=line.colour,
                    family=list(families(MONO)) if line.mono else None,
                    weight="bold" if line.bold else "normal",
                    va="center",
                    zorder=6,
                )
                at += LEADING / 2

    def _mark(self, axes: Axes, arc: Arc, y: float) -> None:
        """The little sign before an arc's words: what its line does, in its line's colour."""
        from matplotlib.lines import Line2D

        x, colour = self.text_x + 4, _COLOURS[arc.kind]

        def stroke(xs: list[float], ys: list[float], **how: Any) -> None:
            axes.add_line(Line2D(xs, ys, color=colour, linewidth=1.4, **how))

        match arc.kind:
            case Kind.END:
                stroke([self.x, x - 6], [y, y], zorder=1)
                stroke([x - 3, x + 3], [y - 3, y + 3])
                stroke([x - 3, x + 3], [y + 3, y - 3])
            case Kind.ABSENT:
                stroke([x - 3, x + 3], [y - 3, y + 3])
                stroke([x - 3, x + 3], [y + 3, y - 3])
            case Kind.NOTE:
                stroke([x - 1, x + 1], [y, y])
            case _ if arc.target == arc.source:
                turn = [math.radians(a) for a in range(40, 330, 10)]
                stroke([x + 4 * math.cos(a) for a in turn], [y + 4 * math.sin(a) for a in turn])
                axes.plot(
                    [x + 4 * math.cos(turn[0])],
                    [y + 4 * math.sin(turn[0])],
                    marker=4,
                    color=colour,
                    markersize=3,
                )
            case _ if arc.target is not None and arc.target < arc.source:
                _arrow(axes, (x, y + 5), (x, y - 5), colour, 1.4)
            case _:
                _arrow(axes, (x, y - 5), (x, y + 5), colour, 1.4, dashed=arc.kind is Kind.SILENT)

    def _line(self, axes: Axes, arc: Arc) -> None:
        assert arc.target is not None
        colour, dashed = _COLOURS[arc.kind], arc.kind in (Kind.IGNORE, Kind.SILENT)
        y, to = self.ys[arc.source], self.ys[arc.target]
        if arc.target == arc.source:
            loops = [a for a in self.diagram.arcs if a.source == a.target == arc.source]
            self._loop(axes, y, loops.index(arc), colour, dashed=dashed)
        elif arc.target == arc.source + 1:
            peers = [a for a in self.diagram.arcs if (a.source, a.target) == (arc.source, arc.target)]
            x = self.x + 5 * (peers.index(arc) - (len(peers) - 1) / 2)
            _arrow(axes, (x, y + RADIUS), (x, to - RADIUS), colour, 1.5, dashed=dashed)
        else:
            lane = self.x - RADIUS - LOOPS - LANE * self.lanes[arc]
            side = 5 if to > y else -5
            _path(
                axes,
                [
                    (self.x - 11, y + side),
                    (lane, y + side),
                    (lane, (y + to) / 2),
                    (lane, to - side),
                    (self.x - 11, to - side),
                ],
                colour,
                dashed=dashed,
            )

    def _loop(self, axes: Axes, y: float, place: int, colour: str, *, dashed: bool) -> None:
        """From the circle to the left and back to it; a second loop goes around the first."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        angle = math.radians(24 + 20 * min(place, 2))
        reach = 20 + 12 * min(place, 2)
        out = (self.x - RADIUS * math.cos(angle), y - RADIUS * math.sin(angle))
        back = (self.x - RADIUS * math.cos(angle), y + RADIUS * math.sin(angle))
        lift = 8 + 5 * min(place, 2)
        curve = Path(
            [out, (out[0] - reach, out[1] - lift), (back[0] - reach, back[1] + lift), back],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        axes.add_patch(
            FancyArrowPatch(
                path=curve,
                arrowstyle="-|>,head_length=4,head_width=2.2",
                color=colour,
                linewidth=1.2,
                linestyle="--" if dashed else "-",
                shrinkA=0,
                shrinkB=0,
                zorder=2,
            )
        )


def _lanes(diagram: Diagram) -> dict[Arc, int]:
    """For each arc that skips states or goes back a lane in which no other runs beside it."""
    taken: list[list[tuple[int, int]]] = []
    found: dict[Arc, int] = {}
    far = [a for a in diagram.arcs if a.target is not None and a.target not in (a.source, a.source + 1)]
    for arc in sorted(far, key=lambda a: abs((a.target or 0) - a.source)):
        assert arc.target is not None
        low, high = sorted((arc.source, arc.target))
        lane = next(
            (n for n, used in enumerate(taken) if all(high <= a or b <= low for a, b in used)), len(taken)
        )
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        found[arc] = lane
    return found


def _height(lines: list[Line]) -> float:
    return LEADING * len(lines) + 3


def _width(line: Line) -> float:
    return width_of(
        line.text, line.size, MONO if line.mono else "DejaVu Sans", "bold" if line.bold else "normal"
    )


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    width: float,
    *,
    dashed: bool = False,
) -> None:
    from matplotlib.patches import FancyArrowPatch

    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>,head_length=4.5,head_width=2.4",
            color=colour,
            linewidth=width,
            linestyle="--" if dashed else "-",
            shrinkA=0,
            shrinkB=0,
            mutation_scale=1,
            zorder=2,
        )
    )


def _path(axes: Axes, points: list[tuple[float, float]], colour: str, *, dashed: bool) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    curve = Path(points, [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.CURVE3, Path.CURVE3])
    axes.add_patch(
        FancyArrowPatch(
            path=curve,
            arrowstyle="-|>,head_length=4.5,head_width=2.4",
            color=colour,
            linewidth=1.3,
            linestyle="--" if dashed else "-",
            mutation_scale=1,
            shrinkA=0,
            shrinkB=0,
            zorder=1,
        )
    )
