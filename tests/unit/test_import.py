import subprocess
import sys

HEAVY = ["lark", "numba", "pandas", "pyspark"]


def test_import_loads_nothing_heavy():
    code = f"import sys, augury; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
