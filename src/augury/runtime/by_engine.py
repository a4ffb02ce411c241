"""The engine as a plan: pieces of matches from the kernel, rows from the pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from augury.engines import backtrack as backtracking
from augury.engines import eager, selection
from augury.engines.absence import in_rows
from augury.match import compressed
from augury.match.gather import in_one_chunk
from augury.match.items import Run, computed_items
from augury.match.rows import Matches, Rows, counted_rows, counts_of_words, joined, rows_of
from augury.resolve import Resolved


def run(
    table: pa.Table,
    query: Resolved,
    schema: pa.Schema,
    output: str,
    max_runs: int,
    *,
    match_id: bool,
    merge: bool,
    backtrack: bool = False,
    fast: bool | None = None,
) -> pa.Table:
    """The result on a table in any order."""
    table = in_one_chunk(table, query.reads)
    plan = eager.plan(query, merge=merge)
    engine = backtracking.Evaluation if backtrack else eager.Evaluation
    evaluation = engine(plan, table, max_runs=max_runs, output=output, fast=fast)
    match output:
        case "count":
            rows, counts = _counts(evaluation)
            return counted_rows(evaluation.batch.order[rows], counts, table, query, schema)
        case "compressed":
            return compressed.assemble(selection.compressed(evaluation), table, query)
        case "non_overlap" | "longest":
            pieces = iter([selection.selected(evaluation, longest=output == "longest")])
        case _:
            pieces = evaluation.pieces()
    if match_id:
        pieces = iter([joined(list(pieces), query)])

    def emitted(piece: Matches) -> pa.Table:
        return rows_of_matches(in_rows(piece, evaluation.batch), table, query, schema, evaluation.run)

    # Of no matches, too, rows are made: Arrow has no empty table of extension types.
    return pa.concat_tables([emitted(piece) for piece in pieces] or [emitted(joined([], query))])


def rows_of_matches(
    found: Matches, table: pa.Table, query: Resolved, schema: pa.Schema, run: Run, time: Any = None
) -> pa.Table:
    """Rows of matches over the table's rows."""
    time = table.column(query.roles.time) if time is None else time
    return rows_of(found, table, query, schema, computed_items(found, table, query, run), time)


def _counts(evaluation: eager.Evaluation) -> tuple[Rows, pa.Array]:
    """How many matches complete at which event."""
    if evaluation.plan.can_count:
        events, words = evaluation.counts()
        return events, counts_of_words(words)
    lasts = np.concatenate([np.empty(0, np.int64), *(p.last for p in evaluation.pieces())])
    events, many = np.unique(lasts, return_counts=True)
    return events, counts_of_words(many.reshape(-1, 1))
