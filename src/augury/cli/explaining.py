"""`augury explain`: how a query is evaluated, in colour where a terminal is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from augury.cli.inputs import Data
from augury.cli.matching import Roles, told_types
from augury.cli.queries import naming, query_from
from augury.cli.screen import stdout
from augury.cli.trouble import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.text import Text


def explain(
    given: str,
    params: Sequence[str],
    opened: Callable[[], Data] | None,
    schema: pa.Schema | None,
    roles: Roles,
    output: str,
    plan: str,
    *,
    kernel: bool,
) -> None:
    """Explain a query, by itself or for the columns of some data."""
    if kernel and opened is None and schema is None:
        raise UsageError("a kernel is generated for the types of columns: --kernel needs DATA or --schema")
    with naming(given):
        query = query_from(given, params)
        options: dict[str, Any] = {"output": output, "plan": plan, "kernel": kernel}
        if opened is None and schema is None:
            keys, ties = (list(names) or None for names in (roles.key, roles.tiebreak))
            told = query.explain(time=roles.time, type=roles.type, key=keys, tiebreak=ties, **options)
        elif opened is None:
            told = query.explain(schema, **roles.arguments(schema, "the schema"), **options)
        else:
            data = opened()
            data.check_columns(roles.options())
            known = data.read() if kernel else data.schema()  # a kernel's nulls are in the rows
            columns = known.schema if kernel else known
            with told_types(data, columns):
                told = query.explain(known, **roles.arguments(columns, data.name), **options)
    out = stdout()
    for line in told.split("\n"):
        out.print(_coloured(line), soft_wrap=True)


_STYLES = (
    (r"^(?! ).+", "bold"),  # a heading
    (r"^  state \d+", "bold"),
    (r"(?<=  )line \d+$", "dim"),
    (r"^ {4}(?:begin|take|ignore|end|no ignore)\b.*?(?=  )", "cyan"),
    (r"^ {4,8}[\d,]* \|", "dim"),
    (r"  # .*$", "green"),
)


def _coloured(line: str) -> Text:
    from rich.text import Text

    shown = Text(line)
    for pattern, style in _STYLES:
        for found in re.finditer(pattern, line):
            shown.stylize(style, *found.span())
    return shown
