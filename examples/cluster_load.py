"""Which tasks drove a node's load up? Tasks are logged to half a second, loads are measured once in 15 seconds.

Whether a load was before or after a task began is often unknown, so each answer has a confidence: the share of all
ways in which it can have happened. Below, a match on a time line of seconds: each bar is when an event can have
happened, and # are the instants that are left to it in the match.

python examples/cluster_load.py --rows 200000 --picture loads.svg
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import augury as ag
from augury.generate import hadoop

QUERY = """\
PATTERN SEQ(Load a, MergeStart b, Load c)
WHERE   skip_till_next_match(a, b, c) {
          b.node = a.node AND c.node = a.node AND a.value < 50 AND c.value > 85 }
WITHIN  300"""

WIDTH = 76


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes a log, asks the query, and shows the surest answers."""
    parser = argparse.ArgumentParser(
        description="Finds merges that drove a node's load up, with confidences."
    )
    parser.add_argument("--rows", type=int, default=100_000, help="how many events to make (100000)")
    parser.add_argument("--least", type=float, default=0.2, help="the least confidence (0.2)")
    parser.add_argument("--shown", type=int, default=3, help="how many answers to show (3)")
    parser.add_argument("--picture", type=Path, help="where to draw them as well")
    told = parser.parse_args(arguments)

    log = hadoop(told.rows, seed=3)
    query = ag.sase(QUERY)
    found = query.match(log, time=("lower", "upper"), type="kind", min_confidence=told.least)
    rows = sorted(found.to_pylist(), key=lambda row: (-row["confidence"], row["range_start"]))
    print(
        f"{log.num_rows:,} events, {len(rows)} merges of confidence {told.least:g} and more after which a load rose\n"
    )
    for row in rows[: told.shown]:
        print("\n".join(timeline(row)), end="\n\n")
    if told.picture is not None and rows:
        draw(rows[: told.shown], told.picture)
        print(f"drawn to {told.picture}")


def said(row: Mapping[str, Any]) -> str:
    merge = row["b"]
    return f"{merge['node']}, merge {merge['task']}: confidence {row['confidence']:.2f}"


def label(event: Mapping[str, Any]) -> str:
    return f"load {event['value']:.0f} %" if event["kind"] == "Load" else "merge"


def possible(row: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The instants that order and range leave to each event."""
    events = [row[name] for name in "abc"]
    first = [max(event["lower"], row["range_start"] + k) for k, event in enumerate(events)]
    last = [min(event["upper"], row["range_end"] - 2 + k) for k, event in enumerate(events)]
    for k in (1, 2):
        first[k] = max(first[k], first[k - 1] + 1)
    for k in (1, 0):
        last[k] = min(last[k], last[k + 1] - 1)
    return list(zip(first, last, strict=True))


def timeline(row: Mapping[str, Any]) -> list[str]:
    """A match as text."""
    events = [row[name] for name in "abc"]
    start = min(event["lower"] for event in events)
    span = max(event["upper"] for event in events) - start + 1
    lines = [said(row)]
    for event, (first, last) in zip(events, possible(row), strict=True):
        at = [(t - start) * WIDTH // span for t in (event["lower"], event["upper"], first, last)]
        bar = "".join(
            "#" if at[2] <= k <= at[3] else "-" if at[0] <= k <= at[1] else " " for k in range(WIDTH)
        )
        lines.append(f"  {label(event):>10} |{bar}|")
    ends = f"{start / 10:.1f} s", f"{(start + span - 1) / 10:.1f} s"
    lines.append(f"  {'':>10}  {ends[0]}{ends[1].rjust(WIDTH - len(ends[0]))}")
    return lines


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The same as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1.2 + 1.1 * len(rows)), layout="constrained")
    for axes, row in zip(figure.subplots(len(rows), squeeze=False)[:, 0], rows, strict=True):
        for k, (name, (first, last)) in enumerate(zip("abc", possible(row), strict=True)):
            event = row[name]
            axes.barh(-k, (event["upper"] - event["lower"]) / 10, left=event["lower"] / 10, color="#cccccc")
            axes.barh(-k, (last - first) / 10, left=first / 10, color="#0072b2")
        axes.set_yticks([0, -1, -2], [label(row[name]) for name in "abc"])
        axes.set_title(said(row), fontsize=9)
    axes.set_xlabel("seconds")
    figure.savefig(path)


if __name__ == "__main__":
    main()
