"""In this process, on one core: Augury, and what one would write by hand with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bench.growing import Record, bounded, part
from bench.questions import Question
from bench.runner import best_of, counted

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = 10_000


def measure(question: Question, *, quick: bool) -> Iterator[Record]:
    """Records of ours and, where there is one, of the function by hand."""
    table = question.stream(question.rows)
    found = question.ours(table)  # compiles what there is to compile
    rows = found.num_rows
    walls, _ = best_of(lambda: question.ours(table), quick=quick)
    ours = _record(question, "augury", table.num_rows, min(walls))
    yield ours | counted(found, question.output) | {"query": question.text.strip(), "output": question.output}
    if question.by_hand is not None:
        del found
        yield _by_hand(question, question.by_hand, table, rows, quick=quick)


def _by_hand(
    question: Question, call: Callable[[pa.Table], pa.Table], table: pa.Table, rows: int, *, quick: bool
) -> Record:
    budget = 1.0 if quick else 5.0
    size, _ = part(table.num_rows, FIRST, budget, lambda n: call(table.slice(0, n)), least=budget / 40)
    stream = table.slice(0, size)
    if size < table.num_rows:
        rows = question.ours(stream).num_rows
    walls, _ = best_of(lambda: call(stream), quick=quick)
    found = call(stream).num_rows
    record = _record(question, "numpy", size, min(walls)) | {
        "rows": found,
        "expected": rows,
        "agrees": found == rows,
    }
    return bounded(record, size, table.num_rows, budget)


def _record(question: Question, system: str, events: int, seconds: float) -> Record:
    return {
        "workload": f"peers/{question.name}/{system}",
        "question": question.name,
        "system": system,
        "events": events,
        "seconds": seconds,
        "events_per_second": round(events / seconds, 1),
    }
