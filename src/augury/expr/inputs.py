"""What the generated expressions of one kernel read besides their events: constants, look-ups, functions.

    inputs = Inputs()                          one for each kernel, shared by all its emitters
    source.Emitter(leaf, inputs).condition(…)  asks it for names while source is written
    inputs.bind({"price": (column, type)})     for each batch: the arrays that go with these names
    inputs.helpers()                           what else the source calls

No text of a query or a schema becomes source. A whole number or a finite double is written as one; what
else is constant is read from an array (`kf[0]`), and all names are made here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from augury.expr import scalars
from augury.expr.columns import cast
from augury.expr.domain import Decimals, Texts
from augury.expr.physical import NUMPY_FORMS, Column, Lists, concat, from_arrow, values
from augury.expr.types import FLOAT, INT64_MAX, INT64_MIN, NUMBERS, Kind, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from augury.expr.functions import UserFunction
    from augury.expr.tree import Expr

CODED = {Kind.STRING: "ks", Kind.BINARY: "kb", Kind.DECIMAL: "kd"}
"""The kinds that a kernel knows by codes, and their arrays of constants."""


@dataclass(frozen=True)
class KernelColumn:
    """A column as a kernel takes it: codes for texts and decimals, places in the pool for lists."""

    values: NDArray[Any]
    null: NDArray[np.bool_] | None  # None: nowhere


@dataclass(frozen=True)
class Bound:
    """What one batch gives a kernel."""

    columns: Mapping[str, KernelColumn]
    arguments: Mapping[str, Any]  # by the names in the source: arrays, lists of Python values, functions
    domains: Mapping[Kind, Texts | Decimals]

    def plain(self) -> dict[str, Any]:
        """The arguments for a kernel that runs uncompiled: Python's numbers, which neither warn nor wrap."""
        return {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in self.arguments.items()}

    def decode(self, kind: Kind, codes: NDArray[Any]) -> Column:
        """The values that codes of this batch stand for: registers travel to the next batch as values."""
        return self.domains[kind].decode(codes)


