"""The corpus: worked cases as data, in `tests/corpus/*.toml`. What a file may say stands in its README."""

from __future__ import annotations

import functools
import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

import augury as ag
from conformance.compare import table_difference
from conformance.plans import Plan

FOLDER = Path(__file__).resolve().parents[1] / "corpus"
OUTPUTS = ("all", "non_overlap", "longest", "count")


@dataclass(frozen=True)
class Failure:
    """The exception that a case must raise, and words that its text must hold."""

    type: str
    says: tuple[str, ...]


@dataclass(frozen=True)
class Worked:
    """One case. `expected` has the text of a table for each output that was worked out."""

    name: str
    shows: str
    query: str
    events: str
    match: Mapping[str, Any]
    expected: Mapping[str, str]
    params: Mapping[str, Any] = field(default_factory=dict)
    error: Failure | None = None
    warns: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    then: Mapping[str, Any] | None = None
    file: str = ""

    @property
    def is_uncertain(self) -> bool:
        """Whether two columns bound the times: for plans of their own."""
        return isinstance(self.match["time"], list)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What to ask for; where all matches are known, the compressed form must give them back."""
        if self.error is not None:
            return (self.match.get("output", "all"),)
        if "all" in self.expected and not self.is_uncertain:
            return (*self.expected, "compressed")
        return tuple(self.expected)


KNOWN = {
    *(
        "name",
        "shows",
        "why",
        "query",
        "params",
        "match",
        "events",
        "stream",
        "error",
        "warns",
        "metadata",
        "then",
    ),
    *OUTPUTS,
}


@functools.cache
def load() -> tuple[Worked, ...]:
    cases = [case for path in sorted(FOLDER.glob("*.toml")) for case in read(path)]
    names = [c.name for c in cases]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, f"cases share a name: {twice}"
    return tuple(cases)


def read(path: Path) -> list[Worked]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    streams = data.get("streams", {})
    return [_worked(raw, streams, path.name) for raw in data["case"]]


def _worked(raw: Mapping[str, Any], streams: Mapping[str, str], file: str) -> Worked:
    unknown = set(raw) - KNOWN
    assert not unknown, f"{file}: {raw.get('name')} has unknown entries {unknown}"
    expected = {output: raw[output] for output in OUTPUTS if output in raw}
    error = raw.get("error")
    assert expected or error, f"{file}: {raw['name']} expects nothing"
    return Worked(
        name=raw["name"],
        shows=raw["shows"],
        query=raw["query"],
        events=raw["events"] if "events" in raw else streams[raw["stream"]],
        match=raw.get("match", {"time": "ts", "type": "kind"}),
        expected=expected,
        params=raw.get("params", {}),
        error=Failure(error["type"], tuple(error["says"])) if error else None,
        warns=raw.get("warns"),
        metadata=raw.get("metadata", {}),
        then=raw.get("then"),
        file=file,
    )


# ------------------------------------------------------------------ tables as text


def split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def lines_of(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line.strip()]


def split_top(text: str) -> list[str]:
    """At the commas that stand in no brackets."""
    found, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "<([{") - (sign in ">)]}")
        if sign == "," and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    return [*found, text[start:].strip()] if text.strip() else []


def arrow_type(text: str) -> pa.DataType:
    """`int64`, `timestamp[us, UTC]`, `decimal128(6, 2)`, `dictionary<string>`, `list<int64>`, `struct<x: int64>`."""
    if found := re.fullmatch(r"(timestamp|duration|time32|time64)\[(\w+)(?:, ([\w/+:]+))?\]", text):
        name, unit, zone = found.groups()
        return pa.timestamp(unit, zone) if name == "timestamp" else getattr(pa, name)(unit)
    if found := re.fullmatch(r"(decimal\d+)\((\d+), (\d+)\)", text):
        return getattr(pa, found[1])(int(found[2]), int(found[3]))
    if found := re.fullmatch(r"(dictionary|list|large_list|struct)<(.*)>", text):
        name, inner = found.groups()
        if name == "struct":
            return pa.struct(
                [(n.strip(), arrow_type(t.strip())) for n, t in (f.split(":", 1) for f in split_top(inner))]
            )
        if name == "dictionary":
            return pa.dictionary(pa.int32(), arrow_type(inner))
        return getattr(pa, name + "_")(arrow_type(inner))
    return pa.type_for_alias(text)


def cell_value(text: str, type_: pa.DataType) -> Any:
    """A cell as the Python value that Arrow makes `type_` of."""
    t = pa.types
    if text == "null":
        return None
    if t.is_dictionary(type_):
        return cell_value(text, type_.value_type)
    if t.is_list(type_) or t.is_large_list(type_):
        return [cell_value(part, type_.value_type) for part in split_top(text.strip()[1:-1])]
    if t.is_struct(type_):
        given = dict(part.split(":", 1) for part in split_top(text.strip()[1:-1]))
        given = {name.strip(): value.strip() for name, value in given.items()}
        return {f.name: cell_value(given[f.name], f.type) for f in type_}
    if t.is_string(type_) or t.is_large_string(type_):
        return text[1:-1].replace("''", "'") if len(text) > 1 and text[0] == text[-1] == "'" else text
    if t.is_boolean(type_):
        return {"true": True, "false": False}[text]
    if t.is_decimal(type_):
        return Decimal(text)
    if t.is_integer(type_):
        return int(text)
    if t.is_floating(type_):
        return float(Fraction(text)) if "/" in text else float(text)
    return pa.array([text]).cast(type_)[0].as_py()


def header(line: str) -> list[tuple[str, str]]:
    cells = [cell.split(":", 1) if cell != "#" else ["#", ""] for cell in split_row(line)]
    return [(name.strip(), kind.strip()) for name, kind in cells]


def events_of(text: str) -> tuple[pa.Table, dict[str, dict[str, Any]]]:
    """The events as a table, and each one's row by its label: its cell under `#`, or e1, e2, … by lines."""
    first, *lines = lines_of(text)
    columns = header(first)
    rows = [split_row(line) for line in lines]
    for row in rows:
        assert len(row) == len(columns), f"a row of {len(row)} cells under a header of {len(columns)}: {row}"
    labelled = columns[0][0] == "#"
    labels = [row[0] if labelled else f"e{i}" for i, row in enumerate(rows, 1)]
    assert len(set(labels)) == len(labels), f"two events have one label: {labels}"
    fields = [(name, arrow_type(kind)) for name, kind in columns if name != "#"]
    start = int(labelled)
    arrays = [
        pa.array([cell_value(row[start + i], type_) for row in rows], type_)
        for i, (_, type_) in enumerate(fields)
    ]
    table = pa.table(arrays, schema=pa.schema(fields))
    return table, dict(zip(labels, table.to_pylist(), strict=True))


