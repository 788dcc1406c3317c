"""A test that takes longer than its marker allows is found, and is told which marker it wants."""

import subprocess
import sys

import pytest

from tests import tiers

pytest_plugins = ["pytester"]

TESTS = """
import subprocess, sys, time
import pytest

def busy(seconds):
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass

BUSY = [sys.executable, "-c", "import time\\nwhile time.process_time() < 0.15: pass"]

def test_that_is_first_to_import():
    busy(0.15)
    sys.modules |= {f"imported_{number}": sys for number in range(150)}

def test_light():
    pass

def test_long():
    busy(0.15)

@pytest.fixture
def prepared():
    busy(0.15)

def test_long_to_prepare(prepared):
    pass

def test_in_another_process():
    subprocess.run(BUSY, check=True)

def test_that_leaves_a_process():
    global left
    left = subprocess.Popen(BUSY)

def test_that_finds_it_ended():
    left.wait()

@pytest.mark.slow
def test_that_says_so():
    busy(0.15)
"""


def test_what_takes_too_long_fails(pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nmarkers = slow: so it is\n")
    done = pytester.runpytest_inprocess("-p", "tests.tiers", "-p", "no:cacheprovider", "-v", "-rN", "--seconds", "0.05")
    done.assert_outcomes(passed=5, failed=3)
    done.stdout.fnmatch_lines(["*test_that_says_so PASSED*", "*test_light PASSED*"])  # the heavy one first
    said = done.stdout.str()
    assert said.count("make it lighter, or mark it @pytest.mark.slow") == 2
    assert said.count("make it lighter, or mark it @pytest.mark.process") == 1


ONCE_LATE = """
import time
import pytest

runs = []

@pytest.fixture(scope="module")
def prepared():
    runs.append("prepared")

def test_late_once(prepared, tmp_path):
    (tmp_path / "made").mkdir()
    runs.append("late")
    began = time.process_time()
    while runs.count("late") == 1 and time.process_time() - began < 0.3:
        pass

def test_that_it_ran_again():
    assert runs == ["prepared", "late", "late"]

def test_wrong():
    runs.append("wrong")
    assert runs.count("wrong") > 1
"""


def test_what_took_too_long_once_is_measured_again(pytester, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "_NOISE", 100)
    pytester.makepyfile(ONCE_LATE)
    done = pytester.runpytest_inprocess("-p", "tests.tiers", "-p", "no:cacheprovider", "-v", "-rN", "--seconds", "0.05")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*test_wrong FAILED*"])  # what is wrong is wrong at once: nothing else gets a second try


def test_what_takes_far_too_long_is_not_measured_again(pytester) -> None:
    pytester.makepyfile(ONCE_LATE)
    done = pytester.runpytest_inprocess("-p", "tests.tiers", "-p", "no:cacheprovider", "-v", "-rN", "--seconds", "0.05")
    done.stdout.fnmatch_lines(["*test_late_once FAILED*", "*test_that_it_ran_again FAILED*"])


PROPERTY = """
import time
from hypothesis import given, strategies as st

@given(st.integers())
def test_of_many_examples(number):
    time.process_time()
"""


@pytest.mark.parametrize(("profile", "outcome"), [("landing", "failed"), ("nightly", "passed")])
def test_a_property_with_more_examples_is_not_judged(pytester, monkeypatch, profile: str, outcome: str) -> None:
    monkeypatch.setattr(tiers, "PROFILE", profile)
    pytester.makepyfile(PROPERTY)
    done = pytester.runpytest_inprocess("-p", "tests.tiers", "-p", "no:cacheprovider", "--seconds", "1e-6")
    done.assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(
    ("programs", "marker"),
    [([], "slow"), (["python3"], "process"), (["bash", "chromium"], "browser"), (["chromium", "raylet"], "cluster")],
)
def test_the_marker_that_is_wanted(programs: list[str], marker: str) -> None:
    assert tiers.wanted(programs) == marker


def test_programs_are_noticed() -> None:
    started = tiers.Started()
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert any(program.startswith("python") for program in started.forget())
    assert started.forget() == []
