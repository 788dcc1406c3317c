"""The rank correlation is SciPy's; its influence is a derivative; its interval keeps the promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from recombine.numerics.hypothesis_tests import bonferroni
from recombine.numerics.rank_correlation import influence, spearman
from tests.properties import examples


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40))
def test_ranks_equal_scipys(pairs):
    x, y = np.array(pairs, dtype=float).T
    found = spearman(x, y)
    expected = spearmanr(x, y).statistic if np.ptp(x) and np.ptp(y) else np.nan
    assert found.value == (None if np.isnan(expected) else pytest.approx(expected, abs=1e-9))
    assert found.low is None or -1 <= found.low <= found.value <= found.high <= 1


def test_the_influence_is_a_derivative():
    """One pair more in a thousand copies of the table moves the correlation by its influence over their number."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (2, 12)).astype(float)
    moved = influence(x, y)
    many_x, many_y = np.tile(x, 1_000), np.tile(y, 1_000)
    before = spearmanr(many_x, many_y).statistic
    for place in range(12):
        after = spearmanr(np.append(many_x, x[place]), np.append(many_y, y[place])).statistic
        assert moved[place] == pytest.approx((after - before) * len(many_x), abs=2e-3)
    assert moved.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("world", ["normal", "uneven", "right or wrong"])
def test_intervals_cover(world):
    """Pairs with a known rank correlation, which quantiles of resampled correlations do not hold often enough."""

    def drawn(size):
        x, noise = rng.normal(size=(2, size))
        if world == "uneven":
            return x, 0.5 * x + np.abs(x) * noise
        y = 0.5 * x + np.sqrt(0.75) * noise
        return x, y if world == "normal" else (rng.random(size) < 1 / (1 + np.exp(-3 * y))).astype(float)

    rng = np.random.default_rng(0)
    true = spearmanr(*drawn(10**6)).statistic
    ours, plain = [], []
    for _ in range(250):
        x, y = drawn(10)
        found = spearman(x, y)
        if found.low is None:  # all right, or all wrong
            continue
        ours.append(found.low <= true <= found.high)
        low, high = np.nanquantile(_resampled(x, y, rng), [0.025, 0.975])
        plain.append(low <= true <= high)
    assert 0.92 <= np.mean(ours) <= 0.99
    assert np.mean(plain) <= np.mean(ours)
    if world != "normal":
        assert np.mean(plain) < 0.92  # the least that is asked of ours


def _resampled(x, y, rng):
    """Correlations of resampled pairs, as they were used before."""
    places = rng.integers(0, len(x), (100, len(x)))
    ranks = [rankdata(values[places], axis=1) for values in (x, y)]
    one, other = (values - values.mean(axis=1, keepdims=True) for values in ranks)
    with np.errstate(invalid="ignore"):
        return (one * other).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))


def test_few_pairs_get_no_interval():
    found = spearman(np.arange(4.0), np.arange(4.0))
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_a_perfect_correlation_is_not_certain():
    found = spearman(np.arange(6.0), np.arange(6.0))
    assert found.value == found.high == 1.0
    assert found.low < 0.9
    assert spearman(np.arange(6.0), -np.arange(6.0)).high == pytest.approx(-found.low)


def test_bonferroni_shares_out():
    assert bonferroni(0.05, 10) == pytest.approx(0.005)
