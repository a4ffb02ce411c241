"""What every query answers to, whatever language it is in: match, profile, explain, matcher.

A language's query says how it meets the columns of its data (`_program`); the runtimes do the rest. The arguments are
one list for all: `Options`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from augury.errors import QueryError, locating
from augury.runtime.options import Options

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.algebra import Node
    from augury.explain import Explanation
    from augury.pictures.canvas import Picture
    from augury.pictures.diagram import Diagram
    from augury.runtime.matcher import Matcher
    from augury.runtime.options import Arguments
    from augury.runtime.program import Program


class Asking(ABC):
    """A query, of any language. It never changes."""

    __slots__ = ()

    @abstractmethod
    def _program(self, schema: pa.Schema, options: Options) -> Program:
        """The query that has met its data's columns: all that is wrong with it is told here."""

    @abstractmethod
    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        """What `explain` says. Where there is no data, `options.time` may be empty."""

    @abstractmethod
    def to_json(self) -> str:
        """The query as JSON text, which `ag.from_json` reads: nothing that runs."""

    in_sets: ClassVar[bool] = True  # whether a QuerySet can hold it

    @property
    def _algebra(self) -> Node | None:
        """Of a CESAR expression its node: a set evaluates such together."""
        return None

    @property
    def _types(self) -> frozenset[str]:
        """The stream types that the query names."""
        return frozenset()

    @property
    def _source(self) -> str:
        """The text that errors point into."""
        return ""

    def match(self, data: Any, **arguments: Unpack[Arguments]) -> Any:
        """The query's matches: of a table a `pyarrow.Table`, of a Spark DataFrame a DataFrame.

        `time`, `type`, `key` and `tiebreak` name the columns that play those roles. `output` is "all",
        "non_overlap", "longest", "count" or "compressed". The answer depends on the data and the query
        alone: not on the order of rows, nor on the plan.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "x": [5, 6, 7]})
        >>> query = ag.sase("PATTERN SEQ(A a, B b) RETURN a.x, b.x")
        >>> query.match(events, time="ts", type="kind").to_pylist()
        [{'match_start': 1, 'match_end': 2, 'a_x': 5, 'b_x': 6}, {'match_start': 1, 'match_end': 3, 'a_x': 5, 'b_x': 7}]
        """
        return self._matched(data, None, self._options("match", arguments))

    def profile(self, data: Any, **arguments: Unpack[Arguments]) -> tuple[pa.Table, dict[str, int]]:
        """What `match` gives, and what it cost, in counts that are the same on every machine.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> events = pa.table({"ts": [1, 2, 3], "x": [5, 6, 7]})
        >>> query = ag.sase("PATTERN SEQ(E a, E b) WHERE a.x < b.x WITHIN 2")
        >>> result, measures = query.profile(events, time="ts")
        >>> result.num_rows, measures["events"], measures["peak_runs"]
        (2, 3, 2)
        """
        measures: dict[str, int] = {}
        result = self._matched(data, measures, self._options("profile", arguments))
        return result, measures

    def _matched(self, data: Any, measures: dict[str, int] | None, options: Options) -> Any:
        from augury.match.compressed import QUERY
        from augury.runtime.frames import is_frame
        from augury.runtime.table import match_table

        with locating(self._source):
            if is_frame(data):
                from augury.runtime.spark_batch import match_frame

                if measures is not None:
                    raise QueryError(
                        "profile measures in this process, and a Spark DataFrame is matched in others",
                        hint="profile a part of the data: query.profile(df.limit(1_000_000).toArrow(), …)",
                    )

                return match_frame(self._program, data, options)
            options.of_a_table()
            result = match_table(self._program, data, options, measures)
        if options.output == "compressed":
            metadata = {**(result.schema.metadata or {}), QUERY: self.to_json().encode()}
            result = result.replace_schema_metadata(metadata)
        return result

    def explain(
        self,
        data: Any = None,
        *,
        kernel: bool = False,
        **arguments: Any,
    ) -> Explanation:
        """How `match` would evaluate the query: the plan and why, the automaton, where each predicate is tested.

        `data` is what `match` takes, or a `pyarrow.Schema`; without it the types of columns are not known, and what
        hangs on them is left out. `kernel=True` adds the program that is generated for the query, with the query's
        lines beside it; for the nulls that a kernel must look for, it reads the data.

        >>> import augury as ag
        >>> told = ag.sase("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5").explain()
        >>> print(told.partition("PLAN")[0].rstrip())
        QUERY
           1  PATTERN SEQ(A a, B b)
           2  WHERE a.x < b.x
           3  WITHIN 5
        """
        given = "time" in arguments and arguments["time"] is not None
        options = self._options("explain", {**arguments, "time": arguments["time"] if given else ""})
        if data is not None and not given:
            raise QueryError(
                "explain() was given data, but not which of its columns is the time",
                hint='pass time=, as match() takes it: time="ts", say',
            )
        with locating(self._source):
            return self._explained(data, options, kernel=kernel)

    def plot(self) -> Picture:
        """Draw the query's automaton: its states, the conditions of its arcs, and what runs remember. A notebook shows it;
        `.save("query.svg")` writes it.

        >>> import augury as ag
        >>> picture = ag.sase("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5").plot()
        >>> picture.svg().startswith("<?xml")
        True
        """
        from augury.pictures.spine import draw

        return draw(self._diagram())

    def _diagram(self) -> Diagram:
        """What `plot` draws."""
        raise QueryError("queries of this language have no picture yet")

    def _repr_html_(self) -> str:
        """How a notebook shows the query: its text, and its automaton where pictures can be drawn."""
        from augury.pictures.html import of_query

        return of_query(str(self), self.plot)

    def matcher(self, schema: Any, *, state: bytes | None = None, **arguments: Unpack[Arguments]) -> Matcher:
        """`match` for events that keep coming: insert them in any order, and say with `advance` what cannot come any more.

        >>> import augury as ag
        >>> import pyarrow as pa
        >>> query = ag.sase("PATTERN SEQ(A a, B b) RETURN a.x, b.x")
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
        from augury.runtime.matcher import Matcher, schema_of

        options = self._options("matcher", arguments)
        columns = schema_of(schema)
        with locating(self._source):
            return Matcher(self._program(columns, options), columns, state=state)

    def matching(self, **arguments: Unpack[Arguments]) -> Callable[[Any], Any]:
        """`match` with its arguments given, and the data yet to come: `df.transform(query.matching(time="ts"))`."""

        def match(data: Any) -> Any:
            return self.match(data, **arguments)

        return match

    def _options(self, called: str, arguments: Any) -> Options:
        try:
            return Options(**arguments)
        except TypeError:
            known = {f.name: f for f in fields(Options)}
            for name in arguments:
                if name not in known:
                    raise TypeError(f"{called}() got an unexpected keyword argument {name!r}") from None
            raise TypeError(f"{called}() missing 1 required keyword-only argument: 'time'") from None


def check_member(name: object, query: object) -> None:
    """That a set can hold a query by a name."""
    if not isinstance(name, str) or not name:
        raise QueryError(f"a query of a set has a name, not {name!r}", hint="names are strings")
    if not isinstance(query, Asking) or not query.in_sets:
        what = "a set itself" if isinstance(query, Asking) else f"{type(query).__name__}, no query"
        raise QueryError(
            f"{name!r} is {what}", hint="make queries with ag.sase, ag.stream or an automaton's query()"
        )


def _signed(method: Callable[..., Any]) -> None:
    """Put the names and defaults of all arguments into a method's signature, as `help` shows it."""
    own = inspect.signature(method)
    keep = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    asked = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
        )
        for f in fields(Options)
    ]
    method.__signature__ = own.replace(parameters=[*keep, *asked])  # type: ignore[attr-defined]


for _method in (Asking.match, Asking.profile, Asking.explain, Asking.matcher, Asking.matching):
    _signed(_method)
