"""What every probe says of small networks trained here, as numbers: written down once, compared ever after.

    python -m tests.golden_probes             rewrite golden_probes.json, after a change of numbers that was meant

Asked through the command, as its flags and files stay when a function's parameters are put in groups.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from typer.testing import CliRunner

import recombine
import recombine_lab
from recombine.cli.app import app
from tests.golden_verbs import numbers

FILE = Path(__file__).with_suffix(".json")
EXAMPLES = Path(__file__).parents[1] / "examples" / "probes"
FEATURES = """
import numpy as np

x, y = np.divmod(np.arange(64), 8)
model = np.hstack([np.eye(8)[x], np.eye(8)[y]]) + 0.1 * np.random.default_rng(0).normal(size=(64, 16))
table = {"x": x, "y": y}
repeats = 5
"""
POINTS = """
import numpy as np

columns = np.random.default_rng(0).uniform(size=(300, 4))
points = dict(zip(("x of A", "y of A", "x of B", "y of B"), columns.T))
slots = {"A": ("x of A", "y of A"), "B": ("x of B", "y of B")}
"""


def of_run(probe: str, task: str, model: Any) -> Callable[[Path], list[str]]:
    """A probe of a run in a store: a few hundred updates of one seed."""

    def arguments(scratch: Path) -> list[str]:
        (run,) = recombine_lab.fit(task, "own", model, {"steps": 200}, store=scratch / "runs", progress=None)
        return [probe, str(scratch / "runs"), "--run", run.key[:8]]

    return arguments


def of_file(probe: str, text: str) -> Callable[[Path], list[str]]:
    """A probe of what a Python file says."""

    def arguments(scratch: Path) -> list[str]:
        (scratch / "spec.py").write_text(text, encoding="utf-8")
        return [probe, str(scratch / "spec.py")]

    return arguments


PROBES: Mapping[str, Callable[[Path], list[str]]] = {
    "geometry of features": of_file("geometry", FEATURES),
    "geometry of a run": of_run("geometry", "addition", "mlp"),
    "influence of a run": of_run("influence", "toy", {"name": "mlp", "hidden": [8, 8, 8]}),
    "support of points": of_file("support", POINTS),
    "subnetworks of a module": of_file("subnetworks", (EXAMPLES / "plain_module.py").read_text(encoding="utf-8")),
}


def measured(name: str) -> dict[str, Any]:
    """The outcome and the numbers of one probe."""
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        ended = CliRunner().invoke(app, ["probe", *PROBES[name](scratch), "--out", str(scratch / "probe")])
        if ended.exit_code:
            raise AssertionError(ended.output)
        found = recombine.load(scratch / "probe")
    return {"outcome": found.outcome, **numbers(found)}


if __name__ == "__main__":
    text = json.dumps({name: measured(name) for name in PROBES}, indent=1, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf-8")
