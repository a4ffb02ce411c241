"""Which of Spark's tasks gets which rows, so that each can match what it gets by itself.

    by partition     a hash of the key names the task, and in it a group of keys
    by time          nothing to partition by: time is cut into slices of some windows' length, a hash of the slice's number
                     names its task, and a row goes also where the slice before or behind its own may need it
    in one task      nothing to partition by and no way to cut

All is told by a row itself and by what every task knows, so nobody looks at the data before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.runtime.slices import Cutting

Ints = npt.NDArray[np.int64]

GROUPS = 128  # of keys in a task: what is let go together is some hundredth of it
CODES = 1 << 16  # tasks times groups: NumPy sorts numbers of 16 bits by counting
SPAN = 8  # of a slice of time, in lengths of what is needed around it: so many rows are there twice as one in eight
LONGEST = 1 << 61  # of a slice, in instants: sums with a time stay within 64 bits
GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Layout:
    """The task and the group of each row."""

    tasks: int = 1
    groups: int = 1
    length: int = 0  # of a slice of time, in instants; 0 where rows go by a hash of their key, or to one task
    before: int = 0  # what the matches of a slice need in front of it, …
    after: int = 0  # … and behind

    def dealt(self, times: Ints, hashes: Ints | None) -> tuple[Ints | None, Ints]:
        """Rows in order of task, group and time, and where each group ends; None for rows as they are.

        A row may be there twice.
        """
        rows = None if bool((times[1:] >= times[:-1]).all()) else np.argsort(times)
        if self.length:
            rows, codes = self._by_time(times, rows)
        elif hashes is not None:
            codes = self._by_key(hashes if rows is None else hashes[rows])
        else:
            return rows, np.array([len(times)])
        order = np.argsort(codes, kind="stable")  # what is in order of time stays so
        ends = np.cumsum(np.bincount(codes, minlength=self.tasks * self.groups))
        return order if rows is None else rows[order], ends

    def owner(self, times: Ints) -> Ints:
        """The task that reports what is at these times."""
        return self._task(times // self.length)

    def _by_key(self, hashes: Ints) -> npt.NDArray[np.unsignedinteger[Any]]:
        words = hashes.view(np.uint64)
        tasks = (words >> np.uint64(32)) * np.uint64(self.tasks) >> np.uint64(32)
        codes = tasks * np.uint64(self.groups) + words % np.uint64(self.groups)
        return codes.astype(np.uint16 if self.tasks * self.groups <= CODES else np.uint32)

    def _by_time(self, times: Ints, rows: Ints | None) -> tuple[Ints, npt.NDArray[np.unsignedinteger[Any]]]:
        """Each row for its own slice, and again where the slice beside it may need it and is another task's."""
        if rows is not None:
            times = times[rows]
        slices = times // self.length
        earlier = (times - self.after) // self.length
        # A slice is longer than both reaches together: only one of its neighbours can need a row.
        beside = np.where(earlier < slices, earlier, (times + self.before) // self.length)
        own, other = self._task(slices), self._task(beside)
        twice = own != other
        copies = np.repeat(np.arange(len(times)), 1 + twice)
        codes = own[copies]
        codes[np.flatnonzero(copies[1:] == copies[:-1]) + 1] = other[twice]
        narrow = np.uint16 if self.tasks <= CODES else np.uint32
        return copies if rows is None else rows[copies], codes.astype(narrow)

    def _task(self, slices: Ints) -> Ints:
        mixed = slices.view(np.uint64) * np.uint64(GOLDEN) >> np.uint64(32)
        return (mixed * np.uint64(self.tasks) >> np.uint64(32)).view(np.int64)


def by_partition(tasks: int) -> Layout:
    """The rows of a partition in one task."""
    return Layout(tasks, max(1, min(GROUPS, CODES // tasks)))


def by_time(tasks: int, cutting: Cutting) -> Layout | None:
    """Slices of time over tasks; None where they would be longer than time is."""
    length = SPAN * (cutting.before + cutting.after)
    return Layout(tasks, 1, length, cutting.before, cutting.after) if length <= LONGEST else None
