"""What every sequence language comes down to: components, predicates, a strategy, a window, a result.

    SASE+ text ─ lang.sase ─> Pattern ─ resolve(schema) ─> Resolved: typed predicates, each where it is tested

A predicate is tested where its last variable is bound (`Moment`): at the begin of a component, at each
take of a Kleene component, on leaving it, or, if it names a negated variable, on complete matches.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from augury.errors import QueryError, Span
from augury.expr.check import check_call
from augury.expr.printing import quoted, text_of
from augury.expr.tree import Agg, At, Attr, Call, Expr, In, Len, Logic, Name, Param, children, walk
from augury.time import Window


class Strategy(Enum):
    STRICT = "strict_contiguity"
    PARTITION = "partition_contiguity"
    NEXT = "skip_till_next_match"
    ANY = "skip_till_any_match"


@dataclass(frozen=True, slots=True)
class Component:
    """One place in the sequence: a type of event, and the variable that it is bound to."""

    type: str
    var: str
    kleene: bool = False  # one or more events
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        shown = (
            f"{quoted(self.type)}{'+' if self.kleene else ''} {quoted(self.var)}{'[]' if self.kleene else ''}"
        )
        return f"~({shown})" if self.negated else shown


@dataclass(frozen=True, slots=True)
class Item:
    """One column of RETURN."""

    expr: Expr
    alias: str | None = None

    def __str__(self) -> str:
        return text_of(self.expr) + (f" AS {quoted(self.alias)}" if self.alias else "")

    @property
    def name(self) -> str | None:
        """The column's name, if it has one."""
        if self.alias is not None:
            return self.alias
        match self.expr:
            case Name(name=name):
                return name
            case Attr(var=var, at=At.ONE, name=name):
                return f"{var}_{name}"
            case Attr(var=var, at=At.FIRST, name=name):
                return f"{var}_1_{name}"
        return None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A query over sequences, checked as far as it can be without a schema."""

    components: tuple[Component, ...]
    strategy: Strategy = Strategy.ANY
    predicates: tuple[Expr, ...] = ()
    partition: tuple[str, ...] = ()  # the [attr] tests
    within: Window | None = None
    returns: tuple[Item, ...] | None = None  # None: every positive variable
    strategy_span: Span | None = field(default=None, compare=False, repr=False)
    partition_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        _validate(self)

    def __str__(self) -> str:
        return text_of_pattern(self)

    @property
    def positives(self) -> tuple[Component, ...]:
        return tuple(c for c in self.components if not c.negated)

    def component(self, var: str) -> Component | None:
        return next((c for c in self.components if c.var == var), None)

    def partition_span(self, name: str) -> Span | None:
        """Where an [attr] test stands in the text."""
        found = zip(self.partition, self.partition_spans, strict=False)
        return next((span for attribute, span in found if attribute == name), None)


class Clause(Enum):
    COMPONENT = "component"
    STRATEGY = "strategy"
    PREDICATE = "predicate"
    PARTITION = "partition"
    WINDOW = "window"
    RETURN = "return"


class Part(NamedTuple):
    """A part of a pattern, which what was made of it points back at."""

    clause: Clause
    place: int = 0  # which component, which predicate


def text_of_pattern(p: Pattern) -> str:
    """The pattern as SASE+ text that parses to an equal one."""
    return "\n".join(line for line, _ in lines_of_pattern(p))


def lines_of_pattern(p: Pattern) -> list[tuple[str, tuple[Part, ...]]]:
    """The pattern's text, and which parts stand on each of its lines: a predicate has one to itself."""
    conditions = [(text_of_condition(e), Part(Clause.PREDICATE, i)) for i, e in enumerate(p.predicates)]
    if p.partition:
        conditions.append((f"[{', '.join(map(quoted, p.partition))}]", Part(Clause.PARTITION)))
    if p.strategy is not Strategy.ANY:
        variables = ", ".join(quoted(c.var) + ("[]" if c.kleene else "") for c in p.positives)
        conditions.insert(0, (f"{p.strategy.value}({variables})", Part(Clause.STRATEGY)))
    components = tuple(Part(Clause.COMPONENT, i) for i in range(len(p.components)))
    lines = [(f"PATTERN SEQ({', '.join(map(str, p.components))})", components)]
    for i, (text, part) in enumerate(conditions):
        lines.append((f"{'  AND' if i else 'WHERE'} {text}", (part,)))
    if p.within is not None:
        lines.append((f"WITHIN {p.within}", (Part(Clause.WINDOW),)))
    if p.returns is not None:
        lines.append(("RETURN " + ", ".join(map(str, p.returns)), (Part(Clause.RETURN),)))
    return lines


