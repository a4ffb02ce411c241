"""Whether data is a Spark DataFrame, told without loading Spark: who has one has loaded it."""

from __future__ import annotations

import sys
from typing import Any


def is_frame(data: Any) -> bool:
    """True of a DataFrame of Spark, in this process or behind Spark Connect."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and isinstance(data, spark.DataFrame)
