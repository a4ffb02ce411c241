"""Names of column types as people write them (`float64`, `bigint`, `timestamp[ms, UTC]`), and the Arrow types they mean."""

from __future__ import annotations

import difflib
import re

import pyarrow as pa

from augury.cli.trouble import UsageError

_NAMES = {
    **dict.fromkeys(("int", "integer", "bigint", "long"), pa.int64()),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    **dict.fromkeys(("float", "double", "number"), pa.float64()),
    "real": pa.float32(),
    **dict.fromkeys(("string", "str", "text", "varchar", "utf8"), pa.string()),
    **dict.fromkeys(("bool", "boolean"), pa.bool_()),
    "date": pa.date32(),
    "time": pa.time64("us"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "datetime"), pa.timestamp("us")),
    **dict.fromkeys(("timestamptz", "timestamp_ltz"), pa.timestamp("us", "UTC")),
    "binary": pa.binary(),
    **{str(t): t for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(t): t for t in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date32": pa.date32(),
    "date64": pa.date64(),
}
_KNOWN = "int64, float64, string, bool, date, timestamp, timestamp[ms], timestamp[us, UTC], decimal(10, 2)"
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:,\s*(?:tz=)?([\w/+:-]+))?\]")
_DECIMAL = re.compile(r"(?:decimal|decimal128|numeric)\((\d+)(?:,\s*(\d+))?\)")
_UNITS = re.compile(r"(time32|time64|duration)\[(s|ms|us|ns)\]")


def type_named(text: str) -> pa.DataType:
    """The Arrow type of a name.

    >>> type_named("float64"), type_named("timestamp[ms, UTC]"), type_named("DECIMAL(10, 2)")
    (DataType(double), TimestampType(timestamp[ms, tz=UTC]), Decimal128Type(decimal128(10, 2)))
    """
    name = text.strip().lower()
    try:
        if name in _NAMES:
            return _NAMES[name]
        if found := _TIMESTAMP.fullmatch(text.strip()):
            return pa.timestamp(found[1], found[2])
        if found := _DECIMAL.fullmatch(name):
            return pa.decimal128(int(found[1]), int(found[2] or 0))
        if found := _UNITS.fullmatch(name):
            return getattr(pa, found[1])(found[2])
    except (ValueError, pa.ArrowInvalid) as error:
        raise UsageError(f"{text.strip()} is no type of a column: {error}") from None
    near = difflib.get_close_matches(name, _NAMES, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"{text.strip()!r} is no type of a column; {meant}Types are {_KNOWN} and the like")


def column_named(text: str) -> tuple[str, pa.DataType]:
    """`price:float64` as a name and a type; the name may hold colons itself."""
    name, colon, type_ = text.rpartition(":")
    if not colon or not name.strip() or not type_.strip():
        raise UsageError(f"{text!r} names no column and type; write it as in price:float64")
    return name.strip(), type_named(type_)


def columns_named(texts: list[str]) -> dict[str, pa.DataType]:
    """What `--column` said, each name once."""
    found: dict[str, pa.DataType] = {}
    for text in texts:
        name, type_ = column_named(text)
        if found.get(name, type_) != type_:
            raise UsageError(f"--column gives {name} two types, {found[name]} and {type_}")
        found[name] = type_
    return found


def schema_named(text: str) -> pa.Schema:
    """A schema from text: `ts timestamp, kind string`, or a column on each line; a colon may stand between.

    >>> schema_named("ts: timestamp, price decimal(10, 2)").names
    ['ts', 'price']
    """
    lines = (line.partition("--")[0].partition("#")[0] for line in text.splitlines())
    parts = [p.strip() for p in re.split(r",(?![^(\[]*[)\]])|\n", "\n".join(lines)) if p.strip()]
    fields = []
    for part in parts:
        found = re.fullmatch(r"(?:`([^`]+)`|\"([^\"]+)\"|([^\s:]+))\s*(?::|\s)\s*(.+)", part)
        if found is None:
            raise UsageError(f"{part!r} in the schema names no column and type; write: ts timestamp")
        fields.append((found[1] or found[2] or found[3], type_named(found[4])))
    if not fields:
        raise UsageError("the schema names no column; write: ts timestamp, kind string")
    return pa.schema(fields)


def shown(type_: pa.DataType) -> str:
    """The type as this module reads it."""
    names = {pa.float64(): "float64", pa.date32(): "date", pa.float32(): "float32"}
    return names.get(type_, str(type_).replace("tz=", ""))
