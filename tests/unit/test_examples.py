import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*command):
    done = subprocess.run(
        [sys.executable, "-W", "error", *map(str, command)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spark
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_says_something(path):
    assert run(path).strip()


@pytest.mark.parametrize("where", [pytest.param([], marks=pytest.mark.spark), ["--no-spark"]])
def test_shoplifting_finds_every_theft(where):
    shown = run(ROOT / "examples/shoplifting.py", "--rows", 300, "--theft", 1, *where)
    assert "300 readings, 60 matches" in shown
    assert "and 50 more" in shown


def test_shoplifting_without_thefts():
    assert "300 readings, 0 matches" in run(
        ROOT / "examples/shoplifting.py", "--rows", 300, "--theft", 0, "--no-spark"
    )
