"""From words at a prompt to a query and a table: files, globs, folders and standard input.

A file's format is told by its name, or else by how it begins. Several files are one table: columns go by
name, a column that a file lacks is null there, and types that differ are widened if nothing is lost.
"""

from __future__ import annotations

import difflib
import glob
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from augury.cli import textfiles
from augury.cli.screen import Meter
from augury.cli.trouble import UsageError, of_the_system
from augury.cli.types import shown
from augury.errors import DataError, QueryError
from augury.query import Query, from_json, sase

STDIN = "-"
FORMATS = ("parquet", "arrow", "csv", "jsonl")
ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_MAGIC = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow"))


# ------------------------------------------------------------------ queries


def query_from(given: str, params: Sequence[str] = ()) -> Query:
    """The query that was given as text, as a file's name, or as `-` for standard input."""
    text = _query_text(given)
    values = dict(_parameter(p) for p in params)
    if text.lstrip().startswith("{"):
        if values:
            raise UsageError("a query in JSON has its parameters with it; leave out --param")
        return from_json(text)
    return sase(text, **values)


@contextmanager
def naming(given: str) -> Iterator[None]:
    """Give a query's error the name of the file that the query came from."""
    try:
        yield
    except QueryError as error:
        if error.span is not None and not _looks_like_text(given):
            error.add_note(f"in {given}" if given != STDIN else "in the query from standard input")
        raise


def _looks_like_text(given: str) -> bool:
    return "\n" in given or given.lstrip()[:8].lower() == "pattern " or len(given) > 1000


def _query_text(given: str) -> str:
    if given == STDIN:
        return _decoded(sys.stdin.buffer.read(), "standard input")
    looks_like_text = _looks_like_text(given)
    if not looks_like_text and Path(given).is_file():
        return _decoded(_bytes_of(given), given)
    if not looks_like_text and (" " not in given.strip() or Path(given).suffix in (".sase", ".txt", ".json")):
        raise UsageError(
            f"there is no file {given}, and a query begins with PATTERN, as in "
            "'PATTERN SEQ(Login a, Transfer b) WITHIN 5 minutes'" + _similar(given)
        )
    return given


