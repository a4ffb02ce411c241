"""Augury finds patterns in streams of events.

>>> import augury as ag
>>> query = ag.sase("PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours")
"""

from augury.errors import AuguryError, DataError, DataWarning, LimitError, QueryError
from augury.expr.functions import function
from augury.query import Query, expand, from_json, sase

__version__ = "0.1.0"

__all__ = [
    "AuguryError",
    "DataError",
    "DataWarning",
    "LimitError",
    "Query",
    "QueryError",
    "expand",
    "from_json",
    "function",
    "sase",
]
