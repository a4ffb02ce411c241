"""The commands of docs/cli.md, of the README and of each --help do what they say: they run, on small streams."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from augury.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/cli.md")
HELPS = [
    "match",
    "stream",
    "check",
    "explain",
    "expand",
    "demo",
    *(f"generate {n}" for n in ("stock", "rfid", "clicks")),
]
FILES = {
    "theft.sase": "PATTERN SEQ(Shelf a, ~(Register b), Exit c)\nWHERE skip_till_next_match(a, c) { [tag_id] }\nWITHIN 12 hours",
    "rising.sase": "PATTERN SEQ(Stock a, Stock b) WHERE strict_contiguity(a, b) { b.price > a.price } WITHIN 5",
    "q.sase": "PATTERN SEQ(trades a, trades b) WHERE a.code = '007' AND a.code != b.code WITHIN 1 day",
    "buys.sase": "PATTERN SEQ(view a, buy b)",
    "trades.csv": "ts,code\n1704103200000,007\n1704103201000,08\n",
    "stock.csv": "ts,price\n1,5\n2,6\n",
}
FILES["rise.sase"] = FILES["rising.sase"]
MADE = {
    "readings.parquet": "rfid",
    "readings.csv": "rfid",
    "readings/1.parquet": "rfid",
    "day-1.csv": "rfid",
    "stock.parquet": "stock",
    "st.parquet": "stock",
}
# What cannot run here: benchmarks measure for minutes, a page is served until Ctrl-C, Spark takes ten seconds, and one example is a wrong query.
LEFT_OUT = re.compile(r"augury bench|augury studio|--spark|SEQ\(A a, B b'|\| ")


def run(command: str):
    words = [re.sub(r"^(?:10M|1e6|100k|200k)$", "500", word) for word in shlex.split(command)[1:]]
    return CliRunner().invoke(app, words, env={"COLUMNS": "120"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text)
    for name, stream in MADE.items():
        assert run(f"augury generate {stream} --rows 500 -o {name}").exit_code == 0
    return tmp_path


def commands(lines: list[str]) -> list[str]:
    """Each with the lines that it goes on in."""
    found: list[str] = []
    for line in filter(None, map(str.strip, lines)):
        if line.startswith(("augury ", "zcat ")):
            found.append("")
        found[-1] += line.removesuffix("\\") + " "
    return found


def check_all(found: list[str]) -> None:
    found = [command for command in found if not LEFT_OUT.search(command)]
    assert found
    for command in found:
        told = re.search(r"-o (\S+)", command)
        if told:
            Path(told[1]).unlink(missing_ok=True)
        result = run(command)
        assert result.exit_code == 0, f"{command}\n{result.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(folder, page):
    blocks = re.findall(
        r"^```console\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    check_all(
        [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line[:2] == "$ "]
    )


@pytest.mark.parametrize("name", HELPS)
def test_the_examples_of_a_command_run(folder, name):
    shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "120"}).stdout
    examples = shown.partition("Examples:")[2].partition("╭")[0]
    check_all(commands(examples.splitlines()))
