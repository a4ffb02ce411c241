"""How hard Hypothesis tries: HYPOTHESIS_PROFILE=ci (the default), dev or long; and one Spark for all tests.

Spark takes ten seconds to start, so all tests that need it run in one process, which `--dist loadgroup` sees to.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import augury as ag

# The machines that run `ci` differ in speed and share their cores: a deadline or a "too slow" would fail
# at random, so would fresh random examples. print_blob makes a failure elsewhere repeatable here.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples in each run, for whoever works on the code; failures are kept in .hypothesis/.
settings.register_profile("dev", deadline=None)
# To be left alone for an hour.
settings.register_profile(
    "long",
    deadline=None,
    print_blob=True,
    max_examples=10_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or "/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def port() -> int:
    """Where Spark Connect listens."""
    return _free_port()


@pytest.fixture(scope="session")
def spark(port: int) -> Iterator[Any]:
    """A session as users get one, with these settings of its own."""

    config = {
        "spark.sql.shuffle.partitions": "2",  # several tasks, so that a wrong cut shows, and no more than that
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",  # it plans each of many small queries twice
        "spark.sql.session.timeZone": "Asia/Kathmandu",  # a zone that shifts what forgets to be UTC
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3",  # partitions that span batches
        # Connect, in the same Java: a second session costs nothing.
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    session = ag.spark.session(cores=2, memory="2g", config=config)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(spark: Any, port: int) -> Iterator[Any]:
    """The same Spark through Spark Connect."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()
