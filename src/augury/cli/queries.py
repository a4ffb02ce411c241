"""From a word at a prompt to a query: its text, a file, or standard input; and the values of its parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from augury.cli.files import STDIN, similar
from augury.cli.trouble import UsageError, of_the_system
from augury.cli.types import shown, type_named
from augury.errors import DataError, QueryError
from augury.query import Query, from_json, sase


def query_from(given: str, params: Sequence[str] = ()) -> Query:
    """The query that was given as text, as a file's name, or as `-` for standard input."""
    text = _query_text(given)
    values = dict(parameter(p) for p in params)
    if text.lstrip().startswith("{"):
        if values:
            raise UsageError("a query in JSON has its parameters with it; leave out --param")
        query = from_json(text)
        if not isinstance(query, Query):
            raise UsageError("the command line matches SASE+ queries; ask this one from Python")
        return query
    return sase(text, **values)


_LIKE = "a query begins with PATTERN, as in 'PATTERN SEQ(Login a, Transfer b) WITHIN 5 minutes'"


@contextmanager
def naming(given: str) -> Iterator[None]:
    """Give a query's error the name of the file that the query came from."""
    try:
        yield
    except QueryError as error:
        if error.span is not None and (given == STDIN or _is_file(given)):
            error.add_note("in the query from standard input" if given == STDIN else f"in {given}")
        raise


def _is_file(given: str) -> bool:
    looks_like_text = "\n" in given or given.lstrip()[:8].lower() == "pattern " or len(given) > 1000
    return not looks_like_text and Path(given).is_file()


def _query_text(given: str) -> str:
    if given == STDIN:
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if not given.strip():
        raise UsageError(f"the query is empty; {_LIKE}")
    if _is_file(given):
        return _decoded(_bytes_of(given), given)
    if Path(given).suffix in (".sase", ".txt", ".json") or not any(c in given for c in " (\n"):
        if Path(given).is_dir():
            raise UsageError(f"{given} is a folder; the query comes first, and {_LIKE}")
        raise UsageError(f"there is no file {given}, and {_LIKE}{similar(given)}")
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
            f"{name} is no text in UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}",
            hint="the query comes first, and then the data",
        ) from None


def parameter(text: str) -> tuple[str, Any]:
    """`limit=5` as a name and a value: a number, true, false or null if it reads as one, otherwise a string."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text!r} gives no value; write it as in limit=5")
    name, _, as_type = name.partition(":")
    if as_type:
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
