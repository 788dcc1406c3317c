"""Sweeps in this process: what is there is skipped, what fails is told, what is written is what `fit` gives."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from recombine.base.errors import OutputError, RecordError, SettingError, SourceError
from recombine.base.records import Provenance
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.store import Store
from recombine_lab.sweeps import sweep as room
from recombine_lab.sweeps.grid import read_plan
from recombine_lab.sweeps.queue import Report, WorkerPool
from recombine_lab.sweeps.ray_pool import connect
from recombine_lab.sweeps.sweep import InterruptedSweep, StoppedSweepError, sweep
from recombine_lab.sweeps.worker import folders_of, outcome_of, work
from recombine_lab.training.fit import fit

SMALL = {
    "tasks": {"name": "addition"},
    "splits": "hold_out_combinations",
    "models": {"name": "mlp", "hidden": [4]},
    "recipes": {"steps": 3, "test_samples": 20, "samples": 20, "batch": 10, "evaluations": 2, "together": "never"},
    "seeds": 4,
}


def made(configuration, status="finished"):
    """A run as a worker would write it, without the work."""
    return Run(
        configuration=configuration,
        status=status,
        reason=None,
        steps=3,
        seconds=0.5,
        together=1,
        metrics={"unseen.score": 0.5},
        tables={"curve": pa.table({"step": [3]})},
        provenance=Provenance(source="test"),
    )


class Scripted(WorkerPool):
    """Workers that do what a test says: a function of (pack, how often its first run was tried) gives the report."""

    def __init__(self, store, script):
        self.store, self.script, self.tried, self.stopped = store, script, {}, False
        self.queue = []

    def free(self):
        return 2 - len(self.queue)

    def size(self):
        return 2

    def start(self, number, pack):
        self.queue.append((number, pack))

    def ended(self):
        number, pack = self.queue.pop(0)
        times = self.tried[pack[0].key] = self.tried.get(pack[0].key, 0) + 1
        report = self.script(pack, times)
        return {number: report if report is not None else self.done(pack)}

    def done(self, pack):
        runs = [made(one) for one in pack]
        for one in runs:
            self.store.put(one)
        return Report(outcomes=tuple(map(outcome_of, runs)), host="here", seconds=1.0)

    def stop(self):
        self.stopped = True


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """A sweep by scripted workers."""

    def start(script):
        workers = Scripted(Store.open(tmp_path / "store"), script)
        monkeypatch.setattr(room, "start_pool", lambda place, **_: workers)
        return workers

    return start


def swept(tmp_path, plan=SMALL, **options):
    return sweep(plan, store=tmp_path / "store", progress=None, **options)


def same(one, other):
    """Bit for bit, but for when it was made and how long that took."""
    mine, theirs = one.record(), other.record()
    timeless = [{**record.data, "seconds": None} for record in (mine, theirs)]
    return timeless[0] == timeless[1] and dict(mine.tables) == dict(theirs.tables)


def test_runs_of_a_sweep_are_those_of_fit(tmp_path):
    result = swept(tmp_path, workers=0)
    assert (result.finished, result.skipped, result.failed, result.left, result.complete) == (4, 0, 0, 0, True)
    alone = fit(SMALL["tasks"], SMALL["splits"], SMALL["models"], SMALL["recipes"], seeds=range(4), progress=None)
    store = Store.open(tmp_path / "store")
    assert all(same(store.get(run.key), run) for run in alone)
    assert not same(store.get(alone[0].key), alone[1])
    again = swept(tmp_path, plan=SMALL | {"seeds": 5}, workers=0)
    assert (again.finished, again.skipped) == (1, 4)
    assert swept(tmp_path, workers=0).skipped == 4


def test_nothing_is_hired_where_nothing_is_left(tmp_path, pool, monkeypatch):
    pool(lambda pack, times: None)
    swept(tmp_path)
    monkeypatch.setattr(room, "start_pool", None)
    assert swept(tmp_path).skipped == 4


def damage(store, keys):
    """A table cut off, a mark edited, a file gone: one each."""
    for number, key in enumerate(keys):
        folder = Path(store.place) / folder_of(key)
        if number % 3 == 0:
            (folder / "curve.parquet").write_bytes(b"PAR1")
        elif number % 3 == 1:
            mark = folder / "record.json"
            mark.write_text(mark.read_text().replace('"status": "finished"', '"status": "diverged"'))
        else:
            (folder / "curve.parquet").unlink()


def test_damaged_runs_are_not_skipped_but_trained_again(tmp_path, pool):
    workers = pool(lambda pack, times: None)
    keys = swept(tmp_path).keys
    damage(workers.store, keys[:3])
    again = swept(tmp_path)
    assert (again.finished, again.skipped, again.complete) == (3, 1, True)
    assert set(again.damaged) == set(keys[:3])
    assert "bytes instead of" in again.damaged[keys[0]]
    assert [workers.store.faults(key) for key in keys] == [[]] * 4
    last = swept(tmp_path)
    assert (last.skipped, last.damaged) == (4, {})


def test_a_damaged_run_goes_only_when_it_is_trained_again(tmp_path, pool):
    workers = pool(lambda pack, times: None)
    keys = swept(tmp_path).keys
    damage(workers.store, keys[:1])

    def interrupted(pack, times):
        raise KeyboardInterrupt

    pool(interrupted)
    (tmp_path / "store" / folder_of(keys[1]) / "curve.parquet").write_bytes(b"")
    with pytest.raises(InterruptedSweep) as stopped:
        swept(tmp_path, pack=1)
    assert (stopped.value.result.skipped, stopped.value.result.left) == (2, 2)


def test_a_run_that_another_sweep_has_just_mended_stays(tmp_path, pool, monkeypatch):
    workers = pool(lambda pack, times: None)
    (key, *_) = swept(tmp_path).keys
    looks = iter([{key: "cut off"}, {}])  # damaged at the first look, whole again when it is handed out
    monkeypatch.setattr(room, "damaged_runs", lambda store, keys: next(looks))
    monkeypatch.setattr(Store, "remove", None)
    assert swept(tmp_path).complete
    assert workers.store.faults(key) == []


def test_a_run_of_a_later_version_is_not_taken_for_damaged(tmp_path, pool):
    workers = pool(lambda pack, times: None)
    keys = swept(tmp_path).keys
    mark = Path(workers.store.place) / folder_of(keys[0]) / "record.json"
    mark.write_text(mark.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(RecordError, match="a run of a newer version"):
        swept(tmp_path)
    assert workers.store.has(keys[0])


def test_a_bad_run_does_not_take_the_others_with_it(tmp_path, pool):
    bad = read_plan(SMALL).runs[1].key
    workers = pool(
        lambda pack, times: (
            Report(fault="program", reason="ValueError: unlucky") if bad in [one.key for one in pack] else None
        )
    )
    result = swept(tmp_path, retries=2)
    assert (result.finished, result.failed, result.left) == (3, 1, 0)
    assert result.failures == {bad: "ValueError: unlucky"}
    (failure,) = workers.store.failures()
    assert (failure.key, failure.reason, failure.attempt) == (bad, "ValueError: unlucky", 3)
    assert workers.tried[bad] == 3  # by itself; before that with its pack
    assert workers.stopped
    pool(lambda pack, times: None)
    assert swept(tmp_path).complete
    assert workers.store.failures() == ()


def test_a_lost_worker_costs_nothing_but_time(tmp_path, pool):
    pool(lambda pack, times: Report(fault="worker", reason="gone") if times == 1 else None)
    result = swept(tmp_path)
    assert (result.finished, result.failed) == (4, 0)


def test_trouble_is_told_of_runs_that_it_befell(tmp_path, pool, capfd):
    """A worker that dies after it wrote one run of its pack is no trouble of that run."""
    first, second, *_ = read_plan(SMALL).runs

    def script(pack, times):
        if times > 1:
            return None
        workers.store.put(made(pack[0]))
        return Report(fault="worker", reason="gone")

    workers = pool(script)
    sweep(SMALL, store=tmp_path / "store", pack=2)
    told = " ".join(capfd.readouterr().err.split())
    assert f"trouble with {second.key[:8]}" in told
    assert f"trouble with {first.key[:8]}" not in told
    pool(script)
    workers.store.remove(first.key)
    sweep(SMALL, store=tmp_path / "store")
    assert "gone; its run was finished before" in " ".join(capfd.readouterr().err.split())


def test_diverged_runs_are_results(tmp_path, pool):
    def script(pack, times):
        runs = [made(one, "diverged") for one in pack]
        for one in runs:
            workers.store.put(one)
        return Report(outcomes=tuple(map(outcome_of, runs)), host="here")

    workers = pool(script)
    assert (swept(tmp_path).diverged, swept(tmp_path).skipped) == (4, 4)


def test_an_interrupt_says_what_is_safe(tmp_path, pool):
    def script(pack, times):
        workers.done(pack)  # finished, but not told
        raise KeyboardInterrupt

    workers = pool(script)
    with pytest.raises(InterruptedSweep) as stopped:
        swept(tmp_path)
    result = stopped.value.result
    assert (result.finished, result.left) == (2, 2)
    assert workers.stopped
    pool(lambda pack, times: None)
    assert (swept(tmp_path).finished, len(workers.store.keys())) == (2, 4)


def test_a_full_store_stops_the_sweep_with_words(tmp_path, pool):
    workers = pool(lambda pack, times: Report(fault="store", reason="No space left on device"))
    with pytest.raises(StoppedSweepError, match="No space left on device") as stopped:
        swept(tmp_path)
    assert stopped.value.result.left == 4
    assert workers.stopped
    assert isinstance(stopped.value, OutputError)


def test_a_store_that_is_elsewhere_on_a_machine_is_noticed(tmp_path, pool):
    def script(pack, times):
        return Report(outcomes=tuple(outcome_of(made(one)) for one in pack), host="far")

    pool(script)
    with pytest.raises(Exception, match="far says that its runs are finished, but they are not in"):
        swept(tmp_path)


def test_what_a_worker_says_of_trouble(tmp_path):
    Store.open(tmp_path / "store")
    (run, *_) = read_plan(SMALL).runs

    def told(place, **changes):
        return work((Configuration(**(run.plain() | changes)),), [], str(place))

    assert told(tmp_path / "none").fault == "store"
    assert "no run store" in told(tmp_path / "none").reason
    other = told(tmp_path / "store", code="0.0.0+other")
    assert (other.fault, "the sweep was started with 0.0.0+other" in other.reason) == ("store", True)
    wrong = told(tmp_path / "store", model={"name": "mpl"})
    assert (wrong.fault, "did you mean 'mlp'?" in wrong.reason) == ("mistake", True)
    well = told(tmp_path / "store")
    assert (well.fault, well.outcomes[0].status, well.outcomes[0].part) == (None, "finished", "unseen")


def test_a_model_that_raises_is_the_programs_fault(tmp_path, monkeypatch):
    def unlucky(*_, **__):
        raise ValueError("unlucky")

    monkeypatch.setattr("recombine_lab.sweeps.worker.train", unlucky)
    Store.open(tmp_path / "store")
    pack = read_plan(SMALL).runs[:1]
    report = work(pack, folders_of(pack), str(tmp_path / "store"))
    assert report.fault == "program"
    assert report.reason.startswith("ValueError: unlucky (test_sweep.py, line ")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"workers": -1}, "-1 workers"),
        ({"retries": -1}, "-1 retries"),
        ({"workers": 0, "address": "auto"}, "no workers at the cluster 'auto'"),
        ({"workers": 0, "pack": 0}, "packs of 0 runs"),
    ],
)
def test_options_that_mean_nothing(options, what, tmp_path):
    with pytest.raises(SettingError, match=what):
        swept(tmp_path, **options)


def test_a_store_of_another_version_is_refused(tmp_path):
    Store.open(tmp_path / "store")
    head = tmp_path / "store" / "store.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"format": 0}))
    with pytest.raises(RecordError, match="a run store of an older version"):
        swept(tmp_path, workers=0)


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.tex").write_text("mine")
    with pytest.raises(RecordError, match="is not a run store"):
        swept(tmp_path, workers=0)


@pytest.mark.skipif(os.geteuid() != 0 and os.name == "posix", reason="as a user, the next test says the same")
def test_no_permission_ends_in_words_as_root():
    with pytest.raises(OutputError, match="cannot write to the run store"):
        sweep(SMALL, store="/proc/recombine-runs", workers=0, progress=None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_ends_in_words(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot write to the run store"):
        swept(tmp_path, workers=0)


def sound(store):
    """Whether every byte of every run is as it was written."""
    keys = store.keys()
    return not any(store.faults(key) for key in keys)


@contextmanager
def small_disk(folder, pages):
    """A file system of its own with so many pages of 4 KiB."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={4 * pages}k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.process
