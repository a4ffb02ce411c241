"""The words that a generated kernel and its host exchange: one small array of integers, by place."""

SEGMENT, EVENT, NODES, ROOTS, WHY, STOP, LIVE, EVALUATIONS, PEAK, MERGED, HEAD, TAIL = range(12)
STATES = (
    16  # from here on three words for each state: runs, and of a state with one run its node and newest start
)

FINISHED, PAUSED, NODES_FULL, ROOTS_FULL, RUNS_FULL, TOO_MANY_RUNS = range(6)


def size(states: int) -> int:
    return STATES + 3 * (states + 1)
