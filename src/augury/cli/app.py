"""The commands and their options. Each imports what it does when it runs: this module must stay quick to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from augury.cli import completion
from augury.cli.options import (
    COMING,
    Column,
    DataArgument,
    Delimiter,
    Format,
    InputFormat,
    Key,
    Limit,
    Null,
    Output,
    Overwrite,
    Params,
    Plan,
    QueryArgument,
    Quiet,
    Rows,
    Schema,
    Seed,
    Spark,
    Tiebreak,
    Time,
    To,
    Type,
    WithMaster,
    target_of,
)
from augury.cli.streams import Delay, Disorder, Duplicates, Late, streams
from augury.cli.trouble import UsageError, told

EXIT_CODES = """\
\b
Exit codes:
  0   all went well, also when nothing was found
  1   failure: a limit was met, the disk is full, the library broke
  2   the options or files of the command line do not fit together
  3   the query is wrong, by itself or for these columns
  4   the data is wrong: a file is missing, damaged, or does not fit
  130 interrupted by Ctrl-C
"""

app = typer.Typer(
    help=f"Find patterns in streams of events.\n\n{EXIT_CODES}",
    epilog="augury COMMAND --help has examples of each command; augury demo is a place to start.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(streams, name="generate")


def _show_version(wanted: bool) -> None:
    if wanted:
        from augury import __version__

        print(f"augury {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            help="The version, and nothing else.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


def _data(
    paths: list[str] | None,
    input_format: str | None,
    columns: list[str] | None,
    delimiter: str | None,
    nulls: list[str] | None,
) -> Any:
    from augury.cli.files import FORMATS
    from augury.cli.inputs import data_from
    from augury.cli.textfiles import TextOptions
    from augury.cli.types import columns_named

    if input_format not in (None, *FORMATS):
        raise UsageError(f"--input-format {input_format} is not known; it is one of {', '.join(FORMATS)}")
    sign = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if sign is not None and len(sign) != 1:
        raise UsageError(f"--delimiter {delimiter!r} is not one sign")
    return data_from(
        paths or [], input_format, TextOptions(columns_named(columns or []), sign, tuple(nulls or ()))
    )


def _roles(time: str | None, type: str | None, key: list[str] | None, tiebreak: list[str] | None) -> Any:
    from augury.cli.matching import Roles
    from augury.cli.words import names_in

    return Roles(time, type, tuple(names_in(key)), tuple(names_in(tiebreak)))


def _one_reader_of_stdin(query: str, data: list[str] | None) -> None:
    if query == "-" and (not data or "-" in data):
        raise UsageError("standard input can be the query or the data, not both; name a file for one of them")


def _columns(
    data: list[str] | None,
    schema: str | None,
    input_format: str | None,
    columns: list[str] | None,
    delimiter: str | None,
    nulls: list[str] | None,
) -> tuple[Callable[[], Any] | None, Any]:
    """What tells the columns: what opens the data, or a schema, or neither."""
    from augury.cli.types import schema_named

    if data and schema is not None:
        raise UsageError("DATA and --schema both tell columns; give one of them")
    given = None if schema is None else schema_named(_text_or_file(schema))
    return (lambda: _data(data, input_format, columns, delimiter, nulls)) if data else None, given


def _text_or_file(given: str) -> str:
    from pathlib import Path

    return Path(given).read_text(encoding="utf-8") if "," not in given and Path(given).is_file() else given


@app.command(cls=WithMaster)
@told
def match(
    query: QueryArgument,
    data: DataArgument = None,
    time: Time = None,
    type: Type = None,
    key: Key = None,
    tiebreak: Tiebreak = None,
    params: Params = None,
    output: Output = "all",
    plan: Plan = "auto",
    match_id: Annotated[
        bool, typer.Option("--match-id", metavar="", help="A first column that names each match.")
    ] = False,
    max_runs: Annotated[
        int | None,
        typer.Option("--max-runs", min=1, help="Stop when more partial matches are alive at once."),
    ] = None,
    bad_rows: Annotated[
        str, typer.Option("--bad-rows", metavar="error|drop", help="What to do with rows that have no time.")
    ] = "error",
    spark: Spark = None,
    input_format: InputFormat = None,
    column: Column = None,
    delimiter: Delimiter = None,
    null: Null = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Find a query's matches in files.

    Several files are one table. On a terminal the matches are shown, in a
    pipe they are JSON lines, and with -o they go to a file.

    \b
    Examples:
      augury match theft.sase readings.parquet --time ts --type kind
      augury match theft.sase 'day-*.csv' -t ts --type kind -o thefts.parquet
      augury match 'PATTERN SEQ(Stock a, Stock b)
                    WHERE b.price > a.price * :by WITHIN 10' stock.csv \\
                   --time ts --param by=1.1 --column price:float64
      augury match theft.sase readings -t ts --type kind --spark -o t.parquet
      zcat c.jsonl.gz | augury match buys.sase - -t ts --type kind | jq .user
    """
    from augury.cli import matching

    _one_reader_of_stdin(query, data)
    options = {
        "output": output,
        "plan": plan,
        "match_id": match_id,
        "max_runs": max_runs,
        "bad_rows": bad_rows,
    }
    target = target_of(to, format_, overwrite, limit)
    matching.match(
        query,
        params or [],
        _data(data, input_format, column, delimiter, null),
        _roles(time, type, key, tiebreak),
        target,
        options,
        quiet=quiet,
        evaluate=_spark_at(spark),
    )


