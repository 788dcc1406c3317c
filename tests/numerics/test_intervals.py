"""Intervals over combinations: the formulas, three known answers, and whether the promise is kept."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recombine.numerics import distributions, resampling
from recombine.numerics.intervals import (
    difference_interval,
    gap_interval,
    interval,
    prediction_interval,
    wilson,
)
from recombine.numerics.resampling import (
    IntervalSettings,
    difference,
    macro,
    mean,
    r2,
    r2_difference,
    resampled,
    root_difference,
)
from tests.evaluate import twins
from tests.properties import examples

SETTINGS = IntervalSettings(draws=1_000)


def test_distributions_are_those_of_scipy():
    a, b = np.array([0.3, 2.0, 50.0, 4000.0]), np.array([5.0, 2.0, 0.7, 900.0])
    x = np.array([0.01, 0.4, 0.99, 0.82])
    assert distributions.beta_below(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-9)
    assert distributions.beta_quantile(0.025, a, b) == pytest.approx(stats.beta.ppf(0.025, a, b), abs=1e-8)
    z = np.array([-3.0, 0.0, 5.0])
    assert distributions.normal_tail(z) == pytest.approx(stats.norm.sf(z))
    v = np.array([4, 10, 100])
    assert distributions.student_quantile(0.975, v) == pytest.approx(stats.t.ppf(0.975, v))
    assert distributions.normal_quantile(0.9) == pytest.approx(stats.norm.ppf(0.9))
    hits, trials = np.array([0.0, 3, 20, 40]), np.array([5.0, 10, 20, 400])
    at_most, at_least = distributions.beta_binomial_tails(hits, trials, a, b)
    theirs = stats.betabinom(trials.astype(int), a, b)
    assert at_most == pytest.approx(theirs.cdf(hits), abs=1e-9)
    assert at_least == pytest.approx(theirs.sf(hits - 1), abs=1e-9)


def test_resampling_is_that_of_the_twin():
    rng = np.random.default_rng(0)
    rows, total = rng.integers(1, 9, 12).astype(float), rng.random(12)
    drawn = IntervalSettings(draws=30).generator("x").integers(0, 12, size=(30, 12))
    values, errors = twins.bootstrap_t(rows, total, drawn)
    found = resampled([mean(rows, total), macro(rows, total)], IntervalSettings(draws=30), "x")[0]
    assert found.values == pytest.approx(values)
    assert found.errors == pytest.approx(errors)


@pytest.mark.parametrize("kinds", [1_000, 2])
def test_many_combinations_are_drawn_by_kind_or_in_lots_as_one_by_one(kinds, monkeypatch):
    """Draws differ by luck alone: their quantiles agree, in their own errors, and what is told of all is the same."""
    rng = np.random.default_rng(2)
    rows = rng.integers(1, 4, 6_000).astype(float)
    several, settings = [mean(rows, rng.binomial(rows.astype(int), 0.9).astype(float))], IntervalSettings(draws=4_000)
    monkeypatch.setattr(resampling, "_MOST_DRAWN", 10**9)
    one_by_one = resampled(several, settings, "x")[0]
    monkeypatch.setattr(resampling, "_MOST_DRAWN", 2_000)
    monkeypatch.setattr(resampling, "_MOST_KINDS", kinds)
    fewer = resampled(several, settings, "x")[0]
    assert (fewer.value, fewer.error, fewer.combinations) == (one_by_one.value, one_by_one.error, 6_000)
    assert fewer.values.std() == pytest.approx(fewer.error, rel=0.06)
    shares = [0.025, 0.25, 0.5, 0.75, 0.975]
    scaled = [np.quantile((one.values - one.value) / one.errors, shares) for one in (one_by_one, fewer)]
    assert scaled[0] == pytest.approx(scaled[1], abs=0.12)


def test_the_slopes_are_derivatives():
    rng = np.random.default_rng(1)
    rows = rng.integers(2, 9, 10).astype(float)
    error, total, squares = rng.random(10), rng.normal(size=10), 5 + rng.random(10)
    several = mean(rows, error), macro(rows, error), r2(rows, error, total, squares), root_difference(error, squares)
    for one in several:
        sums = one.parts.sum(axis=0)
        for place in range(len(sums)):
            step = np.zeros(len(sums))
            step[place] = 1e-6
            numeric = (one.value(sums + step) - one.value(sums - step)) / 2e-6
            assert one.slope(sums)[place] == pytest.approx(numeric, rel=1e-5, abs=1e-8)


def test_r2_and_its_difference():
    rng = np.random.default_rng(2)
    rows, own, other = np.full(6, 4.0), rng.random(6), rng.random(6)
    total, squares = rng.normal(size=6), 9 + rng.random(6)
    apart = r2_difference(rows, own, other, total, squares).of_all
    assert apart == pytest.approx(r2(rows, other, total, squares).of_all - r2(rows, own, total, squares).of_all)


def test_perfect_a_share_without_an_error_is_not_certain():
    low, high = interval(mean(np.full(40, 10.0), np.full(40, 10.0)), SETTINGS, "x", share=True)
    assert (round(low, 2), round(high, 6)) == (0.91, 1.0)


def test_perfect_a_loss_that_never_varies_has_no_interval():
    assert interval(mean(np.full(40, 10.0), np.zeros(40)), SETTINGS, "x") is None


@pytest.mark.parametrize("count", [0, 1, 4])
def test_empty_or_few_combinations_have_no_interval(count):
    one = mean(np.full(count, 3.0), np.arange(count, dtype=float))
    assert interval(one, SETTINGS, "x") is None
    assert gap_interval(one, mean(np.full(9, 1.0), np.arange(9.0)), SETTINGS, "x") is None
    assert math.isnan(mean(np.zeros(0), np.zeros(0)).of_all)


def test_adversarial_rows_of_one_combination_count_once():
    """A million rows in each of six combinations say nothing about the seventh."""
    shares = np.array([0.9, 0.2, 0.8, 0.5, 0.7, 0.4])
    low, high = interval(mean(np.full(6, 1e6), shares * 1e6), SETTINGS, "x", share=True)
    assert high - low > 0.3


def test_a_difference_is_paired():
    rng = np.random.default_rng(3)
    rows, hard = np.full(40, 20.0), rng.random(40) * 20
    apart = interval(difference(rows, hard, hard + rng.random(40)), SETTINGS, "x")
    alone = gap_interval(mean(rows, hard + 0.5), mean(rows, hard), SETTINGS, "x")
    assert 0 < apart[0] < apart[1] < 0.05
    assert alone[0] < 0 < alone[1]


def test_a_seed_is_a_seed_and_names_have_their_own():
    one = mean(np.full(20, 5.0), np.arange(20.0))
    assert interval(one, SETTINGS, "a") == interval(one, SETTINGS, "a")
    assert interval(one, SETTINGS, "a") != interval(one, SETTINGS, "b")
    assert interval(one, SETTINGS, "a") != interval(one, IntervalSettings(draws=1_000, seed=1), "a")


def test_few_combinations_with_errors_fall_back_to_wilson():
    rows, right = np.full(60, 10.0), np.full(60, 10.0)
    right[:2] = 5.0
    one = mean(rows, right)
    worth = one.of_all * (1 - one.of_all) / one.error**2
    low, high = wilson(np.array(one.of_all), np.array(worth), np.array(59), SETTINGS)
    assert interval(one, SETTINGS, "x", share=True) == (float(low), float(high))


@pytest.mark.parametrize("level", [0.3, 3.5])
def test_the_promise_is_kept_where_a_row_bootstrap_breaks_it(level):
    """200 tables: see benchmarks/coverage.py for 1,000 of each kind."""
    rng = np.random.default_rng(7)
    truth = (1 / (1 + np.exp(-(level + 1.2 * rng.normal(size=10**6))))).mean()
    ours, by_rows = [], []
    for repeat in range(200):
        p = 1 / (1 + np.exp(-(level + 1.2 * rng.normal(size=40))))
        right = rng.binomial(20, p)
        low, high = interval(
            mean(np.full(40, 20.0), right.astype(float)), IntervalSettings(draws=500, seed=repeat), "x", share=True
        )
        ours.append(low <= truth <= high)
        drawn = rng.binomial(800, right.sum() / 800, size=400) / 800
        low, high = np.quantile(drawn, [0.025, 0.975])
        by_rows.append(low <= truth <= high)
    assert 0.91 <= np.mean(ours) <= 0.99
    assert np.mean(by_rows) < 0.85


@given(
    st.lists(st.tuples(st.integers(1, 20), st.floats(0, 1)), min_size=5, max_size=12),
    st.lists(st.tuples(st.integers(1, 20), st.floats(0, 1)), min_size=5, max_size=12),
)
@examples(60)
def test_a_difference_of_shares_stays_within_what_is_possible(seen, unseen):
    few = IntervalSettings(draws=200)
    one, other = (mean(rows, np.round(rows * share)) for rows, share in (np.array(side).T for side in (seen, unseen)))
    rows, share = np.array(seen).T
    paired = difference_interval(difference(rows, np.round(rows * share), rows), few, "x", share=True)
    for found in (gap_interval(one, other, few, "x", share=True), paired):
        assert found is None or (-1 <= found[0] < found[1] <= 1 and found != (-1, 1))


def test_adversarial_five_combinations_all_right_or_all_wrong():
    """Studentised draws reach from -275 to 594 points here; put together from both sides' own intervals they do not."""
    seen = mean(np.full(19, 5.0), np.array([5.0] * 17 + [0.0, 2.0]))
    unseen = mean(np.full(5, 9.0), np.array([9.0, 9, 9, 0, 0]))
    loose, bounded = gap_interval(seen, unseen, SETTINGS, "x"), gap_interval(seen, unseen, SETTINGS, "x", share=True)
    assert loose[1] - loose[0] > 2
    ends = [interval(one, SETTINGS, "x", share=True) for one in (seen, unseen)]
    gap = seen.of_all - unseen.of_all
    low = gap - math.hypot(seen.of_all - ends[0][0], ends[1][1] - unseen.of_all)
    high = gap + math.hypot(ends[0][1] - seen.of_all, unseen.of_all - ends[1][0])
    assert bounded == pytest.approx((low, high), abs=0.01)


