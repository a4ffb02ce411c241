"""The sections of an explanation, each read off what the passes made."""

from __future__ import annotations

from augury.automaton import Absent
from augury.engines import patience
from augury.engines.batch import COMPILED_FROM
from augury.explain.told import Told
from augury.explain.words import (
    Page,
    a,
    column_of_event,
    listed,
    numbered,
    register_name,
    series,
)
from augury.expr.functions import registered
from augury.expr.printing import quoted
from augury.expr.tree import Call, walk
from augury.pattern import Clause, Component, lines_of_pattern
from augury.plan.choice import choose, chosen_by
from augury.plan.joins import joins_of
from augury.plan.registers import Register
from augury.resolve import UNKNOWN
from augury.runtime.slices import SLICE, Cut, Cutting, breaks, cutting_of
from augury.runtime.spark_layout import SPAN


def query(told: Told, page: Page) -> None:
    """The query, a line for each predicate: what follows names these lines."""
    page.section("QUERY")
    for number, (line, _) in enumerate(lines_of_pattern(told.pattern), 1):
        page.say(line.lstrip(), hang=4 + len(line) - len(line.lstrip()), label=f"{number:>2}")


def plan(told: Told, page: Page) -> None:
    """The plan, why it is the one, and why no other is."""
    choice = told.choice
    page.section("PLAN")
    hang = 2 + max(map(len, (choice.plan, *choice.rejected)))
    page.say(f"taken: {choice.because}", label=choice.plan, hang=hang)
    _data(told, page)
    if told.options.plan != "auto":
        page.say(choice.engine.how, hang=hang)
        auto = choose()
        if told.estimates is not None:
            auto = chosen_by(told.estimates, [c.var for c in told.outline.automaton.components])
        same = auto.plan == choice.plan
        page.say(f'plan="auto" takes {"the same" if same else auto.plan + ": " + auto.because}', hang=hang)
        return
    for other, reason in choice.rejected.items():
        page.say(f"not taken: {reason}", label=other, hang=hang)


def _data(told: Told, page: Page) -> None:
    """What the data is like, as far as the choice depends on it."""
    if told.estimates is None:
        return
    known = told.estimates.statistics
    components = told.outline.automaton.components
    counts = [f"{quoted(c.var)} {n:,.0f}" for c, n in zip(components, known.totals, strict=True)]
    page.say(
        f"{listed(counts)} candidates among {known.events:,} events; a window reaches back over {known.reach:,.0f} of them",
        label="data",
        hang=6,
    )


# ------------------------------------------------------------------ what a run remembers


def buffers(told: Told, page: Page) -> None:
    """What a lazy plan keeps, and when it asks what."""
    automaton = told.outline.automaton
    page.section(
        "BUFFERS", "Events that a component may bind, as far as they tell by themselves, in stream order."
    )
    for c in automaton.components:
        page.say(
            f"every {quoted(c.type)} that passes the tests on it alone, for as long as a window",
            label=str(c),
            hang=9,
        )
    joins = joins_of(automaton, told.outline.split).tests
    for join in joins:
        names = listed([quoted(automaton.components[slot].var) for slot in sorted(join.slots)])
        lines = numbered(sorted({told.lines[o] for o in join.origins if o in told.lines}))
        if join.via:
            between = listed([quoted(automaton.components[slot].var) for slot in sorted(join.via)])
            page.say(f"what follows for {names} is asked while {between} is open", label=lines, hang=9)
        else:
            page.say(f"asked when {names} are bound, in whatever order", label=lines, hang=9)
    if not joins:
        page.say("Nothing is asked of two events together.")


def memory(told: Told, page: Page) -> None:
    """Registers by state, where they are kept, and which runs are merged."""
    if told.choice.engine.lazy:
        buffers(told, page)
        return
    shape = told.outline
    page.section(
        "MEMORY",
        "What a run keeps of its events for tests that are to come. Runs of one state that agree in it have one future.",
    )
    columns = [column_of_event(e, told.pattern) for e in shape.split.columns]
    if columns:
        page.say(f"{', '.join(columns)} (of every event, computed for all at once)", label="columns", hang=9)
    for state in range(1, shape.automaton.final + 1):
        if not shape.automaton.is_inside(state):
            continue
        _registers(told, page, state)
    if not any(shape.automaton.is_inside(s) for s in range(1, shape.automaton.final + 1)):
        page.say("Nothing: an event is a match by itself.")


def _registers(told: Told, page: Page, state: int) -> None:
    live = told.outline.registers.live[state]
    names = [register_name(r, told.outline.split, told.pattern) for r in live]
    width = max(map(len, names), default=0)
    label = f"state {state}"
    for name, r in zip(names, live, strict=True):
        page.say(f"{name.ljust(width)}  {_type_of(r)}", label=label, hang=9)
        label = ""
    if not live:
        page.say("nothing", label=label, hang=9)
    page.say(_kept(told, state), indent=11, hang=2)


def _type_of(r: Register) -> str:
    return "" if r.type == UNKNOWN else str(r.type)


