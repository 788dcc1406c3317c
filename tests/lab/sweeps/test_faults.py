"""A real Ray cluster of three nodes, and what may befall it. The full version is `benchmarks/sweep_faults.py`."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml

from recombine_lab.runs.store import Store
from recombine_lab.training.fit import fit
from tests.lab.sweeps.machines import machines, wait_for
from tests.lab.sweeps.test_sweep import same, sound

RUNS = 40
GRID = {
    "tasks": {"name": "addition"},
    "splits": "hold_out_combinations",
    "models": {"name": "mlp", "hidden": [8]},
    "recipes": {"steps": 100, "samples": 40, "test_samples": 40, "batch": 20, "evaluations": 2, "together": "never"},
    "seeds": RUNS,
}
GONE = "the Ray node that this sweep had joined is gone"
COMMAND = [sys.executable, "-c", "from recombine.cli import main; main()", "sweep", "sweep.yaml"]


@pytest.fixture
def here(tmp_path):
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({"store": "runs", **GRID}))
    return tmp_path


@pytest.fixture(scope="module")
def alone():
    """The same runs, each trained by `fit` in this process."""
    parts = (GRID["tasks"], GRID["splits"], GRID["models"], GRID["recipes"])
    return {run.key: run for run in fit(*parts, seeds=range(RUNS), progress=None)}


def begun(here, *words):
    """A sweep in a session of its own, as a terminal would start it."""
    with (here / "log").open("ab") as log:
        return subprocess.Popen([*COMMAND, *words], cwd=here, stdout=log, stderr=log, start_new_session=True)


def holds(here, sweep, least):
    """Wait until the store holds so many runs."""

    def enough():
        return (here / "runs" / "store.json").exists() and len(Store.open(here / "runs").keys()) >= least

    wait_for(enough, alive=lambda: sweep.poll() is None)


def said(here):
    return (here / "log").read_text()


def says(here, sweep, words):
    """Wait until the sweep has told of something."""
    wait_for(lambda: words in said(here), alive=lambda: sweep.poll() is None)


def check(here, alone):
    """Every run once, sound, and bit for bit what it would have been by itself."""
    store = Store.open(here / "runs")
    assert store.keys() == set(alone)
    assert len(list((here / "runs" / "runs").glob("*/*/record.json"))) == RUNS
    assert sound(store)
    assert all(same(store.get(key), run) for key, run in alone.items())


@pytest.mark.cluster
@pytest.mark.timeout(900)  # Ray starts six times; on a busy machine that alone takes minutes
def test_a_killed_process_an_interrupt_and_a_killed_node_lose_nothing(here, alone):
    with machines(3) as cluster:
        sweep = begun(here, "--address", cluster.address, "--pack", "2")
        holds(here, sweep, 4)
        cluster.kill_worker()
        says(here, sweep, "its process was lost")
        holds(here, sweep, 8)
        os.killpg(sweep.pid, signal.SIGINT)
        assert sweep.wait() == 130
        wait_for(lambda: not cluster.busy())
        store = Store.open(here / "runs")
        told = int(re.search(rf"(\d+) of {RUNS} runs are finished and kept", said(here))[1])
        assert 8 <= told <= len(store.keys()) < RUNS
        assert sound(store)
        sweep = begun(here, "--address", cluster.address, "--pack", "2")
        holds(here, sweep, len(store.keys()) + 4)
        cluster.kill_node()  # what it was training comes back only when Ray has noticed, so the end waits for that
        assert sweep.wait() == 0
    assert "the machine was lost" in said(here)
    assert f"All {RUNS} runs are in the store." in said(here)
    check(here, alone)


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_a_sweep_whose_own_node_is_gone_says_so_and_loses_nothing(here, alone):
    with machines(2) as cluster:
        sweep = begun(here, "--address", cluster.address, "--pack", "2")
        holds(here, sweep, 4)
        cluster.kill_nodes()
        assert sweep.wait() == 2
    assert GONE in said(here)
    assert "Traceback" not in said(here)
    assert begun(here, "--workers", "0").wait() == 0
    check(here, alone)


@pytest.mark.process
def test_two_sweeps_may_write_one_store_at_once(here, alone):
    both = [begun(here, "--workers", "0", "--pack", str(pack)) for pack in (1, 40)]
    assert [sweep.wait() for sweep in both] == [0, 0]
    check(here, alone)
