"""What users hold: a query, made from text and asked of data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from augury.errors import DataError, QueryError, locating
from augury.lang.params import decoded, encoded
from augury.pattern import Pattern, text_of_pattern

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.runtime.matcher import Matcher

_VERSION = 1


class Query:
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

    def match(
        self,
        data: Any,
        *,
        time: str,
        type: str | None = None,
        key: str | Sequence[str] | None = None,
        tiebreak: str | Sequence[str] | None = None,
        output: str = "all",
        plan: str = "auto",
        match_id: bool = False,
        max_runs: int | None = None,
        bad_rows: str = "error",
    ) -> Any:
        """The query's matches: of a table a `pyarrow.Table`, of a Spark DataFrame a DataFrame.

        `time`, `type`, `key` and `tiebreak` name the columns that play those roles. `output` is "all",
        "non_overlap", "longest", "count" or "compressed". The answer depends on the data and the query
        alone: not on the order of rows, nor on the plan.

        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "x": [5, 6, 7]})
        >>> sase("PATTERN SEQ(A a, B b) RETURN a.x, b.x").match(events, time="ts", type="kind").to_pylist()
        [{'match_start': 1, 'match_end': 2, 'a_x': 5, 'b_x': 6}, {'match_start': 1, 'match_end': 3, 'a_x': 5, 'b_x': 7}]
        """
        return self._matched(
            data,
            None,
            time=time,
            type=type,
            key=key,
            tiebreak=tiebreak,
            output=output,
            plan=plan,
            match_id=match_id,
            max_runs=max_runs,
            bad_rows=bad_rows,
        )

    def profile(
        self,
        data: Any,
        *,
        time: str,
        type: str | None = None,
        key: str | Sequence[str] | None = None,
        tiebreak: str | Sequence[str] | None = None,
        output: str = "all",
        plan: str = "auto",
        match_id: bool = False,
        max_runs: int | None = None,
        bad_rows: str = "error",
    ) -> tuple[pa.Table, dict[str, int]]:
        """What `match` gives, and what it cost, in counts that are the same on every machine.

        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [1, 2, 3], "x": [5, 6, 7]})
        >>> query = sase("PATTERN SEQ(E a, E b) WHERE a.x < b.x WITHIN 2")
        >>> result, measures = query.profile(events, time="ts")
        >>> result.num_rows, measures["events"], measures["peak_runs"]
        (2, 3, 2)
        """
        measures: dict[str, int] = {}
        result = self._matched(
            data,
            measures,
            time=time,
            type=type,
            key=key,
            tiebreak=tiebreak,
            output=output,
            plan=plan,
            match_id=match_id,
            max_runs=max_runs,
            bad_rows=bad_rows,
        )
        return result, measures

    def _matched(self, data: Any, measures: dict[str, int] | None, **arguments: Any) -> Any:
        from augury.match.compressed import QUERY
        from augury.runtime.frames import is_frame
        from augury.runtime.table import Options, match_table

        if arguments["max_runs"] is None:
            del arguments["max_runs"]
        with locating(self._text):
            if is_frame(data):
                from augury.runtime.spark_batch import match_frame

                if measures is not None:
                    raise QueryError(
                        "profile measures in this process, and a Spark DataFrame is matched in others",
                        hint="profile a part of the data: query.profile(df.limit(1_000_000).toArrow(), …)",
                    )

                return match_frame(self._pattern, data, Options(**arguments))
            result = match_table(self._pattern, data, Options(**arguments), measures)
        if arguments["output"] == "compressed":
            metadata = {**(result.schema.metadata or {}), QUERY: self.to_json().encode()}
            result = result.replace_schema_metadata(metadata)
        return result

    def explain(
        self,
        data: Any = None,
        *,
        time: str | None = None,
        type: str | None = None,
        key: str | Sequence[str] | None = None,
        tiebreak: str | Sequence[str] | None = None,
        output: str = "all",
        plan: str = "auto",
        match_id: bool = False,
        kernel: bool = False,
    ) -> Explanation:
        """How `match` would evaluate the query: the plan and why, the automaton, where each predicate is tested.

        `data` is what `match` takes, or a `pyarrow.Schema`; without it the types of columns are not known, and what
        hangs on them is left out. `kernel=True` adds the program that is generated for the query, with the query's
        lines beside it; for the nulls that a kernel must look for, it reads the data.

        >>> told = sase("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5").explain()
        >>> print(told.partition("PLAN")[0].rstrip())
        QUERY
           1  PATTERN SEQ(A a, B b)
           2  WHERE a.x < b.x
           3  WITHIN 5
        """
        from augury.explain import explain

        with locating(self._text):
            return explain(
                *(self._pattern, data),
                time=time,
                type=type,
                key=key,
                tiebreak=tiebreak,
                output=output,
                plan=plan,
                match_id=match_id,
                kernel=kernel,
            )

    def matcher(
        self,
        schema: Any,
        *,
        time: str,
        type: str | None = None,
        key: str | Sequence[str] | None = None,
        tiebreak: str | Sequence[str] | None = None,
        output: str = "all",
        plan: str = "auto",
        match_id: bool = False,
        max_runs: int | None = None,
        bad_rows: str = "error",
        speculate: Any = 0,
        on_late: Callable[[pa.Table], object] | None = None,
        state: bytes | None = None,
    ) -> Matcher:
        """`match` for events that keep coming: insert them in any order, and say with `advance` what cannot come any more.

        >>> import pyarrow as pa
        >>> query = sase("PATTERN SEQ(A a, B b) RETURN a.x, b.x")
        >>> m = query.matcher(
        ...     pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64())]),
        ...     time="ts",
        ...     type="kind",
        ... )
        >>> m.insert(pa.table({"ts": [2, 1], "kind": ["B", "A"], "x": [6, 5]})).num_rows
        0
        >>> m.advance(3).to_pylist()
        [{'op': 'insert', 'match_start': 1, 'match_end': 2, 'a_x': 5, 'b_x': 6}]
        """
        from augury.runtime.by_engine import MAX_RUNS
        from augury.runtime.matcher import Matcher
        from augury.runtime.table import Options

        options = Options(
            time=time,
            type=type,
            key=key,
            tiebreak=tiebreak,
            output=output,
            plan=plan,
            match_id=match_id,
            max_runs=MAX_RUNS if max_runs is None else max_runs,
            bad_rows=bad_rows,
        )
        with locating(self._text):
            return Matcher(self._pattern, schema, options, speculate=speculate, on_late=on_late, state=state)

    def matching(self, **arguments: Any) -> Callable[[Any], Any]:
        """`match` with its arguments given, and the data yet to come: `df.transform(query.matching(time="ts"))`."""

        def match(data: Any) -> Any:
            return self.match(data, **arguments)

        return match

    def to_json(self) -> str:
        """The query as JSON text: its text and the values of its parameters, nothing that runs."""
        params = {name: encoded(value) for name, value in self._params.items()}
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


def from_json(text: str) -> Any:
    """The query that `to_json` wrote."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise QueryError(f"this is no query in JSON: {error}") from None
    if isinstance(data, dict) and data.get("language") == "afa" and data.get("augury") == _VERSION:
        from augury.afa_query import from_object

        return from_object(data)
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
        name: [decoded(v) for v in p] if isinstance(p, list) else decoded(p) for name, p in params.items()
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
