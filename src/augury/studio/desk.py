"""What the page asks: each question a method, its answer a dict that JSON can hold."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from augury import generate
from augury.cli.demos import DEMOS
from augury.cli.inputs import data_from
from augury.cli.queries import parameter
from augury.cli.textfiles import TextOptions
from augury.cli.trouble import UsageError
from augury.errors import AuguryError, QueryError, one_line
from augury.expr.columns import physical_values
from augury.expr.printing import quoted
from augury.expr.types import NUMBERS, Kind
from augury.match.gather import decoded
from augury.pattern import text_of_pattern
from augury.pictures.found import Found, found_in
from augury.query import Query, sase
from augury.schema import Columns
from augury.semantics.sase import key_value
from augury.time import is_time
from augury.why.answer import why

LISTED = 2_000  # matches that are listed one by one; of more, those that do not overlap
LANES, EVENTS, ROWS = 12, 1_500, 100  # lanes, events of a lane, and rows of the result that are shown
AROUND = 1_000  # events on each side of one that is asked about
KEPT = 6  # tables that are held
SAMPLE_ROWS = 800
SAMPLES = {
    **DEMOS,
    "stock": replace(  # what the demonstration looks for is too rare for a few hundred ticks
        DEMOS["stock"],
        story="Stock ticks. Where did the price of a symbol rise three times or more in a row, and then fall?",
        text="""\
PATTERN SEQ(Stock a, Stock+ b[], Stock c)
WHERE   strict_contiguity(a, b, c) {
          b[1].price > a.price AND b[i].price > b[i-1].price AND
          b.LEN >= 3 AND c.price < b[b.LEN].price }
WITHIN  100""",
        key="symbol",
    ),
    "cluster": replace(DEMOS["cluster"], key="job"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and its roles, as the page has them."""

    text: str
    data: str
    params: tuple[str, ...]
    roles: dict[str, Any]
    y: str | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Asked:
        def text(name: str) -> str:
            value = body.get(name) or ""
            if not isinstance(value, str):
                raise UsageError(f"{name} is no text")
            return value

        given = body.get("key") or []
        keys = [k for k in given if isinstance(k, str)] if isinstance(given, list) else []
        roles: dict[str, Any] = {"time": text("time"), "type": text("type") or None, "key": keys or None}
        params = tuple(line.strip() for line in text("params").split("\n") if line.strip())
        return cls(text("query"), text("data"), params, roles, text("y") or None)

    def query(self) -> Query:
        """The query with its parameters; always text, never the name of a file."""
        return sase(self.text, **dict(parameter(p) for p in self.params))


