"""Each engine that is wrong on purpose is caught, by the worked cases that it names and by random ones."""

from __future__ import annotations

import pytest

from conformance import corpus
from mutants.caught import caught_by_random_cases, is_caught
from mutants.engines import MUTANTS, Mutant

EACH = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
CASES = {case.name: case for case in corpus.load()}


@EACH
def test_a_wrong_engine_fails_the_worked_cases_that_are_about_it(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mutant.killers, f"{mutant.name} ({mutant.wrong}) survives the corpus: write a case that kills it"
    mutant.install(monkeypatch)
    alive = [name for name in mutant.killers if not is_caught(CASES[name])]
    assert not alive, f"{mutant.name} ({mutant.wrong}) passes {alive}"


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.random], ids=lambda mutant: mutant.name)
def test_random_cases_notice_a_wrong_engine(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.install(monkeypatch)
    assert caught_by_random_cases(400) is not None, f"{mutant.name} ({mutant.wrong}) passes random cases"


def test_the_right_engine_passes_what_the_wrong_ones_fail() -> None:
    named = {name for mutant in MUTANTS for name in mutant.killers}
    assert [name for name in sorted(named) if is_caught(CASES[name])] == []
    assert caught_by_random_cases(100) is None


def test_there_are_enough_wrong_engines_and_each_has_its_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) >= 40
    assert len(set(names)) == len(names)
