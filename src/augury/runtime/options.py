"""What a query is told besides its data: one set of arguments for every language, and which of them say something.

match, profile, explain, matcher ─ Options ─> the language says which it takes ─> Program
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Required, TypedDict

from augury.errors import QueryError
from augury.plan.choice import PLANS

MAX_RUNS = 1_000_000
OUTPUTS = ("all", "non_overlap", "longest", "count", "compressed")
BAD_ROWS = ("error", "drop")


class Unset:
    """An argument that was not given, where None says something."""

    def __repr__(self) -> str:
        return "0"


UNSET: Final = Unset()

# What an argument is for, as it is told to who gives it where it says nothing.
SPECIAL = {
    "order": 'plan="lazy-chain": the order in which the components are looked for',
    "events": "automata: whether their results list the events",
    "sequence": "automata: the column that numbers the events",
    "pmf": "intervals of time, time=(lower, upper): the probabilities of their instants",
    "min_confidence": "intervals of time, time=(lower, upper), whose matches have a confidence",
    "top": "intervals of time, time=(lower, upper), whose matches have a confidence",
}


class Arguments(TypedDict, total=False):
    """The arguments of `match`, as type checkers see them; what they are by default `Options` says."""

    time: Required[str | tuple[str, str]]
    type: str | None
    key: str | Sequence[str] | None
    tiebreak: str | Sequence[str] | None
    output: str
    plan: str
    match_id: bool
    max_runs: int | None
    bad_rows: str
    order: Sequence[str] | None
    events: bool
    sequence: str | None
    pmf: str | None
    min_confidence: float | None
    top: int | None
    speculate: int | str | dt.timedelta | Unset | None
    lateness: int | str | dt.timedelta | None
    on_late: Any
    control: Any


@dataclass(frozen=True, slots=True)
class Options:
    """What `match` was told besides the data."""

    time: str | tuple[str, str]
    type: str | None = None
    key: str | Sequence[str] | None = None
    tiebreak: str | Sequence[str] | None = None
    output: str = "all"
    plan: str = "auto"
    match_id: bool = False
    max_runs: int | None = MAX_RUNS  # None: as many as by default
    bad_rows: str = "error"
    order: Sequence[str] | None = None
    events: bool = False
    sequence: str | None = None
    pmf: str | None = None
    min_confidence: float | None = None
    top: int | None = None
    speculate: int | str | dt.timedelta | Unset | None = UNSET  # UNSET is 0, but a stream's rows have no `op`
    lateness: int | str | dt.timedelta | None = None
    on_late: Any = None  # of a matcher a function, of a stream "rows"
    control: Any = None  # of a stream: the DataFrame of its changes

    def __post_init__(self) -> None:
        for name, known in (("output", OUTPUTS), ("plan", PLANS), ("bad_rows", BAD_ROWS)):
            given = getattr(self, name)
            if given not in known:
                shown = ", ".join(f'"{k}"' for k in known)
                raise QueryError(f"{name}={given!r} is not known", hint=f"it is one of {shown}")
        if self.max_runs is None:
            object.__setattr__(self, "max_runs", MAX_RUNS)
        if type(self.max_runs) is not int or self.max_runs < 1:
            raise QueryError(
                f"max_runs={self.max_runs!r} is no number of runs",
                hint=f"it is a whole number from 1 on; {MAX_RUNS} if it is left out",
            )
        if self.match_id and self.output in ("count", "compressed"):
            raise QueryError(
                f'output="{self.output}" has no rows of single matches to give a match_id',
                hint='use output="all"; ag.expand(..., match_id=True) names the matches of compressed rows'
                if self.output == "compressed"
                else 'use output="all"',
            )

    @property
    def most_runs(self) -> int:
        """`max_runs` as a number."""
        return MAX_RUNS if self.max_runs is None else self.max_runs

    def of_a_table(self) -> None:
        """Check that nothing is asked that only streams and matchers can do."""
        for name in ("speculate", "on_late", "control"):
            given = getattr(self, name)
            if not (given is None or isinstance(given, Unset)) or (name == "speculate" and given is None):
                raise QueryError(
                    f"{name}= is for streams: of a table that is all there, every match is certain",
                    hint=f"leave {name} out",
                )

    @property
    def is_imprecise(self) -> bool:
        """Whether two columns bound the times."""
        return isinstance(self.time, list | tuple) and len(self.time) == 2

    @property
    def speculates(self) -> bool:
        """Whether something is asked for before it is certain."""
        return not (isinstance(self.speculate, Unset) or self.speculate in (0, dt.timedelta(0)))

    def takes(self, *names: str) -> None:
        """Check that of the arguments for special languages and plans only these are given."""
        for field in fields(self):
            if field.name in SPECIAL and field.name not in names:
                given = getattr(self, field.name)
                if given != field.default:
                    raise QueryError(
                        f"{field.name}={given!r} says nothing here", hint=f"it is for {SPECIAL[field.name]}"
                    )
