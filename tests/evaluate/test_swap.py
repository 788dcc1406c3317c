"""The swap test: known answers, a twin that lists every pair of rows, and intervals."""

import json
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.decoding import revive
from recombine.data.support import LabelTarget, Support
from recombine.numerics.resampling import times_drawn
from recombine.verbs.evaluate import shortcut_test
from recombine.verbs.evaluate import swap_test as module
from recombine.verbs.evaluate.shortcut_test import followed, following_chances
from recombine.verbs.evaluate.swap_test import SwapTest, swap_test
from tests.evaluate.test_additivity import number_outcomes
from tests.evaluate.test_anatomy import label_outcomes
from tests.properties import examples
from tests.twins import every, support_of

CELLS = every((6, 6))


def of(found, name):
    return next(one for one in found.factors if one.factor == name)


def brute(outcomes):
    """Every pair of combinations that differ in one factor, and every pair of their lines."""
    codes, width = outcomes.tested.codes, outcomes.tested.codes.shape[1]
    rows = outcomes.tested.counts
    sums = {k: np.zeros(4) for k in range(width)}  # same truth, and answer changed; other truth, and answer stayed
    lines = list(zip(outcomes.combination, outcomes.truth, outcomes.said, outcomes.count, strict=True))
    for a, b in combinations(lines, 2):
        differ = np.flatnonzero(codes[a[0]] != codes[b[0]])
        if len(differ) == 1:
            weight = a[3] / rows[a[0]] * b[3] / rows[b[0]]
            same, stayed = a[1] == b[1], a[2] == b[2]
            sums[differ[0]] += weight * np.array([same, same and not stayed, not same, (not same) and stayed])
    return sums


@pytest.mark.parametrize("by_row", [1, 3])
def test_a_model_that_looks_at_the_wrong_factor(by_row):
    """The truth is the first factor's; the model says the second's."""
    codes = np.repeat(CELLS, by_row, axis=0)
    found = swap_test(label_outcomes(support_of(CELLS), codes, codes[:, 0] % 2, codes[:, 1] % 2))
    first, second = of(found, "f0"), of(found, "f1")
    assert second.changed.share == pytest.approx(18 / 30)  # of 15 pairs of values 9 have different parity
    assert second.stayed.share is None  # the truth never changes with it
    assert (first.changed.share, first.stayed.share) == (0.0, 1.0)
    assert (second.pairs, second.other_pairs, second.combinations) == (6 * 15, 0.0, 36)
    assert second.sentence == (
        "When f1 is swapped, the answer changes in 60 % of the swaps that leave the truth as it is."
    )
    if by_row == 1:
        assert second.excess.share is None
        assert found.verdict.endswith(
            "in no such pair do both combinations have two rows of that truth, so how much is chance cannot be told."
        )
    else:
        assert second.excess.share == second.changed.share
        assert found.verdict.startswith("The answer hangs on f1 where it should not: swapping it changes 60 %")


def test_a_perfect_model():
    codes = np.repeat(CELLS, 2, axis=0)
    found = swap_test(label_outcomes(support_of(CELLS), codes, codes[:, 0] % 3, codes[:, 0] % 3, classes=3))
    assert [one.changed.share for one in found.factors] == [0.0, 0.0]
    assert of(found, "f0").stayed.share == 0.0
    assert found.verdict.startswith(
        "Swapping f0 and f1 where it does not matter changes the answers no more than chance does. That it follows f1 "
    )


def test_noise_is_not_reliance():
    """Answers drawn at random differ between any two rows, swapped or not."""
    rng = np.random.default_rng(0)
    codes = np.repeat(CELLS, 40, axis=0)
    found = swap_test(label_outcomes(support_of(CELLS), codes, codes[:, 0] % 2, rng.integers(0, 2, len(codes))))
    one = of(found, "f1")
    assert one.changed.share == pytest.approx(0.5, abs=0.03)
    assert one.within == pytest.approx(0.5, abs=0.03)
    assert one.excess.low <= 0 <= one.excess.high
    assert "no more than chance does." in found.verdict


def test_no_pairs():
    diagonal = np.array([[k, k] for k in range(6)])
    found = swap_test(label_outcomes(support_of(CELLS), diagonal, diagonal[:, 0] % 2, diagonal[:, 0] % 2))
    assert all(one.changed.share is None and one.stayed.share is None for one in found.factors)
    assert found.factors[0].sentence == (
        "No two tested combinations differ in f0 alone, so what hangs on it cannot be told."
    )
    assert found.verdict == (
        "No two tested combinations differ in one factor alone and share the truth: nothing can be swapped."
    )


