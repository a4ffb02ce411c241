"""What there is to measure, each part by a name, in the order in which it is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from bench import automata, cayuga, experiments, kills, lazily, live, on_streams, runner, uncertain
from bench.growing import Record
from bench.on_spark import cases as on_spark_cases
from bench.on_spark import measure as on_spark_measure
from bench.peers import flink, here, spark
from bench.questions import questions
from bench.workloads import workloads

Part = tuple[str, Callable[[], Record | Iterable[Record]]]


def parts(*, quick: bool, only: list[str]) -> Iterator[Part]:
    """What there is to measure, each by a name: the engine, the paper's experiments, the peers."""

    def chosen(name: str) -> bool:
        return not only or any(word in name for word in only)

    for workload in workloads(quick=quick):
        if chosen(workload.name):
            yield workload.name, partial(runner.run, workload, quick=quick)
    for workload in live.workloads(quick=quick):
        if chosen(workload.name):
            yield workload.name, partial(runner.run, workload, quick=quick)
    for name, measured in (("live/state", live.state), ("live/memory", live.memory)):
        if chosen(name):
            yield name, partial(measured, quick=quick)
    for experiment in experiments.experiments(quick=quick):
        if chosen(experiment.name):
            yield experiment.name, partial(experiments.measure, experiment, quick=quick)
    for point in automata.experiments(quick=quick):
        if chosen(point.name):
            yield point.name, partial(automata.measure, point, quick=quick)
    for set_one in cayuga.experiments(quick=quick):
        if chosen(set_one.name):
            yield set_one.name, partial(cayuga.measure, set_one, quick=quick)
    for name, measured in cayuga.double_tops(quick=quick):
        if chosen(name):
            yield name, measured
    for uncertain_one in uncertain.experiments(quick=quick):
        if chosen(uncertain_one.name):
            yield uncertain_one.name, partial(uncertain.measure, uncertain_one, quick=quick)
    for lazy_one in lazily.experiments(quick=quick):
        if chosen(lazy_one.name):
            yield lazy_one.name, partial(lazily.measure, lazy_one, quick=quick)
    asked = list(questions(quick=quick))
    for question in asked:
        if chosen(f"peers/{question.name}/augury") or chosen(f"peers/{question.name}/numpy"):
            yield f"peers/{question.name}/augury", partial(here.measure, question, quick=quick)
    on_spark = [q for q in asked if q.spark and chosen(f"peers/{q.name}/spark")]
    if on_spark:
        yield "peers/*/spark", partial(spark.measure, on_spark, quick=quick)
    on_flink = [q for q in asked if q.flink and chosen(f"peers/{q.name}/flink")]
    if on_flink:
        yield "peers/*/flink", partial(flink.measure, on_flink, quick=quick)
    ours = [c for c in on_spark_cases() if chosen(f"spark/{c.name}")]
    if ours and not quick:  # a Spark of its own for each
        yield "spark/*", partial(on_spark_measure, ours)
    streams = [c for c in on_streams.cases() if chosen(c.name)]
    if streams and not quick:
        yield "stream/*", partial(on_streams.measure, streams)
    if chosen("stream/kills") and not quick:
        yield "stream/kills", partial(kills.killed, 50, rows=40_000, files=80)
