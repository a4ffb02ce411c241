"""Ties: the numbers that values are ordered by, and sorting them, against Python's own sort of the definition's keys."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.engines.batch import rank
from augury.engines.kernels.order import sort_runs
from augury.semantics import sase as semantics

I64 = st.integers(-(2**63), 2**63 - 1)
COLUMNS = {
    "int64": (pa.int64(), st.one_of(I64, st.sampled_from([-(2**63), 2**63 - 1, 0]))),
    "uint64": (pa.uint64(), st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**63, 2**64 - 1]))),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.one_of(st.floats(), st.sampled_from([0.0, -0.0]))),
    "float": (pa.float32(), st.floats(width=32)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(max_size=3)),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["b", "a", "ab"])),
    "binary": (pa.binary(), st.binary(max_size=2)),
    "decimal": (pa.decimal128(9, 2), st.integers(-999, 999).map(lambda n: Decimal(n) / 100)),
    "date": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "timestamp": (
        pa.timestamp("s"),
        st.integers(-(2**40), 2**40),
    ),
    "nanoseconds": (pa.timestamp("ns"), st.integers(-5000, 5000)),
    "time": (pa.time32("s"), st.times().map(lambda t: t.replace(microsecond=0))),
    "duration": (pa.duration("ms"), st.integers(-9, 9).map(lambda n: dt.timedelta(milliseconds=n))),
    "struct": (pa.struct([("x", pa.int64())]), st.fixed_dictionaries({"x": st.one_of(st.none(), I64)})),
    "null": (pa.null(), st.none()),
}


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_a_column_is_ranked_as_the_definition_orders_it(name, data) -> None:
    kind, values = COLUMNS[name]
    given_ = data.draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=8))
    column = pa.chunked_array([pa.array(given_, kind)])
    keys = semantics.order_keys(column)
    coarse, fine = rank(column)
    rows = range(len(given_))
    tells = [0] * len(given_) if fine is None else fine.tolist()
    for one in rows:
        for other in rows:
            assert (coarse[one] < coarse[other]) == (keys[one][0] < keys[other][0])
            assert (coarse[one] == coarse[other]) == (keys[one][0] == keys[other][0])
            if keys[one][0] == keys[other][0] and given_[one] is not None:
                assert (tells[one] < tells[other]) == (keys[one][1] < keys[other][1])


@given(
    words=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
def test_runs_are_sorted_each_by_itself_and_stably(words, cuts) -> None:
    n = len(words)
    begins = sorted({0, n, *(c for c in cuts if c < n)})
    order = np.arange(n)
    sort_runs(np.array(words, np.int64).reshape(n, 2).T, np.array(begins), order, np.empty(n, np.int64))
    wanted = [
        row
        for low, high in itertools.pairwise(begins)
        for row in sorted(range(low, high), key=lambda r: words[r])
    ]
    assert order.tolist() == wanted
