"""Every way to evaluate a query: the one place where a plan or a runtime joins the conformance suite.

A plan takes a query and a table to the result. What it cannot evaluate it declares in `covers`, so that the
suite asks it for nothing else and nothing is skipped.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import augury as ag
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MAX
from augury.match.compressed import QUERY
from augury.match.gather import rows_of_table
from augury.match.identity import value_digests
from augury.pattern import Strategy
from augury.runtime.matcher import Matcher
from augury.runtime.options import Options
from augury.runtime.slices import Sliced
from augury.runtime.stream_shard import NEVER, Shard
from augury.runtime.table import bad_rows
from augury.schema import as_table

Match = Callable[..., pa.Table]
"""match(query, table, **arguments of Query.match but plan)."""


def _everything(_query: ag.Query, _output: str) -> bool:
    return True


@dataclass(frozen=True)
class Plan:
    name: str
    match: Match
    covers: Callable[[ag.Query, str], bool] = _everything  # (query, output)
    uncertain: bool = False  # whether it is for imprecise times, and for them alone


def in_process(
    name: str, covers: Callable[[ag.Query, str], bool] = _everything, *, uncertain: bool = False
) -> Plan:
    """A plan of `Query.match`."""

    def match(query: ag.Query, table: Any, **arguments: Any) -> pa.Table:
        return query.match(table, plan=name, **arguments)

    return Plan(f"{name}, uncertain" if uncertain else name, match, covers, uncertain)


def in_slices(rows: int) -> Plan:
    """The eager plan over events that come in order of time, in buffers of a few rows."""

    def fed(program: Any, engine: Any, events: pa.Table) -> pa.Table:
        times = Sliced(program, engine)._times(events)
        order = sorted(range(events.num_rows), key=times.__getitem__)
        sliced = Sliced(program, engine, rows)
        found: list[pa.Table] = []
        start = 0
        while start < len(order):
            size = 1 + start * 7 % (2 * rows)
            found.extend(sliced.feed(events.take(pa.array(order[start : start + size]))))
            start += size
        found.extend(sliced.close())
        return pa.concat_tables(found or [engine.whole(events)])

    def match(query: ag.Query, events: Any, **arguments: Any) -> pa.Table:
        with (
            patch("augury.runtime.table.comes_in_slices", lambda *_: True),
            patch("augury.runtime.table.in_slices", fed),
        ):
            return query.match(events, plan="eager", **arguments)

    return Plan(f"eager in slices of {rows}", match)


def as_it_comes(
    name: str, covers: Callable[[ag.Query, str], bool] = _everything, *, uncertain: bool = False
) -> Plan:
    """A matcher: events in some order, punctuations in between, and its state stored and read back after each."""

    def match(query: ag.Query, events: Any, **arguments: Any) -> pa.Table:
        table = as_table(events)
        rng = random.Random(table.num_rows)
        given = {**arguments, "plan": name}
        m = query.matcher(table.schema, **given)
        time = arguments["time"]
        times = table.column(time if isinstance(time, str) else time[0]).to_pylist()
        cuts = sorted(
            rng.sample(sorted({t for t in times if t is not None}), k=min(3, len({*times} - {None})))
        )
        rest, found = list(range(table.num_rows)), []
        for cut in [*cuts, None]:
            now = [r for r in rest if cut is None or times[r] is None or times[r] < cut or rng.random() < 0.3]
            rest = [r for r in rest if r not in now]
            rng.shuffle(now)
            now.sort(
                key=lambda r: times[r] is not None
            )  # bad rows in one call, whose warning counts them all
            half = rng.randint(sum(times[r] is None for r in now), len(now))
            for some in (now[:half], now[half:]):
                found.append(m.insert(table.take(pa.array(some, pa.int64()))))
                m = query.matcher(table.schema, **given, state=m.state())
            found.append(m.close() if cut is None else m.advance(cut))
            if cut is not None:
                m = query.matcher(table.schema, **given, state=m.state())
        changes = pa.concat_tables(found)
        assert set(changes.column("op").to_pylist()) <= {"insert"}
        result = changes.drop_columns(["op"])
        told = {}
        if arguments.get("output") == "compressed":
            told[QUERY] = query.to_json().encode()
        if arguments.get("bad_rows") == "drop":
            told[b"augury.bad_rows"] = str(m.stats["bad_rows"]).encode()
        return result.replace_schema_metadata(told)

    said = f"{name} as it comes"
    return Plan(f"{said}, uncertain" if uncertain else said, match, covers, uncertain=uncertain)


def in_micro_batches(name: str, *, uncertain: bool = False) -> Plan:
    """What Spark's stateful operator does, but for Spark: shards of buckets, whose bytes are stored between micro-batches,
    events that are out of order by no more than the watermark allows, and buckets that are only looked at when due.
    """

    def match(query: ag.Query, events: Any, **arguments: Any) -> pa.Table:
        table = as_table(events)
        rng = random.Random(table.num_rows)
        program = query._program(table.schema, Options(**{**arguments, "plan": name}))
        shard = Shard(program, table.schema, chained=False)
        faulty, said = bad_rows(table, program)
        if faulty is not None:
            if arguments.get("bad_rows") != "drop":
                raise ag.DataError(said)
            warnings.warn(
                f"{said} and {'was' if faulty.sum() == 1 else 'were'} dropped", ag.DataWarning, stacklevel=2
            )
            table = rows_of_table(table, np.flatnonzero(~faulty))
        lanes = value_digests(table, program.partition, program.columns.types)[0]
        shards, buckets = 2, 3
        places = (lanes % np.uint64(shards * buckets)).tolist()
        times = _instants(table, program)
        stores: list[Any] = [_Dictionary() for _ in range(shards)]
        due = [np.full(buckets, NEVER, np.int64) for _ in range(shards)]
        frontiers = sorted(rng.sample(sorted({*times}), k=min(4, len({*times}))))
        rest, found, frontier = list(range(table.num_rows)), [], None
        for until in [*frontiers, INT64_MAX]:
            now = [r for r in rest if until == INT64_MAX or times[r] < until or rng.random() < 0.3]
            rest = [r for r in rest if r not in now]
            rng.shuffle(now)
            for number in range(shards):
                pieces: dict[int, list[pa.Table]] = {}
                for r in now:
                    if places[r] // buckets == number:
                        pieces.setdefault(places[r] % buckets, []).append(rows_of_table(table, np.array([r])))
                if pieces or (frontier is not None and due[number].min() <= frontier):
                    done = shard.step(stores[number], due[number], pieces, frontier)
                    assert not done.late
                    found += done.changes
            frontier = until
        for number in range(shards):
            if due[number].min() < NEVER:
                found += shard.step(stores[number], due[number], {}, frontier).changes
        if (
            INT64_MAX in times or program.unending() is not None
        ):  # no punctuation is later than that, or late enough
            stored = [state for store in stores for state in store.values()]
            found += [Matcher(program, table.schema, state=state).close() for state in stored]
        told = {}
        if arguments.get("output") == "compressed":
            told[QUERY] = query.to_json().encode()
        if arguments.get("bad_rows") == "drop":
            told[b"augury.bad_rows"] = str(0 if faulty is None else int(faulty.sum())).encode()
        if not found:
            return program.gives.empty_table().replace_schema_metadata(told)
        return pa.concat_tables(found).drop_columns(["op"]).replace_schema_metadata(told)

    return Plan(f"{name} in micro-batches", match, uncertain=uncertain)


class _Dictionary(dict[int, bytes]):
    def put(self, bucket: int, state: bytes) -> None:
        self[bucket] = state

    remove = dict.pop


def _instants(table: pa.Table, program: Any) -> list[int]:
    time = from_arrow(table.column(program.clock), program.columns.types[program.clock])
    return [int(t) for t in time.values]


def compiled() -> Plan:
    """The eager plan with every kernel compiled: seconds for each query, so a soak's, or a fixed sample's."""

    def match(query: ag.Query, table: Any, **arguments: Any) -> pa.Table:
        with patch("augury.engines.events.COMPILED_FROM", 0):
            return query.match(table, plan="eager", **arguments)

    return Plan("compiled", match)


def _of_singletons(query: ag.Query, _output: str) -> bool:
    """What the lazy plans cover."""
    pattern = query.pattern
    return not any(c.kleene for c in pattern.positives) and pattern.strategy in (Strategy.ANY, Strategy.NEXT)


DEFINITION = in_process("definition")
PLANS = (
    DEFINITION,
    in_process("eager"),
    in_process("eager-unmerged"),
    in_process("backtrack"),
    in_process("lazy-chain", _of_singletons),
    in_process("lazy-tree", _of_singletons),
    in_slices(3),
    as_it_comes("eager"),
    as_it_comes("lazy-tree", _of_singletons),
)
"""All of them; the definition is first, and judges the others."""
STREAM = in_micro_batches("eager")
"""What it does beside a matcher hangs on no law: the corpus and seeded cases are enough for it."""

UNCERTAIN = (
    *(
        in_process(name, uncertain=True)
        for name in ("definition", "auto", "sorted", "selective", "any_state", "point")
    ),
    as_it_comes("auto", uncertain=True),
    in_micro_batches("auto", uncertain=True),
)
"""Those for imprecise times."""


def plan_named(name: str) -> Plan:
    """One of them, or one that is asked for by its name alone: slices of any number of rows, or compiled kernels."""
    known = {plan.name: plan for plan in (*PLANS, *UNCERTAIN, compiled())}
    slices, _, rows = name.rpartition(" ")
    if slices == "eager in slices of" and rows.isdecimal() and int(rows) > 0:
        return in_slices(int(rows))
    if name not in known:
        raise SystemExit(f"there is no plan {name}; there is: {', '.join(known)}, and slices of other sizes")
    return known[name]
