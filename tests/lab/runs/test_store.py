"""The store: what is put comes back, what is damaged is refused, and no run is ever half there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base import records
from recombine.base.errors import OutputError, RecordError, SettingError
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import configuration, run
from tests.properties import examples

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SPEC = st.dictionaries(st.text(min_size=1, max_size=5), PLAIN, max_size=4)


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


def folder(store, made) -> Path:
    return Path(store.place) / folder_of(made.key)


# Keys


@given(spec=SPEC, seed=st.integers(0, 5))
def test_a_key_does_not_depend_on_the_order_of_settings(spec, seed):
    turned = dict(reversed(spec.items()))
    one, other = (Configuration(task=s, split={}, model={}, recipe={}, seed=seed, code="1") for s in (spec, turned))
    assert one.key == other.key
    assert Configuration(**json.loads(json.dumps(one.plain()))).key == one.key


def test_a_key_depends_on_everything():
    changes = [{"task": {"values": 6}}, {"split": {"name": "donut"}}, {"model": {"width": 17}}, {"recipe": {"lr": 0.1}}]
    keys = {configuration(0, **change).key for change in [{}, *changes, {"code": "0.1.0+abd"}]}
    assert len(keys | {configuration(1).key}) == len(changes) + 3


# There and back


def test_a_run_comes_back(store):
    made = run(3)
    assert not store.has(made.key)
    assert store.put(made, files={"model.safetensors": b"weights"})
    assert store.has(made.key)
    assert store.keys() == {made.key}
    assert store.get(made.key) == made
    assert store.file(made.key, "model.safetensors") == b"weights"
    assert store.faults(made.key) == []


def test_the_first_one_stays(store):
    assert store.put(run(0, note="first"))
    assert not store.put(run(0, note="second"))
    assert store.get(run(0).key).provenance.settings == {"note": "first"}


@given(spec=SPEC, metrics=st.dictionaries(st.text(max_size=6), st.none() | st.floats(), max_size=3))
@examples(25)
def test_any_run_comes_back(tmp_path_factory, spec, metrics):
    store = Store.open(tmp_path_factory.mktemp("any"))
    made = Run(**(vars(run(0)) | {"configuration": configuration(0, task=spec), "metrics": metrics}))
    assert store.put(made)
    assert store.get(made.key) == made


def test_what_is_not_a_number_is_not_there(store):
    made = run(0, unseen=float("nan"))
    store.put(made)
    assert store.get(made.key).metrics["unseen.score"] is None


@pytest.mark.parametrize("place", ["folder", "memory://without-tables"])
def test_a_run_without_tables(place, tmp_path):
    store = Store.open(place if "://" in place else tmp_path / place)
    made = Run(**(vars(run(0)) | {"tables": {}}))
    assert store.put(made)
    assert store.get(made.key) == made


def test_the_files_are_plain(store):
    made = run(0)
    store.put(made)
    assert pd.read_parquet(folder(store, made) / "curve.parquet")["step"].tolist() == [0, 0, 100, 100]
    assert Run.from_record(records.load(folder(store, made), "run")) == made
    assert json.loads((folder(store, made) / "record.json").read_text())["metrics"]["seen.score"] == 0.9


def test_a_store_is_opened_again(store):
    store.put(run(0))
    assert Store.open(store.place).keys() == Store.open(f"file://{store.place}").keys() == {run(0).key}


@pytest.mark.parametrize("name", ["record.json", "../x.json", ".hidden", "more.parquet", "a/b", ""])
def test_names_that_a_file_cannot_have(store, name):
    with pytest.raises(SettingError, match="cannot be a file of a run"):
        store.put(run(0), files={name: b""})
    assert store.keys() == set()


def test_a_table_with_a_dot_in_its_name_is_refused(store):
    with pytest.raises(SettingError, match=r"'a\.b' cannot be"):
        store.put(Run(**(vars(run(0)) | {"tables": {"a.b": pa.table({"x": [1]})}})))


def test_a_run_or_file_that_is_not_there(store):
    store.put(run(0))
    with pytest.raises(RecordError, match="no finished run has this key"):
        store.get("0" * 32)
    with pytest.raises(RecordError, match=r"it holds combinations\.parquet, curve\.parquet"):
        store.file(run(0).key, "model.safetensors")
    with pytest.raises(SettingError, match="is not the key of a run"):
        store.has("../../etc")


def test_a_removed_run_can_be_put_again(store):
    store.put(run(0))
    store.remove(run(0).key)
    assert store.keys() == set()
    assert store.put(run(0))


# Damage


@examples(60)
@given(at=st.integers(0, 10**6), bit=st.integers(0, 7), which=st.integers(0, 10**6))
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory, at, bit, which):
    store = Store.open(tmp_path_factory.mktemp("flipped"))
    made = run(0)
    store.put(made, files={"model.safetensors": b"weights"})
    files = sorted(path for path in folder(store, made).iterdir())
    path = files[which % len(files)]
    before = path.read_bytes()
    content = bytearray(before)
    content[at % len(content)] ^= 1 << bit
    path.write_bytes(content)
    if path.name == "model.safetensors":  # read only when it is asked for
        with pytest.raises(RecordError, match="is damaged"):
            store.file(made.key, path.name)
        assert store.get(made.key) == made
    elif path.name == "record.json" and _meaning(content) == _meaning(before):
        assert store.get(made.key) == made  # one blank for another, between the words
    else:
        with pytest.raises(RecordError, match="is damaged") as error:
            store.get(made.key)
        assert "runs prune" in error.value.instead
        assert store.faults(made.key) != []


def _meaning(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def test_a_table_that_is_gone(store):
    store.put(run(0))
    (folder(store, run(0)) / "curve.parquet").unlink()
    with pytest.raises(RecordError, match="it is gone"):
        store.get(run(0).key)


def test_scores_that_were_edited(store):
    store.put(run(0))
    path = folder(store, run(0)) / "record.json"
    path.write_text(path.read_text().replace('"unseen.score": 0.5', '"unseen.score": 0.9'))
    with pytest.raises(RecordError, match="changed after it was written"):
        store.get(run(0).key)


def test_a_run_under_the_wrong_key(store):
    store.put(run(0))
    wrong = folder(store, run(1))
    wrong.parent.mkdir(exist_ok=True)
    shutil.copytree(folder(store, run(0)), wrong)
    with pytest.raises(RecordError, match="settings are those of another run"):
        store.get(run(1).key)


# What is not a store, or not of this version


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    for create, instead in ((True, "an empty folder"), (False, "recombine sweep")):
        with pytest.raises(RecordError, match=r"holds no store.json, but other things: thesis.tex") as error:
            Store.open(tmp_path, create=create)
        assert instead in error.value.instead
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_without_a_store(tmp_path):
    with pytest.raises(RecordError, match="no run store in"):
        Store.open(tmp_path / "absent", create=False)
    assert not (tmp_path / "absent").exists()


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="it is a file"):
        Store.open(tmp_path / "file")
    with pytest.raises(RecordError, match="Not a directory"):
        Store.open(tmp_path / "file" / "below")


def test_a_place_that_cannot_be_written_to():
    with pytest.raises(OutputError, match="cannot write to the run store"):
        Store.open("/proc/runs")


@pytest.mark.parametrize(
    ("change", "words", "instead"),
    [
        ({"format": 0}, "of an older version", "start a new store"),
        ({"format": 3}, "of a newer version", "pip install --upgrade"),
        ({"kind": "diary"}, "not a run store", "restore store.json"),
        (None, "not a run store", "restore store.json"),
    ],
)
def test_a_store_of_another_version(store, change, words, instead):
    head = Path(store.place) / "store.json"
    head.write_text("{" if change is None else json.dumps(json.loads(head.read_text()) | change))
    with pytest.raises(RecordError, match=words) as error:
        Store.open(store.place)
    assert instead in error.value.instead


def test_a_place_that_nothing_reaches():
    with pytest.raises(SettingError, match="is no place for runs"):
        Store.open("s4://bucket/runs")


# States and failures


@given(name=st.text(min_size=1, max_size=20), state=st.binary(max_size=50), meta=SPEC)
@examples(40)
def test_a_state_comes_back(tmp_path_factory, name, state, meta):
    store = Store.open(tmp_path_factory.mktemp("state"))
    assert store.load_state(name) is None
    store.save_state(name, b"before", {})
    store.save_state(name, state, meta)
    assert store.load_state(name) == (state, meta)
    store.drop_state(name)
    store.drop_state(name)
    assert store.load_state(name) is None
    assert store.keys() == set()


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:5], lambda b: b"", lambda b: b[:-1] + b"?"])
def test_a_torn_state_is_none(store, damage):
    store.save_state("pack", b"0123456789", {"step": 3})
    (path,) = (Path(store.place) / "states").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert store.load_state("pack") is None


def test_a_state_whose_notes_were_edited_is_none(store):
    store.save_state("pack", b"0123456789", {"step": 3})
    (path,) = (Path(store.place) / "states").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"step": 3', b'"step": 9'))
    assert store.load_state("pack") is None


def test_failures_are_notes(store):
    store.put_failure(configuration(1), "no room", attempt=1)
    store.put_failure(configuration(1), "no luck", attempt=2)
    assert [(one.key, one.attempt, one.reason) for one in store.failures()] == [
        (configuration(1).key, 1, "no room"),
        (configuration(1).key, 2, "no luck"),
    ]
    assert not store.has(configuration(1).key)
    (Path(store.place) / "failures" / configuration(1).key / "1.json").write_text("{")
    assert len(store.failures()) == 1
    store.drop_failures(configuration(1).key)
    assert store.failures() == ()


# Disks that are full


def _with_small_files(place: str) -> str:
    """A process that may write no file above 1,500 bytes: what it says when it puts a run."""
    code = f"""
