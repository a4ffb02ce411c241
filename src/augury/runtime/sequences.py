"""SASE+ queries as programs: a pattern that has met its data, evaluated by an engine or by the definition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from augury.errors import QueryError
from augury.expr.functions import UserFunction, called
from augury.expr.tree import Attr
from augury.match import compressed
from augury.match.identity import parameters
from augury.pattern import Pattern, Strategy, text_of_pattern
from augury.plan.choice import AUTO, UNCERTAIN, check_covered, choose
from augury.resolve import Resolved, output_schema, resolve
from augury.runtime.by_definition import Definition
from augury.runtime.by_engine import Engine, How
from augury.runtime.certainty import certainty
from augury.runtime.options import Options
from augury.runtime.program import Fault, bad_times, faults_of_time
from augury.runtime.slices import Cutting, cutting, partition_columns
from augury.schema import Columns, Roles, roles_of

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.runtime.early import Early
    from augury.runtime.steps import Steps


@dataclass(frozen=True, slots=True)
class Sequences:
    """A `Pattern` as a `Program`."""

    query: Resolved
    options: Options
    gives: pa.Schema
    given: pa.Schema  # the columns of the data
    functions: tuple[UserFunction, ...]  # as they were registered where the program was made

    @property
    def name(self) -> str:
        query, options, roles = self.query, self.options, self.query.roles
        parts = [
            *(text_of_pattern(query.pattern), parameters(query), roles.time, roles.type),
            *(list(roles.key), list(roles.tiebreak), options.output, options.match_id),
            options.plan == "definition",
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
    def clock(self) -> str:
        return self.query.roles.time

    @property
    def partition(self) -> tuple[str, ...]:
        return partition_columns(self.query)

    @property
    def order(self) -> tuple[str, ...] | None:
        """The order of a lazy chain's variables, if it was given."""
        return None if self.options.order is None else tuple(self.options.order)

    def cutting(self) -> Cutting:
        return cutting(self.query, self.options.output, choose(self.options.plan).plan)

    def faults(self, table: pa.Table) -> list[Fault]:
        return faults_of_time(table, self.columns, self.roles)

    def bad_rows(self, named: Callable[[str], str]) -> str:
        return bad_times(self.roles, named)

    def lags(self) -> dict[str, int | None]:
        """Of a match that is not certain yet the last event, and the others, are at most so long ago."""
        known = certainty(self.query, self.options.output)
        within = None
        if known.window is not None and known.delay is not None:
            within = known.delay if known.by_first else known.delay + known.window
        found = {"match_end": known.delay, "match_start": within}
        for item in self.query.items or ():
            if isinstance(item.expr, Attr) and item.expr.name == self.clock and item.name is not None:
                found[item.name] = within
        time = self.given.field(self.clock).type
        return {
            field.name: found[field.name]
            for field in self.gives
            if field.name in found and field.type == time
        }

    def unending(self) -> str | None:
        """Without WITHIN a longer match may always come."""
        known = certainty(self.query, self.options.output)
        return None if known.delay is not None else f'output="{self.options.output}" without WITHIN'

    def condition(self, named: Callable[[str], str]) -> str | None:
        """The rows that a component could bind or mean, and that are in some partition."""
        from augury.runtime.spark_filter import needed

        parts = [needed(self.query, named)]
        if (
            self.query.pattern.strategy is not Strategy.STRICT
        ):  # a null or a NaN in an [attr] is in no partition
            attributes = self.query.pattern.partition
            parts.append(" AND ".join(f"{named(name)} IS NOT NULL" for name in attributes))
        return " AND ".join(f"({part})" for part in parts if part) or None

    def evaluator(self, *, profile: bool = False) -> Engine | Definition:
        plan, options = choose(self.options.plan).plan, self.options
        if plan == "definition":
            return Definition(self.query, self.gives, options.output, options.most_runs)
        how = How(plan, self.order, options.plan == AUTO, max_runs=options.most_runs, profile=profile)
        return Engine(self.query, self.gives, options.output, how, match_id=options.match_id)

    def core(self, *, speculates: bool = False) -> Steps | Early:
        if speculates:
            from augury.runtime.early import Early

            if self.options.output == "compressed":
                raise QueryError(
                    'output="compressed" gives matches that are certain',
                    hint="leave speculate out, or list them",
                )
            return Early(self)
        from augury.runtime.steps import Steps

        return Steps(self)


def program_of(pattern: Pattern, schema: pa.Schema, options: Options) -> Sequences:
    """A pattern that met its data's columns: what is wrong with the query is told here."""
    options.takes(*(("order",) if options.plan == "lazy-chain" else ()))
    if any(engine.plan == options.plan for engine in UNCERTAIN):
        raise QueryError(
            f'plan="{options.plan}" is for imprecise times, and time={options.time!r} is one column',
            hint='leave plan out, or write plan="eager"; imprecise times are time=("lower", "upper")',
        )
    check_covered(pattern, options.plan, options.order)
    columns = Columns.of(schema)
    roles = roles_of(columns, options.time, options.type, options.key, options.tiebreak)
    assert roles.end is None, "intervals have a program of their own"
    query = resolve(pattern, columns, roles)
    time = schema.field(roles.time).type
    result = output_schema(query, schema, options.output, match_id=options.match_id, time=time)
    if options.output == "compressed":
        result = compressed.schema_of(query, schema)
    functions = called((*pattern.predicates, *(i.expr for i in pattern.returns or ())))
    return Sequences(query, options, result, schema, functions)
