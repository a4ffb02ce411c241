"""The types of expressions: a dozen kinds, to which every Arrow type comes down.

A value of a kind has one physical form, the same in all readings:

    BOOL bool · INT int64 · UINT uint64 · FLOAT float64 · DECIMAL exact decimal · STRING text · BINARY bytes
    DATE int64 days · TIMESTAMP int64 microseconds (UTC) · TIME int64 nanoseconds · DURATION int64 microseconds

`Type.arrow` remembers how the data stores it, for output; it takes no part in equality.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa


class Kind(Enum):
    NULL = "null"
    BOOL = "boolean"
    INT = "integer"
    UINT = "unsigned integer"  # uint64 alone; the smaller ones are INT
    FLOAT = "number"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time of day"
    DURATION = "duration"
    LIST = "list"
    OPAQUE = "nested value"  # structs, maps, calendar intervals: carried, never computed with


@dataclass(frozen=True, slots=True)
class Type:
    kind: Kind
    element: Type | None = None  # of a LIST
    arrow: pa.DataType | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"list of {self.element}" if self.kind is Kind.LIST else self.kind.value

    @property
    def named(self) -> str:
        """With its article, as sentences have it."""
        return f"{'an' if str(self)[0] in 'aeiou' else 'a'} {self}"


NULL = Type(Kind.NULL, arrow=pa.null())
BOOL = Type(Kind.BOOL, arrow=pa.bool_())
INT = Type(Kind.INT, arrow=pa.int64())
UINT = Type(Kind.UINT, arrow=pa.uint64())
FLOAT = Type(Kind.FLOAT, arrow=pa.float64())
STRING = Type(Kind.STRING, arrow=pa.string())
TIMESTAMP = Type(Kind.TIMESTAMP, arrow=pa.timestamp("us"))
DURATION = Type(Kind.DURATION, arrow=pa.duration("us"))

INTEGERS = frozenset({Kind.INT, Kind.UINT})
NUMBERS = frozenset({Kind.INT, Kind.UINT, Kind.FLOAT, Kind.DECIMAL})
INSTANTS = frozenset({Kind.DATE, Kind.TIMESTAMP})
UNORDERED = frozenset({Kind.LIST, Kind.OPAQUE})

MICROSECONDS_PER_DAY = 86_400_000_000
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def storage(arrow: pa.DataType) -> pa.DataType:
    """The type of the values themselves: dictionaries, run-end encodings and extensions seen through."""
    while True:
        if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
            arrow = arrow.value_type
        elif isinstance(arrow, pa.BaseExtensionType):
            arrow = arrow.storage_type
        else:
            return arrow


def from_arrow(arrow: pa.DataType) -> Type:
    """The type of an Arrow column's values in expressions."""
    stored = storage(arrow)
    t = pa.types
    if t.is_list(stored) or t.is_large_list(stored) or t.is_fixed_size_list(stored) or _is_list_view(stored):
        return Type(Kind.LIST, element=from_arrow(stored.value_type), arrow=arrow)
    for kind, tests in _KINDS:
        if any(test(stored) for test in tests):
            return Type(kind, arrow=arrow)
    return Type(Kind.OPAQUE, arrow=arrow)


def _is_list_view(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(arrow) or pa.types.is_large_list_view(arrow))


_KINDS = (
    (Kind.NULL, (pa.types.is_null,)),
    (Kind.BOOL, (pa.types.is_boolean,)),
    (Kind.UINT, (pa.types.is_uint64,)),
    (Kind.INT, (pa.types.is_integer,)),
    (Kind.FLOAT, (pa.types.is_floating,)),
    (Kind.DECIMAL, (pa.types.is_decimal,)),
    (Kind.STRING, (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)),
    (
        Kind.BINARY,
        (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        ),
    ),
    (Kind.DATE, (pa.types.is_date,)),
    (Kind.TIMESTAMP, (pa.types.is_timestamp,)),
    (Kind.TIME, (pa.types.is_time,)),
    (Kind.DURATION, (pa.types.is_duration,)),
)


def decimal_type(whole: int, scale: int) -> pa.DataType | None:
    """The Arrow decimal with so many digits before the point and after it, if there is one."""
    whole, scale = max(whole, 1 - scale), max(scale, 0)
    if whole + scale > 76:
        return None
    return (pa.decimal128 if whole + scale <= 38 else pa.decimal256)(whole + scale, scale)


def common_decimal(found: Iterable[pa.DataType]) -> pa.DataType | None:
    """The Arrow decimal that holds the values of all of these, if there is one."""
    found = list(found)
    return decimal_type(max(t.precision - t.scale for t in found), max(t.scale for t in found))
