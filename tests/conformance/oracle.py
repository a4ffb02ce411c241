"""A second definition, of another make: every assignment of events to components, checked for being a match.

Nothing is simulated. `assignments` lists all ways of giving a stream's events to the components, and
`is_match` asks of each whether it is what the reference calls a match: types, [attr] tests and predicates
hold, it fits in the window, each event that it passed over could be passed over, no event stands where
absence is asked for. It reads the structures of `queries`, in time that is exponential, with an evaluator of
its own: it shares no line with what it judges.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from conformance.queries import (
    ANY,
    BEFORE,
    CURRENT,
    EACH,
    FIRST,
    LAST,
    NEXT,
    ONE,
    PREVIOUS,
    STRICT,
    Apart,
    Between,
    Binary,
    Case,
    Chain,
    Component,
    Const,
    Fold,
    Function,
    IsNull,
    Like,
    Not,
    OneOf,
    Query,
    Ref,
    Size,
    parts,
    variables_of,
)

Event = Mapping[str, Any]
Chosen = tuple[tuple[int, ...], ...]
"""For each positive component the positions of its events in the key's stream."""


@dataclass(frozen=True)
class Found:
    """A match: the stream of its key, and which events of it are bound."""

    events: Sequence[Event]
    chosen: Chosen
    stream: int

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(sorted(itertools.chain.from_iterable(self.chosen)))


# ------------------------------------------------------------------ the stream


def read_columns(case: Case) -> list[str]:
    """What makes up an event: all columns, or with RETURN those that the query and the roles name."""
    query, names = case.query, case.stream.names
    if query.returns is None or any(isinstance(item.expr, str) for item in query.returns):
        return list(names)
    named = {"ts", *case.key, *case.tiebreak, *query.partition}
    if case.type is not None:
        named.add(case.type)
    for expr in (*query.predicates, *(item.expr for item in query.returns)):
        named.update(p.name for p in parts(expr) if isinstance(p, Ref))
    return [name for name in names if name in named]


def ordering(value: Any) -> tuple[Any, ...]:
    """Nulls first, NaN last, false before true, strings by code point."""
    if value is None:
        return (0,)
    if is_nan(value):
        return (2,)
    return (1, [ord(sign) for sign in value] if isinstance(value, str) else value)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def zero_sign(value: Any) -> float:
    """Zeros of both signs are equal and yet differ in the data: the negative one is first of otherwise equal rows."""
    return math.copysign(1.0, value) if isinstance(value, float) and value == 0 else 0.0


def ordered_streams(case: Case) -> list[list[Event]]:
    """The events of each key, in stream order. Rows without a time are no events."""
    events = [dict(zip(case.stream.names, row, strict=True)) for row in case.stream.rows]
    events = [e for e in events if e["ts"] is not None]
    order = ["ts", *case.tiebreak, *(n for n in read_columns(case) if n != "ts" and n not in case.tiebreak)]
    events.sort(key=lambda e: ([ordering(e[n]) for n in order], [zero_sign(e[n]) for n in order]))
    by_key: dict[Any, list[Event]] = {}
    for event in events:
        key = tuple("NaN" if is_nan(event[k]) else (event[k],) for k in case.key)
        by_key.setdefault(key, []).append(event)
    return list(by_key.values())


# ------------------------------------------------------------------ values, with null for unknown


