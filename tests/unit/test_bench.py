"""The benchmarks run, at a small size, and their records say what they must."""

import functools
import json
from dataclasses import replace

import pytest

from augury.generate import clicks, stock
from bench import by_hand, records, runner
from bench.workloads import SHORT, asked, workloads


def small(name, rows=4000):
    (found,) = (w for w in workloads(quick=True) if w.name == name)
    return replace(found, data=functools.partial(stock, rows, symbols=2))


@pytest.mark.parametrize("name", ["w1/next/rising/all", "w1/any/true/count"])
def test_a_workload_gives_a_record(name):
    record = runner.run(small(name), quick=True)
    assert record["workload"] == name
    assert record["events"] == 4000
    assert record["rows"] > 0
    assert record["seconds"] > 0
    assert set(record["goal"]) <= {"events_per_second", "matched_per_second"}
    assert record["reached"] in (True, False)


def test_records_are_read_back(tmp_path):
    machine = records.machine()
    assert {"cpu", "cores", "python", "numba", "numpy", "pyarrow", "commit"} <= machine.keys()
    record = {"workload": "w", "seconds": 0.5, "events": 10, "over": "v", "goal": {"ratio": 1.2}}
    base = {"workload": "v", "seconds": 0.25, "events": 10}
    records.write(tmp_path / "r.json", machine, [record, base], quick=True)
    assert records.read(tmp_path / "r.json") == {"w": record, "v": base}
    assert json.loads((tmp_path / "r.json").read_text())["machine"] == machine
    (ratio,) = runner.ratios([record, base])
    assert (ratio["ratio"], ratio["reached"]) == (2.0, False)
    assert "2.00 x" in records.line(ratio)
    assert "2.00 times as fast" in records.line(base | {"seconds": 0.1}, base | {"seconds": 0.2})


def test_names_are_unique():
    names = [w.name for w in workloads(quick=False)]
    assert len(set(names)) == len(names)


def test_the_function_written_by_hand_finds_what_the_query_finds():
    table = clicks(5000, users=40, seed=2)
    call = asked(SHORT, output="all", time="ts", type="kind", key="user")
    ours, theirs = call(table), by_hand.funnel(table)
    names = theirs.column_names
    order = [(name, "ascending") for name in names]
    assert ours.num_rows > 10
    assert ours.select(names).sort_by(order) == theirs.sort_by(order)
