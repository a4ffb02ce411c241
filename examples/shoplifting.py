"""Goods that leave a shop without passing a register: Query 1 of the SASE+ paper, over made-up readings.

python examples/shoplifting.py --rows 20000              # on Spark: a session that is there, or a local one
python examples/shoplifting.py --rows 20000 --no-spark   # in this process
"""

import argparse
import time
from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa

import augury as ag
from augury.generate import rfid

QUERY = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE   skip_till_next_match(a, c) { [tag_id] }
WITHIN  12 hours
RETURN  a.tag_id AS tag_id, a.reader AS shelf, a.ts AS taken, c.ts AS gone"""

SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the readings, runs the query and prints what it found."""
    parser = argparse.ArgumentParser(description="Finds shoplifting in a made-up stream of RFID readings.")
    parser.add_argument("--rows", type=int, default=20_000, help="how many readings to make (20000)")
    parser.add_argument("--theft", type=float, default=0.03, help="the share of goods not paid for (0.03)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another stream (1)")
    parser.add_argument("--no-spark", action="store_true", help="match in this process")
    options = parser.parse_args(arguments)

    readings = rfid(options.rows, theft=options.theft, seed=options.seed)
    query = ag.sase(QUERY)
    if options.no_spark:
        began = time.perf_counter()
        thefts = query.match(readings, time="ts", type="kind")
    else:
        frame = ag.spark.session().createDataFrame(readings)
        began = time.perf_counter()
        thefts = query.match(frame, time="ts", type="kind").orderBy("gone", "tag_id").toArrow()
    took = time.perf_counter() - began

    print(QUERY)
    print(f"\n{readings.num_rows:,} readings, {thefts.num_rows:,} matches: goods that left unpaid.\n")
    print(as_text(thefts.select(["tag_id", "shelf", "taken", "gone"]).slice(0, SHOWN)))
    if thefts.num_rows > SHOWN:
        print(f"and {thefts.num_rows - SHOWN:,} more")
    print(f"\nMatched in {took:.2f} s.")


def as_text(table: pa.Table) -> str:
    """The table with its columns aligned and its times to the second."""
    rows = [table.column_names, *([as_cell(value) for value in row.values()] for row in table.to_pylist())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_cell(value: object) -> str:
    """A value as text."""
    return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime) else str(value)


if __name__ == "__main__":
    main()
