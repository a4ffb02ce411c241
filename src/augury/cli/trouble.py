"""What can go wrong at a prompt: each kind has its exit code, and none shows a traceback.

Only what nobody foresaw, a fault of the library, leaves as Python's own traceback.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import typer

from augury.errors import AuguryError, DataError, QueryError, one_line

FAILURE, USAGE, QUERY, DATA, INTERRUPTED = 1, 2, 3, 4, 130

P = ParamSpec("P")
R = TypeVar("R")


class UsageError(AuguryError):
    """The words of the command line do not fit together."""


class FailureError(AuguryError):
    """The work could not be done, for no fault of the query or the data."""


def told(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors are told to a person, and that ends with their exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _telling():
            return command(*args, **kwargs)

    return run


def run(program: Callable[[], object]) -> int | str | None:
    """The program's exit code; what it has printed is written, or it is told why not."""
    code: int | str | None = 0
    try:
        try:
            program()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # help, too, may meet a full disk
        _let_go_of_stdout()
        if not code:
            say(of_the_system(error))
            return FAILURE
    return code


@contextmanager
def _telling() -> Iterator[None]:
    try:
        with _ends_on_request():
            yield
    except BrokenPipeError:
        # Who read our output has seen enough, as `head` has: no fault of anyone's.
        _let_go_of_stdout()
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except UsageError as error:
        say(str(error))
        raise typer.Exit(USAGE) from None
    except QueryError as error:
        _say_query_error(error)
        raise typer.Exit(QUERY) from None
    except DataError as error:
        say(in_options(str(error)))
        raise typer.Exit(DATA) from None
    except AuguryError as error:
        say(in_options(str(error)))
        raise typer.Exit(FAILURE) from None
    except MemoryError:
        say("there is not enough memory; read fewer columns or rows, or narrow WITHIN")
        raise typer.Exit(FAILURE) from None
    except OSError as error:
        say(of_the_system(error))
        raise typer.Exit(FAILURE) from None


@contextmanager
def _ends_on_request() -> Iterator[None]:
    """Ctrl-C and a polite request to end (SIGTERM) both clean up."""
    asked = False

    def interrupt(*_: object) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    try:
        with _answering(interrupt):
            yield
    finally:
        if asked:  # an import that it met in the middle may have turned it into another error, or into none
            raise KeyboardInterrupt


@contextmanager
def ends_later(because: str) -> Iterator[None]:
    """A request to end waits for the end of the block, which would leave something behind; a second one does not."""
    asked = False

    def wait(*_: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        note(because)

    try:
        with _answering(wait):
            yield
    finally:
        if asked:
            raise KeyboardInterrupt


@contextmanager
def _answering(answer: Callable[..., None]) -> Iterator[None]:
    """Requests to end get this answer; who started us with one ignored keeps it so."""
    before = {}
    if threading.current_thread() is threading.main_thread():  # elsewhere Python takes no signals
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, answer)
    try:
        yield
    finally:
        for number, known in before.items():
            if signal.getsignal(number) is answer:  # Spark puts an answer of its own there
                signal.signal(number, known)


def _let_go_of_stdout() -> None:
    """Python would flush at its end, and complain of the same again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout that is no file has nothing to flush to
        return


def of_the_system(error: OSError) -> str:
    """An error of the operating system in one line: the file, and what the system says of it."""
    what = os.strerror(error.errno) if error.errno else str(error).partition("\n")[0]
    what = what[:1].lower() + what[1:]
    return f"{error.filename}: {what}" if error.filename else what


def say(message: str) -> None:
    """An error on the terminal, `augury:` in red before it."""
    from rich.text import Text

    from augury.cli.screen import stderr

    stderr().print(Text.assemble(("augury: ", "bold red"), message), soft_wrap=True)


def note(message: str) -> None:
    """Something worth knowing that is no error."""
    from rich.text import Text

    from augury.cli.screen import stderr

    stderr().print(Text(one_line(message), "dim"), soft_wrap=True)


def _say_query_error(error: QueryError) -> None:
    """The error as the library words it: its line, the query's line, a caret, a hint."""
    from rich.text import Text

    from augury.cli.screen import stderr

    first, *rest = str(error).split("\n")
    shown = Text.assemble(("augury: ", "bold red"), (in_options(first), "bold"))
    for line in rest:
        if line.startswith("hint: "):
            shown.append("\nhint: ", "cyan")
            shown.append(in_options(line.removeprefix("hint: ")))
        elif line.strip() and not line.strip().strip("^"):
            shown.append("\n" + line, "bold red")
        else:
            shown.append("\n" + line)
    for more in getattr(error, "__notes__", ()):
        shown.append(f"\n{one_line(more)}", "dim")
    stderr().print(shown, soft_wrap=True)


_ARGUMENT = re.compile(
    r"\b(time|type|key|tiebreak|output|plan|match_id|max_runs|bad_rows)=(?:[\"']([\w-]+)[\"']|(\d+))?(?![\w\"'(\[])"
)


def in_options(text: str) -> str:
    """What the library says of its arguments (`bad_rows="drop"`), in options (`--bad-rows drop`)."""

    def option(found: re.Match[str]) -> str:
        name = "--" + found[1].replace("_", "-")
        return " ".join(filter(None, (name, found[2], found[3])))

    text = re.sub(r"ag\.sase\(text, (?:\*\*\{')?(\w+)(?:=|': )…\}?\)", r"--param \1=…", text)
    text = _ARGUMENT.sub(option, text).replace("match() was not told", "the command was not told")
    text = text.replace("pass it: ag.expand(table, query)", "name it: --query FILE")
    return text.replace("raise max_runs", "raise --max-runs")
