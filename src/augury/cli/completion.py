"""What a shell offers at TAB: files, and the columns of the files that were named."""

from pathlib import Path

import typer


def files(incomplete: str) -> list[str]:
    """Files and folders that begin so."""
    folder, _, name = incomplete.rpartition("/")
    inside = Path(folder or ("/" if incomplete.startswith("/") else "."))
    try:
        found = sorted(f for f in inside.iterdir() if f.name.startswith(name))
    except OSError:
        return []
    before = incomplete[: len(incomplete) - len(name)]
    return [before + f.name + ("/" if f.is_dir() else "") for f in found]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the command's DATA that begin so."""
    from augury.cli.files import STDIN
    from augury.cli.inputs import data_from
    from augury.errors import AuguryError

    # While an option still lacks its value, what stands before it has not been given to QUERY and DATA yet.
    paths = ctx.params.get("data") or ctx.args[1:]
    if not paths or STDIN in paths:
        return []
    try:
        names = data_from(list(paths)).schema().names
    except AuguryError:  # a TAB complains of nothing
        return []
    return [name for name in names if name.startswith(incomplete)]


def _begun(words: tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def formats(incomplete: str) -> list[str]:
    """Formats that are read."""
    from augury.cli.files import FORMATS

    return _begun(FORMATS, incomplete)


def written(incomplete: str) -> list[str]:
    """Formats that are written."""
    return [*formats(incomplete), *_begun(("table",), incomplete)]


def outputs(incomplete: str) -> list[str]:
    """Kinds of rows."""
    from augury.runtime.options import OUTPUTS

    return _begun(OUTPUTS, incomplete)


def plans(incomplete: str) -> list[str]:
    """Plans of evaluation."""
    from augury.plan.choice import PLANS

    return _begun(PLANS, incomplete)


def demos(incomplete: str) -> list[str]:
    """Demonstrations."""
    from augury.cli.demos import DEMOS

    return _begun(tuple(DEMOS), incomplete)
