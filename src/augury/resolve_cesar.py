"""A CESAR expression meets a schema: every attribute has a type, every predicate is checked.

    algebra.Node ─┐
    Columns ──────┼─ resolve ─> Source · Unary · Either · Next · Rounds
    Span ─────────┘

Project, rename, extend and changes of type are one thing here: `Map`, an expression for each attribute. An iteration is
two rounds, the first and the others: what `x.last` means and the types may differ, and so no value that is null has to
stand for "not yet".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from augury import algebra
from augury.algebra import DUR, LAST, RESERVED, Text, check_known, check_project, check_rename, check_union
from augury.errors import QueryError, locating
from augury.expr.check import check, check_condition, missing
from augury.expr.physical import result_type
from augury.expr.printing import quoted
from augury.expr.tree import At, Attr, Cast, Expr, Name, rewrite, typed
from augury.expr.types import (
    DURATION,
    FLOAT,
    INSTANTS,
    INT,
    INTEGERS,
    MICROSECONDS_PER_DAY,
    NUMBERS,
    TIMESTAMP,
    Kind,
    Type,
    common_decimal,
    storage,
)
from augury.schema import Columns, Roles

Attributes = Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class Span:
    """Which columns play a role; a point in time starts and ends in one column."""

    start: str
    end: str
    type: str | None
    key: tuple[str, ...]
    instant: Type  # of the time columns

    @property
    def duration(self) -> Type:
        return DURATION if self.instant.kind in INSTANTS else INT

    @property
    def unit(self) -> int:
        """What an instant counts in a duration."""
        return MICROSECONDS_PER_DAY if self.instant.kind is Kind.DATE else 1


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The rows of a type."""

    type: str
    attrs: Attributes


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    condition: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """All attributes of the result, each by an expression over those before."""

    outputs: Mapping[str, Expr]


