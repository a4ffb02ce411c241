"""The corpus of automata: worked cases as data, in `tests/corpus/automata/*.toml`, in the tables of the other cases."""

from __future__ import annotations

import functools
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import augury as ag
from conformance.compare import table_difference
from conformance.corpus import events_of, lines_of, result_of

FOLDER = Path(__file__).resolve().parents[1] / "corpus" / "automata"
METHODS = {"->": "arc", "~>": "epsilon", "=>": "window_end"}


@dataclass(frozen=True)
class Worked:
    name: str
    shows: str
    query: Any
    events: str
    match: Mapping[str, Any]
    expected: str
    file: str


@functools.cache
def load() -> tuple[Worked, ...]:
    return tuple(case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path))


def _read(path: Path) -> list[Worked]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    cases = []
    for raw in data["case"]:
        drawn = {
            **data["automata"][raw["automaton"]],
            **({"registers": raw["registers"]} if "registers" in raw else {}),
        }
        cases.append(
            Worked(
                name=raw["name"],
                shows=raw["shows"],
                query=automaton(drawn).query(within=raw.get("within")),
                events=raw["events"] if "events" in raw else data["streams"][raw["stream"]],
                match=raw.get("match", {"time": "ts"}),
                expected=raw["all"],
                file=path.name,
            )
        )
    return cases


def automaton(drawn: Mapping[str, Any]) -> ag.Automaton:
    afa = ag.Automaton(start=drawn["start"], final=drawn["final"], registers=drawn["registers"])
    for line in lines_of(drawn["arcs"]):
        name, ends, when, updates, *rest = (cell.strip() for cell in line.split("|"))
        source, arrow, target = ends.split()
        getattr(afa, METHODS[arrow])(
            source,
            target,
            when=when or None,
            update=dict(re.split(r"\s*=\s*", u.strip(), maxsplit=1) for u in updates.split(","))
            if updates
            else None,
            id=name,
            lifetime=_lifetime(rest[0]) if rest and rest[0] else None,
        )
    return afa


def _lifetime(text: str) -> tuple[int | None, int | None]:
    low, high = (None if end.strip() == "null" else int(end) for end in text.strip("()").split(","))
    return low, high


Ask = Callable[[Any, pa.Table, Mapping[str, Any]], pa.Table]


def by_plan(plan: str) -> Ask:
    return lambda query, events, told: query.match(events, plan=plan, **told)


def by_matcher(**how: Any) -> Ask:
    """What a matcher's changes amount to, the events coming one by one in another order."""

    def ask(query: Any, events: pa.Table, told: Mapping[str, Any]) -> pa.Table:
        m = query.matcher(events.schema, **how, **told)
        order = sorted(range(events.num_rows), key=lambda row: (row * 7) % max(events.num_rows, 1))
        found = [m.insert(events.take(pa.array([row], pa.int64()))) for row in order]
        m = query.matcher(events.schema, state=m.state(), **how, **told)
        found.append(m.close())
        rows: Counter[str] = Counter()
        shown = {}
        for row in pa.concat_tables(found).to_pylist():
            op = row.pop("op")
            rows[repr(row)] += 1 if op == "insert" else -1
            shown[repr(row)] = row
        left = [shown[text] for text, many in rows.items() for _ in range(many)]
        schema = pa.schema([f for f in found[-1].schema if f.name != "op"])
        return pa.Table.from_pylist(left, schema=schema)

    return ask


WAYS: dict[str, Ask] = {
    **{plan: by_plan(plan) for plan in ("definition", "auto", "eager", "eager-unmerged", "can")},
    "matcher": by_matcher(),
    "matcher-early": by_matcher(speculate=None),
    "matcher-restart": by_matcher(speculate=None, plan="restart"),
}


def failure(case: Worked, ask: Ask) -> str | None:
    """How an answer to a case is wrong, or None."""
    events, labels = events_of(case.events)
    told = dict(case.match)
    wanted = result_of(case.expected, events, labels, None)
    if "events" in wanted.schema.names:
        told["events"] = True
    got = ask(case.query, events, told)
    return table_difference(wanted, got)
