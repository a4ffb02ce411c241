"""Calls in a kernel's source: the built-in functions, and registered ones with the values they take.

What a kernel has no form for, it asks `interpret`: a predicate in which a registered function makes a text or
reads a nested value is one call of Python, with the values that its references have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from augury.expr import functions
from augury.expr.inputs import CODED
from augury.expr.interpret import interpret
from augury.expr.snippets import (
    ALWAYS,
    CHOICE,
    COMPARE,
    OR,
    PRIMARY,
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
    merged,
)
from augury.expr.tree import Agg, Attr, Call, Expr, Len, Literal, children, typed
from augury.expr.types import INT64_MAX, INT64_MIN, Kind

if TYPE_CHECKING:
    from augury.expr.source import Emitter


def call(e: Emitter, node: Call) -> Val:
    user = functions.registered(node.fn)
    if user is not None:
        return _registered(e, node, user)
    if node.fn == "coalesce":
        return _coalesce(e, node.args, typed(node).kind)
    if node.fn in ("least", "greatest"):
        return _extreme(e, node)
    args = [e.val(a) for a in node.args]
    nulls = merged(*(a.nulls for a in args))
    kind, source = typed(node).kind, typed(node.args[0]).kind
    if ALWAYS in nulls:
        return Val(e.default(kind), (ALWAYS,))
    x = args[0]
    match node.fn:
        case "abs" if kind is not Kind.UINT:
            if kind is not Kind.FLOAT:
                x = e.short(x, kind)
                nulls = e.unless_least(node.args[0], x)
            return Val(called("abs", x.code.text), nulls)
        case "ceil" | "floor" if source is Kind.FLOAT:
            x = e.short(x, source)
            fits = called(e.inputs.helper("fits_integer"), x.code.text)
            rounded = called(e.inputs.helper(node.fn), x.code.text)
            return Val(rounded, (*x.nulls, Test(decided(fits).no, fits)))
        case "abs" | "ceil" | "floor":
            return x
        case "round":
            return _round(e, x, node.args)
        case "ln":
            x = e.short(x, Kind.FLOAT)
            below = e.compared("<=", x.code, Code("0.0", PRIMARY), is_float=True)
            return Val(called(e.inputs.helper("logarithm"), x.code.text), (*x.nulls, below))
        case "sqrt" | "exp":
            helper = e.inputs.helper({"sqrt": "square_root", "exp": "exponential"}[node.fn])
            return Val(called(helper, x.code.text), nulls)
        case "pow":
            exponent = node.args[1]
            # A compiler that sees pow(x, 2.0) makes x * x of it, which differs in the last bit.
            text = (
                e.inputs.stored(exponent.value)  # type: ignore[arg-type]
                if isinstance(exponent, Literal)
                else args[1].code.text
            )
            return Val(called(e.inputs.helper("power"), x.code.text, text), nulls)
        case "length" if source is Kind.LIST:
            start, end = _span(e, e.short(x, source))
            return Val(Code(f"{end} - {start}", SUM), nulls)
        case "length":
            name = "length_of" if source is Kind.STRING else "size_of"
            name = e.inputs.lookup(name, source, lambda domain: domain.length())
            return Val(Code(f"{name}[{x.code.text}]", PRIMARY), nulls)
        case "lower" | "upper":
            return Val(Code(f"{e.inputs.recased(node.fn)}[{x.code.text}]", PRIMARY), nulls)
        case "corr":
            return _correlation(e, args)
    raise AssertionError(f"no meaning for {node.fn}")


def _round(e: Emitter, x: Val, args: Sequence[Expr]) -> Val:
    digits = args[1].value if len(args) == 2 and isinstance(args[1], Literal) else 0
    assert isinstance(digits, int)
    if typed(args[0]).kind is Kind.FLOAT:
        helper = e.inputs.helper("round_places" if digits > 0 else "round_tens")
        return Val(called(helper, x.code.text, repr(10.0 ** abs(digits))), x.nulls)
    if digits >= 0:
        return x
    x, scale = e.short(x, Kind.INT), repr(10**-digits)
    overflows = decided(called(e.inputs.helper("round_overflows"), x.code.text, scale))
    return Val(called(e.inputs.helper("round_whole"), x.code.text, scale), (*x.nulls, overflows))


def _span(e: Emitter, place: Val) -> tuple[str, str]:
    """Where a list's elements start and end."""
    offsets = e.inputs.pool("list_offsets")
    return f"{offsets}[{place.code.text}]", f"{offsets}[{place.code.text} + 1]"


