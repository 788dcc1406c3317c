"""Contact sheets: every visual task is drawn, also where no data set is at hand, and shows what its words say."""

import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

PIL = pytest.importorskip("PIL.Image")

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import contact_sheets  # noqa: E402
from recombine_lab.tasks.bumps import Bumps  # noqa: E402
from recombine_lab.tasks.exposure import FiniteSource  # noqa: E402
from recombine_studies.tasks.odd_one_out import ProblemSet  # noqa: E402

FILES = {
    "relations": ["relations_inside_contact", "relations_inside_number", "relations_contact_number", "relations_small"],
    "sprites": ["sprites_compositions", "sprites_supports", "supports"],
    "bumps": ["bumps"],
    "digits": ["digit_pairs"],
    "conjunctions": ["conjunctions"],
    "toy": ["toy"],
}
BREAKS = {
    "base": ["first", "both"],
    "mask_first": ["first", "both"],
    "mask_second": ["second", "both"],
    "both_violated": ["both", "both"],
    "target_first": ["first", "first"],
    "target_second": ["second", "second"],
    "other_first": ["second", "second"],
    "other_second": ["first", "first"],
}
RED = np.array([214, 39, 40])


@pytest.mark.parametrize("name", FILES)
def test_is_drawn_without_any_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RECOMBINE_DATA", raising=False)
    assert contact_sheets.main(["--out", str(tmp_path / "new"), "--only", name]) == 0
    paths = [tmp_path / "new" / f"{file}.png" for file in FILES[name]]
    assert capsys.readouterr().out.split() == [str(path) for path in paths]
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)
    for path in paths:
        pixels = np.asarray(PIL.open(path).convert("RGB"))
        assert pixels.shape[1] < 2000, "a reader would have to scroll"
        # each row of pictures is more than its frames: no band of the sheet is one colour all over
        assert all(band.std() > 1 for band in np.array_split(pixels[100:-30, 200:], 6))


def test_every_set_is_on_the_sheet_of_every_rule_and_one_in_four_is_framed() -> None:
    drawn = dict(contact_sheets.relations())
    for rule in contact_sheets.RULES:
        sheet = drawn[f"relations_{rule}"]
        assert [name for name, _ in sheet.rows] == list(get_args(ProblemSet))
        for name, cells in sheet.rows:
            assert [cell.framed for cell in cells] == [True] + [False] * 6 + [True]
            assert all(bool(cell.caption) == cell.framed for cell in cells)
            assert [cell.caption.split()[2].strip(",") for cell in cells if cell.framed] == BREAKS[name]
        picture = np.asarray(sheet.draw())
        assert ((picture == RED).all(axis=2)).sum() > 16 * 400, "two frames in each of eight rows"


def test_all_glyphs_of_the_words_exist() -> None:
    """The font that Pillow brings has no arrows and no Greek: such a sign would be drawn as a box."""
    drawn = [sheet for make in contact_sheets.sheets().values() for _, sheet in make()]
    for sheet in drawn:
        captions = [cell.caption for _, cells in sheet.rows for cell in cells]
        for words in (sheet.title, *sheet.notes, *(name for name, _ in sheet.rows), *captions):
            assert words.isascii(), words


def test_channels_as_colours() -> None:
    red_and_cyan = np.asarray(contact_sheets.shown(torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]]), 1))
    assert red_and_cyan.tolist() == [[[255, 0, 0], [0, 255, 255], [255, 255, 255]]]
    six = contact_sheets.shown(torch.zeros(6, 4, 5), 2)
    assert six.size == (20, 8)


def test_a_map_of_places_has_x_to_the_right() -> None:
    drawn = contact_sheets.places(
        Bumps(size=4), FiniteSource(torch.tensor([[3, 0]])), FiniteSource(torch.tensor([[0, 2]])), scale=1
    )
    found = np.asarray(drawn)
    assert found[0, 3].tolist() == [0x1F, 0x77, 0xB4]
    assert found[2, 0].tolist() == [0xFF, 0x7F, 0x0E]
    assert (found == 255).all(axis=2).sum() == 14


def test_points_have_the_second_axis_upwards() -> None:
    blue = np.array([0x1F, 0x77, 0xB4])
    drawn = np.asarray(contact_sheets.points([(torch.tensor([[0.5, 0.9]]), contact_sheets.BLUE)], ("x", "y"))).astype(
        int
    )
    row, column = np.argwhere(np.abs(drawn - blue).sum(axis=2) < 90).mean(axis=0)
    assert row < drawn.shape[0] / 4
    assert abs(column - 135) < 3


@pytest.mark.data
def test_uses_real_digits_where_they_are(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    assert contact_sheets.local_images() == "mnist"
    monkeypatch.setenv("RECOMBINE_DATA", str(data / "mnist"))
    assert contact_sheets.local_images() == "synthetic"


def test_says_which_sheets_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        contact_sheets.main(["--only", "sprite"])
    assert "choose from" in capsys.readouterr().err
