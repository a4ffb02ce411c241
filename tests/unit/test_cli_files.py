"""Tables into text and back, whatever their types."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pytest

from augury.cli.jsontext import json_lines
from augury.cli.outputs import flat, writing

DAY = dt.date(2024, 1, 31)
# name: (values of the column, what JSON says)
VALUES = {
    "null": (pa.nulls(3), [None, None, None]),
    "bool": (pa.array([True, None, False]), [True, None, False]),
    "uint": (pa.array([2**64 - 1, None, 0], pa.uint64()), [2**64 - 1, None, 0]),
    "float": (pa.array([1.0, float("nan"), 1e300]), [1.0, None, 1e300]),
    "half": (pa.array([1.5, None, 2], pa.float16()), [1.5, None, 2.0]),
    "decimal": (pa.array([Decimal("1.50"), None, Decimal(-2)], pa.decimal128(9, 2)), [1.5, None, -2.0]),
    "string": (pa.array(['a"b\\', None, "\x01é\u2028\n"]), ['a"b\\', None, "\x01é\u2028\n"]),
    "large": (pa.array(["a", None, ""], pa.large_string()), ["a", None, ""]),
    "view": (pa.array(["a", None, "b"], pa.string_view()), ["a", None, "b"]),
    "binary": (pa.array([b"\xff", None, b""]), ["/w==", None, ""]),
    "fixed": (pa.array([b"ab", None, b"cd"], pa.binary(2)), ["YWI=", None, "Y2Q="]),
    "date": (pa.array([DAY, None, dt.date.min]), ["2024-01-31", None, "0001-01-01"]),
    "time": (pa.array([1, None, 2], pa.int32()).cast(pa.time32("s")), ["00:00:01", None, "00:00:02"]),
    "duration": (pa.array([1, None, 2]).cast(pa.duration("ms")), [1, None, 2]),
    "zoned": (
        pa.array([1, None, 2]).cast(pa.timestamp("ms", "Europe/Berlin")),
        ["1970-01-01T00:00:00.001Z", None, "1970-01-01T00:00:00.002Z"],
    ),
    "dictionary": (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b"]),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", "b"])), ["a", "a", "b"]),
    "list": (pa.array([[1, None], None, []], pa.list_(pa.int64())), [[1, None], None, []]),
    "pairs": (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)), [[1, 2], None, [3, 4]]),
    "map": (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())), [[["a", 1]], None, []]),
    "struct": (
        pa.array([{"a": 1, "b": [{"c": "x"}]}, None, {"a": None, "b": None}]),
        [{"a": 1, "b": [{"c": "x"}]}, None, {"a": None, "b": None}],
    ),
    "interval": (
        pa.array([pa.MonthDayNano([1, 2, 3]), None, pa.MonthDayNano([0, 0, 0])]),
        [[1, 2, 3], None, [0, 0, 0]],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_json_of_every_type(name):
    values, told = VALUES[name]
    table = pa.table({"x": values, 'a "name"': [1, 2, 3]})
    for rows, expected in ((table, told), (table.slice(1), told[1:]), (table.slice(0, 0), [])):
        lines = json_lines(rows).to_pybytes().decode().split("\n")
        assert lines.pop() == ""
        assert [json.loads(line)["x"] for line in lines] == expected
    assert json.loads(json_lines(table).to_pybytes().split(b"\n")[1])['a "name"'] == 2


@pytest.mark.parametrize("name", VALUES)
def test_csv_takes_every_type(name, tmp_path):
    table = pa.table({"x": VALUES[name][0], "y": [1, 2, 3]})
    with writing(str(tmp_path / "t.csv"), "csv", table.schema) as writer:
        writer.write(table)
    read = pyarrow.csv.read_csv(
        tmp_path / "t.csv", parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
    )
    assert read.column_names == flat(table).column_names
    assert read["y"].to_pylist() == [1, 2, 3]


def test_structs_are_columns_of_a_csv_and_null_lists_are_empty():
    table = flat(pa.table({"s": VALUES["struct"][0], "l": VALUES["list"][0]}))
    assert table.to_pylist() == [
        {"s.a": 1, "s.b": '[{"c":"x"}]', "l": "[1,null]"},
        {"s.a": None, "s.b": None, "l": None},
        {"s.a": None, "s.b": None, "l": "[]"},
    ]


def test_a_format_that_cannot_hold_it_says_so(tmp_path):
    from augury.cli.trouble import FailureError

    table = pa.table({"x": VALUES["interval"][0]})
    with (
        pytest.raises(FailureError, match="the format cannot hold this result"),
        writing(str(tmp_path / "t.parquet"), "parquet", table.schema) as writer,
    ):
        writer.write(table)
    assert not list(tmp_path.iterdir())
