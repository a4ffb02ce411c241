"""A matcher whose automaton changes while it runs.

    add_arc, add_epsilon, remove_arc, apply ─> lifetimes ─> the core: what is kept is matched again where they differ

An arc without a lifetime holds for the events later than all that were received, so it costs nothing of what is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from augury.afa import Arc, Move, Takes, instant_of
from augury.errors import AuguryError, DataError, QueryError
from augury.expr.check import missing
from augury.expr.printing import quoted
from augury.runtime.afa import Automata
from augury.runtime.afa_core import AutomatonCore
from augury.runtime.matcher import Matcher
from augury.schema import as_table

if TYPE_CHECKING:
    import pyarrow as pa


class AutomatonMatcher(Matcher):
    """What an automaton's `query.matcher` gives. Each call returns a table of changes."""

    def __init__(self, program: Automata, given: pa.Schema, *, state: bytes | None = None) -> None:
        self._templates: dict[str, Move] = {}  # arcs by their JSON: where many come, most were drawn before
        super().__init__(program, given, state=state)

    @property
    def _core(self) -> AutomatonCore:
        return cast("AutomatonCore", self.core)

    def add_arc(
        self,
        source: str,
        target: str,
        *,
        when: Any = None,
        update: Any = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
        final: bool = False,
    ) -> pa.Table:
        """One more arc. Without a lifetime it holds for every event later than those received.

        `final=True` says that its target, a state that is new, is a final one.
        """
        given = {
            "source": source,
            "target": target,
            "when": when,
            "update": update,
            "id": id,
            "lifetime": lifetime,
        }
        return self._revised(self._added(Takes.EVENT, given, final=final))

    def add_epsilon(
        self,
        source: str,
        target: str,
        *,
        when: Any = None,
        update: Any = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
        final: bool = False,
    ) -> pa.Table:
        """One more ε arc, taken by what events set off as its lifetime says."""
        given = {
            "source": source,
            "target": target,
            "when": when,
            "update": update,
            "id": id,
            "lifetime": lifetime,
        }
        return self._revised(self._added(Takes.EPSILON, given, final=final))

    def add_window_end(
        self,
        source: str,
        target: str,
        *,
        when: Any = None,
        update: Any = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
        final: bool = False,
    ) -> pa.Table:
        """One more arc that waits for the window's end, for windows that end in its lifetime."""
        given = {
            "source": source,
            "target": target,
            "when": when,
            "update": update,
            "id": id,
            "lifetime": lifetime,
        }
        return self._revised(self._added(Takes.WINDOW_END, given, final=final))

    def remove_arc(self, id: str, *, at: Any = None) -> pa.Table:  # noqa: A002  # what users write
        """The arc's lifetime ends at `at`; without it, behind the latest event received."""
        return self._revised(self._removed(id, at))

    def apply(self, control: Any) -> pa.Table:
        """Many changes at once, in order of `version`: rows (version, action, name, query, at).

        `action` is "add_arc" or "remove_arc", `name` the arc's id, `query` an arc as `to_json` writes it, or a JSON
        object of its own ({"from": "q0", "to": "q1", "when": "x > 1"}), `at` the time from which it holds: without
        it, behind the latest event received.
        """
        self._check_open()
        table = as_table(control)
        for name in ("version", "action", "name"):
            if name not in table.schema.names:
                raise DataError(f"a table of changes has a column {name}, and this one has none")
        before = self._core.arcs_as_they_are()
        try:
            changed = [arc for row in sorted(table.to_pylist(), key=_version) for arc in self._applied(row)]
        except AuguryError:  # a bad change changes nothing, nor do those beside it
            self._core.put_back(before)
            raise
        return self._revised(changed)

    def advance(self, t: Any, *, where: str | None = None) -> pa.Table:
        """No event before `t` comes any more; with `where`, none for which that condition is true."""
        if where is None:
            return super().advance(t)
        self._check_open()
        self._instant(t)
        self._condition(where)
        return self._changes([])

    # -------------------------------------------------------------- how

    def _condition(self, where: str) -> Any:
        from augury.afa import type_of
        from augury.errors import locating
        from augury.expr.check import check_condition

        program = cast("Automata", self.program)
        assert program.codec is not None
        written = program.codec.condition(where)
        with locating(where):
            return check_condition(written.expr, type_of(program.columns, ()))

    def _applied(self, row: Mapping[str, Any]) -> list[Arc]:
        if row["action"] == "remove_arc":
            return self._removed(row["name"], row.get("at"))
        if row["action"] == "add_arc":
            return self._added_as_told(row)
        raise DataError(f'the action {row["action"]!r} changes no automaton: it is "add_arc" or "remove_arc"')

    def _received(self, table: pa.Table) -> None:
        latest = int(self._times(table).max())
        core = self._core
        core.newest = latest if core.newest is None else max(core.newest, latest)

    def _next(self) -> int | None:
        """The first instant behind all that was received; a window that has ended stays as it was reported."""
        if self._core.newest is None:
            return None
        after = self._core.newest + 1
        return after if self.frontier is None else max(after, self.frontier)

    def _added(self, takes: Takes, given: Mapping[str, Any], *, final: bool) -> list[Arc]:
        self._check_open()
        move = self._drawn(takes, given)
        names = self._final(move, final)
        if given["lifetime"] is None:
            return self._core.add([(move, self._next(), None)], names)
        self._check_explicit(move.low, "starts")
        return self._core.add([(move, None, None)], names)

    def _drawn(self, takes: Takes | None, given: Mapping[str, Any]) -> Move:
        program, core = cast("Automata", self.program), self._core
        assert program.codec is not None
        named = given.get("id")
        # An id that nobody gave is new; one of an arc that has been removed may be used again.
        taken = set(core.places) if named is None else self._in_use(named)
        move = program.codec.draw(takes, given, core.query.registers, taken)
        if move.takes is Takes.WINDOW_END and core.query.window is None:
            raise QueryError(
                f"the arc {quoted(move.id)} waits for the window's end, and the query has no window",
                hint="write query(within=…)",
            )
        return move

    def _in_use(self, name: str) -> set[str]:
        arc = self._core.arc(name)
        return set() if arc is None or arc.high is not None else {name}

    def _final(self, move: Move, final: bool) -> tuple[str, ...]:
        if not final:
            return ()
        core = self._core
        if move.target in core.query.states and core.query.states.index(move.target) not in core.query.final:
            raise QueryError(
                f"the state {quoted(move.target)} is there already, and is not final",
                hint="final=True is for a state that is new",
            )
        return (move.target,)

    def _check_explicit(self, low: Any, verb: str) -> None:
        time = self.program.columns.types[self.program.clock]
        at = instant_of(low, time, self.program.clock)
        if self.frontier is not None and (at is None or at < self.frontier):
            raise DataError(
                f"the arc {verb} at {low!r}, and no change before the last punctuation was to come any more"
            )

    def _removed(self, name: str, at: Any) -> list[Arc]:
        self._check_open()
        core = self._core
        arc = core.arc(name)
        if arc is None:
            message, hint = missing("arc", str(name), core.places)
            raise QueryError(message, hint=hint)
        if at is not None:
            self._check_explicit(at, "ends")
            time = self.program.columns.types[self.program.clock]
            end = instant_of(at, time, self.program.clock)
            assert end is not None
            return core.end(name, end)
        behind = self._next()
        return core.end(name, arc.low if behind is None else behind)

    def _added_as_told(self, row: Mapping[str, Any]) -> list[Arc]:
        known = self._templates.get(row["query"])
        if known is not None and row["name"] and not self._in_use(row["name"]):
            move, final = replace(known, id=row["name"]), False
        else:
            move, final = self._as_told(row)
        names = self._final(move, final)
        at = row.get("at")
        if at is not None:
            self._check_explicit(at, "starts")
            time = self.program.columns.types[self.program.clock]
            return self._core.add([(move, instant_of(at, time, self.program.clock), None)], names)
        if move.low is not None or move.high is not None:
            self._check_explicit(move.low, "starts")
            return self._core.add([(move, None, None)], names)
        return self._core.add([(move, self._next(), None)], names)

    def _as_told(self, row: Mapping[str, Any]) -> tuple[Move, bool]:
        try:
            told = json.loads(row["query"])
            given = {**told, "id": row["name"] or told.get("id")}
            final = bool(given.pop("final", False))
            move = self._drawn(None, {"lifetime": None, **given})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the change {row['name']!r} holds no arc in JSON: {error}") from None
        if not final:
            if len(self._templates) > 1000:
                self._templates.clear()
            self._templates[row["query"]] = move
        return move, final

    def _revised(self, arcs: list[Arc]) -> pa.Table:
        return self._changes(self._core.revise(arcs) if arcs else [])


def _version(row: Mapping[str, Any]) -> Any:
    return row["version"]
