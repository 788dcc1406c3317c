"""The site: every public name has its place in it, guides run, and what holds it together can fail."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

import recombine
import recombine_lab as lab
import recombine_studies
from tests.pasted import paste
from tests.test_docs import run_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))


def _script(path: str):
    name = f"script_{Path(path).stem}"  # by its stem it would stand in for Python's own `site`
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


site, version = _script(".ci/check_site.py"), _script(".ci/version.py")
notebook = _script("theme/notebook.py")


def _public() -> set[str]:
    rooms = (recombine, lab, lab.tasks, lab.models, lab.probes, recombine_studies)
    names = {f"{room.__name__}.{name}" for room in rooms for name in room.__all__}
    return {name for name in names if name != "recombine.__version__"} - {room.__name__ for room in rooms}


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    assert set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE)) == _public()


def test_there_are_eleven_guides():
    assert len(GUIDES) == 11


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_runs_from_an_empty_folder_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for one in paste(text):
        assert one.text.split() == one.today.split(), f"python -m tests.pasted {page.relative_to(ROOT)}"
    run_page(text, str(page.relative_to(ROOT)))


def test_every_entry_of_the_glossary_says_something():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\*\*(.+)\*\*\n: (.+)$", text, re.MULTILINE)
    assert len(entries) == text.count("\n: ") >= 40
    assert all(len(said) > 25 for _, said in entries)


def test_every_card_of_the_gallery_has_its_page_and_its_picture():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    named = re.findall(r'(?:href|src)="([^"]+)"', text)
    assert len(named) == 2 * 20
    assert [name for name in named if not (DOCS / name).is_file()] == []
    kept = {f"gallery/{path.name}" for path in (DOCS / "gallery").iterdir()}
    assert kept <= set(named), "a page that no card leads to"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="other.html">x</a>', None),
        ('<a href="other.html#here">x</a>', None),
        ('<a href="other.html#cell=1">x</a>', None),
        ('<a href="https://example.org">x</a>', None),
        ('<img src="other.html" alt="a map">', None),
        ('<a href="gone.html">x</a>', "page.html: dead link gone.html"),
        ('<a href="other.html#there">x</a>', "page.html: dead link other.html#there"),
        ('<img src="other.html">', "page.html: a picture without alt: other.html"),
        ('<img src="gone.png" alt="a map">', "page.html: gone.png is not there"),
        ('<script src="https://example.org/x.js"></script>', "page.html: fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "page.html: fetches //example.org/x.css"),
    ],
)
def test_what_is_wrong_with_a_site_is_noticed(page, said, tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">words</p>')
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "llms.txt").write_text("- [a page](page.html)")
    assert list(site.problems(tmp_path.resolve())) == ([said] if said else [])


def test_a_list_for_assistants_leads_somewhere(tmp_path):
    (tmp_path / "llms.txt").write_text("- [a page](page.md)")
    assert list(site.problems(tmp_path.resolve())) == ["llms.txt: no page.md"]


def test_a_release_is_held_to_its_tag_its_date_and_its_citation():
    log, cite = "## [0.2.0] - 2027-01-02\n", 'version: 0.2.0\ndate-released: "2027-01-02"\n'
    assert version.problems("v0.2.0", "0.2.0", log, cite) == []
    assert version.problems("v0.2.0", "0.2.0", f"## [Unreleased]\n\n{log}", cite) == []
    assert len(version.problems("v0.2.0", "0.2.0", f"## [Unreleased]\n\n- more\n\n{log}", cite)) == 1
    assert len(version.problems("v0.3.0", "0.2.0", log, cite)) == 1
    assert len(version.problems("v0.2.0", "0.2.0", "## [Unreleased]\n", cite)) == 1
    assert len(version.problems("v0.2.0", "0.2.0", log, "version: 0.1.0\n")) == 2


CONDA = {"duckdb": "python-duckdb", "ibis-framework": "ibis-framework-core", "torch": "pytorch"}


def test_the_recipe_for_conda_asks_for_what_the_wheels_ask_for():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == recombine.__version__
    for output, folder in zip(recipe["outputs"], (ROOT, ROOT / "lab"), strict=True):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert output["package"]["name"] == project["name"]
        asked = {re.match(r"[\w-]+", one)[0]: one for one in project["dependencies"] if "recombine" not in one}
        wanted = {one.replace(name, CONDA.get(name, name), 1) for name, one in asked.items()}
        run = {one.replace(" ", "") for one in output["requirements"]["run"] if "pin_subpackage" not in one}
        assert run == wanted | {f"python{project['requires-python']}"}


def test_the_lab_is_released_with_its_licence():
    assert (ROOT / "lab" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_examples_in_docstrings_are_fenced():
    doctests = pytest.importorskip("griffe") and _script("theme/doctests.py")
    text = "Adds.\n\n>>> 1 + 1\n2\n\nMore words.\n\n>>> x = (\n...     1)\n>>> x\n1\n"
    fenced = doctests.fenced(text)
    assert fenced.count("```") == 4
    assert "```pycon\n>>> 1 + 1\n2\n```\n" in fenced
    assert ">>> x\n1\n```" in fenced


def test_what_a_cell_shows_is_on_the_page():
    shown = [{"data": {"text/html": "<p>one</p>\n\n<p>two</p>", "text/plain": "one"}}, {"data": {"text/plain": "True"}}]
    outputs = [nbformat.from_dict({"output_type": "display_data", "metadata": {}, **one}) for one in shown]
    cell = nbformat.v4.new_code_cell("look()", outputs=outputs)
    code, html, text = notebook._parts(cell)
    assert (code, text) == ("```python\nlook()\n```", "```text\nTrue\n```")
    assert html == "<div class='shown'><p>one</p>\n<p>two</p></div>"
    assert list(notebook._parts(nbformat.v4.new_markdown_cell("# Words"))) == ["# Words"]


def test_options_of_commands_stay_whole_and_nothing_else_changes():
    options = _script("theme/options.py")
    block = (
        '<div class="language-{} highlight"><pre><code>recombine<span class="w"> </span>--factors a</code></pre></div>'
    )
    whole = options.on_page_content(block.format("console"))
    assert '<span class="option">--factors</span> a' in whole
    assert re.sub("<[^>]*>", "", whole) == "recombine --factors a"
    assert options.on_page_content(block.format("python")) == block.format("python")
