"""Every command once as it is installed: the script, in a process of its own, to its end."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import typer

from recombine.cli.app import app
from tests.commands import run_command, subcommands

SCRIPT = Path(sysconfig.get_path("scripts")) / "recombine"
PROBE = Path(__file__).parents[1] / "examples" / "probes" / "plain_module.py"
FACTORS = "--factors material,garment"
ASK = f"products.csv {FACTORS} --target label"
SWEEP = """
store: runs
tasks: [addition]
splits: [hold_out_combinations]
models: [{name: mlp, hidden: [4]}]
recipes: [{steps: 3, samples: 20, test_samples: 20, batch: 10, evaluations: 2}]
seeds: 2
"""

SAYS = {
    "audit": (f"audit {ASK}", "combinations"),
    "predict": (f"predict {ASK}", "unseen"),
    "rehearse": (f"rehearse {ASK} --learner additive --rounds 2", "Trained anew"),
    "plan": (f"plan {ASK} --budget 3", "material="),
    "split": (f"split products.csv {FACTORS} --out again.csv --force", "again.csv"),
    "lint": (f"lint held.csv {FACTORS}", "check passed"),
    "evaluate": (
        f"evaluate answers.csv {FACTORS} --target label --prediction said --split split --no-causes",
        "unseen",
    ),
    "diff": ("diff old new", "Nothing changed"),
    "sweep": ("sweep sweep.yaml --workers 0", "All 2 runs are in the store."),
    "probe": (f"probe subnetworks {PROBE}", "modular"),
    "runs": ("runs list trained", "2 finished"),
    "study": ("study list", "supports"),
    "doctor": ("doctor", "answers in"),
    "mcp": ("mcp --help", "Model Context Protocol"),  # what it serves is asked in test_mcp.py
    "demo": ("demo another.csv", "another.csv"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    (place / "sweep.yaml").write_text(SWEEP)
    for line in (
        "demo",
        f"audit {ASK} --out old",
        f"audit {ASK} --out new",
        f"split products.csv {FACTORS} --out held.csv",
        "sweep sweep.yaml --store trained --workers 0",
    ):
        done = run_command(place, *line.split())
        assert done.returncode == 0, done.stderr
    heading, *rows = (place / "held.csv").read_text().splitlines()
    (place / "answers.csv").write_text("\n".join([f"{heading},said", *(f"{row},warm" for row in rows)]))
    return place


def test_none_is_forgotten() -> None:
    assert set(SAYS) == set(subcommands(typer.main.get_command(app)))


@pytest.mark.process
@pytest.mark.canary
@pytest.mark.parametrize("name", SAYS)
def test_a_command_in_a_process_of_its_own(folder: Path, name: str) -> None:
    line, said = SAYS[name]
    done = ended(folder, line)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.canary
def test_a_mistake_in_a_process_of_its_own(folder: Path) -> None:
    done = ended(folder, "audit products.csv --factors material,garmet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'garment'?" in done.stderr
    assert "Traceback" not in done.stderr


JUNK = ("", "=", "..", "nonsense", "nonsense=1", "material=", "material", "-1", "nan", "9" * 30, "products.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["audit", "demo", "diff", "evaluate", "lint", "plan", "predict", "rehearse", "split", "sweep"]
)
def test_whatever_an_option_is_given_ends_in_words(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    options = subcommands(typer.main.get_command(app))[name].params
    for option in (one.opts[0] for one in options if one.opts[0].startswith("--") and not one.is_flag):
        for junk in JUNK:
            done = run_command(tmp_path, *SAYS[name][0].split(), option, junk)
            assert done.returncode in (0, 2, 3, 4), (option, junk, done.stderr)
            assert "Traceback" not in done.stderr, (option, junk)


def ended(folder: Path, line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([SCRIPT, *line.split()], cwd=folder, capture_output=True, text=True, check=False, timeout=240)
