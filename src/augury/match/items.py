"""RETURN, computed for all matches at once from the positions of their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from augury.engines.kernels import fold
from augury.expr.columns import Column, evaluate, from_arrow, to_arrow
from augury.expr.domain import Decimals, Texts
from augury.expr.inputs import CODED
from augury.expr.physical import take
from augury.expr.tree import Agg, At, Attr, Expr, Len, typed
from augury.expr.types import Kind, Type
from augury.match.rows import Matches, Slot, as_list, is_plain, taken
from augury.pattern import references
from augury.resolve import Resolved, item_type

if TYPE_CHECKING:
    import pyarrow as pa

Run = Callable[[Callable[..., Any]], Callable[..., Any]]
"""How a kernel of ours is run: compiled, or as it is."""


def computed_items(found: Matches, table: pa.Table, query: Resolved, run: Run) -> dict[int, pa.Array]:
    """The items of RETURN that are more than a reference, by their place."""
    return {
        place: _array(
            Values(found, table, query, run).item(item.expr), item_type(item, query, table.schema), item.expr
        )
        for place, item in enumerate(query.items or ())
        if not is_plain(item.expr)
    }


def _array(value: tuple[Column, Slot | None], wanted: pa.DataType, expr: Expr) -> pa.Array:
    column, slot = value
    inner = wanted if slot is None else wanted.value_type
    array = to_arrow(column, Type(typed(expr).kind, typed(expr).element, arrow=inner))
    array = array if array.type == inner else array.cast(inner)
    return array if slot is None else as_list(array, slot)


class Values:
    """What references mean for a set of matches; each column is gathered once."""

    def __init__(self, found: Matches, table: pa.Table, query: Resolved, run: Run) -> None:
        self.found = found
        self.table = table
        self.query = query
        self.run = run
        self.slots = {c.var: s for c, s in zip(query.pattern.positives, found.slots, strict=True)}
        self.cache: dict[tuple[str, Any], Column] = {}

    def item(self, expr: Expr) -> tuple[Column, Slot | None]:
        """An expression's values: one for each match, or for each event of the variable it lists."""
        each = next((var for var, at, _ in references(expr) if at is At.EACH), None)
        if each is None:
            return evaluate(expr, self.of_match, len(self.found)), None
        slot = self.slots[each]
        assert slot.offsets is not None
        of_event = np.repeat(np.arange(len(self.found)), np.diff(slot.offsets))

        def leaf(node: Attr | Len | Agg) -> Column:
            if isinstance(node, Attr) and node.at is At.EACH:
                return self.column(node.name, slot.rows, (each, At.EACH))
            return take(self.of_match(node), of_event)

        return evaluate(expr, leaf, len(slot.rows)), slot

    def column(self, name: str, rows: Any, where: Any) -> Column:
        """A column of the data at these rows, in physical form."""
        if (name, where) not in self.cache:
            column = taken(self.table.column(name), rows)
            self.cache[name, where] = from_arrow(column, self.query.columns.types[name])
        return self.cache[name, where]

    def of_match(self, node: Attr | Len | Agg) -> Column:
        """One value for each match."""
        slot = self.slots[node.var]
        match node:
            case Attr(at=At.LAST):
                return self.column(node.name, slot.last, (node.var, At.LAST))
            case Attr():
                return self.column(node.name, slot.first, (node.var, At.FIRST))
            case Len():
                assert slot.offsets is not None
                return Column(np.diff(slot.offsets).astype(np.int64))
        return self.folded(node, slot)

    def folded(self, node: Agg, slot: Slot) -> Column:
        """An aggregate over all events of a variable."""
        assert slot.offsets is not None

        def leaf(attr: Any) -> Column:
            return self.column(attr.name, slot.rows, (node.var, At.EACH))

        arg = evaluate(node.arg, leaf, len(slot.rows))
        starts, ends = slot.offsets[:-1].astype(np.int64), slot.offsets[1:].astype(np.int64)
        if node.fn in ("first", "last"):
            return take(arg, starts if node.fn == "first" else ends - 1)
        valid = arg.mask()
        if node.fn == "count":
            present = np.concatenate([[0], np.cumsum(valid, dtype=np.int64)])
            return Column(present[ends] - present[starts])
        if node.fn in ("min", "max"):
            place = np.empty(len(starts), np.int64)
            kernel = fold.least_places if node.fn == "min" else fold.greatest_places
            self.run(kernel)(ordered_words(arg, typed(node.arg)), valid, starts, ends, place)
            chosen = take(arg, np.maximum(place, 0)) if len(arg) else take(arg, place[:0])
            return Column(chosen.values, chosen.mask() & (place >= 0))
        whole = typed(node.arg).kind is not Kind.FLOAT
        total = np.empty(len(starts), np.int64 if whole else np.float64)
        count = np.empty(len(starts), np.int64)
        self.run(fold.sum_integers if whole else fold.sum_floats)(
            arg.values, valid, starts, ends, total, count
        )
        if node.fn == "sum":
            return Column(total, count > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Column(total / count, count > 0)


def ordered_words(column: Column, of: Type) -> Any:
    """Numbers in the order of the values."""
    if of.kind is Kind.DECIMAL:
        return Decimals([column], ()).codes(column)
    return Texts(of.kind, [column], ()).codes(column) if of.kind in CODED else column.values
