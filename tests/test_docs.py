"""Every Python block of the README and of the documentation runs, and prints what the page says; pictures are true."""

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from recombine.cli.app import app
from recombine.verbs.predict.effect_transfer import expected_slope
from tests.commands import subcommands
from tests.pasted import paste

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import draw_docs_pictures as drawing

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


SLOW_PAGES = {
    "README",
    "divergence",
    "fit",
    "predict",
    "probe_geometry",
    "probe_subnetworks",
    "probe_support",
    "runs",
    "walk",
}


def _with_marks(page: Path) -> object:
    """A page whose code asks for the shared data sets is skipped with a word where they are absent."""
    marks = [pytest.mark.data] if "RECOMBINE_DATA" in page.read_text(encoding="utf-8") else []
    marks += [pytest.mark.slow] if page.stem in SLOW_PAGES else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [_with_marks(page) for page in PAGES])
def test_page_runs(page, tmp_path, monkeypatch, data):
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))


def test_there_are_pages_with_code():
    assert sum(len(blocks(page.read_text(encoding="utf-8"))) for page in PAGES) >= 10


@pytest.mark.parametrize(
    "name", ["audit", "plan", "split", "lint", "predict", "rehearse", "evaluate", "diff", "doctor", "mcp", "demo"]
)
def test_every_option_of_a_command_is_described(name):
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", page.split(f"## `recombine {name}`")[1], flags=re.MULTILINE)[0]
    described = set(re.findall(r"`(--?[a-z-]+)`", section))
    command = subcommands(typer.main.get_command(app))[name]
    words = {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
    assert described == {word for word in words if word.startswith("-")}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/cheatsheet.md", "docs/diff.md"])
def test_what_a_page_says_to_paste_runs_from_an_empty_folder_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = list(paste((ROOT / page).read_text(encoding="utf-8")))
    assert len(shown) >= (5 if page == "README.md" else 0)
    for one in shown:
        assert one.text.split() == one.today.split(), f"python -m tests.pasted {page}"


@pytest.mark.parametrize("page", ["$ recombine audit nothing.csv --factors a,b\n", "$ recombine audti x\n"])
def test_a_page_that_does_not_run_is_noticed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        list(paste(f"```console\n{page}```\n"))


_NUMBER = re.compile(r"[-−+]?\d+(?:\.(\d+))?")


def drawn_alike(one: str, other: str) -> bool:
    """The same shapes and words, and the same numbers but for one in their last decimal, which is arithmetic's."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.finditer(one), _NUMBER.finditer(other), strict=True)
    return all(_close(a[0], b[0], len(a[1] or "")) for a, b in pairs)


def _close(one: str, other: str, decimals: int) -> bool:
    apart = abs(float(one.replace("−", "-")) - float(other.replace("−", "-")))
    return apart <= (1.5 * 10**-decimals if decimals else 0)


@pytest.fixture(scope="module")
def pictures():
    return drawing.pictures()


@pytest.mark.parametrize("name", ["leak.svg", "shortcut.svg", "speed.svg"])
def test_pictures_are_drawn_from_the_code(name, pictures):
    kept = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert drawn_alike(kept, pictures[name]), "run examples/draw_docs_pictures.py"


def test_every_picture_is_checked(pictures):
    # photographs of a page (examples/photograph_pages.py) show the browser's letters, and are looked at
    assert {path.name for path in (ROOT / "docs" / "pictures").glob("*.svg")} == set(pictures)


def test_a_picture_that_has_drifted_is_noticed(pictures):
    leak, shortcut = pictures["leak.svg"], pictures["shortcut.svg"]
    assert not drawn_alike(leak, leak.replace('cy="', 'cy="1', 1))
    assert not drawn_alike(leak, leak.replace(">0.60<", ">0.62<", 1))
    assert not drawn_alike(shortcut, shortcut.replace("hoodie", "parka", 1))
    assert drawn_alike(leak, leak.replace(">0.60<", ">0.61<", 1))


@pytest.mark.slow
def test_the_numbers_of_the_pictures_are_those_of_the_theory():
    leak, shortcut = drawing.leak(), drawing.shortcut()
    assert leak.slope == pytest.approx(0.6)
    assert dict(leak.measured) == pytest.approx({p: expected_slope(salience=0.3, seen=p) for p in (1, 2, 4, 6, 12)})
    assert all(y == pytest.approx(0.6 * x, abs=1e-6) for x, y in leak.points)
    assert leak.needed == pytest.approx(12)
    # class "no" is the right one, and a score below 0 says it: squared +.522 and margin -.217 in the theory's signs
    assert shortcut.scores == pytest.approx({"squared": -0.522, "margin": 0.217}, abs=5e-4)
    for loss, parts in shortcut.parts.items():
        assert sum(part or 0.0 for part in parts.values()) == pytest.approx(shortcut.scores[loss])


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
