"""The law of automata in a matcher: after every call inserts minus retracts are what the definition gives.

Random interleavings of events that come in any order, are taken back and come late, of arcs that come and go, of
punctuations, saved states and ends, for every speculation.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from augury.afa import Move, Ready, ready, with_moves
from augury.afa_query import AutomatonQuery
from augury.errors import QueryError
from augury.expr.types import INT64_MIN
from augury.runtime.afa import by_definition, program_of
from augury.runtime.options import Options
from augury.schema import Columns, roles_of
from machines import SCHEMA, random_arc, random_automaton, random_events, shown


class Play:
    """A matcher, and beside it what is needed to ask the definition."""

    def __init__(self, seed: int, plan: str = "auto") -> None:
        self.rng = rng = random.Random(seed)
        self.seed = seed
        windowed = rng.random() < 0.75
        self.query: AutomatonQuery = random_automaton(rng, within=windowed, lively=rng.random() < 0.5).query(
            within=rng.randint(2, 12) if windowed else None
        )
        self.sequence = "seq" if rng.random() < 0.2 else None
        self.speculate: Any = rng.choice((0, None, None, 3, 8))
        self.told: dict[str, Any] = {
            "time": "ts",
            "key": rng.choice((None, "k")),
            "events": rng.random() < 0.4,
            "sequence": self.sequence,
        }
        self.plan = plan
        self.matcher: Any = self.made(None)
        columns = Columns.of(SCHEMA)
        roles = roles_of(columns, "ts", None, self.told["key"], None)
        self.ready: Ready = ready(self.query.machine, columns, roles, self.sequence)
        self.gives = program_of(self.query.machine, SCHEMA, Options(**self.told)).gives
        self.ids = [m.id for m in self.query.machine.moves]
        self.events: list[dict[str, Any]] = []
        self.counts: dict[Any, int] = {}
        self.frontier: int | None = None
        self.newest: int | None = None
        self.closed = False
        self.current: Counter[str] = Counter()

    def made(self, state: bytes | None) -> Any:
        return self.query.matcher(SCHEMA, speculate=self.speculate, plan=self.plan, state=state, **self.told)

    def released(self) -> list[dict[str, Any]]:
        if self.speculate is None or self.sequence or self.closed:
            return self.events
        if self.frontier is None:
            return []
        return [e for e in self.events if e["ts"] < self.frontier + self.speculate]

    def check(self, changes: pa.Table, what: str) -> None:
        for row in changes.to_pylist():
            op = row.pop("op")
            self.current[shown(row)] += 1 if op == "insert" else -1
            assert self.current[shown(row)] >= 0, (self.seed, what, "taken back before it came", row)
        table = pa.Table.from_pylist(self.released(), schema=SCHEMA)
        wanted = Counter(
            shown(row)
            for row in by_definition(
                table,
                self.ready,
                self.gives,
                events=self.told["events"],
                frontier=self.frontier,
                ended=self.closed,
            ).to_pylist()
        )
        got = Counter({row: n for row, n in self.current.items() if n})
        assert got == wanted, (self.seed, what, "missing", wanted - got, "too many", got - wanted)

    def step(self) -> None:
        rng = self.rng
        what = rng.choices(("insert", "retract", "advance", "add", "remove", "save"), (6, 2, 2, 1.5, 1, 0.5))[
            0
        ]
        getattr(self, what)()

    def insert(self) -> None:
        rng = self.rng
        start = rng.randint(0, 12) if self.frontier is None else self.frontier + rng.randint(-2, 6)
        table = random_events(rng, rng.randint(1, 5), start=start, span=rng.choice((0, 2, 8)))
        rows = table.to_pylist()
        if self.sequence:  # numbers rise with time, but for gaps and what comes again
            rows.sort(key=lambda r: r["ts"])
            for row in rows:
                key = row["k"] if self.told["key"] else None
                last = self.counts.get(key, (0, row["ts"]))
                row["seq"] = last[0] + rng.choice((1, 1, 1, 2))
                row["ts"] = max(row["ts"], last[1])
                self.counts[key] = row["seq"], row["ts"]
            rng.shuffle(rows)
            rows += self.revisions()
        late = [r for r in rows if self.frontier is not None and r["ts"] < self.frontier]
        good = [r for r in rows if r not in late]
        self.events = self.events + good
        for row in good:
            self.newest = row["ts"] if self.newest is None else max(self.newest, row["ts"])
        changes = self.matcher.insert(pa.Table.from_pylist(rows, schema=SCHEMA))
        self.check(changes, f"insert {rows}")

    def revisions(self) -> list[dict[str, Any]]:
        """An event that is not settled comes again, otherwise than before."""
        known = [e for e in self.events if self.frontier is None or e["ts"] >= self.frontier]
        if not known or self.rng.random() < 0.6:
            return []
        old = self.rng.choice(known)
        self.events = [e for e in self.events if e is not old]
        return [{**old, "x": self.rng.choice((0, 1, 2, 3)), "kind": self.rng.choice(("A", "B"))}]

    def retract(self) -> None:
        known = [e for e in self.events if self.frontier is None or e["ts"] >= self.frontier]
        if not known:
            return
        gone = self.rng.sample(known, min(len(known), self.rng.randint(1, 3)))
        for row in gone:
            at = next(n for n, e in enumerate(self.events) if repr(e) == repr(row))
            self.events = self.events[:at] + self.events[at + 1 :]
        self.check(self.matcher.retract(pa.Table.from_pylist(gone, schema=SCHEMA)), f"retract {gone}")

    def advance(self) -> None:
        last = 0 if self.frontier is None else self.frontier
        t = last + self.rng.randint(0, 6)
        self.frontier = t if self.frontier is None else max(self.frontier, t)
        self.check(self.matcher.advance(t), f"advance {t}")

    def behind(self) -> int | None:
        if self.newest is None:
            return None
        return self.newest + 1 if self.frontier is None else max(self.newest + 1, self.frontier)

    def add(self) -> None:
        rng = self.rng
        kind, given = random_arc(rng, lively=False)
        if kind == "window_end" and self.query.machine.within is None:
            return
        if rng.random() < 0.1:
            given["target"] = "q9"
        is_new = given["target"] not in self.ready.states
        final = is_new and rng.random() < 0.5
        lifetime = None
        if rng.random() < 0.5:
            low = (self.frontier or 0) + rng.randint(0, 4)
            lifetime = (low, rng.choice((None, low + rng.randint(1, 5))))
        name = f"n{len(self.ids)}"
        method = {"arc": "add_arc", "epsilon": "add_epsilon", "window_end": "add_window_end"}[kind]
        changes = getattr(self.matcher, method)(**given, id=name, lifetime=lifetime, final=final)
        move: Move = self.matcher.core.moves[-1]
        self.ready = with_moves(self.ready, [move], [given["target"]] if final else [])
        if lifetime is None and self.behind() is not None:
            arcs = [*self.ready.arcs[:-1], replace(self.ready.arcs[-1], low=self.behind() or INT64_MIN)]
            self.ready = replace(self.ready, arcs=tuple(arcs))
        self.ids.append(name)
        self.check(changes, f"{method} {given} {lifetime}")

    def remove(self) -> None:
        n = self.rng.randrange(len(self.ids))
        arc = self.ready.arcs[n]
        if self.frontier is not None and arc.high is not None and arc.high <= self.frontier:
            return  # it may have been forgotten
        explicit = self.rng.random() < 0.5
        at = (self.frontier or 0) + self.rng.randint(0, 4)
        changes = self.matcher.remove_arc(self.ids[n], **({"at": at} if explicit else {}))
        end = at if explicit else self.behind()
        if end is None:
            end = arc.low
        high = end if arc.high is None else min(arc.high, end)
        arcs = list(self.ready.arcs)
        arcs[n] = replace(arc, high=high)
        self.ready = replace(self.ready, arcs=tuple(arcs))
        self.check(changes, f"remove {self.ids[n]} {at if explicit else None}")

    def save(self) -> None:
        self.matcher = self.made(self.matcher.state())

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
        self.closed = True
        self.check(self.matcher.close(), "close")


def play(seed: int, plan: str = "auto") -> None:
    game = Play(seed, plan)
    try:
        game.run(game.rng.randint(2, 9))
    except QueryError as error:
        if "does not end" not in str(error):
            raise


@pytest.mark.parametrize("block", range(8))
def test_after_every_call_the_changes_amount_to_what_the_definition_gives(block: int) -> None:
    for seed in range(60):
        play(1000 * block + seed, ("auto", "auto", "auto", "can", "restart")[seed % 5])