def result_of(text: str, events: pa.Table, labels: Mapping[str, dict[str, Any]], time: Any) -> pa.Table:
    """An expected result. A column of type `event` or `events` names events by their labels, and where no
    column is `match_start`, the two ends are read off the first and last event named."""
    first, *lines = lines_of(text)
    columns = header(first)
    rows = [split_row(line) for line in lines]
    for row in rows:
        assert len(row) == len(columns), f"a row of {len(row)} cells under a header of {len(columns)}: {row}"
    struct = pa.struct(list(events.schema))
    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []
    ends_at = None
    for place, (name, kind) in enumerate(columns):
        cells = [row[place] for row in rows]
        if kind == "event":
            type_, values = struct, [labels[cell] for cell in cells]
        elif kind == "events":
            type_, values = pa.list_(struct), [[labels[label] for label in cell.split()] for cell in cells]
        elif kind == "id":
            type_, values = pa.string(), list(cells)
        else:
            type_ = arrow_type(kind)
            values = [cell_value(cell, type_) for cell in cells]
        if kind.startswith("event") and ends_at is None:
            ends_at = place
        fields.append(pa.field(name, type_))
        arrays.append(pa.array(values, type_))
    if ends_at is not None and all(
        name not in ("match_start", "match_end", "range_start", "valid_from") for name, _ in columns
    ):
        named = [[labels[label][time] for cell in row[ends_at:] for label in cell.split()] for row in rows]
        type_ = events.schema.field(time).type
        for offset, (name, which) in enumerate((("match_start", 0), ("match_end", -1))):
            fields.insert(ends_at + offset, pa.field(name, type_))
            arrays.insert(ends_at + offset, pa.array([times[which] for times in named], type_))
    return pa.table(arrays, schema=pa.schema(fields))


