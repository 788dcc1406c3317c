"""Combinations that are hardly seen, and combinations that perhaps cannot be."""

import csv
import io
from itertools import product

import numpy as np
import pytest

import recombine
from recombine.verbs.audit.structural_zeros import _surprise_by_rows, suspect_zeros
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


# Planted worlds of rows: which pairs never meet because they cannot, and which because nobody collected them.

SIZES = ((2, 4), (2, 4, 3), (4, 4, 4), (2, 2, 5))


def sample(rng: np.random.Generator, sizes: tuple[int, ...], rows: int, steepness: float) -> np.ndarray:
    """Independent rows with margins like Zipf's."""
    shares = [rng.permutation(1.0 / np.arange(1, size + 1) ** steepness) for size in sizes]
    return np.stack([rng.choice(size, rows, p=p / p.sum()) for size, p in zip(sizes, shares, strict=True)], axis=1)


def collected_in_bursts(rng: np.random.Generator, sizes: tuple[int, ...], share: float, burst: str) -> np.ndarray:
    """A share of the combinations, each with many rows or few, as somebody happened to collect them."""
    cells = np.array([cell for cell in product(*map(range, sizes)) if rng.random() < share] or [[0] * len(sizes)])
    each = 4000 / len(cells)
    sizes_of = {
        "even": lambda: np.full(len(cells), int(each)),
        "geometric": lambda: rng.geometric(1 / each, len(cells)),
        "log-normal": lambda: rng.lognormal(np.log(each), 1.2, len(cells)).astype(int) + 1,
    }
    return np.repeat(cells, sizes_of[burst](), axis=0)


def suspected(rows: np.ndarray) -> list[str]:
    zeros, _ = suspect_zeros(support_of(rows))
    return [] if zeros is None else [str(pair) for pair in zeros.pairs]


@pytest.mark.parametrize("sizes", SIZES)
def test_a_pair_that_never_met_in_hundreds_of_rows_is_suspected(sizes: tuple[int, ...]) -> None:
    """Found in nine of ten tables, and nothing else beside it."""
    found = 0
    for seed in range(20):
        rows = sample(np.random.default_rng(seed), sizes, 4000, 0.5)
        named = suspected(rows[~((rows[:, 0] == 0) & (rows[:, 1] == 0))])
        assert set(named) <= {"f0=0 with f1=0"}
        found += bool(named)
    assert found >= 18 if len(sizes) > 2 else found == 0  # with two factors it is the combination that is asked about


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("steepness", [0.0, 1.2])
def test_independent_rows_are_hardly_ever_suspected_whatever_their_margins(sizes, steepness) -> None:
    worlds = (sample(np.random.default_rng(seed), sizes, (100, 500, 4000)[seed % 3], steepness) for seed in range(20))
    assert sum(bool(suspected(rows)) for rows in worlds) <= 1


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("burst", ["even", "geometric", "log-normal"])
def test_rows_that_come_in_bursts_are_no_evidence(sizes: tuple[int, ...], burst: str) -> None:
    worlds = (
        collected_in_bursts(np.random.default_rng(seed), sizes, 0.4 + seed % 2 * 0.4, burst) for seed in range(20)
    )
    assert sum(bool(suspected(rows)) for rows in worlds) <= 1


def test_two_impossible_pairs_do_not_hide_each_other() -> None:
    rows = sample(np.random.default_rng(3), (2, 5, 3), 4000, 0.5)
    rows = rows[~((rows[:, 0] == 0) & (rows[:, 1] <= 1))]
    assert sorted(suspected(rows)) == ["f0=0 with f1=0", "f0=0 with f1=1"]


def test_blocks_left_out_as_benchmarks_do_are_not_suspected_by_rows() -> None:
    """Half the colours never on cubes, the other half never on cylinders: CLEVR-CoGenT."""
    rows = sample(np.random.default_rng(0), (8, 3, 4), 20_000, 0.0)
    apart = ((rows[:, 1] == 0) & (rows[:, 0] < 4)) | ((rows[:, 1] == 1) & (rows[:, 0] >= 4))
    assert suspected(rows[~apart]) == []