import resource
from recombine.base.errors import OutputError
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import run
store = Store.open({place!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))
try:
    store.put(run(0))
except OutputError as error:
    print(error)
print(store.keys())
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    return done.stdout


@pytest.mark.process
def test_a_file_that_finds_no_room(store):
    said = _with_small_files(store.place)
    assert "cannot write to the run store" in said
    assert "File too large" in said
    assert "runs that are finished are safe" in said
    assert said.splitlines()[-1] == "set()"
    assert list((Path(store.place) / "tmp").iterdir()) == []
    assert store.put(run(0))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own with room for a few runs, where the machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_disk_that_is_full(small_disk):
    store = Store.open(small_disk / "store")
    written = _until_full(store)
    assert 1 < len(written) < 100
    assert store.keys() == set(written)
    assert [store.faults(key) for key in written] == [[]] * len(written)
    with pytest.raises(OutputError, match="No space left on device"):
        store.save_state("pack", os.urandom(200_000), {})
    assert store.load_state("pack") is None
    store.remove(written[0])
    assert store.put(run(1000))


def _until_full(store: Store) -> list[str]:
    """The keys of the runs for which there was room."""
    written = []
    for seed in range(100):
        made = run(seed)
        try:
            store.put(made)
        except OutputError as error:
            told = error.why
            break
        written.append(made.key)
    assert told == "No space left on device"
    return written


def test_what_lies_in_the_way_without_a_mark_makes_way(store):
    target = folder(store, run(0))
    target.mkdir(parents=True)
    (target / "curve.parquet").write_bytes(b"half")
    assert store.keys() == set()
    assert store.put(run(0))
    assert store.get(run(0).key) == run(0)


def test_a_run_that_another_writer_put_there_meanwhile_stays(store):
    """Between two looks at a folder without a mark another writer may have filled it."""
    target = folder(store, run(0))
    store.put(run(0))
    store.files._clear(target, "record.json")
    assert store.get(run(0).key) == run(0)


def test_a_head_that_is_nested_without_end_is_no_store(tmp_path):
    Store.open(tmp_path / "store")
    (tmp_path / "store" / "store.json").write_text("[" * 100_000)
    with pytest.raises(RecordError, match="is not a run store"):
        Store.open(tmp_path / "store")
