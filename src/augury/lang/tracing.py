"""Lambdas of an automaton, called once with symbolic arguments: what they compute becomes a tree.

    lambda e, r: (e.change < 0) & (r.n > 2)   ─>   e.change < 0 AND r.n > 2

`e.x`, or `e["x"]`, is an attribute of the event, `r.x` a register. As in PySpark conditions are joined with
`& | ~`: Python's own `and`, `or` and `not` would ask for a truth value that is not known yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from augury.errors import QueryError
from augury.expr.constants import physical
from augury.expr.tree import At, Attr, Between, Binary, Call, Expr, In, IsNull, Like, Logic, Param, Unary
from augury.lang.params import canonical


class Term:
    """An expression under construction."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        from augury.expr.printing import text_of

        return f"<{text_of(self.expr)}>"

    # Python asks for these where `and`, `or`, `not`, `if`, `in` and chains like 0 < x < 5 stand.
    def __bool__(self) -> NoReturn:
        raise QueryError(
            "a condition of an automaton has no truth value while it is built",
            hint="join conditions with & | ~ in the place of and, or, not, each comparison in parentheses",
        )

    def __iter__(self) -> NoReturn:
        raise QueryError("an expression of an automaton cannot be iterated", hint="write x.isin(1, 2)")

    __contains__ = __iter__

    def __and__(self, other: Any) -> Term:
        return _chain("AND", self, other)

    def __rand__(self, other: Any) -> Term:
        return _chain("AND", other, self)

    def __or__(self, other: Any) -> Term:
        return _chain("OR", self, other)

    def __ror__(self, other: Any) -> Term:
        return _chain("OR", other, self)

    def __invert__(self) -> Term:
        return Term(Unary("NOT", self.expr))

    def __neg__(self) -> Term:
        return Term(Unary("-", self.expr))

    def __pos__(self) -> Term:
        return self

    def __abs__(self) -> Term:
        return Term(Call("abs", (self.expr,)))

    def __round__(self, digits: int | None = None) -> Term:
        return Term(Call("round", (self.expr,) if digits is None else (self.expr, tree(digits))))

    def is_null(self) -> Term:
        return Term(IsNull(self.expr))

    def is_not_null(self) -> Term:
        return Term(IsNull(self.expr, negated=True))

    def isin(self, *values: Any) -> Term:
        if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset):
            values = tuple(values[0])
        return Term(In(self.expr, tuple(map(tree, values))))

    def between(self, low: Any, high: Any) -> Term:
        return Term(Between(self.expr, tree(low), tree(high)))

    def like(self, pattern: str) -> Term:
        return Term(Like(self.expr, tree(pattern)))


def _chain(op: str, left: Any, right: Any) -> Term:
    return Term(Logic(op, (tree(left), tree(right))))


def _binary(op: str, *, swapped: bool = False) -> Callable[[Term, Any], Term]:
    def method(self: Term, other: Any) -> Term:
        left, right = tree(self), tree(other)
        return Term(Binary(op, right, left) if swapped else Binary(op, left, right))

    return method


for _name, _op in (
    ("eq", "="),
    ("ne", "<>"),
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("truediv", "/"),
    ("mod", "%"),
):
    setattr(Term, f"__{_name}__", _binary(_op))
    if _op in "+-*/%":
        setattr(Term, f"__r{_name}__", _binary(_op, swapped=True))


class Row:
    """The event, or the registers: their fields are attributes."""

    __slots__ = ("_var",)

    def __init__(self, var: str) -> None:
        self._var = var

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Term(Attr(self._var, At.ONE, name))

    def __getitem__(self, name: str) -> Term:
        if not isinstance(name, str):
            raise QueryError(f"a field is named by a string, not {name!r}", hint=f'write {self._var}["name"]')
        return Term(Attr(self._var, At.ONE, name))


class Functions:
    """`ag.fn`: the functions of queries, for lambdas: `ag.fn.least(e.x, r.x)`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any) -> Term:
            return Term(Call(name.lower(), tuple(map(tree, args))))

        return call


fn = Functions()


def tree(value: Any) -> Expr:
    """What a lambda computes with, as a tree: constants are bound values."""
    if isinstance(value, Term):
        return value.expr
    if isinstance(value, Row):
        raise QueryError("an event or a register row is no value", hint="name one of its fields: e.price")
    known = canonical("value", value)
    if physical(known)[1] is None:
        raise QueryError(f"a {type(value).__name__} is no value of a query", hint="use a single value")
    return Param("value", known)


def traced(function: Callable[..., Any], variables: Iterable[str], what: str) -> Any:
    """What the function gives for symbolic arguments."""
    names = tuple(variables)
    try:
        return function(*(Row(name) for name in names))
    except TypeError as error:
        raise QueryError(
            f"{what}: the function cannot be called with {' and '.join(names)}, or computes what queries cannot: {error}",
            hint=f"write lambda {', '.join(names)}: …, with ag.fn for functions",
        ) from None
