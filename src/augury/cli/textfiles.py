"""CSV and JSON lines as typed columns.

Arrow reads them and tells each column's type. What it leaves to be done: JSON's strings that are times become
times, with their zone; a type that was asked for is taken instead; and an error names its row, also where
Arrow, reading blocks at once, does not know it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.cli.files import first_lines
from augury.cli.types import shown
from augury.errors import DataError

if TYPE_CHECKING:
    from augury.cli.files import Source
    from augury.cli.screen import Meter

SAMPLE = 1 << 20  # bytes from which columns are told before a file is read
_BLOCK = 1 << 23  # no row may be longer than one, or somewhat more
_DELIMITERS = ",;\t|"
_STAMP = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
_ZONED = _STAMP + r"(Z|[+-]\d\d(:?\d\d)?)$"
_NO_TEXT = "no text in UTF-8; convert the file, as with iconv -f latin1 -t utf-8"
_DATE = r"^\d{4}-\d\d-\d\d$"


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What was said of text files: types of columns, the sign between fields, words for null."""

    columns: Mapping[str, pa.DataType] = field(default_factory=dict)
    delimiter: str | None = None
    nulls: tuple[str, ...] = ()


def read(source: Source, options: TextOptions, meter: Meter) -> pa.Table:
    """A whole file of text."""
    if source.format == "csv":
        return _read_csv(source, options, meter)
    return _read_json(source, options, meter)


def sampled(head: bytes, form: str, name: str, options: TextOptions) -> pa.Table:
    """The rows of a file's first lines."""
    if form == "csv":
        try:
            table = _parsed_csv(io.BytesIO(head), _delimiter(head, name, options), options, serial=True)
        except pa.ArrowInvalid as error:
            raise DataError(f"{name}: {_in_words(str(error))}") from None
        return retyped(_in_microseconds(table), options.columns, name, first_row=2)
    try:
        return _typed_json(_parsed_json(lambda: io.BytesIO(head)), options, name)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise DataError(_json_trouble(io.BytesIO(head), name, str(error))) from None


# ------------------------------------------------------------------ CSV


def _read_csv(source: Source, options: TextOptions, meter: Meter) -> pa.Table:
    delimiter = _delimiter(source.start(SAMPLE), source.name, options)
    # Standard input is read but once, so its rows are counted from the start.
    serial = source.stream is not None
    try:
        with source.unpacked(meter) as stream:
            table = _parsed_csv(stream, delimiter, options, serial=serial)
    except pa.ArrowInvalid as error:
        said = str(error)
        if not serial:
            try:
                with source.unpacked() as stream:
                    _parsed_csv(stream, delimiter, options, serial=True)
            except pa.ArrowInvalid as again:
                said = str(again)
        raise DataError(f"{source.name}: {_in_words(said)}") from None
    for f in table.schema:
        if pa.types.is_binary(f.type):
            row = _first(table.column(f.name), lambda part: part.cast(pa.string()))
            raise DataError(f"{source.name}, row {row + 2}: the column {f.name} is {_NO_TEXT}")
    return retyped(_in_microseconds(table), options.columns, source.name, first_row=2)


def _in_microseconds(table: pa.Table) -> pa.Table:
    """Arrow reads any fraction of a second as nanoseconds; where there are none, they are not kept."""
    for place, f in enumerate(table.schema):
        if pa.types.is_timestamp(f.type) and f.type.unit == "ns":
            try:
                column = table.column(place).cast(pa.timestamp("us", f.type.tz))
            except pa.ArrowInvalid:  # there are some
                continue
            table = table.set_column(place, f.name, column)
    return table


