"""What the page "In CI" shows is what there is: its commands print it, its inputs, hooks and forms exist."""

import re
from pathlib import Path

import pytest

from recombine.output.ci_formats import FORMS
from tests.pasted import _run, paste

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(not (ROOT / "action.yml").is_file(), reason="the repository is not here")
PAGE = ROOT / "docs" / "ci.md"


def snippets() -> list[object]:
    return [
        yaml.safe_load(one) for one in re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    ]


def test_the_commands_of_the_page_run_and_print_what_it_shows(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    list(paste(page))
    asked = next(line for line in page.splitlines() if line.endswith("--format markdown"))
    shown = re.search(r"^~~~text\n(.*?)^~~~$", page, re.MULTILINE | re.DOTALL)[1]
    assert _run(asked.removeprefix("$ recombine ")) == shown
    assert {path.name for path in tmp_path.iterdir()} == {"products.csv", "found.xml", "found.sarif", "audit.html"}


def test_inputs_and_hooks_of_the_page_exist() -> None:
    known = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    job, model, _, commit, _ = snippets()
    for step in (job["jobs"]["split"]["steps"][1], model[0]):
        assert set(step["with"]) <= set(known)
    page = PAGE.read_text(encoding="utf-8")
    told = re.search(r"\| input \| \|\n(.*?)\n\n", page, re.DOTALL)[1]
    assert set(re.findall(r"`([a-z-]+)`", "".join(line.split("|")[1] for line in told.splitlines()[1:]))) == set(known)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert commit["repos"][0]["hooks"][0]["id"] == hook["id"]


def test_every_form_has_a_row() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \|", PAGE.read_text(encoding="utf-8").split("## GitHub")[0], re.MULTILINE)
    assert rows == ["text", "markdown", "json", *[name for name in FORMS if name != "markdown"]]
