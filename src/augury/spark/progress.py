"""What a streaming query has done so far, and why it may be standing still."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

COUNTS = ("events", "matches", "late_events", "bad_rows")
OBSERVED = "augury_"
STILL = 5  # micro-batches with rows in which the watermark has not moved: then something holds it back
_NONE = "1970-01-01T00:00:00.000Z"


def progress(query: Any) -> dict[str, Any]:
    """What a streaming query's recent micro-batches tell, added up.

    `queries` has for each query of ours in it the counts `events`, `matches`, `late_events` and `bad_rows`, in the order
    in which `match` was called; `watermark` is the last one, or None; `state_bytes` is what Spark holds of state in memory; and
    `held_back` says why nothing becomes certain, if that is so. How many micro-batches Spark remembers
    `spark.sql.streaming.numRecentProgressUpdates` says.
    """
    recent = list(query.recentProgress)
    found: dict[int, dict[str, int]] = {}
    for one in recent:
        for name, counted in one.observedMetrics.items():
            if name.startswith(OBSERVED):
                total = found.setdefault(int(name.removeprefix(OBSERVED)), dict.fromkeys(COUNTS, 0))
                for count in COUNTS:
                    total[count] += counted[count]
    marks = [mark for one in recent if (mark := one.eventTime.get("watermark"))]
    return {
        "queries": [found[number] for number in sorted(found)],
        "watermark": marks[-1] if marks and marks[-1] != _NONE else None,
        "state_bytes": sum(o.memoryUsedBytes for o in recent[-1].stateOperators) if recent else 0,
        "held_back": held_back(recent),
    }


def held_back(recent: Iterable[Any]) -> str | None:
    """Why the watermark does not move though rows come; None while it does."""
    fed = [one for one in recent if one.numInputRows and one.eventTime.get("watermark")][-STILL:]
    if len(fed) < STILL or len({one.eventTime["watermark"] for one in fed}) > 1:
        return None
    names = [source.description for source in fed[-1].sources]
    idle = [
        name for place, name in enumerate(names) if not any(one.sources[place].numInputRows for one in fed)
    ]
    since = f"the watermark has not moved for {len(fed)} micro-batches"
    if idle and len(idle) < len(names):
        return (
            f"{since}: the input {', '.join(idle)} is idle, and Spark waits for it; where its rows may be late, set "
            "spark.sql.streaming.multipleWatermarkPolicy to max"
        )
    return f"{since}: no row has a later time than those before; is the time column the right one?"
