"""Random queries over imprecise times, and streams for them: small enough for every possible world."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import augury as ag
from augury.resolve import Resolved
from augury.runtime.options import Options
from augury.runtime.uncertain import Uncertain, program_of
from augury.semantics import imprecise as definition
from augury.semantics import sase

SCHEMA = pa.schema(
    [
        ("lo", pa.int64()),
        ("hi", pa.int64()),
        ("kind", pa.string()),
        ("x", pa.int64()),
        ("g", pa.string()),
        ("p", pa.list_(pa.float64())),
    ]
)
PLANS = ("sorted", "selective", "any_state", "point")
Rows = dict[tuple[int, ...], tuple[int, int, float]]
"""By the ids of the events: the range and the confidence."""


@dataclass(frozen=True)
class Case:
    text: str
    events: pa.Table  # x of each is its own in `numbered`
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def query(self) -> ag.Query:
        return ag.sase(self.text)

    @property
    def variables(self) -> list[str]:
        return [c.var for c in self.query.pattern.positives]

    def program(self, table: pa.Table) -> Uncertain:
        return program_of(self.query.pattern, table.schema, Options(**self.told))


def case(rng: random.Random, *, most_events: int = 7, most_slots: int = 4) -> Case:
    """One of few types and narrow intervals, so that events overlap and can stand in several slots."""
    size = rng.choice([n for n in (1, 2, 2, 3, 3, 3, 4) if n <= most_slots])
    types = rng.choice(["A", "AB", "AB", "ABC", "ABC"])
    slots = [(rng.choice(types), "abcd"[k]) for k in range(size)]
    names = [name for _, name in slots]
    conditions = []
    strategy = rng.choice(["skip_till_next_match", "skip_till_next_match", "skip_till_any_match", None])
    if strategy:
        conditions.append(f"{strategy}({', '.join(names)})")
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        u, v = rng.choice(names), rng.choice(names)
        compared = f"{u}.x {rng.choice(['<', '<=', '=', '<>'])} {v}.x"
        conditions.append(rng.choice([compared, f"{u}.x > 0", f"{u}.g = {v}.g", f"{u}.x + {v}.x > 1"]))
    if rng.random() < 0.2:
        conditions.append("[g]")
    text = f"PATTERN SEQ({', '.join(f'{t} {v}' for t, v in slots)})"
    text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text += f" WITHIN {rng.randint(size, 8)}" if rng.random() < 0.7 else ""
    told: dict[str, Any] = {"time": ("lo", "hi"), "type": "kind"}
    if rng.random() < 0.6:
        told["pmf"] = "p"
    if rng.random() < 0.2:
        told["key"] = "g"
    return Case(text, stream(rng, types, rng.randint(0, most_events)), told)


def unrelated(rng: random.Random, rows: int) -> Case:
    """Three components under skip_till_next that no test relates: most events could spoil many matches."""
    types = rng.choice(["ABC", "ABB", "ABA", "AAA"])
    conditions = ["skip_till_next_match(a, b, c)", *(["b.x >= 1"] if rng.random() < 0.5 else [])]
    slots = ", ".join(f"{t} {name}" for t, name in zip(types, "abc", strict=True))
    within = rng.choice(["", " WITHIN 4", " WITHIN 8", " WITHIN 12"])
    text = f"PATTERN SEQ({slots}) WHERE {' AND '.join(conditions)}{within}"
    return Case(text, stream(rng, "ABC", rows), {"time": ("lo", "hi"), "type": "kind", "pmf": "p"})


def stream(rng: random.Random, types: str, rows: int) -> pa.Table:
    width = rng.choice([1, 2, 3, 4])
    found = []
    for number in range(rows):
        low, wide = rng.randint(0, 8), rng.randint(1, width)
        weights = [rng.choice([0, 1, 1, 2, 3]) for _ in range(wide)]
        pmf = [w / sum(weights) for w in weights] if rng.random() < 0.3 and sum(weights) else None
        values = {"x": rng.choice([0, 1, 2, None]), "g": rng.choice(["u", "v", None])}
        found.append(
            {"lo": low, "hi": low + wide - 1, "kind": rng.choice(types), **values, "p": pmf, "id": number}
        )
    return pa.Table.from_pylist(found, schema=SCHEMA.append(pa.field("id", pa.int64())))


def by_definition(case: Case, table: pa.Table) -> Rows:
    """What the definition says, by the events' ids."""
    program = case.program(table)
    ordered = table.take(pa.array(sase.stream_order(table, program.query), pa.int64()))
    ids = ordered.column("id").to_pylist()
    found = definition.rows(ordered, program.query, program.question.of)
    return {tuple(ids[row] for row in f.signature): (f.start, f.end, float(f.confidence)) for f in found}


def rows_of(case: Case, result: pa.Table) -> Rows:
    """What a result says."""
    found = {}
    for row in result.to_pylist():
        ids = tuple(row[variable]["id"] for variable in case.variables)
        assert ids not in found, "a signature is one row"
        found[ids] = (row["range_start"], row["range_end"], row["confidence"])
    return found


def difference(wanted: Rows, got: Rows) -> str | None:
    """How two results differ, confidences by more than 1e-9."""
    if wanted.keys() != got.keys():
        return f"missing {wanted.keys() - got.keys()}, too much {got.keys() - wanted.keys()}"
    for ids, (start, end, confidence) in wanted.items():
        if got[ids][:2] != (start, end) or abs(got[ids][2] - confidence) > 1e-9:
            return f"{ids} is {got[ids]}, and should be {(start, end, confidence)}"
    return None


def streams(case: Case, table: pa.Table) -> tuple[list[sase.Stream], Resolved, definition.Chances]:
    """The streams of each key, and when their events can have happened."""
    program = case.program(table)
    ordered = table.take(pa.array(sase.stream_order(table, program.query), pa.int64()))
    when = definition.chances(ordered, program.query, program.question.of)
    return sase.streams(ordered, program.query), program.query, when