def test_what_cannot_be_asked():
    assert swap_test(number_outcomes(support_of(CELLS), CELLS, np.arange(36.0))) is None


def test_it_is_plain_data_and_the_seed_decides():
    rng = np.random.default_rng(1)
    codes = np.repeat(CELLS, 3, axis=0)
    outcomes = label_outcomes(support_of(CELLS), codes, codes[:, 0] % 2, rng.integers(0, 2, len(codes)))
    found = swap_test(outcomes)
    assert revive(SwapTest, json.loads(json.dumps(asdict(found), allow_nan=False))) == found
    assert swap_test(outcomes, seed=1) == swap_test(outcomes, seed=1)
    assert swap_test(outcomes, seed=1) != swap_test(outcomes, seed=2)


@examples(100)
@given(st.data())
def test_equals_the_twin_that_lists_pairs(data):
    width = data.draw(st.integers(1, 3))
    cells = every(data.draw(st.tuples(*[st.integers(2, 3)] * width)))
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(0, len(cells) - 1), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3)),
            min_size=1,
            max_size=25,
        )
    )
    place, truth, said, count = (np.array(column) for column in zip(*rows, strict=True))
    outcomes = label_outcomes(support_of(cells), cells[place], truth, said, classes=3, count=count)
    found = swap_test(outcomes, draws=3)
    for k, (same, changed, other, stayed) in brute(outcomes).items():
        one = found.factors[k]
        assert one.pairs == pytest.approx(same, abs=1e-5)
        assert one.other_pairs == pytest.approx(other, abs=1e-5)
        assert one.changed.share == (pytest.approx(changed / same, abs=1e-6) if same > 1e-8 else None)
        assert one.stayed.share == (pytest.approx(stayed / other, abs=1e-6) if other > 1e-8 else None)


def test_the_excess_is_half_the_squared_distance_of_the_answers():
    """One combination says c0 in 70 of 100 rows, the other in 20: (.5² + .5²) / 2, but for 100 rows being few."""
    codes = np.repeat([[0, 0], [0, 1]], 100, axis=0)
    said = np.repeat([0, 1, 0, 1], [70, 30, 20, 80])
    one = of(swap_test(label_outcomes(support_of(CELLS), codes, np.zeros(200, int), said)), "f1")
    within = (2 * 70 * 30 + 2 * 20 * 80) / (100 * 99) / 2
    assert one.changed.share == pytest.approx(0.7 * 0.8 + 0.3 * 0.2)
    assert one.within == pytest.approx(within)
    assert one.excess.share == pytest.approx(0.62 - within)
    assert one.excess.share == pytest.approx(0.25, abs=0.005)


def test_combinations_of_one_row_say_nothing_about_chance():
    """The excess is over the pairs whose both sides have two rows of the truth: here one pair of three."""
    codes = [[0, 0]] * 3 + [[0, 1]] * 2 + [[0, 2]]
    one = of(swap_test(label_outcomes(support_of(CELLS), codes, [0] * 6, [0, 0, 1, 1, 1, 1])), "f1")
    assert one.changed.share == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert one.within == pytest.approx((2 / 3 + 0) / 2)
    assert one.excess.share == pytest.approx(2 / 3 - 1 / 3)


def test_a_shortcut_taken_now_and_then_is_noticed():
    """Where the second factor misleads, the model follows it in four of ten rows."""
    rng = np.random.default_rng(0)
    codes = np.repeat(CELLS, 10, axis=0)
    truth, misled = codes[:, 0] % 2, codes[:, 1] % 2
    said = np.where(rng.random(len(codes)) < 0.4, misled, truth)
    found = swap_test(label_outcomes(support_of(CELLS), codes, truth, said))
    assert of(found, "f1").excess.share == pytest.approx(0.16 * 18 / 30, abs=0.03)
    assert found.verdict.startswith("The answer hangs on f1 where it should not")


@pytest.mark.slow
@pytest.mark.parametrize("knows", [0.5, 0.9])
def test_noise_seldom_passes_for_reliance(knows):
    """Errors at random, many times: an excess whose interval lies above zero is rare."""
    rng = np.random.default_rng(0)
    codes = np.repeat(CELLS, 6, axis=0)
    truth = codes[:, 0] % 3
    alarms = 0
    for draw in range(40):
        said = np.where(rng.random(len(codes)) < knows, truth, rng.integers(0, 3, len(codes)))
        found = swap_test(label_outcomes(support_of(CELLS), codes, truth, said, classes=3), draws=60, seed=draw)
        alarms += of(found, "f1").excess.low > 0
    assert alarms <= 4


