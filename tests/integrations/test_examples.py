"""The examples run, and each adds at most three lines to what its users write anyway."""

import os
import subprocess
import sys

import pytest

from tests.integrations.worlds import EXAMPLES

PACKAGES = {
    "hugging_face_trainer": "accelerate",
    "lightning_trainer": "lightning",
    "scikit_learn": "sklearn",
    "keras_fit": "keras",
    "plain_loop": "torch",
}


@pytest.mark.process
@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_runs_and_adds_three_lines(name):
    pytest.importorskip(PACKAGES[name])
    script = EXAMPLES / f"{name}.py"
    assert 1 <= sum(line.rstrip().endswith("# added") for line in script.read_text().splitlines()) <= 3
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "unseen_accuracy" in done.stdout
