"""The tables of docs/probe_subnetworks.md are those that the benchmark measured."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def loaded(name):
    path = ROOT / "benchmarks" / f"{name}.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.fixture(scope="module")
def benchmark():
    return loaded("probe_subnetworks")


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "docs" / "measured" / "probe_subnetworks.json").read_text())


def test_the_pages_tables_are_what_was_measured(benchmark, measured):
    page = benchmark.PAGE.read_text()
    assert set(measured) == set(benchmark.PARTS)
    assert benchmark.with_tables(page, measured) == page
    changed = {**measured, "untrained": {**measured["untrained"], "called modular": 77}}
    assert benchmark.with_tables(page, changed) != page


def test_untrained_networks_are_called_modular_at_most_once_in_twenty(measured):
    found = measured["untrained"]
    assert found["networks"] == 200
    assert found["share, high"] <= 0.05
    assert found["masks that suffice in both components"] >= 50  # else nothing was tried


def test_networks_whose_parts_are_known_are_called_so(measured):
    expected = {"two blocks": "modular", "one shared block": "collapse", "two copies of each block": "modular"}
    ours = [row for row in measured["known"] if row["estimator"] == "continuous" and row["network"] in expected]
    assert {row["network"]: row["outcome"] for row in ours} == expected
    assert not any(row["outcome"] == "modular" for row in measured["known"] if row["network"].startswith("untrained"))


def test_the_interval_of_a_share_is_exact(benchmark):
    low, high = benchmark.clopper_pearson(0, 200)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 200)))


def test_planted_networks_are_called_what_they_are_and_never_surely_the_opposite():
    benchmark = loaded("planted_networks")
    rows, page = json.loads(benchmark.RESULT.read_text()), benchmark.PAGE.read_text()
    assert benchmark.with_table(page, rows) == page
    for kind in benchmark.RIGHT:
        mine = [row for row in rows if row["planted"] == kind]
        assert sum(map(benchmark.is_right, mine)) >= 0.9 * len(mine) > 0
        assert not any(map(benchmark.is_opposite, mine))
    assert benchmark.is_opposite({"planted": "shared", "said": "modular", "grade": "plausible"})
    assert not benchmark.is_opposite({"planted": "shared", "said": "modular", "grade": "weak"})
