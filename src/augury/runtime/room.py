"""How much a result may grow: a query can have more matches than any machine has memory for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from augury.errors import LimitError

if TYPE_CHECKING:
    import pyarrow as pa

SHARE = 0.5  # of the machine's memory: the rest is for the events and the work


def memory() -> int:
    """The machine's memory in bytes; a very large number where it cannot be told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 60


class Room:
    """Counts the bytes of result rows, and stops before they are more than the machine holds."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = int(memory() * SHARE) if limit is None else limit
        self.used = 0
        self.rows = 0

    def takes(self, made: pa.Table) -> None:
        """These rows are kept until the result is whole."""
        self.used += made.nbytes
        self.rows += made.num_rows
        if self.used > self.limit:
            raise LimitError(
                f"the first {self.rows} matches take {_gigabytes(self.used)}, and results may take "
                f"{_gigabytes(self.limit)}, half of this machine's memory; narrow WITHIN or the predicates, "
                'or ask for output="count" or "compressed", which list no matches'
            )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
