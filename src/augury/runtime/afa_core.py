"""What a matcher remembers of an automaton's stream: its history, and the arcs as they are now.

step, retract, arcs ─> History ─> output events that come and go ─> rows with `op`
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.afa import Arc, Move, Ready, with_moves
from augury.engines.afa import Runs
from augury.engines.afa_history import Changes, History
from augury.engines.afa_pool import KEPT, Kept
from augury.expr.columns import Column, to_arrow
from augury.expr.physical import from_arrow
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.match.gather import rows_of_table
from augury.plan.slots import Placed, Slots
from augury.runtime.changes import INSERT, RETRACT, with_op
from augury.runtime.state import read_events, written_events

if TYPE_CHECKING:
    from augury.runtime.afa import Automata

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BASES = ("base_lo", "base_hi", "base_rank", "base_id", "base_time")


class AutomatonCore:
    """The core of a matcher of automata."""

    SECTIONS: ClassVar[tuple[str, ...]] = ("events", "kept", "pool", "bases", "keys", "archive", "archived")

    def __init__(self, program: Automata) -> None:
        from augury.runtime.afa import stepper_of

        self.program = program
        self.reads = pa.schema([program.given.field(n) for n in program.reads])
        stepper = stepper_of(program.query, program.options, lists=program.options.events)
        self.history = History(
            stepper,
            self.reads,
            events=program.options.events,
            restarts=program.options.plan == "restart",
        )
        self.arcs: list[Arc] = list(program.query.arcs)
        self.moves: list[Move] = list(program.query.machine.moves)  # what each arc was made of
        self.places = {m.id: n for n, m in enumerate(self.moves)}
        self.stale = False  # the query has not these arcs yet
        self._known: dict[Any, tuple[Move, Arc, Placed]] = {}
        self.newest: int | None = None  # the largest time received
        self.changed = False

    @property
    def query(self) -> Ready:
        self._commit()
        return self.history.query

    # -------------------------------------------------------------- events

    def step(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        self._commit()
        found = self._changed(new, frontier) if new.num_rows else []
        known = self.history.frontier
        if frontier is None or (frontier > INT64_MIN and (known is None or frontier > known)):
            found += self._told(None, self.history.window_ends(frontier))
            if frontier is not None:
                self.history.forget(frontier)
                self._discard(frontier)
        return found

    def _changed(self, new: pa.Table, frontier: int | None) -> list[pa.Table]:
        history = self.history
        if history.follows and (
            frontier is None or int(history.times(new, self.program.clock).max()) < frontier
        ):
            return self._told(None, history.follow(new))
        return self._told(*history.change(new))

    def knows(self, events: pa.Table) -> Mask:
        return ~self._chosen(events)[1]

    def retract(self, gone: pa.Table, frontier: int | None) -> list[pa.Table]:
        del frontier
        self._commit()
        return self._told(*self.history.change(gone=self._chosen(gone)[0]))

    def _chosen(self, wanted: pa.Table) -> tuple[Mask, Mask]:
        """One kept event for each of these, and those for which there is none."""
        from augury.runtime.matcher import one_of_each

        history = self.history
        near = np.flatnonzero(np.isin(history.kept.time, history.times(wanted, self.program.clock)))
        chosen = np.zeros(len(history.kept), np.bool_)
        some = rows_of_table(history.table, near)
        found, missing = one_of_each(some, wanted, self.program.reads, self.program.columns.types)
        chosen[near[found]] = True
        return chosen, missing

    # -------------------------------------------------------------- arcs

    def arc(self, name: str) -> Arc | None:
        """The arc of this id; of several that had it, the last."""
        place = self.places.get(name)
        return None if place is None else self.arcs[place]

    def add(
        self, moves: Sequence[tuple[Move, int | None, int | None]], final: Iterable[str] = ()
    ) -> list[Arc]:
        """More arcs, with lifetimes in instants where they are not the moves' own; which lifetimes are other now."""
        stepper = self.history.stepper
        added = []
        for move, low, high in moves:
            arc, placed = self._typed(move, final)
            arc = replace(
                arc, id=move.id, low=arc.low if low is None else low, high=arc.high if high is None else high
            )
            self.places[move.id] = len(self.arcs)
            self.arcs.append(arc)
            self.moves.append(move)
            stepper.slots.place(arc, like=placed)
            added.append(arc)
        self.changed = self.stale = True
        return added

    def _typed(self, move: Move, final: Iterable[str]) -> tuple[Arc, Placed | None]:
        """The move with types. Where arcs come and go, most are drawn as one before was."""
        key = (
            move.source,
            move.target,
            move.takes,
            move.low,
            move.high,
            id(move.when),
            tuple(map(id, move.updates)),
        )
        known = self._known.get(key)
        if known is not None and not final:
            return known[1], known[2]
        stepper = self.history.stepper
        query = with_moves(replace(stepper.query, arcs=()), [move], final)
        arc = query.arcs[0]
        placed = stepper.slots.placing(arc)
        self._known[key] = (move, arc, placed)  # with the move, so that its parts' identities stay theirs
        stepper.query = replace(query, arcs=stepper.query.arcs)
        return arc, placed

    def end(self, name: str, at: int) -> list[Arc]:
        """An arc's lifetime ends; the lifetime that it loses."""
        place = self.places[name]
        old = self.arcs[place]
        if old.high is not None and old.high <= at:
            return []
        self.arcs[place] = replace(old, high=at)
        self.history.stepper.slots.change(place, self.arcs[place])
        self.changed = self.stale = True
        return [replace(old, low=max(at, old.low))]

    def arcs_as_they_are(self) -> Any:
        """For `put_back`, if some of many changes should turn out to be bad."""
        lists = (list(self.arcs), list(self.moves), list(self.history.stepper.slots.placed))
        return self.query, lists, dict(self.places), self.changed

    def put_back(self, known: Any) -> None:
        stepper = self.history.stepper
        stepper.query, (self.arcs, self.moves, stepper.slots.placed), self.places, self.changed = known
        self.stale = False
        self._known.clear()  # states that had come are not there any more

    def revise(self, arcs: Iterable[Arc]) -> list[pa.Table]:
        """Events that are kept, matched again as the arcs of these lifetimes are now."""
        self._commit()
        return self._told(*self.history.change(arcs=arcs))

    def _commit(self) -> None:
        """Let the query have the arcs as they are now."""
        if self.stale:
            stepper = self.history.stepper
            stepper.query = replace(stepper.query, arcs=tuple(self.arcs))
            self.stale = False

    def _discard(self, frontier: int) -> None:
        """Arcs that no event can take any more are forgotten."""
        oldest = self.history.oldest(frontier)
        stays = [n for n, a in enumerate(self.arcs) if a.high is None or a.high > oldest]
        if len(stays) == len(self.arcs):
            return
        slots = self.history.stepper.slots
        self.arcs = [self.arcs[n] for n in stays]
        self.moves = [self.moves[n] for n in stays]
        slots.placed = [slots.placed[n] for n in stays]
        self.places = {m.id: n for n, m in enumerate(self.moves)}
        self.changed = self.stale = True
        if len(slots.slots) > 2 * len(stays) + 8:  # slots of guards that are no more
            self.history.stepper.slots = Slots(self.arcs)
            self.history.stepper.null_columns = []
            self._known.clear()
        if len(self._known) > 4 * len(stays) + 64:
            self._known.clear()

    # -------------------------------------------------------------- what is told

    def _told(self, gone: Changes | None, come: Changes) -> list[pa.Table]:
        found = []
        for op, changes in ((RETRACT, gone), (INSERT, come)):
            if changes is not None and len(changes.found):
                found.append(with_op(op, self._rows(changes)))
        return found

    def _rows(self, changes: Changes) -> pa.Table:
        from augury.runtime.afa import rows_of

        return rows_of(
            changes.found, self.history.keys, changes.key, self.query, self.program.gives, changes.lists
        )

    @property
    def due(self) -> int:
        """The next frontier, whichever it is: what ends with its window or is forgotten then is not known before."""
        h = self.history
        if not (h.live_runs or len(h.kept) or len(h.archived)):
            return INT64_MAX
        return INT64_MIN if h.frontier is None else int(h.frontier) + 1

    def stats(self) -> dict[str, int]:
        h = self.history
        nodes = h.nodes
        per_run = sum(a.dtype.itemsize for a in h.pool.arrays.values())
        per_event = 8 * len(KEPT)
        return {
            "live_runs": h.live_runs,
            "nodes": nodes,
            "partitions": len(h.names),
            "arcs": len(self.arcs),
            "recomputed": h.counts["recomputed"],
            "stale_numbers": h.counts["stale_numbers"],
            "buffered_events": len(h.kept) + len(h.archived),
            "bytes": int(
                h.table.nbytes
                + h.archive.nbytes
                + h.keys.nbytes
                + per_event * (len(h.kept) + len(h.archived))
                + per_run * nodes
            ),
        }

    # -------------------------------------------------------------- bytes

    def pack(self) -> tuple[dict[str, Any], list[bytes]]:
        h = self.history
        query = self.query
        header = {
            "newest": self.newest,
            "next_id": h.next_id,
            "known": h.frontier,
            "stale": h.counts["stale_numbers"],
            "states": list(query.states),
            "final": sorted(query.final),
            "arcs": self._written_arcs() if self.changed else None,
        }
        sections = [
            written_events([h.table], self.reads),
            _integers(h.kept),
            written_events([_table_of(h.pool.runs(slice(0, h.pool.size)), query)], _pool_schema(query, h)),
            np.concatenate([h.names, *(getattr(h, n) for n in _BASES)]).astype("<i8").tobytes(),
            b"" if not query.roles.key else written_events([h.keys], h.keys.schema),
            written_events([h.archive], self.reads),
            _integers(h.archived),
        ]
        return header, sections

    def _written_arcs(self) -> list[Any]:
        assert self.program.codec is not None
        tell = self.program.codec.tell
        return [
            [{**tell(m), "lifetime": None}, a.low, a.high]
            for m, a in zip(self.moves, self.query.arcs, strict=True)
        ]

    def unpack(self, header: dict[str, Any], sections: dict[str, bytes]) -> None:
        h = self.history
        self.newest, h.next_id, h.frontier = header["newest"], header["next_id"], header["known"]
        h.counts["stale_numbers"] = header["stale"]
        self._restore_arcs(header)
        h.table = read_events(sections["events"], self.reads)
        h.kept = _kept(sections["kept"])
        runs = read_events(sections["pool"], _pool_schema(self.query, h))
        h.pool.append(_runs_of(runs, self.query, h.pool.extras))
        numbers = np.frombuffer(sections["bases"], "<i8").astype(np.int64).reshape(1 + len(_BASES), -1)
        h.names = numbers[0]
        h.by_name = {int(word): n for n, word in enumerate(h.names)}
        for n, name in enumerate(_BASES, start=1):
            setattr(h, name, numbers[n].copy())
        if self.query.roles.key:
            h.keys = read_events(sections["keys"], h.keys.schema)
        h.archive = read_events(sections["archive"], self.reads)
        h.archived = _kept(sections["archived"])

    def _restore_arcs(self, header: dict[str, Any]) -> None:
        query = replace(self.query, states=tuple(header["states"]), final=frozenset(header["final"]))
        if header["arcs"] is None:
            self.history.stepper.query = query
            return
        assert self.program.codec is not None
        draw = self.program.codec.draw
        self.arcs, self.moves, self.places = [], [], {}
        self.history.stepper.query = replace(query, arcs=())
        self.history.stepper.slots = Slots()
        for told, low, high in header["arcs"]:
            self.add([(draw(None, told, query.registers, set()), low, high)])


