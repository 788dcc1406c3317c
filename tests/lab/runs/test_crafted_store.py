"""A store made by somebody else: whatever its records say, nothing outside its folder is read or written."""

import hashlib
import json
import shutil
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from recombine.base.errors import OutputError, RecordError
from recombine.cli.app import app
from recombine_lab.runs.pruning import removable
from recombine_lab.runs.run import Run
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.run_list import list_runs
from recombine_lab.runs.store import Store
from tests import mutations
from tests.lab.runs.samples import run
from tests.properties import examples

PAYLOAD = b"ssh-ed25519 AAAA attacker"


def crafted(place: Path, name: str, at: str) -> tuple[Store, str]:
    """A store with one run, whose record names one file more; every checksum in it is right."""
    store, made = Store.open(place), run(0)
    store.put(made)
    mark = place / folder_of(made.key) / "record.json"
    content = json.loads(mark.read_text())
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    content["store"]["parts"][name] = {"at": at, "sha256": digest, "size": len(PAYLOAD)}
    mutations.write(mark, mutations.sealed(content))
    return store, made.key


@pytest.mark.parametrize(
    "name", ["../../escaped", "{tmp}/escaped", "a/escaped", "..", ".", ".hidden", "", "a\0b", "C:x"]
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    name = name.format(tmp=tmp_path)
    store, key = crafted(tmp_path / "store", name, "payload.bin")
    (tmp_path / "store" / folder_of(key) / "payload.bin").write_bytes(PAYLOAD)
    out = tmp_path / "deep" / "er" / "out"
    done = CliRunner().invoke(app, ["runs", "show", store.place, key, "--out", str(out)])
    assert isinstance(done.exception, RecordError), done.output
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.rglob("escaped")) == []


@pytest.mark.parametrize("name", ["../../escaped", "{tmp}/escaped", ".."])
def test_a_name_that_leads_out_of_a_shared_bucket_is_refused(s3, tmp_path: Path, name: str) -> None:
    place = f"s3://{s3.bucket}/{tmp_path.name}"
    crafted(tmp_path / "store", name.format(tmp=tmp_path), "payload.bin")
    files, root = fsspec.core.url_to_fs(place, **s3.options)
    files.put(str(tmp_path / "store"), root, recursive=True)
    files.pipe_file(f"{root}/{folder_of(run(0).key)}/payload.bin", PAYLOAD)
    out = tmp_path / "deep" / "er" / "out"
    done = CliRunner().invoke(app, ["runs", "show", place, run(0).key, "--out", str(out)], env=s3.environment)
    assert isinstance(done.exception, RecordError), done.output
    assert "cannot be the name of a file" in done.exception.why
    assert not out.exists()
    assert list(tmp_path.rglob("escaped")) == []


def test_the_weights_of_a_copied_run_are_not_read_through_a_link(tmp_path: Path) -> None:
    store, made = Store.open(tmp_path / "store"), run(0)
    store.put(made, files={"model.safetensors": PAYLOAD})
    copy = store.copy(made.key, tmp_path / "copy")
    (copy / "model.safetensors").rename(tmp_path / "elsewhere")
    (copy / "model.safetensors").symlink_to(tmp_path / "elsewhere")
    weights = Run.load(copy).weights
    assert weights is not None
    with pytest.raises(RecordError, match="leads out of its folder"):
        weights()


@pytest.mark.parametrize("at", ["../../../../secret", "{tmp}/secret", "sub/secret"])
def test_a_place_that_lies_elsewhere_is_not_read(tmp_path: Path, at: str) -> None:
    (tmp_path / "secret").write_bytes(PAYLOAD)
    store, key = crafted(tmp_path / "store", "model.safetensors", at.format(tmp=tmp_path))
    with pytest.raises(RecordError, match="is damaged"):
        store.file(key, "model.safetensors")


