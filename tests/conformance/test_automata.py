"""Every worked case of automata, by every plan, as a table and as a stream that comes out of order."""

from __future__ import annotations

import pytest

from conformance import automata


@pytest.mark.parametrize("way", automata.WAYS)
@pytest.mark.parametrize("case", automata.load(), ids=lambda case: case.name)
def test_a_worked_case_has_its_result(case: automata.Worked, way: str) -> None:
    said = automata.failure(case, automata.WAYS[way])
    assert said is None, f"{case.file}, {case.name} ({case.shows})\n{said}"
