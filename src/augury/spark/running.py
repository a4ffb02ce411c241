"""What a person sees of a job on Spark while it runs, and when it fails: tasks that are done, and one line."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError, DataError, LimitError, QueryError, one_line
from augury.spark.masters import is_far

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PULSE = 0.2  # seconds between two looks at the tasks


@contextmanager
def tasks_told(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """What the block computes on Spark tells how many of how many tasks are done.

    Of stages that have not begun the tasks are not known yet, so the second number may grow.
    """
    if is_far(spark):

        def progress(stages: Any, *_: Any, **__: Any) -> None:
            counts = [(s.num_completed_tasks, s.num_tasks) for s in stages or ()]
            tell(sum(done for done, _ in counts), sum(total for _, total in counts))

        handler: Any = progress  # its declared type is a class to inherit from; what is called is a callable
        spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.removeProgressHandler(handler)
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, tell, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(5)  # where Java has died a look at it may hang


def _watch(spark: SparkSession, tell: Callable[[int, int], None], over: threading.Event) -> None:
    from py4j.protocol import Py4JError

    stages: dict[int, tuple[int, int]] = {}
    try:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(_PULSE):
            active = set(tracker.getActiveStageIds())
            for number in active:
                info = tracker.getStageInfo(number)
                if info is not None:
                    stages[number] = (info.numCompletedTasks, info.numTasks)
            for number in stages.keys() - active:
                stages[number] = (stages[number][1], stages[number][1])
            if stages:
                tell(sum(done for done, _ in stages.values()), sum(total for _, total in stages.values()))
    except (Py4JError, OSError):  # Java is gone; what it did tells why, and the main thread hears it
        return


@contextmanager
def in_words() -> Iterator[None]:
    """Spark's exceptions leave the block as errors of the library: one line, and no trace of Java."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if "SPARK_JOB_CANCELLED" in str(error):  # so Spark answers Ctrl-C
            raise KeyboardInterrupt from None
        raise error_of(str(error)) from None


_OURS = re.compile(r"^augury\.errors\.(\w+): (.*)$", re.MULTILINE)
_CLASSES = {kind.__name__: kind for kind in (DataError, LimitError, QueryError)}
_PYTHON = re.compile(r"^(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)
_JAVA = re.compile(r"^(?:Caused by: |: )?(?:[a-z_$][\w$]*\.)+\w+(?:Exception|Error)\w*: ", re.MULTILINE)
_REMEDIES = (
    (
        "No module named 'augury'",
        "the Python of Spark's workers has no augury: install it there, or name another by PYSPARK_PYTHON",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another version of Python than this one; PYSPARK_PYTHON says which they run",
    ),
    (
        "Python worker exited unexpectedly",
        "a Python worker of Spark ended without a word, as by lack of memory; narrow WITHIN, or give it a --key",
    ),
    ("java.lang.OutOfMemoryError", "Spark's Java has too little memory for this"),
    ("MemoryError", "a task on Spark had not enough memory; narrow WITHIN, or give it a --key"),
    (
        "All masters are unresponsive",
        "the master of Spark does not answer; is it there, and of this version?",
    ),
    ("UNAVAILABLE", "the server of Spark Connect does not answer; is it there?"),
    ("JAVA_GATEWAY_EXITED", "Java ended while it started Spark"),
)


def error_of(text: str) -> AuguryError:
    """The error that Spark's words are about.

    >>> error_of('''Traceback (most recent call last):
    ...   File "worker.py", line 1, in main
    ... augury.errors.DataError: 2 rows have no time in the column ts''')
    DataError('2 rows have no time in the column ts')
    """
    if found := _OURS.findall(text):
        name, said = found[-1]
        return _CLASSES.get(name, AuguryError)(said)
    for sign, said in _REMEDIES:
        if sign in text:
            return AuguryError(said)
    if "Traceback (most recent call last)" in text and (lines := _PYTHON.findall(text)):
        return AuguryError(f"a task on Spark failed: {one_line(lines[-1])}")
    causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
    lines = causes or [line for line in text.splitlines() if line.strip(" :")]
    said = _JAVA.sub("", lines[-1] if causes else " ".join(lines[:1])) if lines else "no reason was given"
    return AuguryError(f"Spark failed: {one_line(said)}")
