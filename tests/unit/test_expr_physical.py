import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from augury.expr import types
from augury.expr.columns import Column, from_arrow, physical_values, result_type, to_arrow
from augury.expr.physical import concat, take, values
from augury.expr.types import Kind, Type

MIN, MAX = -(2**63), 2**63 - 1
DAY = 86_400_000_000


class Boxed(pa.ExtensionType):
    def __init__(self, storage):
        super().__init__(storage, "augury.test.boxed")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, _serialized):
        return cls(storage)


def boxed(array):
    return pa.ExtensionArray.from_storage(Boxed(array.type), array)


def raw(stored, of, width=64):
    return pa.array(stored, pa.int64() if width == 64 else pa.int32()).view(of)


def dictionary(codes, array, ordered=False):
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), array, ordered=ordered)


def runs(ends, array):
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), array)


def same(found, expected):
    return [repr(v) for v in found] == [repr(v) for v in expected]


TABLE = [
    (pa.nulls(2), Kind.NULL, [None, None]),
    (pa.array([True, None, False]), Kind.BOOL, [True, None, False]),
    (pa.array([True, None, False, True])[1:], Kind.BOOL, [None, False, True]),
    (pa.array([-128, None, 127], pa.int8()), Kind.INT, [-128, None, 127]),
    (pa.array([255], pa.uint8()), Kind.INT, [255]),
    (pa.array([2**32 - 1], pa.uint32()), Kind.INT, [2**32 - 1]),
    (pa.array([MIN, None, MAX]), Kind.INT, [MIN, None, MAX]),
    (pa.array([0, 2**64 - 1, None], pa.uint64()), Kind.UINT, [0, 2**64 - 1, None]),
    (pa.array(np.array([1.5, -0.0], np.float16)), Kind.FLOAT, [1.5, -0.0]),
    (pa.array([0.1, None], pa.float32()), Kind.FLOAT, [float(np.float32(0.1)), None]),
    (
        pa.array([float("nan"), None, -0.0, float("-inf")]),
        Kind.FLOAT,
        [float("nan"), None, -0.0, float("-inf")],
    ),
    (pa.array([Decimal("1.20"), None], pa.decimal32(5, 2)), Kind.DECIMAL, [Decimal("1.20"), None]),
    (pa.array([Decimal("1.20"), None], pa.decimal64(15, 2)), Kind.DECIMAL, [Decimal("1.20"), None]),
    (pa.array([Decimal("-9" + "9" * 37)], pa.decimal128(38, 0)), Kind.DECIMAL, [Decimal("-9" + "9" * 37)]),
    (pa.array([Decimal("1E+2")], pa.decimal128(5, -2)), Kind.DECIMAL, [Decimal(100)]),
    (pa.array([Decimal("9" * 76)], pa.decimal256(76, 0)), Kind.DECIMAL, [Decimal("9" * 76)]),
    (
        dictionary([1, None, 0], pa.array([Decimal("1.1"), Decimal("2.2")])),
        Kind.DECIMAL,
        [Decimal("2.2"), None, Decimal("1.1")],
    ),
    (pa.array(["", "ß", None, "😀\n"]), Kind.STRING, ["", "ß", None, "😀\n"]),
    (pa.array(["a", None, "b"], pa.large_string())[1:], Kind.STRING, [None, "b"]),
    (pa.array(["a" * 20, None], pa.string_view()), Kind.STRING, ["a" * 20, None]),
    (dictionary([0, None, 1, 2], pa.array(["x", None, "y"])), Kind.STRING, ["x", None, None, "y"]),
    (dictionary([0, 1, 0], pa.array(["x", "y"], pa.string_view()))[1:], Kind.STRING, ["y", "x"]),
    (dictionary([None, None], pa.array([], pa.string())), Kind.STRING, [None, None]),
    (dictionary([2, 0], pa.array([1, 2, None])), Kind.INT, [None, 1]),
    (runs([2, 5], pa.array(["a", None]))[1:], Kind.STRING, ["a", None, None, None]),
    (runs([1, 3], pa.array([7, 8]))[1:], Kind.INT, [8, 8]),
    (runs([2], dictionary([0], pa.array(["k"], pa.string_view()))), Kind.STRING, ["k", "k"]),
    (boxed(pa.array([1, None])), Kind.INT, [1, None]),
    (dictionary([0, None], boxed(pa.array(["e"]))), Kind.STRING, ["e", None]),
    (pa.array([b"", None, b"\xff"]), Kind.BINARY, [b"", None, b"\xff"]),
    (pa.array([b"ab", None], pa.binary(2)), Kind.BINARY, [b"ab", None]),
    (pa.array([b"ab", None], pa.binary_view()), Kind.BINARY, [b"ab", None]),
    (pa.array([-1, None, 3], pa.int32()).view(pa.date32()), Kind.DATE, [-1, None, 3]),
    (raw([-1, 0, 86_400_000], pa.date64()), Kind.DATE, [-1, 0, 1]),
    (
        raw([-1, None, MAX // 10**6, MAX], pa.timestamp("s")),
        Kind.TIMESTAMP,
        [-(10**6), None, MAX // 10**6 * 10**6, None],
    ),
    (
        raw([MIN, -(2**63 // 1000), -(2**63 // 1000) - 1], pa.timestamp("ms", "UTC")),
        Kind.TIMESTAMP,
        [None, -(2**63 // 1000) * 1000, None],
    ),
    (raw([MIN, MAX], pa.timestamp("us", "Europe/Berlin")), Kind.TIMESTAMP, [MIN, MAX]),
    (raw([-1, -1000, 1999, None], pa.timestamp("ns")), Kind.TIMESTAMP, [-1, -1, 1, None]),
    (raw([1, None], pa.time32("s"), 32), Kind.TIME, [10**9, None]),
    (raw([1, None], pa.time32("ms"), 32), Kind.TIME, [10**6, None]),
    (raw([1, MAX], pa.time64("us")), Kind.TIME, [1000, None]),
    (raw([1], pa.time64("ns")), Kind.TIME, [1]),
    (raw([-1, MAX], pa.duration("s")), Kind.DURATION, [-(10**6), None]),
    (raw([-1], pa.duration("ns")), Kind.DURATION, [-1]),
    (pa.array([[1, None], None, []], pa.list_(pa.int8())), Kind.LIST, [[1, None], None, []]),
    (pa.array([[1], [2, 3], None], pa.large_list(pa.float32()))[1:], Kind.LIST, [[2.0, 3.0], None]),
    (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2))[1:], Kind.LIST, [None, [3, 4]]),
    (pa.array([[1], None, [2, 3]], pa.list_view(pa.int8())), Kind.LIST, [[1], None, [2, 3]]),
    (pa.array([[["a"], None], []]), Kind.LIST, [[["a"], None], []]),
    (pa.array([["a"], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))), Kind.LIST, [["a"], None]),
    (pa.array([[1], None], pa.large_list_view(pa.int8())), Kind.LIST, [[1], None]),
    (pa.array([[dt.date(1970, 1, 2)]]), Kind.LIST, [[1]]),
    (
        pa.array([{"t": 1, "n": "x"}, None], pa.struct([("t", pa.timestamp("s")), ("n", pa.string())])),
        Kind.OPAQUE,
        [{"t": 10**6, "n": "x"}, None],
    ),
    (pa.array([{}, None], pa.struct([])), Kind.OPAQUE, [{}, None]),
    (
        pa.array([[("k", 1)], None, [], [("l", None)]], pa.map_(pa.string(), pa.timestamp("s")))[1:],
        Kind.OPAQUE,
        [None, [], [("l", None)]],
    ),
]


@pytest.mark.parametrize(("array", "kind", "expected"), TABLE, ids=lambda v: str(getattr(v, "type", "")))
def test_every_arrow_type_has_physical_values_however_it_is_cut(array, kind, expected):
    of = types.from_arrow(array.type)
    assert of.kind is kind
    assert same(physical_values(array, of), expected)
    assert same(physical_values(array[:0], of), [])
    assert same(physical_values(array[1:], of), expected[1:])
    assert same(physical_values(pa.chunked_array([array[:1], array[1:]]), of), expected)
    assert same(physical_values(pa.chunked_array([], array.type), of), [])


@pytest.mark.parametrize(("array", "kind", "expected"), TABLE, ids=lambda v: str(getattr(v, "type", "")))
def test_a_column_goes_back_to_arrow_and_its_rows_can_be_picked(array, kind, expected):
    of = types.from_arrow(array.type)
    column = from_arrow(array, of)
    assert len(column) == len(array)
    back = to_arrow(column, of)
    assert back.type == result_type(of)
    assert same(physical_values(back, of), expected)
    rows = np.array([0, len(array) - 1, 0])
    assert same(values(take(column, rows), of), [expected[r] for r in rows])
    assert same(values(concat([column, take(column, rows)]), of), [*expected, *(expected[r] for r in rows)])


def test_dictionaries_that_differ_between_chunks():
    chunks = [dictionary([0, 1, None], pa.array(["x", None])), dictionary([0], pa.array(["z"]))]
    array = pa.chunked_array(chunks)
    assert physical_values(array, types.from_arrow(array.type)) == ["x", None, None, "z"]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (types.INT, pa.int64()),
        (Type(Kind.DATE), pa.date32()),
        (Type(Kind.TIME), pa.time64("ns")),
        (Type(Kind.DURATION), pa.duration("us")),
        (Type(Kind.LIST, element=types.FLOAT), pa.list_(pa.float64())),
        (Type(Kind.STRING, arrow=pa.dictionary(pa.int8(), pa.large_string())), pa.large_string()),
    ],
)
def test_what_has_no_arrow_type_of_its_own_gets_the_kinds(of, expected):
    assert result_type(of) == expected


def test_numbers_share_the_arrow_buffers():
    array = pa.array([1, None, 3])
    column = from_arrow(array, types.INT)
    assert column.values.ctypes.data == array.buffers()[1].address
    assert Column(column.values).mask().all()
