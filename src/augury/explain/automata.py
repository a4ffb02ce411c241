"""What becomes of an automaton: its arcs, which of their tests masks decide, and the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.afa import Machine, Takes
from augury.errors import QueryError
from augury.explain import Explanation
from augury.explain.words import Page, listed
from augury.expr.printing import quoted, text_of
from augury.runtime.afa import Automata, program_of, stepper_of
from augury.schema import opened

if TYPE_CHECKING:
    from augury.runtime.options import Options

_PLANS = {
    "auto": "eager: all runs step together, and those of one subsequence that are alike are merged",
    "eager": "eager: all runs step together, and those of one subsequence that are alike are merged",
    "eager-unmerged": "eager: an automaton's runs are merged within a subsequence, which the result asks for",
    "can": "can: the configurations of a subsequence are taken out of one run and put back, event by event",
    "definition": "definition: plain Python tries every subsequence",
    "restart": "restart: what is kept is computed anew when an arc changes",
}


def explain(machine: Machine, data: Any, options: Options, *, kernel: bool) -> Explanation:
    """How an automaton would be evaluated, with some data or without."""
    page = Page()
    _drawn(machine, page)
    page.section("PLAN", _PLANS.get(options.plan, options.plan))
    if data is None:
        if kernel:
            raise QueryError(
                "a kernel is generated for the types of columns: explain(kernel=True) needs data or a schema",
                hint="pass a table, or its pyarrow.Schema",
            )
        return Explanation(page.text())
    schema = data if isinstance(data, pa.Schema) else opened(data).schema
    program = program_of(machine, schema, options)
    _masks(program, page)
    page.section("RESULT", f"its columns are {listed([quoted(n) for n in program.gives.names])}")
    if kernel:
        stepper = stepper_of(program.query, options)
        source = stepper.source(stepper.derived(pa.Table.from_batches([], schema)))
        page.section("KERNEL")
        for line in source.text.splitlines():
            page.as_is(f"  {line}")
    return Explanation(page.text())


def _drawn(machine: Machine, page: Page) -> None:
    page.section(
        "AUTOMATON", f"starts in {quoted(machine.start)}, ends in {listed(list(map(quoted, machine.final)))}"
    )
    for name, value in machine.registers:
        page.say(f"starts at {value!r}", label=f"register {quoted(name)}", hang=24)
    for m in machine.moves:
        says = [] if m.when is None else [f"when {text_of(m.when.expr)}"]
        says += [f"{quoted(name)} becomes {text_of(w.expr)}" for name, w in m.updates]
        if m.takes is not Takes.EVENT:
            says.insert(0, f"takes {m.takes.value}")
        if m.low is not None or m.high is not None:
            says.append(f"from {m.low!r} to {m.high!r}")
        page.say(
            "; ".join(says) or "always",
            label=f"{quoted(m.id)}  {quoted(m.source)} → {quoted(m.target)}",
            hang=24,
        )
    if machine.within is not None:
        page.say(f"within {machine.within}")


def _masks(program: Automata, page: Page) -> None:
    page.section("TESTS", "what an event decides by itself is computed for all events at once, as a mask")
    slots = stepper_of(program.query, program.options).slots
    for placed in slots.placed:
        parts = [f"masked: {text_of(test)}" for test in placed.static]
        many = len(slots.slots[placed.slot].tests)
        if many:
            parts.append(f"{many} {'test' if many == 1 else 'tests'} by each run")
        page.say("; ".join(parts) or "none", label=quoted(placed.arc.id), hang=24)
