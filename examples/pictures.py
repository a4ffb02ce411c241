"""Pictures of a query, of its matches, and of what each selection strategy takes, written to a folder.

python examples/pictures.py pictures/
"""

import argparse
import tempfile
from pathlib import Path

import augury as ag
from augury.generate import rfid

QUERY = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE   skip_till_next_match(a, c) { [tag_id] }
WITHIN  12 hours"""


def main() -> None:
    """Draws three pictures and says where they are."""
    parser = argparse.ArgumentParser(description="Draws a query, its matches, and strategies.")
    parser.add_argument("folder", nargs="?", type=Path, help="where to write them (a new folder)")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="augury-"))
    folder.mkdir(parents=True, exist_ok=True)

    readings = rfid(60, items=12, theft=0.4, seed=2)
    query = ag.sase(QUERY)
    thefts = query.match(readings, time="ts", type="kind", key="tag_id")
    pictures = {
        "automaton.svg": query.plot(),
        "matches.svg": ag.plot_matches(thefts, readings, type="kind"),
        "strategies.svg": ag.plot_strategies(query, readings, type="kind"),
    }
    for name, picture in pictures.items():
        picture.save(folder / name)
        print(f"{folder / name}: {picture!r}")


if __name__ == "__main__":
    main()