def _parsed_csv(stream: Any, delimiter: str, options: TextOptions, *, serial: bool = False) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(
        stream,
        csv.ReadOptions(use_threads=not serial, block_size=_BLOCK),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types={name: pa.string() for name in options.columns},
            null_values=["", *options.nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _delimiter(head: bytes, name: str, options: TextOptions) -> str:
    """The sign between fields: the most frequent one in the header."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{name} is UTF-16; convert it, as with iconv -f utf-16 -t utf-8")
    first, newline, _ = head.partition(b"\n")
    try:
        header = first.decode(
            "utf-8", "strict" if newline else "ignore"
        )  # a line that is cut may end in half a letter
    except UnicodeDecodeError:
        raise DataError(f"{name}, row 1: the header is {_NO_TEXT}") from None
    if not head.strip():
        raise DataError(f"{name} is empty")
    if options.delimiter is not None:
        return options.delimiter
    return "\t" if name.endswith(".tsv") else max(_DELIMITERS, key=header.count)


def _in_words(error: str) -> str:
    """Arrow's words without its own names in them."""
    error = error.removeprefix("CSV parse error: ")
    if error.startswith(("Empty CSV", "straddling object")):
        return f"a row is longer than {_BLOCK >> 20} MB; is a quote opened that is not closed?"
    row = re.search(r"Row #(\d+): (.*)", error, re.DOTALL)
    if row is None:
        return error
    return f"row {row[1]} (the header is row 1): {row[2][:1].lower()}{row[2][1:]}"


# ------------------------------------------------------------------ JSON lines


def _read_json(source: Source, options: TextOptions, meter: Meter) -> pa.Table:
    if source.stream is not None:
        data = source.stream.read()
        meter.advance(len(data))

        def opened() -> Any:
            return io.BytesIO(data)

    else:
        passes = iter([None, meter])  # the first one only looks at the beginning

        def opened() -> Any:
            return source.unpacked(next(passes, None))

    try:
        table = _parsed_json(opened)
        table.validate(full=True)  # Arrow takes any bytes for a string
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        with opened() as stream:
            raise DataError(_json_trouble(stream, source.name, str(error))) from None
    return _typed_json(table, options, source.name)


def _parsed_json(opened: Any) -> pa.Table:
    """The table with every string a string: Arrow would take some for times, and lose their zones."""
    with opened() as stream:
        head = first_lines(stream, SAMPLE)
    sample = _json_table(io.BytesIO(head), {})
    wanted = _stamps_in(sample)
    while True:
        with opened() as stream:
            table = _json_table(stream, wanted)
        stamps = _stamps_in(table)
        if not stamps:
            break
        wanted.update(stamps)
    # Columns whose type was given come first; in the file they have another order, and it orders events.
    order = [*sample.schema.names, *(n for n in table.schema.names if n not in sample.schema.names)]
    return table.select([name for name in order if name in table.schema.names])


def _json_table(stream: Any, wanted: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import json as pajson

    parse = pajson.ParseOptions(explicit_schema=pa.schema(list(wanted.items())))
    return pajson.read_json(stream, pajson.ReadOptions(block_size=_BLOCK), parse)


def _stamps_in(table: pa.Table) -> dict[str, pa.DataType]:
    """The columns in which Arrow saw timestamps, as the text they were."""
    return {f.name: _as_text(f.type) for f in table.schema if _as_text(f.type) != f.type}


def _as_text(type_: pa.DataType) -> pa.DataType:
    """The type with each timestamp in it a string."""
    if pa.types.is_timestamp(type_):
        return pa.string()
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(_as_text(f.type)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(_as_text(type_.value_type))
    return type_


def _typed_json(table: pa.Table, options: TextOptions, name: str) -> pa.Table:
    for place, f in enumerate(table.schema):
        if f.name not in options.columns and pa.types.is_string(f.type):
            column = _times(table.column(place))
            table = table.set_column(place, f.name, column)
    return retyped(table, options.columns, name, first_row=1)


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text as times or dates, if all of it reads so."""
    sample = column.slice(0, 100).drop_null()
    if not len(sample):
        return column
    for pattern, wanted in (
        (_DATE, pa.date32()),
        (_ZONED, pa.timestamp("us", "UTC")),
        (_STAMP + "$", pa.timestamp("us")),
    ):
        if pc.all(pc.match_substring_regex(sample, pattern)).as_py() and _all(column, pattern):
            try:
                return column.cast(wanted)
            except pa.ArrowInvalid:  # it looks like a time and is none (month 13, more than microseconds)
                return column
    return column


def _all(column: pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is True


_CHANGED = re.compile(r"Column\(/?([^)]*)\) changed from (\w+) to (\w+)")


def _json_trouble(stream: Any, name: str, error: str) -> str:
    """What is wrong with the file and in which line; Arrow counts lines from the start of a block."""
    if error.startswith("Empty JSON"):
        return f"{name} is empty"
    changed = _CHANGED.search(error)
    before: str | None = None
    for number, line in _lines(stream):
        if len(line) > _BLOCK:
            return f"{name}, line {number}: the object is longer than {_BLOCK >> 20} MB"
        try:
            value = json.loads(line, object_pairs_hook=_members)
        except UnicodeDecodeError:
            return f"{name}, line {number} is {_NO_TEXT}"
        except ValueError as wrong:
            return f"{name}, line {number}: {str(wrong).partition(': line ')[0]}"
        if not isinstance(value, dict):
            remedy = "; one object on each line is wanted (jq -c '.[]' makes it so of an array)"
            return f"{name}, line {number}: {_json_kind(value)}, not an object{remedy if number == 1 else ''}"
        if changed and "/" not in changed[1]:
            kind = _json_kind(value.get(changed[1]))
            if before not in (None, kind) and kind != "null":
                return f"{name}, line {number}: {changed[1]} is {kind}, and {before} before"
            before = kind if kind != "null" else before
    return f"{name}: {error.removeprefix('JSON parse error: ')}"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, of whose members none stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{json.dumps(twice)} stands twice in an object")
    return found


def _lines(stream: Any) -> Iterator[tuple[int, bytes]]:
    number, rest = 0, b""
    while block := stream.read(SAMPLE):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            if line.strip():
                yield number, line
    if rest.strip():
        yield number + 1, rest


def _json_kind(value: Any) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return "null" if value is None else kinds.get(type(value), "an object")


# ------------------------------------------------------------------ types that were asked for


def retyped(table: pa.Table, wanted: Mapping[str, pa.DataType], name: str, *, first_row: int) -> pa.Table:
    """The table with the types that were asked for; the first value that does not fit is named with its row."""
    for column, type_ in wanted.items():
        place = table.schema.get_field_index(column)
        if place < 0:
            continue
        values = table.column(place)
        if values.type == type_:
            continue
        try:
            found = _converted(values, type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            row = _first(values, lambda part, t=type_: _converted(part, t))
            if row is None:
                raise DataError(
                    f"{name}: the column {column} is {shown(values.type)} and cannot be made {shown(type_)}"
                ) from None
            raise DataError(
                f"{name}, row {row + first_row}: the column {column} holds {str(values[row])!r}, which is no "
                f"{shown(type_)}"
            ) from None
        table = table.set_column(place, column, found)
    return table


def _converted(values: Any, type_: pa.DataType) -> Any:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) and not pa.types.is_string(type_):
        values = pc.utf8_trim_whitespace(values)
        if pa.types.is_timestamp(type_):
            return _stamps(values, type_)
    if pa.types.is_floating(values.type) and pa.types.is_timestamp(type_):
        values = values.cast(pa.int64())
    return values.cast(type_)


def _stamps(values: Any, type_: pa.DataType) -> Any:
    """Texts as timestamps: written out, or as numbers of the unit since 1970."""
    if _all(values, r"^-?\d+$"):
        return values.cast(pa.int64()).cast(type_)
    if type_.tz is None and _all(values, _ZONED):
        return values.cast(pa.timestamp(type_.unit, "UTC"))
    if type_.tz is not None and not pc.any(pc.match_substring_regex(values, _ZONED)).as_py():
        return pc.assume_timezone(values.cast(pa.timestamp(type_.unit)), type_.tz)
    return values.cast(type_)


def _first(values: Any, convert: Any) -> Any:
    """The first row whose value cannot be converted, by halving."""
    low, high = 0, len(values)
    if not high:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(values.slice(low, middle - low))
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low
