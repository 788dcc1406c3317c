"""The tables of the page are those that were measured; and who was fooled follows from the numbers."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE, MEASURED = ROOT / "docs" / "probe_geometry.md", ROOT / "docs" / "measured" / "probe_geometry.json"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("probe_geometry", ROOT / "benchmarks" / "probe_geometry.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("table", ["answers", "layer before"])
def test_the_page_shows_what_was_measured(benchmark, table):
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    assert measured["fooled"][table] == benchmark.fooled(measured[table])
    assert benchmark.markdown(measured[table], measured["fooled"][table]) in PAGE.read_text(encoding="utf-8")


def test_who_is_fooled(benchmark):
    """Somebody wrong who scores as high as the worst of the right ones fools a measure; who scores lower does not."""
    error = "error on unseen / trivial"
    rows = {
        "right": {"additivity": 0.5, "superposition": 0.2, error: 0.1},
        "better": {"additivity": 0.9, "superposition": 0.1, error: 0.2},
        "wrong": {"additivity": 0.6, "superposition": 0.3, error: 2.0},
        "empty": {"additivity": 0.4, "superposition": None, error: 1.0},
    }
    found = benchmark.fooled(rows)
    assert found["additivity"] == ["wrong"]
    assert found["superposition"] == []


def test_no_network_that_nobody_trained_is_called_apart():
    found = json.loads((MEASURED.parent / "probe_geometry_alarms.json").read_text(encoding="utf-8"))
    assert found["networks"] == 200
    assert found["apart"][1] <= 0.05
    assert f"{found['outcomes'].get('apart', 0) or 'none'} was called `apart`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("draw", [3, 4, 5])
def test_a_few_of_them_again(benchmark, draw):
    """The quick sibling of the 200: one-hot, bump and ramp codes."""
    module, inputs, codes = benchmark.untrained(draw)
    table = {"x": codes[:, 0], "y": codes[:, 1]}
    assert benchmark.geometry(module, inputs=inputs, table=table, seed=draw).outcome in ("inherited", "unclear")
