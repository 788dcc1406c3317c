"""Where nothing but chance differs, it is hardly ever said to be more; and what is more is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from recombine.data.support import Support
from recombine.numerics.hypothesis_tests import absent_by_chance, means_differ, shares_differ
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff import audit_diff, evaluation_diff
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations
from recombine.verbs.diff.findings import Findings, ScoreChange, correct_for_many, table_of
from recombine.verbs.diff.verdict import grade
from tests.diff.worlds import grid, labelled, outcomes, rate

SURE = IntervalSettings(draws=300)
SPACE = grid(6, 7)
TIMES = 200


def cells(rng: np.random.Generator, share: float = 0.7) -> np.ndarray:
    every = SPACE.every()
    return every[np.sort(rng.permutation(len(every))[: int(share * len(every))])]


def chances(rng: np.random.Generator, mixed: float) -> np.ndarray:
    """The chance of "yes" in every cell: the factors add up but for what is mixed in."""
    a, b, both = rng.normal(size=6), rng.normal(size=7), rng.normal(size=(6, 7))
    return 1 / (1 + np.exp(-2 * (a[:, None] + b[None] + mixed * both)))


def additive_change(seed: int, mixed: float, mixed_now: float) -> ScoreChange:
    rng = np.random.default_rng(seed)
    kept, start = cells(rng), rng.integers(1 << 30)
    before, now = (chances(np.random.default_rng(start), part)[kept[:, 0], kept[:, 1]] for part in (mixed, mixed_now))
    supports = [labelled(SPACE, kept, yes, 12, rng) for yes in (before, now)]
    old, new = (SimpleNamespace(support=support) for support in supports)
    (found,), _ = audit_diff._scores(old, new, MergedSpace.of(SPACE, SPACE), SURE)  # type: ignore[arg-type]
    return found


def test_another_draw_of_rows_is_hardly_ever_more_than_chance_for_adding_up() -> None:
    assert rate(lambda seed: additive_change(seed, 0.5, 0.5).outcome in ("better", "worse"), TIMES) <= 0.06


def test_a_rule_that_no_longer_adds_up_is_found() -> None:
    assert rate(lambda seed: additive_change(seed, 0.0, 4.0).outcome == "worse", 40) >= 0.6


def measured(seed: int, drop: float, *, moved: int = 0) -> Findings:
    """Two evaluations of one model on other rows; `drop` on all cells, and on some of them all the way."""
    rng = np.random.default_rng(seed)
    kept = cells(rng, 1.0)
    trained = Support(SPACE, np.asfortranarray(kept[::2]), np.ones(len(kept[::2])))
    right = rng.beta(6, 2, size=len(kept))
    now = np.maximum(right - drop, 0.0)
    now[:moved] = 0.02
    right[:moved] = 0.98
    first, second = (outcomes(SPACE, kept, share, 25, rng, trained) for share in (right, now))
    places = np.arange(len(kept))
    both = PairedCombinations(kept, places, places)
    return Findings(
        table=table_of(SPACE, [evaluation_diff._score_changes(first, second, both)]),
        factors=SPACE.names,
        scores=evaluation_diff._scores(first, second, both, SURE),
    )


def test_another_test_set_is_hardly_ever_more_than_chance() -> None:
    """Of both sides together, and of single combinations."""
    found = [measured(seed, 0.0) for seed in range(TIMES)]
    assert np.mean([any(s.outcome in ("better", "worse") for s in one.scores) for one in found]) <= 0.06
    assert np.mean([one.table.num_rows > 0 for one in found]) <= 0.06


def test_a_real_drop_is_found_and_fails() -> None:
    found = [measured(seed, 0.15) for seed in range(20)]
    assert np.mean([one.scores[0].outcome == "worse" for one in found]) >= 0.9
    assert {grade(one, "sound", "sound", unchanged=False) for one in found} <= {"failing", "weak"}


def test_the_combinations_that_got_worse_are_named_and_no_others() -> None:
    found = measured(1, 0.0, moved=3)
    named = {(line["a"], line["b"]) for line in found.table.to_pylist() if line["way"] == "worse"}
    assert named == {("a0", "b0"), ("a0", "b1"), ("a0", "b2")}


def test_chances_are_those_of_scipy() -> None:
    from scipy.stats import fisher_exact, ttest_ind_from_stats  # noqa: PLC0415

    p = shares_differ(*(np.array([float(x)]) for x in (9, 10, 3, 12)))[0]
    one_sided = min(fisher_exact([[9, 1], [3, 9]], alternative=way).pvalue for way in ("less", "greater"))
    assert p == pytest.approx(2 * one_sided)
    told = means_differ(*(np.array([x]) for x in (1.5, 2.0, 9.0, 3.0, 14.0)))[0]
    assert told == pytest.approx(ttest_ind_from_stats(1.5, 2**0.5, 9, 0.0, 3**0.5, 14, equal_var=False).pvalue)
    assert np.isnan(means_differ(*(np.array([x]) for x in (1.0, 0.0, 5.0, 0.0, 5.0)))[0])
    assert absent_by_chance(np.array([3.0]), 1.0, 3.0)[0] == pytest.approx(2 / 64)
    assert correct_for_many(np.array([np.nan, 0.01]), 3).tolist()[1] == pytest.approx(0.04)


def test_differences_that_cancel_out_are_within_chance_and_not_the_same() -> None:
    rng = np.random.default_rng(0)
    kept = cells(rng, 1.0)[:12]
    turned = np.tile([0.0, 1.0], 6)
    first, second = (outcomes(SPACE, kept, share, 8, rng, None) for share in (turned, 1 - turned))
    places = np.arange(len(kept))
    (found, *_) = evaluation_diff._scores(first, second, PairedCombinations(kept, places, places), SURE)
    assert found.difference == pytest.approx(0.0, abs=0.2)
    assert found.outcome == "within chance"
    (again, *_) = evaluation_diff._scores(first, first, PairedCombinations(kept, places, places), SURE)
    assert again.outcome == "the same"
