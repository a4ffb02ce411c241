"""What an explanation knows: what the passes made of a query, of the columns that it met, or of none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from augury.automaton import Absent
from augury.engines import passes
from augury.engines.choosing import FEW, is_open, surveyed
from augury.engines.generated import Source
from augury.match.gather import in_one_chunk
from augury.pattern import Clause, Component, Part, Pattern, lines_of_pattern
from augury.plan.choice import AUTO, Choice, check_covered, choose, chosen_by
from augury.plan.costs import Estimates
from augury.plan.split import Guard
from augury.resolve import Placed, Resolved, without_schema
from augury.runtime.by_engine import evaluation_of
from augury.runtime.options import MAX_RUNS, Options
from augury.runtime.sequences import Sequences, program_of
from augury.runtime.table import without_bad_rows
from augury.schema import as_table, opened


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel that a plan's query gets."""

    source: Source
    nullable: tuple[bool, ...]  # by derived column: whether it has nulls
    calls_python: bool
    of_rows: bool  # whether nulls were looked for


@dataclass(frozen=True)
class Told:
    """A query on its way to a kernel, as far as it goes with what is known."""

    pattern: Pattern
    options: Options
    choice: Choice
    outline: passes.Outline
    placed: Placed
    resolved: Resolved | None = None  # the same where there is a schema
    result: pa.Schema | None = None
    rows: int | None = None  # how many there are, if that is known
    kernel: Kernel | None = None
    estimates: Estimates | None = (
        None  # what the plans would cost, where it depends on the data and it is there
    )

    @cached_property
    def lines(self) -> dict[Part, int]:
        """On which line of the query, from 1, a part of it stands."""
        numbered = enumerate(lines_of_pattern(self.pattern), 1)
        return {part: number for number, (_, parts) in numbered for part in parts}

    def line(self, clause: Clause, place: int = 0) -> int | None:
        """The line of a part; None where the query leaves it out."""
        return self.lines.get(Part(clause, place))

    @property
    def negated(self) -> list[tuple[int, Component, Absent]]:
        """The negated components, by their places, and how each absence is told."""
        return [(p, self.pattern.components[p], how) for p, how in self.outline.automaton.absences]

    @property
    def guards(self) -> tuple[Guard, ...]:
        """All guards of the automaton."""
        split = self.outline.split
        return (*split.guards, *split.leaves, split.accept)


def told_of(pattern: Pattern, data: Any, options: Options, *, kernel: bool) -> Told:
    """Run the passes; `kernel`: rows, if there are any, are looked at for what the kernel must know of them."""
    check_covered(pattern, options.plan)
    choice = choose(options.plan)
    if data is None:
        placed: Placed = without_schema(pattern)
        return Told(pattern, options, choice, passes.outline(placed, merge=choice.engine.merges), placed)
    table = None
    if not isinstance(data, pa.Schema):
        data = opened(data)
        table = as_table(data) if kernel else data if isinstance(data, pa.Table) else None
    schema = data if isinstance(data, pa.Schema) else data.schema
    program = program_of(pattern, schema, options)
    query, result = program.query, program.gives
    plan = passes.plan(query, merge=choice.engine.merges)
    found = _estimated(plan, table, options)
    if found is not None and options.plan == AUTO:
        choice = chosen_by(found, [c.var for c in plan.automaton.components])
    made = None
    if choice.engine.generates:
        made = _generated(plan, table if kernel else None, program, choice)
    rows = None if table is None else table.num_rows
    return Told(pattern, options, choice, plan, query, query, result, rows, made, found)


def _estimated(plan: passes.Plan, table: pa.Table | None, options: Options) -> Estimates | None:
    """What each plan would cost on these rows; None where the answer does not depend on them."""
    query = plan.query
    if table is None or table.num_rows < FEW or not is_open(plan, query.pattern.strategy):
        return None
    if table.column(query.roles.time).null_count:
        return None  # bad input: what becomes of it `match` says
    return surveyed(plan, in_one_chunk(table, query.reads), options.output, fast=None)[1]


def _generated(plan: passes.Plan, table: pa.Table | None, program: Sequences, choice: Choice) -> Kernel:
    """The kernel that `match` would run; of a schema alone, the one for columns without nulls."""
    of_rows = table is not None
    rows = program.given.empty_table() if table is None else without_bad_rows(table, program)[0]
    evaluation = evaluation_of(choice.engine, program.order)(
        plan, in_one_chunk(rows, plan.query.reads), max_runs=MAX_RUNS, output=program.options.output
    )
    return Kernel(evaluation.source, tuple(evaluation.nullable), evaluation.inputs.needs_python, of_rows)
