"""Measurements: workloads, a runner that times them, and JSON records of what it saw.

    workloads (data, call, what must be reached) ─ runner (best of several, one core) ─> records (JSON, table)

`python -m bench` runs all of them; see `__main__` for its options. A workload is of one *system*: `augury`,
or a peer that answers the same question over the same data.
"""
