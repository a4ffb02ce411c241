"""`augury demo`: a query on a stream made up for it, what it finds, and how to do the same by hand."""

from __future__ import annotations

import shlex
import textwrap
import time as clock
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import augury as ag
from augury import generate
from augury.cli.screen import show_table, stdout
from augury.cli.trouble import UsageError


@dataclass(frozen=True, slots=True)
class Demo:
    """One query and its stream."""

    stream: str
    story: str
    text: str
    key: str | None
    output: str
    found: str


DEMOS = {
    "rfid": Demo(
        "rfid",
        "Readings of tagged goods in a shop. Which goods were taken from a shelf and left through an exit, with no "
        "register in between?",
        """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE   skip_till_next_match(a, c) { [tag_id] }
WITHIN  12 hours
RETURN  a.tag_id AS tag_id, a.reader AS shelf, c.ts AS gone""",
        "tag_id",
        "all",
        "goods left unpaid",
    ),
    "stock": Demo(
        "stock",
        "Stock ticks. Where did the price of a symbol rise without a break for 5 ticks or more, on little volume at "
        "first and much at the end?",
        """\
PATTERN SEQ(Stock a, Stock+ b[], Stock c)
WHERE   partition_contiguity(a, b, c) {
          [symbol] AND a.volume < 200 AND b[1].price > a.price AND
          b[i].price > b[i-1].price AND c.price > b[b.LEN].price AND
          b.LEN >= 3 AND c.volume > 800 }
WITHIN  100
RETURN  a.symbol AS symbol, a.price AS low, c.price AS high, b.LEN + 2 AS ticks""",
        None,
        "longest",
        "rises",
    ),
    "clicks": Demo(
        "clicks",
        "Clicks in a web shop. Which visitors put something into the cart and bought nothing for half an hour?",
        """\
PATTERN SEQ(view a, cart b, ~(buy c))
WHERE   skip_till_next_match(a, b) { [user] }
WITHIN  30 minutes
RETURN  a.user AS visitor, a.page AS page, b.ts AS in_cart""",
        "user",
        "non_overlap",
        "carts were left",
    ),
    "cluster": Demo(
        "cluster",
        "Jobs on a cluster. Which jobs used more and more memory, load after load, until they failed?",
        """\
PATTERN SEQ(Start a, Load+ b[], Fail c)
WHERE   partition_contiguity(a, b, c) { [job] AND b[i].memory > b[i-1].memory }
WITHIN  1 hour
RETURN  a.job AS job, a.machine AS machine, b[1].memory AS first_memory, max(b[].memory) AS last_memory""",
        None,
        "all",
        "jobs leaked memory and failed",
    ),
}


def show(name: str, rows: int, seed: int, limit: int) -> None:
    """Run a demonstration."""
    from rich.text import Text

    if name not in DEMOS:
        raise UsageError(f"there is no demonstration {name}; there are {', '.join(DEMOS)}")
    demo = DEMOS[name]
    out = stdout()
    table = pa.concat_tables(generate.stream(demo.stream, rows, seed=seed))
    out.print(Text("\n".join(textwrap.wrap(demo.story, 100))))
    out.print(Text("\n" + textwrap.indent(demo.text, "  ") + "\n", "cyan"), soft_wrap=True)
    options: dict[str, Any] = {"time": "ts", "type": "kind", "key": demo.key, "output": demo.output}
    began = clock.perf_counter()
    found = ag.sase(demo.text).match(table, **options)
    took = clock.perf_counter() - began
    out.print(Text(f"{table.num_rows:,} events, {found.num_rows:,} matches in {took:.2f} s: {demo.found}."))
    if found.num_rows:
        show_table(found.drop_columns(["match_start", "match_end"]), limit)
    if found.num_rows > limit:
        out.print(Text(f"and {found.num_rows - limit:,} more", "dim"))
    out.print(Text("\nThe same by hand, and what to change from there:\n"))
    key = "" if demo.key is None else f" --key {demo.key}"
    output = "" if demo.output == "all" else f" --output {demo.output}"
    for command in (
        f"augury generate {demo.stream} --rows {rows} --seed {seed} -o {name}.parquet",
        f"augury match {shlex.quote(demo.text)} {name}.parquet --time ts --type kind{key}{output}",
    ):
        out.print(Text(textwrap.indent(command, "  "), "cyan"), soft_wrap=True)
    others = ", ".join(other for other in DEMOS if other != name)
    out.print(Text(f"\nOther demonstrations: {others}.", "dim"))
