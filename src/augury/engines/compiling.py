"""Generated source to functions: run as plain Python, or compiled by Numba and kept in a cache.

The same source does both. Compiled modules are files named by their content, so that every process
that needs one finds it; a file is written under another name first and then renamed.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import linecache
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


def plain(
    source: str, function: str, names: Mapping[str, Any], *, title: str, words: Callable[[], Sequence[str]]
) -> Callable[..., Any]:
    """The function of a generated source, uncompiled.

    A traceback shows its title and, behind each line, the words that go with it; neither is part of what runs.
    """
    filename = f"<augury kernel {_digest(source + title)} of {title}>"
    linecache.cache[filename] = (len(source), None, _Lines(source, words), filename)  # type: ignore[assignment]
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102  # text that we generated, no part of it a user's
    return namespace[function]  # type: ignore[no-any-return]


class _Lines(Sequence[str]):
    """The lines of a source as a traceback shows them, put together when one is: few kernels ever fail."""

    def __init__(self, source: str, words: Callable[[], Sequence[str]]) -> None:
        self._source = source
        self._words = words

    @functools.cached_property
    def _shown(self) -> list[str]:
        pairs = zip(self._source.splitlines(), self._words(), strict=True)
        return [f"{line}  # {said}\n" if said else f"{line}\n" for line, said in pairs]

    def __len__(self) -> int:
        return len(self._shown)

    def __getitem__(self, place: Any) -> Any:
        return self._shown[place]


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a module of ours, compiled once in each process and cached on disk."""
    return _jitted(function)


def _jitted(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    import numba

    function = _linked(function)
    options.update(nogil=True, boundscheck=False)
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # of Numba: no folder that it knows can be written
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


def _linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with those of its own module that it calls compiled. Numba's cache watches the one file."""
    if not isinstance(function, FunctionType):
        return function
    known = function.__globals__
    called = {
        name: compiled(found)
        for name in function.__code__.co_names
        if isinstance(found := known.get(name), FunctionType) and found.__module__ == function.__module__
    }
    if not called:
        return function
    linked = FunctionType(function.__code__, {**known, **called}, function.__name__, function.__defaults__)
    linked.__qualname__ = function.__qualname__
    return linked


def cache_folder() -> Path:
    """Where compiled kernels are kept: AUGURY_CACHE, else the user's cache folder.

    Where that cannot be written it is a folder that goes with the process.
    """
    named = os.environ.get("AUGURY_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(named) if named else (Path(base) if base else Path("~/.cache").expanduser()) / "augury"
    return folder if _can_hold_files(folder) else _own_folder(folder)


@functools.cache
def _can_hold_files(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def _own_folder(wanted: Path) -> Path:
    """For this process alone: a folder of a known name that anyone may write must not hold code that is run."""
    warnings.warn(
        f"compiled kernels cannot be kept in {wanted}, so each process compiles them anew; "
        "set AUGURY_CACHE to a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )
    own = tempfile.mkdtemp(prefix="augury-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:20]


def module_of(source: str) -> ModuleType:
    """The generated source as a module on disk, where Numba can find its cache beside it."""
    name = f"augury_kernel_{_digest(source)}"
    folder = cache_folder()
    path = folder / f"{name}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as file:
            file.write(source)
        Path(file.name).replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Numba looks for it when it loads from its cache
    spec.loader.exec_module(module)
    return module


def compiled_source(source: str, function: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of a generated source, compiled; the functions that it calls are compiled with it."""
    return _compiled_source(source, function, tuple(sorted(names.items(), key=lambda item: item[0])))


@functools.lru_cache(maxsize=256)
def _compiled_source(source: str, function: str, names: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    module = module_of(source)
    for name, value in names:
        setattr(module, name, compiled(value))
    return _jitted(getattr(module, function))


def is_kept(source: str, function: str) -> bool:
    """Whether a function of a generated source lies compiled in the cache."""
    name = f"augury_kernel_{_digest(source)}"
    return any((cache_folder() / "__pycache__").glob(f"{name}.{function}-*.nbi"))


def compiled_module(
    source: str, functions: Mapping[str, bool], helpers: Mapping[str, Callable[..., Any]]
) -> ModuleType:
    """A source of several functions, all compiled; each calls only helpers and those before it.

    None of them makes arrays, and so none counts references to those that it is given: with tuples of many arrays that
    was 37 parts of 38 of a kernel's time. Those said to be true become part of their callers, for passing such tuples is
    not free either: without that an event took four times as long.
    """
    module = module_of(source)
    for name, value in helpers.items():
        setattr(module, name, compiled(value))
    for name, inline in functions.items():
        setattr(module, name, _jitted(getattr(module, name), forceinline=inline, _nrt=False))
    return module
