"""The matcher: events that come call by call, instead of as a table.

`live/clicks` has the events of `clicks` in calls of 100,000 rows, each insert followed by a punctuation. `live/keys` is
the same for many keys: a call has the sessions of 10,000 users of a million, and the window is so long that all that is
pending stays so. `live/small` has calls so small that what a call costs by itself
is seen. `live/state` is how large a state is, and `live/memory` what a matcher takes while a stream goes through it
that is much longer than its window.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import augury as ag
from augury.generate import clicks, stream
from bench.growing import Record
from bench.runner import use_one_core
from bench.workloads import SHORT, Goal, Workload, shared

ROOT = Path(__file__).resolve().parents[1]
KEYED: dict[str, Any] = {"time": "ts", "type": "kind", "key": "user"}
USERS, CALL = 10_000, 100_000
LONG = SHORT.replace("1 hour", "3000 days")


def workloads(*, quick: bool) -> Iterator[Workload]:
    """What is measured as a call over a table: a matcher is made, fed and closed."""
    scale = 5 if quick else 1
    said: Record = {"query": SHORT}
    base = f"live/clicks/{CALL}"
    usual = functools.partial(shared, clicks, 5_000_000 // scale, users=USERS)
    yield Workload(base, "all", usual, fed(SHORT, CALL), Goal(2e6), described={**said, "call": CALL})
    for call in (10_000, 1_000):
        part = functools.partial(shared, clicks, 500 * call // scale, users=USERS)
        yield Workload(f"live/small/{call}", "all", part, fed(SHORT, call), described={**said, "call": call})
    keys = 1_000_000 // scale
    many = functools.partial(shared, many_keys, keys)
    said = {"query": LONG, "call": CALL, "keys": keys}
    yield Workload(
        f"live/keys/{keys}", "all", many, fed(LONG, CALL), Goal(ratio=2), over=base, described=said
    )


def fed(text: str, call: int) -> Callable[[pa.Table], pa.Table]:
    """What feeds a table that is sorted by time to a matcher, so many rows a call, and gives all that it reports."""
    query = ag.sase(text)

    def run(table: pa.Table) -> pa.Table:
        m = query.matcher(table.schema, **KEYED)
        found = []
        for start in range(0, table.num_rows, call):
            part = table.slice(start, call)
            m.insert(part)
            found.append(m.advance(part["ts"][-1]))
        return pa.concat_tables([*found, m.close()])

    return run


def many_keys(keys: int) -> pa.Table:
    """The same clicks, but each call's are of 10,000 users of its own; then half as many calls of users seen before."""
    rng = np.random.default_rng(0)
    blocks = rng.permutation(keys).reshape(-1, USERS)
    calls = []
    for number in range(len(blocks) * 3 // 2):
        users = blocks[number] if number < len(blocks) else rng.choice(keys, USERS, replace=False)
        part = clicks(CALL, users=USERS, seed=[1, number])
        ts = part["ts"].cast(pa.int64()).to_numpy() + number * 2 * CALL * 1_000_000
        part = part.set_column(0, "ts", pa.array(ts).cast(pa.timestamp("us", "UTC")))
        calls.append(part.set_column(2, "user", pa.array(users[part["user"].to_numpy()])))
    return pa.concat_tables(calls).combine_chunks()


# ------------------------------------------------------------------ what is kept


def state(*, quick: bool) -> Record:
    """Bytes of the state of a query of three steps, by key, where each of many keys has one event pending."""
    keys = 10_000 if quick else 100_000
    views = (
        clicks(keys)
        .set_column(1, "kind", pa.repeat("view", keys))
        .set_column(2, "user", pa.array(range(keys)))
    )
    m = ag.sase(SHORT.replace("1 hour", "1000 days")).matcher(views.schema, **KEYED)
    m.insert(views)
    m.advance(pc.add(views["ts"][-1], pa.scalar(1, pa.duration("us"))))
    begun = time.perf_counter()
    written = m.state()
    seconds = time.perf_counter() - begun
    assert m.stats["partitions"] == m.stats["kept_events"] == keys
    per_key = len(written) / keys
    return {
        "workload": "live/state",
        "system": "augury",
        "query": SHORT,
        "events": keys,
        "seconds": seconds,
        "bytes_per_key": round(per_key, 1),
        "goal": {"bytes_per_key": 300},
        "reached": per_key < 300,
    }


def memory(*, quick: bool) -> Record:
    """What a process takes in which a long stream goes through a matcher, from a process of its own."""
    arguments = [sys.executable, "-m", "bench.live", str(8_000_000 if quick else 100_000_000)]
    answer = subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603  # ourselves
    record: Record = {"workload": "live/memory", "system": "augury", "query": SHORT, "call": CALL}
    record |= json.loads(answer.stdout.splitlines()[-1])
    record["events_per_second"] = round(record["events"] / record["seconds"])
    grown = record["last_mb"] / record["first_mb"]
    return record | {"grown": round(grown, 3), "goal": {"grown": 1.1}, "reached": grown <= 1.1}


def through_a_matcher(rows: int, call: int = CALL) -> Record:
    """In the process of its own: the most memory in the stream's first fifth, and in its last tenth."""
    m = ag.sase(SHORT).matcher(clicks(0).schema, **KEYED)
    seconds, taken, kept, matches = 0.0, [], [], 0
    for part in stream("clicks", rows, users=USERS, part=10 * call):
        for start in range(0, part.num_rows, call):
            some = part.slice(start, call)
            begun = time.perf_counter()
            m.insert(some)
            matches += m.advance(some["ts"][-1]).num_rows
            seconds += time.perf_counter() - begun
            taken.append(_resident())
            kept.append(m.stats["bytes"])
    tenth = max(1, len(taken) // 10)
    return {
        "events": rows,
        "seconds": seconds,
        "matches": matches,
        "first_mb": round(max(taken[: 2 * tenth]) / 1e6, 1),
        "last_mb": round(max(taken[-tenth:]) / 1e6, 1),
        "kept_mb": round(max(kept) / 1e6, 1),
    }


def _resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    use_one_core()
    print(json.dumps(through_a_matcher(int(sys.argv[1]))))
