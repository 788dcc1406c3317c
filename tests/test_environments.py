"""The command in surroundings that are not kind to it: warnings that are errors, an encoding that knows no more than
ASCII, an output that is full, closed, or that nobody reads on.

Each is a process of its own, for every verb, on the table that `recombine demo` writes.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ASK = "--factors material,garment"
VERBS = {
    "demo": "demo --force",
    "audit": f"audit products.csv {ASK} --target label --report audit.html --out audit --force",
    "predict": f"predict products.csv {ASK} --target label --backtest --out prediction --force",
    "plan": f"plan products.csv {ASK} --budget 3 --out plan --force",
    "split": f"split products.csv {ASK} --out again.csv --force",
    "lint": f"lint held.csv {ASK} --target label",
    "evaluate": f"evaluate held.csv {ASK} --target label --prediction said --split split --no-causes",
    "json": f"audit products.csv {ASK} --json",
    "help": "--help",
}
MAIN = shlex.join([sys.executable, "-c", "from recombine.cli import main; main()"])
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo's table, and the same one split."""
    made = tmp_path_factory.mktemp("environments")
    assert run(made, "demo").returncode == 0
    assert run(made, f"split products.csv {ASK} --out held.csv").returncode == 0
    heading, *lines = (made / "held.csv").read_text(encoding="utf-8").splitlines()
    answered = [f"{heading},said", *(f"{line},{'warm' if 'wool' in line else 'light'}" for line in lines)]
    (made / "held.csv").write_text("\n".join(answered), encoding="utf-8")
    return made


def run(folder: Path, words: str, to: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """A command in a shell, so that its outputs can be sent anywhere; the exit code is the command's own."""
    return subprocess.run(
        ["bash", "-c", f"{MAIN} {words} {to}; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
        env=os.environ | {"COLUMNS": "100"} | environment,
    )


@pytest.mark.process
@pytest.mark.parametrize("verb", VERBS)
def test_warnings_that_are_errors_and_ascii_alone(folder, verb: str) -> None:
    done = run(folder, VERBS[verb], PYTHONWARNINGS="error", **ASCII)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.process
@pytest.mark.parametrize(
    ("verb", "to", "why"),
    [
        *((verb, ">/dev/full", "No space left on device") for verb in VERBS),
        *((verb, ">&-", "it is closed") for verb in ("audit", "json", "help")),
    ],
)
def test_an_output_that_cannot_be_written_ends_in_a_word(folder, verb: str, to: str, why: str) -> None:
    done = run(folder, VERBS[verb], to)
    assert done.returncode == 2
    first, second, third = done.stderr.splitlines()
    assert first == "error  cannot write to standard output"
    assert second == f"  why      {why}"
    assert third.startswith("  instead  ")


@pytest.mark.process
@pytest.mark.parametrize("verb", ["audit", "json", "help"])
def test_a_reader_who_leaves_is_no_mistake(folder, verb: str) -> None:
    done = run(folder, VERBS[verb], "| true")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.process
@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_an_error_that_cannot_be_written_keeps_its_exit_code(folder, to: str) -> None:
    done = run(folder, f"audit nowhere.csv {ASK}", to)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.process
def test_a_closed_output_is_not_taken_for_a_file_that_is_opened_later(folder) -> None:
    done = run(folder, f"audit products.csv {ASK} --out saved --report page.html", ">&- 2>&-")
    assert done.returncode == 2
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads((folder / "saved" / "record.json").read_text(encoding="utf-8"))["kind"] == "audit"


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_values_are_told_apart_in_every_encoding(tmp_path, encoding: str) -> None:
    """A letter that an encoding lacks is written by its number: an e without its accent is another value."""
    rows = "café – 日,x\ncafe - 日,x\n🎈…,y\n" * 3 + "🎈…,x\n" * 4  # often enough for a dependence to be told
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}", encoding="utf-8")
    command = [sys.executable, "-c", "from recombine.cli import main; main()", "audit", "t.csv", "-f", "a,b"]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "100"}
    for_people = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, env=environment).stdout
    assert "Cram" in for_people.decode(encoding)
    assert ("Cramer's V" in for_people.decode(encoding)) == (encoding == "ascii")
    machines = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, check=True, env=environment)
    rarest = json.loads(machines.stdout.decode(encoding))["factors"][0]["rarest"]
    assert {one["value"] for one in rarest} == {"café – 日", "cafe - 日", "🎈…"}


@pytest.mark.process
def test_what_the_user_asked_for_instead_of_missing_letters_stays(folder) -> None:
    done = run(folder, VERBS["audit"].replace("products.csv", "…-nowhere.csv"), PYTHONIOENCODING="ascii:replace")
    assert done.returncode == 2
    done = run(folder, "demo …-products.csv", PYTHONIOENCODING="ascii:replace")
    assert done.stdout.startswith("?-products.csv now holds")


@pytest.mark.process
def test_the_fixture_where_warnings_are_errors(tmp_path) -> None:
    """Twice: what a test has set up for warnings, pytest takes down after it."""
    (tmp_path / "test_split.py").write_text(
        "import pytest\n\n"
        "TABLE = {'a': list('xxyy'), 'b': list('pqpq'), 'split': ['train', 'train', 'train', 'test']}\n\n\n"
        "@pytest.mark.parametrize('again', [1, 2])\n"
        "def test_split(recombine_lint, again):\n"
        "    recombine_lint(TABLE, factors=['a', 'b'], allow_thin=True)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.process
def test_other_warnings_are_still_the_users_own(tmp_path) -> None:
    code = (
        "import warnings, recombine\n"
        "recombine.read({'a': ['x', 'y'], 'b': ['p', 'q']}, factors=['a', 'b'])\n"
        "warnings.warn('fetch_arrow_table() is deprecated', DeprecationWarning)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DeprecationWarning: fetch_arrow_table() is deprecated" in done.stderr
