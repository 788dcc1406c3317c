"""Stores that earlier versions wrote: they open, say what can be done with them, and lose nothing.

`stores/source_hash` is of the first release (records of format 1, keys by a hash of recombine's source);
`stores/renamed_settings` of the one after it (keys by numerics versions, splitters with `share` and `seed`).
"""

import json
import shutil
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.cli.app import app
from recombine_lab.runs.run_files import FORMAT, EarlierStoreWarning
from recombine_lab.runs.run_list import list_runs
from recombine_lab.runs.store import Store

STORES = Path(__file__).parent / "stores"
TELLS = r"begun by an earlier version of recombine: its runs can be listed.*name a new store to train into"
KEYS = {"source_hash": "2ffb85fa6b3d508b5ede30440be2b656", "renamed_settings": "60048679e6f67238ac6531a9c90d7649"}


@pytest.fixture(params=KEYS)
def earlier(request, tmp_path):
    """A copy of an earlier store, and the key of its run."""
    shutil.copytree(STORES / request.param, tmp_path / "runs")
    return str(tmp_path / "runs"), KEYS[request.param]


def command(*words: str):
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_it_opens_with_a_word_that_says_what_to_do(earlier):
    place, key = earlier
    with pytest.warns(EarlierStoreWarning, match=TELLS) as seen:
        store = Store.open(place)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert store.notice == str(seen[0].message)
    assert store.keys() == {key}


@pytest.mark.filterwarnings("ignore::recombine_lab.runs.run_files.EarlierStoreWarning")
def test_its_runs_are_read_whole(earlier):
    place, key = earlier
    store = Store.open(place)
    (line,) = list_runs(store, check=True)
    assert (line.status, line.settings["split.share"], line.seed) == ("finished", 0.3, 0)
    run = store.get(key)
    assert run.key == key
    assert run.tables["predictions"].num_rows == 9
    assert store.faults(key) == []


def test_the_command_lists_it_and_says_it_once(earlier):
    place, key = earlier
    code, out, err = command("runs", "list", place)
    assert code == 0
    assert key[:8] in out
    assert err.count("begun by an earlier version") == 1
    assert "store.py" not in err
    code, out, err = command("runs", "list", place, "--json")
    assert json.loads(out)["runs"][0]["key"] == key
    assert "begun by an earlier version" in err
    assert command("runs", "show", place, key[:6])[0] == 0


def test_training_into_it_warns_once_and_keeps_what_is_there(earlier):
    from recombine_lab.training.fit import fit  # noqa: PLC0415 - torch is optional

    place, key = earlier
    task, recipe = {"name": "addition", "values": 3}, {"steps": 2, "samples": "every", "evaluations": 1}
    with pytest.warns(EarlierStoreWarning, match=TELLS) as seen:
        (run,) = fit(task, "hold_out_combinations", {"name": "mlp", "hidden": [4]}, recipe, store=place, progress=None)
    assert len(seen) == 1
    with pytest.warns(EarlierStoreWarning):
        assert Store.open(place).keys() == {key, run.key}


def test_a_sweep_into_it_says_it_once(earlier, tmp_path):
    place, _ = earlier
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "tasks: [{name: addition, values: 3}]\nsplits: [hold_out_combinations]\n"
        "models: [{name: mlp, hidden: [4]}]\nrecipes: [{steps: 2, samples: every, evaluations: 1}]\n"
    )
    code, _, err = command("sweep", file, "--store", place, "--workers", "0")
    assert code == 0
    assert err.count("begun by an earlier version") == 1
    code, _, err = command("sweep", file, "--store", place, "--dry-run")
    assert code == 0
    assert err.count("begun by an earlier version") == 1


def test_a_store_of_today_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Store.open(tmp_path / "runs")
        assert Store.open(tmp_path / "runs").notice is None
    assert json.loads((tmp_path / "runs" / "store.json").read_text())["format"] == FORMAT
