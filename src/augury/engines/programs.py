"""Expressions over a run and an event as programs of the machine; what it has no instruction for is `Beyond`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from augury.algebra import DUR
from augury.engines.kernels import machine as op
from augury.engines.kernels.network import EQ, FLOATS, GE, GT, LE, LT, NE
from augury.expr.tree import (
    COMPARISONS,
    Attr,
    Binary,
    Call,
    Cast,
    Expr,
    In,
    IsNull,
    Literal,
    Logic,
    Unary,
    typed,
    walk,
)
from augury.expr.types import INTEGERS, Kind
from augury.plan.linear import RUN, WHOLE

COMPARISON: Mapping[str, int] = {"=": EQ, "<>": NE, "<": LT, "<=": LE, ">": GT, ">=": GE}
CODED = frozenset({Kind.STRING, Kind.BINARY, Kind.DECIMAL, Kind.LIST, Kind.OPAQUE})
"""Kinds whose words are numbers of the host's: equal for equal values, and no more."""
PLAIN = frozenset({Kind.BOOL, Kind.INT, Kind.DATE, Kind.TIMESTAMP, Kind.TIME, Kind.DURATION, Kind.NULL})
"""Kinds whose words are their values."""
MOST = 64  # temporaries


class Beyond(Exception):  # noqa: N818  # no error: such expressions are interpreted
    """The machine has no instruction for this."""


@dataclass
class Assembler:
    """One program. `column` numbers an expression of the event alone, `constant` a constant."""

    column: Callable[[Expr], int]
    constant: Callable[[Literal], int]
    code: list[int] = field(default_factory=list)
    slots: int = 0
    _known: dict[int, tuple[Expr, int]] = field(default_factory=dict)

    def assemble(self, expr: Expr) -> list[int]:
        """The instructions; the last one gives the value."""
        slot = self._slot(expr)
        if self.code[-3] != slot:  # it was computed before: made the last one by a choice among itself
            self._emit(op.COALESCE, slot, slot)
        return self.code

    def _emit(self, operation: int, x: int = 0, y: int = 0) -> int:
        slot = self.slots
        if slot >= MOST:
            raise Beyond
        self.slots += 1
        self.code.extend((operation, slot, x, y))
        return slot

    def _slot(self, node: Expr) -> int:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._new(node)
        return known[1]

    def _new(self, node: Expr) -> int:
        if of_event(node):
            return self._emit(op.LOAD_EVENT, self.column(node))
        kind = typed(node).kind
        match node:
            case Attr() if node.var == RUN:
                return self._emit(op.LOAD_RUN, int(node.name))
            case Attr() if node.var == WHOLE and node.name == DUR:
                return self._emit(op.LOAD_DURATION)
            case Literal():
                return self._emit(op.LOAD_CONSTANT, self.constant(node))
            case Logic():
                found = self._slot(node.args[0])
                for arg in node.args[1:]:
                    found = self._emit(op.AND if node.op == "AND" else op.OR, found, self._slot(arg))
                return found
            case Unary(op="NOT"):
                return self._emit(op.NOT, self._slot(node.arg))
            case Unary() if kind is Kind.FLOAT or kind in PLAIN:
                return self._emit(op.FLOAT_NEGATE if kind is Kind.FLOAT else op.NEGATE, self._slot(node.arg))
            case IsNull():
                found = self._emit(op.IS_NULL, self._slot(node.arg))
                return self._emit(op.NOT, found) if node.negated else found
            case Binary() if node.op in COMPARISONS:
                return self._compare(node.op, node.left, node.right)
            case Binary():
                return self._arithmetic(node)
            case In():
                found = self._compare("=", node.arg, node.items[0])
                for item in node.items[1:]:
                    found = self._emit(op.OR, found, self._compare("=", node.arg, item))
                return found
            case Cast():
                return self._cast(node)
            case Call():
                return self._call(node)
        raise Beyond

    def _compare(self, sign: str, left: Expr, right: Expr) -> int:
        kinds = {typed(left).kind, typed(right).kind}
        comparison = COMPARISON[sign]
        if kinds == {Kind.FLOAT}:
            comparison += FLOATS
        elif not (kinds <= PLAIN or (kinds <= {Kind.STRING, Kind.BINARY} and sign in ("=", "<>"))):
            raise Beyond
        return self._emit(op.COMPARE + comparison, self._slot(left), self._slot(right))

    def _arithmetic(self, node: Binary) -> int:
        kind = typed(node).kind
        found = (_FLOATS if kind is Kind.FLOAT else _INTEGERS).get(node.op)
        if found is None or Kind.UINT in (typed(node.left).kind, typed(node.right).kind):
            raise Beyond
        return self._emit(found, self._slot(node.left), self._slot(node.right))

    def _cast(self, node: Cast) -> int:
        source, target = typed(node.arg).kind, typed(node).kind
        if target is Kind.FLOAT and source in (Kind.INT, Kind.NULL):
            return self._emit(op.TO_FLOAT, self._slot(node.arg))
        if source is Kind.NULL or (source in PLAIN and target in PLAIN and Kind.DATE not in (source, target)):
            return self._slot(node.arg)
        raise Beyond

    def _call(self, node: Call) -> int:
        kinds = {typed(a).kind for a in node.args} | {typed(node).kind}
        if node.fn == "abs" and (kinds == {Kind.FLOAT} or kinds <= PLAIN):
            return self._emit(
                op.FLOAT_ABSOLUTE if kinds == {Kind.FLOAT} else op.ABSOLUTE, self._slot(node.args[0])
            )
        operations = {
            "coalesce": (op.COALESCE, op.COALESCE),
            "least": (op.LEAST, op.FLOAT_LEAST),
            "greatest": (op.GREATEST, op.FLOAT_GREATEST),
        }.get(node.fn)
        if operations is None or not (kinds == {Kind.FLOAT} or kinds <= PLAIN):
            raise Beyond
        found = self._slot(node.args[0])
        for arg in node.args[1:]:
            found = self._emit(operations[kinds == {Kind.FLOAT}], found, self._slot(arg))
        return found


_INTEGERS = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "%": op.REMAINDER}
_FLOATS = {
    "+": op.FLOAT_ADD,
    "-": op.FLOAT_SUBTRACT,
    "*": op.FLOAT_MULTIPLY,
    "/": op.FLOAT_DIVIDE,
    "%": op.FLOAT_REMAINDER,
}


def of_event(node: Expr) -> bool:
    """Whether an event decides it by itself. A constant is not one: it needs no column."""
    if isinstance(node, Attr):
        return node.var not in (RUN, WHOLE)
    found = False
    for inner in _leaves(node):
        if inner.var in (RUN, WHOLE):
            return False
        found = True
    return found


def _leaves(node: Expr) -> list[Attr]:
    return [n for n in walk(node) if isinstance(n, Attr)]


def is_integer(kind: Kind) -> bool:
    return kind in PLAIN or kind in INTEGERS
