"""`recombine sweep`: what it prints, and how it ends."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from recombine.base.errors import RecombineError
from recombine.cli.app import app
from recombine_lab.runs.store import Store
from recombine_lab.sweeps import sweep as room
from recombine_lab.sweeps.grid import read_plan
from recombine_lab.sweeps.queue import Report
from tests.lab.sweeps.test_sweep import Scripted

FILE = """
store: runs
tasks: [addition]
splits: [hold_out_combinations]
models: [{name: mlp, hidden: [4], scale: {each: [0.5, 1]}}]
recipes: [{steps: 3, samples: 20, test_samples: 20, batch: 10, evaluations: 2, together: never}]
seeds: 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.yaml").write_text(FILE)
    return tmp_path


def ran(*words):
    return CliRunner().invoke(app, ["sweep", "sweep.yaml", *words])


def test_a_dry_run_tells_and_makes_nothing(here):
    done = ran("--dry-run", "--workers", "2")
    assert done.exit_code == 0
    assert "6 runs would be trained." in done.stdout
    assert "2 for 2 workers" in done.stdout
    assert "not known" in done.stdout
    assert not (here / "runs").exists()


def test_a_sweep_and_what_is_left_after_it(here):
    done = ran("--workers", "0")
    assert done.exit_code == 0, done.output
    assert "All 6 runs are in the store." in done.stdout
    assert "recombine runs compare" in done.stdout
    found = json.loads(ran("--dry-run", "--json").stdout)
    assert (found["runs"], found["finished"], found["packs"], found["groups"]) == (6, 6, 0, 2)
    assert "nothing was left to do" in ran("--workers", "0").stdout
    (here / "sweep.yaml").write_text(FILE.replace("seeds: 3", "seeds: 5"))
    found = json.loads(ran("--dry-run", "--json", "--workers", "2").stdout)
    assert (found["finished"], found["packs"], found["measured"]) == (6, 2, 6)
    assert found["seconds"] > 0


def test_json_is_all_that_is_printed(here):
    found = json.loads(ran("--workers", "0", "--json").stdout)
    assert (found["finished"], found["failed"], len(found["keys"])) == (6, 0, 6)


def test_failures_are_shown_and_the_exit_code_says_so(here, monkeypatch):
    pool = Scripted(Store.open(here / "runs"), lambda pack, times: Report(fault="program", reason="ValueError: no"))
    monkeypatch.setattr(room, "start_pool", lambda place, **_: pool)
    done = ran()
    assert done.exit_code == 1
    assert "6 of 6 runs failed" in done.stdout
    assert "ValueError: no" in done.stdout
    assert "… and 1 more" in done.stdout


def test_an_interrupt_ends_with_130_and_the_command_to_go_on(here, monkeypatch):
    def script(pack, times):
        raise KeyboardInterrupt

    pool = Scripted(Store.open(here / "runs"), script)
    monkeypatch.setattr(room, "start_pool", lambda place, **_: pool)
    monkeypatch.setattr(sys, "argv", ["recombine", "sweep", "sweep.yaml"])
    done = ran()
    assert done.exit_code == 130
    assert "0 of 6 runs are finished and kept" in done.stderr
    assert "Resume with  recombine sweep sweep.yaml" in done.stderr


TWICE = """
import os, signal, sys
from recombine.cli import main
from recombine_lab.runs.store import Store
from recombine_lab.sweeps import sweep as room
from tests.lab.sweeps.test_sweep import Scripted

class Torn(Scripted):
    def stop(self):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os._exit(1)  # as Ray's library does when its servers are gone

pool = Torn(Store.open("runs"), lambda pack, times: os.kill(os.getpid(), signal.SIGINT))
room.start_pool = lambda place, **_: pool
sys.argv = ["recombine", "sweep", "sweep.yaml"]
main()
"""


@pytest.mark.process
def test_a_second_interrupt_ends_with_130_too(here):
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", TWICE],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(root), *(str(root / name) for name in ("src", "lab/src"))])},
    )
    assert done.returncode == 130, done.stderr
    assert "What was finished is kept." in done.stderr


def test_words_for_one_run(here):
    (here / "sweep.yaml").write_text(FILE.replace("seeds: 3", "seeds: 1").replace("{each: [0.5, 1]}", "1"))
    assert "The run is in the store." in ran("--workers", "0").stdout
    assert "The run is in the store, and was there before" in " ".join(ran("--workers", "0").stdout.split())
    (table,) = here.glob("runs/runs/*/*/curve.parquet")
    table.write_bytes(b"")
    assert "1 in the store, which would be trained again" in ran("--workers", "0", "--dry-run").stdout
    said = " ".join(ran("--workers", "0").stdout.split())
    assert "The run is in the store; it was damaged, and trained again." in said
    assert "curve.parquet has 0 bytes instead of" in said
    first, second = read_plan({**yaml.safe_load(FILE), "models": "mlp", "seeds": 2}).runs
    assert room._describe_runs([first, second]).endswith("and 1 other of its pack")


def test_a_dry_run_tells_what_does_not_fit(here):
    (here / "sweep.yaml").write_text(FILE.replace("{name: mlp, hidden: [4], scale: {each: [0.5, 1]}}", "mlp, cnn"))
    done = ran("--dry-run")
    assert "'models', entry 2 (cnn) on 'tasks', entry 1 (addition)" in str(done.exception)


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (("addition", "adition"), [], "did you mean 'addition'?"),
        (("splits: [", "splits: ["), ["--store", "sweep.yaml"], "it is a file; a store is a folder"),
        (("seeds: 3", "seeds: 3\n  bad: x"), [], "is not YAML: line"),
        (("seeds: 3", ""), ["--address", "auto", "--workers", "0"], "leave out one of --workers and --address"),
    ],
)
def test_mistakes_end_in_words(here, change, words, said):
    (here / "sweep.yaml").write_text(FILE.replace(*change))
    done = ran(*words)
    assert isinstance(done.exception, RecombineError)
    assert said in str(done.exception)


@pytest.mark.process
def test_a_mistake_ends_with_2_and_no_traceback(here):
    (here / "sweep.yaml").write_text(FILE.replace("addition", "adition"))
    command = [sys.executable, "-c", "from recombine.cli import main; main()", "sweep", "sweep.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'addition'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_ray_there_are_words(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    done = ran("--workers", "2")
    assert done.exit_code != 0
    assert "pip install 'recombine-lab[ray]'" in str(done.exception)
    assert "--workers 0" in str(done.exception)


def test_an_address_where_nobody_is(here):
    with socket.socket() as taken:  # a port that is ours, and at which nobody listens
        taken.bind(("127.0.0.1", 0))
        done = ran("--address", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "no Ray cluster could be reached" in str(done.exception)
    assert "ray start --head" in str(done.exception)
