"""Whether what is installed now is told apart from the definition."""

from __future__ import annotations

import functools

import augury as ag
from conformance import corpus, oracle
from conformance.compare import difference, rows_of
from conformance.judge import OUTPUTS, answer
from conformance.plans import DEFINITION
from conformance.queries import Case, seeded_case


def is_caught(case: corpus.Worked) -> bool:
    """Whether a worked case fails. An engine that crashes is caught too."""
    for output in case.outputs:
        try:
            said = corpus.failure(case, DEFINITION, output)
        except Exception:  # noqa: BLE001
            return True
        if said is not None:
            return True
    return False


@functools.cache
def random_case(number: int) -> tuple[Case, dict[str, list[object]]]:
    """A case and what the oracle says of it, which no mutant changes."""
    case = seeded_case(f"mutants/{number}")
    found = oracle.matches(case)
    return case, {output: list(oracle.rows(case, output, found)) for output in OUTPUTS}


def caught_by_random_cases(most: int) -> int | None:
    """The number of the first random case that differs from the oracle, or None."""
    for number in range(most):
        case, wanted = random_case(number)
        for output in OUTPUTS if wanted["all"] or number % 4 == 0 else ("all",):
            try:
                said = difference(wanted[output], rows_of(answer(DEFINITION, case, output)))
                if said is None and output == "all":
                    said = difference(
                        wanted[output], rows_of(ag.expand(answer(DEFINITION, case, "compressed")))
                    )
            except Exception:  # noqa: BLE001
                return number
            if said is not None:
                return number
    return None
