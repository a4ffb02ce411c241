"""Whether data is a Spark DataFrame, told without loading Spark: who has one has loaded it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def is_frame(data: Any) -> TypeGuard[DataFrame]:
    """True of a DataFrame of Spark, in this process or behind Spark Connect."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and isinstance(data, spark.DataFrame)
