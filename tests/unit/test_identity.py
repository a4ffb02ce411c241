"""What a `match_id` costs: each distinct value is hashed once, and of bound events alone. What it says is the laws' to hold."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from augury.match import identity

QUERY = ag.sase("PATTERN SEQ(E a, E b) WHERE a.x = 3 AND b.x = 4 WITHIN 2")


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The values that are hashed by themselves."""
    seen: list[object] = []
    right = identity.canonical

    def canonical(value: object) -> bytes:
        seen.append(value)
        return right(value)

    monkeypatch.setattr(identity, "canonical", canonical)
    return seen


def asked(values: list[object], kind: pa.DataType) -> list[str]:
    rows = 1000
    column = pa.array([values[n % len(values)] for n in range(rows)], kind)
    table = pa.table({"ts": np.arange(rows), "x": np.arange(rows) % 10, "v": column})
    return QUERY.match(table, time="ts", match_id=True)["match_id"].to_pylist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", None], pa.string()),
        (["a", "b", None], pa.large_string()),
        (["a", "b", None], pa.string_view()),
        (["a", "b", None], pa.dictionary(pa.int8(), pa.string())),
        ([b"a", b"b", None], pa.binary()),
        ([b"a", b"b", None], pa.large_binary()),
        ([b"a", b"b", None], pa.binary(1)),
        ([Decimal("1.50"), Decimal("2.00"), None], pa.decimal128(9, 2)),
        ([Decimal("1.50"), Decimal("2.00"), None], pa.decimal256(60, 2)),
    ],
)
def test_each_distinct_value_is_hashed_once(values, kind, hashed) -> None:
    found = asked(values, kind)
    assert len(set(found)) == len(found) == 100
    assert sorted(map(str, hashed)) == sorted(map(str, values))


def test_storage_makes_no_difference() -> None:
    texts = ["a", "b", None]
    wanted = asked(texts, pa.string())
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())):
        assert asked(texts, kind) == wanted
    numbers = [Decimal("1.50"), Decimal("2.00"), None]
    for kind in (pa.decimal128(30, 10), pa.decimal256(60, 2), pa.decimal64(9, 2)):
        assert asked(numbers, kind) == asked(numbers, pa.decimal128(9, 2))


def test_only_what_is_bound_is_hashed(hashed) -> None:
    """Nested values are hashed one by one."""
    asked([[1, 2], [3], None, []], pa.list_(pa.int64()))
    assert sum(value is None or isinstance(value, list) for value in hashed) == 200