def _correlation(e: Emitter, args: Sequence[Val]) -> Val:
    spans = [text for a in args for text in _span(e, e.short(a, Kind.LIST))]
    found = called(
        e.inputs.helper("correlation"),
        e.inputs.pool("list_items"),
        e.inputs.pool("list_present"),
        *spans,
    )
    nulls = merged(*(a.nulls for a in args))
    value, null = e.inputs.fresh("t"), e.inputs.fresh("n")
    if not nulls:
        e.lines.append(f"{value}, {null} = {found.text}")
    else:
        e.lines.append(f"{value} = 0.0")
        e.lines.append(f"{null} = {any_of(n.yes for n in nulls).text}")
        e.lines.append(f"if not {null}:")
        e.lines.append(f"    {value}, {null} = {found.text}")
    return Val(Code(value, PRIMARY), (decided(Code(null, PRIMARY)),))


def _coalesce(e: Emitter, args: Sequence[Expr], kind: Kind) -> Val:
    """The first that is not null; the others are evaluated where it is."""
    values = [v for v in map(e.val, args) if ALWAYS not in v.nulls]
    if not values:
        return Val(e.default(kind), (ALWAYS,))
    *firsts, found = values
    for first in reversed(firsts):
        if not first.nulls:
            found = first
            continue
        first = e.short_null(first)  # noqa: PLW2901  # the same value
        null = first.nulls[0]
        text = f"{at_least(first.code, OR)} if {at_least(null.no, OR)} else {at_least(found.code, OR)}"
        rest = any_of(n.yes for n in found.nulls)
        both = Test(all_of([null.yes, rest]), any_of([null.no, all_of([n.no for n in found.nulls])]))
        found = Val(Code(text, CHOICE), (both,) if found.nulls else ())
    return found


def _extreme(e: Emitter, node: Call) -> Val:
    """least and greatest: the first of the best, nulls skipped."""
    kind = typed(node).kind
    values = [v for v in map(e.val, node.args) if ALWAYS not in v.nulls]
    if not values:
        return Val(e.default(kind), (ALWAYS,))
    if kind in CODED:
        e.inputs.order(kind)
    best, null = e.inputs.fresh("t"), None
    first, *others = values
    if first.nulls:
        null = e.inputs.fresh("n")
        e.lines.append(f"{null} = {any_of(n.yes for n in first.nulls).text}")
        e.lines.append(f"{best} = {e.default(kind).text} if {null} else {at_least(first.code, OR)}")
    else:
        e.lines.append(f"{best} = {first.code.text}")
    for other in others:
        other = e.short(other, kind)  # noqa: PLW2901  # the same value
        x, y = (other.code, Code(best, PRIMARY))
        better = _less(e, x, y, kind) if node.fn == "least" else _less(e, y, x, kind)
        if null is not None:
            better = any_of([Code(null, PRIMARY), better])
        e.lines.append(f"if {all_of([*(n.no for n in other.nulls), better]).text}:")
        e.lines.append(f"    {best} = {x.text}")
        if null is not None:
            e.lines.append(f"    {null} = False")
    nulls = () if null is None else (decided(Code(null, PRIMARY)),)
    return Val(Code(best, PRIMARY), nulls)


def _less(e: Emitter, x: Code, y: Code, kind: Kind) -> Code:
    if kind is Kind.FLOAT:
        return called(e.inputs.helper("is_less"), x.text, y.text)
    return e.compared("<", x, y).yes