def _bytes_of(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(of_the_system(error)) from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(
            f"{name} is no text in UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}"
        ) from None


def _parameter(text: str) -> tuple[str, Any]:
    """`limit=5` as a name and a value: a number, true, false or null if it reads as one, otherwise a string."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text!r} gives no value; write it as in limit=5")
    name, _, as_type = name.partition(":")
    if as_type:
        from augury.cli.types import type_named

        wanted = type_named(as_type)
        try:
            return name, pa.scalar(value).cast(wanted).as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise UsageError(f"--param {text!r}: {value!r} is no {shown(wanted)}") from None
    words: dict[str, Any] = {"true": True, "false": False, "null": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    return name, value


# ------------------------------------------------------------------ data


@dataclass(frozen=True, slots=True)
class Source:
    """One file to be read, or standard input: then `stream` can be looked into before it is read."""

    path: str
    format: str
    packed: str | None = None
    stream: Any = None

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else self.path

    @property
    def size(self) -> int | None:
        return None if self.path == STDIN else Path(self.path).stat().st_size

    def head(self, size: int) -> bytes:
        """How the file begins; it can still be read whole after that."""
        if self.stream is not None:
            return bytes(self.stream.peek(size)[:size])
        with Path(self.path).open("rb") as file:
            return file.read(size)

    def start(self, size: int) -> bytes:
        """How the content begins, unpacked; it can still be read whole after that."""
        if self.packed is None:
            return self.head(size)
        with self.unpacked() as file:
            return bytes(file.read(size))

    @contextmanager
    def unpacked(self, meter: Meter | None = None) -> Iterator[Any]:
        """The content as a stream that Arrow reads; what is read of the file is told to the meter."""
        with self.stream or Path(self.path).open("rb") as raw:
            file = pa.PythonFile(raw if meter is None else _Counted(raw, meter), mode="r")
            yield file if self.packed is None else pa.CompressedInputStream(file, self.packed)


@dataclass(frozen=True, slots=True)
class Data:
    """All sources of a command, and what was said of their columns."""

    sources: tuple[Source, ...]
    text: textfiles.TextOptions = field(default_factory=textfiles.TextOptions)

    @property
    def name(self) -> str:
        return self.sources[0].name if len(self.sources) == 1 else f"{len(self.sources)} files"

    @property
    def known_by_metadata(self) -> bool:
        """Whether the columns are known before the rows are read."""
        return all(s.format in ("parquet", "arrow") and s.path != STDIN for s in self.sources)

    def schema(self) -> pa.Schema:
        """The columns: from the metadata, or from how a file of text begins."""
        schemas = [self._typed(s, _schema_of(s, self.text)) for s in self.sources]
        return _unified([(s, schema) for s, schema in zip(self.sources, schemas, strict=True)])

    def read(self, columns: Sequence[str] | None = None, *, quiet: bool = False) -> pa.Table:
        """All rows as one table, with a meter where it takes long."""
        sizes = [s.size for s in self.sources]
        total = None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
        with Meter.of_bytes(f"reading {self.name}", total, quiet=quiet) as meter:
            tables = [_read(source, self.text, columns, meter) for source in self.sources]
        schema = _unified([(s, t.schema) for s, t in zip(self.sources, tables, strict=True)])
        if len(tables) == 1:
            return tables[0]
        return pa.concat_tables([_fitted(t, schema) for t in tables])

    def check_columns(self, names: dict[str, str]) -> None:
        """Of many files each must have the columns that play a role: a stray file is not silently null."""
        if len(self.sources) < 2:
            return
        for source in self.sources:
            have = _schema_of(source, self.text).names
            for role, name in names.items():
                if name not in have:
                    raise DataError(
                        f"{source.name} has no column {name}, which {role} names; its columns are {', '.join(have)}"
                    )

    def _typed(self, source: Source, schema: pa.Schema) -> pa.Schema:
        if source.format in ("csv", "jsonl"):
            return schema
        types = self.text.columns
        return pa.schema([f.with_type(types.get(f.name, f.type)) for f in schema], metadata=schema.metadata)


def data_from(
    paths: Sequence[str], input_format: str | None = None, text: textfiles.TextOptions | None = None
) -> Data:
    """The files that the words name: paths, globs, folders, `-`; nothing at all is standard input."""
    if not paths:
        if sys.stdin.isatty():
            raise UsageError("no data: name files (parquet, CSV, JSON lines, Arrow), or - for standard input")
        paths = (STDIN,)
    files = [file for path in paths for file in _files(path)]
    if files.count(STDIN) > 1:
        raise UsageError("standard input can be read once only; give - once")
    return Data(
        tuple(_source(file, input_format) for file in files),
        textfiles.TextOptions() if text is None else text,
    )


def _files(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    if Path(path).is_dir():
        found = sorted(
            str(f)
            for f in Path(path).rglob("*")
            if f.is_file() and _ending(f.name)[0] and not any(p[0] in "._" for p in f.relative_to(path).parts)
        )
        if not found:
            raise DataError(f"the folder {path} has no data file: none ends in {', '.join(ENDINGS)}")
        return found
    if Path(path).exists():
        return [path]
    if glob.has_magic(path):
        found = _matching(path)
        if not found:
            raise DataError(f"no file matches {path}")
        return found
    raise DataError(f"there is no file {path}{_similar(path)}")


def _matching(pattern: str) -> list[str]:
    path = Path(pattern)
    inside = Path(path.anchor) if path.anchor else Path()
    return sorted(str(f) for f in inside.glob(str(path.relative_to(path.anchor))) if f.is_file())


def _similar(path: str) -> str:
    folder = Path(path).parent
    try:
        names = [f.name for f in folder.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(Path(path).name, names, n=1, cutoff=0.7)
    return f"; did you mean {folder / near[0]}?" if near else ""


def _ending(name: str) -> tuple[str | None, str | None]:
    """The format and the packing that a file's name tells."""
    suffixes = [s.lower() for s in Path(name).suffixes]
    packed = PACKED.get(suffixes[-1]) if suffixes else None
    if packed:
        suffixes.pop()
    return ENDINGS.get(suffixes[-1]) if suffixes else None, packed


def _source(path: str, input_format: str | None) -> Source:
    if path == STDIN:
        stream = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer), textfiles.SAMPLE)
        source = Source(path, input_format or "", None, stream)
    else:
        found, packed = _ending(path)
        source = Source(path, input_format or found or "", packed)
    return source if source.format else replace(source, format=_sniffed(source))


