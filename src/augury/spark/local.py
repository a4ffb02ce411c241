"""A local Spark session for people without one at hand: quiet, on the loopback, sized to the machine."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from augury.errors import AuguryError
from augury.spark.java import find_java, home_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Warnings and errors of Spark go to a file: what concerns the caller comes as an exception.
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def session(
    *,
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
    tell: bool = True,
) -> SparkSession:
    """The active Spark session, or else a new local one. It says in one line on stderr which, unless `tell` is False.

    `cores` and `memory` (of the Java process, such as "4g") are the machine's cores and a quarter of its memory if
    they are left out. `config` has further settings of Spark; they win over the ones made here.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise AuguryError("there is no PySpark in this Python; install it: pip install 'augury[spark]'")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        say(f"using the Spark {active.version} session that is active", tell=tell)
        return active
    if "SPARK_REMOTE" in os.environ:
        remote = SparkSession.builder.getOrCreate()
        say(f"using Spark {remote.version} at SPARK_REMOTE", tell=tell)
        return remote
    return _started(cores or usable_cores(), memory or f"{_quarter_of_memory()}m", config or {}, tell=tell)


def _started(cores: int, memory: str, config: Mapping[str, str], *, tell: bool) -> SparkSession:
    from pyspark.sql import SparkSession

    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="augury-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {**settings_for(cores, memory, folder), **config}
    builder = SparkSession.builder.master(f"local[{cores}]").appName("augury")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with environment(JAVA_HOME=str(home_of(java, folder)), SPARK_LOCAL_IP="127.0.0.1"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # asked again whenever a function is sent
        spark = builder.getOrCreate()
    atexit.register(stop, spark)
    _quieten()
    say(
        f"started a local Spark {spark.version}: {cores} cores, {settings['spark.driver.memory']} of memory, "
        f"Java {java.version} of {java.origin}, log in {folder / 'spark.log'}",
        tell=tell,
    )
    return spark


def settings_for(cores: int, memory: str, folder: Path) -> dict[str, str]:
    """What a local session is told, besides where it runs."""
    return {
        "spark.driver.memory": memory,
        # Nothing listens to other machines, and nothing draws on the terminal.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": logging_in(folder),
        # What Spark writes by itself goes away with the process.
        "spark.local.dir": str(folder / "shuffle"),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.hadoop.hive.metastore.warehouse.dir": (folder / "warehouse").as_uri(),
        # 200 partitions are for a cluster; two for each core even out what keys weigh.
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # A timestamp is shown as the instant that it is, wherever the machine stands.
        "spark.sql.session.timeZone": "UTC",
        # The default store of state refuses what queries over streams need.
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }


def logging_in(folder: Path) -> str:
    """What makes Java log into the folder, and nowhere else."""
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOGGING.format(log=(folder / "spark.log").as_posix()), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={log4j.as_uri()}"


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quarter_of_memory() -> int:
    """A quarter of the memory that there is, in MB, and at least one GB: Python's processes need theirs beside it."""
    amounts = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        amounts.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            said = Path(limit).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if said.isdigit():
            amounts.append(int(said))
    return max(1024, min(amounts, default=8 << 30) // 4 >> 20)


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Variables that hold while Java starts, and are then as they were."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _quieten() -> None:
    """PySpark prints what it raises, too: pages of JSON. The exception says all of it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def stop(spark: SparkSession) -> None:
    """Before the session's folder goes."""
    if spark.getActiveSession() is not None:
        spark.stop()


def say(words: str, *, tell: bool) -> None:
    """One line, for who waits for Java."""
    if tell:
        print(f"augury: {words}", file=sys.stderr)  # noqa: T201  # it concerns a person, not a program
