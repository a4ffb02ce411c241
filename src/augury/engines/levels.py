"""Resubscription (3.5): networks one above the other, each reading the data and the results of those below.

    events up to some end ─> level 0 ─ results of its operands ─> level 1 ─> …

All levels see the same ends at a time, so a result is there when the level above comes to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.algebra import DUR
from augury.engines.network import Accept, Network
from augury.engines.recipes import Planned, Recipes, Tainted
from augury.engines.runs import Columns, Events, Results
from augury.engines.words import Codes, column_of, words_of
from augury.expr.columns import Column, evaluate
from augury.expr.physical import take
from augury.expr.tree import Agg, Attr, Expr, Len, typed
from augury.expr.types import Type
from augury.plan.linear import Streams, level_of, linear
from augury.resolve_cesar import Span, Typed

Ints = npt.NDArray[np.int64]

CELLS = 1 << 23  # words of events at a time


class Batch(NamedTuple):
    """Events of the data in order of their ends, no end cut in two: their columns by name, and where they belong."""

    columns: Callable[[str], Column]
    stream: Ints  # the number of each one's base stream
    start: Ints
    end: Ints
    key: Ints

    def part(self, first: int, last: int) -> Batch:
        if first == 0 and last == len(self.end):
            return self
        rows = np.arange(first, last)
        columns = self.columns
        return Batch(
            lambda name: take(columns(name), rows),
            *(a[first:last] for a in (self.stream, self.start, self.end, self.key)),
        )


class Found(NamedTuple):
    """Results of queries: `query` and `layout` by row; a layout's attributes are the registers, in order."""

    query: Ints
    layout: Ints
    results: Results


@dataclass(slots=True)
class _Derived:
    """The results of an operand that are not read yet."""

    attrs: Mapping[str, Type]
    level: int
    found: list[Results]


