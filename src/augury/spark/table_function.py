"""`augury_match` in SQL: a query as a table function.

    SELECT * FROM augury_match(TABLE(events) PARTITION BY (user), 'PATTERN SEQ(view a, buy b) WITHIN 1 hour')

Spark calls it for each partition and hands it over row by row: it is there for who has SQL alone, and
`query.match(df, ...)` for who has many events. What an argument says it says as in `match`; `PARTITION BY` keeps
streams apart as `key=` does, without giving the keys back.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import types as st
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

from augury.errors import QueryError, locating
from augury.expr.functions import UserFunction, register
from augury.expr.printing import quoted
from augury.expr.types import Kind
from augury.query import sase
from augury.runtime.options import Options
from augury.runtime.program import Program
from augury.runtime.sequences import program_of
from augury.runtime.spark_types import UNREADABLE, arrow_schema, held, spark_schema
from augury.runtime.table import without_bad_rows
from augury.schema import Columns

BUCKETS = 256  # a call of Python for each, not for each key
TEXTS = ("time", "type", "output", "plan", "bad_rows")
LISTS = ("key", "tiebreak")


@dataclass
class Asked(AnalyzeResult):
    """What a call says, worked out once: the query that has met the table."""

    program: Program | None = None
    reads: pa.Schema | None = None


class Match:
    """The table function itself. Spark makes one for each partition."""

    @staticmethod
    def analyze(table: AnalyzeArgument, query: AnalyzeArgument, **named: AnalyzeArgument) -> Asked:
        """The columns of the result, and what of the table is wanted."""
        if not table.isTable or not isinstance(table.dataType, st.StructType):
            raise QueryError(
                "the first argument is no table", hint="write augury_match(TABLE(events) PARTITION BY …)"
            )
        text = _constant("the query", query)
        schema = arrow_schema(table.dataType)
        options = _options(schema, named)
        with locating(text):
            program = program_of(sase(text).pattern, schema, options)
        reads = pa.schema([schema.field(name) for name in program.reads])
        keys = ", ".join(_name(key) for key in program.roles.key)
        return Asked(
            schema=spark_schema(program.gives),
            partitionBy=[PartitioningColumn(f"pmod(xxhash64({keys}), {BUCKETS})")] if keys else [],
            select=[SelectedColumn(_selected(field), alias=field.name) for field in reads],
            program=program,
            reads=reads,
        )

    def __init__(self, asked: Asked) -> None:
        assert asked.program is not None
        assert asked.reads is not None
        self.program = asked.program
        self.reads = asked.reads
        for function in self.program.functions:
            register(function)
        self.rows: list[Any] = []
        self.is_whole = _is_one_partition()

    def eval(self, table: Any, *_arguments: Any, **_named: Any) -> Iterator[Any]:
        """One more event."""
        self.rows.append(tuple(table))
        yield from ()

    def terminate(self) -> Iterator[Any]:
        """The partition is complete."""
        reads = self.reads
        if self.rows and not self.is_whole:
            raise QueryError(
                "the events are in several tasks, and nothing says which belong together",
                hint="write TABLE(events) PARTITION BY (user), TABLE(events) WITH SINGLE PARTITION, or key => 'user'",
            )
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(reads)
        arrays = [_array(values, field.type) for values, field in zip(columns, reads, strict=True)]
        events, _ = without_bad_rows(pa.Table.from_arrays(arrays, schema=reads), self.program)
        found = held(self.program.evaluator().whole(events))
        for batch in found.to_batches(max_chunksize=10_000):
            values = [column.to_pylist(maps_as_pydicts="strict") for column in batch.columns]
            yield from zip(*values, strict=True)


def knowing(functions: tuple[UserFunction, ...]) -> type[Match]:
    """The table function for queries that call these."""

    class Knowing(Match):
        @staticmethod
        def analyze(table: AnalyzeArgument, query: AnalyzeArgument, **named: AnalyzeArgument) -> Asked:
            for function in functions:
                register(function)
            return Match.analyze(table, query, **named)

    return Knowing


def _options(schema: pa.Schema, named: dict[str, AnalyzeArgument]) -> Options:
    given: dict[str, Any] = {}
    for name, argument in named.items():
        value = _constant(name, argument)
        if name in TEXTS:
            given[name] = value
        elif name in LISTS:
            given[name] = tuple(value) if isinstance(value, list | tuple) else value
        elif name in ("match_id", "max_runs"):
            given[name] = value
        else:
            known = ", ".join((*TEXTS, *LISTS, "match_id", "max_runs"))
            raise QueryError(f"augury_match has no argument {name}", hint=f"it has {known}")
    columns = Columns.of(schema)
    if "time" not in given:
        given["time"] = _only(columns, (Kind.TIMESTAMP, Kind.DATE), "time")
    return Options(**given)


def _only(columns: Columns, kinds: tuple[Kind, ...], role: str) -> str:
    """The one column that can play a role that was not given."""
    fit = [name for name, type_ in columns.types.items() if type_.kind in kinds]
    if len(fit) != 1:
        found = f"the columns {', '.join(map(quoted, fit))} could be" if fit else "no timestamp or date is"
        raise QueryError(f"{found} the {role} of the events", hint=f"name the column: {role} => 'ts'")
    return fit[0]


def _constant(what: str, argument: AnalyzeArgument) -> Any:
    if argument.isTable or not argument.isConstantExpression:
        raise QueryError(f"{what} is not known before the query runs", hint="write a constant")
    return argument.value


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _selected(field: pa.Field) -> str:
    """A column as Python gets it exactly: a timestamp would come in the worker's own zone."""
    if field.type == UNREADABLE or _holds_instants(field.type):
        raise QueryError(
            f"the table function cannot read the column {quoted(field.name)}: {field.type}",
            hint="leave it out, say with RETURN which columns are wanted, or use query.match(df, …)",
        )
    name = _name(field.name)
    return f"unix_micros({name})" if pa.types.is_timestamp(field.type) and field.type.tz else name


def _holds_instants(type_: pa.DataType) -> bool:
    """Whether timestamps are nested in it."""
    inner = [type_.field(i).type for i in range(type_.num_fields)]
    return any((pa.types.is_timestamp(t) and t.tz is not None) or _holds_instants(t) for t in inner)


def _array(values: Any, type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type_) and type_.tz:
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array([_plain(v) for v in values] if pa.types.is_nested(type_) else values, type_)


def _plain(value: Any) -> Any:
    """Rows of Spark as Arrow takes them."""
    match value:
        case st.Row():
            return {k: _plain(v) for k, v in value.asDict().items()}
        case list():
            return [_plain(v) for v in value]
        case dict():
            return [(k, _plain(v)) for k, v in value.items()]
    return value


def _is_one_partition() -> bool:
    """Whether this instance has all rows of what PARTITION BY names, or of the table.

    Without PARTITION BY Spark gives each task some rows of all streams, and tells nobody. What it does for
    PARTITION BY can only be seen on the way to the instance; where that is named otherwise one day, calls are
    refused, and none is answered wrongly. What comes to the first task alone is whole.
    """
    context = TaskContext.get()
    if context is None or context.partitionId() == 0:
        return True
    return any("WithPartition" in frame.frame.f_code.co_qualname for frame in inspect.stack(0))
