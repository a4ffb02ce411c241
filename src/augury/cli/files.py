"""Which files the words at a prompt name, and what format each has.

A folder stands for the data files in it; `day=2024-01-31` in their path, as Spark writes it, is a column.
"""

from __future__ import annotations

import difflib
import glob
import io
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import pyarrow as pa

from augury.cli.trouble import UsageError, of_the_system
from augury.errors import DataError

if TYPE_CHECKING:
    from augury.cli.screen import Meter

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
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_MAGIC = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow"))


_LOOK = 1 << 20  # how far standard input can be looked into before it is read


@dataclass(frozen=True, slots=True)
class Source:
    """One file to be read, or standard input: then `stream` can be looked into before it is read."""

    path: str
    format: str
    packed: str | None = None
    stream: Any = None
    partition: tuple[tuple[str, str | None], ...] = ()  # columns that the path tells
    folder: str = ""  # that was named, where the path below it tells columns

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
        """The lines with which the content begins, unpacked: about so much, and one at least.

        It can still be read whole after that.
        """
        if self.stream is not None:
            head = self.head(size)  # what has come through a pipe by now may end anywhere
            return head if head.count(b"\n") < 2 else head[: head.rindex(b"\n") + 1]
        with self.unpacked() as file:
            return first_lines(file, size)

    @contextmanager
    def unpacked(self, meter: Meter | None = None) -> Iterator[Any]:
        """The content as a stream that Arrow reads; what is read of the file is told to the meter."""
        with self.stream or Path(self.path).open("rb") as raw:
            file = pa.PythonFile(raw if meter is None else _Counted(raw, meter), mode="r")
            yield file if self.packed is None else pa.CompressedInputStream(file, self.packed)


def first_lines(file: Any, size: int) -> bytes:
    """The lines with which a file begins: about so much, and one at least."""
    head = bytes(file.read(size))
    while b"\n" not in head and (more := file.read(size)):
        head += more
    if len(head) < size or b"\n" not in head:
        return head
    return head[: head.rindex(b"\n") + 1]


def sources_from(paths: Sequence[str], input_format: str | None = None) -> tuple[Source, ...]:
    """The files that the words name: paths, globs, folders, `-`; nothing at all is standard input."""
    if not paths:
        if sys.stdin.isatty():
            raise UsageError("no data: name files (parquet, CSV, JSON lines, Arrow), or - for standard input")
        paths = (STDIN,)
    if "" in paths:
        raise UsageError("one of DATA is empty: is a variable of the shell not set?")
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input can be read once only; give - once")
    return tuple(_located(_source(file, input_format), path) for path in paths for file in _files(path))


def _located(source: Source, folder: str) -> Source:
    """The source with the columns that its path below the folder tells."""
    if source.path == folder or not Path(folder).is_dir():
        return source
    parts = [p.partition("=") for p in Path(source.path).relative_to(folder).parts[:-1]]
    told = tuple(
        (name, None if value == _NO_VALUE else urllib.parse.unquote(value))
        for name, sign, value in parts
        if sign
    )
    return replace(source, partition=told, folder=folder if told else "")


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
    raise DataError(f"there is no file {path}{similar(path)}")


def _matching(pattern: str) -> list[str]:
    path = Path(pattern)
    inside = Path(path.anchor) if path.anchor else Path()
    return sorted(str(f) for f in inside.glob(str(path.relative_to(path.anchor))) if f.is_file())


def similar(path: str) -> str:
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
        stream = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer), _LOOK)
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


def mistaken(source: Source) -> str | None:
    """The format that a file has by its first bytes, where that is not the one that its name tells."""
    if source.stream is not None or source.packed is not None or not source.size:
        return None
    found = _sniffed(source)
    binary = {name for _, name in _MAGIC}
    return found if found != source.format and binary & {found, source.format} else None


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
