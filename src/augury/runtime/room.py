"""How much a result may grow: a query can have more matches than any machine has memory for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from augury.errors import LimitError

if TYPE_CHECKING:
    import pyarrow as pa

    from augury.match.rows import Matches

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

    def takes(self, made: pa.Table, *, listed: bool = True) -> None:
        """These rows are kept until the result is whole; `listed`: each is a match."""
        self.used += made.nbytes
        self.rows += made.num_rows
        self._check(self.used, self.rows, listed=listed)

    def holding(self, pieces: Iterable[Matches]) -> list[Matches]:
        """Matches that are kept until the last of them is known; their room is free when rows have been made."""
        held: list[Matches] = []
        used, matches = self.used, self.rows
        for piece in pieces:
            held.append(piece)
            used += 2 * piece.nbytes  # they will be joined
            matches += len(piece)
            self._check(used, matches, listed=True)
        return held

    def _check(self, used: int, rows: int, *, listed: bool) -> None:
        if used > self.limit:
            instead = 'or ask for output="count"' + (' or "compressed"' if listed else "")
            raise LimitError(
                f"the first {rows} {'matches' if listed else 'rows'} take {_gigabytes(used)}, and results may take "
                f"{_gigabytes(self.limit)}, half of this machine's memory; narrow WITHIN or the predicates, "
                f"{instead}, which list{'' if listed else 's'} no matches"
            )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
