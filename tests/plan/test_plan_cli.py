"""`recombine plan` as a person runs it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli.app import app
from tests.test_cli import run

LINES = """material,garment
wool,coat
wool,hat
silk,hat
silk,coat
suede,gloves
"""
ASK = ("plan", "products.csv", "--factors", "material,garment")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "products.csv").write_text(LINES)
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch):
    """Run the command in this process, which is quicker; only what a process of its own shows is run in one."""
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(app, [*ASK, *words])


def test_the_answer_comes_first_and_fits_a_screen(folder) -> None:
    done = run(folder, *ASK)
    lines = done.stdout.strip().splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0].startswith(
        "1 more combination would let all 4 undetermined ones be worked out, if the factors add up."
    )
    assert len(lines) <= 24
    assert "next   recombine plan products.csv --factors material,garment --report plan.html" in done.stdout
    assert "\x1b" not in done.stdout


def test_when_nothing_is_missing_the_next_goal_is_named(folder) -> None:
    done = run(folder, *ASK, "--where", "material <> 'suede'", "--goal", "determined")
    assert "There is nothing to plan for" in done.stdout
    assert "--where \"material <> 'suede'\" --goal balance" in done.stdout


@pytest.mark.parametrize("goal", ["determined", "pairs", "leverage", "variance"])
def test_every_goal_in_json(folder, here, goal) -> None:
    done = here("--goal", goal, "--budget", "2.5", "--replay", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    support = recombine.read(folder / "products.csv", factors=["material", "garment"])
    plan = recombine.plan(support, goal=goal, budget=2.5, replay=True)
    assert found["verdict"] == plan.verdict
    assert found["line_count"] == plan.table.num_rows <= 2


def test_costs_and_out(folder, here) -> None:
    (folder / "costs.csv").write_text("material,garment,cost\nsuede,,9\nsuede,hat,4\n,gloves,\n")
    assert here("--cost", "costs.csv", "--out", "saved").exit_code == 0
    plan = recombine.Plan.load(folder / "saved")
    assert [(tuple(line.combination.values()), line.cost) for line in plan.lines] == [(("suede", "hat"), 4.0)]
    assert "(cost 4)" in plan.verdict


def test_gates(here) -> None:
    assert here("--fail-under", "determined=1").exit_code == 0
    assert here("--budget", "0", "--fail-under", "determined=0.9").exit_code == 3
    assert here("--where", "material <> 'suede'", "--goal", "leverage", "--fail-under", "firm=0.5").exit_code == 4
    assert "no share 'seen'" in str(here("--fail-under", "seen=1").exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--goal", "levrage"), "did you mean 'leverage'?"),
        (("--budget", "-1"), "a budget is a number from 0 on"),
        (("--cost", "none.csv"), "no file of costs 'none.csv'"),
        (("--report", "plan.csv"), "a page's name ends in .html"),
        (("--goal", "variance", "--salience", "fit"), "salience='fit' without a target"),
        (("--goal", "triples"), "write goal='pairs'"),
        (("--salience", "fit"), "only the goal 'variance' asks a learner, which salience describes"),
        (("--goal", "leverage", "--ridge", "0"), "leave ridge out, or write goal='variance' (--goal variance)"),
    ],
)
def test_mistakes_end_in_a_word(here, words, said) -> None:
    done = here(*words)
    assert isinstance(done.exception, RecombineError)
    assert said in str(done.exception)


def test_a_wrong_setting_is_told_before_the_table_is_read(folder) -> None:
    for words, said in ((("--goal", "levrage"), "no such goal"), (("--budget", "-1"), "a budget is a number")):
        done = CliRunner().invoke(app, ["plan", str(folder / "nowhere.csv"), "--factors", "a,b", *words])
        assert said in str(done.exception)


def test_a_mistake_has_its_own_exit_code(folder) -> None:
    done = run(folder, *ASK, "--goal", "levrage")
    assert done.returncode == 2
    assert "did you mean 'leverage'?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_an_interrupt_leaves_nothing(tmp_path) -> None:
    rows = "\n".join(f"a{i},b{i},c{i}" for i in range(3000))
    (tmp_path / "large.csv").write_text("a,b,c\n" + rows + "\n")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from recombine.cli import main; print('up', flush=True); main()",
            "plan",
            "large.csv",
            "-f",
            "a,b,c",
            "-o",
            "saved",
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "100"},
    )
    process.stdout.readline()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. Nothing was left half-written." in said
    assert [path.name for path in tmp_path.iterdir()] == ["large.csv"]


TABLES = {
    "islands": LINES,
    "with a split": "material,garment,split\nwool,coat,train\nwool,hat,train\nsilk,hat,test\nsilk,coat,test\n",
    "nothing open": "material,garment\nwool,coat\nwool,hat\nsilk,hat\nsuede,hat\n",
}


@pytest.mark.parametrize("goal", ["determined", "pairs", "leverage", "variance", "balance"])
@pytest.mark.parametrize("table", TABLES)
def test_what_it_proposes_next_can_be_pasted(table, goal, folder, here) -> None:
    (folder / "products.csv").write_text(TABLES[table])
    said = run(folder, *ASK, "--goal", goal).stdout
    commands = [line.strip().removeprefix("next").strip().split("   ")[0] for line in said.splitlines()]
    commands = [line for line in commands if line.startswith("recombine ")]
    assert commands or "was met before" in said
    for command in commands:
        words = shlex.split(command)[1:]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (command, done.output, done.exception)