def test_an_interval_that_rules_nothing_out_is_none():
    one = mean(np.array([27.0, 11, 23, 16, 24]), np.array([3.0, 8, 21, 1, 24]))
    other = mean(np.array([19.0, 15, 29, 14, 29]), np.array([5.0, 10, 18, 7, 11]))
    low, high = gap_interval(one, other, SETTINGS, "x")
    assert low < -1
    assert high > 1
    assert gap_interval(one, other, SETTINGS, "x", share=True) is None


@pytest.mark.parametrize(("gained", "lost"), [(0.05, 0.0), (0.03, 0.02)])
def test_two_models_that_hardly_ever_differ(gained, lost):
    """Where no combination differs, that is not certain; quantiles of draws would be a single point."""
    rows = np.full(6, 9.0)
    low, high = difference_interval(difference(rows, rows, rows), SETTINGS, "x", share=True)
    assert -low == high == pytest.approx(float(wilson(np.zeros(1), np.full(1, 6.0), np.full(1, 5.0), SETTINGS)[1][0]))
    rng, ours, plain = np.random.default_rng(0), [], []
    for seed in range(150):
        apart = rng.choice([1.0, -1.0, 0.0], p=[gained, lost, 1 - gained - lost], size=30)
        few = IntervalSettings(draws=200, seed=seed)
        low, high = difference_interval(mean(np.ones(30), apart), few, "x", share=True)
        ours.append(low <= gained - lost <= high)
        low, high = np.quantile(apart[rng.integers(0, 30, (200, 30))].mean(axis=1), [0.025, 0.975])
        plain.append(low <= gained - lost <= high)
    assert np.mean(ours) > 0.92
    assert np.mean(plain) < 0.85


