"""What users hold: a query, made from text and asked of data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from augury.asking import Asking
from augury.errors import DataError, QueryError, locating
from augury.lang.params import decoded_value, encoded
from augury.pattern import Pattern, text_of_pattern

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.pictures.diagram import Diagram
    from augury.runtime.options import Options
    from augury.runtime.program import Program
    from augury.why import Why

VERSION = 1


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
        if options.is_imprecise:
            from augury.runtime.uncertain import program_of as uncertain_program_of

            return uncertain_program_of(self._pattern, schema, options, self.to_json())
        from augury.runtime.sequences import program_of

        return program_of(self._pattern, schema, options)

    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        if options.is_imprecise:
            from augury.explain.uncertain import explain as explain_uncertain

            return explain_uncertain(self._pattern, data, options)
        from augury.explain import explain

        return explain(self._pattern, data, options, kernel=kernel)

    def why(
        self,
        data: Any,
        *,
        time: str | None = None,
        type: str | None = None,
        key: Any = None,
        tiebreak: Any = None,
        events: Any = None,
        event: Any = None,
        limit: int = 5,
        bad_rows: str = "error",
    ) -> Why:
        """Why the query did or did not match: the nearest misses, what ended each, and the smallest changes that would match.

        `data`, `time`, `type`, `key` and `tiebreak` are those of `match`; `key={"user": 7}` takes the events of one key out of
        a table or a Spark DataFrame. `events` asks of certain events why they are no match, `{"a": 0, "b": [2, 3]}` or a list:
        each is the number of its row (bad ones not counted) or a dict of its columns' values. `event` asks for the misses that one event has a part in.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [1, 9], "kind": ["A", "B"], "x": [5, 4]})
        >>> query = ag.sase("PATTERN SEQ(A a, B b) WHERE b.x < a.x WITHIN 5")
        >>> answer = query.why(events, time="ts", type="kind")
        >>> [change.said for change in answer.changes]
        ['WITHIN 9']
        >>> answer.changes[0].query.match(events, time="ts", type="kind").num_rows
        1
        """
        from augury.why import why

        arguments = {"type": type, "tiebreak": tiebreak, "bad_rows": bad_rows}
        return why(
            self, data, time=time, key=key, events=events, event=event, limit=limit, arguments=arguments
        )

    def _diagram(self) -> Diagram:
        from augury.pictures.diagram import of_pattern

        return of_pattern(self._pattern)

    @property
    def _types(self) -> frozenset[str]:
        return frozenset(c.type for c in self._pattern.components)

    @property
    def _source(self) -> str:
        return self._text

    def to_json(self) -> str:
        """The query as JSON text: its text and the values of its parameters, nothing that runs."""
        params = {name: encoded(value) for name, value in self._params.items()}
        return json.dumps({"augury": VERSION, "language": "sase", "text": self._text, "params": params})


def sase(text: str, /, **params: Any) -> Query:
    """A query in SASE+. Values for its `:names` are given by name and stay values.

    >>> query = sase("PATTERN Stock a WHERE a.price > :limit", limit=5)
    >>> query.params
    {'limit': 5}
    """
    from augury.lang.params import bound_params
    from augury.lang.sase import parse

    return Query(parse(text, params), text, bound_params(params))


def from_json(text: str) -> Asking:
    """The query, of whatever language, that `to_json` wrote."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise QueryError(f"this is no query in JSON: {error}") from None
    if not isinstance(data, dict) or str(data.get("language")) not in _READERS:
        raise QueryError("this JSON holds no query", hint="from_json reads what to_json wrote")
    if data.get("augury") != VERSION:
        raise QueryError(
            f"this query was written in version {data.get('augury')!r} of the format, known is {VERSION}",
            hint="use the Augury that wrote it, or a newer one",
        )
    return _READERS[str(data["language"])](data)


def _sase_of(data: dict[str, Any]) -> Query:
    params = data.get("params", {})
    if not isinstance(params, dict) or not isinstance(data.get("text"), str):
        raise QueryError("this JSON holds no query", hint="from_json reads what to_json wrote")
    return sase(data["text"], **{name: decoded_value(p) for name, p in params.items()})


def _cesar_of(data: dict[str, Any]) -> Asking:
    from augury.cesar_json import read

    return read(data)


def _afa_of(data: dict[str, Any]) -> Asking:
    from augury.afa_query import from_object

    return from_object(data)


def _set_of(data: dict[str, Any]) -> Asking:
    from augury.query_set import read

    return read(data)


_READERS: dict[str, Callable[[dict[str, Any]], Asking]] = {
    "sase": _sase_of,
    "cesar": _cesar_of,
    "afa": _afa_of,
    "set": _set_of,
}


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
        found = from_json(stored.decode())
        assert isinstance(found, Query)  # no other language has compressed results
        query = found
    with locating(query.text):
        return expand_rows(rows, query.pattern, match_id=match_id)


def point_matches(
    row: Any,
    query: Query | None = None,
    stream: Any = None,
    *,
    time: tuple[str, str] | None = None,
    pmf: str | None = None,
    type: str | None = None,
    key: Any = None,
) -> pa.Table:
    """The point matches of one row over imprecise times: an instant for each variable, and its `probability`.

    `row` is a result's slice of one row, which remembers its query and columns, or a dict beside which they are given.
    Under skip_till_next_match it needs the stream that was matched.

    >>> import pyarrow as pa
    >>> events = pa.table({"kind": ["A", "B"], "lower": [1, 2], "upper": [2, 3]})
    >>> found = sase("PATTERN SEQ(A a, B b)").match(events, time=("lower", "upper"), type="kind")
    >>> found.column("confidence").to_pylist()
    [0.75]
    >>> point_matches(found.slice(0, 1)).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'a': 1, 'b': 2, 'probability': 0.25},
     {'a': 1, 'b': 3, 'probability': 0.25},
     {'a': 2, 'b': 3, 'probability': 0.25}]
    """
    from augury.runtime.point_matches import point_matches as listed

    def read(text: str) -> Pattern:
        found = from_json(text)
        assert isinstance(found, Query)  # no other language has point matches
        return found.pattern

    pattern = None if query is None else query.pattern
    with locating(None if query is None else query.text):
        return listed(row, pattern, read, stream, time=time, pmf=pmf, type_=type, key=key)