def test_a_record_does_not_name_itself_among_its_files(tmp_path: Path) -> None:
    store, key = crafted(tmp_path / "store", "record.json", "payload.bin")
    with pytest.raises(RecordError, match="which is itself"):
        store.summary(key)


@pytest.mark.parametrize("linked", ["curve.parquet", "record.json", ".", ".."])
def test_a_link_that_leads_out_of_the_store_is_not_followed(tmp_path: Path, linked: str) -> None:
    store, made = Store.open(tmp_path / "store"), run(0)
    store.put(made)
    path = (tmp_path / "store" / folder_of(made.key) / linked).resolve()
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError, match="leads out of the store"):
        store.get(made.key)


@pytest.mark.parametrize("linked", ["runs", "states", "failures", "tmp"])
def test_nothing_is_written_through_a_link_that_leads_out_of_the_store(tmp_path: Path, linked: str) -> None:
    store = Store.open(tmp_path / "store")
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(tmp_path / "store" / linked, ignore_errors=True)
    (tmp_path / "store" / linked).symlink_to(tmp_path / "elsewhere")
    writes = (
        lambda: store.put(run(0)),
        lambda: store.save_state("pack", b"state", {}),
        lambda: store.put_failure(run(0).configuration, "no room", attempt=1),
    )
    refused = 0
    for write in writes:
        try:
            write()
        except (OutputError, RecordError) as error:
            refused += "leads out of the store" in error.why
    assert refused == (3 if linked == "tmp" else 1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["..", ".", "../../x", "/etc/passwd", "a.b"])
def test_a_state_of_any_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    store = Store.open(tmp_path / "store")
    store.save_state(name, b"state", {})
    assert store.load_state(name) == (b"state", {})
    assert len(list((tmp_path / "store" / "states").iterdir())) == 1


def test_runs_of_the_first_format_are_still_read(tmp_path: Path) -> None:
    store, made = Store.open(tmp_path / "store"), run(0)
    store.put(made)
    mark = tmp_path / "store" / folder_of(made.key) / "record.json"
    content = json.loads(mark.read_text()) | {"format": 1}
    del content["sha256"]
    content["store"]["sha256"] = mutations.sealed(content)["sha256"]
    mutations.write(mark, content)
    assert store.get(made.key) == made
    content["steps"] += 1
    mutations.write(mark, content)
    with pytest.raises(RecordError, match="changed after it was written"):
        store.get(made.key)


def test_a_run_of_a_later_version_is_not_offered_for_removal(tmp_path: Path) -> None:
    store, made = Store.open(tmp_path / "store"), run(0)
    store.put(made)
    mark = tmp_path / "store" / folder_of(made.key) / "record.json"
    mutations.write(mark, json.loads(mark.read_text()) | {"format": 3})
    done = CliRunner().invoke(app, ["runs", "list", store.place])
    assert "1 other version" in done.output
    assert "prune" not in done.output
    assert removable(store, older=-60, status=["damaged"]) == ()
    with pytest.raises(RecordError, match="a run of a newer version"):
        store.get(made.key)


@examples(150)
@given(where=st.integers(0, 10**6), how=st.integers(0, mutations.CHANGES - 1), fresh=st.booleans())
def test_a_tampered_mark_ends_in_words_or_in_another_run(tmp_path_factory, where: int, how: int, fresh: bool) -> None:
    store, made = Store.open(tmp_path_factory.mktemp("marks")), run(0)
    store.put(made, files={"model.safetensors": b"weights"})
    mark = Path(store.place) / folder_of(made.key) / "record.json"
    before = json.loads(mark.read_text())
    places = list(mutations.places(before))
    content = mutations.changed(before, places[where % len(places)], how)
    mutations.write(mark, mutations.sealed(content) if fresh else content)
    list_runs(store, check=True)
    try:
        found = store.get(made.key)
    except RecordError:
        return
    assert fresh or found == made
    assert repr(found)
    assert found.record().kind == "run"