def _kept(told: Told, state: int) -> str:
    """Which runs of a state are merged, and where they are kept."""
    shape = told.outline
    engine = told.choice.engine
    if not engine.shares:
        return "runs are followed one by one; those that wait for their turn are on a stack, with what they remember"
    lists = "kept in arrays, an entry for each run"
    if not engine.merges:
        return f"runs are kept apart, as this plan does; {lists}"
    if not shape.registers.merged[state]:
        lines = _walkers(told)
        return f"runs are kept apart: {numbered(lines)} must ask the events of each; {lists}"
    if _apart(told):
        return (
            f'runs that agree in this and in their first event are merged, since output="{told.options.output}" must know '
            f"where matches begin; {lists}"
        )
    if shape.registers.is_single(state):
        return "all runs are merged: there is one at most, in two local variables"
    return f"runs that agree in this are merged; {lists}"


def _walkers(told: Told) -> list[int]:
    """The lines of predicates that walk histories."""
    places = {
        o for guard in told.guards for o in guard.of_run[len(guard.dynamic) :] if o.clause is Clause.PREDICATE
    }
    return sorted(told.lines[o] for o in places)


def _apart(told: Told) -> bool:
    """Whether the output keeps runs of different first events apart."""
    return told.outline.keeps_apart(told.options.output, shares=told.choice.engine.shares)


# ------------------------------------------------------------------ partitions, negation


def partitions(told: Told, page: Page) -> None:
    """What splits the stream before anything is matched."""
    options, attrs = told.options, told.pattern.partition
    key = options.key if told.resolved is None else told.resolved.roles.key
    keys = [key] if isinstance(key, str) else list(key or ())
    if not keys and not attrs:
        return
    page.section("PARTITIONS", "Each is matched by itself; no run meets an event of another.")
    if keys:
        page.say(f"by {listed(list(map(quoted, keys)))}; nulls are one key", label="key=", hang=9)
    if attrs:
        shown = listed(list(map(quoted, attrs)))
        page.say(
            f"by {shown}; an event with a null there is in none",
            label=f"line {told.line(Clause.PARTITION)}",
            hang=9,
        )
    if told.outline.automaton.breaks:
        page.say(
            "strict_contiguity asks for neighbours in the whole stream: a gap in it ends every run",
            label=f"line {told.line(Clause.STRATEGY)}",
            hang=9,
        )


def negation(told: Told, page: Page) -> None:
    """How each absence is told."""
    if not told.negated:
        return
    page.section("NEGATION", "How it is told that no such event came.")
    for place, c, how in told.negated:
        page.say(
            _absence(told, place, c, how), label=str(c), hang=4 + max(len(str(x)) for _, x, _ in told.negated)
        )


def _absence(told: Told, place: int, c: Component, how: Absent) -> str:
    before = [p for p in told.pattern.components[:place] if not p.negated]
    after = [p for p in told.pattern.components[place:] if not p.negated]
    event = a(quoted(c.type))
    if not told.choice.engine.generates:
        return "each match is asked when it is complete"
    match how:
        case Absent.ENDS if told.choice.engine.shares:
            return f"{event} ends the runs that wait in state {len(before)}: the arc “end {quoted(c.var)}”"
        case Absent.ENDS:
            return f"{event} ends a run that waits in state {len(before)}: the arc “end {quoted(c.var)}”"
        case Absent.SINCE:
            return (
                f"each run remembers how many came before its last event; {series(after[0])} begins only if there are no "
                "more by then"
            )
        case Absent.BOUNDS if not before:
            return (
                f"a match must begin before the first {quoted(c.type)} in the window that its last event closes; that bound is "
                "computed for all events at once, and no match is asked"
            )
        case Absent.BOUNDS:
            return (
                f"a match must begin so early that its window is over when the next {quoted(c.type)} comes; that bound is "
                "computed for all events at once, and no match is asked"
            )
    return f"each complete match is asked: is there {event} {_where(before, after)}?"


def _where(before: list[Component], after: list[Component]) -> str:
    if not before:
        return f"before {series(after[0])}, in the window"
    if not after:
        return f"after {series(before[-1])}, in the window"
    return f"between {series(before[-1])} and {series(after[0])}"


# ------------------------------------------------------------------ the output


def output(told: Told, page: Page) -> None:
    """How the rows are got."""
    kind = told.options.output
    page.section("OUTPUT")
    page.say(_how_got(told, kind), label=kind, hang=2 + len(kind))
    if told.result is not None:
        page.say(", ".join(map(quoted, told.result.names)), label="columns", hang=9)


