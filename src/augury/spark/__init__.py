"""`ag.spark`: what only users of Spark need. Importing it loads no PySpark.

    session()       a quiet local session, or the one that is there

`query.match(df, ...)` needs nothing of this: it takes a DataFrame of any session.
"""

from augury.spark.local import session

__all__ = ["session"]
