"""Registers in a kernel's source: their arrays, how they start, grow and compare, and how they are read.

A register is a value and, where it may have none, what tells: `reg5` and `reg5z` (null), `reg5s` (of a sum: 0
nothing yet, 1 a sum, 2 an overflow) or `reg5n` (of an average: how many). `upd5` is the same after this event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from augury.engines.writer import Writer, conjunction
from augury.expr.inputs import CODED, Inputs
from augury.expr.source import Scalar
from augury.expr.tree import Agg, At, Attr, Expr
from augury.expr.types import Kind
from augury.pattern import Part
from augury.plan.registers import Holds, Register, register_of


@dataclass(frozen=True, slots=True)
class Field:
    """One array of a register: its value, or what tells whether it has one."""

    suffix: str
    dtype: str


NUMPY = {Kind.BOOL: "b1", Kind.FLOAT: "f8", Kind.UINT: "u8"}


def dtype_of(kind: Kind) -> str:
    """Every other kind is an integer in a kernel: times as they are, texts and decimals as codes."""
    return NUMPY.get(kind, "i8")


class RegisterCode:
    """Writes what a kernel does with its registers; `event` is where it reads columns."""

    def __init__(
        self,
        registers: Sequence[Register],
        nullable: Sequence[bool],
        inputs: Inputs,
        w: Writer,
        readers: Mapping[Register, tuple[Part, ...]],
    ) -> None:
        self.numbers = {r: i for i, r in enumerate(dict.fromkeys(registers))}
        self.nullable = nullable
        self.inputs = inputs
        self.w = w
        self.readers = readers  # the parts of the pattern that a register is there for
        self.event = "i"
        for r in self.numbers:
            if r.holds in (Holds.MIN, Holds.MAX) and r.type.kind in CODED:
                inputs.order(r.type.kind)

    def fields(self, r: Register) -> list[Field]:
        value = Field("", dtype_of(r.type.kind))
        null = r.column >= 0 and self.nullable[r.column]
        match r.holds:
            case Holds.LEN | Holds.COUNT:
                return [value]
            case Holds.SUM:
                return [value, Field("s", "i8")] if null or value.dtype == "i8" else [value]
            case Holds.AVG:
                return [value, Field("n", "i8")]
        return [value, Field("z", "b1")] if null else [value]

    def number(self, r: Register) -> int:
        return self.numbers.setdefault(r, len(self.numbers))

    def leaf(self, prefix: str) -> Leaf:
        return Leaf(self, prefix)

    def cell(self, column: int) -> tuple[str, str | None]:
        """A derived column at the event at hand, and where it is null."""
        return f"col{column}[{self.event}]", f"nul{column}[{self.event}]" if self.nullable[column] else None

    def initial(self, r: Register) -> dict[str, str]:
        if r.holds is Holds.LEN:
            return {"": "1"}
        value, null = self.cell(r.column)
        kinds = {f.suffix for f in self.fields(r)}
        match r.holds:
            case Holds.COUNT:
                return {"": f"(0 if {null} else 1)" if null else "1"}
            case Holds.SUM | Holds.AVG:
                total = value if r.type.kind is not Kind.FLOAT else f"0.0 + {value}"
                zero = "0" if r.type.kind is not Kind.FLOAT else "0.0"
                parts = {"": f"({zero} if {null} else {total})" if null else total}
                for suffix in kinds - {""}:
                    parts[suffix] = f"(0 if {null} else 1)" if null else "1"
                return parts
        return {"": value, "z": null} if null else {"": value}

    def update(self, r: Register) -> None:
        """Statements that set `u…`, the register after the event at hand was taken."""
        with self.w.about(*self.readers.get(r, ())):
            self._update(r)

    def _update(self, r: Register) -> None:
        w, n = self.w, self.numbers[r]
        if r.holds is Holds.FIRST:
            for f in self.fields(r):
                w(f"upd{n}{f.suffix} = reg{n}{f.suffix}")
            return
        if r.holds is Holds.LEN:
            w(f"upd{n} = reg{n} + 1")
            return
        value, null = self.cell(r.column)
        if r.holds is Holds.LAST:
            w(f"upd{n} = {value}")
            if null:
                w(f"upd{n}z = {null}")
            return
        for f in self.fields(r):
            w(f"upd{n}{f.suffix} = reg{n}{f.suffix}")
        with w.maybe(f"not {null}" if null else "True"):
            match r.holds:
                case Holds.COUNT:
                    w(f"upd{n} = reg{n} + 1")
                case Holds.AVG:
                    w(f"upd{n} = reg{n} + {value}", f"upd{n}n = reg{n}n + 1")
                case Holds.SUM if r.type.kind is Kind.FLOAT:
                    w(f"upd{n} = reg{n} + {value}")
                    if null:
                        w(f"upd{n}s = 1")
                case Holds.SUM:
                    with w.block(f"if reg{n}s == 0:"):
                        w(f"upd{n} = {value}", f"upd{n}s = 1")
                    with w.block(f"elif reg{n}s == 1:"):
                        with w.block(f"if {self.inputs.helper('add_overflows')}(reg{n}, {value}):"):
                            w(f"upd{n} = 0", f"upd{n}s = 2")
                        with w.block("else:"):
                            w(f"upd{n} = reg{n} + {value}")
                case _:
                    less = self.inputs.helper("is_less") if r.type.kind is Kind.FLOAT else ""
                    pair = (value, f"reg{n}") if r.holds is Holds.MIN else (f"reg{n}", value)
                    test = f"{less}({pair[0]}, {pair[1]})" if less else f"{pair[0]} < {pair[1]}"
                    with w.block(f"if reg{n}z or {test}:" if null else f"if {test}:"):
                        w(f"upd{n} = {value}")
                        if null:
                            w(f"upd{n}z = False")

    def equal(self, state: int, r: Register) -> str:
        """Whether register r of run y is what a new run has: nulls alike, NaN like NaN, zeros by their sign."""
        n = self.numbers[r]
        tests = []
        fields = self.fields(r)
        for f in fields:
            known, new = f"s{state}_r{n}{f.suffix}[y]", f"val{n}{f.suffix}"
            tests.append(f"same_float({known}, {new})" if f.dtype == "f8" else f"{known} == {new}")
        if len(fields) == 2 and fields[1].suffix == "z":
            return f"{tests[1]} and ({f'val{n}z'} or {tests[0]})"
        return conjunction(tests)


class Leaf:
    """What a reference of a split expression is called in the code."""

    def __init__(self, code: RegisterCode, prefix: str) -> None:
        self.code = code
        self.prefix = prefix

    def __call__(self, node: Expr) -> Scalar:
        code = self.code
        r = register_of(node)
        if r is None:
            assert isinstance(node, Attr)
            k = int(node.name)
            return Scalar(*code.cell(k))
        return self.read(r, self.prefix)

    def read(self, r: Register, prefix: str) -> Scalar:
        """A register's value, and the condition under which it has none."""
        code = self.code
        n = f"{prefix}{code.numbers[r]}"
        suffixes = {f.suffix for f in code.fields(r)}
        if r.holds is Holds.AVG:
            null = f"{n}n == 0" if code.nullable[r.column] else None
            return Scalar(f"({n} / {n}n)", null)
        if "s" in suffixes:
            return Scalar(n, f"{n}s != 1")
        return Scalar(n, f"{n}z" if "z" in suffixes else None)


class Walk(Leaf):
    """The same inside a test for each event of bound variables."""

    def __init__(self, code: RegisterCode, prefix: str, lists: dict[str, tuple[str, str]]) -> None:
        super().__init__(code, prefix)
        self.lists = lists

    def __call__(self, node: Expr) -> Scalar:
        if isinstance(node, Agg) and node.over is At.BEFORE:
            return self.read(register_before(node), "reg")
        if (
            isinstance(node, Attr)
            and node.at in (At.EACH, At.CURRENT, At.PREVIOUS)
            and node.var in self.lists
        ):
            events, at = self.lists[node.var]
            index = f"{events}[{at} - 1]" if node.at is At.PREVIOUS else f"{events}[{at}]"
            k = int(node.name)
            return Scalar(f"col{k}[{index}]", f"nul{k}[{index}]" if self.code.nullable[k] else None)
        return super().__call__(node)


def register_before(node: Agg) -> Register:
    """The register that an aggregate over earlier events folds into."""
    found = register_of(replace(node, over=At.EACH))
    assert found is not None
    return found