def test_the_chance_of_an_empty_pair_by_hand() -> None:
    """Two factors, no other cell empty: expected rows over scatter, with the scatter of Pearson's statistic."""
    counts = np.array([[120, 81, 199, 0], [110, 77, 214, 95]])
    support = support_of(np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0))
    fit = np.where(counts > 0, 1.0, 0.0)
    for _ in range(500):
        fit *= counts.sum(axis=1, keepdims=True) / fit.sum(axis=1, keepdims=True)
        fit *= counts.sum(axis=0) / fit.sum(axis=0)
    squares = sum((n - m) ** 2 / m for n, m in zip(counts.ravel(), fit.ravel(), strict=True) if n)
    scatter = max(1.0, squares / (-2 * np.log(0.9)))  # the tenth of a chi-squared of two degrees of freedom
    expected = counts.sum(axis=1)[0] * counts.sum(axis=0)[3] / counts.sum()
    assert _surprise_by_rows(support, 0, 1)[0, 3] == pytest.approx(expected / scatter, rel=1e-6)


def patients(seed: int = 1) -> dict[str, list]:
    """No man is pregnant; two combinations were just not collected."""
    rng = np.random.default_rng(seed)
    names = {
        "sex": ["female", "male"],
        "condition": ["healthy", "asthma", "diabetes", "pregnant"],
        "region": ["north", "south", "east", "west"],
    }
    rows = sample(rng, (2, 4, 4), 4000, 0.3)
    rows = rows[~((rows[:, 0] == 1) & (rows[:, 1] == 3))]
    rows = rows[~((rows == [0, 2, 2]).all(axis=1) | (rows == [1, 1, 0]).all(axis=1))]
    columns = {name: [values[v] for v in rows[:, k]] for k, (name, values) in enumerate(names.items())}
    return columns | {"score": (rows.sum(axis=1) + rng.normal(0, 0.3, len(rows))).tolist()}


ASKED = {"factors": ["sex", "condition", "region"]}
PAIR = "perhaps cannot occur: sex=male with condition=pregnant"


def test_an_audit_names_the_pair_once_and_does_not_say_that_it_follows() -> None:
    audit = recombine.audit(patients(), **ASKED)
    assert audit.verdict.count(PAIR) == 1
    assert "26 of 28 combinations were seen; if effects add up, the other 2 follow" in audit.verdict
    assert (audit.counts.determined, audit.likely.determined, audit.likely.impossible) == (6, 2, 4)
    assert [str(pair) for pair in audit.uncovered] == ["sex=male with condition=pregnant"]
    assert any("not sex=male with condition=pregnant." in reason for reason in audit.reasons)
    both = next(one for one in audit.maps if one.factors == ("sex", "condition"))
    assert (both.state == 4).sum() == 1
    assert recombine.Audit.from_record(audit.record()) == audit


@pytest.mark.parametrize("goal", ["pairs", "variance", "balance", "leverage", "determined"])
def test_a_plan_proposes_no_such_combination_unless_asked_to(goal: str) -> None:
    found = recombine.plan(patients(), **ASKED, goal=goal)
    assert found.verdict.count(PAIR) == 1
    assert "They are not proposed; with --any (plausible=False) they are." in found.verdict
    men = [line.combination for line in found.lines if line.combination["sex"] == "male"]
    assert "pregnant" not in {combination["condition"] for combination in men}
    if goal == "pairs":
        everything = recombine.plan(patients(), **ASKED, goal=goal, plausible=False)
        assert PAIR not in everything.verdict
        assert everything.lines[0].combination["condition"] == "pregnant"


