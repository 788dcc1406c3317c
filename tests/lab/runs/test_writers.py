"""Many writers of one store, in a folder and on a real S3 server: each run there once, each of them sound."""

import json
import multiprocessing
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest

from recombine.base import records
from recombine.base.errors import RecordError
from recombine_lab.runs.pruning import removable, remove
from recombine_lab.runs.run import Run
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.run_list import list_runs
from recombine_lab.runs.storage import FolderStorage, ObjectStorage
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import run
from tests.lab.runs.writers import write_all

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.engine)])
def place(request, tmp_path) -> tuple[str, dict[str, Any]]:
    """A place for a store, and what it takes to reach it."""
    if request.param == "folder":
        return str(tmp_path / "store"), {}
    server = request.getfixturevalue("s3")
    return f"s3://{server.bucket}/{tmp_path.name}", server.options


def opened(place: tuple[str, dict[str, Any]], **more: Any) -> Store:
    return Store.open(place[0], **place[1], **more)


def test_everything_a_store_does(place):
    store = opened(place)
    made = run(0)
    assert store.put(made, files={"model.safetensors": b"weights"})
    assert not store.put(run(0, note="later"))
    assert (store.has(made.key), store.has(run(1).key), store.keys()) == (True, False, {made.key})
    assert store.get(made.key) == made
    assert store.file(made.key, "model.safetensors") == b"weights"
    store.save_state("pack 1/2", b"state", {"step": 3})
    store.save_state("pack 1/2", b"later", {"step": 4})
    assert store.load_state("pack 1/2") == (b"later", {"step": 4})
    store.drop_state("pack 1/2")
    assert store.load_state("pack 1/2") is None
    store.put_failure(run(1).configuration, "no luck", attempt=1)
    assert [line.status for line in list_runs(opened(place, create=False))] == ["finished", "failed"]
    store.remove(made.key)
    store.drop_failures(run(1).key)
    assert list_runs(store) == []


@pytest.mark.slow
def test_many_writers_at_once(place):
    count, threads = (150, 8) if not place[1] else (10, 4)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        tasks = [pool.submit(write_all, *place, count, threads) for _ in range(2)]
        written = sum(task.result() for task in tasks)
    store = opened(place)
    assert store.keys() == {run(seed).key for seed in range(count)}
    assert all(store.faults(run(seed).key) == [] for seed in range(count))
    # A folder tells exactly one writer of each run that it was the one; of objects the later one stands.
    assert written == count if not place[1] else count <= written <= 2 * count


def test_two_writers_of_one_run_leave_a_sound_one(place, monkeypatch):
    """The second one comes when the first has written everything but what makes it believed."""
    first, second = run(0, note="first"), run(0, note="second", unseen=0.25)
    owner, method = (ObjectStorage, "write") if place[1] else (FolderStorage, "_move")
    step = getattr(owner, method)
    store = opened(place)

    def interrupted(self, *given):
        monkeypatch.setattr(owner, method, step)
        assert store.put(second, files={"model.safetensors": b"second"})
        return step(self, *given)

    monkeypatch.setattr(owner, method, interrupted)
    assert store.put(first, files={"model.safetensors": b"first"}) is bool(place[1])
    stands = first if place[1] else second
    assert store.faults(first.key) == []
    assert store.get(first.key) == stands
    left = [one.name.rpartition("/")[2].split(".")[0] for one in removable(store, older=-10)]
    assert sorted(left) == (["curve", "model"] if place[1] else [])  # the tables that are equal are shared
    remove(store, removable(store, older=-10))
    assert store.get(first.key) == stands
    assert store.faults(first.key) == []


@pytest.mark.process
def test_a_writer_that_is_killed_before_the_mark(place):
    command = [sys.executable, "-m", "tests.lab.runs.writers", place[0], json.dumps(place[1])]
    opened(place)
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    store = opened(place)
    assert (store.keys(), store.has(run(0).key), list_runs(store)) == (set(), False, [])
    assert removable(store) == ()  # it may be at work still
    found = removable(store, older=-10)
    assert sum(one.size for one in found) > 1000
    remove(store, found)
    assert removable(store, older=-10) == ()
    assert store.put(run(0))
    assert store.get(run(0).key) == run(0)


def test_a_table_that_was_tampered_with(place):
    store = opened(place)
    store.put(run(0))
    store.put(run(1))
    part = store.summary(run(0).key).parts["curve.parquet"]
    store.files.write(f"{folder_of(run(0).key)}/{part.at}", b"x" * (part.size - 1))
    with pytest.raises(RecordError, match="is damaged"):
        store.get(run(0).key)
    assert {line.seed: line.status for line in list_runs(store)} == {0: "damaged", 1: "finished"}
    store.files.write(f"{folder_of(run(0).key)}/{part.at}", b"x" * part.size)
    assert {line.seed: line.status for line in list_runs(store, check=True)} == {0: "damaged", 1: "finished"}


@pytest.mark.canary
def test_a_store_of_objects_can_be_copied_to_a_folder(s3, tmp_path):
    place = f"s3://{s3.bucket}/{tmp_path.name}"
    Store.open(place, **s3.options).put(run(0), files={"model.safetensors": b"weights"})
    files, root = fsspec.core.url_to_fs(place, **s3.options)
    files.get(f"{root}/", f"{tmp_path}/copy/", recursive=True)
    store = Store.open(tmp_path / "copy")
    assert store.get(run(0).key) == run(0)
    assert store.file(run(0).key, "model.safetensors") == b"weights"
    assert not store.put(run(0))
    assert Run.from_record(records.load(tmp_path / "copy" / folder_of(run(0).key), "run")) == run(0)


def test_a_bucket_that_is_not_there(s3):
    with pytest.raises(RecordError, match="no run store in"):
        Store.open("s3://absent/runs", create=False, **s3.options)


def test_a_server_that_is_not_there(s3):
    options = s3.options | {
        "client_kwargs": {"endpoint_url": "http://127.0.0.1:9"},
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    with pytest.raises(RecordError, match="see that the place can be reached"):
        Store.open("s3://runs/x", **options)
