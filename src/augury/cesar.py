"""What users hold of CESAR: an expression, made of streams by methods, and asked of data like any query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from augury import algebra
from augury.asking import Asking
from augury.errors import QueryError
from augury.expr.printing import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.explain import Explanation
    from augury.pictures.diagram import Diagram
    from augury.runtime.cesar import Streams
    from augury.runtime.options import Options


class Expression(Asking):
    """A stream made of streams. Make one with `ag.stream`; it never changes, and every method gives a new one.

    >>> S = stream("Stock")
    >>> S.where("vol > 10000").then(S.rename(price="later"), on="name = name.last")
    ag.stream('Stock').where('vol > 10000').then(ag.stream('Stock').rename(price='later'), on='name = name.last')
    """

    __slots__ = ("_last", "_node")

    def __init__(self, node: algebra.Node, last: tuple[str, ...] | None = None) -> None:
        self._node = node
        self._last = last  # in a step: the names that x.last may have

    @property
    def node(self) -> algebra.Node:
        """What the expression says, as every engine reads it."""
        return self._node

    @property
    def attributes(self) -> tuple[str, ...] | None:
        """The attributes as far as they follow from the expression; None where the data will tell."""
        return algebra.names(self._node)

    def __str__(self) -> str:
        """The expression in the paper's notation.

        >>> print(stream("Stock").where("vol > 10000").project("name"))
        π[name](σ[vol > 10000](Stock))
        """
        return algebra.notation(self._node)

    def __repr__(self) -> str:
        return _written(self._node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self._node == other._node

    def __hash__(self) -> int:
        return hash(self._node)

    @property
    def _algebra(self) -> algebra.Node:
        return self._node

    @property
    def _types(self) -> frozenset[str]:
        return frozenset(base.type for base in algebra.bases(self._node))

    def _program(self, schema: pa.Schema, options: Options) -> Streams:
        from augury.runtime.cesar import program_of

        if self._in_step:
            raise QueryError("what a step is applied to is no query", hint="match the whole expression")
        return program_of(self._node, schema, options)

    def _explained(self, data: Any, options: Options, *, kernel: bool) -> Explanation:
        from augury.explain.cesar import explain

        return explain(self._node, data, options, kernel=kernel)

    def _diagram(self) -> Diagram:
        from augury.pictures.diagram import of_algebra

        return of_algebra(self._node)

    def to_json(self) -> str:
        """The expression as JSON text: its operators, their texts and the values of parameters, nothing that runs."""
        from augury.cesar_json import written

        return written(self._node)

    # -------------------------------------------------------------- one operand

    def where(self, condition: str, /, **params: Any) -> Expression:
        """The events for which the condition is true: σ. Values for its `:names` are given by name.

        >>> stream("Stock").where("price BETWEEN :low AND :high", low=10, high=20)
        ag.stream('Stock').where('price BETWEEN :low AND :high', low=10, high=20)
        """
        from augury.lang.cesar import predicate

        text = predicate(
            condition, params, current=self.attributes, last=self._last, in_sequence=self._in_step
        )
        return self._with(algebra.Where(self._node, text))

    def project(self, *names: str) -> Expression:
        """The events with these attributes alone, and their times: π."""
        checked = tuple(_name(n) for n in names)
        algebra.check_project(checked, self.attributes)
        return self._with(algebra.Project(self._node, checked))

    def rename(self, names: Mapping[str, str] | None = None, /, **more: str) -> Expression:
        """The events with attributes renamed, `old="new"`, all at once: ρ. A mapping takes names of any form."""
        given = {**(names or {}), **more}
        pairs = tuple((_name(old), algebra.check_name(new, "a new name")) for old, new in given.items())
        algebra.check_rename(pairs, self.attributes)
        return self._with(algebra.Rename(self._node, pairs))

    def extend(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Expression:
        """The events with more attributes, or new values of those there are, all at once: the paper's α.

        A text is an expression, what is no text a constant.
        """
        from augury.lang.cesar import value

        found = []
        for name, given in {**(values or {}), **more}.items():
            text = value(given, current=self.attributes, last=self._last, in_sequence=self._in_step)
            found.append((algebra.check_name(name, "an attribute"), text))
        return self._with(algebra.Extend(self._node, tuple(found)))

    # -------------------------------------------------------------- two operands

    def union(self, other: Expression) -> Expression:
        """The events of both; attributes go by name."""
        self._no_step("union")
        right = _expression(other, "union")
        algebra.check_union(self.attributes, right.attributes)
        return Expression(algebra.Union(self._node, right.node))

    __or__ = union

    def then(self, other: Expression, *, on: str | None = None, **params: Any) -> Expression:
        """Each event with the next one of the other stream that satisfies `on`: the conditional sequence.

        In `on` a name is the new event's value where both have it, and `x.last` the value of the event before.
        """
        self._no_step("then")
        right = _expression(other, "then")
        node = algebra.Then(self._node, right.node, self._on(on, params, right, self.attributes))
        return Expression(node)

    def iterate(
        self,
        other: Expression,
        *,
        on: str | None = None,
        step: Callable[[Expression], Expression] | None = None,
        init: Mapping[str, str] | None = None,
        **params: Any,
    ) -> Expression:
        """The conditional sequence again and again: µ. All that one, two, … rounds give.

        `step` is applied after each round; `init` names, for an `x.last` that this stream does not have in the first
        round, the attribute to read in its place.
        """
        self._no_step("iterate")
        right = _expression(other, "iterate")
        befores = tuple((_name(x), _name(a)) for x, a in (init or {}).items())
        for _, a in befores:
            algebra.check_known(a, self.attributes)
        last = None
        text = self._on(on, params, right, last)
        hole = Expression(algebra.Hole(algebra.both(self.attributes, right.attributes)), last)
        done = hole if step is None else step(hole)
        if not _is_step(done):
            raise QueryError(
                "step= gives an expression made of the one it is given, by where, project, rename and extend",
                hint='write step=lambda s: s.where("price > price.last"), say',
            )
        return Expression(algebra.Iterate(self._node, right.node, text, done.node, befores))

    def _on(
        self, on: str | None, params: Mapping[str, Any], right: Expression, last: tuple[str, ...] | None
    ) -> algebra.Text | None:
        from augury.lang.cesar import predicate

        if on is None:
            if params:
                raise QueryError(f"there is no on= for the parameter :{quoted(next(iter(params)))}")
            return None
        current = algebra.both(self.attributes, right.attributes)
        return predicate(on, params, current=current, last=last, in_sequence=True)

    @property
    def _in_step(self) -> bool:
        node = self._node
        while isinstance(node, algebra.UNARY):
            node = node.arg
        return isinstance(node, algebra.Hole)

    def _with(self, node: algebra.Node) -> Expression:
        return Expression(node, self._last)

    def _no_step(self, name: str) -> None:
        if self._in_step:
            raise QueryError(
                f"a step cannot use {name}", hint="step= is made of where, project, rename and extend"
            )


def stream(type: str, /) -> Expression:
    """The events of a type, as a stream of CESAR.

    >>> stream("Stock").attributes is None
    True
    """
    named: object = type
    if not isinstance(named, str) or not named:
        raise QueryError(f"a stream is named by its type, not by {type!r}", hint='write ag.stream("Stock")')
    return Expression(algebra.Base(named))


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise QueryError(f"an attribute is a name, not {name!r}", hint="attributes are named by strings")
    return name


def _expression(other: object, where: str) -> Expression:
    if not isinstance(other, Expression):
        raise QueryError(
            f"{where} takes another stream, not {other!r}", hint='make one with ag.stream("Stock")'
        )
    other._no_step(where)  # noqa: SLF001  # of its own kind
    return other


def _is_step(done: object) -> bool:
    if not isinstance(done, Expression):
        return False
    node = done.node
    while isinstance(node, algebra.UNARY):
        node = node.arg
    return isinstance(node, algebra.Hole)


# ------------------------------------------------------------------ as Python


def _written(node: algebra.Node) -> str:
    """The calls that make the expression."""
    match node:
        case algebra.Base():
            return f"ag.stream({node.type!r})"
        case algebra.Hole():
            return "s"
        case algebra.Where():
            return f"{_written(node.arg)}.where({_call(node.condition)})"
        case algebra.Project():
            return f"{_written(node.arg)}.project({', '.join(map(repr, node.names))})"
        case algebra.Rename():
            return f"{_written(node.arg)}.rename({_named(dict(node.pairs), repr)})"
        case algebra.Extend():
            return f"{_written(node.arg)}.extend({_named(dict(node.values), _value)})"
        case algebra.Union():
            return f"{_written(node.left)}.union({_written(node.right)})"
        case algebra.Then():
            on = f", on={_call(node.on)}" if node.on is not None else ""
            return f"{_written(node.left)}.then({_written(node.right)}{on})"
        case algebra.Iterate():
            parts = [_written(node.right)]
            if not isinstance(node.step, algebra.Hole):
                parts.append(f"step=lambda s: {_written(node.step)}")
            if node.init:
                parts.append(f"init={dict(node.init)!r}")
            if node.on is not None:
                parts.append(f"on={_call(node.on)}")
            return f"{_written(node.left)}.iterate({', '.join(parts)})"


def _call(text: algebra.Text) -> str:
    return ", ".join([repr(text.text), *([_named(text.params, repr)] if text.params else [])])


def _value(text: algebra.Text) -> str:
    return repr(text.values[0][1]) if text.text is None else repr(text.text)


def _named(values: Mapping[str, Any], show: Callable[[Any], str]) -> str:
    from keyword import iskeyword

    if all(n.isidentifier() and not iskeyword(n) for n in values):
        return ", ".join(f"{n}={show(v)}" for n, v in values.items())
    return "{" + ", ".join(f"{n!r}: {show(v)}" for n, v in values.items()) + "}"