def _registered(e: Emitter, node: Call, user: functions.UserFunction) -> Val:
    """A call, made only where no argument is null; None is null."""
    kind = typed(node).kind
    args = [e.val(a) for a in node.args]
    nulls = merged(*(a.nulls for a in args))
    if ALWAYS in nulls:
        return Val(e.default(kind), (ALWAYS,))
    passed = [_python(e, a, v) for a, v in zip(node.args, args, strict=True)]
    made_call = called(e.inputs.function(user, user.fn), *passed).text
    value, null, result = (e.inputs.fresh(prefix) for prefix in ("t", "n", "r"))
    made = [f"{result} = {made_call}", f"{null} = {result} is None", f"if not {null}:"]
    convert = {Kind.BOOL: "bool", Kind.FLOAT: "double"}.get(kind, "int")
    if convert == "double":
        e.inputs.helper(convert)
    if convert == "int":
        low, high = e.inputs.constant(INT64_MIN, Kind.INT), INT64_MAX
        made += [f"    {null} = not {low} <= int({result}) <= {high}", f"if not {null}:"]
    made.append(f"    {value} = {convert}({result})")
    e.lines.append(f"{value} = {e.default(kind).text}")
    if nulls:
        e.lines.append(f"{null} = {any_of(n.yes for n in nulls).text}")
        e.lines.append(f"if not {null}:")
        made = [f"    {line}" for line in made]
    e.lines.extend(made)
    return Val(Code(value, PRIMARY), (decided(Code(null, PRIMARY)),))


def _python(e: Emitter, node: Expr, value: Val) -> str:
    """A value as the Python object that a registered function takes, and `interpret` computes with."""
    kind = typed(node).kind
    match kind:
        case Kind.STRING | Kind.BINARY | Kind.DECIMAL:
            table = e.inputs.lookup(_PYTHON_OF[kind], kind, lambda domain: domain.listed())
            return f"{table}[{value.code.text}]"
        case Kind.LIST:
            return f"{e.inputs.pool('lists')}[{value.code.text}]"
        case Kind.OPAQUE:
            return f"{e.inputs.pool('nested')}[{value.code.text}]"
    return value.code.text


_PYTHON_OF = {Kind.STRING: "texts_of", Kind.BINARY: "bytes_of", Kind.DECIMAL: "decimals_of"}


# ------------------------------------------------------------------ what a kernel has no form for


def is_beyond(node: Expr) -> bool:
    """Whether a predicate computes with what a kernel has no form for: a text or a list that a registered
    function makes while the kernel runs, or a nested value that it reads.
    """
    if isinstance(node, Agg):  # a reference: what it is made of is a column
        return False
    if isinstance(node, Call) and functions.registered(node.fn) is not None:
        made = typed(node).kind
        if made in CODED or made in _WITHOUT_FORM or any(typed(a).kind is Kind.OPAQUE for a in node.args):
            return True
    return any(is_beyond(child) for child in children(node))


_WITHOUT_FORM = (Kind.LIST, Kind.OPAQUE, Kind.NULL)


def interpreted(e: Emitter, node: Expr) -> tuple[Test, tuple[Test, ...]]:
    """A predicate read by `interpret`, the values of its references given to it by the kernel."""
    references = _references(node)
    passed = []
    for reference in references:
        value = e.val(reference)
        text = _python(e, reference, value)
        null = any_of(n.yes for n in value.nulls)
        passed.append(
            "None" if null == TRUE else text if not value.nulls else f"None if {null.text} else {text}"
        )
    places = {id(reference): place for place, reference in enumerate(references)}

    def ask(*values: Any) -> bool | None:
        found: bool | None = interpret(node, lambda reference: values[places[id(reference)]])
        return found

    result = e.inputs.fresh("p")
    e.lines.append(f"{result} = {called(e.inputs.function(node, ask), *passed).text}")
    return decided(Code(result, PRIMARY)), (decided(Code(f"{result} is None", COMPARE)),)


def _references(node: Expr) -> list[Attr | Len | Agg]:
    if isinstance(node, Attr | Len | Agg):
        return [node]
    return [found for child in children(node) for found in _references(child)]
