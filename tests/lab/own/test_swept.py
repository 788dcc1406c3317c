"""A model and a task of one's own over a real Ray cluster, with a process killed in the middle; GPUs for packs."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import ray
import yaml

from recombine.base.errors import SettingError
from recombine_lab import Store, sweep
from recombine_lab.training.fit import fit
from tests.lab.sweeps.machines import machines, wait_for
from tests.lab.sweeps.test_sweep import same, sound

RUNS = 12
OWN = """
    from dataclasses import dataclass
    from torch import nn
    from tests.lab.own.things import Difference

    WIDTH = 8

    class Net(nn.Sequential):
        def __init__(self, shapes, width=WIDTH):
            super().__init__(nn.Flatten(), nn.Linear(shapes.inputs[0], width), nn.ReLU(), nn.Linear(width, 2))

    @dataclass(frozen=True)
    class Mine(Difference):
        values: int = 5
"""
GRID = {
    "tasks": "my_things:Mine",
    "splits": "hold_out_combinations",
    "models": "my_things:Net",
    "recipes": {"steps": 300, "samples": "every", "evaluations": 2, "together": "never"},
    "seeds": RUNS,
}
START = "from recombine.cli import main; main()"
COMMAND = [sys.executable, "-c", START, "sweep", "sweep.yaml", "--trust", "my_things"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module of the user's own, that no path names."""
    (tmp_path / "my_things.py").write_text(textwrap.dedent(OWN))
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({"store": "runs", **GRID}))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_things", None)


def begun(here, *words):
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    with (here / "log").open("ab") as log:
        return subprocess.Popen(
            [*COMMAND, *words], cwd=here, env=os.environ | {"PYTHONPATH": path}, stdout=log, stderr=log
        )


def stored(here):
    there = (here / "runs" / "store.json").exists()
    return Store.open(here / "runs").keys() if there else set()


@pytest.mark.cluster
@pytest.mark.timeout(600)  # Ray starts three times
def test_own_things_are_swept_over_ray_and_nothing_is_lost_when_a_process_is_killed(here):
    with machines(2) as cluster:
        first = begun(here, "--address", cluster.address, "--pack", "2")
        wait_for(lambda: len(stored(here)) >= 2, alive=lambda: first.poll() is None)
        cluster.kill_worker()  # kill -9
        assert first.wait() == 0
    said = (here / "log").read_text()
    assert "its process was lost" in said
    assert f"All {RUNS} runs are in the store." in said
    parts = (GRID["tasks"], GRID["splits"], GRID["models"], GRID["recipes"])
    alone = {run.key: run for run in fit(*parts, seeds=RUNS, progress=None)}
    store = Store.open(here / "runs")
    assert store.keys() == set(alone)
    assert sound(store)
    assert all(same(store.get(key), run) for key, run in alone.items())
    (here / "my_things.py").write_text(textwrap.dedent(OWN).replace("WIDTH = 8", "WIDTH = 9"))
    again = begun(here, "--workers", "0")
    assert again.wait() == 0
    assert len(stored(here)) == 2 * RUNS  # another source, another key: nothing of the old one is taken for the new


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_packs_are_given_the_gpus_that_they_ask_for(here):
    path = os.pathsep.join([str(here), str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    there = {"num_cpus": 2, "num_gpus": 1, "include_dashboard": False}
    # "local": without an address Ray would join whatever cluster another test has started on this machine just then
    ray.init("local", **there, runtime_env={"env_vars": {"PYTHONPATH": path}})
    try:
        grid = {**GRID, "seeds": 2, "store": str(here / "runs")}
        assert sweep(grid, num_gpus=0.5, progress=None).finished == 2  # two share one, which Ray only counts
        with pytest.raises(SettingError, match="Ray knows of 1 GPUs here"):
            sweep({**grid, "seeds": [5]}, num_gpus=2, progress=None)
    finally:
        ray.shutdown()
