"""Records and manifests that were edited, cut off or swapped: each ends in words, or is the same as it was.

Behind a stale checksum any change is noticed. Behind one that was computed again a change may make another valid
record; then everything that a user does with it works, or ends in a `RecordError`.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import recombine
from recombine.base import records
from recombine.base.errors import RecombineError, RecordError, SettingError
from recombine.base.records import Record
from recombine.output.pages import draw
from recombine.verbs.split import manifest
from recombine.verbs.split.lint.lint_result import Lint
from recombine.verbs.split.split_result import Split
from recombine_lab.probes.probe import Probe
from recombine_lab.runs.run import Run
from recombine_studies.study_result import StudyResult
from tests import mutations
from tests.lab.runs.samples import run
from tests.probes.test_probe import a_probe
from tests.properties import examples
from tests.studies.made import a_study

T = TypeVar("T")
COLOURS, SHAPES, SIZES = ("red", "blue", "green"), ("disc", "cube", "ball"), ("s", "l")
CELLS = [(colour, shape, size) for colour in COLOURS for shape in SHAPES for size in SIZES]
FACTORS = ["colour", "shape", "size"]


def table(cells: list[tuple[str, str, str]]) -> dict[str, list[Any]]:
    twice = cells * 2
    return {name: [cell[place] for cell in twice] for place, name in enumerate(FACTORS)} | {
        "y": [float(len(colour) + 2 * len(shape) + place % 3) for place, (colour, shape, _) in enumerate(twice)],
        "label": ["long" if len(colour) + len(shape) > 8 else "short" for colour, shape, _ in twice],
        "said": ["long" if place % 4 else "short" for place, _ in enumerate(twice)],
        "other": ["long" if place % 3 else "short" for place, _ in enumerate(twice)],
        "split": ["test" if place % 5 == 0 else "train" for place, _ in enumerate(twice)],
    }


@dataclass(frozen=True)
class Kind:
    """A kind of result: one of it made, how it is loaded, and its page where it has one."""

    made: Callable[[Path], Any]
    load: Callable[[Path], Any]
    page: Callable[[Record], str] | None = None


def an_audit(folder: Path) -> Any:
    impossible = [{"colour": "green", "shape": "ball"}]
    return recombine.audit(recombine.read(table(CELLS[:13]), factors=FACTORS, target="label", impossible=impossible))


def a_prediction(folder: Path) -> Any:
    support = recombine.read(table(CELLS[:13]), factors=FACTORS, target="y")
    truth = recombine.read(table(CELLS), factors=FACTORS, target="y")
    return recombine.predict(support, salience="order:1,0.4,0.2,0.1", truth=truth, backtest=True)


def a_plan(folder: Path) -> Any:
    support = recombine.read(table(CELLS[:9]), factors=FACTORS, target="label", domain={"size": ["s", "l", "xl"]})
    return recombine.plan(support, goal="pairs", replay=True)


def an_evaluation(folder: Path) -> Any:
    asked: dict[str, Any] = {"factors": FACTORS, "target": "label", "prediction": "said", "split": "split"}
    return recombine.evaluate(table(CELLS), **asked, against="other", intervals=recombine.IntervalSettings(draws=100))


def a_rehearsal(folder: Path) -> Any:
    grid = [(a, b) for a in range(5) for b in range(5) if (a + b) % 4]
    told = {"a": [a for a, _ in grid], "b": [b for _, b in grid], "y": [a + 1.5 * b for a, b in grid]}
    return recombine.rehearse(told, "nearest", factors=["a", "b"], target="y", rounds=2)


def a_diff(folder: Path) -> Any:
    asked: dict[str, Any] = {"factors": FACTORS, "target": "label"}
    return recombine.diff(*(recombine.audit(table(CELLS[:number]), **asked) for number in (13, 9)))


def a_lint(folder: Path) -> Any:
    return recombine.lint(table(CELLS), factors=FACTORS)


def a_split(folder: Path) -> Any:
    splitter = recombine.HoldOutCombinations(FACTORS, test_size=0.25)
    return recombine.split(table(CELLS), by=splitter, out=folder / "held.csv", column="side")


KINDS = {
    "audit": Kind(an_audit, recombine.Audit.load, draw),
    "prediction": Kind(a_prediction, recombine.Prediction.load, draw),
    "plan": Kind(a_plan, recombine.Plan.load, draw),
    "evaluation": Kind(an_evaluation, recombine.Evaluation.load, draw),
    "diff": Kind(a_diff, recombine.Diff.load, draw),
    "lint": Kind(a_lint, Lint.load),
    "probe": Kind(lambda folder: a_probe(), Probe.load, draw),
    "rehearsal": Kind(a_rehearsal, recombine.Rehearsal.load, draw),
    "split": Kind(a_split, Split.load),
    "run": Kind(lambda folder: run(0), Run.load),
    "study": Kind(lambda folder: a_study(), StudyResult.load, draw),
}


def in_words(ask: Callable[[], T]) -> T | None:
    """What comes of it; None where it is refused, with a reason and a way out."""
    try:
        return ask()
    except RecordError as refused:
        told = refused
    assert all((told.what, told.why, told.instead))
    return None


@dataclass(frozen=True)
class Saved:
    """A result that was saved, beside a copy that can be tampered with."""

    kind: Kind
    name: str
    result: Any
    folder: Path
    content: Any

    def tampered(self, content: Any) -> Any:
        """What loading gives after `record.json` was replaced; None where it is refused in words."""
        mutations.write(self.folder / records.FILE, content)
        return self.loaded()

    def loaded(self) -> Any:
        return in_words(lambda: self.kind.load(self.folder))

    def used(self, found: Any) -> None:
        """Everything that a user does with what was loaded: no other error than ours."""
        repr(found)
        if hasattr(found, "_repr_html_"):
            found._repr_html_()
        record = in_words(found.record)
        if record is not None:
            json.dumps(record.to_json(), allow_nan=False)
            self.page(lambda: record)

    def drawn(self) -> None:
        """The page of the folder as it is now."""
        self.page(lambda: records.load(self.folder, self.name))

    def page(self, record: Callable[[], Record]) -> None:
        draw = self.kind.page
        if draw is not None:
            in_words(lambda: draw(record()).encode())


@pytest.fixture(scope="module", params=sorted(KINDS))
def saved(request, tmp_path_factory) -> Saved:
    kind = KINDS[request.param]
    place = tmp_path_factory.mktemp(request.param)
    result = kind.made(place)
    folder = result.save(place / "saved")
    return Saved(kind, request.param, result, folder, json.loads((folder / records.FILE).read_text()))


PROPERTY = examples(120, suppress_health_check=[HealthCheck.function_scoped_fixture])
WHERE, HOW = st.integers(0, 10**6), st.integers(0, mutations.CHANGES - 1)


def pick(content: Any, where: int) -> mutations.Place:
    found = list(mutations.places(content))
    return found[where % len(found)]


def test_what_was_not_tampered_with_comes_back(saved: Saved) -> None:
    assert saved.tampered(saved.content) == saved.result
    assert saved.tampered(mutations.sealed(saved.content)) == saved.result
    saved.used(saved.result)
    saved.drawn()


@PROPERTY
@given(where=WHERE, how=HOW)
def test_an_edited_record_is_noticed(saved: Saved, where: int, how: int) -> None:
    content = mutations.changed(saved.content, pick(saved.content, where), how)
    found = saved.tampered(content)
    assert found is None or content == saved.content


@pytest.mark.slow
@examples(70, parent=PROPERTY)
@given(where=WHERE, how=HOW)
def test_a_change_behind_a_fresh_checksum_ends_in_words_or_in_another_result(
    saved: Saved, where: int, how: int
) -> None:
    found = saved.tampered(mutations.sealed(mutations.changed(saved.content, pick(saved.content, where), how)))
    if found is not None:
        saved.used(found)
    saved.drawn()


@pytest.mark.parametrize("damage", mutations.BYTES)
def test_bytes_that_are_no_record(saved: Saved, damage: str) -> None:
    before = json.dumps(saved.content).encode()
    (saved.folder / records.FILE).write_bytes(mutations.BYTES[damage](before))
    assert saved.loaded() is None


@pytest.mark.parametrize(("number", "words"), [(1, "an older version"), (99, "a newer version")])
def test_another_format_is_told_apart(saved: Saved, number: int, words: str) -> None:
    mutations.write(saved.folder / records.FILE, saved.content | {"format": number})
    with pytest.raises(RecordError, match=words) as error:
        saved.kind.load(saved.folder)
    assert "recombine" in error.value.instead


# Manifests


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("manifest")
    a_split(folder)
    return folder / "held.split.json"


@pytest.fixture
def copied(written: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(written.parent, folder, dirs_exist_ok=True)
    return folder / written.name


@PROPERTY
@given(where=WHERE, how=HOW)
def test_an_edited_manifest_is_noticed(copied: Path, where: int, how: int) -> None:
    content = json.loads(copied.read_text())
    edited = mutations.changed(content, pick(content, where), how)
    before = copied.read_bytes()
    mutations.write(copied, edited)
    found = in_words(lambda: manifest.read(copied))
    copied.write_bytes(before)
    assert found is None or edited == content


@examples(60, parent=PROPERTY)
@given(where=WHERE, how=HOW)
def test_a_manifest_changed_behind_a_fresh_checksum_ends_in_words(copied: Path, where: int, how: int) -> None:
    before = copied.read_bytes()
    content = json.loads(before)
    mutations.write(copied, mutations.sealed(mutations.changed(content, pick(content, where), how)))
    found = in_words(lambda: manifest.read(copied))
    copied.write_bytes(before)
    if found is not None:
        try:
            manifest.difference(found)
            assert found.folds or manifest.lint_again(found).verdict
        except RecombineError as refused:  # what it asks for is not in the table
            told = refused
            assert told.why, told.instead


@pytest.mark.parametrize("damage", mutations.BYTES)
def test_bytes_that_are_no_manifest(copied: Path, damage: str) -> None:
    copied.write_bytes(mutations.BYTES[damage](copied.read_bytes()))
    assert in_words(lambda: manifest.read(copied)) is None


@pytest.mark.parametrize(("number", "words"), [(1, "a split of an older version"), (99, "a split of a newer version")])
def test_a_manifest_of_another_format(copied: Path, number: int, words: str) -> None:
    mutations.write(copied, json.loads(copied.read_text()) | {"format": number})
    with pytest.raises(RecordError, match=words) as error:
        manifest.read(copied)
    assert "recombine split" in error.value.instead


@pytest.mark.parametrize("file", ["../secret.csv", "{tmp}/secret.csv", "sub/secret.csv", "..", ".hidden.csv", ""])
def test_a_manifest_names_a_table_beside_it(copied: Path, file: str) -> None:
    secret = copied.parent.parent / "secret.csv"
    secret.write_bytes((copied.parent / "held.csv").read_bytes())
    content = json.loads(copied.read_text()) | {"file": file.format(tmp=secret.parent)}
    mutations.write(copied, mutations.sealed(content))
    with pytest.raises(RecordError, match="cannot be the name of a file beside it"):
        manifest.read(copied)


def test_a_split_is_not_written_where_its_manifest_could_not_name_it(tmp_path: Path) -> None:
    splitter = recombine.HoldOutCombinations(FACTORS, test_size=0.25)
    with pytest.raises(SettingError, match="hidden"):
        recombine.split(table(CELLS), by=splitter, out=tmp_path / ".held.csv", column="side")
    assert list(tmp_path.iterdir()) == []


# Names and links in a record's folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return an_audit(tmp_path).save(tmp_path / "deep" / "saved")


@pytest.mark.parametrize("name", ["../outside", "{tmp}/outside", "sub/outside", ".outside", "", "..", "C:outside"])
def test_a_table_that_lies_elsewhere_is_not_read(tmp_path: Path, folder: Path, name: str) -> None:
    for place in (tmp_path, folder.parent):
        shutil.copy(folder / "values.parquet", place / "outside.parquet")
    content = json.loads((folder / records.FILE).read_text())
    content["tables"][name.format(tmp=tmp_path)] = content["tables"].pop("values")
    mutations.write(folder / records.FILE, mutations.sealed(content))
    with pytest.raises(RecordError, match="cannot be the name of a file beside it"):
        records.load(folder, "audit")


@pytest.mark.parametrize("name", ["values.parquet", "record.json"])
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError, match="a link that leads out of its folder"):
        records.load(folder, "audit")


def test_a_folder_may_be_reached_through_a_link(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    before = recombine.Audit.load(folder)
    (folder / "values.parquet").rename(folder / "kept.parquet")
    (folder / "values.parquet").symlink_to("kept.parquet")
    assert recombine.Audit.load(tmp_path / "link") == before
