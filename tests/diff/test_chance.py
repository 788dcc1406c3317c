"""Where nothing but chance differs, it is hardly ever said to be more; and what is more is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.hypothesis_tests import absent_by_chance, losses_by_redraw, means_differ, shares_differ
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff import audit_diff, evaluation_diff
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations
from recombine.verbs.diff.findings import Changes, Findings, Outcome, ScoreChange, correct_for_many, table_of
from recombine.verbs.diff.verdict import grade, score_sentence, verdict
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


BLOCKS = Space.of({"a": range(6), "b": range(6), "c": range(10)})


def blocks_compared(seed: int) -> ScoreChange:
    """Two models that are equally good, each with luck of its own in every pair of a and b; c does nothing.

    Eight of the 36 pairs were held out whole, and are compared.
    """
    rng = np.random.default_rng(seed)
    cells = BLOCKS.every()
    pair = cells[:, 0] * 6 + cells[:, 1]
    kept = cells[~np.isin(pair, rng.choice(36, 8, replace=False))]
    trained = Support(BLOCKS, np.asfortranarray(kept), np.ones(len(kept)))
    first, second = (outcomes(BLOCKS, cells, rng.beta(7, 3, 36)[pair], 6, rng, trained) for _ in range(2))
    places = np.arange(len(cells))
    return evaluation_diff._scores(first, second, PairedCombinations(cells, places, places), SURE)[0]


def test_models_that_are_equally_good_on_blocks_are_hardly_ever_told_apart() -> None:
    """Counted as 80 combinations instead of 8 pairs, 27 of 100 were."""
    found = [blocks_compared(seed) for seed in range(100)]
    assert {one.name for one in found} == {"unseen"}
    assert {(one.combinations, one.pieces) for one in found} == {(80, 8)}
    assert np.mean([one.outcome in ("better", "worse") for one in found]) <= 0.06
    assert "On 80 combinations (8 pieces of evidence) unseen both times" in score_sentence(found[0])


def test_pieces_that_differ_are_those_of_the_evaluation_that_has_fewer() -> None:
    first, second = (SimpleNamespace(pieces=np.array(one)) for one in ([0, 0, 1, 1], [0, 1, 2, 3]))
    both = PairedCombinations(np.zeros((4, 1)), np.arange(4), np.arange(4))
    for old, new in ((first, second), (second, first)):
        assert evaluation_diff._pieces(old, new, both).tolist() == [0, 0, 1, 1]  # type: ignore[arg-type]


def compared(outcome: Outcome | None, *changes: Changes, by_redraw: tuple[str, ...] = ()) -> Findings:
    """What was found where one score (or none) came out like this."""
    score = (
        None
        if outcome is None
        else ScoreChange("unseen", "accuracy", True, "higher", 9, 0.9, 0.8, -0.1, -0.2, 0.1, outcome)
    )
    return Findings(table_of(SPACE, changes), SPACE.names, scores=(score,) if score else (), by_redraw=by_redraw)


LOST = Changes(SPACE.every()[:1], "lost", ["seen"], ["determined"], ["worse"])


def test_a_grade_that_fell_by_less_than_chance_is_not_worse() -> None:
    """A grade is a threshold on a score: noise alone carries it across."""
    within = compared("within chance")
    assert grade(within, "sound", "weak", unchanged=False) == "plausible"
    assert "The grade of the audit went from sound to weak, no more than chance explains." in verdict(
        "audit", within, "sound", "weak", unchanged=False
    )
    assert grade(compared("worse"), "sound", "sound", unchanged=False) == "failing"
    assert grade(compared("not enough evidence"), "sound", "weak", unchanged=False) == "untested"


def test_a_grade_that_fell_with_what_was_lost_is_worse_unless_rows_were_drawn_anew() -> None:
    assert grade(compared(None), "sound", "failing", unchanged=False) == "failing"  # a lint: nothing in it is luck
    assert grade(compared("within chance", LOST), "sound", "weak", unchanged=False) == "failing"
    assert grade(compared("within chance", LOST), "weak", "weak", unchanged=False) == "weak"
    redrawn = compared("within chance", LOST, by_redraw=("lost", "rung"))
    assert grade(redrawn, "sound", "weak", unchanged=False) == "plausible"
    assert "Another draw of the rows from the same source would lose as many." in verdict(
        "audit", redrawn, "sound", "weak", unchanged=False
    )


def drawn(rng: np.random.Generator, rows: int, chance: np.ndarray) -> np.ndarray:
    return rng.multinomial(rows, chance / chance.sum()).astype(float)


def test_another_draw_of_rows_loses_combinations_and_that_is_hardly_ever_more_than_chance() -> None:
    source, rng = np.outer(1 / np.arange(1, 8), 1 / np.arange(1, 9)).ravel(), np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        old, new = drawn(rng, 300, source), drawn(rng, 200, source)
        either = old + new > 0
        lost = ((old > 0) & (new == 0)).any()
        alarms += bool(lost) and not losses_by_redraw(old[either], new[either])
    assert alarms <= 10


def test_combinations_that_were_taken_out_are_no_luck() -> None:
    rng, source = np.random.default_rng(1), np.ones(60)
    old = drawn(rng, 300, source)
    assert not losses_by_redraw(old, drawn(rng, 300, np.where(np.arange(60) < 12, 0.0, source)))  # of new rows
    assert not losses_by_redraw(old, np.where(np.arange(60) < 2, 0.0, old))  # of the same rows
    assert not losses_by_redraw(old, np.where(np.arange(60) < 2, 0.0, np.maximum(old - (np.arange(60) == 5), 1)))


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
