"""Streams of files, a file a micro-batch, and what a query makes of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from augury.runtime.spark_types import arrow_schema, spark_schema

START = 1_700_000_000  # seconds


def at(seconds: Iterable[float | None], zone: str | None = "UTC") -> pa.Array:
    """Timestamps so many seconds after the start."""
    micros = [None if s is None else int((START + s) * 1_000_000) for s in seconds]
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", zone))


def put(folder: Path, tables: Iterable[pa.Table]) -> Path:
    """Each table as a file, to be read in this order, after those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    there = len(list(folder.iterdir()))
    for number, table in enumerate(tables, start=there):
        path, hidden = folder / f"{number:04}.parquet", folder / f".{number:04}"
        pyarrow.parquet.write_table(table, hidden)
        os.utime(hidden, (START + number, START + number))
        hidden.rename(path)
    return folder


def stream_of(session: Any, folder: Path, schema: pa.Schema) -> Any:
    """The folder as a streaming DataFrame, a file at a time."""
    return (
        session.readStream.schema(spark_schema(schema))
        .option("maxFilesPerTrigger", 1)
        .parquet(folder.as_uri())
    )


def run(df: Any, checkpoint: Path) -> tuple[pa.Table, list[Any]]:
    """All rows that a streaming DataFrame gives for what is there, and the progress of its micro-batches."""
    name = f"t{uuid.uuid4().hex}"
    query = (
        df.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", checkpoint.as_uri())
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = df.sparkSession.table(name)
    schema, table = arrow_schema(df.schema), found.toArrow()
    df.sparkSession.sql(f"DROP VIEW {name}")
    rows = pa.table([c.cast(f.type) for c, f in zip(table.columns, schema, strict=True)], schema=schema)
    return rows, list(query.recentProgress)


def counts_of(progress: Sequence[Any], number: int = 0) -> dict[str, int]:
    """What the library's operator counted: of the first one in the query, or of another."""
    from augury.spark.progress import progress as told

    found: dict[str, int] = told(SimpleNamespace(recentProgress=progress))["queries"][number]
    return found
