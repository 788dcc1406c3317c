"""A split as cell-load writes it, read as a table with sides, and what lint says of it."""

from collections import Counter
from pathlib import Path

import pytest

import recombine
from recombine.base.errors import RecombineError
from recombine.data.cell_load import READER
from tests.data.test_anndata import plain_file

SPLIT = """
[datasets]
one = "one/"
[training]
one = "train"
[zeroshot]
"one.jurkat" = "test"
[fewshot."one.rpe1"]
val = ["AARS"]
test = ["AARS", "NUP107"]
"""


@pytest.fixture
def split(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    for cells in ("k562", "rpe1", "jurkat"):
        genes = (
            ["non-targeting", "AARS", "NUP107", "RPUSD4"] if cells != "k562" else ["non-targeting", "AARS", "RPUSD4"]
        )
        columns = {"gene": genes * 2, "cell_type": [cells] * (2 * len(genes))}
        plain_file(tmp_path / "one" / f"{cells}.h5ad", columns)
    path = tmp_path / "split.toml"
    path.write_text(SPLIT)
    return path


def test_rows_have_the_sides_that_the_split_gives_them(split: Path) -> None:
    rows = READER.read(split, None).to_pylist()
    sides = Counter((row["cell_type"], row["gene"], row["split"]) for row in rows)
    assert sides == {
        **{("k562", gene, "train"): 2 for gene in ("non-targeting", "AARS", "RPUSD4")},
        **{("rpe1", gene, "train"): 2 for gene in ("non-targeting", "RPUSD4")},
        ("rpe1", "AARS", "val"): 2,
        ("rpe1", "AARS", "test"): 2,
        ("rpe1", "NUP107", "test"): 2,
        **{("jurkat", gene, "test"): 2 for gene in ("non-targeting", "AARS", "NUP107", "RPUSD4")},
    }


def test_lint_names_the_gene_that_no_training_row_holds(split: Path) -> None:
    found = recombine.lint(str(split), factors=["gene", "cell_type"], split="split")
    said = str(found.record().to_json())
    assert "NUP107" in said
    assert "jurkat" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sweep]\nseeds = 3", "names no datasets"),
        ('[datasets]\none = "nowhere/"', "no file 'nowhere/'"),
        ("[datasets", "cannot read"),
    ],
)
def test_other_files_are_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "split.toml").write_text(text)
    with pytest.raises(RecombineError, match=said):
        recombine.lint(str(tmp_path / "split.toml"), factors=["gene", "cell_type"], split="split")
