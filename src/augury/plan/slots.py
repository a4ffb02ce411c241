"""Arcs as data: what of an arc a kernel must be written for, and what a mask can say.

    arc  = slot (source, target, what runs decide, updates)  +  static tests  +  lifetime
    mask = for each event the slots that it may use, by bit

Arcs with equal slots share them. So an arc whose guard looks at the event alone comes and goes, and its lifetime
ends, without a word of the kernel being changed: the bits of the masks are what changes. (AFA's f^E and f^R; where
events are wide, masks are the triggering sets of its appendix F.1.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from augury.afa import EVENT, Arc, Takes
from augury.errors import QueryError
from augury.expr.call_source import is_beyond
from augury.expr.functions import calls_python
from augury.expr.tree import EXPR_TYPES, At, Attr, Expr, Literal, Logic, walk
from augury.plan.split import derived


@dataclass(frozen=True, slots=True)
class Slot:
    """`tests` and `updates` read derived columns, `Attr("", ONE, place)`, and registers, `Attr("r", ONE, name)`."""

    takes: Takes
    source: int
    target: int
    tests: tuple[Expr, ...]
    updates: tuple[Expr | None, ...]  # by register; None where it is kept

    @property
    def keeps(self) -> bool:
        """An ignorable arc: the run stays what it was."""
        return self.source == self.target and not any(u is not None for u in self.updates)


@dataclass(frozen=True, slots=True)
class Placed:
    """An arc in its slot, with what its events decide by themselves."""

    slot: int
    static: tuple[Expr, ...]
    arc: Arc


class Slots:
    """The slots of all arcs so far, and the derived columns that they read. It only grows."""

    def __init__(self, arcs: Iterable[Arc] = ()) -> None:
        self.columns: list[Expr] = []  # over the event at hand: Attr("", ONE, column of the data)
        self.slots: list[Slot] = []
        self.placed: list[Placed] = []
        self._known: dict[Any, int] = {}
        self._tests: dict[Any, tuple[Expr, ...]] = {}  # equal static tests are one object
        for arc in arcs:
            self.add(arc)

    def add(self, arc: Arc) -> None:
        self.placed.append(self.placing(arc))

    def place(self, arc: Arc, like: Placed | None) -> None:
        """An arc that is as another but for its id and its lifetime."""
        self.placed.append(self.placing(arc) if like is None else Placed(like.slot, like.static, arc))

    def placing(self, arc: Arc) -> Placed:
        """Where an arc belongs; a slot is made for it if there is none."""
        static: list[Expr] = []
        dynamic: list[Expr] = []
        for test in _conjuncts(arc.when):
            if arc.takes is Takes.EVENT and _of_event(test):
                static.append(test)
            else:
                dynamic.append(self._hoisted(test))
        updates = tuple(None if u is None else self._update(u, arc) for u in arc.updates)
        slot = Slot(arc.takes, arc.source, arc.target, tuple(dynamic), updates)
        key = (arc.takes, arc.source, arc.target, *(_key(e) for e in (*dynamic, None, *updates)))
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = len(self.slots)
            self.slots.append(slot)
        tests = tuple(static)
        return Placed(place, self._tests.setdefault(tuple(map(_key, tests)), tests), arc)

    def change(self, place: int, arc: Arc) -> None:
        """The arc at a place with another lifetime."""
        self.placed[place] = replace(self.placed[place], arc=arc)

    def _update(self, update: Expr, arc: Arc) -> Expr:
        found = self._hoisted(update)
        if is_beyond(found):
            raise QueryError(
                f"the arc {arc.id}: a registered function makes a text of a register's value",
                span=update.span,
                hint="let it return a number, or read the event alone",
            )
        return found

    def _hoisted(self, expr: Expr) -> Expr:
        """Each largest part that reads the event alone as a derived column."""
        if isinstance(expr, Literal):
            return expr
        named = {n.var for n in walk(expr) if isinstance(n, Attr)}
        if named == {EVENT} and (not calls_python(expr) or is_beyond(expr)):
            return Attr("", At.ONE, derived(expr, self.columns), span=expr.span, type=expr.type)
        if isinstance(expr, Attr):
            return expr
        changed: dict[str, Any] = {}
        for f in fields(expr):
            value = getattr(expr, f.name)
            if isinstance(value, EXPR_TYPES):
                changed[f.name] = self._hoisted(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], EXPR_TYPES):
                changed[f.name] = tuple(map(self._hoisted, value))
        return replace(expr, **changed)


def _conjuncts(expr: Expr | None) -> list[Expr]:
    if expr is None:
        return []
    if isinstance(expr, Logic) and expr.op == "AND":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]


def _of_event(expr: Expr) -> bool:
    return all(n.var == EVENT for n in walk(expr) if isinstance(n, Attr))


def _key(expr: Expr | None) -> Any:
    """What an expression says, types and all: 1 is not 1.0."""
    if expr is None:
        return None
    return expr, tuple((n.type, repr(n.value) if isinstance(n, Literal) else None) for n in walk(expr))
