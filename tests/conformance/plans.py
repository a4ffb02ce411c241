"""Every way to evaluate a query: the one place where a plan or a runtime joins the conformance suite.

A plan takes a query and a table to the result. What it cannot evaluate it declares in `covers`, so that the
suite asks it for nothing else and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import augury as ag
from augury.runtime.slices import Sliced

Match = Callable[..., pa.Table]
"""match(query, table, **arguments of Query.match but plan)."""


def _everything(_query: ag.Query, _output: str) -> bool:
    return True


@dataclass(frozen=True)
class Plan:
    name: str
    match: Match
    covers: Callable[[ag.Query, str], bool] = _everything  # (query, output)


def in_process(name: str, covers: Callable[[ag.Query, str], bool] = _everything) -> Plan:
    """A plan of `Query.match`."""

    def match(query: ag.Query, table: Any, **arguments: Any) -> pa.Table:
        return query.match(table, plan=name, **arguments)

    return Plan(name, match, covers)


def in_slices(rows: int) -> Plan:
    """The eager plan over partitions that come one after another, in buffers of a few rows."""

    def fed(engine: Any, events: pa.Table) -> pa.Table:
        times = Sliced(engine, rows)._times(events)
        numbers: dict[Any, int] = {}  # of partitions, as they come
        parts = [Sliced(engine)._value(events, row) for row in range(events.num_rows)]
        order = sorted(
            range(events.num_rows), key=lambda row: (numbers.setdefault(parts[row], len(numbers)), times[row])
        )
        sliced = Sliced(engine, rows)
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


def compiled() -> Plan:
    """The eager plan with every kernel compiled: seconds for each query, so a soak's, or a fixed sample's."""

    def match(query: ag.Query, table: Any, **arguments: Any) -> pa.Table:
        with patch("augury.engines.eager.COMPILED_FROM", 0):
            return query.match(table, plan="eager", **arguments)

    return Plan("compiled", match)


DEFINITION = in_process("definition")
PLANS = (
    DEFINITION,
    in_process("eager"),
    in_process("eager-unmerged"),
    in_process("backtrack"),
    in_slices(3),
)
"""All of them; the definition is first, and judges the others."""


def plan_named(name: str) -> Plan:
    """One of them, or one that is asked for by its name alone: slices of any number of rows, or compiled kernels."""
    known = {plan.name: plan for plan in (*PLANS, compiled())}
    slices, _, rows = name.rpartition(" ")
    if slices == "eager in slices of" and rows.isdecimal() and int(rows) > 0:
        return in_slices(int(rows))
    if name not in known:
        raise SystemExit(f"there is no plan {name}; there is: {', '.join(known)}, and slices of other sizes")
    return known[name]
