"""The engine as a plan: pieces of matches from the kernel, rows from the pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from augury import semantics
from augury.engines import backtrack as backtracking
from augury.engines import eager
from augury.engines.absence import chosen_matches, in_rows
from augury.match import compressed
from augury.match.gather import in_one_chunk
from augury.match.items import computed_items
from augury.match.rows import Matches, Rows, Slot, counted_rows, counts_of_words, rows_of
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
    counting = output == "count" and plan.can_count
    engine = backtracking.Evaluation if backtrack else eager.Evaluation
    evaluation = engine(plan, table, max_runs=max_runs, counting=counting, fast=fast)
    if output == "count":
        rows, counts = _counts(evaluation)
        return counted_rows(evaluation.batch.order[rows], counts, table, query, schema)
    pieces: Iterator[Matches] = evaluation.pieces()
    if output in ("non_overlap", "longest"):
        pieces = iter([_selected(_joined(pieces, query), evaluation, output)])
    if output == "compressed":
        whole = in_rows(_joined(pieces, query), evaluation.batch)
        return _packed(whole, table, query)
    if match_id:
        pieces = iter([_joined(pieces, query)])
    time = table.column(query.roles.time)
    tables = []
    for piece in pieces:
        found = in_rows(piece, evaluation.batch)
        computed = computed_items(found, table, query, evaluation.run)
        tables.append(rows_of(found, table, query, schema, computed, time))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _joined(pieces: Iterator[Matches], query: Resolved) -> Matches:
    """All pieces as one."""
    every = list(pieces)
    slots = []
    for place, c in enumerate(query.pattern.positives):
        rows = np.concatenate([np.empty(0, np.int64), *(p.slots[place].rows for p in every)])
        offsets = None
        if c.kleene:
            lengths = [p.slots[place].lengths for p in every]
            offsets = np.concatenate(
                [[0], np.cumsum(np.concatenate([np.empty(0, np.int32), *lengths]))]
            ).astype(np.int32)
        slots.append(Slot(rows, offsets))
    return Matches(tuple(slots))


def _bindings(found: Matches) -> list[semantics.Bound]:
    columns = []
    for slot in found.slots:
        rows = slot.rows.tolist()
        ends = range(len(rows) + 1) if slot.offsets is None else slot.offsets.tolist()
        columns.append([tuple(rows[a:b]) for a, b in itertools.pairwise(ends)])
    return list(zip(*columns, strict=True))


def _selected(found: Matches, evaluation: eager.Evaluation, output: str) -> Matches:
    segment = np.searchsorted(evaluation.batch.segments, found.first, side="right").tolist()
    every = [semantics.Match(b, key) for b, key in zip(_bindings(found), segment, strict=True)]
    number = {m.bound: k for k, m in enumerate(every)}
    if output == "longest":
        chosen = semantics.longest(every)
    else:
        chosen = semantics.non_overlap(every, [()] * len(evaluation.batch))
    return chosen_matches(found, np.array([number[m.bound] for m in chosen], np.int64))


def _packed(found: Matches, table: pa.Table, query: Resolved) -> pa.Table:
    return compressed.pack(_bindings(found), table, query)


def _counts(evaluation: eager.Evaluation) -> tuple[Rows, pa.Array]:
    """How many matches complete at which event."""
    if evaluation.plan.can_count:
        events, words = evaluation.counts()
        return events, counts_of_words(words)
    lasts = np.concatenate([np.empty(0, np.int64), *(p.last for p in evaluation.pieces())])
    events, many = np.unique(lasts, return_counts=True)
    return events, counts_of_words(many.reshape(-1, 1))
