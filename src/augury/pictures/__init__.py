"""Pictures of queries, matches and strategies, drawn by Matplotlib: SVG and PNG, the same on every machine.

    query ── diagram ──> states, arcs ── spine ──┐
    result, data ── matches ─────────────────────┼──> Picture ─> notebook, .svg(), .png(), .save(path)
    query, data ── strategies ───────────────────┘

Matplotlib comes with the extra `plot`, and is loaded when the first picture is drawn.
"""

from augury.pictures.canvas import Picture
from augury.pictures.matches import plot_matches
from augury.pictures.strategies import plot_strategies

__all__ = ["Picture", "plot_matches", "plot_strategies"]