def test_forecasts_count_it_and_say_so_unless_the_truth_holds_it() -> None:
    found = recombine.predict(patients(), **ASKED, target="score", model="relu:1", backtest=False)
    assert found.verdict.count(PAIR) == 1
    assert (found.space, sum(found.counts.values()) - found.counts["seen"]) == (32, 6)
    truth = {"sex": ["male"], "condition": ["pregnant"], "region": ["west"], "score": [6.0]}
    known = recombine.predict(patients(), **ASKED, target="score", model="relu:1", truth=truth, backtest=False)
    assert PAIR not in known.verdict
    assert known.space == 32
    rehearsed = recombine.rehearse(patients(), "additive", **ASKED, target="score")
    assert rehearsed.verdict.count(PAIR) == 1
    assert rehearsed.unseen == 6


def test_evaluations_splits_lints_and_diffs_name_it_too(tmp_path) -> None:
    table = patients()
    rows = len(table["sex"])
    table |= {"said": table["score"], "side": ["test" if k % 3 else "train" for k in range(rows)]}
    scored = recombine.evaluate(table, **ASKED, target="score", prediction="said", split="side", causes=False)
    assert scored.untested.total == 6  # a suspicion lets no worst case pass
    assert sum(reason.count(PAIR) for reason in scored.reasons) == 1
    assert sum(PAIR in check.sentence for check in recombine.lint(table, **ASKED, split="side").checks) == 1
    divided = recombine.split(table, **ASKED, out=tmp_path / "held.csv")
    assert sum(PAIR in reason for reason in divided.reasons) == 1
    audit = recombine.audit(table, **ASKED)
    assert sum(PAIR in reason for reason in recombine.diff(audit, audit).reasons) == 1
    held = {"sex": ["male"] * 200, "condition": ["pregnant"] * 200, "region": ["east"] * 200}
    before = recombine.audit({name: table[name] + held[name] for name in held}, **ASKED)
    assert not any(PAIR in reason for reason in recombine.diff(before, audit).reasons)


def test_what_cannot_be_collected_is_not_called_a_candidate() -> None:
    table = {"colour": ["red", "red", "blue"], "shape": ["disc", "cube", "ball"]}
    costs = [{"colour": "red", "shape": "ball", "cost": ""}]
    found = recombine.plan(table, factors=["colour", "shape"], costs=costs)
    assert found.reasons[0].startswith("Every combination that can be collected was a candidate.")
    assert {"colour": "red", "shape": "ball"} not in [line.combination for line in found.lines]


def test_uncovered_pairs_are_named_by_what_one_would_expect() -> None:
    """Brute force: every pair of labels that no row holds, with the product of its shares; declared ones left out."""
    rows = sample(np.random.default_rng(5), (3, 4, 3), 30, 0.8)
    audit = recombine.audit(support_of(rows))
    names = audit.support.space.names
    expected, counts = {}, {}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        for u, v in product(set(rows[:, a]), set(rows[:, b])):
            if not ((rows[:, a] == u) & (rows[:, b] == v)).any():
                often = (rows[:, a] == u).sum() * (rows[:, b] == v).sum() / len(rows)
                expected[f"{names[a]}={u} with {names[b]}={v}"] = often
                counts[f"{names[a]}={u} with {names[b]}={v}"] = ((rows[:, a] == u).sum(), (rows[:, b] == v).sum())
    assert {str(pair): pair.expected for pair in audit.uncovered} == pytest.approx(expected)
    assert {str(pair): pair.counts for pair in audit.uncovered} == counts
    single = {pair: np.log2((1 / len(rows)) / (m / len(rows) * n / len(rows))) for pair, (m, n) in counts.items()}
    assert {str(pair): pair.pmi_below for pair in audit.uncovered} == pytest.approx(single)
    assert [pair.expected for pair in audit.uncovered] == sorted(expected.values(), reverse=True)
    pairs = audit.coverage[1]
    assert len(audit.uncovered) == pairs.possible - pairs.seen > 0
    first = audit.uncovered[0]
    declared = [dict(zip(first.factors, first.values, strict=True))]
    table = {name: [str(v) for v in rows[:, k]] for k, name in enumerate(names)}
    again = recombine.audit(table, factors=list(names), impossible=declared)
    assert str(first) not in map(str, again.uncovered)
