"""`augury match`, `check` and `expand`: a query meets data."""

from __future__ import annotations

import json
import sys
import time as clock
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from augury.cli.inputs import Data
from augury.cli.outputs import STDOUT, check_free, format_of, writing
from augury.cli.queries import naming, query_from
from augury.cli.screen import Meter, show_table, stdout
from augury.cli.trouble import DATA, QUERY, UsageError, in_options, note
from augury.cli.types import shown
from augury.cli.words import listed
from augury.errors import AuguryError, DataWarning, QueryError
from augury.query import Query, expand
from augury.resolve import output_schema, resolve
from augury.runtime.options import Options
from augury.schema import Columns, roles_of
from augury.time import is_time
from augury.watch import watched

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 16  # rows that are written at once


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns play a role, as the options name them."""

    time: str | None
    type: str | None
    key: tuple[str, ...]
    tiebreak: tuple[str, ...]

    def arguments(self, schema: pa.Schema, name: str) -> dict[str, Any]:
        """The roles as `Query.match` takes them; without a time, which columns could be one."""
        if self.time is None:
            types = Columns.of(schema).types
            times = [n for n in schema.names if is_time(types[n])]
            candidates = " or ".join(f"--time {n} ({shown(schema.field(n).type)})" for n in times[:4])
            every = listed([f"{f.name} {shown(f.type)}" for f in schema])
            could = candidates or f"none of its columns is a time: {every}; see --column"
            raise UsageError(f"say which column of {name} is the time: {could}")
        return {
            "time": self.time,
            "type": self.type,
            "key": list(self.key) or None,
            "tiebreak": list(self.tiebreak) or None,
        }

    def options(self) -> dict[str, str]:
        """The columns that are named, by the option that names them."""
        found = {"--time": self.time, "--type": self.type}
        named = {option: name for option, name in found.items() if name is not None}
        named.update({f"--key {k}": k for k in self.key})
        return {**named, **{f"--tiebreak {t}": t for t in self.tiebreak}}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a result goes: to the screen, or to a file in a format."""

    path: str | None
    format: str | None
    overwrite: bool
    limit: int

    @classmethod
    def of(cls, path: str | None, form: str | None, *, overwrite: bool, limit: int) -> Target:
        """The target that the options name; into a pipe go JSON lines."""
        if path is None and (form is not None or not sys.stdout.isatty()):
            path, form = STDOUT, form or "jsonl"
        if form == "table":
            if path not in (None, STDOUT):
                raise UsageError(
                    "--format table is for the screen; a file is parquet, Arrow, CSV or JSON lines"
                )
            return cls(None, None, overwrite, limit)
        if path is None:
            return cls(None, None, overwrite, limit)
        check_free(path, overwrite=overwrite)
        return cls(path, format_of(path, form), overwrite, limit)

    def put(self, table: pa.Table, *, quiet: bool = True) -> None:
        """Show the table, or write it with a meter."""
        if self.path is None:
            if table.num_rows:
                show_table(table, self.limit)
            return
        assert self.format is not None
        with (
            Meter.of_rows(
                f"writing {self.path}", table.num_rows, quiet=quiet or self.path == STDOUT
            ) as meter,
            writing(self.path, self.format, table.schema) as writer,
        ):
            for start in range(0, table.num_rows, _ROWS):
                writer.write(table.slice(start, _ROWS))
                meter.reach(start + _ROWS)

    def said(self, rows: int, what: str) -> str:
        """How the result is told in the closing line."""
        many = f"{rows:,} {what}" if rows != 1 else f"1 {what[:-2] if what.endswith('ches') else what[:-1]}"
        if self.path is None:
            rest = rows - self.limit
            return many if rest <= 0 else f"{many}, the first {self.limit:,} shown; -o FILE keeps them all"
        return many if self.path == STDOUT else f"{many} in {self.path}"


Found = tuple["pa.Table", int]  # the result, and how many events there were
Evaluate = Callable[[Query, Data, Roles, dict[str, Any], bool], Found]


def match(
    given: str,
    params: Sequence[str],
    data: Data,
    roles: Roles,
    target: Target,
    options: dict[str, Any],
    *,
    quiet: bool,
    evaluate: Evaluate | None = None,
) -> None:
    """Find a query's matches in files, and show or store them. They are looked for here, or where `evaluate` does."""
    if options["output"] == "compressed" and target.format == "csv":
        raise UsageError("CSV cannot hold compressed matches; write parquet or Arrow")
    with naming(given):
        query = query_from(given, params)
        began = clock.perf_counter()
        result, events = (evaluate or _here)(query, data, roles, options, quiet)
    took = clock.perf_counter() - began
    target.put(result, quiet=quiet)
    if not quiet:
        what = "matches" if options["output"] in ("all", "non_overlap", "longest") else "rows"
        note(
            f"{target.said(result.num_rows, what)} ({events:,} {'event' if events == 1 else 'events'}, {took:.2f} s)"
        )


