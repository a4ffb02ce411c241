"""Every worked case of `tests/corpus`, by every plan."""

from __future__ import annotations

import pytest

from conformance import corpus
from conformance.plans import PLANS, STREAM, UNCERTAIN, Plan

ASKED = [
    pytest.param(plan, case, output, id=f"{plan.name}-{case.name}-{output}")
    for plan in (*PLANS, STREAM, *UNCERTAIN)
    for case, output in corpus.covered(plan)
]


@pytest.mark.parametrize(("plan", "case", "output"), ASKED)
def test_a_worked_case_has_its_result(plan: Plan, case: corpus.Worked, output: str) -> None:
    said = corpus.failure(case, plan, output)
    assert said is None, f"{case.file}, {case.name} ({case.shows})\n{case.query}\n{said}"


def test_the_corpus_is_large_and_every_case_says_what_it_shows() -> None:
    cases = corpus.load()
    assert len(cases) >= 120
    assert all(case.shows and case.shows[-1] == "." for case in cases)
