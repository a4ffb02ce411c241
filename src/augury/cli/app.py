"""The commands and their options. Each imports what it does when it runs: this module must stay quick to load."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from augury.cli import completion
from augury.cli.trouble import UsageError, told

EXIT_CODES = """\
\b
Exit codes:
  0   all went well, also when nothing was found
  1   failure: a limit was met, the disk is full, the library broke
  2   the options or files of the command line do not fit together
  3   the query is wrong, by itself or for these columns
  4   the data is wrong: a file is missing, damaged, or holds what its column cannot
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
streams = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

ROLES, READING, WRITING = "Columns that play a role", "Reading", "Writing"

QueryArgument = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="The query: its text, a file, or - for standard input.",
        show_default=False,
        autocompletion=completion.files,
    ),
]
DataArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA...",
        help="Files, globs or folders of parquet, CSV, JSON lines or Arrow files; - is standard input, and so is nothing.",
        show_default=False,
        autocompletion=completion.files,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A value for :NAME in the query."),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        "-t",
        metavar="COLUMN",
        help="When each event happened: an integer, date or timestamp.",
        rich_help_panel=ROLES,
        autocompletion=completion.columns,
    ),
]
Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="COLUMN",
        help="What each event is: the names that the query's components have.",
        rich_help_panel=ROLES,
        autocompletion=completion.columns,
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        "-k",
        metavar="COLUMN",
        help="Match apart for each value of this column (several: repeat, or put commas).",
        rich_help_panel=ROLES,
        autocompletion=completion.columns,
    ),
]
Tiebreak = Annotated[
    list[str] | None,
    typer.Option(
        "--tiebreak",
        metavar="COLUMN",
        help="What orders events of equal time.",
        rich_help_panel=ROLES,
        autocompletion=completion.columns,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="parquet, arrow, csv or jsonl; otherwise the name or the first bytes tell.",
        rich_help_panel=READING,
        autocompletion=completion.formats,
    ),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME:TYPE",
        help="The type of a column, where the one that is read from text will not do: price:float64, ts:timestamp\\[ms].",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="SIGN",
        help="What stands between the fields of a CSV; otherwise the header tells.",
        rich_help_panel=READING,
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TEXT",
        help="What means null in a CSV, besides nothing at all: --null NA.",
        rich_help_panel=READING,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        metavar="KIND",
        help="Which rows: all, non_overlap, longest, count or compressed.",
        autocompletion=completion.outputs,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        "-o",
        metavar="FILE",
        help="Write the rows there (.parquet, .csv, .jsonl, .arrow; - is standard output); it appears when it is whole.",
        rich_help_panel=WRITING,
        autocompletion=completion.files,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="parquet, csv, jsonl, arrow or table. On a terminal it is table, in a pipe jsonl, else FILE's ending tells.",
        rich_help_panel=WRITING,
        autocompletion=completion.written,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace FILE if it exists.", rich_help_panel=WRITING)
]
Limit = Annotated[
    int, typer.Option("--limit", "-n", min=0, help="How many rows a screen shows.", rich_help_panel=WRITING)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no closing line.")]


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
            "--version", help="The version, and nothing else.", callback=_show_version, is_eager=True
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
    from augury.cli.inputs import FORMATS, data_from
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


def _target(path: str | None, format_: str | None, overwrite: bool, limit: int) -> Any:
    from augury.cli.inputs import FORMATS
    from augury.cli.matching import Target

    if format_ not in (None, "table", *FORMATS):
        raise UsageError(f"--format {format_} is not known; it is one of {', '.join(FORMATS)}, table")
    return Target.of(path, format_, overwrite=overwrite, limit=limit)


def _roles(time: str | None, type: str | None, key: list[str] | None, tiebreak: list[str] | None) -> Any:
    from augury.cli.matching import Roles
    from augury.cli.words import names_in

    return Roles(time, type, tuple(names_in(key)), tuple(names_in(tiebreak)))


def _text_or_file(given: str) -> str:
    from pathlib import Path

    return Path(given).read_text(encoding="utf-8") if "," not in given and Path(given).is_file() else given


@app.command()
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
    plan: Annotated[
        str,
        typer.Option(
            "--plan",
            metavar="PLAN",
            help="How to evaluate; the rows are the same.",
            autocompletion=completion.plans,
        ),
    ] = "auto",
    match_id: Annotated[
        bool, typer.Option("--match-id", help="A first column that names each match.")
    ] = False,
    max_runs: Annotated[
        int | None,
        typer.Option("--max-runs", min=1, help="Stop when more partial matches are alive at once."),
    ] = None,
    bad_rows: Annotated[
        str, typer.Option("--bad-rows", metavar="error|drop", help="What to do with rows that have no time.")
    ] = "error",
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

    Several files are one table. On a terminal the matches are shown as a table; with -o they go to a file.

    \b
    Examples:
      augury match theft.sase readings.parquet --time ts --type kind
      augury match theft.sase 'day-*.csv' -t ts --type kind -k shop -o thefts.parquet
      augury match 'PATTERN SEQ(Stock a, Stock b) WHERE b.price > a.price * :by
                    WITHIN 10' stock.csv -t ts -p by=1.1 --column price:float64
      zcat clicks.jsonl.gz | augury match buys.sase - -t ts --type kind | jq .user
    """
    from augury.cli import matching

    options = {
        "output": output,
        "plan": plan,
        "match_id": match_id,
        "max_runs": max_runs,
        "bad_rows": bad_rows,
    }
    target = _target(to, format_, overwrite, limit)
    matching.match(
        query,
        params or [],
        _data(data, input_format, column, delimiter, null),
        _roles(time, type, key, tiebreak),
        target,
        options,
        quiet=quiet,
    )


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
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="COLUMNS",
            help="Columns to check against, in place of DATA: 'ts timestamp, kind string', or a file that holds that.",
            rich_help_panel=READING,
        ),
    ] = None,
    output: Output = "all",
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON, for editors and scripts.")] = False,
    input_format: InputFormat = None,
    column: Column = None,
    delimiter: Delimiter = None,
    null: Null = None,
) -> None:
    """Say whether a query is right, by itself or for the columns of some data.

    Without DATA and --schema only the query itself is looked at. Of DATA the columns are read, not the rows; of a
    CSV or JSON file its beginning.

    \b
    Examples:
      augury check theft.sase
      augury check theft.sase readings.parquet --time ts --type kind
      augury check theft.sase --schema 'ts timestamp, kind string, tag_id bigint' -t ts --type kind
      augury check 'PATTERN SEQ(A a, B b' --json
    """
    from augury.cli import matching
    from augury.cli.types import schema_named

    if data and schema is not None:
        raise UsageError("DATA and --schema both tell columns; give one of them")
    given = None if schema is None else schema_named(_text_or_file(schema))

    def opened() -> Any:
        return _data(data, input_format, column, delimiter, null)

    roles = _roles(time, type, key, tiebreak)
    code = matching.check(
        query, params or [], opened if data else None, given, roles, output, as_json=as_json
    )
    raise typer.Exit(code)


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
        bool, typer.Option("--match-id", help="A first column that names each match.")
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
      augury match rising.sase stock.parquet -t ts --output compressed -o rising.parquet
      augury expand rising.parquet -o matches.parquet
    """
    from augury.cli import matching

    target = _target(to, format_, overwrite, limit)
    found = _data(data, None, None, None, None)
    matching.expanded(found, query, params or [], target, match_id=match_id, quiet=quiet)


# ------------------------------------------------------------------ generate

Rows = Annotated[
    str, typer.Option("--rows", "-r", metavar="N", help="How many rows: 1000, 1e6, 10M.", show_default=True)
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Another seed, another stream.")]
_ARRIVAL = "How it arrives"
Disorder = Annotated[
    float,
    typer.Option(
        "--disorder",
        min=0,
        max=1,
        help="The share of rows that arrive up to --delay late.",
        rich_help_panel=_ARRIVAL,
    ),
]
Late = Annotated[
    float,
    typer.Option(
        "--late",
        min=0,
        max=1,
        help="The share that arrives 2 to 10 times as late as that.",
        rich_help_panel=_ARRIVAL,
    ),
]
Duplicates = Annotated[
    float,
    typer.Option(
        "--duplicates", min=0, max=1, help="The share that arrives twice.", rich_help_panel=_ARRIVAL
    ),
]
Delay = Annotated[
    str | None,
    typer.Option(
        "--delay",
        metavar="TIME",
        help="How late a row may be: 30 seconds (stock: 100, in ticks). \\[default: 1 minute; stock: 100]",
        rich_help_panel=_ARRIVAL,
        show_default=False,
    ),
]

app.add_typer(
    streams,
    name="generate",
    help="""Make a stream to try queries on: the same seed gives the same rows.

    The rows are in order of time, unless --disorder, --late or --duplicates say how they arrive. A stream may be
    larger than memory.

    \b
    Examples:
      augury generate stock --rows 1e6 -o stock.parquet
      augury generate rfid --rows 100k --theft 0.1 --seed 7 -o readings.csv
      augury generate clicks --rows 10M --disorder 0.2 --delay '30 seconds' --late 0.01 -o clicks.jsonl.gz
      augury generate cluster --rows 50k | augury match leak.sase - -t ts --type kind
    """,
)


def _generate(
    name: str,
    rows: str,
    seed: int,
    arrival: tuple[float, float, float, str | None],
    target: Any,
    quiet: bool,
    **options: Any,
) -> None:
    from augury.cli.making import Arrival, made
    from augury.cli.words import rows_named

    given = {k: v for k, v in options.items() if v is not None}
    made(
        name,
        rows_named(rows),
        target,
        seed=seed,
        arrival=Arrival(*arrival),
        options=given,
        quiet=quiet,
    )


@streams.command()
@told
def stock(
    rows: Rows = "1000",
    seed: Seed = 0,
    symbols: Annotated[int, typer.Option("--symbols", min=1, help="How many symbols, equally frequent.")] = 2,
    p_up: Annotated[float, typer.Option("--p-up", min=0, max=1, help="How often a price rises by 1.")] = 0.7,
    p_down: Annotated[float, typer.Option("--p-down", min=0, max=1, help="How often it falls by 1.")] = 0.15,
    disorder: Disorder = 0,
    late: Late = 0,
    duplicates: Duplicates = 0,
    delay: Delay = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Stock ticks: ts (0, 1, 2, …), kind (Stock), symbol, price, volume.

    \b
    Examples:
      augury generate stock
      augury generate stock --rows 10M --symbols 500 --p-up 0.55 --p-down 0.225 -o stock.parquet
    """
    target = _target(to, format_, overwrite, limit)
    arrival = (disorder, late, duplicates, delay)
    _generate("stock", rows, seed, arrival, target, quiet, symbols=symbols, p_up=p_up, p_down=p_down)


@streams.command()
@told
def rfid(
    rows: Rows = "1000",
    seed: Seed = 0,
    items: Annotated[
        int | None,
        typer.Option(
            "--items", min=0, help="How many goods leave the shop. \\[default: a fifth of the rows]"
        ),
    ] = None,
    theft: Annotated[
        float, typer.Option("--theft", min=0, max=1, help="The share that leaves unpaid.")
    ] = 0.02,
    disorder: Disorder = 0,
    late: Late = 0,
    duplicates: Duplicates = 0,
    delay: Delay = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Readings of tagged goods in a shop: ts, kind (Shelf, Register, Exit), tag_id, reader.

    \b
    Examples:
      augury generate rfid
      augury generate rfid --rows 1e6 --theft 0.05 -o readings.parquet
    """
    target = _target(to, format_, overwrite, limit)
    _generate(
        "rfid", rows, seed, (disorder, late, duplicates, delay), target, quiet, items=items, theft=theft
    )


@streams.command()
@told
def clicks(
    rows: Rows = "1000",
    seed: Seed = 0,
    users: Annotated[int, typer.Option("--users", min=1, help="How many visitors.")] = 1000,
    disorder: Disorder = 0,
    late: Late = 0,
    duplicates: Duplicates = 0,
    delay: Delay = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Clicks of visitors in a web shop: ts, kind (view, cart, buy), user, page.

    \b
    Examples:
      augury generate clicks
      augury generate clicks --rows 1e6 --users 50000 --duplicates 0.01 -o clicks.parquet
    """
    target = _target(to, format_, overwrite, limit)
    _generate("clicks", rows, seed, (disorder, late, duplicates, delay), target, quiet, users=users)


@streams.command()
@told
def cluster(
    rows: Rows = "1000",
    seed: Seed = 0,
    machines: Annotated[int, typer.Option("--machines", min=1, help="How many machines.")] = 100,
    leaking: Annotated[
        float,
        typer.Option(
            "--leaking", min=0, max=1, help="The share of jobs whose memory only rises, until they fail."
        ),
    ] = 0.05,
    disorder: Disorder = 0,
    late: Late = 0,
    duplicates: Duplicates = 0,
    delay: Delay = None,
    to: To = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    limit: Limit = 20,
    quiet: Quiet = False,
) -> None:
    """Jobs on a cluster: ts, kind (Start, Load, End, Fail), job, machine, cpu, memory.

    \b
    Examples:
      augury generate cluster
      augury generate cluster --rows 1e6 --machines 1000 --late 0.02 -o cluster.parquet
    """
    target = _target(to, format_, overwrite, limit)
    arrival = (disorder, late, duplicates, delay)
    _generate("cluster", rows, seed, arrival, target, quiet, machines=machines, leaking=leaking)


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
