"""One random case before the judges: a plan against the oracle, or against the definition."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import augury as ag
from conformance import oracle
from conformance.compare import difference, rows_of, table_difference
from conformance.plans import DEFINITION, Plan
from conformance.queries import PARTITION, Case, Stream, variables_of

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUTS = ("all", "non_overlap", "longest", "count")


parsed = functools.lru_cache(maxsize=256)(ag.sase)
"""Queries by their texts: each case asks the same one for several outputs."""


def answer(plan: Plan, case: Case, output: str = "all", table: Any = None, **more: Any) -> pa.Table:
    """What a plan says. Rows without a time are dropped; the warning about them is another test's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.DataWarning)
        return plan.match(
            parsed(case.text), case.table if table is None else table, output=output, **case.arguments, **more
        )


def against_oracle(plan: Plan, case: Case, outputs: Sequence[str] = OUTPUTS) -> str | None:
    """How a plan differs from the oracle, or None."""
    query = parsed(case.text)
    found = oracle.matches(case)
    for output in outputs:
        if not plan.covers(query, output):
            continue
        got = answer(plan, case, output)
        if got.schema.names != oracle.columns(case, output):
            return f"{output}: the columns are {got.schema.names}, not {oracle.columns(case, output)}"
        said = difference(oracle.rows(case, output, found), rows_of(got))
        if said is not None:
            return f"{output}: {said}"
    return None


def against_definition(
    plan: Plan, case: Case, outputs: Sequence[str] = (*OUTPUTS, "compressed")
) -> str | None:
    """How a plan differs from the definition, or None; compressed rows are compared expanded."""
    query = parsed(case.text)
    for output in outputs:
        if not plan.covers(query, output):
            continue
        if output == "compressed":
            wanted = answer(DEFINITION, case, match_id=True)
            got = ag.expand(answer(plan, case, output), match_id=True)
            wanted = wanted.replace_schema_metadata(None)
        else:
            named = output != "count"
            wanted = answer(DEFINITION, case, output, match_id=named)
            got = answer(plan, case, output, match_id=named)
        said = table_difference(wanted, got)
        if said is not None:
            return f"{output}: {said}"
    return None


# ------------------------------------------------------------------ smaller cases


def minimal(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A case that still fails, of which no part can be left out."""
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in simpler(case):
            if fails(smaller):
                case, shrinking = smaller, True
                break
    return case


def simpler(case: Case) -> Iterator[Case]:
    """The cases with one thing less."""
    query, stream = case.query, case.stream
    for i in range(len(stream.rows)):
        yield replace(case, stream=replace(stream, rows=stream.rows[:i] + stream.rows[i + 1 :]))
    if query.returns is not None:
        yield replace(case, query=replace(query, returns=None))
        for i in range(len(query.returns) if len(query.returns) > 1 else 0):
            yield replace(case, query=replace(query, returns=query.returns[:i] + query.returns[i + 1 :]))
    for i in range(len(query.predicates)):
        yield replace(case, query=replace(query, predicates=query.predicates[:i] + query.predicates[i + 1 :]))
        for child in getattr(query.predicates[i], "args", ()) if hasattr(query.predicates[i], "op") else ():
            smaller = (*query.predicates[:i], child, *query.predicates[i + 1 :])
            yield replace(case, query=replace(query, predicates=smaller))
    for c in query.components:
        rest = tuple(o for o in query.components if o is not c)
        used = query.returns is not None and any(
            item.expr == c.var or c.var in variables_of(item.expr) for item in query.returns
        )
        if any(not o.negated for o in rest) and not used:
            kept = tuple(p for p in query.predicates if c.var not in variables_of(p))
            yield replace(case, query=replace(query, components=rest, predicates=kept))
    if query.partition and (query.strategy != PARTITION or len(query.partition) > 1):
        yield replace(case, query=replace(query, partition=query.partition[1:]))
    if query.within is not None and not query.has_open_negation:
        yield replace(case, query=replace(query, within=None))
    if case.key:
        yield replace(case, key=case.key[1:])
    if case.tiebreak:
        yield replace(case, tiebreak=())
    if stream.time_kind != "int64":
        yield replace(case, stream=replace(stream, time_kind="int64"))
    yield from _without_a_column(case)
    for i, row in enumerate(stream.rows):
        for j, value in enumerate(row):
            if stream.columns[j][1] not in ("time", "type") and value is not None:
                changed = (*stream.rows[:i], (*row[:j], None, *row[j + 1 :]), *stream.rows[i + 1 :])
                yield replace(case, stream=replace(stream, rows=changed))


def _without_a_column(case: Case) -> Iterator[Case]:
    """Columns that neither the query nor a role names."""
    words = f"{case.text} {case.key} {case.tiebreak}"
    columns, rows = case.stream.columns, case.stream.rows
    for j, (name, _) in enumerate(columns):
        if (
            name in ("ts", "kind")
            or f".{name}" in words
            or name in case.query.partition + case.key + case.tiebreak
        ):
            continue
        smaller = Stream(
            columns[:j] + columns[j + 1 :], tuple(r[:j] + r[j + 1 :] for r in rows), case.stream.time_kind
        )
        yield replace(case, stream=smaller)