# ------------------------------------------------------------------ a case and a plan


def failure(case: Worked, plan: Plan, output: str) -> str | None:
    """How the plan's answer to a case is wrong, or None."""
    events, labels = events_of(case.events)
    if case.error is not None:
        return _failure_of_error(case, plan, events)
    query = ag.sase(case.query, **case.params)
    time = case.match["time"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = plan.match(query, events, **_arguments(case, output))
    said = [str(w.message) for w in caught]
    if (case.warns is None and said) or (case.warns is not None and not any(case.warns in s for s in said)):
        return f"the warnings are {said}, and should be {case.warns!r}"
    metadata = got.schema.metadata or {}
    for name, value in case.metadata.items():
        if metadata.get(name.encode()) != value.encode():
            return f"the metadata {name} is {metadata.get(name.encode())!r}, and should be {value!r}"
    if case.is_uncertain:
        got = with_rounded(got, "confidence")
    wanted = result_of(case.expected["all" if output == "compressed" else output], events, labels, time)
    if case.is_uncertain:
        wanted = with_rounded(wanted, "confidence")
    if output == "compressed":
        got = ag.expand(got, match_id=case.match.get("match_id", False))
    if case.match.get("match_id") and output != "count":
        ids = got.column("match_id").to_pylist()
        if len(set(ids)) != len(ids) or not all(re.fullmatch("[0-9a-f]{32}", i) for i in ids):
            return f"the match_ids are no names of 32 digits, each another: {ids}"
        wanted, got = wanted.drop_columns(["match_id"]), got.drop_columns(["match_id"])
    said_rows = table_difference(wanted.replace_schema_metadata(None), got.replace_schema_metadata(None))
    if said_rows is not None or case.then is None or output != "all":
        return said_rows
    second = ag.sase(case.then["query"])
    chained = plan.match(second, got.replace_schema_metadata(None), **case.then["match"])
    said_rows = table_difference(result_of(case.then["all"], got, {}, "match_end"), chained)
    return None if said_rows is None else f"in the second query: {said_rows}"


def with_rounded(table: pa.Table, name: str) -> pa.Table:
    """A column of doubles with the nine digits in which plans agree."""
    rounded = [round(value, 9) for value in table.column(name).to_pylist()]
    return table.set_column(table.schema.get_field_index(name), name, pa.array(rounded, pa.float64()))


def _arguments(case: Worked, output: str) -> dict[str, Any]:
    """Compressed rows get their ids when they are expanded, counts have none."""
    given = {**case.match, "output": output}
    if output in ("count", "compressed"):
        given.pop("match_id", None)
    return given


def _failure_of_error(case: Worked, plan: Plan, events: pa.Table) -> str | None:
    assert case.error is not None
    try:
        plan.match(ag.sase(case.query, **case.params), events, **case.match)
    except ag.AuguryError as error:
        if type(error).__name__ != case.error.type:
            return f"a {type(error).__name__} was raised, and should be a {case.error.type}: {error}"
        unsaid = [words for words in case.error.says if words not in str(error)]
        return f"the error does not say {unsaid}: {error}" if unsaid else None
    return f"no {case.error.type} was raised"


def covered(plan: Plan) -> list[tuple[Worked, str]]:
    """The cases, by output, that a plan is asked: those that it covers, and all that are errors."""
    return [
        (case, output)
        for case in load()
        for output in case.outputs
        if case.is_uncertain == plan.uncertain
        if case.error is not None or plan.covers(ag.sase(case.query, **case.params), output)
    ]
