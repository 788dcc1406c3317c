"""The spec files of examples/probes, as a new user runs them: through the command, from an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "probes"


@pytest.mark.process
@pytest.mark.parametrize(("name", "outcome"), [("plain_module", "modular"), ("hugging_face", "not sufficient")])
def test_a_spec_file_is_run_by_the_command(tmp_path, name, outcome):
    command = [sys.executable, "-m", "recombine", "probe", "subnetworks", str(EXAMPLES / f"{name}.py")]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--json", "--report", "page.html", "--out", "probe"],
        cwd=tmp_path,
        env=one_thread,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert outcome in json.dumps(json.loads(done.stdout))
    assert outcome in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "probe"]
