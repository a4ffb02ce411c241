"""The kernel reading: a checked expression as Python source for one scalar inside a generated kernel.

    emitter = Emitter(leaf, inputs)       leaf says how the kernel writes a reference: Scalar("price[i]", None)
    lines, test = emitter.condition(node)         `if test:` after the lines is the predicate being true
    lines, (value, null) = emitter.value(node)    a value, and the test that it is null

The same source runs as plain Python and compiled by Numba, with the same answers. What it relies on:

- A value may be evaluated only where its null test is false. So a division needs no guard of its own, and
  null tests come in an order in which each may rely on the ones before it.
- Three-valued logic has no third value: a predicate is written as *is true* or as *is false*, NOT swaps them,
  AND and OR are dual. Where nothing can be null nothing is tested.
- What is needed twice and is not short becomes a line of its own, inside an `if` where AND and OR have not
  been decided, so that a registered function is called only when `interpret` would call it.
- Values are in their kind's physical form; STRING, BINARY and DECIMAL are codes, LIST a place (see `inputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from augury.expr.call_source import call, interpreted, is_beyond
from augury.expr.domain import integer_and_part
from augury.expr.fold import fold
from augury.expr.inputs import CODED, Inputs
from augury.expr.ranges import range_of
from augury.expr.snippets import (
    ALWAYS,
    CHOICE,
    COMPARE,
    FALSE,
    OR,
    PRIMARY,
    PRODUCT,
    SHORT,
    SIGN,
    SUM,
    TRUE,
    Code,
    Test,
    Val,
    all_of,
    any_of,
    at_least,
    called,
    decided,
    given,
    merged,
    never_known,
)
from augury.expr.tree import (
    COMPARISONS,
    Agg,
    Attr,
    Binary,
    Call,
    Cast,
    Expr,
    In,
    IsNull,
    Len,
    Like,
    Literal,
    Logic,
    Unary,
    typed,
)
from augury.expr.types import INT64_MAX, INT64_MIN, INTEGERS, MICROSECONDS_PER_DAY, Kind


class Scalar(NamedTuple):
    value: str
    null: str | None = None  # None: never


Leaf = Callable[[Attr | Len | Agg], Scalar]
"""How the kernel writes what a reference has."""


class Condition(NamedTuple):
    lines: list[str]
    test: str


class Value(NamedTuple):
    lines: list[str]
    scalar: Scalar


_PYTHON = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
_OVERFLOWS = {"+": "add_overflows", "-": "subtract_overflows", "*": "multiply_overflows"}
_FEW = 8  # members of an IN that are compared one by one


class Emitter:
    def __init__(self, leaf: Leaf, inputs: Inputs) -> None:
        self._leaf = leaf
        self.inputs = inputs
        self.lines: list[str] = []
        self._known: dict[int, tuple[Expr, Val]] = {}  # what the lines so far have made, by node's identity
        self._nullable: dict[int, tuple[Expr, bool]] = {}  # whether a predicate may be unknown

    def condition(self, node: Expr) -> Condition:
        """A test that is true where the predicate is; the lines come before it."""
        with self._block() as lines:
            test = self._true(fold(node))
        return Condition(lines, test.text)

    def value(self, node: Expr) -> Value:
        """A value, which may be evaluated only where its null test is false."""
        with self._block() as lines:
            found = self.val(fold(node))
            null = any_of(t.yes for t in found.nulls).text if found.nulls else None
        return Value(lines, Scalar(found.code.text, null))

    # ------------------------------------------------------------------ predicates

    def _true(self, node: Expr) -> Code:
        match node:
            case Logic(op="AND"):
                return self._chain("and", [lambda a=a: self._true(a) for a in node.args])  # type: ignore[misc]
            case Logic():
                return self._chain("or", [lambda a=a: self._true(a) for a in node.args])  # type: ignore[misc]
            case Unary(op="NOT"):
                return self._false(node.arg)
        test, nulls = self._test(node)
        return all_of([*(n.no for n in nulls), test.yes])

    def _false(self, node: Expr) -> Code:
        match node:
            case Logic(op="AND"):
                return self._chain("or", [lambda a=a: self._false(a) for a in node.args])  # type: ignore[misc]
            case Logic():
                return self._chain("and", [lambda a=a: self._false(a) for a in node.args])  # type: ignore[misc]
            case Unary(op="NOT"):
                return self._true(node.arg)
        test, nulls = self._test(node)
        return all_of([*(n.no for n in nulls), test.no])

    def _chain(self, word: str, tests: Sequence[Callable[[], Code]]) -> Code:
        """The tests in their order. One that needs lines is evaluated only if those before leave it open."""
        join, decisive = (all_of, FALSE) if word == "and" else (any_of, TRUE)
        parts: list[Code] = []
        for test in tests:
            if all(p in (TRUE, FALSE) for p in parts):
                code = test()  # evaluated in any case: what its lines make is known to those that follow
                parts.append(code)
            else:
                with self._block() as lines:
                    code = test()
                if lines:
                    flag = self.inputs.fresh("c")
                    self.lines.append(f"{flag} = {join(parts).text}")
                    self.lines.append(f"if {flag}:" if word == "and" else f"if not {flag}:")
                    self.lines.extend(f"    {line}" for line in [*lines, f"{flag} = {code.text}"])
                    parts = [Code(flag, PRIMARY)]
                else:
                    parts.append(code)
            if code == decisive:
                break
        return join(parts)

    def _outcomes(self, node: Expr) -> tuple[Code, Code]:
        """Whether a predicate is true, and whether it is false. What is nested in it is written once:
        `_true` and `_false` one after the other would double with every level.
        """
        match node:
            case Logic():
                return self._outcomes_of_chain(node)
            case Unary(op="NOT"):
                true, false = self._outcomes(node.arg)
                return false, true
        test, nulls = self._test(node)
        known = [n.no for n in nulls]
        return all_of([*known, test.yes]), all_of([*known, test.no])

    def _outcomes_of_chain(self, node: Logic) -> tuple[Code, Code]:
        """An AND is true where all are and false where one is; an OR the other way round."""
        turned = node.op == "OR"

        def outcomes(arg: Expr) -> tuple[Code, Code]:
            true, false = self._outcomes(arg)
            return (false, true) if turned else (true, false)

        every, one = outcomes(node.args[0])
        for arg in node.args[1:]:
            with self._block() as lines:
                holds, decides = outcomes(arg)
            if lines:  # evaluated only if none before has decided
                flags = [self.inputs.fresh("c") for _ in range(2)]
                self.lines.extend(f"{f} = {code.text}" for f, code in zip(flags, (every, one), strict=True))
                every, one = (Code(flag, PRIMARY) for flag in flags)
                inner = [
                    *lines,
                    f"{one.text} = {decides.text}",
                    f"{every.text} = {all_of([every, holds]).text}",
                ]
                self.lines.append(f"if not {one.text}:")
                self.lines.extend(f"    {line}" for line in inner)
            else:
                every, one = all_of([every, holds]), any_of([one, decides])
        return (one, every) if turned else (every, one)

    def _test(self, node: Expr) -> tuple[Test, tuple[Test, ...]]:
        """A predicate that is no AND, OR, NOT: its test where none of its null tests is true."""
        if is_beyond(node):
            return interpreted(self, node)
        match node:
            case Literal():
                if node.value is None:
                    return never_known()
                return (ALWAYS if node.value else Test(FALSE, TRUE)), ()
            case Binary() if node.op in COMPARISONS:
                return self._compare(node)
            case In():
                return self._member(node)
            case IsNull():
                nulls = self.val(node.arg).nulls
                found = Test(any_of(t.yes for t in nulls), all_of([t.no for t in nulls]))
                return (Test(found.no, found.yes) if node.negated else found), ()
            case Like():
                return self._like(node)
        value = self.val(node)
        return decided(value.code), value.nulls

    def _compare(self, node: Binary) -> tuple[Test, tuple[Test, ...]]:
        kind = typed(node.left).kind
        if kind is Kind.DECIMAL and isinstance(node.left, Cast):
            return self._compare_whole(node.op, node.left.arg, node.right)
        if kind is Kind.DECIMAL and isinstance(node.right, Cast):
            return self._compare_whole(_MIRRORED[node.op], node.right.arg, node.left)
        left, right = self.val(node.left), self.val(node.right)
        nulls = merged(left.nulls, right.nulls)
        if kind is Kind.NULL or ALWAYS in nulls:
            return never_known()
        if node.op not in ("=", "<>") and kind in CODED:
            self.inputs.order(kind)
        if {kind, typed(node.right).kind} == INTEGERS:
            op, signed, unsigned = node.op, left, right
            if kind is Kind.UINT:
                op, signed, unsigned = _MIRRORED[node.op], right, left
            sign = called(self.inputs.helper("order_mixed"), signed.code.text, unsigned.code.text)
            return self.compared(op, sign, Code("0", PRIMARY)), nulls
        return self.compared(node.op, left.code, right.code, is_float=kind is Kind.FLOAT), nulls

    @staticmethod
    def compared(op: str, left: Code, right: Code, *, is_float: bool = False) -> Test:
        x, y = at_least(left, SUM), at_least(right, SUM)
        yes = Code(f"{x} {_PYTHON[op]} {y}", COMPARE)
        if is_float and op not in ("=", "<>"):  # a NaN is neither less nor not less
            return decided(yes)
        return Test(yes, Code(f"{x} {_PYTHON[_OPPOSITE[op]]} {y}", COMPARE))

    def _compare_whole(self, op: str, whole: Expr, decimal: Expr) -> tuple[Test, tuple[Test, ...]]:
        """An integer and a decimal, exactly: the decimal is an integer and perhaps a part of one more."""
        kind = typed(whole).kind
        left, right = self.val(whole), self.val(decimal)
        nulls = merged(left.nulls, right.nulls)
        if ALWAYS in nulls:
            return never_known()
        if isinstance(decimal, Literal):
            floor, part = integer_and_part(decimal.value, kind)  # type: ignore[arg-type]
            y, p = self.inputs.constant(floor, kind), repr(part)
        else:
            right = self.short(right, Kind.DECIMAL)
            floor_of, part_of = self.inputs.whole_and_part(kind)
            y, p = f"{floor_of}[{right.code.text}]", f"{part_of}[{right.code.text}]"
        sign = called(self.inputs.helper("order"), left.code.text, y, p)
        return self.compared(op, sign, Code("0", PRIMARY)), nulls

    def _member(self, node: In) -> tuple[Test, tuple[Test, ...]]:
        kind = typed(node.arg).kind
        value = self.val(node.arg)
        constants = [i.value for i in node.items if isinstance(i, Literal)]
        present = [c for c in constants if c is not None]
        if ALWAYS in value.nulls or not present:
            return never_known()
        if len(present) > 1:
            value = self.short(value, kind)
        if len(present) <= _FEW:
            codes = [Code(self.inputs.constant(c, kind), SIGN) for c in present]
            tests = [self.compared("=", value.code, c) for c in codes]
            found = Test(any_of(t.yes for t in tests), all_of([t.no for t in tests]))
        else:
            found = decided(
                called(self.inputs.helper("member"), self.inputs.members(present, kind), value.code.text)
            )
        if len(present) < len(constants):  # what is not found may equal the null
            return Test(TRUE, FALSE), (*value.nulls, Test(found.no, found.yes))
        return found, value.nulls

    def _like(self, node: Like) -> tuple[Test, tuple[Test, ...]]:
        text = self.val(node.arg)
        if isinstance(node.pattern, Literal):
            if node.pattern.value is None or ALWAYS in text.nulls:
                return never_known()
            name = self.inputs.matches(str(node.pattern.value))
            return decided(Code(f"{name}[{text.code.text}]", PRIMARY)), text.nulls
        pattern = self.val(node.pattern)
        if ALWAYS in text.nulls or ALWAYS in pattern.nulls:
            return never_known()
        text, pattern = self.short(text, Kind.STRING), self.short(pattern, Kind.STRING)
        look_up = self.inputs.lookup
        utf8 = look_up("utf8", Kind.STRING, lambda domain: domain.utf8()[0])
        ends = look_up("utf8_ends", Kind.STRING, lambda domain: domain.utf8()[1])
        patterns = look_up("pattern_of", Kind.STRING, lambda domain: domain.patterns())
        x, y = text.code.text, pattern.code.text
        is_pattern = decided(Code(f"{patterns}[{y}]", PRIMARY))
        found = called(
            self.inputs.helper("like"),
            utf8,
            f"{ends}[{x}]",
            f"{ends}[{x} + 1]",
            f"{ends}[{y}]",
            f"{ends}[{y} + 1]",
        )
        return decided(found), (*merged(text.nulls, pattern.nulls), Test(is_pattern.no, is_pattern.yes))

    # ------------------------------------------------------------------ values

    def val(self, node: Expr) -> Val:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._new_value(node)
        return known[1]

    def _new_value(self, node: Expr) -> Val:
        match node:
            case Literal():
                return self._constant(node)
            case Attr() | Len() | Agg():
                return self._reference(node)
            case Logic() | Unary(op="NOT"):
                return self._truth_value(node)
            case Unary():
                return self._negative(node)
            case Binary() if node.op not in COMPARISONS:
                return self._arithmetic(node)
            case Binary() | In() | IsNull() | Like():
                test, nulls = self._test(node)
                return Val(test.yes, nulls)
            case Cast():
                return self._cast(node)
            case Call():
                return call(self, node)
        raise AssertionError(f"not a checked expression: {node}")

    def _constant(self, node: Literal) -> Val:
        kind = typed(node).kind
        if node.value is None or kind is Kind.NULL:
            return Val(self.default(kind), (ALWAYS,))
        text = self.inputs.constant(node.value, kind)
        return Val(Code(text, SIGN if text.startswith("-") else PRIMARY))

    def default(self, kind: Kind) -> Code:
        """Some value of a kind."""
        texts = {Kind.FLOAT: "0.0", Kind.BOOL: "False"}
        return Code(self.inputs.constant(0, kind) if kind is Kind.UINT else texts.get(kind, "0"), PRIMARY)

    def _reference(self, node: Attr | Len | Agg) -> Val:
        kind = typed(node).kind
        if kind is Kind.NULL:
            return Val(self.default(kind), (ALWAYS,))
        if kind in CODED and isinstance(node, Agg) and node.fn in ("min", "max"):
            self.inputs.order(kind)
        scalar = self._leaf(node)
        nulls = () if scalar.null is None else (decided(given(scalar.null)),)
        return Val(given(scalar.value), nulls)

    def _truth_value(self, node: Expr) -> Val:
        """AND, OR and NOT as a value: where it is neither true nor false it is null."""
        if not self._may_be_null(node):
            return Val(self._true(node))
        true, false = (self.named("c", code) for code in self._outcomes(node))
        return Val(true, (Test(all_of([decided(true).no, decided(false).no]), any_of([true, false])),))

    def _may_be_null(self, node: Expr) -> bool:
        match node:
            case Logic():
                return any(self._may_be_null(a) for a in node.args)
            case Unary(op="NOT"):
                return self._may_be_null(node.arg)
        asked = self._nullable.get(id(node))
        if asked is None:
            with self._block():
                asked = self._nullable[id(node)] = node, bool(self._test(node)[1])
        return asked[1]

    def _negative(self, node: Unary) -> Val:
        arg, kind = self.val(node.arg), typed(node).kind
        nulls = arg.nulls
        if kind is not Kind.FLOAT:
            arg = self.short(arg, kind)
            nulls = self.unless_least(node.arg, arg)
        return Val(Code(f"-{at_least(arg.code, PRIMARY)}", SIGN), nulls)

    def unless_least(self, node: Expr, value: Val) -> tuple[Test, ...]:
        """Null too where there is no opposite."""
        if range_of(node)[0] > INT64_MIN:
            return value.nulls
        least = Code(self.inputs.constant(INT64_MIN, Kind.INT), PRIMARY)
        return (*value.nulls, self.compared("=", value.code, least))

    def _arithmetic(self, node: Binary) -> Val:
        left, right, kind = self.val(node.left), self.val(node.right), typed(node).kind
        if ALWAYS in (*left.nulls, *right.nulls):
            return Val(self.default(kind), (ALWAYS,))
        if node.op in "/%":
            return self._division(node, left, right)
        nulls = merged(left.nulls, right.nulls)
        low, high = range_of(node)
        if kind is not Kind.FLOAT and (low < INT64_MIN or high > INT64_MAX):
            left, right = self.short(left, kind), self.short(right, kind)
            overflows = called(self.inputs.helper(_OVERFLOWS[node.op]), left.code.text, right.code.text)
            nulls = (*merged(left.nulls, right.nulls), decided(overflows))
        level = _LEVELS[node.op]
        return Val(
            Code(f"{at_least(left.code, level)} {node.op} {at_least(right.code, level + 1)}", level), nulls
        )

    def _division(self, node: Binary, left: Val, right: Val) -> Val:
        kind = typed(node).kind
        if isinstance(node.right, Literal):
            by_zero: tuple[Test, ...] = (ALWAYS,) if node.right.value == 0 else ()
        else:
            right = self.short(right, kind)
            by_zero = (self.compared("=", right.code, self.default(kind)),)
        nulls = (*merged(left.nulls, right.nulls), *by_zero)
        if node.op == "/":
            return Val(Code(f"{at_least(left.code, PRODUCT)} / {at_least(right.code, SIGN)}", PRODUCT), nulls)
        helper = self.inputs.helper("float_remainder" if kind is Kind.FLOAT else "remainder")
        return Val(called(helper, left.code.text, right.code.text), nulls)

    def _cast(self, node: Cast) -> Val:
        arg, source, target = self.val(node.arg), typed(node.arg).kind, typed(node).kind
        if source is Kind.NULL or ALWAYS in arg.nulls:
            return Val(self.default(target), (ALWAYS,))
        match target:
            case Kind.FLOAT if source is Kind.DECIMAL:
                table = self.inputs.lookup("float_of", Kind.DECIMAL, lambda domain: domain.floats())
                return Val(Code(f"{table}[{arg.code.text}]", PRIMARY), arg.nulls)
            case Kind.FLOAT:
                return Val(called("float", arg.code.text), arg.nulls)
            case Kind.INT if source is Kind.UINT:
                arg = self.short(arg, source)
                largest = Code(self.inputs.constant(INT64_MAX, Kind.UINT), PRIMARY)
                too_large = self.compared(">", arg.code, largest)
                return Val(called(self.inputs.helper("to_signed"), arg.code.text), (*arg.nulls, too_large))
            case Kind.TIMESTAMP if source is Kind.DATE:
                day = Code(str(MICROSECONDS_PER_DAY), PRIMARY)
                low, high = range_of(node)
                if low < INT64_MIN or high > INT64_MAX:
                    arg = self.short(arg, source)
                    overflows = called(self.inputs.helper("multiply_overflows"), arg.code.text, day.text)
                    arg = Val(arg.code, (*arg.nulls, decided(overflows)))
                return Val(Code(f"{at_least(arg.code, PRODUCT)} * {day.text}", PRODUCT), arg.nulls)
        assert {source, target} <= {Kind.INT, Kind.DURATION}, f"{source} to {target}"
        return arg

    # ------------------------------------------------------------------ lines

    @contextmanager
    def _block(self) -> Iterator[list[str]]:
        """Lines apart, and what they make is known in them only."""
        outer, known = self.lines, self._known
        self.lines, self._known = [], dict(known)
        try:
            yield self.lines
        finally:
            self.lines, self._known = outer, known

    def named(self, prefix: str, code: Code) -> Code:
        if SHORT.fullmatch(code.text):
            return code
        name = self.inputs.fresh(prefix)
        self.lines.append(f"{name} = {code.text}")
        return Code(name, PRIMARY)

    def short_null(self, value: Val) -> Val:
        """The value with one short null test."""
        if len(value.nulls) == 1 and SHORT.fullmatch(value.nulls[0].yes.text):
            return value
        null = self.named("n", any_of(n.yes for n in value.nulls))
        return Val(value.code, (decided(null),))

    def short(self, value: Val, kind: Kind) -> Val:
        """The value as something short, evaluated where it is not null."""
        if SHORT.fullmatch(value.code.text):
            return value
        if value.nulls:
            value = self.short_null(value)
            text = f"{self.default(kind).text} if {value.nulls[0].yes.text} else {at_least(value.code, OR)}"
            value = Val(Code(text, CHOICE), value.nulls)
        return Val(self.named("t", value.code), value.nulls)
