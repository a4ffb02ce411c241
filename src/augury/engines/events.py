"""What events decide by themselves: their order, the values that tests read of them, and which components they may be.

It is the same for every engine, and computed for a whole table at a time. Who only wants to know what an engine would
have to do asks here, and the engine that is taken goes on with what is known.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.automaton import Action
from augury.engines import absence, patience
from augury.engines.batch import COMPILED_FROM, Batch, prepare
from augury.engines.compiling import compiled
from augury.engines.host import Host
from augury.engines.kernels import texts
from augury.engines.passes import Plan
from augury.expr.columns import Column, evaluate, from_arrow, truth
from augury.expr.functions import calls_python
from augury.expr.physical import from_values, take
from augury.expr.tree import At, Attr, Binary, Expr, Literal, typed
from augury.expr.types import BOOL, STRING
from augury.measures import Measures
from augury.plan.split import ABSENT

if TYPE_CHECKING:
    import pyarrow as pa

Mask = npt.NDArray[np.bool_]


class Events(Host):
    """The events of a table, as a plan looks at each of them."""

    def __init__(self, plan: Plan, table: pa.Table, *, fast: bool | None = None) -> None:
        super().__init__(fast=table.num_rows >= COMPILED_FROM if fast is None else fast)
        self.may_compile = fast is not False
        self.plan = plan
        self.table = table
        self.measures = Measures(events=table.num_rows)
        self._known: dict[str, Column] = {}
        self._typed: dict[str, Mask] = {}
        self._of_arc: dict[int, Mask] = {}
        self._of_name: dict[str, Column] = {}

    def go_on(self, events: Events) -> None:
        """Know all that is known of the same events already."""
        self.batch = events.batch
        self.measures.batch_evaluations = events.measures.batch_evaluations
        self._known, self._typed = events._known, events._typed
        self._of_arc, self._of_name = events._of_arc, events._of_name

    @cached_property
    def batch(self) -> Batch:
        """The events by partition, each in stream order."""
        automaton = self.plan.automaton
        return prepare(
            *(self.table, self.plan.query, automaton.partition),
            breaks=automaton.breaks,
            fast=self.fast or (self.may_compile and patience.is_warm()),
        )

    @cached_property
    def begins_of(self) -> list[Mask]:
        """By slot, in kernel order: the events that satisfy its begin as far as they tell by themselves."""
        arcs = self.plan.automaton.arcs
        return [
            self._allowed(place)[self.batch.order]
            for place, arc in enumerate(arcs)
            if arc.action is Action.BEGIN
        ]

    def _column(self, node: Any) -> Column:
        if node.var == ABSENT:
            return self._since(node)
        if node.name not in self._known:
            column = self.table.column(node.name)
            self._known[node.name] = from_arrow(column, self.plan.query.columns.types[node.name])
        return self._known[node.name]

    def _since(self, node: Any) -> Column:
        """How many events of a negated component come before each event of its partition, or up to it."""
        order = self.batch.order
        those = self.candidates(int(node.name))[order]
        numbers = np.cumsum(those) - (those if node.at is At.BEFORE else 0)
        values = np.zeros(self.table.num_rows, np.int64)
        values[order] = numbers
        return Column(values)

    def candidates(self, place: int) -> Mask:
        """The rows that the negated component at a place means, as far as they tell by themselves."""
        return absence.candidates(place, self.plan.query, self.rows_of_type, self._true)

    def rows_of_type(self, name: str) -> Mask:
        """Which rows a component of this type may bind."""
        kind = self.plan.query.roles.type
        if kind is None:
            return np.ones(self.table.num_rows, np.bool_)
        if name not in self._typed:
            known = texts_equal(self.table.column(kind), name) if self.fast else None
            if known is None:
                attr = Attr("", At.ONE, kind, type=self.plan.query.columns.types[kind])
                test = Binary("=", attr, Literal("constant", name, type=STRING), type=BOOL)
                known = truth(evaluate(test, self._column, self.table.num_rows))
            self._typed[name] = known
        return self._typed[name]

    def _allowed(self, place: int) -> Mask:
        """The rows that an arc allows as far as they tell by themselves."""
        if place not in self._of_arc:
            component = self.plan.automaton.arcs[place].component
            assert component is not None
            good = self.rows_of_type(component.type)
            for expr in self.plan.split.guards[place].static:
                good = good & self._true(expr, good)
            self._of_arc[place] = good
        return self._of_arc[place]

    def _true(self, expr: Expr, among: Mask) -> Mask:
        self.measures.batch_evaluations += int(among.sum()) if calls_python(expr) else len(among)
        return truth(self._where(expr, among))

    def derived(self, name: str) -> Column:
        """A derived column by its name. What calls a registered function is the argument of an aggregate, see `split`."""
        if name not in self._of_name:
            self._of_name[name] = self._derived(self.plan.split.columns[int(name)], name)
        return self._of_name[name]

    def _derived(self, expr: Expr, name: str) -> Column:
        if not calls_python(expr):
            return evaluate(expr, self._column, self.table.num_rows)
        among = np.zeros(self.table.num_rows, np.bool_)
        variables = self.plan.split.folded(name)
        for place, arc in enumerate(self.plan.automaton.arcs):
            if arc.action in (Action.BEGIN, Action.TAKE) and arc.component and arc.component.var in variables:
                among |= self._allowed(place)
        return self._where(expr, among)

    def _where(self, expr: Expr, among: Mask) -> Column:
        """An expression's values; a registered function is asked of the rows among these alone."""
        rows = self.table.num_rows
        if not calls_python(expr) or among.all():
            return evaluate(expr, self._column, rows)
        some = np.flatnonzero(among)
        if not len(some):
            return from_values([None] * rows, typed(expr))
        found = evaluate(expr, lambda node: take(self._column(node), some), len(some))
        place = np.zeros(rows, np.int64)
        place[some] = np.arange(len(some))
        found = take(found, place)
        return Column(found.values, among if found.valid is None else among & found.valid)


def texts_equal(column: pa.ChunkedArray, text: str) -> Mask | None:
    """Which of a column's texts are this one; None where Arrow holds them in another form, or has nulls."""
    import pyarrow as pa

    if column.type != pa.string() or column.null_count:
        return None
    found = np.empty(len(column), np.bool_)
    wanted = np.frombuffer(text.encode(), np.uint8)
    start = 0
    for chunk in column.chunks:
        _, offsets, data = chunk.buffers()
        if offsets is not None and len(chunk):
            bounds = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            held = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
            compiled(texts.equal_to)(bounds, held, wanted, found[start : start + len(chunk)])
        start += len(chunk)
    return found
