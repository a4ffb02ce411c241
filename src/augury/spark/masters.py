"""Spark where somebody else runs it: a cluster by its master's name, or a server of Spark Connect."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from augury.errors import AuguryError
from augury.spark.java import find_java, home_of
from augury.spark.local import environment, logging_in, say, session, stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
_MASTER = re.compile(r"local(?:\[.*\])?|local-cluster\[.*\]|yarn|(?:spark|k8s|sc)://.+")
_PORTS = {"sc": 15002, "sp": 7077}
KINDS = "local, local[4], spark://HOST:PORT, yarn, k8s://HOST:PORT or sc://HOST:PORT"


def is_master(name: str) -> bool:
    """Whether a word names a place where Spark runs.

    >>> is_master("local[2]"), is_master("sc://spark.test:15002"), is_master("theft.sase")
    (True, True, False)
    """
    return _MASTER.fullmatch(name) is not None


def is_far(spark: SparkSession) -> bool:
    """Whether Spark is a server's, behind Spark Connect, which does not see the files that are seen here."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def session_at(master: str | None = None, *, tell: bool = True) -> SparkSession:
    """A session of that master; without one, `ag.spark.session()` as it is."""
    everything = {
        "spark.driver.maxResultSize": "0"
    }  # a result is as large as it is; the machine is the limit
    if master is None:
        return session(config=everything, tell=tell)
    if found := _LOCAL.fullmatch(master):
        cores = 1 if found[1] is None else None if found[1] == "*" else int(found[1])
        return session(cores=cores, config=everything, tell=tell)
    if importlib.util.find_spec("pyspark") is None:
        raise AuguryError("there is no PySpark in this Python; install it: pip install 'augury[spark]'")
    _check_answers(master)
    spark = _remote(master) if master.startswith("sc://") else _cluster(master, everything)
    say(f"using Spark {spark.version} at {master}", tell=tell)
    return spark


def _check_answers(master: str) -> None:
    """Spark itself tries for minutes, in silence, before it says that nobody is there."""
    found = re.match(r"(?:spark|sc)://(.+?)(?:/|$)", master)
    if found is None or any(name.lower().endswith("_proxy") for name in os.environ):
        return
    said = ""
    for place in found[1].split(","):  # several masters stand in for each other
        host, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        try:
            socket.create_connection((host, int(port or _PORTS[master[:2]])), timeout=10).close()
        except (OSError, ValueError) as error:
            said = str(error)
        else:
            return
    raise AuguryError(f"nothing answers at {master}: {said}")


def _remote(url: str) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(url).getOrCreate()


def _cluster(master: str, config: dict[str, str]) -> SparkSession:
    """Java runs here, the tasks elsewhere: nothing is tied to this machine."""
    from pyspark.sql import SparkSession

    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="augury-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        **config,
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": logging_in(folder),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(master).appName("augury")
    for name, value in settings.items():
        builder = builder.config(name, value)
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with environment(JAVA_HOME=str(home_of(java, folder))):
        spark = builder.getOrCreate()
    atexit.register(stop, spark)
    return spark