def _how_got(told: Told, kind: str) -> str:
    engine, shape = told.choice.engine, told.outline
    asked = [str(c) for _, c, how in told.negated if how is Absent.FILTERS]
    if not engine.generates:
        return "all matches are found one by one" + (
            "" if kind == "all" else ", and the result is made of them"
        )
    if kind == "count":
        return _how_counted(told, asked)
    if not engine.shares:
        found = "each match is followed to its end and written down"
        return found if kind == "all" else f"{found}; what is reported is chosen among all of them"
    listing = "matches share their events in a graph; each is read out of it as a row"
    if kind == "all":
        return f"{listing}, if {listed(asked)} lets it" if asked else listing
    if not shape.selects(kind):
        return f"matches are listed one by one, for {listed(asked)} must be asked of each; the result is made of those left"
    return {
        "non_overlap": "a match that completes ends all runs of its partition; the best of those that complete at once is "
        "read out of the graph that matches share. No other is listed",
        "longest": "the best match of each first event is read out of the graph that matches share. No other is listed",
        "compressed": "each row is the graph of the matches that one event completes, as the kernel makes it. "
        "No match is listed",
    }[kind]


def _how_counted(told: Told, asked: list[str]) -> str:
    if told.outline.can_count and told.choice.engine.shares:
        return "each run carries how many matches it stands for; no match is listed"
    if told.outline.can_count:
        return "each match is followed to its end, and counted there"
    reasons = []
    walkers = _walkers(told)
    if walkers:
        reasons.append(f"{numbered(walkers)} must ask the events of each")
    if asked:
        reasons.append(f"{listed(asked)} must be asked of each")
    return f"matches are listed one by one and counted, for {listed(reasons)}"


# ------------------------------------------------------------------ how large partitions are matched


def slices(told: Told, page: Page) -> None:
    """How a large partition is cut into slices of time, or why it is not."""
    window = told.pattern.within
    instants = told.resolved.window if told.resolved is not None else 1  # how many does not matter here
    found = cutting_of(
        told.pattern, instants if window is not None else None, told.options.output, told.choice.plan
    )
    page.section("SLICES")
    if found.cut is Cut.NOWHERE:
        page.say(f"Each partition is matched as a whole, in memory that grows with it: {found.because}.")
        _side_by_side(told, page, found)
        return
    needs = [where for where, reach in (("before", found.before), ("after", found.after)) if reach]
    beside = f", with the events of one window ({window}) {listed(needs)} it" if needs else ""
    page.say(
        "A partition that is large is matched slice of time by slice of time, one after another, in memory that does not grow "
        f"with it: {found.because}. A slice is evaluated by itself{beside}."
    )
    page.say(
        f"That is done on Spark from {SLICE:,} events of a partition on, and in this process where a table of at least "
        f"{2 * SLICE:,} rows is one partition and lies in order of time."
    )
    _side_by_side(told, page, found)


def _side_by_side(told: Told, page: Page, found: Cutting) -> None:
    """What of it Spark does in parallel, where no column keeps events apart."""
    if told.options.key or (told.pattern.partition and not breaks(told.pattern)):
        page.say("Spark matches partitions in parallel.")
    elif found.cut in (Cut.FIRST, Cut.LAST):
        windows = SPAN * (bool(found.before) + bool(found.after))
        page.say(
            f"There is nothing to partition by: Spark cuts time every {windows} windows and matches what is between in parallel, "
            "each with the events around it that it needs."
        )
    else:
        page.say(
            f"There is nothing to partition by: Spark matches all events in one task, one after another, since {found.because}."
        )


# ------------------------------------------------------------------ how the kernel runs


def compiling(told: Told, page: Page) -> None:
    """Whether the kernel is compiled."""
    page.section("KERNEL", "A loop over the events, generated for this query.")
    called = sorted(_registered(told))
    if called if told.kernel is None else told.kernel.calls_python:
        page.say(f"It calls {listed(called or ['Python'])}, which cannot be compiled: it runs as Python.")
        return
    lines = 0 if told.kernel is None else told.kernel.source.length
    if lines >= patience.TOO_LONG:
        page.say(f"It is {lines:,} lines long, which would take minutes to compile: it runs as Python.")
        return
    after_all = f"If it turns out that more than {_seconds(told)} of work is left, it is compiled after all, and starts again"
    if lines >= patience.LONG:
        page.say(
            f"It is {lines:,} lines long, so it starts as Python, however many events there are. {after_all}."
        )
        return
    many = told.rows
    said = ""
    if many is not None:
        said = f" These are {many:,}: it {'is compiled' if many >= COMPILED_FROM else 'starts as Python'}."
    page.say(
        f"It is compiled by Numba from {COMPILED_FROM:,} events on. Below that it starts as Python, since compiling takes longer "
        f"than most work on so few.{said} {after_all}: few events can have many runs, or many matches."
    )


def _seconds(told: Told) -> str:
    seconds = patience.WORTH if told.kernel is None else patience.worth_of(told.kernel.source)
    return "a second" if seconds < 1.5 else f"{seconds:.0f} seconds"


def _registered(told: Told) -> set[str]:
    """The registered functions that runs call."""
    tests = (e for g in told.guards for e in (*g.dynamic, *(h for h, _ in g.history)))
    return {
        quoted(n.fn) for e in tests for n in walk(e) if isinstance(n, Call) and registered(n.fn) is not None
    }
