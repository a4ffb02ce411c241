"""The passes in order, and what they make of a query: all that an evaluation knows before it meets events.

Placed ─ lower ─> automaton ─ split ─> guards ─ allocate ─> registers      the outline
Resolved: the same with types                                              the plan
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augury.automaton import Absent, Automaton, lower
from augury.engines.generated import Options, Source
from augury.plan.registers import Registers, allocate
from augury.plan.split import Split, split
from augury.resolve import Placed, Resolved

if TYPE_CHECKING:
    from augury.expr.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Outline:
    """What the passes make of a query, whether its types are known or not."""

    automaton: Automaton
    split: Split
    registers: Registers

    @property
    def is_exact(self) -> bool:
        """Whether every complete match is one: no absence is asked of it."""
        return not self.automaton.left_to(Absent.FILTERS)

    @property
    def can_count(self) -> bool:
        """Whether counting needs no enumeration: no test walks a history, no absence is asked of matches."""
        guards = (*self.split.guards, *self.split.leaves, self.split.accept)
        return not any(g.history for g in guards) and self.is_exact

    def selects(self, output: str, *, shares: bool = True) -> bool:
        """Whether the output's matches are chosen in the graph that they share, if they do."""
        return shares and self.is_exact and output in ("non_overlap", "longest", "compressed")

    def keeps_apart(self, output: str, *, shares: bool = True) -> bool:
        """Whether runs of different first events are not merged, because the output chooses for each."""
        bounded = bool(self.automaton.left_to(Absent.BOUNDS))
        chooses = output == "longest" or (output == "non_overlap" and bounded)
        return chooses and self.selects(output, shares=shares)


@dataclass(frozen=True, slots=True)
class Plan(Outline):
    """Everything about a query that does not depend on the events."""

    query: Resolved
    # The kernels that were written of it, each with what it reads besides events: by what of a kernel is chosen late.
    sources: dict[tuple[Any, ...], tuple[Source, Inputs]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def options(self, output: str, *, shares: bool = True, profile: bool = False) -> Options:
        """What of the kernel an output asks for."""
        bounded = bool(self.automaton.left_to(Absent.BOUNDS))
        counting = output == "count" and self.can_count
        clear = output == "non_overlap" and self.selects(output, shares=shares)
        apart = self.keeps_apart(output, shares=shares)
        return Options(
            self.query.window is not None,
            counting=counting,
            clear=clear,
            apart=apart,
            bounded=bounded and (counting or apart),
            profile=profile,
        )


def outline(query: Placed, *, merge: bool = True) -> Outline:
    """The passes, in order."""
    automaton = lower(query)
    parts = split(automaton)
    return Outline(automaton, parts, allocate(automaton, parts, merge=merge))


def plan(query: Resolved, *, merge: bool = True) -> Plan:
    """The plan of a query that has met its data's columns."""
    made = outline(query, merge=merge)
    return Plan(made.automaton, made.split, made.registers, query)
