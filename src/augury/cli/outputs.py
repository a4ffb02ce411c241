"""Tables into files. A file appears under its name when it is whole: it is written beside and then renamed."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from augury.cli.files import ENDINGS, FORMATS, PACKED
from augury.cli.trouble import FailureError, UsageError, of_the_system

STDOUT = "-"
BATCH = 1 << 16  # rows that are turned into text at once


class Writer(Protocol):
    """Takes tables of one schema, one after the other."""

    def write(self, table: pa.Table) -> None: ...


def format_of(path: str, given: str | None) -> str:
    """The format that was asked for, or that the name's ending tells."""
    if given is not None:
        return given
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    if suffixes and suffixes[-1] in ENDINGS:
        return ENDINGS[suffixes[-1]]
    raise UsageError(
        f"{'standard output' if path == STDOUT else path} does not tell a format; add --format "
        f"{'|'.join(FORMATS)}" + ("" if path == STDOUT else ", or an ending such as .parquet")
    )


def check_free(path: str, *, overwrite: bool) -> None:
    """Complain before the work that the file could not be written after it."""
    if path == STDOUT:
        return
    if not path:
        raise UsageError("-o names no file: is a variable of the shell not set?")
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if target.is_file() and not overwrite:
        raise UsageError(f"{path} exists; --overwrite replaces it")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent} to write {target.name} into")


@contextmanager
def writing(path: str, form: str, schema: pa.Schema) -> Iterator[Writer]:
    """A writer of the file; if the block fails there is no file, and what stood there before still does."""
    if path == STDOUT:
        with (
            _guarded("standard output"),
            _opened(pa.PythonFile(sys.stdout.buffer, "w"), form, schema, None) as writer,
        ):
            yield writer
        sys.stdout.buffer.flush()
        return
    packed = PACKED.get(Path(path).suffix.lower())
    if not _is_plain(path):  # a pipe or a device takes what comes, and cannot be renamed
        with _guarded(path), pa.OSFile(path, "wb") as sink, _opened(sink, form, schema, packed) as writer:
            yield writer
        return
    target = Path(path).resolve()  # through a link: the file that it names is replaced, not the link
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _guarded(path):
            with pa.OSFile(str(beside), "wb") as sink, _opened(sink, form, schema, packed) as writer:
                yield writer
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _is_plain(path: str) -> bool:
    return not Path(path).exists() or Path(path).is_file()


@contextmanager
def _guarded(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        said = str(error).partition("\n")[0]
        raise FailureError(f"{path}: the format cannot hold this result: {said}; choose another") from None
    except OSError as error:
        raise FailureError(f"{path} cannot be written: {of_the_system(error).rpartition(': ')[2]}") from None


@contextmanager
def _opened(sink: Any, form: str, schema: pa.Schema, packed: str | None) -> Iterator[Writer]:
    if packed is not None and form in ("csv", "jsonl"):
        with pa.CompressedOutputStream(sink, packed) as stream:
            yield _Text(stream, schema, form)
    elif form == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            yield _Tables(writer)
    elif form == "arrow":
        # A stream may end anywhere and is read from a pipe; a file can be opened in the middle.
        streamed = isinstance(sink, pa.PythonFile)
        make = pa.ipc.new_stream if streamed else pa.ipc.new_file
        with make(sink, schema) as writer:
            yield _Tables(writer)
    else:
        yield _Text(sink, schema, form)


class _Tables:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)


class _Text:
    def __init__(self, sink: Any, schema: pa.Schema, form: str) -> None:
        self._sink = sink
        self._csv = None
        if form == "csv":
            from pyarrow import csv

            options = csv.WriteOptions(quoting_style="needed")
            self._csv = csv.CSVWriter(sink, flat(schema.empty_table()).schema, write_options=options)

    def write(self, table: pa.Table) -> None:
        from augury.cli.jsontext import json_lines

        for start in range(0, table.num_rows, BATCH):
            rows = table.slice(start, BATCH)
            if self._csv is not None:
                self._csv.write_table(flat(rows))
            else:
                self._sink.write(json_lines(rows))


def flat(table: pa.Table) -> pa.Table:
    """The table as CSV can hold it: a struct becomes columns `a.x`, a list becomes JSON text."""
    while any(pa.types.is_struct(f.type) for f in table.schema):
        table = table.flatten()
    for place, f in enumerate(table.schema):
        if not _is_scalar(f.type):
            table = table.set_column(place, f.name, _as_csv(table.column(place), f.type))
    return table


def _is_scalar(type_: pa.DataType) -> bool:
    """Whether Arrow writes it into a CSV as one expects."""
    t = pa.types
    return bool(
        t.is_null(type_)
        or (t.is_primitive(type_) and not t.is_duration(type_) and not t.is_interval(type_))
        or t.is_decimal(type_)
        or t.is_string(type_)
        or t.is_large_string(type_)
    )


def _as_csv(column: pa.ChunkedArray, type_: pa.DataType) -> Any:
    """The column as one that Arrow writes into a CSV."""
    from augury.cli.jsontext import base64_text, is_binary, json_text

    if _is_scalar(type_):
        return column
    if pa.types.is_dictionary(type_):
        return _as_csv(column.cast(type_.value_type), type_.value_type)
    if pa.types.is_run_end_encoded(type_):
        return _as_csv(pa.chunked_array([pc.run_end_decode(c) for c in column.chunks]), type_.value_type)
    if pa.types.is_duration(type_):
        return column.cast(pa.int64())
    if pa.types.is_string_view(type_):
        return column.cast(pa.string())
    if is_binary(type_):
        return base64_text(column).cast(pa.string())
    if isinstance(type_, pa.BaseExtensionType):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    one = column.combine_chunks()
    return pc.if_else(one.is_valid(), json_text(one).cast(pa.string()), pa.scalar(None, pa.string()))