def text_of_part(p: Pattern, part: Part) -> str:
    """What the pattern says in one of its parts; nothing where it says nothing."""
    match part.clause:
        case Clause.COMPONENT:
            return str(p.components[part.place])
        case Clause.PREDICATE:
            return text_of_condition(p.predicates[part.place])
        case Clause.STRATEGY:
            return p.strategy.value
    return next((line.removeprefix("  AND ") for line, parts in lines_of_pattern(p) if part in parts), "")


def text_of_condition(predicate: Expr) -> str:
    """A predicate as one part of a chain of ANDs."""
    return f"({text_of(predicate)})" if isinstance(predicate, Logic) else text_of(predicate)


# ------------------------------------------------------------------ what can be wrong without a schema


RESULT_COLUMNS = ("match_start", "match_end")


def _validate(p: Pattern) -> None:
    seen: dict[str, Component] = {}
    for c in p.components:
        if c.var in seen:
            raise QueryError(
                f"the variable {quoted(c.var)} is declared twice",
                span=c.span,
                hint="give each component a variable of its own",
            )
        seen[c.var] = c
        if c.negated and c.kleene:
            t, v = quoted(c.type), quoted(c.var)
            raise QueryError(
                f"the negated component {v} cannot be a Kleene component",
                span=c.span,
                hint=f"the absence of one {t} is the absence of many: ~({t} {v})",
            )
    if not p.positives:
        raise QueryError(
            "a pattern needs at least one component that is not negated",
            span=p.components[0].span if p.components else None,
            hint="say after or before what nothing may happen: SEQ(A a, ~(B b))",
        )
    for c in p.components:
        if c.var in RESULT_COLUMNS:
            raise QueryError(
                f"the variable {c.var} is named like a column of the result",
                span=c.span,
                hint="give it another name",
            )
    _validate_window(p)
    if p.strategy is Strategy.PARTITION and not p.partition:
        raise QueryError(
            "partition_contiguity needs an [attribute] test to partition by",
            span=p.strategy_span,
            hint="add AND [symbol], say; if the partitions are those of key=, write strict_contiguity",
        )
    for predicate in p.predicates:
        _check_parts(predicate)
        check_references(predicate, p)
        _validate_predicate(predicate, p)
    if p.returns is not None:
        _validate_returns(p.returns, p)


def _validate_window(p: Pattern) -> None:
    if p.within is not None:
        if p.within.amount <= 0:
            raise QueryError(
                "WITHIN must be greater than 0",
                span=p.within.span,
                hint="events fit in WITHIN w when last.time - first.time < w",
            )
        return
    for where, c in (("leading", p.components[0]), ("trailing", p.components[-1])):
        if c.negated:
            never = "begins" if where == "leading" else "closes"
            raise QueryError(
                f"{where} negation {c} never {never}",
                span=c.span,
                hint="add WITHIN, the time in which the event must be absent",
            )


ITERATED = frozenset({At.CURRENT, At.PREVIOUS, At.BEFORE})


def references(expr: Expr) -> list[tuple[str, At, Expr]]:
    """Which events of which variables an expression needs, as (variable, which event, node).

    An aggregate stands for its range, and whatever needs the closed variable for its last event.
    """
    match expr:
        case Attr(var=var, at=at):
            return [(var, at, expr)]
        case Len(var=var):
            return [(var, At.LAST, expr)]
        case Agg(var=var, over=over):
            return [(var, At.BEFORE if over is At.BEFORE else At.LAST, expr)]
    return [found for child in children(expr) for found in references(child)]