def _here(query: Query, data: Data, roles: Roles, options: dict[str, Any], quiet: bool) -> Found:
    """The query evaluated in this process."""
    table, arguments = read(query, data, roles, options, quiet=quiet)
    with (
        told_types(data, table.schema),
        told_warnings(),
        Meter.of_rows("matching", table.num_rows, quiet=quiet) as meter,
        watched(lambda done, _: meter.reach(done)),
    ):
        return query.match(table, **arguments, **options), table.num_rows


def read(
    query: Query, data: Data, roles: Roles, options: dict[str, Any], *, quiet: bool
) -> tuple[pa.Table, dict[str, Any]]:
    """The rows of the columns that the query reads, and `match`'s arguments; what is wrong with it is told before."""
    if not data.known_by_metadata:
        data.check_columns(roles.options())
        table = data.read(quiet=quiet)
        return table, roles.arguments(table.schema, data.name)
    schema = data.schema()
    arguments, names = checked(query, schema, data, roles, options)
    return data.read(names, quiet=quiet), arguments


def checked(
    query: Query, schema: pa.Schema, data: Data, roles: Roles, options: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """`match`'s arguments, and the columns that the query reads; all errors of the query, before a row is read."""
    arguments = roles.arguments(schema, data.name)
    data.check_columns(roles.options())
    query.match(schema.empty_table(), **arguments, **options)
    columns = Columns.of(schema)
    return arguments, tuple(resolve(query.pattern, columns, roles_of(columns, **arguments)).reads)


@contextmanager
def told_warnings() -> Iterator[None]:
    """Dropped rows are told in a line, not as Python warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield
    for warning in caught:
        note(str(warning.message))


@contextmanager
def told_types(data: Data, schema: pa.Schema) -> Iterator[None]:
    """Where a query does not fit text, the fault may be how the text was read."""
    try:
        yield
    except QueryError as error:
        if any(s.format in ("csv", "jsonl") for s in data.sources):
            columns = listed([f"{f.name} {shown(f.type)}" for f in schema])
            error.add_note(f"the columns were read as {columns}; --column NAME:TYPE says otherwise")
        raise


# ------------------------------------------------------------------ check


def check(
    given: str,
    params: Sequence[str],
    opened: Callable[[], Data] | None,
    schema: pa.Schema | None,
    roles: Roles,
    output: str,
    *,
    as_json: bool,
) -> int:
    """Say whether a query is right, by itself or for some columns; gives the exit code."""
    try:
        with naming(given):
            query = query_from(given, params)
            result, data = None, None
            if opened is not None:
                data = opened()
                schema = data.schema()
                data.check_columns(roles.options())
            if schema is not None:
                arguments = roles.arguments(schema, "the schema" if data is None else data.name)
                Options(**arguments, output=output)
                columns = Columns.of(schema)
                resolved = resolve(query.pattern, columns, roles_of(columns, **arguments))
                time = schema.field(resolved.roles.time).type
                result = output_schema(resolved, schema, output, match_id=False, time=time)
    except AuguryError as error:
        if not as_json or isinstance(error, UsageError):
            raise
        print(json.dumps(_told_as_json(error), ensure_ascii=False))
        return QUERY if isinstance(error, QueryError) else DATA
    if as_json:
        columns_ = None if result is None else [{"name": f.name, "type": shown(f.type)} for f in result]
        print(json.dumps({"ok": True, "query": str(query), "columns": columns_}, ensure_ascii=False))
    else:
        _show_right(query, result)
    return 0


def _told_as_json(error: AuguryError) -> dict[str, Any]:
    told: dict[str, Any] = {"ok": False, "kind": "data", "message": in_options(str(error))}
    if isinstance(error, QueryError):
        told |= {
            "kind": "query",
            "message": in_options(error.message),
            "line": error.line,
            "column": error.column,
        }
        told["hint"] = None if error.hint is None else in_options(error.hint)
    return told


def _show_right(query: Query, result: pa.Schema | None) -> None:
    from rich.text import Text

    out = stdout()
    out.print(
        Text("the query is right", "green")
        if result is None
        else Text("the query is right and fits", "green")
    )
    out.print(Text("\n" + "\n".join(f"  {line}" for line in str(query).splitlines()), "dim"), soft_wrap=True)
    if result is not None:
        width = max(len(f.name) for f in result)
        out.print("\nits matches have the columns")
        for f in result:
            out.print(Text(f"  {f.name.ljust(width)}  {shown(f.type)}"), soft_wrap=True)


# ------------------------------------------------------------------ expand


def expanded(
    data: Data, given: str | None, params: Sequence[str], target: Target, *, match_id: bool, quiet: bool
) -> None:
    """The single matches of compressed ones."""
    query = None if given is None else query_from(given, params)
    table = data.read(quiet=quiet)
    result = expand(table, query, match_id=match_id)
    target.put(result, quiet=quiet)
    if not quiet:
        note(f"{target.said(result.num_rows, 'matches')} ({table.num_rows:,} compressed rows)")
