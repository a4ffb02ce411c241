"""Every way to evaluate a query: the one place where a plan or a runtime joins the conformance suite.

A plan takes a query and a table to the result. What it cannot evaluate it declares in `covers`, so that the
suite asks it for nothing else and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import augury as ag

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


DEFINITION = in_process("definition")
PLANS = (DEFINITION, in_process("eager"), in_process("eager-unmerged"), in_process("backtrack"))
"""All of them; the definition is first, and judges the others."""


def plan_named(name: str) -> Plan:
    known = {plan.name: plan for plan in PLANS}
    if name not in known:
        raise SystemExit(f"there is no plan {name}; there is: {', '.join(known)}")
    return known[name]
