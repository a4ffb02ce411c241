"""`augury bench`: the benchmarks, which lie beside the package in a checkout and nowhere else."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import augury as ag
from augury.cli.trouble import UsageError


def run(arguments: Sequence[str]) -> None:
    """Hand the words over to `python -m bench`."""
    root = checkout()
    if not (root / "bench" / "__main__.py").is_file():
        raise UsageError(
            "the benchmarks are not part of the installed package: in a checkout of Augury run "
            "'sh dev setup', and then '.venv/bin/augury bench'"
        )
    sys.path.insert(0, str(root))
    sys.argv = ["augury bench", *arguments]
    runpy.run_module("bench", run_name="__main__", alter_sys=True)


def checkout() -> Path:
    """The folder that holds `src/augury`, if this is one."""
    assert ag.__file__ is not None
    return Path(ag.__file__).resolve().parents[2]
