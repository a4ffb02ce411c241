"""The engine as a plan: pieces of matches from the kernel, rows from the pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.engines import backtrack as backtracking
from augury.engines import eager, selection
from augury.engines.absence import in_rows
from augury.engines.eager import EVERYTHING, MAX_NODES, Evaluation, Share
from augury.match import compressed
from augury.match.gather import in_one_chunk
from augury.match.items import Run, computed_items
from augury.match.rows import Matches, Rows, counted_rows, counts_of_words, joined, rows_of
from augury.measures import Measures
from augury.resolve import Resolved
from augury.runtime.room import Room

MAX_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class How:
    """How a query is evaluated: never what it means."""

    plan: str = "eager"
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
        self.plan = eager.plan(query, merge=how.plan != "eager-unmerged")
        self.measures = Measures()
        self.room = Room()

    def evaluation(self, table: pa.Table, share: Share = EVERYTHING) -> Evaluation:
        """An evaluation of the matches in this share of a table's, its rows in any order."""
        evaluate = backtracking.Evaluation if self.how.plan == "backtrack" else eager.Evaluation
        how = self.how
        return evaluate(
            self.plan,
            in_one_chunk(table, self.query.reads),
            max_runs=how.max_runs,
            max_nodes=how.max_nodes,
            output=self.output,
            profile=how.profile,
            fast=how.fast,
            share=share,
        )

    def whole(self, table: pa.Table) -> pa.Table:
        """The result on a table, its rows in any order."""
        return self.result(self.evaluation(table))

    def result(self, evaluation: Evaluation) -> pa.Table:
        """The rows of an evaluation."""
        match self.output:
            case "count":
                found = self._counted(evaluation)
            case "compressed":
                found = compressed.assemble(selection.compressed(evaluation), evaluation.table, self.query)
            case "non_overlap" | "longest":
                chosen = selection.selected(evaluation, longest=self.output == "longest")
                found = self.rows(evaluation, [chosen])
            case _:
                found = self.rows(evaluation, evaluation.pieces())
        self.finish(evaluation)
        return found

    def rows(self, evaluation: Evaluation, pieces: Iterable[Matches]) -> pa.Table:
        """The rows of matches over kernel indices."""
        if self.match_id:
            pieces = [joined(list(pieces), self.query)]
        tables = list(self._rows(evaluation, pieces))
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def _rows(self, evaluation: Evaluation, pieces: Iterable[Matches]) -> Iterator[pa.Table]:
        table, run = evaluation.table, evaluation.run
        for piece in pieces:
            made = rows_of_matches(in_rows(piece, evaluation.batch), table, self.query, self.schema, run)
            self.room.takes(made)
            yield made

    def _counted(self, evaluation: Evaluation) -> pa.Table:
        """How many matches complete at which event."""
        rows, counts = _counts(evaluation)
        self.measures.counts_beyond += counts.null_count
        order = evaluation.batch.order
        return counted_rows(order[rows], counts, evaluation.table, self.query, self.schema)

    def finish(self, evaluation: Evaluation) -> None:
        """An evaluation is done: what it cost goes into the sum."""
        self.measures.add(evaluation.measures)


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
    lasts = np.concatenate([np.empty(0, np.int64), *(p.last for p in evaluation.pieces())])
    events, many = np.unique(lasts, return_counts=True)
    return events, counts_of_words(many.reshape(-1, 1))
