"""The technical benchmark of the Cayuga paper (section 5.1): five templates of queries over a stream of eight attributes.

    Table 2 ─> Parameters ─> events, queries ─> a set, shared or not

Attributes d0 … d3 are discrete, c0 … c3 continuous. Each θ has two equalities and two inequalities; one equality, on the
query's primary attribute, is the same in all steps. Attributes and values are chosen by Zipf's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.cesar import Expression, stream
from augury.query_set import QuerySet

TEMPLATES = ("linear_stat", "linear_dyn", "filter", "non_deterministic", "non_deterministic_agg")


@dataclass(frozen=True)
class Parameters:
    """Table 2, with its default values."""

    events: int = 100_000
    discrete: int = 4
    continuous: int = 4
    queries: int = 200_000
    domain: int = 100
    ranges: int = 25
    selectivity: float = 0.7
    zipf: tuple[float, float, float] = (
        1.0,
        1.0,
        0.8,
    )  # of the steps; the first one's is that of attributes, too
    duration: int = 20
    seed: int = 1


def events(p: Parameters) -> pa.Table:
    """Uniform values, an event for each instant."""
    rng = np.random.default_rng(p.seed)
    columns: dict[str, Any] = {"ts": np.arange(p.events)}
    for i in range(p.discrete):
        columns[f"d{i}"] = rng.integers(0, p.domain, p.events)
    for i in range(p.continuous):
        columns[f"c{i}"] = rng.random(p.events)
    return pa.table(columns)


def _zipf(rng: np.random.Generator, many: int, exponent: float, size: int) -> np.ndarray[Any, Any]:
    """Numbers below `many`, the first ones more often."""
    weights = 1.0 / np.arange(1, many + 1) ** exponent
    return rng.choice(many, size, p=weights / weights.sum())


@dataclass(frozen=True)
class Theta:
    """One step's predicate: values by names of parameters, and the text that has their names."""

    text: str
    values: dict[str, Any]


def _thetas(p: Parameters) -> list[tuple[int, int, list[Theta]]]:
    """For each query its primary attribute and value, and its steps' predicates."""
    rng = np.random.default_rng(p.seed + 1)
    primary = _zipf(rng, p.discrete, p.zipf[0], p.queries)
    constant = _zipf(rng, p.domain, p.zipf[0], p.queries)
    steps = [
        (
            (primary + 1 + _zipf(rng, p.discrete - 1, p.zipf[0], p.queries)) % p.discrete,
            _zipf(rng, p.domain, exponent, p.queries),
            _zipf(rng, p.continuous, p.zipf[0], p.queries),
            _zipf(rng, p.continuous - 1, p.zipf[0], p.queries),
            _zipf(rng, p.ranges, exponent, (p.queries * 2)).reshape(p.queries, 2),
            rng.integers(0, 2, (p.queries, 2)),
        )
        for exponent in p.zipf
    ]
    found = []
    for q in range(p.queries):
        thetas = []
        for other, value, first, second, ranges, sides in steps:
            a, b = int(first[q]), int((first[q] + 1 + second[q]) % p.continuous)
            signs = [("<", ">")[int(s)] for s in sides[q]]
            bounds = [_bound(p, int(r), sign) for r, sign in zip(ranges[q], signs, strict=True)]
            text = f"d{primary[q]} = :p AND d{other[q]} = :v AND c{a} {signs[0]} :x AND c{b} {signs[1]} :y"
            values = {"p": int(constant[q]), "v": int(value[q]), "x": bounds[0], "y": bounds[1]}
            thetas.append(Theta(text, values))
        found.append((int(primary[q]), int(constant[q]), thetas))
    return found


def _bound(p: Parameters, place: int, sign: str) -> float:
    """One of the distinct ranges, all of about the selectivity that is wanted."""
    share = p.selectivity + (place - p.ranges // 2) * 0.2 / p.ranges * min(p.selectivity, 1 - p.selectivity)
    return share if sign == "<" else 1.0 - share


def queries(p: Parameters, template: str) -> dict[str, Expression]:
    """The queries of a template, by name."""
    base = stream("S")
    attributes = [f"d{i}" for i in range(p.discrete)] + [f"c{i}" for i in range(p.continuous)]
    second = base.rename({a: f"{a}_2" for a in attributes})
    third = base.rename({a: f"{a}_3" for a in attributes})
    make = {
        "linear_stat": _linear,
        "linear_dyn": _linear_dyn,
        "filter": _filter,
        "non_deterministic": _non_deterministic,
        "non_deterministic_agg": _non_deterministic_agg,
    }[template]
    return {f"q{number}": make(p, base, second, third, *steps) for number, steps in enumerate(_thetas(p))}


def _step(theta: Theta, number: int) -> tuple[str, dict[str, Any]]:
    """A θ over the attributes of a step."""
    text = theta.text
    for letter in "dc":
        for i in range(8):
            text = text.replace(f"{letter}{i} ", f"{letter}{i}_{number} ")
    return text, theta.values


def _linear(
    _p: Parameters,
    s: Expression,
    second: Expression,
    third: Expression,
    _a: int,
    _c: int,
    thetas: list[Theta],
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    first = s.where(thetas[0].text, **thetas[0].values)
    return first.then(second).where(two[0], **two[1]).then(third).where(three[0], **three[1])


def _linear_dyn(
    _p: Parameters,
    s: Expression,
    second: Expression,
    third: Expression,
    _a: int,
    _c: int,
    thetas: list[Theta],
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.then(second).where(f"{two[0]} AND c0_2 > 1.01 * c0", **two[1])
    return seconds.then(third).where(f"{three[0]} AND c0_3 > 1.01 * c0_2", **three[1])


def _filter(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    on = [f"DUR <= :t AND d{a}_{n} = :p" for n in (2, 3)]
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.then(second, on=on[0], t=p.duration, p=c).where(two[0], **two[1])
    return seconds.then(third, on=on[1], t=p.duration, p=c).where(three[0], **three[1])


def _non_deterministic(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    two, three = _step(thetas[1], 2), _step(thetas[2], 3)
    on = [f"DUR <= :t AND d{a}_{n} = :p" for n in (2, 3)]
    first = s.where(thetas[0].text, **thetas[0].values)
    seconds = first.iterate(second, on=on[0], t=p.duration, p=c).where(two[0], **two[1])
    return seconds.iterate(third, on=on[1], t=p.duration, p=c).where(three[0], **three[1])


def _non_deterministic_agg(
    p: Parameters, s: Expression, second: Expression, third: Expression, a: int, c: int, thetas: list[Theta]
) -> Expression:
    found = _non_deterministic(p, s, second, third, a, c, thetas)
    return found.extend({f"sum{i}": f"c{i} + c{i}_2 + c{i}_3" for i in range(p.continuous)})


def query_set(p: Parameters, template: str) -> QuerySet:
    return QuerySet(queries(p, template))
