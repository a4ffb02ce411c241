"""The words that a generated kernel and its host exchange: one small array of integers, by place."""

SEGMENT, EVENT, NODES, ROOTS, WHY, STOP, LIVE, EVALUATIONS, PEAK, MERGED, HEAD, TAIL, USED, NEED = range(14)
BEGUN, STEPS, SINCE = range(14, 17)
STATES = (
    17  # from here on three words for each state: runs, and of a state with one run its node and newest start
)

FINISHED, PAUSED, NODES_FULL, ROOTS_FULL, RUNS_FULL, TOO_MANY_RUNS, TOO_LARGE = range(7)

NARROW = 1 << 61  # the largest count in one word: two of them can still be added


def size(states: int) -> int:
    return STATES + 3 * (states + 1)