def _sniffed(source: Source) -> str:
    """The format that the first bytes tell."""
    try:
        start = source.head(8)
    except OSError as error:
        raise DataError(of_the_system(error)) from None
    for magic, name in _MAGIC:
        if start.startswith(magic):
            return name
    if b"\x00" in start:
        raise DataError(
            f"{source.name} is neither parquet, Arrow, CSV nor JSON lines; --input-format says which it is"
        )
    return "jsonl" if start.lstrip()[:1] in (b"{", b"[") else "csv"


def _schema_of(source: Source, text: textfiles.TextOptions) -> pa.Schema:
    """A source's columns, from as little of it as will do; standard input can still be read after that."""
    try:
        if source.format == "parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(source.path)
        if source.format == "arrow":
            with _arrow_reader(source) as reader:
                return reader.schema
        return textfiles.sampled(source.start(textfiles.SAMPLE), source.format, source.name, text).schema
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _damaged(source, error) from None


def _read(
    source: Source, text: textfiles.TextOptions, columns: Sequence[str] | None, meter: Meter
) -> pa.Table:
    try:
        if source.format == "parquet":
            table = _read_parquet(source, columns, meter)
        elif source.format == "arrow":
            table = _read_arrow(source, columns, meter)
        else:
            return textfiles.read(source, text, meter)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _damaged(source, error) from None
    return textfiles.retyped(table, text.columns, source.name, first_row=1)


def _read_parquet(source: Source, columns: Sequence[str] | None, meter: Meter) -> pa.Table:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source.path if source.stream is None else _whole(source.stream))
    names = None if columns is None else [c for c in file.schema_arrow.names if c in columns]
    if file.num_row_groups == 0:
        return file.read(columns=names)
    share = (source.size or 0) / file.num_row_groups
    parts = []
    for group in range(file.num_row_groups):
        parts.append(file.read_row_group(group, columns=names))
        meter.advance(int(share))
    return pa.concat_tables(parts)


@contextmanager
def _arrow_reader(source: Source) -> Iterator[Any]:
    """A reader of an Arrow file, or of a stream where it is no file."""
    if not source.head(6).startswith(b"ARROW1"):
        with source.unpacked() as file:
            yield pa.ipc.open_stream(file)
    else:
        yield pa.ipc.open_file(pa.memory_map(source.path) if source.stream is None else _whole(source.stream))


def _read_arrow(source: Source, columns: Sequence[str] | None, meter: Meter) -> pa.Table:
    with _arrow_reader(source) as reader:
        table = reader.read_all()
    meter.advance(source.size or 0)
    return table if columns is None else table.select([c for c in table.schema.names if c in columns])


def _damaged(source: Source, error: Exception) -> DataError:
    if isinstance(error, OSError) and error.errno:
        return DataError(of_the_system(error))
    if not isinstance(error, OSError) and not source.size and source.path != STDIN:
        return DataError(f"{source.name} is empty")
    said = str(error).strip().partition("\n")[0]
    return DataError(f"{source.name} cannot be read as {source.format}: {said}")


def _unified(found: list[tuple[Source, pa.Schema]]) -> pa.Schema:
    """One schema for all files."""
    whole = found[0][1]
    for source, schema in found[1:]:
        try:
            whole = pa.unify_schemas([whole, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            for f in schema:
                before = whole.field(f.name).type if f.name in whole.names else f.type
                try:
                    pa.unify_schemas(
                        [pa.schema([(f.name, before)]), pa.schema([f])], promote_options="permissive"
                    )
                except (pa.ArrowInvalid, pa.ArrowTypeError):
                    raise DataError(
                        f"the column {f.name} is {shown(f.type)} in {source.name} and {shown(before)} before it, in "
                        f"{found[0][0].name}; say which it is: --column {f.name}:TYPE"
                    ) from None
            raise DataError(f"{source.name} has other columns than the files before it") from None
    return whole


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    arrays = []
    for f in schema:
        if f.name in table.schema.names:
            arrays.append(table.column(f.name).cast(f.type))
        else:
            arrays.append(pa.nulls(table.num_rows, f.type))
    return pa.table(arrays, schema=schema)


# ------------------------------------------------------------------ files


class _Counted(io.RawIOBase):
    """A file that tells a meter how much of it has been read."""

    def __init__(self, file: IO[bytes], meter: Meter) -> None:
        self.file = file
        self.meter = meter

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.meter.advance(len(data))
        return data


def _whole(file: IO[bytes]) -> Any:
    return pa.BufferReader(file.read())
