"""Combinations that are hardly seen, and combinations that perhaps cannot be."""

import csv
import io
from itertools import product

import numpy as np
import pytest

import recombine
from tests.twins import support_of


def birds(cells: dict[tuple[str, str], int]) -> dict[str, list[str]]:
    rows = [cell for cell, count in cells.items() for _ in range(count)]
    return {"bird": [row[0] for row in rows], "place": [row[1] for row in rows]}


CELLS = {("land", "land"): 3498, ("land", "water"): 184, ("water", "land"): 56, ("water", "water"): 1057}


def test_a_thin_cell_is_named_in_the_verdict_and_counted_everywhere(tmp_path) -> None:
    audit = recombine.audit(birds(CELLS), factors=["bird", "place"])
    assert (audit.counts.seen, audit.counts.thin, audit.grade) == (4, 1, "plausible")
    assert "bird=water, place=land has 56 rows of 4,795, where 825 would be expected" in audit.verdict
    assert audit.explain([("water", "land"), ("land", "land")])["rung"].to_pylist() == ["thin", "seen"]
    assert audit.table.filter(audit.table["rung"].to_numpy() == "thin").num_rows == 1
    assert audit.record().data["counts"]["thin"] == 1
    assert (audit.maps[0].state == 5).sum() == 1
    audit.save(tmp_path / "saved")
    assert recombine.Audit.load(tmp_path / "saved") == audit


def test_even_counts_are_not_thin_and_a_list_has_no_thin_ones() -> None:
    even = recombine.audit(birds(dict.fromkeys(CELLS, 30)), factors=["bird", "place"])
    assert (even.counts.thin, even.grade) == (0, "sound")
    assert recombine.audit(support_of([(a, b) for a in range(9) for b in range(9) if a >= b])).counts.thin == 0


def test_a_handful_beside_hundreds_is_thin() -> None:
    cells = dict.fromkeys(product("uvw", "xyz"), 400) | {("r", "x"): 2, ("r", "y"): 3}
    audit = recombine.audit(birds(cells), factors=["bird", "place"])
    assert audit.counts.thin == 2
    assert "where a seen combination has" in audit.verdict


def test_waterbirds_names_its_thin_cell(data) -> None:
    audit = recombine.audit(
        data / "factors/waterbirds.parquet", factors=["bird", "background"], where="split = 'train'"
    )
    assert "bird=waterbird, background=land has 56 rows of 4,795" in audit.verdict


SAID = [
    (verb, mode, direction, times)
    for verb, mode, direction, times in product(range(30), ("none", "around"), ("none", "left", "right"), range(3))
    if (mode == "none") == (direction == "none")
]


def commands() -> dict[str, list]:
    return dict(zip(("verb", "mode", "direction", "times"), map(list, zip(*SAID, strict=True)), strict=True))


def test_a_direction_without_a_manner_is_suspected_and_the_file_reads_back() -> None:
    audit = recombine.audit(commands(), factors=["verb", "mode", "direction", "times"])
    assert audit.zeros is not None
    assert {str(pair) for pair in audit.zeros.pairs} == {
        "mode=none with direction=left",
        "mode=none with direction=right",
        "mode=around with direction=none",
    }
    assert audit.grade == "plausible"
    assert audit.verdict.startswith("270 combinations were seen, probably all that can occur.")
    lines = csv.DictReader(io.StringIO(audit.impossible_csv()))
    declared = [{name: value for name, value in line.items() if value} for line in lines]
    again = recombine.audit(commands(), factors=["verb", "mode", "direction", "times"], impossible=declared)
    assert (again.zeros, again.counts.unseen, again.grade) == (None, 0, "sound")
    assert again.counts.space == audit.likely.space


@pytest.mark.parametrize("seed", range(20))
def test_independent_factors_are_hardly_ever_suspected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.choice(6, size=800, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]) for _ in range(4)], axis=1)
    assert recombine.audit(support_of(rows)).zeros is None


def test_pairs_of_a_two_factor_table_are_missing_not_impossible() -> None:
    """A thousand rows of each seen pair say nothing about the pairs that were not collected."""
    cells = {("land", "land"): 1000, ("land", "water"): 1000, ("water", "land"): 1000}
    assert recombine.audit(birds(cells), factors=["bird", "place"]).zeros is None


def test_what_is_ruled_out_jointly_is_not_suspected_again() -> None:
    impossible = [{"mode": "none", "direction": d, "times": t} for d in ("left", "right") for t in range(3)]
    impossible += [{"mode": "around", "direction": "none"}]
    audit = recombine.audit(commands(), factors=["verb", "mode", "direction", "times"], impossible=impossible)
    assert audit.zeros is None


@pytest.mark.slow
def test_scan_is_seen_whole_once_its_zeros_are_declared(data) -> None:
    factors = ["conj", *(f"{part}{half}" for half in "12" for part in ("verb", "mode", "dir", "rep"))]
    audit = recombine.audit(data / "scan/scan_factors.parquet", factors=factors, missing="value")
    assert audit.counts.undetermined == 237_045
    assert audit.likely is not None
    assert (audit.likely.space, audit.likely.undetermined) == (20_910, 0)
    assert "never meets, and perhaps cannot occur" in audit.verdict


def test_a_list_of_pairs_says_nothing_about_dependence() -> None:
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 30, (200, 2)), axis=0)
    audit = recombine.audit(support_of(rows))
    assert audit.dependence[0].cramers_v is None
    assert not any("Cramér" in reason for reason in audit.reasons)
    assert any("this is a list, not a sample" in reason for reason in audit.reasons)


def test_dependence_is_undefined_where_a_weight_leaves_one_value() -> None:
    table = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "w": [1.0, 2.0, 0.0, 0.0]}
    audit = recombine.audit(table, factors=["a", "b"], weight="w", domain={"a": ["x", "y"]})
    assert (audit.dependence[0].cramers_v, audit.dependence[0].nmi) == (None, None)
