"""Every ```python block of the README and of docs/ runs, a file's blocks one after the other in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """The page's blocks with the line each starts at, padded so that a traceback shows the page's own lines."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        before = text.count("\n", 0, block.start(1))
        yield before + 1, "\n" * before + block[1]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(blocks(page))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_blocks_run(page, spark):
    assert spark is not None  # the session that is active: a block that asks for one gets it
    namespace = {"__name__": "__main__"}
    for _, code in blocks(page):
        exec(compile(code, str(page), "exec"), namespace)


def test_readme_has_blocks():
    assert len(list(blocks(ROOT / "README.md"))) >= 2


def test_links_lead_somewhere():
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(
            r"\]\((?!https?://|#)([^)#]+)", CODE.sub("", page.read_text(encoding="utf-8"))
        )
        if not (page.parent / target).exists()
    ]
    assert not dead
