"""Arrow columns as JSON text, a column at a time: no Python object for each row.

    {"ts": 1, "a": {"x": [1.5, null]}}  =  '{"ts":' + text(ts) + ',"a":{"x":' + … + '}}'

Numbers keep their kind (1.0 stays 1.0), NaN and the infinities, which JSON has no word for, become null, times
are ISO 8601, binary is base64.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def json_lines(batch: pa.Table) -> pa.Buffer:
    """Each row as one line of UTF-8."""
    columns = [(f.name, _one(c)) for f, c in zip(batch.schema, batch.columns, strict=True)]
    lines = pc.binary_join_element_wise(_object(columns, batch.num_rows), _constant("\n"), _constant(""))
    _, offsets, text = lines.buffers()
    ends = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, offsets], offset=lines.offset)
    return (
        text.slice(ends[0].as_py(), ends[-1].as_py() - ends[0].as_py()) if len(lines) else pa.py_buffer(b"")
    )


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def json_text(values: pa.Array) -> pa.Array:
    """Each value as JSON; a null is the word null."""
    return pc.fill_null(_text(values), "null")


def _object(members: list[tuple[str, pa.Array]], length: int) -> pa.Array:
    if not members:
        return pa.array(["{}"] * length, pa.large_string())
    parts: list[Any] = []
    for place, (name, values) in enumerate(members):
        parts.append(_constant(("{" if place == 0 else ",") + json.dumps(name, ensure_ascii=False) + ":"))
        parts.append(json_text(values))
    return pc.binary_join_element_wise(*parts, _constant("}"), _constant(""))


def _constant(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _text(values: pa.Array) -> pa.Array:
    t, type_ = pa.types, values.type
    if t.is_dictionary(type_):
        return _text(values.cast(type_.value_type))
    if t.is_run_end_encoded(type_):
        return _text(pc.run_end_decode(values))
    if t.is_null(type_):
        return pa.nulls(len(values), pa.large_string())
    if t.is_struct(type_):
        members = [(type_.field(i).name, values.field(i)) for i in range(type_.num_fields)]
        return pc.if_else(
            values.is_valid(), _object(members, len(values)), pa.scalar(None, pa.large_string())
        )
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        inner = json_text(values.flatten()).cast(pa.large_string())
        lengths = pc.fill_null(pc.list_value_length(values), 0).cast(pa.int64())
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
        joined = pc.binary_join(pa.LargeListArray.from_arrays(offsets, inner), _constant(","))
        whole = pc.binary_join_element_wise(_constant("["), joined, _constant("]"), _constant(""))
        return pc.if_else(values.is_valid(), whole, pa.scalar(None, pa.large_string()))
    if t.is_floating(type_):
        finite = pc.if_else(pc.is_finite(values), values, pa.scalar(None, type_))
        text = finite.cast(pa.large_string())
        whole = pc.invert(pc.match_substring_regex(text, "[.e]"))
        return pc.if_else(whole, pc.binary_join_element_wise(text, _constant(".0"), _constant("")), text)
    if t.is_integer(type_) or t.is_boolean(type_) or t.is_decimal(type_):
        return values.cast(pa.large_string())
    if t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_):
        return _quoted(values.cast(pa.large_string()))
    if t.is_timestamp(type_):
        text = values.cast(pa.timestamp(type_.unit, "UTC") if type_.tz else type_).cast(pa.large_string())
        return _in_quotes(pc.replace_substring(text, " ", "T"))
    if t.is_duration(type_):
        return values.cast(pa.int64()).cast(pa.large_string())
    if t.is_temporal(type_) and not t.is_interval(type_):
        return _in_quotes(values.cast(pa.large_string()))
    return _in_quotes(base64_text(values)) if is_binary(type_) else _by_value(values)


def is_binary(type_: pa.DataType) -> bool:
    """Whether values are bytes, however they are stored."""
    t = pa.types
    return bool(
        t.is_binary(type_)
        or t.is_large_binary(type_)
        or t.is_binary_view(type_)
        or t.is_fixed_size_binary(type_)
    )


def base64_text(values: Any) -> pa.Array:
    """Bytes as base64."""
    encoded = [None if v is None else base64.b64encode(v).decode() for v in values.to_pylist()]
    return pa.array(encoded, pa.large_string())


def _by_value(values: pa.Array) -> pa.Array:
    """The rarer types (maps, views of lists, extensions), one value after the other."""
    written = [
        None if v is None else json.dumps(v, default=str, ensure_ascii=False) for v in values.to_pylist()
    ]
    return pa.array(written, pa.large_string())


def _in_quotes(text: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(_constant('"'), text, _constant('"'), _constant(""))


def _quoted(values: pa.Array) -> pa.Array:
    """Strings as JSON writes them. Few have a sign that must be escaped, and those few are done one by one."""
    if pc.any(pc.match_substring_regex(values, r'["\\\x00-\x1f]')).as_py():
        coded = values.dictionary_encode()
        words = [json.dumps(v, ensure_ascii=False) for v in coded.dictionary.to_pylist()]
        return pc.take(pa.array(words, pa.large_string()), coded.indices)
    return _in_quotes(values)
