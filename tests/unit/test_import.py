import subprocess
import sys

import pytest

import augury as ag

HEAVY = ["lark", "numba", "pandas", "pyspark"]


def test_import_loads_nothing_heavy():
    code = f"import sys, augury; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there():
    assert set(ag.__all__) <= set(dir(ag))
    assert all(getattr(ag, name) is not None for name in ag.__all__)
    with pytest.raises(AttributeError, match="no attribute 'saze'"):
        _ = ag.saze
