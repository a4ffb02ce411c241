"""Which cases catch each mutant: `python tests/mutants/survey.py [NAME ...]`. It takes some minutes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest

from conformance import corpus
from mutants.caught import caught_by_random_cases, is_caught
from mutants.engines import MUTANTS

if __name__ == "__main__":
    wanted = sys.argv[1:]
    for mutant in MUTANTS:
        if wanted and mutant.name not in wanted:
            continue
        with pytest.MonkeyPatch.context() as patch:
            mutant.install(patch)
            killers = [case.name for case in corpus.load() if is_caught(case)]
            tried = caught_by_random_cases(1500)
        lost = [name for name in mutant.killers if name not in killers]
        sys.stdout.write(
            f"{mutant.name}: {len(killers)} cases, random case {tried}{f', NOT {lost}' if lost else ''}\n"
        )
        sys.stdout.write("    " + " ".join(killers[:12]) + "\n")
        sys.stdout.flush()
