"""Files of five fields, cut short and overwritten at random: each is answered in words, never by a traceback."""

import random
import re
from contextlib import chdir
from pathlib import Path

import pytest

from tests.commands import run_command

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
LISTED = ("--factors", "object,surface,light", "--pattern", "Pick the {object} from the {surface}")
TESTS = ("--factors", "os,browser,login,network", "--domain", "model.pict", "--goal", "pairs")
DOORS = {
    "logs/large.eval": ("evaluations", ("evaluate", "logs", "--set", "tools=tools", "--factors", "model,language")),
    "model.pict": ("test_matrices", ("plan", "results.csv", *TESTS)),
    "words.txt": (
        "captions",
        ("audit", "captions.parquet", "--concepts", "words.txt", "--factors", "attribute,object"),
    ),
    "episodes/meta/info.json": ("robots", ("audit", "episodes", *LISTED)),
    "episodes/meta/tasks.parquet": ("robots", ("audit", "episodes", *LISTED)),
    "episodes/factors.csv": ("robots", ("audit", "episodes", *LISTED, "--target", "miss")),
    "screen.h5ad": ("genes", ("audit", "screen.h5ad", "--factors", "condition,cell_line", "--target", "X")),
}
"""A file that a guide writes, and the command that reads it."""
ANSWERED = (0, 2, 3, 4)


def generate(guide: str, folder: Path) -> None:
    """What the first blocks of a guide write."""
    blocks = re.findall(r"^```py\n(.*?)^```", (GUIDES / f"{guide}.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with chdir(folder):
        for block in blocks[: 2 if guide == "captions" else 1]:
            exec(block, {})


def damaged(content: bytes, draw: random.Random) -> list[bytes]:
    """Cut short, with some bytes overwritten, in another encoding, and something else altogether."""
    cut = [content[: int(len(content) * share)] for share in (0, 0.1, 0.5, 0.98)]
    for count in (1, 4, 40):
        spoilt = bytearray(content)
        for _ in range(count):
            spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
        cut.append(bytes(spoilt))
    return [*cut, b"\xef\xbb\xbf" + content, content.decode("latin-1").encode("utf-16"), b"<html>no\n" * 99]


@pytest.mark.slow
@pytest.mark.parametrize("file", DOORS)
def test_a_damaged_file_is_answered_in_words(file, tmp_path):
    guide, words = DOORS[file]
    generate(guide, tmp_path)
    assert run_command(tmp_path, *words).returncode in (0, 2)
    content = (tmp_path / file).read_bytes()
    for spoilt in damaged(content, random.Random(file)):
        (tmp_path / file).write_bytes(spoilt)
        done = run_command(tmp_path, *words)
        assert done.returncode in ANSWERED, done.stderr
        assert "Traceback" not in done.stderr
