"""Spark's stateful operator, with shards as its groups: what `Shard` does, on Spark's state and timers.

    packed rows ─> handleInputRows ─┬─> Shard.step <─> MapState: bucket ─> bytes of a matcher
    watermark ──> handleExpiredTimer ┘        └──────> ValueState: the ledger, when which bucket is due; one timer

Each group remembers which query and layout the checkpoint was made with, and refuses any other. One group more, the
ledger's, gets word in each micro-batch that has rows: so a change is seen though all events go to new shards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from augury.errors import DataError
from augury.expr.functions import register
from augury.match.gather import no_rows
from augury.runtime.changes import OP
from augury.runtime.program import Program
from augury.runtime.spark_packing import unpacked, written
from augury.runtime.spark_shards import LEDGER, Layout
from augury.runtime.stream_changes import Change, Changing, Log
from augury.runtime.stream_changes import read as read_changes
from augury.runtime.stream_shard import COUNTED, NEVER, Done, Shard
from augury.runtime.watermarks import frontier, watermark_for

if TYPE_CHECKING:
    from pandas import DataFrame as Frame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

LATE, EVENT = "late", "event"
REJECTED, REASON = "rejected", "reason"
GIVEN = "rows binary, " + ", ".join(f"{name} bigint" for name in (*COUNTED, "bad_rows"))
_ROWS = 100_000  # of changes in one blob
_NO_TIMER = -1
_CODEC = (
    "zstd"  # a third of the bytes, at 950 MB/s; what it saves goes several times through sockets and stores
)


@dataclass(frozen=True, slots=True)
class Live:
    """All that the operator must know: a program, and how its stream comes and goes."""

    program: Program
    schema: pa.Schema  # of the events that come
    gives: pa.Schema  # the stream's columns
    layout: Layout
    late: bool  # late events are among what it gives
    changes: bool  # its query takes changes
    chained: bool
    lag: int  # microseconds that the frontier stays behind the watermark

    @property
    def time(self) -> pa.DataType:
        return self.schema.field(self.program.clock).type

    @property
    def changing(self) -> Changing:
        """How the query takes changes."""
        return Changing(self.program, self.schema, self.program.gives)

    @property
    def name(self) -> str:
        """What must be the same for a checkpoint to go on."""
        options = self.program.options
        parts = {
            "query": self.program.name,
            "speculate": repr(options.speculate),
            "shards": len(self.layout.shards),
            "buckets": self.layout.buckets,
            **({"changes": True} if self.changes else {}),
        }
        return json.dumps(parts)


class Shards(StatefulProcessor):
    """The operator of one query."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is stored."""
        for function in self.live.program.functions:
            register(function)
        self.handle = handle
        self.buckets = handle.getMapState(
            "buckets", _struct(bucket=st.IntegerType()), _struct(state=st.BinaryType(), size=st.LongType())
        )
        self.ledger = handle.getValueState(
            "ledger", _struct(timer=st.LongType(), due=st.BinaryType(), name=st.StringType())
        )

        self.log = (
            handle.getValueState("log", _struct(changes=st.StringType())) if self.live.changes else None
        )

    def handleInputRows(self, key: Any, rows: Iterable[Frame], timerValues: Any) -> Iterator[Frame]:  # noqa: N802, N803
        """The rows of one shard in a micro-batch. The names are Spark's."""
        watermark = timerValues.getCurrentWatermarkInMs()
        events: dict[int, list[pa.Table]] = {}
        told: list[str] = []
        bad = 0
        for frame in rows:
            bad += int(frame["bad_rows"].sum())
            for buckets, blob, change in zip(frame["buckets"], frame["rows"], frame["change"], strict=True):
                if change is not None:
                    told.append(change)
                elif blob:
                    for bucket, table in unpacked(buckets, blob):
                        events.setdefault(bucket, []).append(table)
        log, rejected = self._changed(told, watermark)
        if key[0] == LEDGER:
            yield from self._said(bad, rejected)
            return
        if self.live.chained and events and watermark <= 0:
            raise DataError(
                f"the column {self.live.program.clock} was made by a query, but these rows come from where that was "
                "stored, and there is no watermark; give them one: withWatermark, or lateness="
            )
        yield from self._step(events, watermark, log, expired=None)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Frame]:  # noqa: N802, N803
        """The watermark has come to where a bucket of the shard is due. Spark passes these by name."""
        del key
        watermark = timerValues.getCurrentWatermarkInMs()
        log, _ = self._changed([], watermark)
        yield from self._step({}, watermark, log, expired=expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is open."""

    def _changed(self, told: list[str], watermark: int) -> tuple[Log | None, list[tuple[Change, str]]]:
        """The changes of the query so far, with those that have just come, and which of these are no good."""
        live = self.live
        if self.log is None:
            return None, []
        stored = self.log.get()
        log = Log() if stored is None else Log.from_json(stored[0])
        if not told:
            return log, []
        log, rejected = live.changing.accept(
            log, read_changes(told), frontier(watermark, live.lag, live.time)
        )
        self.log.update((log.to_json(),))
        return log, rejected

    def _step(
        self, events: dict[int, list[pa.Table]], watermark: int, log: Log | None, *, expired: int | None
    ) -> Iterator[Frame]:
        live = self.live
        shard = Shard(live.program, live.schema, live.chained, live.changing if live.changes else None)
        known = self._known()
        timer, due = _NO_TIMER, np.full(live.layout.buckets, NEVER, np.int64)
        if known is not None:
            timer, due = known[0], np.frombuffer(known[1], "<i8").astype(np.int64)
        before = due.copy()
        done = shard.step(_Stored(self.buckets), due, events, frontier(watermark, live.lag, live.time), log)
        # After the step nothing is due by this watermark, so the timer is later, and is not the one that has expired.
        first = int(due.min())
        wanted = _NO_TIMER if first == NEVER else watermark_for(first, live.lag, live.time)
        if wanted != timer:
            if timer not in (_NO_TIMER, expired):  # one that has expired Spark takes away by itself
                self.handle.deleteTimer(timer)
            if wanted != _NO_TIMER:
                self.handle.registerTimer(wanted)
        if wanted != timer or (due != before).any():
            self.ledger.update((wanted, due.astype("<i8").tobytes(), live.name))
        yield from self._given(done)

    def _known(self) -> Any:
        """What the ledger has of this group, if the checkpoint is of this very query."""
        known = self.ledger.get()
        if known is not None and known[2] != self.live.name:
            raise DataError(_difference(json.loads(known[2]), json.loads(self.live.name)))
        return known

    def _given(self, done: Done) -> Iterator[Frame]:
        counts = done.counts
        rows = [
            r
            for r in (*(self._changes(t) for t in done.changes), *(self._late(t) for t in done.late))
            if r.num_rows
        ]
        table = pa.concat_tables(rows) if rows else None
        if table is None and not any(counts.values()):
            return
        blobs = (
            [None]
            if table is None
            else [written(table.slice(at, _ROWS)) for at in range(0, table.num_rows, _ROWS)]
        )
        for blob in blobs:
            yield _frame(blob, counts, 0)
            counts = dict.fromkeys(counts, 0)

    def _changes(self, changes: pa.Table) -> pa.Table:
        """Changes as rows of the stream."""
        if not changes.num_rows:
            return changes
        names = changes.schema.names
        columns = [
            changes.column(f.name) if f.name in names else pa.nulls(changes.num_rows, f.type)
            for f in self.live.gives
        ]
        return pa.Table.from_arrays(columns, schema=self.live.gives)

    def _late(self, late: pa.Table) -> pa.Table:
        """Late events as rows of the stream, where it has room for them."""
        gives = self.live.gives
        if not self.live.late:
            return no_rows(gives)
        event = pa.StructArray.from_arrays(
            [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in late.columns],
            fields=list(late.schema),
        )
        said = {OP: pa.repeat(pa.scalar(LATE), late.num_rows), EVENT: event}
        columns = [said[f.name] if f.name in said else pa.nulls(late.num_rows, f.type) for f in gives]
        return pa.Table.from_arrays(columns, schema=gives)

    def _said(self, bad: int, rejected: list[tuple[Change, str]]) -> Iterator[Frame]:
        """Word from the tasks before the shuffle, and changes that are no good."""
        if self._known() is None:
            self.ledger.update((_NO_TIMER, b"", self.live.name))
        blob = None
        if rejected:
            said = {OP: [REJECTED] * len(rejected), REASON: [f"{change}: {why}" for change, why in rejected]}
            columns = [said.get(f.name, [None] * len(rejected)) for f in self.live.gives]
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self.live.gives, strict=True)]
            blob = written(pa.Table.from_arrays(arrays, schema=self.live.gives))
        yield _frame(blob, dict.fromkeys(COUNTED, 0), bad)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The buckets of the shard whose turn it is."""

    state: Any

    def get(self, bucket: int) -> bytes | None:
        found = self.state.getValue((bucket,))
        if found is None:
            return None
        try:
            state: bytes = pa.decompress(bytes(found[0]), found[1], codec=_CODEC, asbytes=True)
        except (OSError, ValueError) as error:
            raise DataError(f"the state is damaged: {error}") from None
        return state

    def put(self, bucket: int, state: bytes) -> None:
        self.state.updateValue((bucket,), (pa.compress(state, codec=_CODEC, asbytes=True), len(state)))

    def remove(self, bucket: int) -> None:
        self.state.removeKey((bucket,))


def _difference(known: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Why a checkpoint is refused, and what to do."""
    if any(known.get(part) != wanted.get(part) for part in ("query", "speculate", "changes")):
        return (
            "this checkpoint was made by another query, or for other columns, roles or outputs; "
            "start the changed query with a checkpointLocation of its own"
        )
    setting = {"shards": "spark.sql.shuffle.partitions", "buckets": "spark.augury.buckets"}
    told = [
        f"{setting[part]}={known[part]}, and now it is {wanted[part]}"
        for part in setting
        if known[part] != wanted[part]
    ]
    return f"this checkpoint was made with {' and '.join(told)}; set it back, or start with a new checkpointLocation"


def _struct(**fields: st.DataType) -> st.StructType:
    return st.StructType([st.StructField(name, type_) for name, type_ in fields.items()])


def _frame(blob: bytes | None, counts: dict[str, int], bad: int) -> Frame:
    import pandas as pd

    return pd.DataFrame({"rows": [blob], **{name: [counts[name]] for name in COUNTED}, "bad_rows": [bad]})
