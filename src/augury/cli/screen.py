"""What a person sees: tables, and how far long work has come. Nothing moves where nobody looks."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from augury.errors import one_line

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.progress import Progress

_PATIENCE = 0.4  # seconds before a meter shows: what is quick needs none
_LISTED = 4  # events of a list that a cell shows


def stdout() -> Console:
    """Where a person reads; a sign that its encoding has not is spelled out."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # Rich would end the process here, as if it had failed

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return Screen(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())


def stderr() -> Console:
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False)


class Meter:
    """How far a piece of work has come, with its rate and the time that remains; drawn on stderr."""

    def __init__(
        self, title: str, total: int | None, columns: Callable[[], list[Any]], *, quiet: bool
    ) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self._columns = columns
        self._shown: Progress | None = None
        self._timer = threading.Timer(_PATIENCE, self._show) if not quiet and sys.stderr.isatty() else None

    @classmethod
    def of_bytes(cls, title: str, total: int | None, *, quiet: bool = False) -> Meter:
        """A meter of a file that is read."""

        def columns() -> list[Any]:
            from rich.progress import DownloadColumn, TransferSpeedColumn

            return [DownloadColumn(), TransferSpeedColumn()]

        return cls(title, total, columns, quiet=quiet)

    @classmethod
    def of_rows(cls, title: str, total: int | None, *, quiet: bool = False) -> Meter:
        """A meter of rows, with their rate."""

        def columns() -> list[Any]:
            from rich.progress import ProgressColumn, Task
            from rich.text import Text

            class Rows(ProgressColumn):
                def render(self, task: Task) -> Text:
                    if not task.completed:
                        return Text()
                    of = "" if task.total is None else f" of {task.total:,.0f}"
                    speed = task.finished_speed or task.speed or (task.completed / (task.elapsed or 1))
                    return Text(
                        f"{task.completed:,.0f}{of} rows, {speed:,.0f}/s", style="progress.data.speed"
                    )

            return [Rows()]

        return cls(title, total, columns, quiet=quiet)

    @classmethod
    def of_tasks(cls, title: str, total: int | None = 0, *, quiet: bool = False) -> Meter:
        """A meter of tasks on Spark; how many there are is told with `at`, if ever."""

        def columns() -> list[Any]:
            from rich.progress import ProgressColumn, Task
            from rich.text import Text

            class Tasks(ProgressColumn):
                def render(self, task: Task) -> Text:
                    if not task.total:
                        return Text()
                    return Text(
                        f"{task.completed:,.0f} of {task.total:,.0f} tasks", style="progress.data.speed"
                    )

            return [Tasks()]

        return cls(title, total, columns, quiet=quiet)

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._shown is not None:
            self._shown.stop()

    def advance(self, many: int) -> None:
        """So much more is done."""
        self.reach(self.done + many)

    def reach(self, place: int) -> None:
        """So much is done in all."""
        self.done = place
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], total=self.total, completed=self._place())

    def at(self, done: int, total: int) -> None:
        """So much is done of so much as is known by now."""
        self.total = total
        self.reach(done)

    def _place(self) -> int:
        return self.done if self.total is None else min(self.done, self.total)

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            *self._columns(),
            TimeElapsedColumn(),
            *([] if self.total is None else [TextColumn("left"), TimeRemainingColumn(compact=True)]),
            console=stderr(),
            transient=True,
        )
        # A bar that stands at 0 looks like a fault: until something is done it has no end, and moves.
        total = self.total if self.done else None
        shown.add_task(one_line(self.title), total=total, completed=self._place())
        shown.start()
        self._shown = shown


# ------------------------------------------------------------------ tables


def show_table(table: pa.Table, limit: int) -> None:
    """The first rows: as a grid if the terminal is wide enough for it, otherwise one below the other."""
    from rich.cells import cell_len

    shown = table.slice(0, limit)
    names = [one_line(name) for name in shown.schema.names]
    columns = [[_lines_of(v) for v in column.to_pylist()] for column in shown.columns]
    cells = [[[name], *column] for name, column in zip(names, columns, strict=True)]
    widths = [max(cell_len(line) for lines in column for line in lines) for column in cells]
    out = stdout()
    if sum(widths) + 3 * len(widths) <= out.width or not sys.stdout.isatty():
        _show_grid(out, shown, names, columns)
    else:
        _show_records(out, names, columns)


def _show_grid(out: Console, table: pa.Table, names: list[str], columns: list[list[list[str]]]) -> None:
    import pyarrow as pa
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, type_ in zip(names, table.schema.types, strict=True):
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
        grid.add_column(Text(name), justify="right" if number else "left", no_wrap=True)
    for row in zip(*columns, strict=True):
        grid.add_row(*(Text("\n".join(lines)) for lines in row))
    out.print(grid, soft_wrap=not sys.stdout.isatty(), crop=False)


def _show_records(out: Console, names: list[str], columns: list[list[list[str]]]) -> None:
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    for number, row in enumerate(zip(*columns, strict=True), 1):
        out.print(Rule(f"row {number}", align="left", style="dim"))
        record = Table.grid(padding=(0, 2))
        record.add_column(style="bold", no_wrap=True)
        record.add_column(overflow="fold")
        for name, lines in zip(names, row, strict=True):
            record.add_row(Text(name), Text("\n".join(lines)))
        out.print(record)
    out.print()


def _lines_of(value: object) -> list[str]:
    """The lines of a cell: an event has one, a list of events one for each."""
    if isinstance(value, list) and any(isinstance(v, dict) for v in value):
        lines = [words_of(v) for v in value]
        return (
            lines
            if len(lines) <= _LISTED
            else [*lines[: _LISTED - 1], f"… {len(lines) - _LISTED} more …", lines[-1]]
        )
    return [words_of(value)]


def words_of(value: object) -> str:
    """A value as a person reads it; what a terminal would obey is spelled out."""
    import datetime as dt

    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return " ".join(f"{one_line(str(k))}={words_of(v)}" for k, v in value.items())
        case list():
            return f"[{', '.join(words_of(v) for v in value)}]"
        case dt.datetime():
            return value.isoformat(sep=" ").replace("+00:00", "Z")
        case _:
            return one_line(str(value))