def evaluate(node: Any, bound: Mapping[str, Sequence[Event]], at: Mapping[str, int]) -> Any:
    """The value of an expression; `at[v]` says which event of v is a[i], or a[] where that is one event."""
    match node:
        case Const(value):
            return value
        case Ref(var, which, name):
            events = bound[var]
            place = {ONE: 0, FIRST: 0, LAST: len(events) - 1}.get(which)
            if place is None:
                place = at[var] - 1 if which == PREVIOUS else at[var]
            return events[place][name]
        case Size(var):
            return len(bound[var])
        case Fold(fn, var, over, arg):
            count = len(bound[var]) if over == EACH else at[var]
            return fold(fn, [evaluate(arg, bound, {**at, var: i}) for i in range(count)])
        case Apart(later, earlier, op, ticks):
            return compared(op, evaluate(later, bound, at) - evaluate(earlier, bound, at), ticks)
        case IsNull(arg, negated):
            return (evaluate(arg, bound, at) is None) != negated
        case Not(arg):
            value = evaluate(arg, bound, at)
            return None if value is None else not value
        case Chain(op, args):
            values = [evaluate(a, bound, at) for a in args]
            stop = op == "OR"
            return (
                stop if stop in [v for v in values if v is not None] else None if None in values else not stop
            )
        case OneOf(arg, items):
            return evaluate(Chain("OR", tuple(Binary("=", arg, item) for item in items)), bound, at)
        case Between(arg, low, high):
            return evaluate(Chain("AND", (Binary(">=", arg, low), Binary("<=", arg, high))), bound, at)
        case Like(arg, pattern):
            value = evaluate(arg, bound, at)
            shape = "".join({"%": ".*", "_": "."}.get(sign) or re.escape(sign) for sign in pattern)
            return None if value is None else re.fullmatch(shape, value, re.DOTALL) is not None
        case Binary(op, left, right):
            x, y = evaluate(left, bound, at), evaluate(right, bound, at)
            if x is None or y is None:
                return None
            return calculated(op, x, y) if op in "+-*/%" else compared(op, x, y)
        case Function(name, args):
            return called(name, [evaluate(a, bound, at) for a in args])
    raise AssertionError(node)


def compared(op: str, x: Any, y: Any) -> bool:
    if type(x) is not type(y) and float in (
        type(x),
        type(y),
    ):  # integers widen, and decimals beside a double are one
        x, y = float(x), float(y)
    match op:
        case "=":
            return x == y
        case "<>":
            return x != y
        case "<":
            return x < y
        case "<=":
            return x <= y
        case ">":
            return x > y
    return x >= y


def in_64_bits(value: Any) -> Any:
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def calculated(op: str, x: Any, y: Any) -> Any:
    """Integers in 64 bits, everything else as doubles; `%` takes the dividend's sign."""
    x, y = (float(v) if isinstance(v, Decimal) else v for v in (x, y))
    match op:
        case "+":
            return in_64_bits(x + y)
        case "-":
            return in_64_bits(x - y)
        case "*":
            return in_64_bits(x * y)
    if y == 0:
        return None
    if op == "/":
        return x / y
    return math.fmod(x, y) if float in (type(x), type(y)) else (abs(x) % abs(y)) * (-1 if x < 0 else 1)


def called(name: str, args: list[Any]) -> Any:
    present = [float(a) if isinstance(a, Decimal) else a for a in args if a is not None]
    match name:
        case "coalesce":
            return present[0] if present else None
        case "least":
            return smallest(present)
        case "greatest":
            return largest(present)
        case "abs":
            return in_64_bits(abs(present[0])) if present else None
    raise AssertionError(name)


def smallest(values: list[Any]) -> Any:
    """The least, and of equal ones the first; NaN is greater than anything."""
    numbers = [v for v in values if not is_nan(v)]
    return min(numbers) if numbers else values[0] if values else None


def largest(values: list[Any]) -> Any:
    return next((v for v in values if is_nan(v)), max(values) if values else None)


def fold(fn: str, values: list[Any]) -> Any:
    """An aggregate; all but first and last skip nulls."""
    match fn:
        case "first":
            return values[0] if values else None
        case "last":
            return values[-1] if values else None
    present = [v for v in values if v is not None]
    match fn:
        case "count":
            return len(present)
        case "min":
            return smallest(present)
        case "max":
            return largest(present)
    if not present:
        return None
    if fn == "sum" and all(isinstance(v, int) for v in present):
        totals = list(itertools.accumulate(present))
        return totals[-1] if all(in_64_bits(t) is not None for t in totals) else None
    total = 0.0
    for value in present:
        total += float(value)
    return total if fn == "sum" else total / len(present)


