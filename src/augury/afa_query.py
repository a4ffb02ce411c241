"""What users hold of an automaton: `ag.Automaton`, in which arcs are drawn, and the query that it becomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Unpack

from augury.afa import EVENT, REGISTER, Machine, Move, Register, Takes, Written, registers_of
from augury.asking import Asking
from augury.errors import QueryError
from augury.expr.printing import quoted, text_of
from augury.expr.tree import Param, walk
from augury.lang.builder import (
    Guard,
    Update,
    move_of,
    parsed,
    refuse_endless,
    register_of,
    state_of,
    window_of,
)
from augury.lang.params import decoded, encoded
from augury.time import Window

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.pictures.diagram import Diagram
    from augury.runtime.afa import Automata
    from augury.runtime.afa_matcher import AutomatonMatcher
    from augury.runtime.options import Arguments, Options
    from augury.why import Why

VERSION = 1


class Automaton:
    """An automaton with registers, for `query(within=…)`.

    >>> import augury as ag
    >>> afa = ag.Automaton(start="q0", final=["q2"], registers={"n": 0})
    >>> afa.arc("q0", "q1", when="change < 0").arc("q1", "q1", when="change < 0", update={"n": "r.n + 1"})
    Automaton(start='q0', final=['q2'], registers={'n': 0}), 2 arcs
    >>> afa.arc("q1", "q2", when=lambda e, r: (e.change > 0) & (r.n > 2)).query(within=500)
    AutomatonQuery of 3 states and 3 arcs, within 500
    """

    def __init__(
        self, *, start: str, final: Iterable[str] | str, registers: Mapping[str, Any] | None = None
    ) -> None:
        self._start = state_of(start)
        self._final = tuple(
            dict.fromkeys(state_of(s) for s in ([final] if isinstance(final, str) else final))
        )
        if not self._final:
            raise QueryError("an automaton without a final state accepts nothing", hint="name one in final=")
        self._given = tuple(register_of(name, value) for name, value in dict(registers or {}).items())
        self._registers = registers_of(self._given)
        self._moves: list[Move] = []

    def __repr__(self) -> str:
        return (
            f"Automaton(start={self._start!r}, final={list(self._final)!r}, registers={dict(self._given)!r}), "
            f"{len(self._moves)} arcs"
        )

    def arc(
        self,
        source: str,
        target: str,
        *,
        when: Guard | None = None,
        update: Update = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
    ) -> Automaton:
        """An arc that consumes an event for which `when` is true."""
        return self._add(Takes.EVENT, source, target, when, update, id, lifetime)

    def epsilon(
        self,
        source: str,
        target: str,
        *,
        when: Guard | None = None,
        update: Update = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
    ) -> Automaton:
        """An arc that consumes nothing: it sees registers only."""
        return self._add(Takes.EPSILON, source, target, when, update, id, lifetime)

    def window_end(
        self,
        source: str,
        target: str,
        *,
        when: Guard | None = None,
        update: Update = None,
        id: str | None = None,  # noqa: A002  # what users write
        lifetime: tuple[Any, Any] | None = None,
    ) -> Automaton:
        """An arc that is taken when the window has passed: for what must not have come until then."""
        return self._add(Takes.WINDOW_END, source, target, when, update, id, lifetime)

    def query(self, within: Any = None) -> AutomatonQuery:
        """The automaton as a query; `within` is a number, a text such as "5 seconds", or a timedelta."""
        window = window_of(within)
        if window is None:
            end = next((m for m in self._moves if m.takes is Takes.WINDOW_END), None)
            if end is not None:
                raise QueryError(
                    f"the arc {quoted(end.id)} waits for the window's end, and the query has no window",
                    hint="write query(within=…)",
                )
        machine = Machine(self._start, self._final, self._given, tuple(self._moves), window)
        refuse_endless(machine, self._registers)
        return AutomatonQuery(machine)

    def draw(self, arc: Mapping[str, Any]) -> Automaton:
        """An arc from the object that `to_json` writes for it."""
        self._moves.append(move_from(dict(arc), self._registers, {m.id for m in self._moves}))
        return self

    def _add(
        self,
        takes: Takes,
        source: str,
        target: str,
        when: Guard,
        update: Update,
        name: str | None,
        lifetime: tuple[Any, Any] | None,
    ) -> Automaton:
        taken = {m.id for m in self._moves}
        move = move_of(takes, source, target, when, update, name, lifetime, self._registers, taken)
        self._moves.append(move)
        return self


class AutomatonQuery(Asking):
    """An automaton with a window. Make one with `ag.Automaton(…).query(within=…)`; it never changes."""

    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def machine(self) -> Machine:
        """What the query says, as every engine reads it."""
        return self._machine

    def __repr__(self) -> str:
        m = self._machine
        states = {m.start, *m.final, *(s for move in m.moves for s in (move.source, move.target))}
        within = "" if m.within is None else f", within {m.within}"
        return f"AutomatonQuery of {len(states)} states and {len(m.moves)} arcs{within}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AutomatonQuery) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def _program(self, schema: pa.Schema, options: Options) -> Automata:
        from augury.runtime.afa import Codec, program_of

        return program_of(self._machine, schema, options, Codec(drawn, json_of, condition))

    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        from augury.explain.automata import explain

        return explain(self._machine, data, options, kernel=kernel)

    def why(
        self,
        data: Any,
        *,
        time: str | None = None,
        key: Any = None,
        tiebreak: Any = None,
        sequence: str | None = None,
        event: int | None = None,
        limit: int = 5,
        bad_rows: str = "error",
    ) -> Why:
        """Why the automaton did or did not accept: how near computations came to a final state, and what stopped them.

        `event` is the row of the event with which computations are to begin. The changes are a longer window, and arcs without
        their guard or lifetime.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> afa = (
        ...     ag.Automaton(start="q0", final="q2")
        ...     .arc("q0", "q1", when="x > 1")
        ...     .arc("q1", "q2", when="x > 5")
        ... )
        >>> answer = afa.query().why(pa.table({"ts": [1, 2], "x": [2, 3]}), time="ts")
        >>> str(answer.misses[0].because)
        'a1: e.x > 5 is not true: e.x = 3'
        """
        from augury.why.machines import why

        arguments = {"tiebreak": tiebreak, "sequence": sequence, "bad_rows": bad_rows}
        return why(
            self._machine,
            AutomatonQuery,
            self,
            data,
            time=time,
            key=key,
            event=event,
            limit=limit,
            arguments=arguments,
        )

    def _diagram(self) -> Diagram:
        from augury.pictures.diagram import of_machine

        return of_machine(self._machine)

    def matcher(
        self, schema: Any, *, state: bytes | None = None, **arguments: Unpack[Arguments]
    ) -> AutomatonMatcher:
        """`match` for events that keep coming in any order, may be taken back, and arcs that come and go.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> afa = ag.Automaton(start="q0", final=["q1"]).arc("q0", "q1", when="x > 1")
        >>> m = afa.query(within=10).matcher(
        ...     pa.schema([("ts", pa.int64()), ("x", pa.int64())]), time="ts", speculate=None
        ... )
        >>> m.insert(pa.table({"ts": [1], "x": [5]})).to_pylist()
        [{'op': 'insert', 'valid_from': 1, 'valid_to': 11}]
        >>> m.retract(pa.table({"ts": [1], "x": [5]})).to_pylist()
        [{'op': 'retract', 'valid_from': 1, 'valid_to': 11}]
        """
        from augury.runtime.afa_matcher import AutomatonMatcher
        from augury.runtime.matcher import schema_of

        options = self._options("matcher", arguments)
        columns = schema_of(schema)
        return AutomatonMatcher(self._program(columns, options), columns, state=state)

    def to_json(self) -> str:
        """The query as JSON text: names, texts and values, nothing that runs."""
        m = self._machine
        return json.dumps(
            {
                "augury": VERSION,
                "language": "afa",
                "start": m.start,
                "final": list(m.final),
                "registers": {name: encoded(value) for name, value in m.registers},
                "within": None if m.within is None else [str(m.within.amount), m.within.has_unit],
                "arcs": [json_of(move) for move in m.moves],
            }
        )


# ------------------------------------------------------------------ as JSON


def json_of(move: Move) -> dict[str, Any]:
    return {
        "id": move.id,
        "from": move.source,
        "to": move.target,
        "takes": move.takes.name.lower(),
        "when": None if move.when is None else _written(move.when),
        "update": {name: _written(w) for name, w in move.updates},
        "lifetime": [encoded(move.low), encoded(move.high)],
    }


def _written(written: Written) -> dict[str, Any]:
    params = {n.name: encoded(n.value) for n in walk(written.expr) if isinstance(n, Param)}
    return {"text": text_of(written.expr), "params": params}


def from_object(data: dict[str, Any]) -> AutomatonQuery:
    """The query that `to_json` wrote, checked as if it were built anew."""
    try:
        afa = Automaton(
            start=data["start"],
            final=data["final"],
            registers={name: decoded(v) for name, v in data["registers"].items()},
        )
        for arc in data["arcs"]:
            afa.draw(arc)
        within = data["within"]
        return afa.query(None if within is None else Window(Decimal(within[0]), bool(within[1])))
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError, IndexError):
        raise QueryError("this JSON holds no automaton", hint="from_json reads what to_json wrote") from None


def move_from(data: dict[str, Any], registers: Any, taken: set[str]) -> Move:
    """An arc from an object: as `json_of` wrote it, or as one writes it by hand.

    There an expression is a text, constants stand for themselves, and the ends may be called as in `add_arc`.
    """
    takes = Takes[str(data.get("takes", "event")).upper()]
    variables = (EVENT, REGISTER) if takes is Takes.EVENT else (REGISTER,)
    source, target = (
        data[name] if name in data else data[other] for name, other in (("from", "source"), ("to", "target"))
    )

    def written(one: Any) -> Any:
        if not isinstance(one, dict):
            return one
        params = {
            n: [decoded(v) for v in p] if isinstance(p, list) else decoded(p)
            for n, p in one.get("params", {}).items()
        }
        return parsed(str(one["text"]), variables, str(data.get("id")), params)

    lifetime = data.get("lifetime")
    return move_of(
        takes,
        source,
        target,
        written(data.get("when")),
        {name: written(one) for name, one in (data.get("update") or {}).items()},
        data.get("id"),
        None if lifetime is None else tuple(decoded(end) for end in lifetime),
        registers,
        taken,
    )


def drawn(
    takes: Takes | None, given: Mapping[str, Any], registers: tuple[Register, ...], taken: set[str]
) -> Move:
    """An arc that is added while a matcher runs: as the builder's methods take it, or as JSON has it."""
    if takes is None:
        return move_from(dict(given), registers, taken)
    return move_of(
        takes,
        given["source"],
        given["target"],
        given["when"],
        given["update"],
        given["id"],
        given["lifetime"],
        registers,
        taken,
    )


def condition(text: str) -> Written:
    """A condition on events, as a punctuation has it."""
    return parsed(text, (EVENT,), "where")
