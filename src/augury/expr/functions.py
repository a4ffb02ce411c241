"""The functions a query may call: the built-in ones and those registered with `ag.function`.

A registered function is known by its name alone, in trees and in JSON; it must be registered again in
a process that reads the JSON. A null argument makes its result null, so it never sees one.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, overload

import pyarrow as pa

from augury.errors import QueryError
from augury.expr import scalars
from augury.expr.tree import Call, Expr, walk
from augury.expr.types import (
    BOOL,
    FLOAT,
    INT,
    INT64_MAX,
    INT64_MIN,
    INTEGERS,
    NUMBERS,
    STRING,
    Kind,
    Type,
    from_arrow,
)

AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
# name -> least and greatest number of arguments
BUILTINS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "round": (1, 2),
    "sqrt": (1, 1),
    "ln": (1, 1),
    "exp": (1, 1),
    "pow": (2, 2),
    "least": (2, None),
    "greatest": (2, None),
    "coalesce": (1, None),
    "length": (1, 1),
    "lower": (1, 1),
    "upper": (1, 1),
    "corr": (2, 2),
}

# How the functions of other languages are said here.
ELSEWHERE = {
    **dict.fromkeys(("prev", "lag"), "the event before the current one is a[i-1].x"),
    **dict.fromkeys(("nvl", "ifnull", "isnull"), "write coalesce(a.x, 0), or a.x IS NULL"),
    **dict.fromkeys(("mean", "average"), "the average over a Kleene variable is avg(a[].x)"),
    **dict.fromkeys(("log", "log10"), "the natural logarithm is ln(a.x)"),
    **dict.fromkeys(
        ("if", "iff"), "write the alternatives with AND and OR, or register a function with ag.function"
    ),
    "cast": "there are no casts: integers, numbers and decimals meet as they are",
    "mod": "write a.x % 5",
    "concat": "there is no arithmetic on strings; register a function with ag.function",
    "match_number": "match_id=True gives each match a name",
    "skip_till_next": "write skip_till_next_match",
    "skip_till_any": "write skip_till_any_match",
}

_PYTHON_TYPES: dict[Any, Type] = {
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: STRING,
    list[float]: Type(Kind.LIST, element=FLOAT),
    list[int]: Type(Kind.LIST, element=INT),
    "boolean": BOOL,
    "bool": BOOL,
    "integer": INT,
    "int": INT,
    "number": FLOAT,
    "float": FLOAT,
    "string": STRING,
    "str": STRING,
}


@dataclass(frozen=True, slots=True)
class UserFunction:
    name: str
    fn: Callable[..., Any]
    args: tuple[Type | None, ...]  # None: as it comes
    returns: Type | None  # None: what its place asks for, see `check`


_registered: dict[str, UserFunction] = {}


def registered(name: str) -> UserFunction | None:
    return _registered.get(name)


def register(user: UserFunction) -> None:
    """Make a function known that another process has described."""
    _registered[user.name] = user


def every() -> tuple[UserFunction, ...]:
    """All that are registered."""
    return tuple(_registered.values())


def called(exprs: Iterable[Expr]) -> tuple[UserFunction, ...]:
    """The registered functions that are called in these."""
    names = dict.fromkeys(node.fn for expr in exprs for node in walk(expr) if isinstance(node, Call))
    return tuple(_registered[name] for name in names if name in _registered)


def calls_python(expr: Expr) -> bool:
    """Whether a registered function is called in it. It may raise: it is asked only where it was put."""
    return any(isinstance(node, Call) and node.fn in _registered for node in walk(expr))


def known_names() -> list[str]:
    return sorted({*BUILTINS, *AGGREGATES, *_registered})


@overload
def function(
    fn: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    reads: Any = None,
    returns: Any = None,
) -> Callable[..., Any]: ...
@overload
def function(
    *,
    name: str | None = None,
    reads: Any = None,
    returns: Any = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def function(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    reads: Any = None,
    returns: Any = None,
) -> Any:
    """Make a Python scalar function callable in queries, under its own name or `name`.

    >>> import augury as ag
    >>> @ag.function
    ... def spread(bid: float, ask: float) -> float:
    ...     return (ask - bid) / bid
    >>> query = ag.sase("PATTERN Quote q WHERE spread(q.bid, q.ask) > 0.01")

    `reads` are the types of its arguments and `returns` that of its result (bool, int, float, str,
    list[float], or an Arrow type of these), by default its annotations. An argument without a type is passed
    as it comes; a result without one is a number, or what its place asks for: a condition, a text.
    """
    if fn is None:
        return lambda f: function(f, name=name, reads=reads, returns=returns)
    if not callable(fn):
        raise QueryError(
            f"ag.function takes a Python function, not {type(fn).__name__}",
            hint="write it as a decorator, or ag.function(fn, name=...)",
        )
    known = str(name or getattr(fn, "__name__", "")).lower()
    if not known.isidentifier():
        raise QueryError(
            f"a function cannot be called {known!r}", hint="give it one: ag.function(fn, name='spread')"
        )
    if known in BUILTINS or known in AGGREGATES:
        raise QueryError(
            f"{known} is a built-in function", hint="register yours under another name with name="
        )
    hints = _hints(fn, known) if reads is None or returns is None else {}
    given = hints.get("return") if returns is None else returns
    types = [hints.get(p) for p in _parameters(fn, known)] if reads is None else _as_list(reads)
    register(
        UserFunction(
            name=known,
            fn=fn,
            args=tuple(None if t is None else _type_of(t, known) for t in types),
            returns=None if given is None else _type_of(given, known),
        )
    )
    return fn


def _as_list(reads: Any) -> list[Any]:
    return list(reads) if isinstance(reads, list | tuple) else [reads]


def _hints(fn: Callable[..., Any], name: str) -> dict[str, Any]:
    """Its annotations; a class or a NumPy function has none."""
    if not hasattr(fn, "__annotations__") or isinstance(fn, type):
        return {}
    try:
        return typing.get_type_hints(fn)
    except NameError as error:
        raise QueryError(
            f"the annotations of {name} cannot be read: {error}",
            hint="say them to ag.function with reads= and returns=",
        ) from None


def _parameters(fn: Callable[..., Any], name: str) -> list[str]:
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        found = inspect.signature(fn).parameters.values()
    except ValueError:
        raise QueryError(
            f"how many arguments {name} takes is not known",
            hint="say their types: ag.function(fn, reads=[float])",
        ) from None
    if any(p.kind not in plain and p.default is p.empty for p in found):
        raise QueryError("a registered function takes a fixed number of positional arguments")
    return [p.name for p in found if p.kind in plain and p.default is p.empty]


def _type_of(given: Any, name: str) -> Type:
    if isinstance(given, Type):
        return given
    try:
        if isinstance(given, str) and given not in _PYTHON_TYPES:
            given = pa.type_for_alias(given)
        return _of_arrow(given) if isinstance(given, pa.DataType) else _PYTHON_TYPES[given]
    except (KeyError, TypeError, ValueError):
        raise QueryError(
            f"{name}: {given!r} is not a type that queries compute with",
            hint="use bool, int, float, str or list[float]",
        ) from None


def _of_arrow(given: pa.DataType) -> Type:
    found = from_arrow(given)
    if found.kind is Kind.LIST and found.element is not None and found.element.kind in NUMBERS:
        return _PYTHON_TYPES[list[int] if found.element.kind in INTEGERS else list[float]]
    return _OF_KIND[found.kind]


_OF_KIND = {
    Kind.BOOL: BOOL,
    Kind.INT: INT,
    Kind.UINT: INT,
    Kind.FLOAT: FLOAT,
    Kind.DECIMAL: FLOAT,
    Kind.STRING: STRING,
}


# What the built-in functions mean, for values that are not null and not of fixed width. Every reading is
# held to these; what is a loop over numbers is in `scalars`.


def round_half_away(x: float, digits: int = 0) -> float:
    """Half away from zero, in the digits that `x` is written with: round(2.675, 2) is 2.68."""
    return scalars.round_places(x, 10.0**digits) if digits > 0 else scalars.round_tens(x, 10.0**-digits)


def round_integer(x: int, digits: int) -> int | None:
    if digits >= 0:
        return x
    scale = 10**-digits
    return None if scalars.round_overflows(x, scale) else scalars.round_whole(x, scale)


def correlation(xs: list[Any] | None, ys: list[Any] | None) -> float | None:
    """Pearson's, of the pairs without a null. Null where lengths differ or it is not defined."""
    if xs is None or ys is None:
        return None
    both = [*xs, *ys]
    items = [0.0 if v is None else float(v) for v in both]
    present = [v is not None for v in both]
    value, is_null = scalars.correlation(items, present, 0, len(xs), len(xs), len(both))
    return None if is_null else value


def call(user: UserFunction, args: list[Any], returns: Type) -> Any:
    """What a registered function says, in the physical form of what it returns."""
    if any(a is None for a in args):
        return None
    value = user.fn(*args)
    if value is None:
        return None
    match returns.kind:
        case Kind.BOOL:
            return bool(value)
        case Kind.INT:
            value = int(value)
            return value if INT64_MIN <= value <= INT64_MAX else None
        case Kind.FLOAT:
            return float(value)
        case Kind.STRING if not isinstance(value, str):
            raise QueryError(f"{user.name} returned a {type(value).__name__} where a string was promised")
        case Kind.LIST:
            element = int if returns.element == INT else float
            return [None if v is None else element(v) for v in value]
    return value