@dataclass
class Inputs:
    """Collects while source is written; `bind` fills for a batch. Bound once written, it does not change."""

    _counts: dict[str, int] = field(default_factory=dict)
    _constants: dict[str, list[Any]] = field(default_factory=dict)  # array -> its values
    _sets: dict[str, tuple[Kind, list[Any]]] = field(default_factory=dict)
    _lookups: dict[str, tuple[Kind, Callable[[Any], Any]]] = field(default_factory=dict)
    _patterns: dict[str, str] = field(default_factory=dict)
    _functions: dict[str, tuple[UserFunction | Expr, Callable[..., Any]]] = field(default_factory=dict)
    _helpers: set[str] = field(default_factory=set)
    _ordered: set[Kind] = field(default_factory=set)
    _recased: set[str] = field(default_factory=set)
    _pools: set[str] = field(default_factory=set)

    # -- while source is written

    def fresh(self, prefix: str) -> str:
        """A name that no one else in the kernel has: the prefix and a number."""
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        return f"{prefix}{number}"

    def constant(self, value: Any, kind: Kind) -> str:
        """A snippet for a constant that is not null."""
        if kind in CODED:
            return self._stored(CODED[kind], value)
        if kind is Kind.BOOL:
            return "True" if value else "False"
        if kind is Kind.FLOAT:
            value = float(value) if type(value) is not float else value
            return repr(value) if math.isfinite(value) else self._stored("kf", value)
        assert type(value) is int
        if kind is Kind.UINT:
            return self._stored("ku", value)
        return repr(value) if INT64_MIN < value <= INT64_MAX else self._stored("ki", value)

    def stored(self, value: float) -> str:
        """A double out of an array, for where a compiler that sees it would compute something else."""
        return self._stored("kf", float(value))

    def _stored(self, array: str, value: Any) -> str:
        found = self._constants.setdefault(array, [])
        at = next((i for i, v in enumerate(found) if repr(v) == repr(value)), len(found))
        if at == len(found):
            found.append(value)
        return f"{array}[{at}]"

    def members(self, items: Iterable[Any], kind: Kind) -> str:
        """A sorted array of constants."""
        name = self.fresh("set")
        self._sets[name] = (kind, list(items))
        return name

    def helper(self, name: str) -> str:
        assert name in scalars.HELPERS
        self._helpers.add(name)
        return name

    def lookup(self, name: str, kind: Kind, table: Callable[[Any], Any]) -> str:
        """An array by code, made from the kind's domain."""
        self._lookups[name] = (kind, table)
        return name

    def recased(self, fn: str) -> str:
        self._recased.add(fn)
        return self.lookup(f"{fn}_of", Kind.STRING, lambda domain: domain.recased(fn))

    def matches(self, pattern: str) -> str:
        name = self._patterns.get(pattern)
        if name is None:
            name = self._patterns[pattern] = self.fresh("matches")
        return self.lookup(name, Kind.STRING, lambda domain: domain.like(pattern))

    def whole_and_part(self, kind: Kind) -> tuple[str, str]:
        """A decimal among the integers of a kind, as `scalars.order` wants it."""
        sign = "signed" if kind is Kind.INT else "unsigned"
        return (
            self.lookup(f"{sign}_whole_of", Kind.DECIMAL, lambda domain: domain.order(kind)[0]),
            self.lookup(f"{sign}_part_of", Kind.DECIMAL, lambda domain: domain.order(kind)[1]),
        )

    def order(self, kind: Kind) -> None:
        """Codes of the kind will be compared by less and greater: in a fold of min and max, too."""
        self._ordered.add(kind)

    def pool(self, name: str) -> str:
        """Of the lists: `list_offsets`, `list_items` and `list_present`, or `lists` themselves; or `nested` values."""
        self._pools.add(name)
        return name

    def function(self, of: UserFunction | Expr, fn: Callable[..., Any]) -> str:
        """A name for a Python function; `of` is what it stands for."""
        for name, (known, _) in self._functions.items():
            if known is of:
                return name
        name = self.fresh("udf")
        self._functions[name] = (of, fn)
        return name

    def helpers(self, *, compilable: bool = False) -> dict[str, Callable[..., Any]]:
        """The helper functions that the source calls: plain ones, or such as Numba compiles."""
        found = scalars.COMPILABLE if compilable else scalars.HELPERS
        return {name: found[name] for name in sorted(self._helpers)}

    @property
    def needs_python(self) -> bool:
        """Whether a registered function is called, which is Python: not to be compiled."""
        return bool(self._functions)

    def arguments(self) -> list[str]:
        """The names that `bind` gives values to, always in this order."""
        return sorted({*self._constants, *self._sets, *self._lookups, *self._pools, *self._functions})

    # -- for each batch

    def bind(self, columns: Mapping[str, tuple[Column | Any, Type]]) -> Bound:
        """Columns (or Arrow arrays) by any names, as the kernel takes them, and the source's arguments.

        Values that live on from an earlier batch are columns like any other. A null's code is 0.
        """
        given = {
            name: (data if isinstance(data, Column) else from_arrow(data, of), of)
            for name, (data, of) in columns.items()
        }
        domains = self._domains(given.values())
        lists = [(column, of) for column, of in given.values() if of.kind is Kind.LIST]
        nested: list[Any] = []
        base = 0
        bound: dict[str, KernelColumn] = {}
        for name, (column, of) in given.items():
            null = None if column.valid is None else ~column.valid
            if of.kind in CODED:
                found = domains[of.kind].codes(column)
            elif of.kind is Kind.LIST:
                found = np.arange(base, base + len(column))
                base += len(column)
            elif of.kind is Kind.OPAQUE and "nested" in self._pools:
                found = np.arange(len(nested), len(nested) + len(column))
                nested.extend(values(column, of))
            elif of.kind is Kind.OPAQUE:
                found = np.zeros(len(column), np.int64)
            else:
                found = column.values
            bound[name] = KernelColumn(found, null)
        arguments: dict[str, Any] = {"nested": nested, **dict(self._listed(lists))}
        for array, constants in self._constants.items():
            arguments[array] = _constant_array(array, constants, domains)
        for name, (kind, items) in self._sets.items():
            arguments[name] = _sorted(items, kind, domains)
        for name, (kind, table) in self._lookups.items():
            arguments[name] = table(domains[kind])
        arguments.update((name, fn) for name, (_, fn) in self._functions.items())
        return Bound(bound, {name: arguments[name] for name in self.arguments()}, domains)

    def _domains(self, given: Iterable[tuple[Column, Type]]) -> dict[Kind, Texts | Decimals]:
        by_kind: dict[Kind, list[Column]] = {}
        for column, of in given:
            if of.kind in CODED:
                by_kind.setdefault(of.kind, []).append(column)
        constants: dict[Kind, list[Any]] = {
            kind: list(self._constants.get(array, ())) for kind, array in CODED.items()
        }
        for kind, items in self._sets.values():
            if kind in CODED:
                constants[kind].extend(items)
        used = {kind for kind, _ in self._lookups.values()}
        domains: dict[Kind, Texts | Decimals] = {}
        for kind, stated in constants.items():
            if not (stated or kind in by_kind or kind in used):
                continue
            of_kind = by_kind.get(kind, [])
            if kind is Kind.DECIMAL:
                domains[kind] = Decimals(of_kind, stated)
            else:
                recased = self._recased if kind is Kind.STRING else ()
                domains[kind] = Texts(kind, of_kind, stated, ordered=kind in self._ordered, recased=recased)
        return domains

    def _listed(self, lists: list[tuple[Column, Type]]) -> Iterable[tuple[str, Any]]:
        if not self._pools:
            return
        parts = [Column(Lists(c.values.offsets, _as_floats(c.values.items, t))) for c, t in lists]
        pool: Lists = concat(parts).values if parts else Lists(np.zeros(2, np.int64), Column(np.zeros(1)))
        yield "list_offsets", pool.offsets
        yield "list_items", pool.items.values
        yield "list_present", pool.items.mask()
        yield "lists", [v for c, t in lists for v in values(c, t)]


def _as_floats(items: Column, of: Type) -> Column:
    element = of.element
    if element is None or element.kind not in NUMBERS:
        return Column(np.zeros(len(items)))
    return cast(items, element.kind, FLOAT)


def _constant_array(
    array: str, constants: list[Any], domains: Mapping[Kind, Texts | Decimals]
) -> NDArray[Any]:
    for kind, name in CODED.items():
        if name == array:
            return np.array([domains[kind].code(c) for c in constants] or [0], np.int64)
    return np.array(constants, {"kf": np.float64, "ku": np.uint64, "ki": np.int64}[array])


def _sorted(items: list[Any], kind: Kind, domains: Mapping[Kind, Texts | Decimals]) -> NDArray[Any]:
    if kind in CODED:
        return np.array(sorted(domains[kind].code(i) for i in items), np.int64)
    return np.array(sorted(i for i in items if i == i), NUMPY_FORMS[kind])  # NaN is a member of nothing
