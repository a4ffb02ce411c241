"""The engine as a plan: pieces of matches from the kernel, rows from the pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines import backtrack as backtracking
from augury.engines import eager, lazy, passes, selection
from augury.engines.absence import in_rows
from augury.engines.choosing import FEW, is_open, surveyed
from augury.engines.eager import EVERYTHING, MAX_NODES, Evaluation, Share
from augury.engines.patience import Slow
from augury.match import compressed
from augury.match.gather import in_one_chunk
from augury.match.items import Run, computed_items
from augury.match.rows import Matches, Rows, counted_rows, counts_of_words, joined, rows_of
from augury.measures import Measures
from augury.plan.choice import Engine as Declared
from augury.plan.choice import engine_of
from augury.resolve import Resolved
from augury.runtime.options import MAX_RUNS
from augury.runtime.room import Room

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class How:
    """How a query is evaluated: never what it means."""

    plan: str = "eager"
    order: tuple[str, ...] | None = None  # of a lazy chain: the variables, the first to be bound first
    chooses: bool = False  # whether another plan is taken where it costs less
    max_runs: int = MAX_RUNS
    max_nodes: int = MAX_NODES
    profile: bool = False  # whether the kernel counts what it does
    fast: bool | None = None  # compiled or not; None: by the number of events


class Engine:
    """A query ready to be evaluated, table by table, and what that has cost so far."""

    def __init__(
        self, query: Resolved, schema: pa.Schema, output: str, how: How, *, match_id: bool = False
    ) -> None:
        self.query = query
        self.schema = schema
        self.output = output
        self.how = how
        self.match_id = match_id
        self.declared = engine_of(how.plan)
        self.plan = passes.plan(query, merge=self.declared.merges)
        self.open = how.chooses and is_open(
            self.plan, query.pattern.strategy
        )  # whether the data decides the plan
        self.measures = Measures()
        self.room = Room()

    def measured(self) -> dict[str, int]:
        """What the evaluations cost, as `profile` tells it."""
        return measured(self.measures)

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        """The result on a table, its rows in any order, or on a share of its matches."""
        return self.evaluated(table, share, self.result)

    def evaluated(
        self,
        table: pa.Table,
        share: Share,
        into: Callable[[Evaluation], T],
        *,
        barred: npt.NDArray[np.bool_] | None = None,
        keeps: bool = False,
    ) -> T:
        """What is made of an evaluation; one that is slow uncompiled is compiled and starts again."""
        make = partial(self._evaluation, table, share, barred=barred, keeps=keeps)
        used, rows = self.room.used, self.room.rows
        evaluation = make(fast=self.how.fast)
        try:
            made = into(evaluation)
        except Slow:
            self.room.used, self.room.rows = used, rows
            evaluation = make(fast=True)
            made = into(evaluation)
        self.measures.add(evaluation.measures)
        evaluation.finished()
        return made

    def _evaluation(
        self,
        table: pa.Table,
        share: Share,
        *,
        barred: npt.NDArray[np.bool_] | None,
        keeps: bool,
        fast: bool | None,
    ) -> Evaluation:
        declared, order, events = self.declared, self.how.order, None
        if self.open and table.num_rows >= FEW:
            events, found = surveyed(self.plan, in_one_chunk(table, self.query.reads), self.output, fast=fast)
            declared = engine_of(found.best)
            order = tuple(self.plan.automaton.components[slot].var for slot in found.order)
            self.measures.lazy_evaluations += declared.lazy
        evaluate = evaluation_of(declared, order)
        how = self.how
        return evaluate(
            self.plan,
            in_one_chunk(table, self.query.reads),
            max_runs=how.max_runs,
            max_nodes=how.max_nodes,
            output=self.output,
            profile=how.profile,
            fast=fast,
            share=share,
            barred=barred,
            keeps=keeps,
            keep=self.room.holding,
            most=self.room.limit,
            events=events,
        )

    def result(self, evaluation: Evaluation) -> pa.Table:
        """The rows of an evaluation."""
        match self.output:
            case "count":
                return self._counted(evaluation)
            case "compressed":
                return self._compressed(evaluation)
            case "non_overlap" | "longest":
                chosen = selection.selected(evaluation, longest=self.output == "longest")
                return self.rows(evaluation, [chosen])
        return self.rows(evaluation, evaluation.pieces())

    def rows(self, evaluation: Evaluation, pieces: Iterable[Matches]) -> pa.Table:
        """The rows of matches over kernel indices."""
        if self.match_id:
            pieces = [joined(self.room.holding(pieces), self.query)]
        tables = [self._emitted(piece, evaluation) for piece in pieces]
        # Of no matches, too, rows are made: Arrow has no empty table of extension types.
        return pa.concat_tables(tables or [self._emitted(joined([], self.query), evaluation)])

    def _emitted(self, piece: Matches, evaluation: Evaluation) -> pa.Table:
        found = in_rows(piece, evaluation.batch)
        made = rows_of_matches(found, evaluation.table, self.query, self.schema, evaluation.run)
        self.room.takes(made)
        return made

    def _compressed(self, evaluation: Evaluation) -> pa.Table:
        """The graphs of an evaluation, a piece at a time."""
        tables = []
        for graphs in selection.compressed(evaluation):
            tables.append(compressed.assemble(graphs, evaluation.table, self.query))
            self.room.takes(tables[-1], listed=False)
        none = compressed.graphs_of([], [])
        return pa.concat_tables(tables or [compressed.assemble(none, evaluation.table, self.query)])

    def _counted(self, evaluation: Evaluation) -> pa.Table:
        """How many matches complete at which event."""
        rows, counts = _counts(evaluation)
        evaluation.measures.counts_beyond = counts.null_count
        order = evaluation.batch.order
        return counted_rows(order[rows], counts, evaluation.table, self.query, self.schema)


def measured(measures: Measures) -> dict[str, int]:
    """Counts with the papers' sum of all evaluations of predicates."""
    counts = asdict(measures)
    return {"predicate_evaluations": counts["batch_evaluations"] + counts["run_evaluations"], **counts}


def evaluation_of(declared: Declared, order: tuple[str, ...] | None = None) -> Callable[..., Evaluation]:
    """What evaluates a plan over a table."""
    if declared.lazy:
        return partial(lazy.Evaluation, tree=declared.plan == "lazy-tree", order=order)
    return eager.Evaluation if declared.shares else backtracking.Evaluation


def rows_of_matches(
    found: Matches, table: pa.Table, query: Resolved, schema: pa.Schema, run: Run, time: Any = None
) -> pa.Table:
    """Rows of matches over the table's rows."""
    time = table.column(query.roles.time) if time is None else time
    return rows_of(found, table, query, schema, computed_items(found, table, query, run), time)


def _counts(evaluation: Evaluation) -> tuple[Rows, pa.Array]:
    if evaluation.plan.can_count:
        events, words = evaluation.counts()
        return events, counts_of_words(words)
    totals = np.zeros(len(evaluation.batch), np.int64)
    for piece in evaluation.pieces():
        events, many = np.unique(piece.last, return_counts=True)
        totals[events] += many
    events = np.flatnonzero(totals)
    return events, counts_of_words(totals[events].reshape(-1, 1))
