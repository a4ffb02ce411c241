"""SASE+ queries over imprecise times as programs: `time=("lower", "upper")`.

Pattern, columns ─ program_of ─> Uncertain ─┬─ evaluator: Events ─ a plan's search ─> signatures ─> rows
                                            └─ core: the events that rows to come can need, kept
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engines.compiling import compiled
from augury.engines.eager import EVERYTHING, Share
from augury.engines.imprecise.choosing import chosen
from augury.engines.imprecise.events import Events, Question
from augury.engines.imprecise.search import Cost, Found, Search
from augury.engines.imprecise.times import times_of
from augury.errors import QueryError
from augury.expr.columns import Column, from_arrow, result_type, to_arrow
from augury.expr.functions import UserFunction, called
from augury.expr.printing import quoted
from augury.expr.types import Kind
from augury.match.gather import in_one_chunk
from augury.match.identity import match_ids, parameters
from augury.match.items import computed_items
from augury.match.rows import Matches, Slot, events, is_plain, key_column, referenced, taken
from augury.pattern import Pattern, text_of_pattern
from augury.plan.choice import AUTO, UNCERTAIN
from augury.resolve import Resolved, item_type, resolve, variable_type
from augury.runtime.options import Options
from augury.runtime.program import Fault, bad_times
from augury.runtime.room import Room
from augury.runtime.slices import Cut, Cutting
from augury.schema import Columns, Roles, roles_of
from augury.semantics import imprecise as semantics
from augury.semantics import sase
from augury.uncertain import SUM_OFF, Imprecise, check_pattern, imprecise

if TYPE_CHECKING:
    from augury.runtime.uncertain_steps import UncertainSteps

Ints = npt.NDArray[np.int64]

START, END, CONFIDENCE = "range_start", "range_end", "confidence"
ASKED = b"augury.imprecise"  # in a result's metadata: what `point_matches` must know
PLANS = (AUTO, *(engine.plan for engine in UNCERTAIN), "definition")


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A pattern over imprecise times as a `Program`."""

    question: Question
    options: Options
    gives: pa.Schema
    given: pa.Schema  # the columns of the data
    functions: tuple[UserFunction, ...]
    clock: str
    asked: bytes  # the query and its columns, for the result's metadata

    @property
    def query(self) -> Resolved:
        return self.question.query

    @property
    def name(self) -> str:
        query, options, of = self.query, self.options, self.question.of
        parts = [
            *(text_of_pattern(query.pattern), parameters(query), list(of.columns), query.roles.type),
            *(list(query.roles.key), list(query.roles.tiebreak), options.match_id),
            *(of.min_confidence, of.top, options.plan == "definition"),
            [[field.name, str(field.type)] for field in self.given if field.name in query.reads],
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    @property
    def roles(self) -> Roles:
        return self.query.roles

    @property
    def columns(self) -> Columns:
        return self.query.columns

    @property
    def reads(self) -> tuple[str, ...]:
        return self.query.reads

    @property
    def partition(self) -> tuple[str, ...]:
        """The most confident rows are those of a key, whatever its [attr] partitions."""
        tests = self.query.pattern.partition if self.question.of.top is None else ()
        return tuple(dict.fromkeys((*self.query.roles.key, *tests)))

    def cutting(self) -> Cutting:
        return Cutting(Cut.NOWHERE, "an interval may reach over all of its partition")

    def faults(self, table: pa.Table) -> list[Fault]:
        return [Fault(bad, said) for bad, said in times_of(table, self.query, self.question.of)[1]]

    def bad_rows(self, named: Callable[[str], str]) -> str:
        bad = bad_times(self.query.roles, named)
        of = self.question.of
        if of.pmf is None or self.query.columns.types[of.pmf].kind is Kind.NULL:
            return bad
        lower, upper, pmf = (named(name) for name in of.columns)
        dates = self.query.columns.types[of.lower].kind is Kind.DATE
        length = f"datediff({upper}, {lower})" if dates else f"({upper} - {lower})"
        wrong = [
            f"size({pmf}) <> {length} + 1",
            f"exists({pmf}, p -> p IS NULL OR isnan(cast(p AS double)) OR p < 0)",
            f"NOT abs(aggregate({pmf}, 0D, (a, p) -> a + cast(p AS double)) - 1D) <= {SUM_OFF}D",
        ]
        return f"{bad} OR ({pmf} IS NOT NULL AND coalesce({' OR '.join(wrong)}, true))"

    def lags(self) -> dict[str, int | None]:
        """A row waits until what could spoil it has happened: as long as intervals are, which no query says."""
        return {name: None for name in (START, END) if name in self.gives.names}

    def unending(self) -> str | None:
        """Which rows are the most confident ones is known at the end alone."""
        return (
            None
            if self.question.of.top is None
            else f"top={self.question.of.top} chooses among all rows of a key"
        )

    def condition(self, named: Callable[[str], str]) -> str | None:
        """The rows that a component could bind, and that are in some partition."""
        from augury.runtime.spark_filter import needed

        attributes = self.query.pattern.partition
        parts = [needed(self.query, named), " AND ".join(f"{named(name)} IS NOT NULL" for name in attributes)]
        return " AND ".join(f"({part})" for part in parts if part) or None

    def evaluator(self, *, profile: bool = False) -> Evaluation:
        del profile  # it counts the same either way
        return Evaluation(self)

    def core(self, *, speculates: bool = False) -> UncertainSteps:
        from augury.runtime.uncertain_steps import UncertainSteps

        if speculates:
            raise QueryError(
                "rows of imprecise times are reported when they are certain",
                hint="leave speculate out, or write speculate=0",
            )
        if self.options.plan == "definition":
            raise QueryError(
                'plan="definition" looks at whole tables of imprecise times',
                hint='leave plan out, or write plan="sorted"',
            )
        return UncertainSteps(self)


def program_of(pattern: Pattern, schema: pa.Schema, options: Options, asked: str = "{}") -> Uncertain:
    """A pattern that met its data's columns: what is wrong with the query is told here."""
    options.takes("pmf", "min_confidence", "top")
    if options.plan not in PLANS:
        shown = ", ".join(f'"{plan}"' for plan in PLANS[:-1])
        raise QueryError(
            f'plan="{options.plan}" cannot evaluate imprecise times', hint=f"plans that can: {shown}"
        )
    if options.output != "all":
        raise QueryError(
            f'output="{options.output}" has no meaning for imprecise times',
            hint='use output="all", or leave it out',
        )
    check_pattern(pattern)
    columns = Columns.of(schema)
    of = imprecise(columns, options.time, options.pmf, options.min_confidence, options.top)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    # In stream order events that begin together are told apart by their ends first.
    ties = tuple(dict.fromkeys((of.upper, *roles.tiebreak)))
    query = resolve(pattern, columns, replace(roles, tiebreak=ties))
    named = {*query.reads, *of.columns}
    query = replace(query, reads=tuple(name for name in columns.types if name in named))
    question = Question(query, of)
    told = {
        "query": asked,
        "time": [of.lower, of.upper],
        "pmf": of.pmf,
        "type": roles.type,
        "key": list(roles.key),
    }
    functions = called((*pattern.predicates, *(i.expr for i in pattern.returns or ())))
    gives = result_schema(question, schema, match_id=options.match_id)
    return Uncertain(question, options, gives, schema, functions, of.lower, json.dumps(told).encode())


def result_schema(question: Question, schema: pa.Schema, *, match_id: bool) -> pa.Schema:
    """The result's columns, known before any event is read."""
    query, of = question.query, question.of
    ends = [
        pa.field(START, result_type(query.columns.types[of.lower])),
        pa.field(END, result_type(query.columns.types[of.upper])),
        pa.field(CONFIDENCE, pa.float64()),
    ]
    if query.items is None:
        key = [pa.field(k, schema.field(k).type) for k in query.roles.key]
        fields = [*key, *(pa.field(c.var, variable_type(c, schema)) for c in query.pattern.positives), *ends]
    else:
        fields = [*ends, *(pa.field(i.name or "", item_type(i, query, schema)) for i in query.items)]
    if match_id:
        fields.insert(0, pa.field("match_id", pa.string()))
    names = [f.name for f in fields]
    for name in names:
        if names.count(name) > 1:
            raise QueryError(
                f"two columns of the result are named {quoted(name)}",
                hint="rename the key column, the variable or the item of RETURN that has this name",
            )
    return pa.schema(fields)


class Evaluation:
    """What finds the rows of tables, and counts what that has cost."""

    def __init__(self, program: Uncertain) -> None:
        self.program = program
        self.room = Room()
        self.cost = Cost()
        self.events = self.batch_evaluations = self.peak_bytes = 0
        self.fast: bool | None = None  # loops compiled or not; None: by how much they have to do

    def whole(self, table: pa.Table, share: Share = EVERYTHING) -> pa.Table:
        """The result on a table, its rows in any order."""
        assert share == EVERYTHING, "imprecise times cannot be cut"
        self.events += table.num_rows
        if self.program.options.plan == "definition":
            return self._by_definition(table)
        at_hand = Events(self.program.question, table, fast=self.fast)
        found = self.found(at_hand)
        self.peak_bytes = max(self.peak_bytes, at_hand.nbytes + found.signatures.nbytes * 2)
        return self.rows(at_hand, found)

    def found(self, at_hand: Events) -> Found:
        """The signatures, and what is known of them."""
        plan = self.program.options.plan
        if plan == AUTO:
            plan = chosen(at_hand).plan
        found = Search(at_hand, self.program.options.most_runs, self.cost).found(plan)
        self.batch_evaluations += at_hand.batch_evaluations
        return found

    def rows(self, at_hand: Events, found: Found) -> pa.Table:
        """The rows of the result."""
        slots = tuple(Slot(at_hand.order[found.signatures[:, k]]) for k in range(found.signatures.shape[1]))
        base = at_hand.base
        table = self._rows(
            at_hand.table, Matches(slots), found.starts + base, found.ends + base, found.confidence
        )
        self.room.takes(table)
        return table

    def _rows(
        self, table: pa.Table, matches: Matches, starts: Ints, ends: Ints, confidence: npt.NDArray[np.float64]
    ) -> pa.Table:
        program, query, of = self.program, self.program.query, self.program.question.of
        table = in_one_chunk(table, query.reads)
        columns: dict[str, Any] = {
            START: to_arrow(Column(starts), query.columns.types[of.lower]),
            END: to_arrow(Column(ends), query.columns.types[of.upper]),
            CONFIDENCE: pa.array(confidence),
        }
        if program.options.match_id:
            columns["match_id"] = match_ids(matches, table, query)
        if query.items is None:
            whole = table.select(list(query.reads))
            for name in query.roles.key:
                columns[name] = key_column(taken(table.column(name), matches.first))
            for c, slot in zip(query.pattern.positives, matches.slots, strict=True):
                columns[c.var] = events(whole, slot)
        else:
            run = compiled if len(matches) > 100_000 else _plain
            computed = computed_items(matches, table, query, run)
            for place, item in enumerate(query.items):
                made = (
                    computed[place]
                    if not is_plain(item.expr)
                    else referenced(item.expr, matches, table, query)
                )
                columns[item.name or ""] = made
        arrays = [
            columns[f.name] if columns[f.name].type == f.type else columns[f.name].cast(f.type)
            for f in program.gives
        ]
        schema = program.gives.with_metadata({ASKED: program.asked})
        return pa.Table.from_arrays(arrays, schema=schema)

    def _by_definition(self, table: pa.Table) -> pa.Table:
        """The same by the definition."""
        question = self.program.question
        order = np.array(sase.stream_order(table, question.query), np.int64)
        table = pa.Table.from_arrays([taken(c, order) for c in table.columns], schema=table.schema)
        found = semantics.rows(table, question.query, question.of)
        bound = np.array([f.signature for f in found], np.int64).reshape(len(found), question.size)
        matches = Matches(tuple(Slot(bound[:, k]) for k in range(question.size)))
        starts, ends = (np.array([getattr(f, name) for f in found], np.int64) for name in ("start", "end"))
        return self._rows(table, matches, starts, ends, np.array([float(f.confidence) for f in found]))

    def measured(self) -> dict[str, int]:
        """What the evaluations cost, as `profile` tells it."""
        cost = self.cost
        return {
            "predicate_evaluations": self.batch_evaluations + cost.evaluations,
            "batch_evaluations": self.batch_evaluations,
            "run_evaluations": cost.evaluations,
            "events": self.events,
            "runs_merged": 0,
            "peak_buffered_events": self.events,
            "peak_bytes": self.peak_bytes,
            **{name: number for name, number in asdict(cost).items() if name != "evaluations"},
        }


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def interval_words(table: pa.Table, query: Resolved, of: Imprecise) -> tuple[Ints, Ints]:
    """The bounds of rows that are good input, as instants."""
    lower, upper = (
        np.asarray(from_arrow(table.column(name), query.columns.types[name]).values).astype(np.int64)
        for name in (of.lower, of.upper)
    )
    return lower, upper
