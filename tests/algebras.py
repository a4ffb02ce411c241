"""Random CESAR expressions and streams for them: what laws are asked about.

An expression is built over a few attributes that stay together (`a` integer, `x` number, `s` string), renamed, extended
and joined as the algebra allows; a stream has few instants, so that events meet, overlap and are simultaneous.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import augury as ag
from augury.cesar import Expression, stream

NUMBERS = {"a": pa.int64(), "x": pa.float64()}


@dataclass(frozen=True)
class Drawn:
    """An expression, and its attributes by what may be computed with them: "int", "float", "string"."""

    expr: Expression
    attrs: dict[str, str]


def table(rng: random.Random, rows: int, *, intervals: bool) -> pa.Table:
    times = [rng.randrange(max(2, rows)) for _ in range(rows)]
    data: dict[str, Any] = {
        "kind": pa.array([rng.choice(["A", "B", "C"]) for _ in range(rows)], pa.string()),
        "a": pa.array([rng.choice([None, 0, 1, 2, 3]) for _ in range(rows)], pa.int64()),
        "x": pa.array(
            [rng.choice([None, -0.0, 0.0, 0.5, 1.5, float("nan")]) for _ in range(rows)], pa.float64()
        ),
        "s": pa.array([rng.choice([None, "p", "q"]) for _ in range(rows)], pa.string()),
        "k": pa.array([rng.choice([None, 1, 2]) for _ in range(rows)], pa.int64()),
    }
    if intervals:
        spans = [rng.choice([0, 0, 1, 2]) for _ in range(rows)]
        data["start_"] = pa.array([t - s for t, s in zip(times, spans, strict=True)], pa.int64())
        data["end_"] = pa.array(times, pa.int64())
    else:
        data["ts"] = pa.array(times, pa.int64())
    return pa.table(data)


BASE = {"a": "int", "x": "float", "s": "string", "k": "int"}


def expression(rng: random.Random, depth: int, key: tuple[str, ...] = ()) -> Drawn:
    """A random expression of so many binary operators, at most."""
    if depth == 0 or rng.random() < 0.15:
        found = Drawn(stream(rng.choice("AABC")), dict(BASE))
    else:
        kind = rng.choice(["then", "then", "iterate", "iterate", "union"])
        left = expression(rng, depth - 1, key)
        right = expression(rng, depth - 1 if rng.random() < 0.25 else 0, key)
        found = BINARY[kind](rng, left, right)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        found = unary(rng, found, key)
    return found


def unary(rng: random.Random, d: Drawn, key: tuple[str, ...], last: dict[str, str] | None = None) -> Drawn:
    """One operator more."""
    names = sorted(d.attrs)
    match rng.choice(["where", "where", "where", "project", "rename", "extend"]):
        case "where":
            return Drawn(d.expr.where(condition(rng, d.attrs, last)), d.attrs)
        case "project" if len(names) > 1 and last is None:
            kept = rng.sample(names, rng.randrange(1, len(names) + 1))
            return Drawn(d.expr.project(*kept), {n: d.attrs[n] for n in kept})
        case "rename" if last is None:
            free = [n for n in names if n not in key]
            if not free:
                return d
            old, new = rng.choice(free), f"r{rng.randrange(3)}"
            if new in names:
                return d
            return Drawn(d.expr.rename({old: new}), {new if n == old else n: t for n, t in d.attrs.items()})
    name = rng.choice([*names, "e"]) if last is None else rng.choice(names)
    if name in key or d.attrs.get(name) == "string":
        return d
    value, kind = number(rng, d.attrs, last)
    if last is not None and kind != d.attrs[name]:
        return d
    return Drawn(d.expr.extend({name: value}), {**d.attrs, name: kind})


def number(rng: random.Random, attrs: dict[str, str], last: dict[str, str] | None) -> tuple[str, str]:
    """A small arithmetic text and its kind."""
    pool = [(n, t) for n, t in attrs.items() if t != "string"]
    pool += [(f"{n}.last", t) for n, t in (last or {}).items() if t != "string"]
    pool += [("1", "int"), ("0.5", "float"), ("DUR", "int")]
    (x, s), (y, t) = rng.choice(pool), rng.choice(pool)
    kind = "float" if "float" in (s, t) else "int"
    match rng.randrange(6):
        case 0:
            return f"{x} + {y}", kind
        case 1:
            return f"{x} * {y} - 1", kind
        case 2:
            return f"coalesce({x}, {y})", kind
        case 3:
            return f"least({x}, {y})", kind
        case 4:
            return f"-{x}" if not x[0].isdigit() else x, s
    return x, s


def condition(rng: random.Random, attrs: dict[str, str], last: dict[str, str] | None = None) -> str:
    def atom() -> str:
        texts = [n for n, t in attrs.items() if t == "string"]
        texts_before = [f"{n}.last" for n, t in (last or {}).items() if t == "string"]
        if rng.random() < 0.2 and texts:
            other = rng.choice([*texts_before, "'p'", "'q'"]) if texts_before else "'p'"
            return f"{rng.choice(texts)} {rng.choice(['=', '<>'])} {other}"
        if rng.random() < 0.15:
            return f"DUR <= {rng.randrange(1, 6)}"
        left, _ = number(rng, attrs, last)
        right, _ = number(rng, attrs, last)
        if rng.random() < 0.15:
            return f"{left} IS {rng.choice(['', 'NOT '])}NULL"
        return f"{left} {rng.choice(['=', '<', '>', '<=', '>=', '<>'])} {right}"

    match rng.randrange(6):
        case 0:
            return f"{atom()} AND {atom()}"
        case 1:
            return f"{atom()} OR {atom()}"
        case 2:
            return f"NOT ({atom()})"
    return atom()


def _then(rng: random.Random, left: Drawn, right: Drawn) -> Drawn:
    attrs = {**left.attrs, **right.attrs}
    on = None if rng.random() < 0.25 else condition(rng, attrs, left.attrs)
    return Drawn(left.expr.then(right.expr, on=on), attrs)


def _iterate(rng: random.Random, left: Drawn, right: Drawn) -> Drawn:
    attrs = {**left.attrs, **right.attrs}
    init = {
        n: rng.choice(same)
        for n in right.attrs
        if n not in left.attrs and (same := _same(left, right.attrs[n]))
    }
    last = {**left.attrs, **{n: right.attrs[n] for n in init}}
    last = {n: t for n, t in last.items() if attrs[n] == t}
    on = None if rng.random() < 0.2 else condition(rng, attrs, last)

    def step(s: Expression) -> Expression:
        d = Drawn(s, attrs)
        for _ in range(rng.randrange(3)):
            d = unary(rng, d, (), last)
        return d.expr

    made = left.expr.iterate(right.expr, on=on, step=step if rng.random() < 0.7 else None, init=init or None)
    return Drawn(made, attrs)


def _same(left: Drawn, kind: str) -> list[str]:
    return sorted(n for n, t in left.attrs.items() if t == kind)


def _union(rng: random.Random, left: Drawn, right: Drawn) -> Drawn:
    both = [n for n in left.attrs if n in right.attrs and "string" not in {left.attrs[n], right.attrs[n]}]
    both += [n for n in left.attrs if left.attrs[n] == right.attrs.get(n) == "string"]
    attrs = {n: "float" if "float" in (left.attrs[n], right.attrs[n]) else left.attrs[n] for n in both}
    return Drawn(left.expr.project(*both).union(right.expr.project(*reversed(both))), attrs)


BINARY = {"then": _then, "iterate": _iterate, "union": _union}


def case(seed: int, *, rows: int = 14, depth: int = 3) -> tuple[Expression, pa.Table, dict[str, Any]]:
    """A random expression, a table and the arguments that go with it."""
    rng = random.Random(seed)
    key = rng.choice([(), (), ("k",)])
    while True:
        try:
            drawn = expression(rng, rng.randrange(depth + 1), key)
            break
        except ag.QueryError:
            continue
    intervals = rng.random() < 0.4
    arguments: dict[str, Any] = {
        "time": ("start_", "end_") if intervals else "ts",
        "type": "kind",
        "key": list(key) or None,
    }
    return drawn.expr, table(rng, rng.randrange(rows + 1), intervals=intervals), arguments
