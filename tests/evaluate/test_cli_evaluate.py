"""`recombine evaluate` as a person runs it: in a folder of its own, with every way to end."""

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import TableError
from recombine.cli.app import app
from tests.commands import run_command
from tests.evaluate.twins import predictions

ASK = ("evaluate", "p.csv", "--factors", "colour,shape", "--target", "label", "--prediction", "said", "--draws", "200")
SPLIT = (*ASK, "--split", "split")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    predictions().to_csv(tmp_path / "p.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})


def process(folder, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, *words, COLUMNS="100")


def test_the_answer_comes_first_and_the_next_commands_can_be_pasted(folder):
    done = process(folder, *SPLIT, "--against", "said_b")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("On 8 unseen combinations it gets 50 % right (")
    assert "target        label, a label with 3 values" in done.stdout
    assert "simple rules  on unseen: majority 37 %" in done.stdout
    assert "worst of 30 tested" in done.stdout
    assert "said_b" in done.stdout
    assert "\x1b" not in done.stdout
    assert f"next   recombine {' '.join(SPLIT)} --against said_b --report evaluation.html" in done.stdout


@pytest.mark.parametrize(
    "ask",
    [
        SPLIT,
        ASK,
        (*SPLIT[:3], "colour,label", *SPLIT[4:]),
        (*SPLIT, "--target", "value", "--prediction", "guess"),
        (*SPLIT, "--target", "value", "--prediction", "guess", "--score", "r2"),
    ],
    ids=["labels", "no split", "groups", "numbers", "r2"],
)
def test_the_next_commands_run(folder, ask):
    done = process(folder, *ask, "--no-causes")
    assert done.returncode == 0, done.stderr
    lines = [line.removeprefix("  next").strip() for line in done.stdout.splitlines()]
    commands = [line for line in lines if line.startswith("recombine ")]
    assert commands
    for command in commands:
        again = process(folder, *shlex.split(command)[1:])
        assert again.returncode in ((0, 3, 4) if "--fail-under" in command else (0,)), again.stderr


@pytest.mark.slow
def test_without_training_the_next_step_is_to_tell_it(folder):
    done = run(*ASK)
    assert done.exit_code == 0
    assert "It was not told what the model was trained on" in " ".join(done.stdout.split())
    assert "--prediction said --draws 200 --split split" in process(folder, *ASK).stdout
    predictions().drop(columns="split").to_csv(folder / "p.csv", index=False)
    done = run(*ASK)
    assert "add --train and the table that the model was trained on" in " ".join(done.stdout.split())
    assert "--split" not in done.stdout


def test_a_theory_that_was_given_the_whole_table_is_told_so(folder):
    assert run("predict", "p.csv", "--factors", "colour,shape", "--target", "label", "--out", "whole").exit_code == 0
    done = run(*SPLIT, "--no-causes", "--theory", "whole")
    assert "make it from the training rows alone" in " ".join(done.stdout.split())


def test_the_worst_table_fits_80_columns(folder):
    done = CliRunner().invoke(app, [*SPLIT, "--no-causes"], env={"COLUMNS": "80"})
    header = next(line for line in done.stdout.splitlines() if "worst of 30 tested" in line)
    assert "rows" in header


@pytest.mark.parametrize(
    ("gate", "code", "verdict"),
    [
        ("unseen=0.1", 0, "pass"),
        ("unseen=0.99", 3, "fail"),
        ("novel=0.5", 4, "not enough evidence"),
        ("worst=0.01", 0, "pass"),
        ("worst=0.5", 4, "not enough evidence"),
        ("worst=0.99", 3, "fail"),
        ("balanced_accuracy=0.4", 0, "pass"),
        ("balanced_accuracy=0.8", 3, "fail"),
        ("lift=0.1", 4, "not enough evidence"),
        ("lift=0.5", 3, "fail"),
    ],
)
def test_gates(folder, gate, code, verdict):
    done = run(*SPLIT, "--fail-under", gate)
    assert done.exit_code == code
    assert f"asked {gate.split('=')[1]}: {verdict}" in done.stdout


def test_json_and_the_saved_folder_are_the_record(folder):
    done = run(*SPLIT, "--json", "--out", "saved", "--fail-under", "unseen=0.1")
    content = json.loads(done.stdout)
    assert content["kind"] == "evaluation"
    assert content["gates"]["unseen"]["verdict"] == "pass"
    loaded = recombine.Evaluation.load(folder / "saved")
    assert content["verdict"] == loaded.verdict
    assert [side["name"] for side in content["sides"]] == [side.name for side in loaded.sides]


def test_a_page_is_written(folder):
    done = run(*SPLIT, "--report", "evaluation.html")
    assert done.exit_code == 0, done.exception
    assert (folder / "evaluation.html").read_text().startswith("<!doctype html>")


def test_probabilities_on_the_command_line(folder):
    ask = [word for word in SPLIT if word not in ("--prediction", "said")]
    done = run(*ask, "--prediction", "x=p_x,y=p_y,z=p_z")
    assert done.exit_code == 0, done.exception
    assert "log loss" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--split", "spilt"), "no column 'spilt' (given as the split)"),
        (("--split", "split", "--score", "f1"), "no score 'f1'"),
        (("--split", "split", "--fail-under", "unseen"), "it is not of the form NAME=SOMETHING"),
        (("--split", "split", "--fail-under", "unsen=0.5"), "undetermined, novel, worst, lift, balanced_accuracy"),
        (("--split", "split", "--score", "mse"), "write score='accuracy' (--score accuracy)"),
        (("--split", "split", "--against", "label"), "is both the target and the other model's answers"),
        (("--split", "split", "--report", "p.csv"), "a page's name ends in .html"),
        (("--split", "split", "--prediction", "x=,y=p"), "it is not of the form NAME=SOMETHING"),
        (("--train", "nowhere.csv"), "no file 'nowhere.csv'"),
        (("--theory", "nowhere"), "no saved prediction in 'nowhere'"),
        (("--against", "other.csv"), "no file 'other.csv'"),
    ],
)
def test_a_mistake_is_explained_and_ends_in_2(folder, words, said):
    done = process(folder, *ASK, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_file_is_explained(folder):
    (folder / "p.csv").write_text("")
    done = process(folder, *SPLIT)
    assert done.returncode == 2
    assert "is empty" in done.stderr


@pytest.mark.process
def test_an_interrupt_ends_in_130(folder):
    predictions(0, 60_000).to_csv(folder / "p.csv", index=False)
    start = "from recombine.cli import main; print('up', flush=True); main()"
    command = [sys.executable, "-c", start, *SPLIT, "--draws", "5000000"]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.stdout.readline()
    time.sleep(2.5)  # long before the last draw
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in said


def test_a_condition_that_nothing_fulfils(folder):
    with pytest.raises(TableError, match="holds no rows that fulfil `where`"):
        raise run(*ASK, "--where", "1 = 0").exception
