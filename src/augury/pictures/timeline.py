"""Axes of time: instants as Matplotlib places them, lanes of bars below each other, and labels that keep clear of each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augury.expr.types import MICROSECONDS_PER_DAY, Kind, Type
from augury.pictures.canvas import PAPER, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 560.0  # of a picture, in points: the column of a page, a notebook's cell
_LEAST, _MOST = -719_162, 2_932_896  # days since 1970 of the years that Matplotlib's dates know


@dataclass(frozen=True, slots=True)
class Clock:
    """How a column's instants are placed on an axis: dates where they are dates that can be written, numbers else."""

    dated: bool
    unit: float  # instants for one step of the axis

    @classmethod
    def of(cls, type_: Type, instants: Iterable[int]) -> Clock:
        unit = {Kind.TIMESTAMP: float(MICROSECONDS_PER_DAY), Kind.DATE: 1.0}.get(type_.kind)
        if unit is not None and all(_LEAST < t / unit < _MOST for t in instants):
            return cls(dated=True, unit=unit)
        return cls(dated=False, unit=1.0)

    def at(self, instant: int) -> float:
        return instant / self.unit

    def axis(self, axes: Axes, ticks: int = 7) -> None:
        """Ticks that read well."""
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        if self.dated:
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

            locator: Any = AutoDateLocator(minticks=3, maxticks=ticks)  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        else:
            axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
            plain = ScalarFormatter(useOffset=False)
            plain.set_scientific(False)
            axes.xaxis.set_major_formatter(plain)


@dataclass(slots=True)
class Labels:
    """Small texts beside points; one that would cover another, or leave the axes, is left out."""

    axes: Axes
    size: float = 7.5
    placed: list[tuple[float, float, float, float]] = field(default_factory=list)

    def keep_clear(self, x: float, y: float, radius: float) -> None:
        """No label is to stand on this point."""
        px, py = self._pixels(x, y)
        self.placed.append((px - radius, py - radius, px + radius, py + radius))

    def put(
        self, x: float, y: float, text: str, colour: str, *, offsets: Sequence[tuple[float, float]]
    ) -> bool:
        """Write the text centred at one of the offsets, in points from the point; False where none is free."""
        px, py = self._pixels(x, y)
        half, tall = width_of(text, self.size) / 2 + 1, self.size / 2 + 1
        frame = self.axes.bbox
        scale = 72 / self.axes.figure.dpi
        low, high = frame.x0 * scale, frame.x1 * scale
        for dx, dy in offsets:
            box = (px + dx - half, py + dy - tall, px + dx + half, py + dy + tall)
            inside = box[0] >= low - 4 and box[2] <= high + 12
            if inside and not any(_meet(box, other) for other in self.placed):
                self.placed.append(box)
                self.axes.annotate(
                    text,
                    (x, y),
                    xytext=(dx, dy),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=self.size,
                    color=colour,
                    zorder=7,
                    annotation_clip=False,
                )
                return True
        return False

    def _pixels(self, x: float, y: float) -> tuple[float, float]:
        px, py = self.axes.transData.transform((x, y)) * (72 / self.axes.figure.dpi)
        return float(px), float(py)


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def packed(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """For each span the first row in which nothing is within a gap of it. Spans come in order of their starts."""
    ends: list[float] = []
    rows = []
    for start, end in spans:
        row = next((n for n, free in enumerate(ends) if free <= start), len(ends))
        if row == len(ends):
            ends.append(end)
        ends[row] = end + gap
        rows.append(row)
    return rows


def margins(low: float, high: float, share: float = 0.03) -> tuple[float, float]:
    """The limits of an axis that shows all from low to high."""
    room = (high - low) * share or 1.0
    return low - room, high + room


def dot(
    axes: Axes, x: float, y: float, colour: str, *, size: float = 6, hollow: bool = False, **how: Any
) -> None:
    """An event."""
    face = PAPER if hollow else colour
    axes.plot(
        [x], [y], "o", markersize=size, markerfacecolor=face, markeredgecolor=colour, **{"zorder": 4, **how}
    )
