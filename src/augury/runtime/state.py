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
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError
from augury.match.gather import no_rows
from augury.match.identity import canonical
from augury.pattern import text_of_pattern
from augury.runtime.kept import Kept

if TYPE_CHECKING:
    from augury.resolve import Resolved
    from augury.runtime.matcher import Matcher
    from augury.runtime.table import Options

MAGIC = b"AUGURYST"
VERSION = 1
_HEAD = struct.Struct("<8sHI")
_CHECKSUM = 16
_ARRAYS = ("names", "count", "due", "expires", "alive")
SECTIONS = ("waiting", "pool", "barred", *_ARRAYS)


def fingerprint(query: Resolved, options: Options, schema: pa.Schema) -> str:
    """What must be the same for a state to go on: the query, what it was told, and the columns."""
    roles = query.roles
    parts = [
        *(text_of_pattern(query.pattern), parameters(query), roles.time, roles.type),
        *(list(roles.key), list(roles.tiebreak), options.output, options.match_id),
        options.plan == "definition",
        [[field.name, str(field.type)] for field in schema if field.name in query.reads],
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def parameters(query: Resolved) -> str:
    """The values of the query's parameters."""
    from augury.expr.tree import Param, walk

    exprs = (*query.pattern.predicates, *(i.expr for i in query.pattern.returns or ()))
    bound = {(n.name, canonical(n.value).hex()) for e in exprs for n in walk(e) if isinstance(n, Param)}
    return json.dumps(sorted(bound))


def pack(m: Matcher, name: str) -> bytes:
    """All that a matcher knows."""
    kept = m.kept
    kept.compact()
    slots = kept.slots()
    barred = kept.barred[0] if kept.barred else np.zeros(0, np.bool_)
    sections = [
        _written(m.waiting, m.reads),
        _written(kept.pool, m.reads),
        np.packbits(barred).tobytes(),
        kept.name_of[slots].tobytes(),
        *(getattr(kept, field)[slots].astype("<i8").tobytes() for field in _ARRAYS[1:]),
    ]
    header = {
        "query": name,
        "frontier": m.frontier,
        "done": m.done,
        "counts": m.counts,
        "kept": kept.live,
        "sections": [len(s) for s in sections],
    }
    told = json.dumps(header, separators=(",", ":")).encode()
    body = b"".join((_HEAD.pack(MAGIC, VERSION, len(told)), told, *sections))
    return body + hashlib.blake2b(body, digest_size=_CHECKSUM).digest()


def unpack(m: Matcher, state: bytes, name: str) -> None:
    """Put a matcher into the state that was packed."""
    header, sections = _opened(state)
    if header["query"] != name:
        raise DataError(
            "the state was made by another query, or for other columns, roles or outputs; a matcher goes on "
            "with the state of an equal one only"
        )
    m.frontier, m.done, m.counts = header["frontier"], header["done"], dict(header["counts"])
    waiting = _read(sections["waiting"], m.reads)
    m.waiting = [waiting] if waiting.num_rows else []
    kept = m.kept = Kept(m.reads)
    names = np.frombuffer(sections["names"], np.uint64).reshape(-1, 2)
    arrays = {field: np.frombuffer(sections[field], "<i8").astype(np.int64) for field in _ARRAYS[1:]}
    pool = _read(sections["pool"], m.reads)
    barred = np.unpackbits(np.frombuffer(sections["barred"], np.uint8), count=pool.num_rows).astype(np.bool_)
    if len(names):
        slots = kept.slots_of(np.ascontiguousarray(names.T))
        kept.put(slots, arrays["count"], pool, barred, arrays["due"], arrays["expires"], arrays["alive"])


def _opened(state: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
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
    header = json.loads(body[_HEAD.size : _HEAD.size + length])
    at, sections = _HEAD.size + length, {}
    for name, size in zip(SECTIONS, header["sections"], strict=True):
        sections[name] = body[at : at + size]
        at += size
    return header, sections


def _written(tables: list[pa.Table], schema: pa.Schema) -> bytes:
    """Events as an Arrow IPC stream; nothing where there are none."""
    if not any(t.num_rows for t in tables):
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for table in tables:
            writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(section: bytes, schema: pa.Schema) -> pa.Table:
    if not section:
        return no_rows(schema)
    with pa.ipc.open_stream(section) as reader:
        return reader.read_all()
