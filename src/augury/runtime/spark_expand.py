"""Compressed rows of a DataFrame to the rows of `output="all"`.

A row stands by itself, so each task expands what it has. Only the ordinal in a `match_id` asks for more: equal
matches are counted, and all of those end at one time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError
from augury.expr.functions import UserFunction, called, register
from augury.match.compressed import COLUMNS
from augury.pattern import Pattern
from augury.runtime.expanding import expand
from augury.runtime.spark_pack import named
from augury.runtime.spark_types import arrow_schema, held, spark_schema
from augury.runtime.spark_worker import BATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 1_000  # compressed rows that are expanded at a time: each may have many matches
END = "match_end"


def expand_frame(df: DataFrame, pattern: Pattern, *, match_id: bool = False) -> DataFrame:
    """The rows of `output="all"` as a DataFrame."""
    schema = arrow_schema(df.schema)
    for name in COLUMNS:
        if name not in schema.names:
            raise DataError(
                f'the DataFrame has no column {name}: expand takes the result of output="compressed"'
            )
    gives = expand(schema.empty_table(), pattern, match_id=match_id).schema
    functions = called(i.expr for i in pattern.returns or ())
    rows = df.toDF(*(f"c{place}" for place in range(len(schema))))
    if match_id:
        end = f"c{schema.get_field_index(END)}"
        rows = rows.repartition(end).sortWithinPartitions(end)
    task = Expansion(pattern, schema, functions, match_id=match_id)
    return rows.mapInArrow(task, spark_schema(gives))


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a worker must know to expand rows."""

    pattern: Pattern
    schema: pa.Schema
    functions: tuple[UserFunction, ...]
    match_id: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of one task's rows."""
        for function in self.functions:
            register(function)
        for rows in self._portions(batches):
            found = expand(rows, self.pattern, match_id=self.match_id)
            yield from held(found.replace_schema_metadata(None)).to_batches(max_chunksize=BATCH)

    def _portions(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows, some at a time; for ids all that end at one time are together."""
        rest: pa.Table | None = None
        for batch in batches:
            rows = named(batch, self.schema)
            rows = rows if rest is None else pa.concat_tables([rest, rows])
            while rows.num_rows > ROWS:
                cut = self._end(rows)
                if cut == rows.num_rows:
                    break
                yield rows.slice(0, cut)
                rows = rows.slice(cut)
            rest = rows
        if rest is not None and rest.num_rows:
            yield rest

    def _end(self, rows: pa.Table) -> int:
        """Where the first portion ends."""
        if not self.match_id:
            return ROWS
        ends = rows.column(END)
        later = pc.not_equal(ends, ends[ROWS - 1]).to_numpy()
        later[:ROWS] = False
        return int(later.argmax()) if later.any() else rows.num_rows
