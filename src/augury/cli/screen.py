"""What a person sees: tables, and how far long work has come. Nothing moves where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from augury.errors import one_line

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

_PATIENCE = 0.4  # seconds before a meter shows: what is quick needs none
_LISTED = 4  # events of a list that a cell shows


def stdout() -> Console:
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())


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
        self._began = time.monotonic()
        self._wanted = not quiet and sys.stderr.isatty()

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
                    of = "" if task.total is None else f" of {task.total:,.0f}"
                    rate = f", {task.speed:,.0f}/s" if task.speed else ""
                    return Text(f"{task.completed:,.0f}{of} rows{rate}", style="progress.data.speed")

            return [Rows()]

        return cls(title, total, columns, quiet=quiet)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def advance(self, many: int) -> None:
        """So much more is done."""
        self.done += many
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=self._place())
        elif self._wanted and time.monotonic() - self._began > _PATIENCE:
            self._show()

    def _place(self) -> int:
        return self.done if self.total is None else min(self.done, self.total)

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            *self._columns(),
            TimeElapsedColumn() if self.total is None else TimeRemainingColumn(compact=True),
            console=stderr(),
            transient=True,
        )
        self._shown.add_task(one_line(self.title), total=self.total, completed=self._place())
        self._shown.start()


# ------------------------------------------------------------------ tables


def show_table(table: pa.Table, limit: int) -> None:
    """The first rows, columns aligned; what the terminal cannot hold is folded, not lost."""
    import pyarrow as pa
    from rich import box
    from rich.table import Table

    shown = table.slice(0, limit)
    grid = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for field in shown.schema:
        number = (
            pa.types.is_integer(field.type)
            or pa.types.is_floating(field.type)
            or pa.types.is_decimal(field.type)
        )
        grid.add_column(_plain(field.name), justify="right" if number else "left", overflow="fold")
    columns = [[_cell(v) for v in column.to_pylist()] for column in shown.columns]
    for row in zip(*columns, strict=True):
        grid.add_row(*row)
    stdout().print(grid)


def _plain(text: str) -> Text:
    from rich.text import Text

    return Text(one_line(text))


def _cell(value: object) -> Text:
    from rich.text import Text

    if value is None:
        return Text("null", "dim")
    return Text(words_of(value))


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
            lines = [words_of(v) for v in value]
            if len(lines) > _LISTED:
                lines = [*lines[: _LISTED - 1], f"… {len(lines) - _LISTED} more …", lines[-1]]
            nested = any(isinstance(v, dict) for v in value)
            return "\n".join(lines) if nested else f"[{', '.join(lines)}]"
        case dt.datetime():
            return value.isoformat(sep=" ").replace("+00:00", "Z")
        case _:
            return one_line(str(value))
