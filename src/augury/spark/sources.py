"""Data sources to try streams with: `replay` has files arrive again, `generate` makes the streams of `augury.generate`.

    spark.readStream.format("replay").option("time", "ts").option("speed", 60).load("events.parquet")
    spark.readStream.format("generate").option("stream", "clicks").option("rows_per_batch", 10_000).load()

An offset is the number of rows that have arrived, so a query that is started again goes on at the row where it
stopped. Tasks keep no state that matters: who reads on is quick, who goes back makes the stream anew.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from augury.errors import QueryError
from augury.generate import STREAMS
from augury.replay import PART, Arrivals, Arriving, Clock, Generated, Recorded, delay_of
from augury.runtime.spark_types import spark_schema
from augury.spark.frames import held_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import types as st

_BATCH = 10_000  # rows of a record batch, as Spark has them by default
_OPEN = 4  # streams that a worker keeps open


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a source say."""

    arriving: Arriving
    speed: float | None
    rows_per_batch: int | None


class _Source(DataSource):
    """What both sources share: they read a stream in the order in which it arrives."""

    def asked(self) -> Asked:
        raise NotImplementedError

    def schema(self) -> st.StructType:
        """The columns as Spark has them."""
        return spark_schema(held_table(self.asked().arriving.stream.schema().empty_table()).schema)

    def reader(self, schema: st.StructType) -> DataSourceReader:
        """All rows at once."""
        del schema
        return AtOnce(self.asked())

    def streamReader(self, schema: st.StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """The rows as they come."""
        del schema
        return AsTheyCome(self.asked())


class Replay(_Source):
    """Files of events, as they once arrived."""

    @classmethod
    def name(cls) -> str:
        return "replay"

    def asked(self) -> Asked:
        given = _given(self, {"path": str, "time": str, **_ARRIVAL})
        for needed, said in (("path", ".load('events.parquet')"), ("time", ".option('time', 'ts')")):
            if needed not in given:
                raise QueryError(f"replay is not told the {needed}", hint=f"write {said}")
        return _asked(Recorded(given.pop("path"), given.pop("time")), given)


class Generate(_Source):
    """The streams of `augury.generate`."""

    @classmethod
    def name(cls) -> str:
        return "generate"

    def asked(self) -> Asked:
        stream = {name.lower(): value for name, value in self.options.items()}.get("stream")
        if stream not in STREAMS:
            raise QueryError(
                f"there is no stream {stream!r}" if stream else "generate is not told the stream",
                hint=f"write .option('stream', 'clicks'); there are {', '.join(STREAMS)}",
            )
        own = {
            name: float if p.annotation in ("float", float) else int
            for name, p in inspect.signature(STREAMS[stream]).parameters.items()
            if name not in ("rows", "seed")
        }
        given = _given(self, {"stream": str, "rows": int, **own, **_ARRIVAL})
        options = tuple((name, given.pop(name)) for name in own if name in given)
        rows = given.pop("rows", None)
        asked = _asked(Generated(stream, rows, given.get("seed", 0), options), given)
        if rows is None and asked.speed is None and asked.rows_per_batch is None:
            raise QueryError(
                "generate is told no number of rows, and nothing says how many come at a time",
                hint="write .option('rows_per_batch', 100000), .option('speed', 60) or .option('rows', 1000000)",
            )
        return asked


# ------------------------------------------------------------------ options


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def _above_0(type_: type[int | float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = type_(text)
        if not value > 0:
            raise ValueError
        return value

    return read


_ARRIVAL: dict[str, Callable[[str], Any]] = {
    "disorder": _share,
    "late": _share,
    "duplicates": _share,
    "delay": str,
    "seed": int,
    "speed": _above_0(float),
    "rows_per_batch": _above_0(int),
}


def _given(source: DataSource, known: dict[str, Callable[[str], Any]]) -> dict[str, Any]:
    """The options, read; one that is not known, or cannot be what it says, is an error."""
    found = {}
    for name, text in source.options.items():
        read = known.get(name.lower())
        if read is None:
            raise QueryError(
                f"{source.name()} has no option {name}", hint=f"it has {', '.join(sorted(known))}"
            )
        try:
            found[name.lower()] = read(text)
        except ValueError:
            raise QueryError(
                f"the option {name} cannot be {text!r}",
                hint="a share is from 0 to 1, other numbers are above 0"
                if read is not int
                else "write a number",
            ) from None
    return found


def _asked(stream: Recorded | Generated, given: dict[str, Any]) -> Asked:
    plain = not any(given.get(name) for name in ("disorder", "late", "duplicates"))
    delay = 0 if plain else delay_of(given.get("delay"), stream.schema().field(stream.time).type, stream.time)
    shares = {name: given.get(name, 0.0) for name in ("disorder", "late", "duplicates")}
    arriving = Arriving(stream, **shares, delay=delay, seed=given.get("seed", 0))
    return Asked(arriving, given.get("speed"), given.get("rows_per_batch"))


# ------------------------------------------------------------------ readers


class Rows(InputPartition):
    """A stretch of a stream, by the numbers of its rows."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class AtOnce(DataSourceReader):
    """The whole stream, for a batch."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        total = Clock(self.asked.arriving).total
        if total is None:
            raise QueryError(
                "the stream has no end", hint="write .option('rows', 1000000), or read it by readStream"
            )
        return [Rows(0, total)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return _batches(self.asked.arriving, partition)


class AsTheyCome(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream in micro-batches."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.clock = Clock(asked.arriving, asked.speed)
        self.until: int | None = None  # of a query that ends with what is there now

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self.asked.rows_per_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        begin = start["rows"]
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if self.until is not None:
            end = self.until if most is None else min(self.until, begin + most)
            return {"rows": max(begin, end)}
        there = self.clock.there(begin, most)
        return {"rows": begin + (self.asked.rows_per_batch or PART) if there is None else there}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        total = self.clock.total
        if total is None:
            raise QueryError(
                "the stream has no end, so all of it is never there", hint="write .option('rows', 1000000)"
            )
        self.until = total

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Rows(start["rows"], end["rows"])] if start["rows"] < end["rows"] else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return _batches(self.asked.arriving, partition)

    def __reduce__(self) -> tuple[Any, ...]:
        return AsTheyCome, (self.asked,)  # a task has no use for the clock and what it holds


_open: OrderedDict[Arriving, Arrivals] = OrderedDict()  # of this worker: where it stands in streams


def _batches(arriving: Arriving, rows: Rows) -> Iterator[pa.RecordBatch]:
    """A stretch of a stream as Spark takes it."""
    arrivals = _open.pop(arriving, None) or Arrivals(arriving)
    while len(_open) >= _OPEN:
        _open.popitem(last=False)
    for table in arrivals.between(rows.start, rows.end):
        yield from held_table(table).to_batches(max_chunksize=_BATCH)
    _open[arriving] = arrivals
