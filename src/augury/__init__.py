"""Augury finds patterns in streams of events.

>>> import augury as ag
>>> query = ag.sase("PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augury import spark
    from augury.afa_query import Automaton
    from augury.cesar import Expression, stream
    from augury.errors import AuguryError, DataError, DataWarning, LimitError, QueryError
    from augury.expr.functions import function
    from augury.history import with_history
    from augury.lang.tracing import fn
    from augury.pictures import Picture, plot_matches, plot_strategies
    from augury.query import Query, expand, from_json, point_matches, sase
    from augury.query_set import QuerySet

__version__ = "0.1.0"

__all__ = [
    "AuguryError",
    "Automaton",
    "DataError",
    "DataWarning",
    "Expression",
    "LimitError",
    "Picture",
    "Query",
    "QueryError",
    "QuerySet",
    "expand",
    "fn",
    "from_json",
    "function",
    "plot_matches",
    "plot_strategies",
    "point_matches",
    "sase",
    "spark",
    "stream",
    "with_history",
]

# Where the names live. They are imported when they are first asked for: NumPy and Arrow take longer to load than
# the command line may take to show its help. A name that is its own home is a module.
_HOMES = {
    **dict.fromkeys(("AuguryError", "DataError", "DataWarning", "LimitError", "QueryError"), "augury.errors"),
    **dict.fromkeys(("Picture", "plot_matches", "plot_strategies"), "augury.pictures"),
    **dict.fromkeys(("Query", "expand", "from_json", "point_matches", "sase"), "augury.query"),
    **dict.fromkeys(("Expression", "stream"), "augury.cesar"),
    "QuerySet": "augury.query_set",
    "function": "augury.expr.functions",
    "Automaton": "augury.afa_query",
    "fn": "augury.lang.tracing",
    "with_history": "augury.history",
    "spark": "augury.spark",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'augury' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    found = home if _HOMES[name] == f"augury.{name}" else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
