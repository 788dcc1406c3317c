"""The pytest plugin: a split that breaks its word fails a test in the lint's words; nothing heavy is loaded unasked."""

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import recombine

pytest_plugins = ["pytester"]

# `pytester` forgets what was imported within a test, and NumPy cannot be loaded twice: load all of it before
recombine.lint({"a": ["x", "y"], "b": ["x", "y"], "split": ["train", "test"]}, factors=["a", "b"])
WRITE, COMBINATIONS = recombine.split, recombine.HoldOutCombinations
FOLDS, CONJUNCTIONS = recombine.CombinationKFold, recombine.HoldOutConjunctions

HEAVY = ("numpy", "duckdb", "ibis", "pyarrow", "pandas", "recombine.verbs.split")
CLEAN = "colour,shape,split\nred,disc,train\nred,cube,train\nblue,disc,train\nblue,cube,test\n"
TEST = """
def test_split(recombine_lint):
    found = recombine_lint("table.csv", factors=["colour", "shape"]{more})
    assert found.grade in ("sound", "untested")
"""


@pytest.fixture
def run(pytester):
    """Run pytest on one test of a split, with the plugin loaded as an installation loads it, or by its name."""
    installed = any(point.value == "recombine.integrations.pytest_plugin" for point in entry_points(group="pytest11"))
    loaded = () if installed else ("-p", "recombine.integrations.pytest_plugin")

    def runs(table: str | None, more: str = "", *words: str) -> pytest.RunResult:
        if table is not None:
            (pytester.path / "table.csv").write_text(table)
            pytester.makepyfile(TEST.format(more=more))
        return pytester.runpytest_inprocess(*loaded, "-p", "no:cacheprovider", *words)

    return runs


def test_a_split_that_keeps_its_word_passes(run) -> None:
    run(CLEAN).assert_outcomes(passed=1)


def test_a_leak_fails_in_the_lints_words(run) -> None:
    done = run(CLEAN + "blue,cube,train\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "failing: This split does not hold out combinations. All of the 1 test combination is in training*",
            "*combinations: fail.*1 of 2 rows of (colour=blue, shape=cube) is in training.",
        ]
    )
    assert "pytest_plugin.py" not in done.stdout.str()  # the words, not our own lines


def test_an_ordinary_claim(run) -> None:
    table = CLEAN.replace("split\n", "split,id\n").replace("train\n", "train,1\n").replace("test\n", "test,2\n")
    run(table + "blue,cube,train,3\n", ", expect='rows', id='id'").assert_outcomes(passed=1)


def test_thin_evidence_fails_with_its_own_word_unless_allowed(run) -> None:
    thin = CLEAN.replace("test", "train")
    done = run(thin)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["untested (allow_thin=True lets it pass): There is no test side*"])
    run(thin, ", allow_thin=True").assert_outcomes(passed=1)
    run(CLEAN + "blue,cube,train\n", ", allow_thin=True").assert_outcomes(failed=1)


def test_a_mistake_fails_and_is_explained(run) -> None:
    done = run(CLEAN.replace("colour", "color"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["the split cannot be looked at: no column 'colour'*", "*did you mean 'color'?"])


def test_manifests_are_tests_of_their_own(run, pytester) -> None:
    frame = {"colour": ["red", "red", "blue", "blue"] * 3, "shape": ["disc", "bar", "disc", "bar"] * 3}
    splitter = COMBINATIONS(["colour", "shape"], test_size=0.25)
    WRITE(frame, by=splitter, out=pytester.path / "held.csv")
    folds = FOLDS(["colour", "shape"], n_splits=2)
    WRITE(frame, by=folds, out=pytester.path / "dealt.csv")
    asked = ("--recombine-split", "held.split.json", "--recombine-split", "dealt.split.json")
    run(None, "", *asked).assert_outcomes(passed=2)
    held = pytester.path / "held.csv"
    held.write_text(held.read_text().replace(",test\n", ",train\n", 1))
    done = run(None, "", *asked)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*held.csv' is not split as 'held.split.json' says*"])
    held.unlink()
    done = run(None, "", *asked)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["the split cannot be looked at: no file*held.csv*"])
    run(None, "", "--recombine-split", "nowhere.split.json").assert_outcomes(failed=1)


def test_a_split_that_promises_no_values_is_not_held_to_them(run, pytester) -> None:
    frame = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    splitter = CONJUNCTIONS(["colour", "shape"], conjunctions=[{"colour": "red"}], guarantee="none")
    WRITE(frame, by=splitter, out=pytester.path / "held.csv")
    run(None, "", "--recombine-split", "held.split.json").assert_outcomes(passed=1)


def test_it_is_offered_to_pytest() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"recombine": "recombine.integrations.pytest_plugin"}


def loaded_by(code: str) -> set[str]:
    ask = f"\nimport sys; print('loaded', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_loading_it_loads_nothing_heavy() -> None:
    assert loaded_by("import recombine.integrations.pytest_plugin") == set()


def test_the_guard_can_fail() -> None:
    assert "numpy" in loaded_by("import recombine.integrations.pytest_plugin, numpy")
