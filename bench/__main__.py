"""Measure and record: `python -m bench [--quick] [--only NAME ...] [--out FILE] [--add] [--against FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import records, runner
from bench.growing import Record
from bench.parts import parts


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure Augury and its peers, and write JSON records."
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="smaller streams, fewer calls: under three minutes")
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="what has NAME in its name, such as paper or flink; may be repeated",
    )
    add("--out", type=Path, help="where the records go (default: bench/records/<commit>[-quick].json)")
    add(
        "--add",
        action="store_true",
        help="keep the records that the file has: these join them, and replace what has their names",
    )
    add("--against", type=Path, help="older records: shows how many times as fast this run is")
    add("--list", action="store_true", help="the names of what is measured, and nothing else")
    told = parser.parse_args()
    chosen = list(parts(quick=told.quick, only=told.only))
    if told.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    if not chosen:
        print(f"nothing is named like {' or '.join(told.only)}; --list shows all", file=sys.stderr)
        return 2
    before = records.by_workload(told.against) if told.against else {}
    out = told.out or records.default_path(records.machine(), quick=told.quick)
    kept = records.Kept([], [], told.quick)
    if told.add and out.exists():
        kept = records.read(out)
        if kept.quick != told.quick:
            print(
                f"{out} has {'quick' if kept.quick else 'full'} records, and these are not", file=sys.stderr
            )
            return 2
    runner.use_one_core()
    machine = records.machine()
    print(records.heading(machine))
    done: list[Record] = []
    try:
        for _, measured in chosen:
            found = measured()
            for record in [found] if isinstance(found, dict) else found:
                done.append(record)
                print(records.line(record, before.get(record["workload"])), flush=True)
    finally:  # what was measured is kept, whatever happens to the rest
        for record in runner.ratios(done):
            done.append(record)
            print(records.line(record, before.get(record["workload"])))
        records.write(out, kept.with_run(machine, done))
        print(f"{len(done)} records in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
