"""The page says what the benchmark measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_tables_of_the_page_are_those_of_the_benchmark():
    page = (ROOT / "docs" / "probe_influence.md").read_text(encoding="utf-8")
    figures = json.loads((ROOT / "docs" / "measured" / "probe_influence.json").read_text(encoding="utf-8"))["figures"]
    assert figures["pairs"]["verdict"] in page
    for name, one in figures["linear"].items():
        assert f"| {name} | {one['rows']:.3f} | {one['combinations']:.3f} |" in page
    for line in figures["networks"]:
        assert f"| {line['network']} | {line['weights']:,} | {line['unseen score']:.2f} | {line['exact']:.2f} (" in page
    for line in figures["rules"]:
        assert f"| {line['who']} | {line['rows']} | " in page
        assert f"| {line['outcome']}, {line['grade']} |" in page
    assert {one["share"] for one in figures["untrained"].values()} == {0.0}
    assert f"at most {figures['untrained']['graded sound']['high']:.1%}".replace("%", " %") in page


def test_the_acceptance_of_the_toy_is_among_what_was_measured():
    figures = json.loads((ROOT / "docs" / "measured" / "probe_influence.json").read_text(encoding="utf-8"))["figures"]
    numbers = figures["pairs"]["numbers"]
    assert numbers["A: unseen at the end"] < 0.88
    assert numbers["B: unseen at the end"] > 0.95
    assert numbers["A less B: gap"] > 0.1
