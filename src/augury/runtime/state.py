"""A matcher's state as bytes: a header that says what is in them, raw sections, and a checksum of it all.

    AUGURYST · version (2) · length of the header (4) · header · sections · checksum (16)

Numbers are little-endian. The header is JSON: the query's fingerprint, instants, counters, and how long each section
is. Sections are Arrow IPC streams for events and plain arrays for what is known by slot; docs/state.md lists them. A
state that was cut off, changed or made for another query is refused; nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from augury.errors import DataError
from augury.match.gather import no_rows

MAGIC = b"AUGURYST"
VERSION = 1
_HEAD = struct.Struct("<8sHI")
_CHECKSUM = 16


def pack(header: dict[str, Any], sections: Sequence[bytes]) -> bytes:
    """A header and sections as bytes."""
    told = json.dumps({**header, "sections": [len(s) for s in sections]}, separators=(",", ":")).encode()
    body = b"".join((_HEAD.pack(MAGIC, VERSION, len(told)), told, *sections))
    return body + hashlib.blake2b(body, digest_size=_CHECKSUM).digest()


def unpack(state: bytes, query: str, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the sections of a state that was made for a query of this name."""
    header, body = _opened(state)
    if header["query"] != query:
        raise DataError(
            "the state was made by another query, or for other columns, roles or outputs; a matcher goes on "
            "with the state of an equal one only"
        )
    at, sections = 0, {}
    for name, size in zip(names, header["sections"], strict=True):
        sections[name] = body[at : at + size]
        at += size
    if at != len(body) or min(header["sections"], default=0) < 0:
        raise ValueError("its sections have another length")
    return header, sections


def _opened(state: bytes) -> tuple[dict[str, Any], bytes]:
    if not isinstance(state, bytes | bytearray | memoryview):
        raise DataError(f"a state is bytes, not {type(state).__name__}")
    state = bytes(state)
    if state[: len(MAGIC)] != MAGIC[: len(state)]:
        raise DataError("these bytes are no state of a matcher")
    if len(state) < _HEAD.size + _CHECKSUM:
        raise DataError("the state is damaged: it was cut off")
    body, checksum = state[:-_CHECKSUM], state[-_CHECKSUM:]
    _, version, length = _HEAD.unpack_from(body)
    if hashlib.blake2b(body, digest_size=_CHECKSUM).digest() != checksum:
        raise DataError("the state is damaged: its checksum is another")
    if version != VERSION:
        raise DataError(f"the state is of version {version}, and this Augury reads version {VERSION}")
    return json.loads(body[_HEAD.size : _HEAD.size + length]), body[_HEAD.size + length :]


def written_events(tables: Sequence[pa.Table], schema: pa.Schema) -> bytes:
    """Events as an Arrow IPC stream; nothing where there are none."""
    if not any(t.num_rows for t in tables):
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for table in tables:
            writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_events(section: bytes, schema: pa.Schema) -> pa.Table:
    """The events that were written."""
    if not section:
        return no_rows(schema)
    with pa.ipc.open_stream(section) as reader:
        return reader.read_all()
