"""The commands of a page, pasted one after another into an empty folder; and what they print, put back into the page.

    python -m tests.pasted README.md docs/index.md

writes what is printed today below the commands whose output a page shows: as many paragraphs as stand there.
"""

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from recombine.cli.app import app

_FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
_ANSWERS = (0, 3, 4)
"""Passed, failed, or not enough evidence. 2 is a mistake, and no page may show one."""
_TOO_LONG = ("sweep", "runs")
"""What trains for minutes; the lab's tests run sweeps of their own."""


@dataclass(frozen=True)
class Shown:
    """A block of output in a page: where it stands, and what the last command before it prints."""

    start: int
    end: int
    text: str
    printed: str

    @property
    def today(self) -> str:
        """As much of what is printed as the page shows."""
        paragraphs = re.split(r"\n\s*\n", self.printed.strip("\n"))
        shown = paragraphs[: len(re.split(r"\n\s*\n", self.text.strip("\n")))]
        return "\n\n".join("\n".join(line.rstrip() for line in one.splitlines()) for one in shown) + "\n"


def paste(page: str) -> Iterator[Shown]:
    """Run a page's commands and `py` blocks in their order, in the current folder; give back what it shows of them."""
    printed = ""
    for fence in _FENCE.finditer(page):
        if fence["language"] == "console":
            printed = ["", *map(_run, re.findall(r"^\$ recombine (.*)$", fence["body"], re.MULTILINE))][-1]
        elif fence["language"] == "py":
            exec(compile(fence["body"], "a page", "exec"), {})
        elif fence["language"] == "text" and printed:
            yield Shown(fence.start("body"), fence.end("body"), fence["body"], printed)
            printed = ""
        else:
            printed = ""


def _run(line: str) -> str:
    words = shlex.split(line)
    if words[0] in _TOO_LONG:
        return ""
    before, sys.argv = sys.argv, ["recombine", *words]
    try:
        done = CliRunner(env={"COLUMNS": "80"}).invoke(app, words)
    finally:
        sys.argv = before
    assert done.exit_code in _ANSWERS, f"recombine {line}\n{done.output}{done.exception!r}"
    return done.stdout


def _rewrite(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        shown = list(paste(page))
    for one in reversed(shown):
        page = page[: one.start] + one.today + page[one.end :]
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    for given in sys.argv[1:]:
        _rewrite(Path(given))
