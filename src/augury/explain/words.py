"""The words of an explanation: its page, and the names of what the passes made, in those of the query.

Names and strings of queries and data may hold anything. Every line of a page goes through `one_line`.
"""

from __future__ import annotations

import datetime as dt
import textwrap
from dataclasses import replace
from decimal import Decimal

from augury.automaton import Action, Arc, Automaton
from augury.errors import one_line
from augury.expr.printing import quoted, text_of
from augury.expr.tree import At, Attr, Expr, Literal, Name, rewrite
from augury.expr.types import Kind
from augury.pattern import Component, Pattern, text_of_condition
from augury.plan.registers import Holds, Register
from augury.plan.split import ABSENT, Split

WIDTH = 108
_REFERENCE = 92  # where the numbers of the query's lines stand


class Page:
    """Sections of lines, none wider than a screen where words can be broken."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str, about: str = "") -> None:
        """A heading, and what the section is about."""
        if self.lines:
            self.lines.append("")
        self.lines.append(title)
        if about:
            self.say(about)

    def say(
        self, text: str, *, indent: int = 2, hang: int = 0, label: str = "", at: int | None = None
    ) -> None:
        """A paragraph, perhaps with a label before it, and the line of the query that it comes from behind it."""
        start = " " * indent + one_line(label)
        start = start.ljust(indent + hang) if len(start) < indent + hang or not label else f"{start} "
        width = _REFERENCE if at is not None else WIDTH
        found = textwrap.wrap(
            one_line(text),
            max(width, indent + hang + 30),
            initial_indent=start,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [start.rstrip()]
        if at is not None:
            found[0] = f"{found[0].ljust(_REFERENCE)}  line {at}"
        self.lines.extend(line.rstrip() for line in found)

    def as_is(self, line: str) -> None:
        """A line that keeps its spaces."""
        self.lines.append(one_line(line).rstrip())

    def text(self) -> str:
        return "\n".join(self.lines)


# ------------------------------------------------------------------ names


def listed(names: list[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def numbered(lines: list[int]) -> str:
    """`line 3`, `lines 3 and 5`."""
    return f"{'line' if len(lines) == 1 else 'lines'} {listed([str(n) for n in lines])}"


def a(noun: str) -> str:
    """With its article."""
    return f"{'an' if noun.lstrip('`')[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def series(c: Component) -> str:
    """A variable as a whole."""
    return quoted(c.var) + ("[]" if c.kleene else "")


def bound(c: Component, action: Action) -> str:
    """The variable that an arc binds its event to."""
    if not c.kleene:
        return quoted(c.var)
    return quoted(c.var) + ("[1]" if action is Action.BEGIN else "[i]")


def predicate(pattern: Pattern, place: int) -> str:
    """A predicate as the query has it."""
    return text_of_condition(pattern.predicates[place])


def arc_name(arc: Arc) -> str:
    """What an arc does, and to which variable."""
    if arc.component is None:
        return arc.action.value
    return f"{arc.action.value} {bound(arc.component, arc.action)}"


def state_name(automaton: Automaton, state: int) -> str:
    """Where a run in a state has got to."""
    if state == 0:
        return "no event yet"
    c = automaton.components[state - 1]
    what = f"{series(c)} has begun" if c.kleene else f"{series(c)} is bound"
    if state == automaton.final:
        return f"{what}: a match" if not c.kleene else f"{what}: a match, which more events may follow"
    return what


def register_name(r: Register, split: Split, pattern: Pattern) -> str:
    """What a register holds, as the query would say it."""
    c = pattern.component(r.var)
    assert c is not None
    if r.holds is Holds.LEN:
        return f"{quoted(r.var)}.LEN"
    column = split.columns[r.column]
    if isinstance(column, Attr) and column.var == ABSENT:
        absent = pattern.components[int(column.name)]
        return f"how many {quoted(absent.type)} events came before the last of {series(c)}"
    places = {Holds.FIRST: At.FIRST if c.kleene else At.ONE, Holds.LAST: At.LAST}
    at = places.get(r.holds, At.EACH)
    inner = column_name(column, r.var, at)
    return inner if r.holds in places else f"{r.holds.value}({inner})"


def column_name(column: Expr, var: str = "", at: At = At.ONE) -> str:
    """A derived column, of the event of a variable, or of any event."""

    def named(node: Expr) -> Expr:
        if isinstance(node, Attr):
            return replace(node, var=var, at=at) if var else Name(node.name)
        return _written(node) if isinstance(node, Literal) else node

    return text_of(rewrite(column, named))


def column_of_event(column: Expr, pattern: Pattern) -> str:
    """A derived column, as what it is of each event."""
    if isinstance(column, Attr) and column.var == ABSENT:
        absent = pattern.components[int(column.name)]
        upto = "before it" if column.at is At.BEFORE else "up to it"
        return f"how many {quoted(absent.type)} events come {upto}"
    return column_name(column)


def _written(node: Literal) -> Literal:
    """A constant as a query has it; checked ones are physical values."""
    if node.kind != "constant":
        return node
    value, kind = node.value, None if node.type is None else node.type.kind
    if value is None:
        return Literal("null", None)
    if isinstance(value, bool):
        return Literal("bool", value)
    match kind:
        case Kind.STRING:
            return Literal("string", str(value))
        case Kind.DURATION:
            return Literal("duration", value)
        case Kind.DATE | Kind.TIMESTAMP if isinstance(value, int):
            return Literal("string", _instant(value, kind))
        case Kind.FLOAT if isinstance(value, float):
            exact = Decimal(repr(value))
            return Literal("number", exact) if exact.is_finite() else Literal("constant", str(value))
    return Literal("constant", str(value))


def _instant(value: int, kind: Kind) -> str:
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # shown as it is stored
    try:
        found = epoch + (dt.timedelta(days=value) if kind is Kind.DATE else dt.timedelta(microseconds=value))
    except OverflowError:
        return str(value)
    return str(found).removesuffix(" 00:00:00")
