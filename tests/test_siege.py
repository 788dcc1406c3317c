"""The attack can fail: a fault planted into the library is found by each family, and can be repeated."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recombine.base import records
from recombine.cli import options
from recombine.data import readers
from recombine.verbs.audit import dependence
from recombine.verbs.predict.examples import input_features
from recombine_lab.runs.store import Store
from recombine_lab.training import trust
from tests import planted_faults

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

# ruff: noqa: E402 - the attack stands with the benchmarks
from attacks import (
    children,
    disk,
    environments,
    kills,
    limits,
    names,
    outputs,
    places,
    stores,
    strangers,
    tables,
    tampering,
    twin,
)
from attacks import records as saved
from attacks.case import Case, run_case
from attacks.drawn import Drawn
from attacks.families import FAMILIES, shared


def faults(attack, numbers, *, seed=0):
    """What a few cases find."""
    done = [run_case(attack, family=attack.__module__, seed=seed, number=number) for number in numbers]
    return [fault for outcome in done for fault in outcome.faults]


def raises(*_, **__):
    raise KeyError("planted")


def raises_lookup(*_, **__):
    raise LookupError("planted")


def test_a_wrong_number_is_found(monkeypatch):
    true = dependence.corrected_cramers_v
    monkeypatch.setattr(dependence, "corrected_cramers_v", lambda *given: true(*given) + 0.01)
    assert any("Cramér's V" in fault for fault in faults(tables.attack, (0, 1, 6, 7)))


def test_a_loader_that_dies_is_found(monkeypatch):
    saved.originals()
    monkeypatch.setattr(records, "load", raises)
    assert any("KeyError: 'planted'" in fault for fault in faults(saved.attack, range(3)))


def test_a_record_changed_unnoticed_is_found(monkeypatch):
    original = saved.originals().results["audit"]
    monkeypatch.setattr(type(original), "load", classmethod(lambda *_: saved.originals().results["plan"]))
    assert any("unnoticed" in fault or "outside" in fault for fault in faults(saved.attack, (0, 6, 12, 18)))


def test_a_store_that_dies_is_found(monkeypatch):
    monkeypatch.setattr(Store, "get", raises)
    assert any("KeyError: 'planted'" in fault for fault in faults(stores.attack, range(3)))


def test_a_command_that_dies_is_found(monkeypatch):
    monkeypatch.setattr(options, "names", raises)
    assert any("KeyError: 'planted'" in fault for fault in faults(names.attack, (0, 1)))


def test_a_shown_password_is_found(monkeypatch):
    monkeypatch.setattr(options, "names", lambda _: sys.stdout.write(names.SECRET) and ["a", "b"])
    assert any("password is shown" in fault for fault in faults(names.attack, (7,)))


def test_a_log_that_is_not_refused_in_words_is_found(monkeypatch):
    monkeypatch.setattr(readers, "dataset_of", raises_lookup)
    assert any("LookupError: planted" in fault for fault in faults(strangers.attack, (1, 6, 11, 16)))


def test_a_file_beside_what_was_sent_that_is_opened_is_found(monkeypatch):
    monkeypatch.setattr(
        input_features, "read_npy", lambda path: (path.absolute().parents[1] / "secret.png").read_bytes()
    )
    assert any("was opened" in fault for fault in faults(strangers.attack, (2, 7, 12, 17)))


@pytest.mark.slow
def test_code_that_a_store_names_and_that_runs_is_found(monkeypatch):
    monkeypatch.setattr(trust, "check_known", lambda *_, **__: None)
    monkeypatch.setattr(places, "_FORMS", ("{0}:make", "{0}:Thing"))  # `os:abort` would end this process
    assert any("the module ran" in fault for fault in faults(places.attack, range(10)))


@pytest.mark.slow
def test_a_bystander_that_is_deleted_is_found(monkeypatch):
    def save(record, folder, **given):
        folder = planted_faults.careless_save(record, folder, **given)
        (folder.parent / "thesis.tex").unlink(missing_ok=True)
        return folder

    saved.originals(), stores.original_store()
    monkeypatch.setattr(records, "save", save)
    assert any("deleted place/thesis.tex" in fault for fault in faults(outputs.attack, range(8)))


@pytest.fixture(scope="module")
def plant():
    """A nursery whose children are broken; one for all four families, since starting it takes seconds."""
    before = {name: os.environ.get(name) for name in ("SIEGE_PLANT", "PYTHONPATH")}
    os.environ["SIEGE_PLANT"] = "tests.planted_faults:everything"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before["PYTHONPATH"]]))
    yield
    children.dismiss()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.mark.usefixtures("plant")
class TestInProcessesOfTheirOwn:
    def test_half_a_result_after_a_kill_is_found(self):
        assert any("neither the old nor the new" in fault for fault in faults(kills.attack, (0, 4, 5, 6, 8, 10)))

    def test_an_old_result_lost_to_a_full_disk_is_found(self):
        found = faults(disk.attack, (0, 9))
        assert any("neither the old nor the new" in fault or "exit code 0" in fault for fault in found)

    def test_a_traceback_under_strict_warnings_is_found(self):
        assert any("planted" in fault for fault in faults(environments.attack, (6,)))

    def test_memory_that_runs_out_is_found(self):
        bins = next(place for place, one in enumerate(limits.INPUTS) if one.name == "10,000 bins")
        assert any("MemoryError: planted" in fault for fault in faults(limits.attack, (bins,)))


@pytest.mark.process
def test_the_suite_tells_how_to_repeat_a_failure_and_repeats_it(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "siege.py"), "--only", "tables"]
    command += ["--plant", "tests.planted_faults:wrong_dependence", "--out", str(tmp_path / "found.json")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}

    def run(*words):
        return subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)

    done = run("--cases", "8", "--workers", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    repeat = re.search(r"--only tables --case (\d+) --seed 0", done.stdout)
    assert repeat is not None, done.stdout
    again = run("--case", repeat[1])
    assert again.returncode == 1
    assert "Cramér's V" in again.stdout


def test_every_family_has_its_share_and_a_case_is_drawn_from_its_number(tmp_path):
    assert sum(family.share for family in FAMILIES.values()) == pytest.approx(1)
    assert all(count >= FAMILIES[name].least for name, count in shared(100).items())
    one, same, other = (Case("tables", 0, number, tmp_path).rng.random() for number in (1, 1, 2))
    assert one == same != other


def test_the_twin_knows_a_corner():
    corner = twin.Twin(Drawn({"a": ["x", "x", "y"], "b": ["p", "q", "p"]}, ("a", "b")))
    assert corner.counts() == {
        "space": 4, "impossible": 0, "seen": 3, "determined": 1, "undetermined": 0, "novel": 0,
    }  # fmt: skip
    assert corner.leverage([("y", "q")]).tolist() == pytest.approx([3.0])


def test_a_checksum_is_found_by_its_value_and_made_anew():
    content = {"verdict": "fine", "numbers": [1, 2]}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    seal = tampering.seal_of(content | {"sha256": digest})
    assert seal is not None
    forged = tampering.sealed({"verdict": "better", "numbers": [1, 2], "sha256": digest}, seal)
    assert forged["sha256"] != digest
    assert tampering.seal_of(forged) is not None
    assert tampering.seal_of(content) is None
