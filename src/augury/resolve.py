"""A `Pattern` meets a schema: types are checked, and every predicate gets its place.

    Pattern ─┐
    Columns ─┼─ resolve ─> Resolved: typed tests at their moments, W in instants, the columns that are read
    Roles ───┘

A predicate is tested at the moment when the last of its variables is bound. References to events of
*other* variables that stand for many (`a[].x`, or `a[i].x` once `a` is closed) make it hold for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import pyarrow as pa

from augury.errors import QueryError
from augury.expr.check import TypeOf, check, check_condition, missing
from augury.expr.printing import quoted
from augury.expr.tree import At, Attr, Between, Binary, Expr, Logic, Name, rewrite, typed, walk
from augury.expr.types import UNORDERED, Kind, Type, storage
from augury.pattern import ITERATED, Component, Item, Pattern, references
from augury.schema import Columns, Roles
from augury.time import instants


class Moment(Enum):
    BEGIN = "begin"  # the component's (first) event is bound
    TAKE = "take"  # a Kleene component takes one more
    LEAVE = "leave"  # a Kleene component is closed
    ABSENT = "absent"  # an event is tried as the negated component's


@dataclass(frozen=True, slots=True)
class Test:
    """One predicate at one moment of one component.

    `forall` are the variables over whose events it must hold: each i >= 1 for EACH, each i > 1 for CURRENT.
    """

    component: int  # its place in Pattern.components
    moment: Moment
    expr: Expr
    predicate: int  # its place in Pattern.predicates
    forall: tuple[tuple[str, At], ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A pattern, and at which moments its predicates are tested."""

    pattern: Pattern
    tests: tuple[Test, ...]

    def tests_at(self, component: int, moment: Moment) -> tuple[Test, ...]:
        return tuple(t for t in self.tests if t.component == component and t.moment is moment)


@dataclass(frozen=True, slots=True)
class Resolved(Placed):
    """A pattern that fits its data: all that an engine needs to know."""

    columns: Columns
    roles: Roles
    window: int | None  # W in instants of the time column
    reads: tuple[str, ...]  # the columns that make up an event, in schema order
    items: tuple[Item, ...] | None  # RETURN, typed


def resolve(pattern: Pattern, columns: Columns, roles: Roles) -> Resolved:
    """Check the pattern against the columns, and place its predicates."""
    _check_types_named(pattern, roles)
    for c in pattern.components:
        if c.var in roles.key:
            raise QueryError(
                f"the variable {quoted(c.var)} is named like a key column",
                span=c.span,
                hint="give it another name",
            )

    type_of = attribute_types(columns)
    for name in pattern.partition:
        if name not in columns.types:
            message, hint = missing("attribute", name, columns.types)
            raise QueryError(message, span=pattern.partition_span(name), hint=hint)
        if columns.types[name].kind in UNORDERED:
            raise QueryError(
                f"[{quoted(name)}] compares values, and {quoted(name)} is {columns.types[name].named}",
                span=pattern.partition_span(name),
                hint="name an attribute that holds single values",
            )
    tests: list[Test] = []
    for number, predicate in enumerate(pattern.predicates):
        tests.extend(_placed(pattern, number, check_condition(predicate, type_of)))
    window = None
    if pattern.within is not None:
        window = instants(pattern.within, columns.types[roles.time], roles.time)
    return Resolved(
        pattern=pattern,
        columns=columns,
        roles=roles,
        tests=tuple(tests),
        window=window,
        reads=_reads(pattern, columns, roles),
        items=typed_items(pattern, columns),
    )


def attribute_types(columns: Columns) -> TypeOf:
    """What an attribute's type is, as `check` asks for it."""

    def type_of(node: Attr | Name) -> Type:
        if node.name not in columns.types:
            message, hint = missing("attribute", node.name, columns.types)
            raise QueryError(message, span=node.span, hint=hint)
        return columns.types[node.name]

    return type_of


def typed_items(pattern: Pattern, columns: Columns) -> tuple[Item, ...] | None:
    """RETURN, its expressions checked and its columns named."""
    if pattern.returns is None:
        return None
    type_of = attribute_types(columns)
    return tuple(
        item if isinstance(item.expr, Name) else Item(check(item.expr, type_of), item.name)
        for item in pattern.returns
    )


def _check_types_named(pattern: Pattern, roles: Roles) -> None:
    """Without a type column the data is of one type, and every component names it."""
    first = pattern.components[0]
    for c in pattern.components:
        if roles.type is None and c.type != first.type:
            raise QueryError(
                f"the pattern names the types {quoted(first.type)} and {quoted(c.type)}, but match() was not "
                "told the type column",
                span=c.span,
                hint="pass type=, the column that holds the names of types",
            )


def _reads(pattern: Pattern, columns: Columns, roles: Roles) -> tuple[str, ...]:
    """The columns that make up an event: all of them, unless RETURN names what it wants."""
    if pattern.returns is None or any(isinstance(i.expr, Name) for i in pattern.returns):
        return tuple(columns.types)
    named = {roles.time, *roles.key, *roles.tiebreak, *pattern.partition}
    if roles.type is not None:
        named.add(roles.type)
    for expr in (*pattern.predicates, *(i.expr for i in pattern.returns)):
        named.update(node.name for node in walk(expr) if isinstance(node, Attr))
    return tuple(name for name in columns.types if name in named)


