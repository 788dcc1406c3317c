"""The example of an expectation says what a lint says."""

import os
import subprocess
import sys

import pytest

from tests.integrations.worlds import EXAMPLES


def test_a_lint_is_an_expectation() -> None:
    pytest.importorskip("great_expectations")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "great_expectations_split.py")],
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    clean, leaking = done.stdout.splitlines()
    assert clean.startswith("clean: True. Split check passed on its 8 test rows: ")
    assert leaking.startswith("leaking: False. This split does not hold out combinations. 1 of 2 test combinations is ")