def own_error_rates(rng, codes, truth):
    """Each combination has an error rate of its own, and a wrong class is drawn at random: no factor is followed."""
    rate = rng.beta(1.5, 4, size=(6, 6))[codes[:, 0], codes[:, 1]]
    return np.where(rng.random(len(codes)) < rate, (truth + rng.integers(1, 3, len(codes))) % 3, truth)


def wrong_throughout(rng, codes, truth):
    """Some combinations are answered wrongly in every row, with a class of their own."""
    wrong, by = rng.random((6, 6)) < 0.25, rng.integers(1, 3, (6, 6))
    place = codes[:, 0], codes[:, 1]
    return np.where(wrong[place], (truth + by[place]) % 3, truth)


def hard_values(rng, codes, truth):
    """Some values of the second factor are hard, and a wrong class is drawn at random."""
    rate = rng.beta(2, 5, size=6)[codes[:, 1]]
    return np.where(rng.random(len(codes)) < rate, (truth + rng.integers(1, 3, len(codes))) % 3, truth)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("world", [own_error_rates, wrong_throughout, hard_values])
def test_difficulty_seldom_passes_for_a_factor_that_is_followed(world, trained):
    rng, codes, alarms = np.random.default_rng(5), np.repeat(CELLS, 8, axis=0), 0
    training = seen_diagonally() if trained else support_of(CELLS)
    for seed in range(40):
        said = world(rng, codes, codes[:, 0] % 3)
        outcomes = label_outcomes(training, codes, codes[:, 0] % 3, said, classes=3)
        alarms += any(followed(following_chances(outcomes, draws=60, seed=seed)))
    assert alarms <= 5


def seen_diagonally() -> Support:
    """A training table in which the second factor goes with the class, but for a few combinations."""
    kept = CELLS[(CELLS[:, 0] % 3 == CELLS[:, 1] % 3) | ((CELLS[:, 0] + 2 * CELLS[:, 1]) % 5 == 0)]
    label = (kept[:, 0] % 3).astype(np.int64)
    ones = np.ones(len(kept))
    target = LabelTarget("y", ("c0", "c1", "c2"), np.arange(len(kept)), label, ones)
    return Support(support_of(CELLS).space, np.asfortranarray(kept), ones, target, rows=len(kept))


def test_a_shortcut_on_unseen_combinations_is_found():
    """It is taken in three of ten rows: the second factor is named, and the first, which is the truth's, never."""
    rng, codes, found = np.random.default_rng(6), np.repeat(CELLS, 8, axis=0), []
    training, truth, misled = seen_diagonally(), codes[:, 0] % 3, codes[:, 1] % 3
    for seed in range(20):
        plain = label_outcomes(training, codes, truth, truth, classes=3)
        unseen = plain.unseen.reshape(6, 6)[codes[:, 0], codes[:, 1]]
        said = np.where((rng.random(len(codes)) < 0.3) & unseen, misled, truth)
        outcomes = label_outcomes(training, codes, truth, said, classes=3)
        found.append(followed(following_chances(outcomes, draws=60, seed=seed)))
    assert not any(first for first, _ in found)
    assert np.mean([second for _, second in found]) >= 0.8


def test_what_shuffling_does_to_many_small_groups_is_computed(monkeypatch):
    """The error of the agreement is that of a thousand shuffles, and so is the chance."""
    rng = np.random.default_rng(7)
    codes = np.stack([rng.integers(0, 400, 1_500), rng.integers(0, 6, 1_500)], axis=1)
    codes = np.asfortranarray(np.unique(codes, axis=0).astype(np.int32))
    kept = rng.random(len(codes)) < 0.4
    truth = rng.integers(0, 3, len(codes))
    space = support_of(codes).space
    ones = np.ones(kept.sum())
    target = LabelTarget("y", ("c0", "c1", "c2"), np.arange(kept.sum()), truth[kept].astype(np.int64), ones)
    training = Support(space, np.asfortranarray(codes[kept]), ones, target, rows=int(kept.sum()))
    said = np.where(rng.random(len(codes)) < 0.1, codes[:, 1] % 3, truth)
    outcomes = label_outcomes(training, codes, truth, said, classes=3)
    lines = shortcut_test._AnswerShares.of(outcomes)
    question = shortcut_test._question(outcomes, lines, 1)
    shift = question.shift(lines.shares)
    drawn = shortcut_test._shuffled(question, shift, 1_000, rng)
    assert shortcut_test._shuffled_error(question, shift) is None  # too few lines: these are drawn
    monkeypatch.setattr(shortcut_test, "_NORMAL_FROM", 100)
    monkeypatch.setattr(shortcut_test, "_LARGEST_GROUP", 0.1)
    error = shortcut_test._shuffled_error(question, shift)
    assert error == pytest.approx(drawn.std(), rel=0.1)
    assert abs(drawn.mean()) < 5 * error / np.sqrt(len(drawn))
    found = question.agreement(shift)
    chance = shortcut_test._chance(outcomes, lines, 1, 100, rng)
    assert chance == pytest.approx((drawn >= found).mean(), abs=0.04)


