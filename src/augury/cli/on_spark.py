"""`augury match --spark`: the same rows, found by Spark.

    parquet ──────────────────────────── Spark reads the files ─┐
    all else ── Arrow table ── as Spark holds its columns ──────┴─> query.match ─> Arrow table, in the types of here

Spark reads files itself where it gives their columns the types that they have here. Text it reads by other rules, and
whoever leaves out --spark must get the same rows; so text is read as without it.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury.cli.inputs import Data, schema_of
from augury.cli.matching import Found, Roles, checked, read, told_types
from augury.cli.screen import Meter
from augury.cli.trouble import ends_later, note
from augury.expr.printing import quoted
from augury.query import Query
from augury.runtime.program import rows_have
from augury.runtime.table import dropped
from augury.spark import bad_rows
from augury.spark.frames import frame_of, in_types, parquet_frame, reads_alike
from augury.spark.masters import is_far, session_at
from augury.spark.running import in_words, tasks_told

if TYPE_CHECKING:
    import pyarrow as pa

# What Hadoop takes for a pattern in any path, and letters that Spark does not unescape as UTF-8.
_UNLIKE = re.compile(r"[*?\[\]{}\\]|%[89A-Fa-f][0-9A-Fa-f]")


def evaluate(
    master: str | None, query: Query, data: Data, roles: Roles, options: dict[str, Any], quiet: bool
) -> Found:
    """The query evaluated by the Spark of a master, or by a local one."""
    base = _base(data)
    table = None
    if base is None:
        table, arguments = read(query, data, roles, options, quiet=quiet)
        schema = table.schema
    else:
        schema = data.schema()
        arguments, _ = checked(query, schema, data, roles, options)
    with told_types(data, schema):
        wanted = query.match(schema.empty_table(), **arguments, **options).schema
    logging.getLogger().addHandler(logging.NullHandler())  # else py4j logs an interruption with all its calls
    # Java that is cut off while it starts stays, and belongs to nobody.
    waits = ends_later("ending as soon as Spark has started; ask again to end now")
    with Meter.of_tasks("starting Spark", None, quiet=quiet), in_words(), waits:
        spark = session_at(master, tell=not quiet)
    if table is None and is_far(spark):
        table, _ = read(query, data, roles, options, quiet=quiet)
    with Meter.of_tasks("matching on Spark", quiet=quiet) as meter, in_words(), tasks_told(spark, meter.at):
        df, events = _frame(spark, data, schema, base or "") if table is None else _given(spark, table)
        result = query.match(df, **arguments, **options)
        found = result.toArrow()
    if options["bad_rows"] == "drop":
        bad = bad_rows(result)
        wanted = wanted.with_metadata({**wanted.metadata, b"augury.bad_rows": str(bad).encode()})
        if bad:
            note(dropped(bad, rows_have(bad, f"no time in the column {quoted(arguments['time'])}")))
    return in_types(found, wanted), events


def _given(spark: Any, table: pa.Table) -> tuple[Any, int]:
    return frame_of(spark, table), table.num_rows


def _frame(spark: Any, data: Data, schema: pa.Schema, base: str) -> tuple[Any, int]:
    import pyarrow.parquet as pq

    paths = [s.path for s in data.sources]
    return parquet_frame(spark, paths, schema, base or None), sum(pq.read_metadata(p).num_rows for p in paths)


def _base(data: Data) -> str | None:
    """None where Spark would not read the files as they are read here, else the folder where columns in paths begin.

    That is "" where no path tells any.
    """
    if data.text.columns or any(s.format != "parquet" or s.stream is not None for s in data.sources):
        return None
    if any(_UNLIKE.search(s.path) or Path(s.path).name[0] in "._" for s in data.sources):
        return None  # Spark passes over files whose names begin so
    whole = data.schema()
    if len({name.lower() for name in whole.names}) < len(whole.names):
        return None
    told = {name for s in data.sources for name, _ in s.partition}
    for source in data.sources:
        for field in schema_of(source, data.text):
            if (
                field.name in told
                or not reads_alike(field.type)
                or field.type != whole.field(field.name).type
            ):
                return None
    bases = {source.folder for source in data.sources}
    return bases.pop() if len(bases) == 1 else None