UNKNOWN = Type(Kind.OPAQUE)
"""What an attribute's type is while no schema has told it."""


def without_schema(pattern: Pattern) -> Placed:
    """The pattern's predicates at their moments, their types unknown: enough to tell a plan, not to follow it."""

    def unknown(node: Expr) -> Expr:
        if isinstance(node, Between):  # two tests, as `check` makes them
            low, high = (
                Binary(op, node.arg, bound, span=node.span, type=UNKNOWN)
                for op, bound in ((">=", node.low), ("<=", node.high))
            )
            return Logic("AND", (low, high), span=node.span, type=UNKNOWN)
        return replace(node, type=UNKNOWN)

    tests = [t for i, e in enumerate(pattern.predicates) for t in _placed(pattern, i, rewrite(e, unknown))]
    return Placed(pattern, tuple(tests))


def _placed(pattern: Pattern, predicate: int, expr: Expr) -> list[Test]:
    """The moments at which a predicate is tested."""
    places = {c.var: i for i, c in enumerate(pattern.components)}
    forms: dict[str, set[At]] = {}
    for var, at, _ in references(expr):
        forms.setdefault(var, set()).add(at)
    negated = [v for v in forms if pattern.components[places[v]].negated]
    if negated:
        last = negated[0]
        moments: tuple[Moment, ...] = (Moment.ABSENT,)
    elif not forms:
        last, moments = pattern.positives[0].var, (Moment.BEGIN,)
    else:
        last = max(forms, key=lambda v: places[v])
        moments = _moments(pattern.components[places[last]], forms[last])
    tests = []
    for moment in moments:
        forall = []
        for var, ats in forms.items():
            bound_here = var == last and moment in (Moment.BEGIN, Moment.TAKE)
            if bound_here:
                continue
            if At.EACH in ats:
                forall.append((var, At.EACH))
            elif ats & ITERATED:
                forall.append((var, At.CURRENT))
        tests.append(Test(places[last], moment, expr, predicate, tuple(forall)))
    return tests


def _moments(c: Component, forms: set[At]) -> tuple[Moment, ...]:
    if not c.kleene:
        return (Moment.BEGIN,)
    if At.LAST in forms:
        return (Moment.LEAVE,)
    if forms & ITERATED:
        return (Moment.TAKE,)
    return (Moment.BEGIN, Moment.TAKE) if At.EACH in forms else (Moment.BEGIN,)


# ------------------------------------------------------------------ the columns of the result


def output_schema(
    resolved: Resolved, schema: pa.Schema, output: str, *, match_id: bool, time: pa.DataType
) -> pa.Schema:
    """The result's columns, known before any event is read."""
    key = [pa.field(k, schema.field(k).type) for k in resolved.roles.key]
    end = pa.field("match_end", time)
    ends = [pa.field("match_start", time), end]
    if output == "count":
        fields = [end, *key, pa.field("count", pa.decimal128(38, 0))]
    elif resolved.items is None:
        fields = [
            *key,
            *ends,
            *(pa.field(c.var, variable_type(c, schema)) for c in resolved.pattern.positives),
        ]
    else:
        fields = [*ends, *(pa.field(i.name or "", item_type(i, resolved, schema)) for i in resolved.items)]
    names = [f.name for f in fields]
    if match_id:
        fields.insert(0, pa.field("match_id", pa.string()))
        names.append("match_id")
    for name in names:
        if names.count(name) > 1:
            raise QueryError(
                f"two columns of the result are named {quoted(name)}",
                hint="rename the key column, the variable or the item of RETURN that has this name",
            )
    return pa.schema(fields)


def variable_type(c: Component, schema: pa.Schema) -> pa.DataType:
    event = pa.struct(list(schema))
    return pa.list_(event) if c.kleene else event


def item_type(item: Item, resolved: Resolved, schema: pa.Schema) -> pa.DataType:
    """The Arrow type of one column of RETURN."""
    if isinstance(item.expr, Name):
        c = resolved.pattern.component(item.expr.name)
        assert c is not None
        return variable_type(c, schema)
    value = result_type(item.expr)
    is_list = any(at is At.EACH for _, at, _ in references(item.expr))
    return pa.list_(value) if is_list else value


def result_type(expr: Expr) -> pa.DataType:
    """The Arrow type of a value: an attribute keeps the one it has, what is computed has its kind's."""
    type_ = typed(expr)
    if isinstance(expr, Attr) and type_.arrow is not None:
        return type_.arrow
    match type_.kind:
        case Kind.TIMESTAMP:
            return pa.timestamp("us", tz=getattr(type_.arrow, "tz", None))
        case Kind.LIST | Kind.OPAQUE if type_.arrow is not None:
            return type_.arrow
        case Kind.DECIMAL if type_.arrow is not None:
            return storage(type_.arrow)
    return _PLAIN[type_.kind]


_PLAIN = {
    Kind.NULL: pa.null(),
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.UINT: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.DECIMAL: pa.decimal256(76, 38),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("ns"),
    Kind.DURATION: pa.duration("us"),
}
