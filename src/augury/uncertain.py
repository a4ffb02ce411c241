"""Imprecise time: two columns that bound an event's instant, and one that may say how likely each instant is.

Here is what can be asked, and what is wrong with a question; what it means is `semantics.imprecise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augury.errors import QueryError
from augury.expr.printing import quoted
from augury.expr.types import INTEGERS, NUMBERS, Kind
from augury.pattern import Pattern, Strategy
from augury.schema import Columns

SUM_OFF = 1e-6  # by which the sum of a pmf may miss 1
SAME = 1e-12  # confidences this near are one


@dataclass(frozen=True, slots=True)
class Imprecise:
    """Which columns bound an event's instant, and what is asked of the confidences."""

    lower: str
    upper: str
    pmf: str | None = None
    min_confidence: float = 0.0
    top: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.lower, self.upper) if self.pmf is None else (self.lower, self.upper, self.pmf)


def imprecise(
    columns: Columns,
    time: object,
    pmf: object = None,
    min_confidence: object = None,
    top: object = None,
) -> Imprecise:
    """The columns of imprecise times as `match` was told them, checked against the data's."""
    if not isinstance(time, Sequence) or len(time) != 2 or not all(isinstance(name, str) for name in time):
        raise QueryError(
            f"time={time!r} names no column and no pair of them",
            hint='write time=("lower", "upper"), the two columns that bound an event\'s instant',
        )
    lower, upper = time
    if lower == upper:
        raise QueryError(
            f"time= names the column {quoted(lower)} twice",
            hint=f'instants that are known exactly are one column: time="{lower}"',
        )
    for name in (lower, upper):
        found = columns.type_of(name, "time column")
        if found.kind is Kind.TIMESTAMP:
            raise QueryError(
                f"the time column {quoted(name)} is {found.named}, and imprecise times are counted instant by instant",
                hint="choose how fine an instant is and make the bounds integers, such as "
                "epoch_us(t) // 100_000 for tenths of a second, or cast them to dates",
            )
        if found.kind not in INTEGERS and found.kind is not Kind.DATE:
            raise QueryError(
                f"the time column {quoted(name)} is {found.named}",
                hint="the bounds of an imprecise time are integers or dates",
            )
    dates = [columns.types[name].kind is Kind.DATE for name in (lower, upper)]
    if dates[0] != dates[1]:
        kinds = " and ".join(f"{quoted(n)} is {columns.types[n].named}" for n in (lower, upper))
        raise QueryError(f"the bounds of time= are of two kinds: {kinds}", hint="cast one of them")
    return Imprecise(lower, upper, _pmf(columns, pmf), _least(min_confidence), _most(top))


def _pmf(columns: Columns, pmf: object) -> str | None:
    if pmf is None:
        return None
    if not isinstance(pmf, str):
        raise QueryError(f"pmf= names one column, not {pmf!r}", hint='write pmf="p", a column of lists')
    found = columns.type_of(pmf, "pmf column")
    if found.kind is Kind.NULL:
        return pmf
    if found.kind is not Kind.LIST or found.element is None or found.element.kind not in NUMBERS:
        raise QueryError(
            f"the pmf column {quoted(pmf)} is {found.named}",
            hint="it is a list of numbers: for each instant of the interval its probability",
        )
    return pmf


def _least(given: object) -> float:
    if given is None:
        return 0.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise QueryError(f"min_confidence={given!r} is no probability", hint="it is a number from 0 to 1")
    return float(given)


def _most(given: object) -> int | None:
    if given is None:
        return None
    if type(given) is not int or given < 1:
        raise QueryError(f"top={given!r} is no number of rows", hint="it is a whole number from 1 on")
    return given


def check_pattern(pattern: Pattern) -> None:
    """That imprecise times have a meaning for the pattern: a sequence of single events, by one of two strategies."""
    for c in pattern.components:
        if c.kleene or c.negated:
            what = "Kleene" if c.kleene else "negated"
            raise QueryError(
                f"with imprecise times every component is one event, and {quoted(c.var)} is {what}",
                span=c.span,
                hint="write a sequence of single events, or match on one column of precise times",
            )
    if pattern.strategy not in (Strategy.ANY, Strategy.NEXT):
        raise QueryError(
            f"{pattern.strategy.value} has no meaning for imprecise times, where no event is surely the next one",
            span=pattern.strategy_span,
            hint="use skip_till_next_match or skip_till_any_match",
        )
