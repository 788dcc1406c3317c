"""Small files that people write by hand, as their editors leave them: marks in front, twins, cells too many."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.base.errors import RecombineError, SettingError, SourceError
from recombine.base.files import read_cells
from recombine.cli import options
from recombine.cli.app import app
from recombine.verbs.plan.collectable import Costs

MARK = "\ufeff"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    lines = written(tmp_path / "impossible.csv", f"{MARK}material,garment\nwool,boots\n")
    assert options.impossible([str(lines)]) == [{"material": "wool", "garment": "boots"}]
    values = written(tmp_path / "domain.json", MARK + json.dumps({"size": ["S", "M"]}))
    assert options.domain([str(values)]) == {"size": ["S", "M"]}
    assert read_cells(written(tmp_path / "costs.csv", f"{MARK}material,cost\nwool,2\n"))[0] == ["material", "cost"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("material,material\nwool,silk\n", "'material' stands twice"),
        ("material,garment\nwool,boots,red\n", "line 2 has 3 cells"),
        ("material,garment\n" + "x" * 200_000 + ",boots\n", "field larger"),
    ],
)
def test_cells_that_fit_no_heading(content: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path / "lines.csv", content)
    with pytest.raises(SourceError, match=said):
        options.impossible([str(path)])
    with pytest.raises(SourceError, match=said):
        Costs.of(path, None)  # type: ignore[arg-type]
    with pytest.raises(csv.Error):
        read_cells(path)


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"a": ' * 5_000, "5", "null", '["a"]', '{"a": 5}', '{"a": "xy"}', "{", "\x00", ""],
)
def test_a_domain_that_is_none(content: str, tmp_path: Path) -> None:
    with pytest.raises(RecombineError) as caught:
        options.domain([str(written(tmp_path / "domain.json", content))])
    assert "factor" in caught.value.instead


@pytest.mark.parametrize("listed", ["[[1], [2]]", "[null]", "[NaN, 1]", "[{}]"])
def test_a_domain_of_odd_values(listed: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "a,b\nx,k\ny,l\n")
    path = written(tmp_path / "domain.json", '{"a": ' + listed + "}")
    done = CliRunner().invoke(app, ["audit", str(table), "--factors", "a,b", "--domain", str(path)])
    assert isinstance(done.exception, SettingError), done.exception
    assert "the domain of 'a' lists" in str(done.exception)


@pytest.mark.parametrize("option", ["--impossible", "--domain", "--cost"])
def test_paths_that_no_file_can_have(option: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "a,b\nx,k\ny,l\nx,l\n")
    path = "x" * 5_000 + ".json"
    done = CliRunner().invoke(app, ["plan", str(table), "--factors", "a,b", option, path])
    assert isinstance(done.exception, RecombineError), done.exception
    assert "too long" in str(done.exception)