def test_a_difference_of_roots():
    own, other = np.array([1.0, 4.0, 9.0, 0.0]), np.array([4.0, 4.0, 1.0, 1.0])
    assert root_difference(own, other).of_all == pytest.approx(np.sqrt(other.mean()) - np.sqrt(own.mean()))
    perfect = root_difference(np.zeros(4), other)
    assert np.isfinite(perfect.error)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_the_next_draw_lies_where_it_is_said_to(draw):
    """Plain quantiles of twenty draws hold the next one in 86 % of the cases, whatever the distribution."""
    rng = np.random.default_rng(0)
    draws, following = getattr(rng, draw)(size=(20, 2_000)), getattr(rng, draw)(size=2_000)
    low, high = prediction_interval(draws, SETTINGS)
    plain = np.quantile(draws, [0.025, 0.975], axis=0)
    assert np.mean((low <= following) & (following <= high)) > 0.93
    assert np.mean((plain[0] <= following) & (following <= plain[1])) < 0.89


def test_where_the_next_draw_lies_keeps_its_bounds():
    low, high = prediction_interval(np.array([[0.9, 1.0], [1.0, 1.0], [0.95, 1.0]]), SETTINGS, least=0.0, most=1.0)
    assert high.tolist() == [1.0, 1.0]
    assert low[1] == 1.0
    assert 0 <= low[0] < 0.9