Op = Filter | Map


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """Operators that see one event, the first of them first."""

    arg: Typed
    ops: tuple[Op, ...]
    attrs: Attributes


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """The union; each side is mapped to the attributes of the result."""

    left: Typed
    right: Typed
    attrs: Attributes


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One conditional sequence. `x.last` is the attribute x of the event before: an init has been followed."""

    on: Expr | None
    ops: tuple[Op, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Next:
    left: Typed
    right: Typed
    round: Round
    attrs: Attributes


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """An iteration. After either round an event has exactly `attrs`."""

    left: Typed
    right: Typed
    first: Round
    again: Round
    attrs: Attributes


Typed = Source | Unary | Either | Next | Rounds


# ------------------------------------------------------------------ roles


def span_of(columns: Columns, roles: Roles) -> Span:
    """The roles as CESAR has them. A tiebreak has nothing to decide: simultaneous events are not ordered."""
    end = roles.time if roles.end is None else roles.end
    return Span(roles.time, end, roles.type, roles.key, columns.types[end])


# ------------------------------------------------------------------ resolve


Known = dict[int, tuple[algebra.Node, Typed]]
"""By identity what nodes are, for who resolves many that share parts."""


def resolve(node: algebra.Node, columns: Columns, span: Span, known: Known | None = None) -> Typed:
    """The expression with its types."""
    named = {base.type for base in algebra.bases(node)}
    if span.type is None and len(named) > 1:
        first, second = sorted(named)[:2]
        raise QueryError(
            f"the expression names the streams {quoted(first)} and {quoted(second)}, but match() was not told the type "
            "column",
            hint="pass type=, the column that holds the names of types",
        )
    return _Resolver(columns, span, {} if known is None else known).node(node)


class _Resolver:
    def __init__(self, columns: Columns, span: Span, known: Known) -> None:
        self.span = span
        self.known = known
        self.attrs = {
            name: type_
            for name, type_ in columns.types.items()
            if name not in (span.start, span.end, span.type)
        }
        for name in self.attrs:
            if name in RESERVED or name.endswith(".last"):
                raise QueryError(
                    f"the data has a column {quoted(name)}, and no attribute can be named so",
                    hint=f"rename the column: {', '.join(RESERVED)} and names that end in .last have a meaning of their own",
                )

    def node(self, node: algebra.Node) -> Typed:
        """A node that reads one base stream by operators without parameters is kept: many queries may have it."""
        found = self.known.get(id(node))
        if found is not None and found[0] is node:
            return found[1]
        new = self._new(node)
        if _is_plain(node):
            self.known[id(node)] = node, new
        return new

    def _new(self, node: algebra.Node) -> Typed:
        match node:
            case algebra.Base():
                return Source(node.type, self.attrs)
            case algebra.Where() | algebra.Project() | algebra.Rename() | algebra.Extend():
                below = self.node(node.arg)
                op, attrs = self._op(node, below.attrs, {}, frozenset())
                if isinstance(below, Unary):
                    return Unary(below.arg, (*below.ops, op), attrs)
                return Unary(below, (op,), attrs)
            case algebra.Union():
                return self._union(self.node(node.left), self.node(node.right))
            case algebra.Then():
                left, right = self.node(node.left), self.node(node.right)
                attrs = _merged(left.attrs, right.attrs)
                on = self._condition(node.on, attrs, {n: n for n in left.attrs}, left.attrs)
                return Next(left, right, Round(on), attrs)
            case algebra.Iterate():
                return self._iteration(node)
        raise AssertionError(f"no stream: {node}")

    # -------------------------------------------------------------- unary operators

    def _op(
        self, node: algebra.Node, attrs: Attributes, last: Mapping[str, Expr], unset: frozenset[str]
    ) -> tuple[Op, Attributes]:
        """An operator over events of these attributes, and the attributes of its result."""
        match node:
            case algebra.Where():
                return Filter(self._checked(node.condition, attrs, last, unset, is_condition=True)), attrs
            case algebra.Project():
                check_project(node.names, tuple(attrs))
                return _map({n: _attr(n, attrs[n]) for n in node.names})
            case algebra.Rename():
                check_rename(node.pairs, tuple(attrs))
                new = dict(node.pairs)
                for name in (*new, *new.values()):
                    self._refuse_key(name, "renamed")
                return _map({new.get(n, n): _attr(n, t) for n, t in attrs.items()})
            case algebra.Extend():
                for name, _ in node.values:
                    self._refuse_key(name, "assigned to")
                found = {n: self._checked(v, attrs, last, unset) for n, v in node.values}
                return _map({**{n: _attr(n, t) for n, t in attrs.items()}, **found})
        raise AssertionError(f"not unary: {node}")

    def _refuse_key(self, name: str, what: str) -> None:
        if name in self.span.key:
            raise QueryError(
                f"{quoted(name)} is a key column, and a key is not {what}",
                hint="all events of a match have the same key; extend the stream by another name",
            )

    def _checked(
        self,
        text: Text,
        attrs: Attributes,
        last: Mapping[str, Expr],
        unset: frozenset[str],
        *,
        is_condition: bool = False,
    ) -> Expr:
        """A text's tree with its types; what `x.last` stands for has been put in its place."""

        def type_of(node: Attr | Name) -> Type:
            assert isinstance(node, Attr)
            if node.name == DUR and node.var == "":
                return self.span.duration
            if node.var == LAST:
                if node.name in last:
                    return typed(last[node.name])
                if node.name in unset:
                    raise QueryError(
                        f"{quoted(node.name)}.last has no value in the first round",
                        span=node.span,
                        hint=f"the left operand has no {quoted(node.name)}; say which of its attributes it is: "
                        f'init={{"{node.name}": …}}',
                    )
                message, hint = missing("attribute", node.name, last)
                raise QueryError(f"{message} in the event before", span=node.span, hint=hint)
            if node.name not in attrs:
                message, hint = missing("attribute", node.name, attrs)
                raise QueryError(message, span=node.span, hint=hint)
            return attrs[node.name]

        def settle(node: Expr) -> Expr:
            return last[node.name] if isinstance(node, Attr) and node.var == LAST else node

        with locating(text.text):
            checked = (check_condition if is_condition else check)(text.expr, type_of)
        return rewrite(checked, settle)

    # -------------------------------------------------------------- binary operators

    def _union(self, left: Typed, right: Typed) -> Typed:
        check_union(tuple(left.attrs), tuple(right.attrs))
        attrs = {n: _common(n, t, right.attrs[n], "the sides of the union") for n, t in left.attrs.items()}
        return Either(_as(left, attrs), _as(right, attrs), attrs)

    def _condition(
        self, on: Text | None, attrs: Attributes, last: Mapping[str, str], left: Attributes
    ) -> Expr | None:
        if on is None:
            return None
        befores = {x: _attr(a, left[a], LAST) for x, a in last.items()}
        return self._checked(on, attrs, befores, frozenset(), is_condition=True)

    def _iteration(self, node: algebra.Iterate) -> Rounds:
        left, right = self.node(node.left), self.node(node.right)
        init = dict(node.init)
        for a in init.values():
            check_known(a, tuple(left.attrs))
        steps = list(reversed(_chain(node.step)))
        first, after = self._round(node, steps, left.attrs, right.attrs, init, left.attrs)
        for x in init:
            if x not in after and x not in right.attrs:
                message, hint = missing("attribute", x, {**after, **right.attrs})
                raise QueryError(f"init: {message} that a round gives", hint=hint)
        # In the later rounds x.last is a round's own x: types widen until they stay.
        attrs: Attributes = after
        for _ in range(len(attrs) * 4 + 4):
            again, then = self._round(node, steps, attrs, right.attrs, {}, attrs)
            if set(then) != set(attrs):
                gone, new = sorted(set(attrs) - set(then)), sorted(set(then) - set(attrs))
                raise QueryError(
                    "the rounds of an iteration end in different attributes: "
                    + "; ".join(
                        f"{said} {', '.join(map(quoted, some))}"
                        for said, some in (("later ones lose", gone), ("later ones gain", new))
                        if some
                    ),
                    hint="project to the same attributes at the end of step=",
                )
            wider = {n: _common(n, t, then[n], "the rounds of the iteration") for n, t in attrs.items()}
            if all(wider[n] == attrs[n] and wider[n].arrow == attrs[n].arrow for n in attrs):
                break
            attrs = wider
        else:
            raise AssertionError("types that never settle")
        return Rounds(left, right, _ending(first, after, attrs), _ending(again, then, attrs), attrs)

    def _round(
        self,
        node: algebra.Iterate,
        steps: list[algebra.Node],
        before: Attributes,
        new: Attributes,
        init: Mapping[str, str],
        left: Attributes,
    ) -> tuple[Round, Attributes]:
        last = {**{n: _attr(n, t, LAST) for n, t in before.items()}}
        last.update({x: _attr(a, left[a], LAST) for x, a in init.items()})
        attrs: Attributes = _merged(before, new)
        unset = frozenset(n for n in attrs if n not in last)
        on = None
        if node.on is not None:
            on = self._checked(node.on, attrs, last, unset, is_condition=True)
        ops = []
        for step in steps:
            op, attrs = self._op(step, attrs, last, unset)
            ops.append(op)
        return Round(on, tuple(ops)), attrs