def test_a_full_disk_loses_nothing_and_the_sweep_goes_on_when_there_is_room(tmp_path):
    disk, eight = tmp_path / "disk", SMALL | {"seeds": 8}
    with small_disk(disk, pages=40):
        with pytest.raises(StoppedSweepError, match="No space left on device") as stopped:
            sweep(eight, store=disk / "store", workers=0, retries=1, progress=None)
        kept = stopped.value.result
        store = Store.open(disk / "store")
        assert 0 < kept.finished < 8
        assert len(store.keys()) == kept.finished
        assert sound(store)
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        result = sweep(eight, store=disk / "store", workers=0, progress=None)
        assert (result.finished, result.skipped) == (8 - kept.finished, kept.finished)
        assert sound(store)
        alone = fit(SMALL["tasks"], SMALL["splits"], SMALL["models"], SMALL["recipes"], seeds=range(8), progress=None)
        assert all(same(store.get(run.key), run) for run in alone)


def test_a_node_that_starts_too_slowly_ends_in_words() -> None:
    """On a busy machine Ray gives up with a plain exception of its own."""

    def init(**_: Any) -> None:
        raise Exception("The current node timed out during startup.")

    with pytest.raises(SourceError, match=r"(?s)does not start on this machine.*--workers 0"):
        connect(SimpleNamespace(init=init), None, 1)
