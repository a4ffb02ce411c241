"""What users hold: a query, made from text and asked of data."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from augury.asking import Asking
from augury.errors import DataError, QueryError, locating
from augury.pattern import Pattern, text_of_pattern

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.runtime.options import Options
    from augury.runtime.program import Program

_VERSION = 1


class Query(Asking):
    """A SASE+ query. Make one with `ag.sase`; it never changes.

    >>> import augury as ag
    >>> query = ag.sase("PATTERN SEQ(Login a, Transfer b) WHERE [user] WITHIN 5 minutes")
    >>> query == ag.from_json(query.to_json())
    True
    """

    __slots__ = ("_params", "_pattern", "_text")

    def __init__(self, pattern: Pattern, text: str, params: Mapping[str, Any]) -> None:
        self._pattern = pattern
        self._text = text
        self._params = dict(params)

    @property
    def pattern(self) -> Pattern:
        """What the query says, as every engine reads it."""
        return self._pattern

    @property
    def text(self) -> str:
        """The query as it was written; `str(query)` is the same in canonical form."""
        return self._text

    @property
    def params(self) -> dict[str, Any]:
        """The values bound to `:names`."""
        return dict(self._params)

    def __str__(self) -> str:
        return text_of_pattern(self._pattern)

    def __repr__(self) -> str:
        named = [
            f"{name}={v!r}" for name, v in self._params.items() if name.isidentifier() and not iskeyword(name)
        ]
        others = {name: v for name, v in self._params.items() if not name.isidentifier() or iskeyword(name)}
        return f"augury.sase({', '.join([repr(self._text), *named, *([f'**{others!r}'] if others else [])])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self._pattern == other._pattern

    def __hash__(self) -> int:
        return hash(self._pattern)

    def _program(self, schema: pa.Schema, options: Options) -> Program:
        from augury.runtime.sequences import program_of

        return program_of(self._pattern, schema, options)

    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        from augury.explain import explain

        return explain(self._pattern, data, options, kernel=kernel)

    @property
    def _source(self) -> str:
        return self._text

    def to_json(self) -> str:
        """The query as JSON text: its text and the values of its parameters, nothing that runs."""
        params = {name: _encoded(value) for name, value in self._params.items()}
        return json.dumps({"augury": _VERSION, "language": "sase", "text": self._text, "params": params})


def sase(text: str, /, **params: Any) -> Query:
    """A query in SASE+. Values for its `:names` are given by name and stay values.

    >>> query = sase("PATTERN Stock a WHERE a.price > :limit", limit=5)
    >>> query.params
    {'limit': 5}
    """
    from augury.lang.params import bound_params
    from augury.lang.sase import parse

    return Query(parse(text, params), text, bound_params(params))


def from_json(text: str) -> Query:
    """The query that `to_json` wrote."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise QueryError(f"this is no query in JSON: {error}") from None
    if not isinstance(data, dict) or data.get("language") != "sase" or not isinstance(data.get("text"), str):
        raise QueryError("this JSON holds no query", hint="from_json reads what to_json wrote")
    if data.get("augury") != _VERSION:
        raise QueryError(
            f"this query was written in version {data.get('augury')!r} of the format, known is {_VERSION}",
            hint="use the Augury that wrote it, or a newer one",
        )
    params = data.get("params", {})
    if not isinstance(params, dict):
        raise QueryError("this JSON holds no query: its params are no object")
    values = {
        name: [_decoded(v) for v in p] if isinstance(p, list) else _decoded(p) for name, p in params.items()
    }
    return sase(data["text"], **values)


def expand(table: Any, query: Query | None = None, *, match_id: bool = False) -> Any:
    """The rows of `output="all"` from a table of `output="compressed"`, or from a Spark DataFrame.

    The table remembers its query in its schema's metadata; where that was lost, pass the query. A DataFrame
    remembers nothing.
    """
    from augury.match.compressed import QUERY
    from augury.runtime.expanding import expand as expand_rows
    from augury.runtime.frames import is_frame
    from augury.schema import as_table

    if is_frame(table):
        from augury.runtime.spark_expand import expand_frame

        if query is None:
            raise DataError("a DataFrame does not say which query made it; pass it: ag.expand(df, query)")
        with locating(query.text):
            return expand_frame(table, query.pattern, match_id=match_id)
    rows = as_table(table)
    if query is None:
        stored = (rows.schema.metadata or {}).get(QUERY)
        if stored is None:
            raise DataError("the table does not say which query made it; pass it: ag.expand(table, query)")
        query = from_json(stored.decode())
    with locating(query.text):
        return expand_rows(rows, query.pattern, match_id=match_id)


# ------------------------------------------------------------------ values of parameters in JSON

_KINDS: tuple[tuple[str, type, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    ("datetime", dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    ("date", dt.date, dt.date.isoformat, dt.date.fromisoformat),
    (
        "microseconds",
        dt.timedelta,
        lambda v: v // dt.timedelta(microseconds=1),
        lambda n: dt.timedelta(microseconds=n),
    ),
    ("decimal", Decimal, str, Decimal),
    ("float", float, repr, float),
    ("bytes", bytes, lambda v: base64.b64encode(v).decode(), lambda s: base64.b64decode(s, validate=True)),
)


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encoded(v) for v in value]
    for name, type_, encode, _ in _KINDS:
        if isinstance(value, type_):
            return {name: encode(value)}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        raise QueryError("this JSON holds no query: a parameter is a list of lists")
    if isinstance(value, dict):
        for name, _, _, decode in _KINDS:
            if value.keys() == {name}:
                try:
                    return decode(value[name])
                except (ValueError, TypeError, ArithmeticError):
                    break
        raise QueryError(
            f"this JSON holds no query: {value!r} is no value", hint="from_json reads what to_json wrote"
        )
    return value
