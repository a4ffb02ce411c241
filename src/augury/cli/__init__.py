"""The command line: `augury match`, `check`, `explain`, `generate`, `expand`, `demo`, `bench`.

    words at a prompt ─ app ─> inputs (a query, tables) ─> the library ─> screen | outputs
                                  └────────── trouble: what went wrong, and its exit code ──┘

`app` only declares; what a command does is imported when it runs, so that help and completion are quick.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run `augury` with the words of the command line."""
    try:
        from augury.cli.app import app
        from augury.cli.trouble import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(
            f"augury: the command line needs {error.name}, which is not installed; "
            "install the extra: pip install 'augury[cli]'"
        )
    except KeyboardInterrupt:
        sys.exit(130)  # as `trouble` has it, which may not be there yet
    sys.exit(run(lambda: app(prog_name="augury")))
