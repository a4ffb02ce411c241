"""An expression as text that parses to the same tree."""

from __future__ import annotations

from decimal import Decimal

from augury.expr.tree import (
    COMPARISONS,
    Agg,
    At,
    Attr,
    Between,
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
    Name,
    Param,
    Unary,
)

KEYWORDS = frozenset(
    {
        *("PATTERN", "SEQ", "WHERE", "WITHIN", "RETURN", "AS"),
        *("AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "LIKE", "TRUE", "FALSE"),
        *("STRICT_CONTIGUITY", "PARTITION_CONTIGUITY", "SKIP_TILL_NEXT_MATCH", "SKIP_TILL_ANY_MATCH"),
    }
)
"""Words of the grammar. Most may be names as well; printed names are quoted all the same."""

UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)


def quoted(name: str) -> str:
    """A name as the grammar reads it, in backticks where it must be."""
    if name.isidentifier() and name.upper() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def text_of(node: Expr) -> str:
    return _print(node)[0]


def _at_least(node: Expr, level: int) -> str:
    text, own = _print(node)
    return text if own >= level else f"({text})"


def _print(node: Expr) -> tuple[str, int]:
    """The text and how tightly it binds."""
    match node:
        case Literal():
            return literal_text(node), _PRIMARY
        case Param():
            return ":" + quoted(node.name), _PRIMARY
        case Attr():
            name = "`LEN`" if node.name == "LEN" else quoted(node.name)  # a.LEN is the length
            return f"{reference(node.var, node.at)}.{name}", _PRIMARY
        case Name():
            return quoted(node.name), _PRIMARY
        case Len():
            return f"{quoted(node.var)}.LEN", _PRIMARY
        case Agg():
            return f"{node.fn}({text_of(node.arg)})", _PRIMARY
        case Call():
            return f"{quoted(node.fn)}({', '.join(map(text_of, node.args))})", _PRIMARY
        case Unary(op="NOT"):
            return f"NOT {_at_least(node.arg, _NOT)}", _NOT
        case Unary():
            return f"-{_operand_of_minus(node.arg)}", _SIGN
        case Logic():
            level = _AND if node.op == "AND" else _OR
            return f" {node.op} ".join(_at_least(a, level + 1) for a in node.args), level
        case Binary():
            return _binary(node)
        case In():
            return (
                f"{_at_least(node.arg, _SUM)} IN ({', '.join(_at_least(i, _SUM) for i in node.items)})",
                _TEST,
            )
        case Between():
            low, high = _at_least(node.low, _SUM), _at_least(node.high, _SUM)
            return f"{_at_least(node.arg, _SUM)} BETWEEN {low} AND {high}", _TEST
        case IsNull():
            return f"{_at_least(node.arg, _SUM)} IS {'NOT ' if node.negated else ''}NULL", _TEST
        case Like():
            return f"{_at_least(node.arg, _SUM)} LIKE {_at_least(node.pattern, _SUM)}", _TEST
        case Cast():
            return _print(node.arg)
    raise AssertionError(f"not an expression: {node!r}")


def _operand_of_minus(node: Expr) -> str:
    text, level = _print(node)
    # Two signs in a row would be a comment, and a signed literal is read as one token.
    plain = level >= _SIGN and not text.startswith("-") and not isinstance(node, Literal)
    return text if plain else f"({text})"


def _binary(node: Binary) -> tuple[str, int]:
    if node.op in COMPARISONS:
        return f"{_at_least(node.left, _SUM)} {node.op} {_at_least(node.right, _SUM)}", _TEST
    level = _SUM if node.op in "+-" else _PRODUCT
    return f"{_at_least(node.left, level)} {node.op} {_at_least(node.right, level + 1)}", level


def reference(var: str, at: At) -> str:
    name = quoted(var)
    return f"{name}[{name}.LEN]" if at is At.LAST else f"{name}{at.value}"


def literal_text(node: Literal) -> str:
    value = node.value
    match node.kind:
        case "null":
            return "NULL"
        case "bool":
            return "TRUE" if value else "FALSE"
        case "string":
            return "'" + str(value).replace("'", "''") + "'"
        case "number":
            text = str(value)
            return text if "." in text or "E" in text else f"{text}.0"
        case "duration":
            assert isinstance(value, int)
            return duration_text(Decimal(value))
    return str(value)


def duration_text(microseconds: Decimal) -> str:
    """In the largest unit of which it is a whole number."""
    units = reversed(UNITS.items())
    unit, size = next((u for u in units if microseconds and microseconds % u[1] == 0), ("microsecond", 1))
    count = microseconds / size
    return f"{count:f} {unit}{'' if count == 1 else 's'}"