# ------------------------------------------------------------------ predicates


def forms(predicate: Any, var: str) -> set[str]:
    """The forms in which a predicate refers to a variable; what needs it closed counts as its last event."""
    found: set[str] = set()
    stack = [predicate]
    while stack:
        node = stack.pop()
        match node:
            case Fold(_, owner, over, _):
                if owner == var:
                    found.add(LAST if over == EACH else BEFORE)
                continue
            case Size(owner) if owner == var:
                found.add(LAST)
            case Ref(owner, at, _) if owner == var:
                found.add(at)
        for name in getattr(node, "__dataclass_fields__", ()):
            value = getattr(node, name)
            stack.extend(
                v
                for v in (value if isinstance(value, tuple) else (value,))
                if hasattr(v, "__dataclass_fields__")
            )
    return found


ITERATED = {CURRENT, PREVIOUS, BEFORE}


def last_variable(query: Query, predicate: Any) -> str | None:
    """The variable that is bound last of those that a predicate names. A negated one is tried on whole matches."""
    named = variables_of(predicate)
    by_time = [*query.positives, *query.negated]
    return next((c.var for c in reversed(by_time) if c.var in named), None)


def true_for_all(
    predicate: Any, bound: Mapping[str, Sequence[Event]], only: Mapping[str, int] | None = None
) -> bool:
    """True for every event that an `a[]` stands for, and for every i > 1; `only` fixes some of them."""
    only = only or {}
    ranges: list[list[tuple[str, int]]] = []
    for var in variables_of(predicate):
        used = forms(predicate, var)
        if var in only:
            ranges.append([(var, only[var])])
        elif EACH in used:
            ranges.append([(var, i) for i in range(len(bound[var]))])
        elif used & ITERATED:
            ranges.append([(var, i) for i in range(1, len(bound[var]))])
    return all(evaluate(predicate, bound, dict(at)) is True for at in itertools.product(*ranges))


def agree(events: Sequence[Event], attributes: Sequence[str]) -> bool:
    """[attr]: each two events, and each with itself, are equal in it; null and NaN are equal to nothing."""
    return all(
        e[a] is not None and f[a] is not None and e[a] == f[a]
        for a in attributes
        for e, f in itertools.combinations_with_replacement(events, 2)
    )


def has_type(case: Case, event: Event, c: Component) -> bool:
    return case.type is None or event[case.type] == c.type


# ------------------------------------------------------------------ what a match is


def assignments(case: Case, events: Sequence[Event]) -> Iterator[Chosen]:
    """Every way to give events, in order, to the positive components: one each, or one or more of a Kleene one."""
    components = case.query.positives

    def extend(place: int, start: int) -> Iterator[Chosen]:
        if place == len(components):
            yield ()
            return
        c = components[place]
        fitting = [i for i in range(start, len(events)) if has_type(case, events[i], c)]
        for size in range(1, (len(fitting) if c.kleene else 1) + 1):
            for own in itertools.combinations(fitting, size):
                for rest in extend(place + 1, own[-1] + 1):
                    yield (own, *rest)

    return extend(0, 0)


def named(query: Query, events: Sequence[Event], chosen: Chosen) -> dict[str, list[Event]]:
    return {c.var: [events[i] for i in own] for c, own in zip(query.positives, chosen, strict=False)}


def is_positive_match(case: Case, events: Sequence[Event], chosen: Chosen) -> bool:
    """Whether an assignment is a match, but for what is negated."""
    query = case.query
    bound = named(query, events, chosen)
    every = [events[i] for own in chosen for i in own]
    absent = {c.var for c in query.negated}
    return (
        (query.within is None or every[-1]["ts"] - every[0]["ts"] < query.within)
        and agree(every, query.partition)
        and all(true_for_all(p, bound) for p in query.predicates if not variables_of(p) & absent)
        and all(may_be_passed(case, events, chosen, i) for i in passed_over(chosen))
    )