class Levels(Streams):
    """The networks of some queries over one stream."""

    def __init__(self, span: Span, *, share: bool = True, fast: bool = False, max_runs: int) -> None:
        super().__init__()
        self.span = span
        self.share = share
        self.fast = fast
        self.max_runs = max_runs
        self.codes = Codes()
        self.networks: list[Network] = []
        self.layouts: list[Mapping[str, Type]] = []
        self._layout_numbers: dict[Any, int] = {}
        self._derived: dict[int, _Derived] = {}
        self._numbers: dict[int, tuple[Typed, int]] = {}
        self._plans: dict[int, tuple[Typed, tuple[int, list[Planned]]]] = {}
        self._of_query: dict[int, list[tuple[int, int]]] = {}  # (level, number) of what a query has put in
        self._adding: tuple[int, int | None] = (0, None)
        self._accepts: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    # -------------------------------------------------------------- queries

    def add(self, number: int, query: Typed, values: Sequence[Any] = (), since: int | None = None) -> None:
        """A query by its number, from 0, its numbered parameters having these values; its events end after `since`."""
        self._of_query[number] = []
        self._adding = number, since
        self._insert(number, query, values)
        self._accepts.clear()

    def remove(self, number: int) -> None:
        for level, name in self._of_query.pop(number):
            self.networks[level].remove(name)
            self._derived.pop(name, None)
        self._accepts.clear()

    def _insert(self, name: int, query: Typed, values: Sequence[Any] = ()) -> None:
        level, planned = self._planned(query)
        number, since = self._adding
        self.networks[level].add(name, planned, query.attrs, values, since)
        self._of_query[number].append((level, name))

    def _planned(self, query: Typed) -> tuple[int, list[Planned]]:
        """What a query is for its network; those that differ in numbered parameters are one here."""
        known = self._plans.get(id(query))
        if known is not None:
            return known[1]
        automaton = linear(query, self)
        while len(self.networks) <= automaton.level:
            unit = self.span.unit
            self.networks.append(
                Network(unit, self.codes, share=self.share, fast=self.fast, max_runs=self.max_runs)
            )
        found = automaton.level, self.networks[automaton.level].recipes.plan(automaton)
        if automaton.level == 0:  # others have operands, which are each query's own
            self._plans[id(query)] = query, found
        return found

    def derived(self, operand: Typed, level: int) -> int:
        known = self._numbers.get(id(operand))
        if known is None:
            number = -2 - len(self._numbers)
            known = self._numbers[id(operand)] = operand, number
            self._derived[number] = _Derived(operand.attrs, level, [])
            self._insert(number, operand)
        return known[1]

    def states(self, number: int) -> Iterator[tuple[int, int]]:
        """The level and the node of each state of a query, always in the same order."""
        for level, name in self._of_query[number]:
            for node in self.networks[level].queries[name]:
                yield level, node

    def compile(self) -> None:
        """From here on kernels are compiled."""
        self.fast = True
        for network in self.networks:
            network.compile()

    @property
    def size(self) -> int:
        return sum(n.edges for n in self.networks)

    # -------------------------------------------------------------- events

    def step(self, batch: Batch) -> Iterator[Found]:
        """What the queries find with the events of a batch; later batches have later ends."""
        widest = max((n.columns.width for n in self.networks), default=1)
        most = max(1, CELLS // widest)
        first = 0
        while first < len(batch.end):
            last = min(first + most, len(batch.end))
            while last < len(batch.end) and batch.end[last] == batch.end[last - 1]:
                last += 1
            yield from self._step(batch.part(first, last))
            first = last

    def _step(self, batch: Batch) -> Iterator[Found]:
        for level, network in enumerate(self.networks):
            for results in network.step(self._events(batch, network)):
                yield from self._sorted(level, network, results)
        for derived in self._derived.values():
            derived.found.clear()

    def _sorted(self, level: int, network: Network, results: Results) -> Iterator[Found]:
        """Results by who asked: operands keep theirs for the levels above."""
        counts, queries, layouts = [], [], []
        for node in np.unique(results.node).tolist():
            for accept in network.accepts.get(node, ()):
                if accept.query < 0:
                    self._derived[accept.query].found.append(results.some(results.node == node))
        distinct, at = np.unique(results.node, return_inverse=True)
        for node in distinct.tolist():
            mine, forms = self._asked(level, node, network.accepts.get(node, []))
            counts.append(len(mine))
            queries.extend(mine)
            layouts.extend(forms)
        if not queries:
            return
        many = np.array(counts, np.int64)
        starts = np.concatenate([[0], np.cumsum(many)[:-1]])
        repeats = many[at]
        rows = np.repeat(np.arange(len(at)), repeats)
        offset = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        place = starts[at[rows]] + offset
        yield Found(
            np.array(queries, np.int64)[place],
            np.array(layouts, np.int64)[place],
            results.some(rows),
        )

    def _asked(self, level: int, node: int, accepts: Sequence[Accept]) -> tuple[list[int], list[int]]:
        found = self._accepts.get((level, node))
        if found is None:
            mine = [a for a in accepts if a.query >= 0]
            found = [a.query for a in mine], [self._layout(a.attrs) for a in mine]
            self._accepts[level, node] = found
        return found

    def _layout(self, attrs: Mapping[str, Type]) -> int:
        name = tuple((n, t.kind, str(t.arrow)) for n, t in attrs.items())
        if name not in self._layout_numbers:
            self._layout_numbers[name] = len(self.layouts)
            self.layouts.append(attrs)
        return self._layout_numbers[name]

    def _events(self, batch: Batch, network: Network) -> Events:
        """The batch and the results that a network reads, as words."""
        derived = {
            n: Results(*(np.concatenate(parts) for parts in zip(*d.found, strict=True)))
            for n, d in self._derived.items()
            if d.found
        }
        start = np.concatenate([batch.start, *(d.start for d in derived.values())])
        end = np.concatenate([batch.end, *(d.end for d in derived.values())])
        key = np.concatenate([batch.key, *(d.key for d in derived.values())])
        rows, width = len(end), network.columns.width
        words = np.zeros((rows, width), np.int64)
        nulls = np.zeros((rows, width), np.uint8)
        words[: len(batch.end), 0] = batch.stream
        places: dict[int | None, tuple[int, int]] = {None: (0, len(batch.end))}
        at = len(batch.end)
        for number, found in derived.items():
            places[number] = at, at + len(found.end)
            words[at : at + len(found.end), 0] = number
            at += len(found.end)
        for column, (of, expr) in enumerate(network.columns.exprs, 1):
            if of not in places:
                continue
            first, last = places[of]
            if of is None:
                leaf = self._leaf(batch.columns, batch.start, batch.end)
            else:
                attrs = self._derived[of].attrs
                leaf = self._leaf(_reader(derived[of], attrs, self.codes), derived[of].start, derived[of].end)
            found_words, found_nulls = words_of(_computed(expr, leaf, last - first), typed(expr), self.codes)
            words[first:last, column] = found_words
            if found_nulls is not None:
                nulls[first:last, column] = found_nulls
        if derived:
            order = np.argsort(end, kind="stable")
            words, nulls = words[order], nulls[order]
            start, end, key = start[order], end[order], key[order]
        if network.variant.fast:
            return Events(words.reshape(-1), nulls.reshape(-1), start, end, key)
        return Events(*(a.reshape(-1).tolist() for a in (words, nulls, start, end, key)))

    def _leaf(
        self, column: Callable[[str], Column], start: Ints, end: Ints
    ) -> Callable[[Attr | Len | Agg], Column]:
        def leaf(node: Attr | Len | Agg) -> Column:
            assert isinstance(node, Attr)
            return durations(start, end, self.span.unit) if node.name == DUR else column(node.name)

        return leaf


def _computed(expr: Expr, leaf: Callable[[Attr | Len | Agg], Column], rows: int) -> Column:
    return leaf(expr) if isinstance(expr, Attr) else evaluate(expr, leaf, rows)


def durations(start: Ints, end: Ints, unit: int) -> Column:
    """DUR; null where 64 bits do not hold it."""
    span = end - start + 1  # below 0 where it has wrapped around
    fits = (span > 0) & (span <= (2**63 - 1) // unit)
    return Column(span * unit if fits.all() else np.where(fits, span, 0) * unit, None if fits.all() else fits)


def _reader(found: Results, attrs: Mapping[str, Type], codes: Codes) -> Callable[[str], Column]:
    places = {name: place for place, name in enumerate(attrs)}

    def column(name: str) -> Column:
        place = places[name]
        return column_of(found.regs[:, place], found.null[:, place], attrs[name], codes)

    return column


def shares_recipe(query: Typed) -> bool:
    """Whether queries that differ from this one in its numbered parameters alone can be read as one."""
    if level_of(query) > 0:
        return False
    try:
        Recipes(Columns(), share=True).plan(linear(query, Streams()))
    except Tainted:
        return False
    return True
