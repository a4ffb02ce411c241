"""Many queries over one stream, of any languages: asked together, and answered as one table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from augury.asking import Asking, check_member
from augury.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.pictures.diagram import Diagram
    from augury.runtime.options import Arguments, Options
    from augury.runtime.sets import SetMatcher, Sets


class QuerySet(Asking):
    """Queries by their names. The first column of the result, `query`, says whose each row is.

    >>> import augury as ag
    >>> import pyarrow as pa
    >>> S = ag.stream("Stock")
    >>> queries = QuerySet({"high": S.where("price > 5"), "low": S.where("price < 2")})
    >>> events = pa.table({"ts": [1, 2, 3], "price": [1, 9, 3]})
    >>> queries.match(events, time="ts").to_pylist()
    [{'query': 'low', 'price': 1, 'start': 1, 'end': 1}, {'query': 'high', 'price': 9, 'start': 2, 'end': 2}]
    """

    __slots__ = ("_queries",)
    in_sets = False

    def __init__(self, queries: Mapping[str, Asking]) -> None:
        if not isinstance(queries, Mapping):
            raise QueryError(
                f"a set is made of queries by their names, not of {type(queries).__name__}",
                hint='write ag.QuerySet({"fraud": query, …})',
            )
        for name, query in queries.items():
            check_member(name, query)
        self._queries = dict(queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __getitem__(self, name: str) -> Asking:
        return self._queries[name]

    def __repr__(self) -> str:
        if len(self._queries) > 10:
            return f"<augury.QuerySet of {len(self._queries)} queries>"
        return f"augury.QuerySet({self._queries!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuerySet) and self._queries == other._queries

    def __hash__(self) -> int:
        return hash(frozenset(self._queries.items()))

    def _program(self, schema: pa.Schema, options: Options) -> Sets:
        from augury.runtime.sets import program_of

        found = program_of(self._queries, schema, options)
        found.reader = query_of
        return found

    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        from augury.explain.cesar import explain_set

        return explain_set(self._queries, data, options, kernel=kernel)

    def _diagram(self) -> Diagram:
        from augury.pictures.diagram import merged

        return merged({name: query._diagram() for name, query in self._queries.items()})  # noqa: SLF001

    def matcher(
        self, schema: Any, *, state: bytes | None = None, **arguments: Unpack[Arguments]
    ) -> SetMatcher:
        """`match` for events that keep coming; queries come and go with `add` and `remove`.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> m = QuerySet({}).matcher(pa.schema([("ts", pa.int64()), ("x", pa.int64())]), time="ts")
        >>> m.add("big", ag.stream("E").where("x > 1")).num_rows
        0
        >>> m.insert(pa.table({"ts": [1, 2], "x": [1, 2]})).num_rows
        0
        >>> m.close().to_pylist()
        [{'op': 'insert', 'query': 'big', 'x': 2, 'start': 2, 'end': 2}]
        """
        from augury.runtime.matcher import schema_of
        from augury.runtime.sets import SetMatcher

        options = self._options("matcher", arguments)
        columns = schema_of(schema)
        return SetMatcher(self._program(columns, options), columns, state=state)

    def to_json(self) -> str:
        """The queries as JSON text, each as its own `to_json` writes it."""
        from augury.query import VERSION

        queries = {name: json.loads(query.to_json()) for name, query in self._queries.items()}
        return json.dumps({"augury": VERSION, "language": "set", "queries": queries})


def query_of(text: str) -> Asking:
    """The query of a change: JSON, or the text of one in SASE+."""
    from augury.query import from_json, sase

    return from_json(text) if text.lstrip().startswith("{") else sase(text)


def read(data: dict[str, Any]) -> QuerySet:
    """The set of a JSON object that `to_json` made."""
    from augury.query import from_json

    queries = data.get("queries")
    if not isinstance(queries, dict):
        raise QueryError("this JSON holds no queries", hint="from_json reads what to_json wrote")
    return QuerySet({name: from_json(json.dumps(query)) for name, query in queries.items()})
