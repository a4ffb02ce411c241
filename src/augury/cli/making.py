"""`augury generate`: seeded streams into a file of any size, a part in memory at a time."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import Any

from augury import generate
from augury.cli.matching import Target
from augury.cli.outputs import writing
from augury.cli.screen import Meter
from augury.cli.trouble import UsageError, note
from augury.cli.words import microseconds_named


@dataclass(frozen=True, slots=True)
class Arrival:
    """How the rows arrive: the shares that come out of order, late and twice."""

    disorder: float
    late: float
    duplicates: float
    delay: str | None

    @property
    def is_plain(self) -> bool:
        return self.disorder == self.late == self.duplicates == 0


def made(
    name: str,
    rows: int,
    target: Target,
    *,
    seed: int,
    arrival: Arrival,
    options: dict[str, Any],
    quiet: bool,
) -> None:
    """Make a stream and write it, or show how it begins."""
    began = clock.perf_counter()
    written = 0
    try:
        parts = generate.stream(name, rows, seed=seed, **options)
        if not arrival.is_plain:
            parts = generate.disturbed(
                parts,
                delay=_delay(name, arrival.delay),
                disorder=arrival.disorder,
                late=arrival.late,
                duplicates=arrival.duplicates,
                seed=seed,
            )
        first = next(parts)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if target.path is None:
        target.put(first)
        if not quiet:
            note(f"the first {min(first.num_rows, target.limit):,} rows; -o FILE keeps them all")
        return
    assert target.format is not None
    with (
        Meter.of_rows(f"writing {target.path}", rows, quiet=quiet) as meter,
        writing(target.path, target.format, first.schema) as writer,
    ):
        for part in (first, *parts):
            writer.write(part)
            written += part.num_rows
            meter.advance(part.num_rows)
    if not quiet:
        note(f"{target.said(written, 'rows')} ({clock.perf_counter() - began:.2f} s)")


def _delay(name: str, delay: str | None) -> int:
    """In units of the stream's time: ticks, or microseconds."""
    if name == "stock":
        if delay is None:
            return 100
        if not delay.strip().isdigit():
            raise UsageError(f"--delay {delay!r}: the time of stock is a number of ticks; write --delay 100")
        return int(delay)
    return microseconds_named(delay or "1 minute")