def check_references(expr: Expr, p: Pattern, *, in_return: bool = False) -> None:
    """Every reference names a declared variable in a form that fits it."""
    for node in walk(expr):
        match node:
            case Attr(var=var) | Len(var=var) | Agg(var=var):
                c = p.component(var)
                if c is None:
                    raise undeclared(var, p, node.span)
                _check_form(node, c, in_return)


def undeclared(var: str, p: Pattern, span: Span | None) -> QueryError:
    """A name that no component declares; often it is a type's, or in another case."""
    hint = f"the pattern declares: {', '.join(quoted(c.var) for c in p.components)}"
    of_type = next((c for c in p.components if c.type == var), None)
    near = difflib.get_close_matches(var.lower(), [c.var.lower() for c in p.components], n=1)
    if of_type is not None:
        hint = f"{quoted(var)} is a type; its variable is {quoted(of_type.var)}"
    elif near:
        meant = next(c.var for c in p.components if c.var.lower() == near[0])
        hint = f"did you mean {quoted(meant)}? {hint}"
    return QueryError(f"there is no variable {quoted(var)}", span=span, hint=hint)


def _check_form(node: Attr | Len | Agg, c: Component, in_return: bool) -> None:
    single = isinstance(node, Attr) and node.at is At.ONE
    v = quoted(c.var)
    if c.kleene and single:
        assert isinstance(node, Attr)
        x = quoted(node.name)
        forms = [f"{v}[1].{x}", f"{v}[i].{x}", f"{v}[{v}.LEN].{x}", f"{v}[].{x}"]
        if in_return:
            forms.remove(f"{v}[i].{x}")
        hint = f"write {', '.join(forms)} or an aggregate such as avg({v}[].{x})"
        if node.name.upper() == "LEN":
            hint = f"how many events there are is {v}.LEN, in upper case"
        raise QueryError(
            f"{v} is a Kleene variable of many events; {v}.{x} does not say which", span=node.span, hint=hint
        )
    if not c.kleene and not single:
        what = {Len: f"{v}.LEN is", Agg: "aggregates are"}.get(type(node))
        if isinstance(node, Attr):
            what = f"{v}{'[…]' if node.at is At.LAST else node.at.value} is"
        x = next((quoted(n.name) for n in walk(node) if isinstance(n, Attr)), "`LEN`")
        raise QueryError(
            f"{v} is a single event; {what} for Kleene variables",
            span=node.span,
            hint=f"the attribute is {v}.{x}; for a series of events declare {quoted(c.type)}+ {v}[]",
        )


def _check_parts(expr: Expr) -> None:
    """Calls have a function and its arguments, and a list that was bound stands in IN."""
    for node in walk(expr):
        if isinstance(node, Call):
            check_call(node)
        items = node.items if isinstance(node, In) else ()
        for child in (*children(node), *([node] if node is expr else [])):
            if isinstance(child, Param) and isinstance(child.value, tuple) and child not in items:
                raise QueryError(
                    f"the parameter :{quoted(child.name)} is a list, and one value is wanted here",
                    span=child.span,
                    hint=f"a list goes into IN: a.x IN (:{quoted(child.name)})",
                )