@app.command()
@told
def stream(
    query: QueryArgument,
    data: DataArgument = None,
    time: Time = None,
    type: Type = None,
    key: Key = None,
    tiebreak: Tiebreak = None,
    params: Params = None,
    output: Output = "all",
    plan: Plan = "auto",
    match_id: Annotated[
        bool, typer.Option("--match-id", metavar="", help="A first column that names each match.")
    ] = False,
    max_runs: Annotated[
        int | None,
        typer.Option("--max-runs", min=1, help="Stop when more partial matches are alive at once."),
    ] = None,
    bad_rows: Annotated[
        str, typer.Option("--bad-rows", metavar="error|drop", help="What to do with rows that have no time.")
    ] = "error",
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness",
            metavar="TIME",
            help="How long an event may be on its way: '1 minute', or a number where time is an integer. "
            "\\[default: none, or --delay]",
            rich_help_panel=COMING,
            show_default=False,
        ),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(
            "--speed",
            metavar="N",
            help="Replay N times as fast as time went. \\[default: as fast as can be]",
            rich_help_panel=COMING,
            show_default=False,
        ),
    ] = None,
    disorder: Disorder = 0,
    late: Late = 0,
    duplicates: Duplicates = 0,
    delay: Delay = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            metavar="",
            help="DATA is a folder: its files, and those that come until Ctrl-C.",
            rich_help_panel=COMING,
        ),
    ] = False,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            metavar="SECONDS",
            help="With --follow: the stream ends when no file has come for so long.",
            rich_help_panel=COMING,
        ),
    ] = None,
    batch: Annotated[
        str, typer.Option("--batch", metavar="N", help="The most rows at once.", rich_help_panel=COMING)
    ] = "1000",
    input_format: InputFormat = None,
    column: Column = None,
    delimiter: Delimiter = None,
    null: Null = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Match events as they come: files replayed, or a folder as it grows.

    Each match is written when it is certain. On a terminal a live table tells
    of matches, the events' rate, what is open, what is kept, and what was late.

    \b
    Examples:
      augury stream theft.sase readings.parquet -t ts --type kind
      augury stream theft.sase readings.parquet -t ts --type kind --speed 3600
      augury stream theft.sase readings.csv -t ts --type kind --disorder 0.2 \\
                    --delay '5 minutes' -o thefts.jsonl
      augury stream theft.sase readings -t ts --type kind --follow --idle 1
    """
    from augury.cli import streaming
    from augury.cli.words import number_named, rows_named

    _one_reader_of_stdin(query, data)
    if follow and (not data or len(data) > 1):
        raise UsageError("--follow watches one folder; name it")
    options = {
        "output": output,
        "plan": plan,
        "match_id": match_id,
        "max_runs": max_runs,
        "bad_rows": bad_rows,
    }
    arrival = streaming.Arrival(
        None if speed is None else number_named(speed, "--speed"),
        max(1, rows_named(batch)),
        lateness,
        disorder,
        late,
        duplicates,
        delay,
        follow,
        idle,
    )
    streaming.stream(
        query,
        params or [],
        lambda: _data(data, input_format, column, delimiter, null),
        data[0] if follow and data else None,
        _roles(time, type, key, tiebreak),
        target_of(to, format_, overwrite, limit),
        options,
        arrival,
        quiet=quiet,
    )


def _spark_at(master: str | None) -> Any:
    """What evaluates on that master, or None where --spark was not given."""
    if master is None:
        return None
    from functools import partial

    from augury.cli import on_spark
    from augury.spark.masters import KINDS, is_master

    if master and not is_master(master):
        raise UsageError(f"--spark {master!r} names no master of Spark; write {KINDS}, or nothing")
    return partial(on_spark.evaluate, master or None)


@app.command()
@told
def check(
    query: QueryArgument,
    data: DataArgument = None,
    time: Time = None,
    type: Type = None,
    key: Key = None,
    tiebreak: Tiebreak = None,
    params: Params = None,
    schema: Schema = None,
    output: Output = "all",
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="Say it in JSON, for editors and scripts.")
    ] = False,
    input_format: InputFormat = None,
    column: Column = None,
    delimiter: Delimiter = None,
    null: Null = None,
) -> None:
    """Say whether a query is right, by itself or for the columns of some data.

    Without DATA and --schema only the query itself is looked at. Of DATA the
    columns are read, not the rows; of a CSV or JSON file its beginning.

    \b
    Examples:
      augury check theft.sase
      augury check theft.sase readings.parquet --time ts --type kind
      augury check buys.sase --schema 'ts timestamp, kind string' \\
                   --time ts --type kind
      augury check 'PATTERN SEQ(A a, B b' --json
    """
    from augury.cli import matching

    if data:
        _one_reader_of_stdin(query, data)
    opened, given = _columns(data, schema, input_format, column, delimiter, null)
    roles = _roles(time, type, key, tiebreak)
    code = matching.check(query, params or [], opened, given, roles, output, as_json=as_json)
    raise typer.Exit(code)


@app.command()
@told
def explain(
    query: QueryArgument,
    data: DataArgument = None,
    time: Time = None,
    type: Type = None,
    key: Key = None,
    tiebreak: Tiebreak = None,
    params: Params = None,
    schema: Schema = None,
    output: Output = "all",
    plan: Plan = "auto",
    kernel: Annotated[
        bool,
        typer.Option(
            "--kernel", metavar="", help="Show the generated program too; of DATA it looks for nulls."
        ),
    ] = False,
    input_format: InputFormat = None,
    column: Column = None,
    delimiter: Delimiter = None,
    null: Null = None,
) -> None:
    """Say how a query is evaluated: plan, automaton, where each predicate is tested.

    Without DATA and --schema only what the query tells by itself is said. Of
    DATA the columns are read, not the rows, unless --kernel asks for them.

    \b
    Examples:
      augury explain theft.sase
      augury explain theft.sase readings.parquet --time ts --type kind
      augury explain rise.sase --schema 'ts bigint, price double' \\
                     --time ts --output count --kernel
    """
    from augury.cli import explaining

    if data:
        _one_reader_of_stdin(query, data)
    opened, given = _columns(data, schema, input_format, column, delimiter, null)
    roles = _roles(time, type, key, tiebreak)
    explaining.explain(query, params or [], opened, given, roles, output, plan, kernel=kernel)


@app.command()
@told
def expand(
    data: DataArgument = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="QUERY", help="The query, where the file does not remember it."),
    ] = None,
    params: Params = None,
    match_id: Annotated[
        bool, typer.Option("--match-id", metavar="", help="A first column that names each match.")
    ] = False,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Give the single matches of compressed ones (match --output compressed).

    \b
    Examples:
      augury match rise.sase st.parquet -t ts --output compressed -o r.parquet
      augury expand r.parquet -o matches.parquet
    """
    from augury.cli import matching

    target = target_of(to, format_, overwrite, limit)
    found = _data(data, None, None, None, None)
    matching.expanded(found, query, params or [], target, match_id=match_id, quiet=quiet)