def test_where_combinations_differ_and_none_is_followed_the_verdict_says_so():
    rng, codes = np.random.default_rng(2), np.repeat(CELLS, 20, axis=0)
    said = own_error_rates(rng, codes, codes[:, 0] % 3)
    verdict = swap_test(label_outcomes(support_of(CELLS), codes, codes[:, 0] % 3, said, classes=3)).verdict
    assert "but no factor is followed" in verdict


@pytest.mark.slow
@pytest.mark.parametrize("trained", [False, True])
def test_following_that_is_said_to_be_found_is_found_four_times_of_five(trained):
    """A model that does not follow the second factor, and one that does so as often as the sentence says."""
    training = seen_diagonally() if trained else support_of(CELLS)
    codes, found = np.repeat(CELLS, 12, axis=0), []
    truth, points = codes[:, 0] % 3, codes[:, 1] % 3
    for seed in range(40):
        rng = np.random.default_rng(seed)

        def said(share, rng=rng):
            wrong = np.where(rng.random(len(codes)) < 0.1, rng.integers(0, 3, len(codes)), truth)
            return label_outcomes(
                training, codes, truth, np.where(rng.random(len(codes)) < share, points, wrong), classes=3
            )

        share = of(swap_test(said(0.0), seed=seed), "f1").found_from
        if share is not None:  # else it was called followed by chance
            found.append(any(followed(following_chances(said(share), draws=400, seed=seed))))
    assert len(found) >= 36
    assert 0.65 <= np.mean(found) <= 0.95


def test_more_rows_find_less_following():
    """Where nothing can be asked, nothing is promised."""
    shares = []
    for rows in (6, 60):
        codes = np.repeat(CELLS, rows, axis=0)
        rng = np.random.default_rng(0)
        said = np.where(rng.random(len(codes)) < 0.1, rng.integers(0, 2, len(codes)), codes[:, 0] % 2)
        found = swap_test(label_outcomes(support_of(CELLS), codes, codes[:, 0] % 2, said))
        assert of(found, "f0").found_from is None  # the truth hangs on it: no value has two truths
        shares.append(of(found, "f1").found_from)
    assert shares[1] < shares[0] / 2


@pytest.mark.slow
def test_intervals_keep_their_promise():
    """Most combinations are right, a few follow the wrong factor. Quantiles of draws cover too little near 0."""
    cells = every((3, 5))
    found = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        follows = np.repeat(1 / (1 + np.exp(-(2 * rng.normal(size=15) - 4))), 3)
        codes = np.repeat(cells, 3, axis=0)
        said = np.where(rng.random(45) < follows, codes[:, 1] % 2, codes[:, 0] % 2)
        outcomes = label_outcomes(support_of(cells), codes, codes[:, 0] % 2, said)
        one = of(swap_test(outcomes, draws=100, seed=seed), "f1")
        swap = module._swaps(outcomes)[1]
        drawn = [swap.rates(times)[0][0] for times in times_drawn(rng, 100, 15)]
        found.append((one.changed.share, one.changed.low, one.changed.high, *np.nanquantile(drawn, [0.025, 0.975])))
    share, low, high, plain_low, plain_high = np.array(found).T
    truth = share.mean()
    ours, plain = np.mean((low <= truth) & (truth <= high)), np.mean((plain_low <= truth) & (truth <= plain_high))
    assert 0.92 <= ours <= 1.0
    assert plain < 0.92


def test_the_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    codes = np.repeat(every((3, 4)), 4, axis=0)
    outcomes = label_outcomes(support_of(every((3, 4))), codes, codes[:, 0] % 2, rng.integers(0, 2, len(codes)))
    swap, times = module._swaps(outcomes)[1], 1 + rng.random(12)
    for pairs in (swap.any, swap.truth, swap.both):
        value, slope = pairs.total(times)
        step = np.eye(12)[5] * 1e-6
        assert slope[5] == pytest.approx((pairs.total(times + step)[0] - value) / 1e-6, rel=1e-4)
    value, slope = swap.repeated_truth.average(times, swap.differ)
    assert slope[5] == pytest.approx(
        (swap.repeated_truth.average(times + step, swap.differ)[0] - value) / 1e-6, rel=1e-4
    )