def passed_over(chosen: Chosen) -> list[int]:
    taken = [i for own in chosen for i in own]
    return [i for i in range(taken[0] + 1, taken[-1]) if i not in taken]


def may_be_passed(case: Case, events: Sequence[Event], chosen: Chosen, i: int) -> bool:
    """Whether the run that became this match could leave out event i, given what it had bound by then."""
    query = case.query
    if query.strategy == ANY:
        return True
    if query.strategy == STRICT:
        return False
    sofar = tuple(own for own in (tuple(j for j in own if j < i) for own in chosen) if own)
    if query.strategy == NEXT:
        inside = query.positives[len(sofar) - 1].kleene
        return not (takes(case, events, sofar, i) if inside else begins(case, events, sofar, i))
    return not agree([events[sofar[0][0]], events[i]], query.partition)


def begins(case: Case, events: Sequence[Event], sofar: Chosen, i: int) -> bool:
    """begin: the event can be the first of the next component."""
    query = case.query
    c = query.positives[len(sofar)]
    bound = named(query, events, (*sofar, (i,)))
    return (
        has_type(case, events[i], c)
        and agree([*(events[j] for own in sofar for j in own), events[i]], query.partition)
        and all(
            true_for_all(p, bound)
            for p in query.predicates
            if last_variable(query, p) == c.var and forms(p, c.var) <= {ONE, FIRST, EACH}
        )
    )


def takes(case: Case, events: Sequence[Event], sofar: Chosen, i: int) -> bool:
    """take: the event can be one more of the Kleene component that was bound last."""
    query = case.query
    c = query.positives[len(sofar) - 1]
    bound = named(query, events, (*sofar[:-1], (*sofar[-1], i)))
    current = {c.var: len(sofar[-1])}
    return (
        has_type(case, events[i], c)
        and agree([*(events[j] for own in sofar for j in own), events[i]], query.partition)
        and all(
            true_for_all(p, bound, current)
            for p in query.predicates
            if last_variable(query, p) == c.var
            and LAST not in (used := forms(p, c.var))
            and used & {*ITERATED, EACH}
        )
    )


# ------------------------------------------------------------------ negation


def is_dropped(case: Case, events: Sequence[Event], chosen: Chosen) -> bool:
    """Whether an event stands where a negated component says that there is none."""
    query = case.query
    bound = named(query, events, chosen)
    every = [events[j] for own in chosen for j in own]
    for c in query.negated:
        about = [p for p in query.predicates if c.var in variables_of(p)]
        for i in places_of_absence(query, events, chosen, c):
            n = events[i]
            if (
                has_type(case, n, c)
                and agree([*every, n], query.partition)
                and all(true_for_all(p, {**bound, c.var: [n]}) for p in about)
            ):
                return True
    return False


def places_of_absence(query: Query, events: Sequence[Event], chosen: Chosen, c: Component) -> list[int]:
    place = query.components.index(c)
    before = [p for p in query.components[:place] if not p.negated]
    after = [p for p in query.components[place:] if not p.negated]
    first, last = chosen[0][0], chosen[-1][-1]
    if not before:
        assert query.within is not None
        return [i for i in range(first) if events[last]["ts"] - events[i]["ts"] < query.within]
    if not after:
        assert query.within is not None
        return [
            i for i in range(last + 1, len(events)) if events[i]["ts"] - events[first]["ts"] < query.within
        ]
    return list(range(chosen[len(before) - 1][-1] + 1, chosen[len(before)][0]))


# ------------------------------------------------------------------ outputs


