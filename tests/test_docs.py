"""Every Python block of the README and of the documentation runs, and prints what the page says it prints."""

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from recombine.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").glob("*.md")])
_FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of Python, the line it starts on, and what it must print: the `text` block right after it."""

    line: int
    code: str
    printed: str | None


def blocks(page: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    fences = list(_FENCE.finditer(page))
    found = []
    for place, fence in enumerate(fences):
        if fence["language"] != "python":
            continue
        after = fences[place + 1] if place + 1 < len(fences) else None
        directly = after is not None and not page[fence.end() : after.start()].strip()
        follows = directly and after["language"] == "text"
        line = page.count("\n", 0, fence.start("body")) + 1
        found.append(Block(line, fence["body"], after["body"].strip() if follows else None))
    return found


def run_page(page: str, name: str) -> None:
    """Run a page's blocks one after another in one namespace."""
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        printed = io.StringIO()
        shifted = "\n" * (block.line - 1) + block.code  # a traceback shows the page's own lines
        with contextlib.redirect_stdout(printed):
            exec(compile(shifted, name, "exec"), namespace)
        if block.printed is not None:
            assert printed.getvalue().strip() == block.printed, f"{name}, line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))


def test_there_are_pages_with_code():
    assert sum(len(blocks(page.read_text(encoding="utf-8"))) for page in PAGES) >= 10


@pytest.mark.parametrize("name", ["audit", "demo"])
def test_every_option_of_a_command_is_described(name):
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", page.split(f"## `recombine {name}`")[1], flags=re.MULTILINE)[0]
    described = set(re.findall(r"`(--?[a-z-]+)`", section))
    command = typer.main.get_command(app).commands[name]
    assert described == {word for option in command.params for word in option.opts if word.startswith("-")}


def test_blocks_are_paired_with_what_follows_directly():
    first = "```python\nx = 1\n```\n\n```text\n1\n```\n\n"
    second = "```python\ny = 2\n```\nwords\n```text\n2\n```\n```console\n$ z\n```\n"
    assert blocks(first + second) == [Block(2, "x = 1\n", "1"), Block(10, "y = 2\n", None)]


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", AssertionError),
        ("```python\n```\n\n```text\n1\n```\n", AssertionError),
        ("```python\nno_such_name\n```\n", NameError),
    ],
)
def test_the_check_itself_can_fail(page, error):
    with pytest.raises(error):
        run_page(page, "page.md")
