"""The options that several commands share, as types of their parameters."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from augury.cli import completion
from augury.cli.trouble import UsageError

ROLES, READING, WRITING = "Columns that play a role", "Reading", "Writing"
COMING = "How events come"

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
        metavar="DATA",
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
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="COLUMNS",
        help="Columns in place of DATA: 'ts timestamp, kind string', or a file that holds that.",
        rich_help_panel=READING,
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
Plan = Annotated[
    str,
    typer.Option(
        "--plan",
        metavar="PLAN",
        help="How to evaluate; the rows are the same.",
        autocompletion=completion.plans,
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
    bool, typer.Option("--overwrite", metavar="", help="Replace FILE if it exists.", rich_help_panel=WRITING)
]
Limit = Annotated[
    int, typer.Option("--limit", "-n", min=0, help="How many rows a screen shows.", rich_help_panel=WRITING)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="No progress and no closing line.")]
Spark = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="[MASTER]",
        help="Match on Spark: one started here, or local[4], spark://HOST:7077, yarn, k8s://HOST, sc://HOST.",
        show_default=False,
    ),
]
HERE = ""  # the master of --spark alone


class WithMaster(TyperCommand):
    """A command whose `--spark` may stand alone: the word after it is its master only if it reads like one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words, `--spark` having a value in each case."""
        if "--spark" in args:
            from augury.spark.masters import is_master

            place = args.index("--spark")
            following = args[place + 1 : place + 2]
            named = bool(following) and is_master(following[0])
            args[place : place + 1 + named] = [f"--spark={following[0] if named else HERE}"]
        return super().parse_args(ctx, args)


Rows = Annotated[
    str, typer.Option("--rows", "-r", metavar="N", help="How many rows: 1000, 1e6, 10M.", show_default=True)
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Another seed, another stream.")]


def target_of(path: str | None, format_: str | None, overwrite: bool, limit: int) -> Any:
    from augury.cli.files import FORMATS
    from augury.cli.matching import Target

    if format_ not in (None, "table", *FORMATS):
        raise UsageError(f"--format {format_} is not known; it is one of {', '.join(FORMATS)}, table")
    return Target.of(path, format_, overwrite=overwrite, limit=limit)
