"""Random cases until the time is up: `python tests/conformance/soak.py --seconds 60 --plan definition`.

The plan is compared with the oracle, and a plan other than the definition with the definition too. The
first case that differs is made minimal and printed; the exit code is then 1. The same `--seed` gives the
same cases.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.judge import against_definition, against_oracle, minimal
from conformance.plans import DEFINITION, Plan, plan_named
from conformance.queries import Case, seeded_case


def verdict(plan: Plan, case: Case) -> str | None:
    """How the plan is wrong about a case, or None. An exception is wrong too."""
    try:
        said = against_oracle(plan, case)
        if said is None and plan is not DEFINITION:
            said = against_definition(plan, case)
    except Exception:  # noqa: BLE001  # whatever it is, the case that raises it is wanted
        return traceback.format_exc(limit=-3)
    return said


def smallest(plan: Plan, case: Case, said: str) -> Case:
    def fails_alike(smaller: Case) -> bool:
        now = verdict(plan, smaller)
        return now is not None and _kind(now) == _kind(said)

    return minimal(case, fails_alike)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--plan", default="definition")
    parser.add_argument("--seed", default="0", help="the first case is number 0 of this seed")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    told = parser.parse_args()
    plan = plan_named(told.plan)
    started = time.monotonic()
    tried = 0
    while time.monotonic() - started < told.seconds:
        number = told.start + tried
        case = seeded_case(f"{told.seed}/{number}")
        said = verdict(plan, case)
        if said is not None:
            small = smallest(plan, case, said)
            sys.stdout.write(
                f"case {told.seed}/{number} after {tried} cases\n\n{small}\n\n{verdict(plan, small)}\n"
            )
            return 1
        tried += 1
    sys.stdout.write(f"{tried} cases of seed {told.seed}, from {told.start}: {plan.name} agrees\n")
    return 0


def _kind(said: str) -> str:
    """What must stay the same while a case gets smaller: the exception, or that rows differ."""
    return said.strip().splitlines()[-1].split(":")[0] if said.startswith("Traceback") else "rows"


if __name__ == "__main__":
    sys.exit(main())