# ------------------------------------------------------------------ demo


@app.command()
@told
def demo(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="rfid, stock, clicks or cluster.", autocompletion=completion.demos
        ),
    ] = None,
    rows: Rows = "20000",
    seed: Seed = 1,
    limit: Limit = 10,
) -> None:
    """Show a query at work on a stream made up for it, and how to do the same by hand.

    \b
    Examples:
      augury demo
      augury demo cluster --rows 200k
    """
    from augury.cli.demos import show
    from augury.cli.words import rows_named

    show(name or "rfid", rows_named(rows), seed, limit)


@app.command()
@told
def studio(
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="The port on this machine; 0 takes one that is free."),
    ] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", metavar="", help="Say the address, and open nothing.")
    ] = False,
) -> None:
    """Open a page to try queries on: automaton, errors, matches, and why not.

    The page is served to this machine alone. Ctrl-C ends it.

    \b
    Examples:
      augury studio
      augury studio --port 9000 --no-browser
    """
    from augury.cli.pages import serve

    serve(port, browser=not no_browser)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@told
def bench(ctx: typer.Context) -> None:
    """Run the benchmarks; needs a checkout, where they lie.

    The words after it go to the benchmarks: --list tells their names, --only
    chooses some, --quick makes them small. "-- --help" tells the rest.

    \b
    Examples:
      augury bench --list
      augury bench --quick
    """
    from augury.cli.benching import run

    run(ctx.args)