def matches(case: Case) -> list[Found]:
    return [
        Found(events, chosen, number)
        for number, events in enumerate(ordered_streams(case))
        for chosen in assignments(case, events)
        if is_positive_match(case, events, chosen) and not is_dropped(case, events, chosen)
    ]


def preferred(found: Sequence[Found]) -> Found:
    """Of matches that complete together: starts first, smallest sequence of positions, smallest by variable."""
    return min(found, key=lambda m: (m.positions[0], m.positions, m.chosen))


def non_overlap(case: Case, found: Sequence[Found]) -> list[Found]:
    """In each partition: report the first to complete, drop what does not start after it, and so on."""
    groups: dict[Any, list[Found]] = {}
    for m in found:
        first = m.events[m.positions[0]]
        groups.setdefault((m.stream, *(first[a] for a in case.query.partition)), []).append(m)
    reported = []
    for group in groups.values():
        candidates = group
        while candidates:
            end = min(m.positions[-1] for m in candidates)
            reported.append(preferred([m for m in candidates if m.positions[-1] == end]))
            candidates = [m for m in candidates if m.positions[0] > end]
    return reported


def longest(found: Sequence[Found]) -> list[Found]:
    reported = []
    for first in {(m.stream, m.positions[0]) for m in found}:
        alike = [m for m in found if (m.stream, m.positions[0]) == first]
        end = max(m.positions[-1] for m in alike)
        reported.append(preferred([m for m in alike if m.positions[-1] == end]))
    return reported


def row(case: Case, m: Found) -> tuple[Any, ...]:
    """A match as the result shows it."""
    stored = case.stream.stored
    every = [m.events[i] for i in m.positions]
    bound = named(case.query, m.events, m.chosen)
    ends = (stored("ts", every[0]["ts"]), stored("ts", every[-1]["ts"]))

    def shown(c: Component) -> Any:
        structs = [{name: stored(name, event[name]) for name in case.stream.names} for event in bound[c.var]]
        return structs if c.kleene else structs[0]

    if case.query.returns is None:
        keys = tuple(key_shown(every[0][k]) for k in case.key)
        return (*keys, *ends, *(shown(c) for c in case.query.positives))
    items = []
    for item in case.query.returns:
        if isinstance(item.expr, str):
            items.append(shown(next(c for c in case.query.positives if c.var == item.expr)))
        else:
            items.append(returned(case, item.expr, bound))
    return (*ends, *items)


def returned(case: Case, expr: Any, bound: Mapping[str, Sequence[Event]]) -> Any:
    name = expr.name if isinstance(expr, Ref) else ""
    each = next((v for v in variables_of(expr) if EACH in forms(expr, v)), None)
    if each is None:
        return case.stream.stored(name, evaluate(expr, bound, {}))
    return [case.stream.stored(name, evaluate(expr, bound, {each: i})) for i in range(len(bound[each]))]


def key_shown(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def columns(case: Case, output: str = "all") -> list[str]:
    """The names of the result's columns."""
    if output == "count":
        return ["match_end", *case.key, "count"]
    ends = ["match_start", "match_end"]
    if case.query.returns is not None:
        return [*ends, *(item.name for item in case.query.returns)]
    return [*case.key, *ends, *(c.var for c in case.query.positives)]


def rows(case: Case, output: str = "all", found: Sequence[Found] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a result, in no order."""
    found = matches(case) if found is None else found
    match output:
        case "non_overlap":
            found = non_overlap(case, found)
        case "longest":
            found = longest(found)
        case "count":
            ends = Counter((m.stream, m.positions[-1]) for m in found)
            last = {(m.stream, m.positions[-1]): m.events[m.positions[-1]] for m in found}
            return [
                (
                    case.stream.stored("ts", last[end]["ts"]),
                    *(key_shown(last[end][k]) for k in case.key),
                    Decimal(count),
                )
                for end, count in ends.items()
            ]
    return [row(case, m) for m in found]
