"""Measure and record: `python -m bench [--quick] [--only NAME ...] [--out FILE] [--against FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import records, runner
from bench.workloads import workloads


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description="Measure Augury and write JSON records.")
    add = parser.add_argument
    add("--quick", action="store_true", help="smaller streams, fewer calls: under three minutes")
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="what has NAME in its name; may be repeated",
    )
    add("--out", type=Path, help="where the records go (default: bench/records/<commit>[-quick].json)")
    add("--against", type=Path, help="older records: shows how many times as fast this run is")
    add("--list", action="store_true", help="the names of the workloads, and nothing else")
    told = parser.parse_args()
    chosen = [w for w in workloads(quick=told.quick) if not told.only or any(n in w.name for n in told.only)]
    if told.list:
        print("\n".join(w.name for w in chosen))
        return 0
    if not chosen:
        print(f"no workload is named like {' or '.join(told.only)}; --list shows all", file=sys.stderr)
        return 2
    before = records.read(told.against) if told.against else {}
    runner.use_one_core()
    machine = records.machine()
    print(records.heading(machine))
    done = []
    for workload in chosen:
        record = runner.run(workload, quick=told.quick)
        done.append(record)
        print(records.line(record, before.get(record["workload"])), flush=True)
    done.extend(runner.ratios(done))
    for record in done[len(chosen) :]:
        print(records.line(record, before.get(record["workload"])))
    out = told.out or records.default_path(machine, quick=told.quick)
    records.write(out, machine, done, quick=told.quick)
    print(f"{len(done)} records in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