def _integers(kept: Kept) -> bytes:
    return np.stack([getattr(kept, n) for n in KEPT]).astype("<i8").tobytes()


def _kept(section: bytes) -> Kept:
    return Kept(
        *(row.copy() for row in np.frombuffer(section, "<i8").astype(np.int64).reshape(len(KEPT), -1))
    )


def _pool_schema(query: Ready, history: History) -> pa.Schema:
    from augury.expr.columns import result_type

    own = [pa.field(n, pa.int64()) for n in history.pool.names]
    return pa.schema([*own, *(pa.field(f"r{n}", result_type(r.type)) for n, r in enumerate(query.registers))])


def _table_of(runs: Runs, query: Ready) -> pa.Table:
    own = {"id": runs.id, "first": runs.first, "state": runs.state, **runs.extras}
    arrays = [pa.array(a) for a in own.values()]
    arrays += [to_arrow(c, r.type) for c, r in zip(runs.registers, query.registers, strict=True)]
    return pa.Table.from_arrays(arrays, names=[*own, *(f"r{n}" for n in range(len(query.registers)))])


def _runs_of(table: pa.Table, query: Ready, extras: Sequence[str]) -> Runs:
    def ints(name: str) -> Ints:
        return np.asarray(table.column(name).to_numpy()).astype(np.int64)

    registers: list[Column] = [
        from_arrow(table.column(f"r{n}"), r.type) for n, r in enumerate(query.registers)
    ]
    return Runs(ints("id"), ints("first"), ints("state"), {n: ints(n) for n in extras}, registers)
