"""The corpus on Spark streams: `python -m spark.soak_streams [cases in a query]`, with `tests` on the path. Some minutes.

Each case is a folder of files, out of order, and a last event far behind that takes the watermark past all others. The
suite itself runs the cases through what the operator does in a micro-batch, and a few queries through Spark.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import augury as ag
from augury.expr.columns import from_arrow
from augury.runtime.options import Options
from augury.runtime.watermarks import microseconds
from conformance import corpus
from spark.frames import as_spark_has_it
from spark.streams import put, run, stream_of
from spark.test_streams import plain, same, together

FAR = 10**16  # microseconds beyond all cases, in 2286; integers of less than 64 bits do not reach it
LATENESS = 10**12


class Case:
    """A case that a stream can take: events whose times leave room for one that is far behind."""

    def __init__(self, case: corpus.Worked, output: str, table: pa.Table) -> None:
        self.name = f"{case.file} {case.name} {output}"
        self.query = ag.sase(case.query, **case.params)
        self.arguments = {**case.match, "output": output}
        self.table = table
        self.program = self.query._program(table.schema, Options(**self.arguments))
        clock = self.program.clock
        times = from_arrow(table.column(clock), self.program.columns.types[clock])
        instant = microseconds(table.schema.field(clock).type)
        self.fits = bool(np.all(np.abs(times.values[times.mask()]) < FAR // 2 // instant))

    @property
    def clock(self) -> pa.Field:
        return self.table.schema.field(self.program.clock)

    def parts(self) -> list[pa.Table]:
        """The events in disorder, and the one far behind."""
        rng = random.Random(self.name)
        order = list(range(self.table.num_rows))
        rng.shuffle(order)
        half = rng.randint(0, len(order))
        last = pa.array([FAR // (86_400_000_000 if pa.types.is_date(self.clock.type) else 1)], pa.int64())
        if pa.types.is_date(self.clock.type):
            last = last.cast(pa.int32())
        columns = [
            last.cast(f.type) if f.name == self.clock.name else pa.nulls(1, f.type) for f in self.table.schema
        ]
        end = pa.Table.from_arrays(columns, schema=self.table.schema)
        parts = [self.table.take(pa.array(rows, pa.int64())) for rows in (order[:half], order[half:]) if rows]
        return [*parts, end]


def cases() -> list[Case]:
    found = []
    for case in corpus.load():
        table = as_spark_has_it(corpus.events_of(case.events)[0])
        if case.error is not None or table is None or isinstance(case.match["time"], list | tuple):
            continue
        for output in case.expected:
            one = Case(case, output, table)
            wide = not pa.types.is_integer(one.clock.type) or one.clock.type == pa.int64()
            # The last event must not be in a match itself: without a type column it could.
            apart = "type" in case.match or one.query.pattern.within is not None
            if one.fits and wide and apart and one.program.unending() is None:
                found.append(one)
    return found


def main(size: int) -> int:
    warnings.simplefilter("ignore", ag.DataWarning)
    spark = ag.spark.session(cores=2, memory="3g", config={"spark.sql.shuffle.partitions": "2"})
    asked, wrong = cases(), 0
    with tempfile.TemporaryDirectory() as name:
        for start in range(0, len(asked), size):
            group = asked[start : start + size]
            frames: dict[str, Any] = {}
            wanted: dict[str, Any] = {}
            for number, case in enumerate(group, start=start):
                source = stream_of(spark, put(Path(name) / f"{number}", case.parts()), case.table.schema)
                lateness: Any = LATENESS if pa.types.is_integer(case.clock.type) else "12 days"
                frames[case.name] = case.query.match(source, lateness=lateness, **case.arguments)
                found = plain(case.query.match(case.table, **case.arguments))
                wanted[case.name] = spark.createDataFrame(found, frames[case.name].schema)
            got, _ = run(together(frames), Path(name) / f"checkpoint{start}")
            far = pa.array(["2286-" not in row and str(FAR) not in row for row in got["row"].to_pylist()])
            try:
                same(together(wanted).toArrow(), got.filter(far))
            except AssertionError as error:
                wrong += 1
                print(error)  # noqa: T201
            print(f"{start + len(group)} of {len(asked)} cases, {wrong} groups differ", flush=True)  # noqa: T201
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 12))
