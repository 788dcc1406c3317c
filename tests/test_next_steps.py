"""What the audit proposes to do next runs as it is printed, on the very table that it was printed for."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.cli.app import app

ENDS = (0, 3, 4)
"""Passed, failed, or not enough evidence: each is an answer. 2 would be a mistake of ours."""


def demo(extra: str = "", value: str = "") -> str:
    CliRunner().invoke(app, ["demo", "--force"])
    lines = Path("products.csv").read_text().splitlines()
    return "\n".join([lines[0] + extra, *(line + value for line in lines[1:])]) + "\n"


def grid(target: str, *, rows: int = 2, missing: int = 0) -> str:
    """A table of 4 x 5 combinations without the last few; the target is what is written in terms of a, b and row."""
    cells = list(itertools.product(range(4), range(5)))
    kept = cells[: len(cells) - missing]
    said = [f"m{a},g{b},{eval(target)}" for a, b in kept for row in range(rows)]
    return "\n".join(["material,garment,label", *said]) + "\n"


TABLES = {
    "demo": demo,
    "a split column": lambda: demo(",split", ",train"),
    "a number": lambda: grid("a + 2 * b + row / 8", missing=6),
    "digits": lambda: grid("(a + b) % 5", missing=3),
    "a constant": lambda: grid("1", missing=3),
    "all seen": lambda: grid("a > b"),
    "one row each": lambda: grid("'x' if (a * b) % 2 else 'y'", rows=1, missing=9),
}


def ran(line: str) -> str:
    done = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=True)
    assert done.exit_code in ENDS, f"{line}\n{done.output}{done.exception!r}"
    return done.stdout


@pytest.mark.parametrize("kind", TABLES)
def test_every_next_step_runs(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shoes.csv").write_text(TABLES[kind]())
    command = "recombine audit shoes.csv --factors material,garment --target label"
    monkeypatch.setattr("sys.argv", shlex.split(command))
    printed = ran(command)
    steps = re.findall(r"^ +(?:next +)?(recombine .*)$", printed, re.MULTILINE)
    assert len(steps) >= 2
    assert any(step.startswith("recombine predict") for step in steps) == (kind not in ("a constant", "all seen"))
    for step in steps:
        ran(step)


def test_the_first_line_below_the_verdict_names_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = {}
    for kind in ("a number", "digits", "demo"):
        Path("shoes.csv").write_text(TABLES[kind]())
        printed = ran("recombine audit shoes.csv --factors material,garment --target label")
        said[kind] = printed.split("\n\n")[1].splitlines()[0].split(maxsplit=1)
    assert {name for name, _ in said.values()} == {"target"}
    assert said["a number"][1].strip() == "label, a number"
    assert said["digits"][1].split("  ")[0] == "label, a label with 5 values"
    assert "or --target-kind number" in said["digits"][1]
    assert said["demo"][1].strip() == "label, a label with 2 values"
