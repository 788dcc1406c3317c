"""An interval of a share never leaves 0 to 1 and holds the share itself, whichever formula it came from."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import recombine
from recombine.base.grades import Expected
from recombine.data.support import Support
from recombine.numerics.intervals import newcombe, student_ends, wilson
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.forecast_comparison import compare_forecast
from recombine.verbs.evaluate.outcomes import Score
from recombine.verbs.evaluate.part_groups import part_groups
from recombine.verbs.evaluate.scores import part_scores, scores, shrunk
from tests.evaluate import twins
from tests.properties import examples

FEW = IntervalSettings(draws=100)
ROUNDING = 1e-12

counts = st.tuples(st.integers(1, 30), st.floats(0, 1)).map(lambda pair: (pair[0], round(pair[0] * pair[1])))
shares = st.floats(0, 1)


def within(low, value, high) -> None:
    """The ends lie between 0 and 1, and the value between the ends; NaN and None are no interval."""
    if low is not None and not math.isnan(low):
        assert 0.0 <= low <= value + ROUNDING
        assert value - ROUNDING <= high <= 1.0


@examples(30)
@given(cells=st.lists(counts, min_size=12, max_size=12))
def test_every_share_of_an_evaluation_has_an_interval_within_0_and_1(cells):
    codes = [(a, b) for a in range(4) for b in range(3)]
    found = twins.outcomes(codes, *zip(*cells, strict=True))
    for side in scores(found, FEW)[0]:
        within(side.low, side.score, side.high)
        within(side.macro_low, side.macro, side.macro_high)
    parts = part_scores(found, part_groups(found.tested, (1,)), np.ones(12, dtype=bool), FEW)
    for low, value, high in zip(parts.low, parts.score, parts.high, strict=True):
        within(low, value, high)
    pulled = shrunk(found, FEW)
    assert ((pulled.low >= 0) & (pulled.low <= pulled.high) & (pulled.high <= 1)).all()


def graded(scores, *, better="higher"):
    """An evaluation of a column of scores, over two factors."""
    table = {"a": [f"a{k % 3}" for k in range(len(scores))], "b": [f"b{k // 3 % 2}" for k in range(len(scores))]}
    score = Score("match", better)
    return recombine.evaluate(table | {"match": scores}, factors=["a", "b"], score=score, intervals=FEW, causes=False)


@pytest.mark.parametrize("kind", [int, float, bool])
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_column_of_zeros_and_ones_is_a_share(kind, better, tmp_path):
    bad = (5, 17, 40) if better == "higher" else set(range(72)) - {5, 17, 40}
    found = graded([kind(k not in bad) for k in range(72)], better=better)
    assert found.score.is_share
    for side in found.sides:
        within(side.low, side.score, side.high)
    for one in found.worst:
        within(one.low, one.shrunk, one.high)
    assert "match 96 %" in found.verdict if better == "higher" else "match 4 %" in found.verdict
    assert found.record().data["score"]["share"] is True
    found.save(tmp_path / "found")
    assert recombine.load(tmp_path / "found").score == found.score


def test_fewer_errors_and_more_right_answers_are_one_thing():
    wrong = [float(k in (5, 17, 40)) for k in range(72)]
    one, other = graded([1 - score for score in wrong]), graded(wrong, better="lower")
    for right, error in zip(one.worst, other.worst, strict=True):
        assert right.combination == error.combination
        assert (right.low, right.shrunk, right.high) == pytest.approx((1 - error.high, 1 - error.shrunk, 1 - error.low))


@pytest.mark.parametrize("other", [0.5, 2.0, -1.0])
def test_one_score_between_is_no_share(other):
    assert not graded([1.0, 0.0, 1.0, 1.0, 0.0] * 9 + [other]).score.is_share


def test_values_of_blocks_that_were_held_out_whole_count_each_block_once():
    """Half of the pairs of a and b were never trained on; all rows of a pair share its luck, whatever c is."""
    rng, held, counted = np.random.default_rng(0), [], []
    codes = np.array([(a, b, c) for a in range(2) for b in range(24) for c in range(8)])
    unseen = (codes[:, 0] + codes[:, 1]) % 2 == 1
    trained = np.asfortranarray(codes[~unseen], dtype=np.int32)
    for _ in range(60):
        luck = rng.beta(2, 1, (2, 24))
        right = rng.binomial(5, luck[codes[:, 0], codes[:, 1]])
        found = twins.outcomes(codes, np.full(len(codes), 5.0), right)
        found = replace(found, training=Support(found.tested.space, trained, np.ones(len(trained))))
        part = part_scores(found, part_groups(found.tested, (0,)), unseen, FEW)
        held.append((part.low <= 2 / 3) & (part.high >= 2 / 3))
        alone = part_scores(found, part_groups(found.tested, (0, 1)), unseen, FEW)
        counted.append(bool(np.isnan(alone.low).all()))  # one block has no interval
    assert np.mean(held) > 0.9
    assert all(counted)


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_brute_force_wilson_holds_the_shares_that_a_test_would_not_refuse(rows):
    """Every share p on a fine grid with |p - share| <= t sqrt(p (1 - p) / n): their ends are the interval."""
    t, grid = stats.t.ppf(1 - FEW.tail, 6), np.linspace(0, 1, 200_001)
    for right in range(rows + 1):
        share = right / rows
        kept = grid[np.abs(grid - share) <= t * np.sqrt(grid * (1 - grid) / rows) + ROUNDING]
        low, high = wilson(np.array(share), np.array(float(rows)), np.array(6.0), FEW)
        assert (low, high) == pytest.approx((kept.min(), kept.max()), abs=1e-5)


@examples(100)
@given(share=shares, worth=st.floats(0, 1e9), freedom=st.integers(1, 10**6))
def test_wilson_stays_within_0_and_1(share, worth, freedom):
    low, high = wilson(np.array(share), np.array(worth), np.array(float(freedom)), FEW)
    within(float(low), share, float(high))


@examples(100)
@given(value=shares, error=st.floats(0, 10), freedom=st.integers(1, 1_000))
def test_student_is_that_of_scipy_cut_at_its_bounds(value, error, freedom):
    low, high = student_ends(value, error, freedom, FEW, least=0.0, most=1.0)
    within(float(low), value, float(high))
    if error:
        theirs = stats.t.interval(FEW.confidence, freedom, value, error)
        assert (low, high) == pytest.approx(np.clip(theirs, 0.0, 1.0), rel=1e-6, abs=1e-9)


@examples(100)
@given(one=st.tuples(shares, shares, shares).map(sorted), other=st.tuples(shares, shares, shares).map(sorted))
def test_a_forecast_of_a_share_misses_by_no_more_than_there_is(one, other):
    low, high = newcombe(tuple(one), tuple(other))
    assert -1 - ROUNDING <= low <= one[1] - other[1] <= high <= 1 + ROUNDING
    forecast, measured = (Expected("accuracy", p[1], p[0], p[2], tested=20, of=20) for p in (one, other))
    assert compare_forecast(forecast, measured).miss == (low, one[1] - other[1], high)