def _is_plain(node: algebra.Node) -> bool:
    while isinstance(node, algebra.Rename | algebra.Project):
        node = node.arg
    return isinstance(node, algebra.Base)


def _chain(step: algebra.Node) -> list[algebra.Node]:
    """The operators of a step, the last one first."""
    found: list[algebra.Node] = []
    while not isinstance(step, algebra.Hole):
        assert isinstance(step, algebra.UNARY)
        found.append(step)
        step = step.arg
    return found


def _ending(round_: Round, found: Attributes, wanted: Attributes) -> Round:
    """The round with its result in the attributes wanted, by type and in their order."""
    ops = _cast(found, wanted)
    return Round(round_.on, (*round_.ops, *ops))


def _as(node: Typed, wanted: Attributes) -> Typed:
    ops = _cast(node.attrs, wanted)
    if not ops:
        return node
    if isinstance(node, Unary):
        return Unary(node.arg, (*node.ops, *ops), wanted)
    return Unary(node, ops, wanted)


def _cast(found: Attributes, wanted: Attributes) -> tuple[Op, ...]:
    if list(found) == list(wanted) and all(found[n].kind is t.kind for n, t in wanted.items()):
        return ()
    outputs: dict[str, Expr] = {}
    for name, to in wanted.items():
        attr: Expr = _attr(name, found[name])
        outputs[name] = attr if found[name].kind is to.kind else Cast(attr, type=to)
    return (Map(outputs),)


def _attr(name: str, type_: Type, var: str = "") -> Attr:
    return Attr(var, At.ONE, name, type=type_)


def _map(outputs: dict[str, Expr]) -> tuple[Map, Attributes]:
    return Map(outputs), {n: _attribute_type(e) for n, e in outputs.items()}


def _attribute_type(expr: Expr) -> Type:
    """An attribute that is only passed on keeps the type of the data; what is computed has its kind's."""
    found = typed(expr)
    return found if isinstance(expr, Attr) else replace(found, arrow=result_type(found))


def _merged(left: Attributes, right: Attributes) -> Attributes:
    return {**left, **right}


def _common(name: str, left: Type, right: Type, what: str) -> Type:
    """The type that holds the values of both."""
    if left == right:
        if left.arrow == right.arrow:
            return left
        if left.kind is Kind.DECIMAL and left.arrow is not None and right.arrow is not None:
            wide = common_decimal([storage(left.arrow), storage(right.arrow)])
            if wide is not None:
                return Type(Kind.DECIMAL, arrow=wide)
        elif left.kind not in (Kind.LIST, Kind.OPAQUE):
            if left.kind is Kind.TIMESTAMP:
                return Type(Kind.TIMESTAMP, arrow=pa.timestamp("us", tz=getattr(left.arrow, "tz", None)))
            return replace(left, arrow=result_type(Type(left.kind)))
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return right if left.kind is Kind.NULL else left
    if kinds <= INTEGERS:
        return INT
    if kinds <= NUMBERS and len(kinds) > 1:
        return FLOAT
    if kinds == INSTANTS:
        return TIMESTAMP
    raise QueryError(
        f"{quoted(name)} is {left.named} and {right.named} in {what}",
        hint="give it one type, or two names",
    )


# ------------------------------------------------------------------ the result


def key_in_front(attrs: Attributes, key: Sequence[str]) -> list[str]:
    """The result's columns before `start` and `end`: the key, and the attributes that are not."""
    return [*key, *(n for n in attrs if n not in key)]


def output_schema(found: Typed, columns: Columns, span: Span) -> pa.Schema:
    """The result's columns."""
    types = {**found.attrs, **{k: columns.types[k] for k in span.key}}
    fields = [pa.field(n, _stored(types[n])) for n in key_in_front(found.attrs, span.key)]
    ends = [pa.field(n, columns.types[c].arrow) for n, c in (("start", span.start), ("end", span.end))]
    for name in span.key:
        if name in RESERVED:
            raise QueryError(
                f"a key column cannot be named {quoted(name)}",
                hint="rename the column; the result has one of its own",
            )
    return pa.schema([*fields, *ends])


def _stored(type_: Type) -> pa.DataType:
    return result_type(type_) if type_.arrow is None else type_.arrow
