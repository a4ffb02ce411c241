"""The points of the automata paper's figures can be measured, and say what they are there to say."""

from __future__ import annotations

import pytest

from bench import automata


@pytest.mark.parametrize("point", list(automata.experiments(quick=True)), ids=lambda e: e.name)
def test_a_point_is_measured(point, monkeypatch):
    monkeypatch.setattr(automata, "CALL", 1000)
    rows = automata.ticks(3000)
    monkeypatch.setattr(automata, "ticks", lambda _rows, *told, **more: rows)
    record = automata.measure(point, quick=True)
    assert record["workload"] == point.name
    assert record["outputs"] > 0
