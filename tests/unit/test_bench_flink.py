"""Flink CEP finds what Augury finds, event by event, where the semantics coincide. Skipped where Flink is not."""

import numpy as np
import pyarrow as pa
import pytest

import augury as ag
from bench.peers import flink
from bench.questions import questions

ROWS = {"clicks": 600, "v": 1500, "abc": 120}
pytestmark = pytest.mark.slow
NAMES = [q.name for q in questions(quick=False)]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """By question the stream, and the numbers of each match's events, as Flink found them."""
    folder = tmp_path_factory.mktemp("flink")
    told = {}
    try:
        for question in questions(quick=False):
            few = {"symbols": 20} if question.name == "v" else {}  # so that each symbol has many ticks
            told[question.name] = (question, question.stream(ROWS.get(question.name, 3000), **few))
        files = {name: folder / str(k) for k, name in enumerate(told)}
        runs = flink.ask([(q, t, files[q.name]) for q, t in told.values()], 1000.0)
    except flink.Absent as absent:
        pytest.skip(str(absent))
    assert runs.keys() == told.keys()
    return {
        name: (q, t, sorted(tuple(map(int, line.split())) for line in files[name].read_text().splitlines()))
        for name, (q, t) in told.items()
    }


def by_us(question, table):
    numbered = table.append_column("number", pa.array(np.arange(table.num_rows)))
    matches = ag.sase(question.counted or question.text).match(numbered, output="all", **question.roles)
    rows = matches.drop_columns(
        [n for n in ("match_start", "match_end", question.key) if n in matches.column_names]
    )
    return sorted(
        tuple(e["number"] for bound in row.values() for e in (bound if isinstance(bound, list) else [bound]))
        for row in rows.to_pylist()
    )


@pytest.mark.parametrize("name", NAMES)
def test_flink_finds_what_we_find(found, name):
    question, table, theirs = found[name]
    ours = by_us(question, table)
    assert len(ours) > 0
    if question.flink_differs is None:
        assert theirs == ours
    else:  # each b with all of a[] before it, against each beginning of a[] with the next b after it
        first = {}
        for match in ours:
            first[match[:-1]] = min(match, first.get(match[:-1], match))
        assert set(first.values()) <= set(theirs)
        beginnings = {match[:k] for match in ours for k in range(1, len(match))}
        assert {match[:-1] for match in theirs} <= beginnings
        assert len(set(theirs)) == len({match[:-1] for match in theirs})
