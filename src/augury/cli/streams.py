"""`augury generate`: a command for each stream."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from augury.cli.options import COMING, Format, Limit, Overwrite, Quiet, Rows, Seed, To, target_of
from augury.cli.trouble import told

streams = typer.Typer(
    help="""Make a stream to try queries on: the same seed gives the same rows.

    The rows are in order of time, unless --disorder, --late or --duplicates
    say how they arrive. A stream may be larger than memory.

    \b
    Examples:
      augury generate stock --rows 1e6 -o stock.parquet
      augury generate rfid --rows 100k --theft 0.1 --seed 7 -o readings.csv
      augury generate clicks --rows 10M --late 0.01 -o clicks.jsonl.gz
      augury generate cluster --disorder 0.2 --delay '30 seconds' -f csv
    """,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_ARRIVAL = COMING
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
        help="How late a row may be: 30 seconds, or 100 where time is an integer, as that of stock. \\[default: 1 minute; 100]",
        rich_help_panel=_ARRIVAL,
        show_default=False,
    ),
]


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
      augury generate stock --rows 10M --symbols 500 --p-up 0.55 -o s.parquet
    """
    target = target_of(to, format_, overwrite, limit)
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
    target = target_of(to, format_, overwrite, limit)
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
      augury generate clicks --rows 1e6 --users 50000 -o clicks.parquet
    """
    target = target_of(to, format_, overwrite, limit)
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
      augury generate cluster --rows 1e6 --machines 1000 -o cluster.parquet
    """
    target = target_of(to, format_, overwrite, limit)
    arrival = (disorder, late, duplicates, delay)
    _generate("cluster", rows, seed, arrival, target, quiet, machines=machines, leaking=leaking)
