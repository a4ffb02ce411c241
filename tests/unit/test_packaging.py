"""What is locked agrees with itself and with pyproject.toml, and the wheel has all that the library reads."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted((ROOT / "locks").glob("*.lock"))


def pins(path):
    """The lines that pin something, with all that belongs to the requirement: name==version ; marker."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return {re.split(r"\s+--hash", line)[0].strip() for line in text.splitlines() if "==" in line}


def named(requirements):
    return {canonicalize_name(Requirement(each).name): Requirement(each) for each in requirements}


def groups(*names):
    return [each for name in names for each in PROJECT["dependency-groups"][name]]


EXTRAS = {n: wanted for n, wanted in PROJECT["project"]["optional-dependencies"].items() if n != "all"}
CORE = PROJECT["project"]["dependencies"] + groups("build")
WANTED = {
    "core.lock": CORE,
    "spark.lock": CORE + EXTRAS["spark"],
    "dev.lock": CORE + groups("dev") + [each for extra in EXTRAS.values() for each in extra],
}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_lock_has_what_pyproject_asks_for(path):
    locked = {Requirement(pin).name: Requirement(pin) for pin in pins(path)}
    for name, wanted in named(WANTED[path.name]).items():
        assert name in locked, f"run: sh dev lock ({name} is not in {path.name})"
        version = str(locked[name].specifier).removeprefix("==")
        assert wanted.specifier.contains(version), f"run: sh dev lock ({name} {version} is not {wanted})"


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_hashes_and_no_host(path):
    requirements = re.split(r"\n(?=[a-z0-9])", path.read_text(encoding="utf-8"))[1:]
    assert len(requirements) == len(pins(path))
    assert all("--hash=sha256:" in each for each in requirements)
    assert "://" not in path.read_text(encoding="utf-8")


def test_locks_are_parts_of_one_resolution():
    dev, spark, core = (pins(ROOT / "locks" / f"{name}.lock") for name in ("dev", "spark", "core"))
    assert core < spark < dev


def test_wheel_has_types_grammars_and_every_module(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("augury/")}
    source = ROOT / "src"
    assert packed == {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.suffix in {".py", ".lark", ".typed", ".html", ".css", ".js"}
    }
    assert "augury/py.typed" in packed
