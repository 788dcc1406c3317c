"""`recombine rehearse` as a person runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import product

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli.app import app

ASK = ("rehearse", "prices.csv", "--factors", "material,garment", "--target", "price")
SLEEPS = "import os, sys, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"


@pytest.fixture
def folder(tmp_path):
    lines = [f"m{m},g{g},{3 * m + 2 * g}.5" for m, g in product(range(7), range(7)) if (m + 2 * g) % 5]
    (tmp_path / "prices.csv").write_text("\n".join(["material,garment,price", *lines]) + "\n")
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(app, [*ASK, *words])


def test_the_answer_comes_first(here) -> None:
    done = here("--learner", "additive", "--rounds", "3")
    assert done.exit_code == 0
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("Trained anew, additive explains")
    assert "to expect" in done.stdout
    assert "--report rehearse.html" in done.stdout


def test_page_folder_json_and_gates(here, folder) -> None:
    words = ("--learner", "nearest", "--rounds", "2", "--json")
    done = here(*words, "--report", "page.html", "--out", "saved", "--fail-under", "expected=0.99")
    told = json.loads(done.stdout)
    assert done.exit_code in (3, 4)
    assert told["kind"] == "rehearsal"
    assert told["expected"]["basis"] == "rehearsal"
    assert told["gates"]["expected"]["asked"] == 0.99
    assert recombine.load(folder / "saved").learner == "nearest"
    assert "<h2" in (folder / "page.html").read_text()


def test_nothing_to_spare_ends_a_gate_with_not_enough_evidence(here, folder) -> None:
    cross = [f"m{m},g{g},{m + g}.5" for m, g in product(range(7), range(7)) if 3 in (m, g)]
    (folder / "prices.csv").write_text("\n".join(["material,garment,price", *cross]) + "\n")
    done = here("--learner", "additive", "--fail-under", "expected=0.5")
    assert done.exit_code == 4
    assert "No score is forecast" in done.stdout


def test_a_mistake_in_words(here) -> None:
    done = here("--learner", "no-such-program {train} {test} {out}")
    assert isinstance(done.exception, RecombineError)
    assert "cannot run" in str(done.exception)


@pytest.mark.process
def test_an_interrupt_stops_the_command_too(folder) -> None:
    (folder / "train.py").write_text(SLEEPS)
    start = "from recombine.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, *ASK, "--learner", f"{sys.executable} train.py {{train}} {{test}} {{out}}"],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "100"},
    )
    for _ in range(600):
        if (folder / "pid").is_file() and (folder / "pid").read_text():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)
