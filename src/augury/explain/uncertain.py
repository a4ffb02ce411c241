"""What becomes of a query over imprecise times: which plan finds its signatures, and where its tests are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from augury.engines.imprecise.choosing import chosen
from augury.engines.imprecise.events import Events
from augury.explain import Explanation
from augury.explain.words import Page, listed
from augury.expr.printing import quoted
from augury.pattern import Pattern, Strategy, lines_of_pattern, text_of_condition
from augury.plan.choice import AUTO, UNCERTAIN
from augury.runtime.options import Options
from augury.runtime.table import without_bad_rows
from augury.runtime.uncertain import Uncertain, program_of
from augury.schema import as_table, opened
from augury.uncertain import check_pattern


def explain(pattern: Pattern, data: Any, options: Options) -> Explanation:
    """How a query over imprecise times would be evaluated, with some data or without."""
    check_pattern(pattern)
    page = Page()
    page.section("QUERY")
    for number, (line, _) in enumerate(lines_of_pattern(pattern), 1):
        page.say(line.lstrip(), hang=4 + len(line) - len(line.lstrip()), label=f"{number:>2}")
    program, events = None, None
    if data is not None:
        source = data if isinstance(data, pa.Schema) else opened(data)
        program = program_of(pattern, source if isinstance(source, pa.Schema) else source.schema, options)
        if not isinstance(source, pa.Schema):
            events = Events(program.question, without_bad_rows(as_table(source), program)[0])
    _plan(options, events, page)
    _predicates(pattern, program, page)
    _confidence(pattern, page)
    return Explanation(page.text())


def _plan(options: Options, events: Events | None, page: Page) -> None:
    page.section("PLAN")
    plan, because = options.plan, f'plan="{options.plan}" was asked for'
    if plan == AUTO:
        if events is None:
            page.say(
                "chosen by how many candidates each component has, when the data is there",
                label=AUTO,
                hang=10,
            )
        else:
            found = chosen(events)
            plan, because = found.plan, found.because
    if plan != AUTO:
        page.say(f"taken: {because}", label=plan, hang=10)
    for engine in UNCERTAIN:
        if engine.plan == plan:
            page.say(engine.how, hang=10)
        elif options.plan == AUTO:
            page.say(
                f"{'not taken: ' if plan != AUTO else ''}{engine.baseline or engine.how}",
                label=engine.plan,
                hang=10,
            )


def _predicates(pattern: Pattern, program: Uncertain | None, page: Page) -> None:
    page.section(
        "PREDICATES",
        "What one event tells by itself is computed for all at once; the rest where slots are joined.",
    )
    places: dict[int, frozenset[int]] = {}
    if program is not None:
        places = {test.predicate: program.question.places(test) for test in program.query.tests}
    names = [quoted(c.var) for c in pattern.positives]
    for number, predicate in enumerate(pattern.predicates):
        where = ""
        if number in places:
            slots = sorted(places[number])
            where = (
                f"of {names[slots[0]]} alone"
                if len(slots) == 1
                else f"where {listed([names[k] for k in slots])} are joined"
            )
        page.say(f"{text_of_condition(predicate)}{'  ' if where else ''}{where}")
    if not pattern.predicates:
        page.say("none")


def _confidence(pattern: Pattern, page: Page) -> None:
    page.section("CONFIDENCE")
    if pattern.strategy is Strategy.NEXT:
        page.say(
            "A sum over the instants of the components, each gap weighed with the chance that no other event that "
            "satisfies the next component happens in it."
        )
    else:
        page.say(
            "A sum over the instants of the components, one pass for each; point matches are not listed."
        )
