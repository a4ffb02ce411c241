"""Spark = in process: the corpus and random cases, classic and behind Spark Connect."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import pytest

import augury as ag
from conformance import corpus
from conformance.queries import ANY, NEXT, STRICT, seeded_case
from spark.frames import Asked, as_spark_has_it, differences

OUTPUTS = ("all", "non_overlap", "longest", "count", "compressed")


def _corpus() -> dict[str, list[Asked]]:
    """The cases that have a result, by file: each asks for all matches and, in turn, for another output."""
    found: dict[str, list[Asked]] = defaultdict(list)
    for number, case in enumerate(corpus.load()):
        table = as_spark_has_it(corpus.events_of(case.events)[0])
        if case.error is not None or table is None:
            continue
        query = ag.sase(case.query, **case.params)
        outputs = ("all",) if case.is_uncertain else ("all", OUTPUTS[number % len(OUTPUTS)])
        for output in dict.fromkeys(outputs):
            arguments = {**case.match, "output": output}
            arguments["match_id"] = output not in ("count", "compressed")
            found[case.file].append(Asked(case.name, query, table, arguments))
    return found


def _random(seed: str, many: int, **wanted: Any) -> list[Asked]:
    asked = []
    for number in range(many):
        case = seeded_case(f"{seed}/{number}", **wanted)
        output = OUTPUTS[number % len(OUTPUTS)]
        arguments = {**case.arguments, "output": output, "match_id": output not in ("count", "compressed")}
        table = as_spark_has_it(case.table)
        if table is not None:
            asked.append(Asked(f"{seed}/{number}", ag.sase(case.text), table, arguments))
    assert len(asked) > many // 2
    return asked


CORPUS = _corpus()


def _agrees(session: Any, asked: list[Asked]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.DataWarning)  # of the definition, about rows without a time
        said = differences(session, asked)
    assert not said, "\n\n".join([f"{len(said)} of {len(asked)}", *said[:3]])


@pytest.mark.parametrize("file", CORPUS)
def test_the_corpus(spark: Any, file: str) -> None:
    _agrees(spark, CORPUS[file])


@pytest.mark.parametrize("part", range(4))
def test_random_cases(spark: Any, part: int) -> None:
    _agrees(spark, _random(f"spark/{part}", 50))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_random_cases_in_slices_of_time(spark: Any, adaptive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from augury.runtime import spark_batch, spark_layout

    lengths = []

    def counted(*arguments: Any) -> Any:
        layout = by_time(*arguments)
        lengths.append(layout.length)
        return layout

    by_time = spark_layout.by_time
    monkeypatch.setattr(spark_batch, "by_time", counted)
    monkeypatch.setattr(spark_layout, "SPAN", 3)  # most slices meet others
    asked = _random(f"slices/{adaptive}", 60, strategies=(ANY, NEXT, STRICT), partition=(), key=False)
    timed = [one for one in asked if one.query.pattern.within is not None]
    before = {
        name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
    }
    try:
        spark.conf.set("spark.sql.shuffle.partitions", "5")
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)  # puts tasks together
        _agrees(spark, timed)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert len(lengths) > 20


def test_a_sample_behind_connect(connect: Any) -> None:
    _agrees(connect, [asked for cases in CORPUS.values() for asked in cases[:4]])
    _agrees(connect, _random("connect", 20))