def _validate_predicate(expr: Expr, p: Pattern) -> None:
    for node in walk(expr):
        if isinstance(node, Name):
            raise _bare_word(node, p)
    places = references(expr)
    negated = sorted({v for v, _, _ in places if (c := p.component(v)) is not None and c.negated})
    if len(negated) > 1:
        raise QueryError(
            f"one predicate names two negated variables, {quoted(negated[0])} and {quoted(negated[1])}",
            span=expr.span,
            hint="each negated component is an absence of its own; write a predicate for each",
        )
    iterated = {v: node for v, at, node in places if at in ITERATED}
    if negated and iterated:
        name, node = next(iter(iterated.items()))
        v = quoted(name)
        raise QueryError(
            f"a predicate on the negated variable {quoted(negated[0])} cannot use {v}[i]",
            span=node.span,
            hint=f"write {v}[].x for every event of {v}, or an aggregate",
        )
    if len(iterated) > 1:
        one, two = list(iterated)[:2]
        raise QueryError(
            f"{quoted(one)}[i] and {quoted(two)}[i] in one predicate: which {quoted(two)} goes with which "
            f"{quoted(one)} is not said",
            span=iterated[two].span,
            hint="one of them can be [], an aggregate, [1] or the last",
        )
    for name, at, node in places:
        if name in iterated and at in (At.LAST, At.EACH):
            v = quoted(name)
            if at is At.EACH:
                message = f"{v}[i] and {v}[].x in one predicate both go through the events of {v}"
                hint = f"use {v}[1], {v}[i-1] or an aggregate over {v}[..i-1]"
            else:
                shown = text_of(node)
                message = f"{v}[i] is tested while {v} is still growing; {shown} is known only at its end"
                hint = f"write {v}[].x for 'every event of {v}', which is tested at the end"
            raise QueryError(message, span=node.span, hint=hint)


def _bare_word(node: Name, p: Pattern) -> QueryError:
    word, name = quoted(node.name), node.name.replace("'", "''")
    c = p.component(node.name)
    if c is not None:
        hint = f"{word} is an event; name an attribute of it: {word}.x"
        if c.kleene:
            hint = f"{word} is a list of events; name an attribute of them: {word}[].x"
    else:
        of = quoted(p.components[0].var)
        hint = f"a string is quoted: '{name}'; an attribute has its variable: {of}.{word}"
    return QueryError(f"{word} by itself is no value", span=node.span, hint=hint)


def _validate_returns(items: tuple[Item, ...], p: Pattern) -> None:
    for item in items:
        _check_parts(item.expr)
        check_references(item.expr, p, in_return=True)
        if isinstance(item.expr, Name):
            c = p.component(item.expr.name)
            if c is None:
                word, of = quoted(item.expr.name), quoted(p.positives[0].var)
                declared = ", ".join(quoted(c.var) for c in p.positives)
                raise QueryError(
                    f"{word} is no variable of the pattern",
                    span=item.expr.span,
                    hint=f"an attribute has its variable: {of}.{word}; the variables are: {declared}",
                )
            _refuse_negated(c, item.expr)
        else:
            for node in walk(item.expr):
                if isinstance(node, Name):
                    raise _bare_word(node, p)
        each = set()
        for name, at, node in references(item.expr):
            c = p.component(name)
            assert c is not None
            _refuse_negated(c, node)
            v = quoted(name)
            if at in ITERATED:
                raise QueryError(
                    f"{v}[i] in RETURN has no current event",
                    span=node.span,
                    hint=f"write {v}[].x for a list, {v}[1].x, {v}[{v}.LEN].x or an aggregate over {v}[]",
                )
            if at is At.EACH:
                each.add(v)
        if len(each) > 1:
            one, two = sorted(each)
            raise QueryError(
                f"one item of RETURN reads the events of two Kleene variables, {one} and {two}",
                span=item.expr.span,
                hint="return two lists, or aggregates of them",
            )
        if item.name is None:
            raise QueryError(
                f"{text_of(item.expr)} needs a name",
                span=item.expr.span,
                hint="add AS and a name for the column",
            )
    unique_names([(item.name or "", item.expr.span) for item in items], taken=RESULT_COLUMNS)


def _refuse_negated(c: Component, node: Expr) -> None:
    if c.negated:
        raise QueryError(
            f"{quoted(c.var)} is negated: a match has no such event to return",
            span=node.span,
            hint="return attributes of the other variables",
        )


def unique_names(names: list[tuple[str, Span | None]], taken: tuple[str, ...]) -> None:
    """No two columns of the result have one name."""
    seen = set(taken)
    for name, span in names:
        if name in seen:
            also = ", which is always there" if name in taken else ""
            raise QueryError(
                f"two columns of the result are named {quoted(name)}{also}",
                span=span,
                hint="name one otherwise with AS",
            )
        seen.add(name)