@dataclass
class Desk:
    """The tables that are held, and what is asked of them. Matplotlib is for one thread at a time."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def answer(self, question: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question; what is wrong with the query or the data is an answer too."""
        asks = {
            "samples": self.samples,
            "sample": self.sample,
            "check": self.check,
            "run": self.run,
            "why": self.why,
        }
        with self.lock:
            try:
                return asks[question](body)
            except AuguryError as error:
                return {"error": told(error)}

    # -------------------------------------------------------------- data

    def samples(self, _body: Mapping[str, Any]) -> dict[str, Any]:
        return {"samples": [{"name": name, "story": demo.story} for name, demo in SAMPLES.items()]}

    def sample(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A stream that is made up, and a query for it."""
        name = body.get("name")
        if name not in SAMPLES:
            raise UsageError(f"there is no sample {name!r}; there are {', '.join(SAMPLES)}")
        demo = SAMPLES[name]
        table = pa.concat_tables(generate.stream(demo.stream, SAMPLE_ROWS, seed=1))
        roles = {"time": "ts", "type": "kind", "key": [demo.key] if demo.key else []}
        return {**self.held(table, f"sample: {name}"), **roles, "query": demo.text, "story": demo.story}

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """A file: parquet, Arrow, CSV or JSON lines, by its ending or its content."""
        with self.lock, tempfile.TemporaryDirectory(prefix="augury-") as folder:
            path = Path(folder) / f"upload{''.join(Path(name).suffixes[-2:])}"
            path.write_bytes(content)
            try:
                table = data_from([str(path)], None, TextOptions()).read(quiet=True)
            except AuguryError as error:
                return {"error": {"message": one_line(str(error).replace(str(path), name))}}
            columns = Columns.of(table.schema).types
            times = [n for n, t in columns.items() if is_time(t)]
            dated = [n for n in times if columns[n].kind in (Kind.TIMESTAMP, Kind.DATE)]
            known = [
                n
                for n in columns
                if n.lower() in ("kind", "type", "event", "event_type") and columns[n].kind is Kind.STRING
            ]
            roles = {"time": (dated or times or [""])[0], "type": (known or [""])[0], "key": []}
            return {**self.held(table, name), **roles}

    def held(self, table: pa.Table, name: str) -> dict[str, Any]:
        """Keep a table, and say what it is."""
        data = str(next(self.numbers))
        self.tables[data] = table
        for old in list(self.tables)[:-KEPT]:
            del self.tables[old]
        columns = Columns.of(table.schema).types
        return {
            "data": data,
            "name": one_line(name),
            "rows": table.num_rows,
            "columns": [
                {
                    "name": n,
                    "type": str(t),
                    "time": is_time(t),
                    "number": t.kind in NUMBERS,
                    "text": t.kind is Kind.STRING,
                }
                for n, t in columns.items()
            ],
        }

    def table(self, asked: Asked) -> pa.Table:
        if asked.data not in self.tables:
            raise UsageError("these data are not held any more; choose them again")
        return self.tables[asked.data]

    # -------------------------------------------------------------- the query

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What is wrong with the query, by itself and for the data; and its automaton."""
        asked = Asked.of(body)
        query = asked.query()
        if asked.data and asked.roles["time"]:
            query.explain(self.table(asked).schema, **asked.roles)
        return {"svg": _drawn(query.plot), "text": str(query)}

    def run(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The matches: rows of the result, and by lane the events that they bind."""
        asked = Asked.of(body)
        query, table = asked.query(), self.table(asked)
        _with_time(asked)
        began = clock.perf_counter()
        counted = query.match(table, output="count", **asked.roles)
        total = sum(int(n) if n is not None else LISTED for n in counted.column("count").to_pylist())
        output = "all" if total <= LISTED else "non_overlap"
        result = query.match(table, output=output, **asked.roles)
        found = _bound(query, table, asked, output)
        return {
            "total": total,
            "output": output,
            "took": round(clock.perf_counter() - began, 3),
            "clock": Columns.of(table.schema).types[asked.roles["time"]].kind.name.lower(),
            "lanes": _lanes(found, table, asked),
            "names": result.schema.names,
            "result": [[_cell(v) for v in row.values()] for row in result.slice(0, ROWS).to_pylist()],
            "rows": result.num_rows,
        }

    def why(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Why an event is in no match: of the events of its key that stand around it."""
        asked = Asked.of(body)
        query, table = asked.query(), self.table(asked)
        _with_time(asked)
        query.explain(table.schema, **asked.roles)  # what does not fit the columns is told first
        event = body.get("event")
        if not isinstance(event, int) or not 0 <= event < table.num_rows:
            raise UsageError(f"there is no event {event!r}")
        rows = _of_its_key(table, asked.roles["key"] or [], event)
        times = physical_values(
            table.column(asked.roles["time"]), Columns.of(table.schema).types[asked.roles["time"]]
        )
        rows.sort(key=lambda r: (times[r] is None, times[r] or 0, r))
        at = rows.index(event)
        near = sorted(rows[max(0, at - AROUND) : at + AROUND])
        answer = why(
            query,
            table.take(pa.array(near)),
            time=asked.roles["time"],
            key=asked.roles["key"],
            events=None,
            event=near.index(event),
            limit=3,
            arguments={"type": asked.roles["type"], "bad_rows": "error"},
            numbers=near,
        )
        svg = _drawn(answer.plot) if answer.misses else None
        changes = [{"said": str(c), "query": str(c.query)} for c in answer.changes]
        return {"text": str(answer), "headline": answer.headline(), "svg": svg, "changes": changes}


def _with_time(asked: Asked) -> None:
    if not asked.roles["time"]:
        raise UsageError("choose the column that is the time")


def told(error: AuguryError) -> dict[str, Any]:
    """An error as the page shows it; of a query with its place."""
    if not isinstance(error, QueryError):
        return {"message": str(error)}
    span = None if error.span is None else [error.span.start, max(error.span.end, error.span.start + 1)]
    return {
        "message": error.message,
        "hint": error.hint,
        "line": error.line,
        "column": error.column,
        "span": span,
    }


def _drawn(plot: Any) -> str | None:
    """A picture as SVG, where Matplotlib is there."""
    if find_spec("matplotlib") is None:
        return None
    svg: str = plot().svg()
    return svg[svg.index("<svg") :]


def _bound(query: Query, table: pa.Table, asked: Asked, output: str) -> list[Found]:
    """The matches with the rows that they bind: the same query without RETURN, its events ordered as RETURN has them ordered."""
    number = "row"
    while number in table.schema.names:
        number += "_"
    numbered = table.append_column(number, pa.array(range(table.num_rows), pa.int64()))
    pattern = query.pattern
    reads = query._program(table.schema, query._options("match", asked.roles)).reads  # noqa: SLF001  # how `match` orders
    plain = replace(pattern, returns=None)
    same = Query(plain, text_of_pattern(plain), query.params)
    result = same.match(numbered, output=output, tiebreak=list(reads), **asked.roles)
    found, _, _ = found_in(result.slice(0, LISTED), (asked.roles["time"], None), number)
    return found


def _lanes(found: list[Found], table: pa.Table, asked: Asked) -> list[dict[str, Any]]:
    """By key the events and the matches: first the keys that have matches."""
    keys = asked.roles["key"] or []
    values = [decoded(table.column(k)).to_pylist() for k in keys]
    types = Columns.of(table.schema).types
    times = physical_values(table.column(asked.roles["time"]), types[asked.roles["time"]])
    kinds = (
        decoded(table.column(asked.roles["type"])).to_pylist() if asked.roles["type"] else [None] * len(times)
    )
    heights: list[Any] = [None] * len(times)
    if asked.y is not None and asked.y in types and types[asked.y].kind in NUMBERS:
        heights = physical_values(table.column(asked.y), types[asked.y])
    of_row = (
        [tuple("NaN" if v != v else v for v in key) for key in zip(*values, strict=True)]
        if keys
        else [()] * len(times)
    )
    lanes: dict[tuple[Any, ...], dict[str, Any]] = {}
    order = [of_row[int(m.events[0].value or 0)] for m in found if m.events] + of_row
    for key in itertools.islice(dict.fromkeys(order), LANES):
        name = ", ".join(f"{quoted(k)} = {v}" for k, v in zip(keys, key, strict=True))
        lanes[key] = {"name": one_line(name), "events": [], "matches": [], "more": 0}
    for row in sorted((r for r, t in enumerate(times) if t is not None), key=lambda r: (times[r], r)):
        lane = lanes.get(of_row[row])
        if lane is not None:
            y = heights[row]
            lane["events"].append(
                [row, times[row], _cell(kinds[row]), None if y is None or y != y else float(y)]
            )
    for match in found:
        lane = lanes.get(of_row[int(match.events[0].value or 0)]) if match.events else None
        if lane is not None:
            bound = [[int(e.value or 0), e.var] for e in match.events]
            lane["matches"].append({"start": match.start, "end": match.end, "events": bound})
    for lane in lanes.values():
        if len(lane["events"]) > EVENTS:
            bound_rows = {row for m in lane["matches"] for row, _ in m["events"]}
            first = lane["events"][:EVENTS]
            rest = [e for e in lane["events"][EVENTS:] if e[0] in bound_rows]
            lane["more"] = len(lane["events"]) - len(first) - len(rest)
            lane["events"] = first + rest
    return list(lanes.values())


def _of_its_key(table: pa.Table, keys: list[str], event: int) -> list[int]:
    """The rows of the key that an event is of."""
    columns = [decoded(table.column(k)).to_pylist() for k in keys]
    of_row = (
        [tuple(map(key_value, key)) for key in zip(*columns, strict=True)] if keys else [()] * table.num_rows
    )
    return [row for row in range(table.num_rows) if of_row[row] == of_row[event]]


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    text = one_line(str(value))
    return text if len(text) <= 200 else f"{text[:199]}…"
