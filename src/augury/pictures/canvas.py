"""What all pictures are drawn on: a sheet measured in points, its fonts and colours, and how it is shown.

Texts are set in the fonts that Matplotlib brings, and measured before they are placed: nothing overlaps by chance of a
machine's fonts. A sign that no font has is shown as its escape.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury.errors import QueryError, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, DIM, FAINT, PAPER = "#1f2430", "#6b7280", "#b4bac4", "#ffffff"
BLUE, GREEN, RED, FILL = "#2563c9", "#23895a", "#c23a30", "#eaf1fd"
SERIES = ("#2563c9", "#d9822b", "#23895a", "#9b4dca", "#c23a30", "#1a9aa5", "#8a6d3b", "#c2478f")
"""Colours of matches, one after another: told apart also where red and green are not."""

SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"
_WIDER = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Hiragino Sans", "Microsoft YaHei", "Noto Sans Devanagari")

_STYLE: dict[str, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "augury",
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": DIM,
    "axes.titlesize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "text.color": INK,
    "text.usetex": False,
    "text.parse_math": False,
    "xtick.color": DIM,
    "ytick.color": DIM,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "savefig.bbox": None,
    "savefig.transparent": False,
}


class Picture:
    """A drawing. A notebook shows it by itself; `save` writes it as SVG, PNG or PDF, by the file's name.

    >>> import augury as ag
    >>> ag.sase("PATTERN SEQ(A a, B b) WITHIN 5").plot()
    <Picture of 3 states>
    """

    def __init__(self, figure: Figure, of: str) -> None:
        self.figure = figure
        self._of = of

    def svg(self) -> str:
        """The picture as SVG; letters are outlines, so it needs no fonts."""
        out = io.StringIO()
        self._write(out, "svg", 72)
        return out.getvalue()

    def png(self, dpi: int = 144) -> bytes:
        """The picture as PNG; with 72 dots per inch a point is a pixel."""
        out = io.BytesIO()
        self._write(out, "png", dpi)
        return out.getvalue()

    def save(self, path: str | Path, dpi: int = 144) -> None:
        """Write it to a file whose name ends in .svg, .png or .pdf."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind not in ("svg", "png", "pdf"):
            raise ValueError(f"a picture is saved as .svg, .png or .pdf, not as {Path(path).name!r}")
        with Path(path).open("wb") as file:
            if kind == "svg":
                file.write(self.svg().encode())
            else:
                self._write(file, kind, dpi)

    def _write(self, out: Any, kind: str, dpi: int) -> None:
        described = {"Title": f"Augury: {self._of}"}
        undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
        with style():
            self.figure.savefig(out, format=kind, dpi=dpi, metadata={**described, **undated})

    def __repr__(self) -> str:
        return f"<Picture of {self._of}>"

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> Mapping[str, Any]:
        wanted = {"image/svg+xml"} if include is None else set(include)
        wanted -= set(exclude or ())
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if "image/svg+xml" in wanted:
            bundle["image/svg+xml"] = self.svg()
        if "image/png" in wanted:
            bundle["image/png"] = self.png()
        return bundle


def style() -> Any:
    """The settings under which pictures are drawn and written, whatever else the program has set."""
    mpl = loaded()
    settings = {key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith("backend")}
    return mpl.rc_context({**settings, **_STYLE, "font.family": list(families(SANS))})


def loaded() -> Any:
    """Matplotlib, or how to get it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise QueryError("pictures need Matplotlib", hint="pip install 'augury[plot]'") from None
    return mpl


def sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of so many points, and axes over all of it that count them from the top left corner."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


# ------------------------------------------------------------------ texts


@functools.cache
def families(first: str) -> tuple[str, ...]:
    """The family of fonts, and those that are there for signs which it lacks."""
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return (first, *(name for name in _WIDER if name in there))


@functools.cache
def _signs(first: str) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found: set[int] = set()
    for family in families(first):
        found.update(get_font(findfont(FontProperties(family=family))).get_charmap())
    return frozenset(found)


def shown(text: object, family: str = SANS) -> str:
    """A text of a query or of data, fit for a picture: on one line, and of signs that can be drawn."""
    known = _signs(family)
    line = one_line(str(text))
    return "".join(c if ord(c) in known else c.encode("unicode_escape").decode() for c in line)


@functools.lru_cache(maxsize=4096)
def width_of(text: str, size: float, family: str = SANS, weight: str = "normal") -> float:
    """How many points wide a text will be."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    prop = FontProperties(family=list(families(family)), size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, prop, ismath=False)
    return float(width)


def wrapped(text: str, width: float, size: float, family: str = SANS, lines: int = 6) -> list[str]:
    """The text in lines no wider than this; what does not fit into so many lines ends in an ellipsis."""
    found: list[str] = []
    for word in _pieces(shown(text, family), width, size, family):
        if found and width_of(f"{found[-1]} {word}", size, family) <= width:
            found[-1] = f"{found[-1]} {word}"
        else:
            found.append(word)
    if len(found) > lines:
        found = [*found[: lines - 1], fitted(f"{found[lines - 1]} …", width, size, family)]
    return found or [""]


def _pieces(text: str, width: float, size: float, family: str) -> Iterable[str]:
    """Its words; one that is wider than a line, in parts."""
    for word in text.split(" "):
        rest = word
        while width_of(rest, size, family) > width and len(rest) > 1:
            fits = next(
                n for n in range(len(rest) - 1, 0, -1) if n == 1 or width_of(rest[:n], size, family) <= width
            )
            yield rest[:fits]
            rest = rest[fits:]
        yield rest


def fitted(text: str, width: float, size: float, family: str = SANS) -> str:
    """The text, cut with an ellipsis where it is wider."""
    line = shown(text, family)
    if width_of(line, size, family) <= width:
        return line
    kept = line.removesuffix(" …")
    while kept and width_of(f"{kept}…", size, family) > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"
