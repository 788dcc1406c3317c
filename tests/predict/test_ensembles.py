"""Several learners as one forecast: known answers, a twin that draws, and what the interval may never do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine.base.grades import earned
from recombine.verbs.predict import ensembles, track_record
from recombine.verbs.predict.ensembles import Ensemble, expected_of
from tests.properties import examples


def made(scores, base, score="accuracy"):
    scores = np.atleast_2d(np.asarray(scores, dtype=float))
    return Ensemble(tuple(f"relu:{k + 1}" for k in range(len(scores))), scores, np.asarray(base, dtype=float), score)


def no_past(monkeypatch, past=0.0):
    monkeypatch.setattr(track_record, "miss", lambda basis, kind: past)


def test_all_right_all_known_and_no_track_record_leaves_nothing_open(monkeypatch):
    no_past(monkeypatch)
    found = expected_of(made(np.ones((3, 12)), np.zeros(12)), basis="combinations")
    assert (found.low, found.value, found.high, found.lift) == (1.0, 1.0, 1.0, (1.0, 1.0, 1.0))
    assert (found.tested, found.of, found.basis) == (12, 12, "combinations")


def test_nothing_known_abstains_with_a_reason():
    found = expected_of(made(np.ones((2, 0)), np.ones(0)), basis="combinations", of=40)
    assert found.abstains
    assert found.value is None
    assert found.of == 40
    assert found.reason == "no unseen combination has a known true answer"


def test_members_that_contradict_each_other_leave_everything_open():
    found = expected_of(made([np.ones(10), np.zeros(10)], np.tile([1, 0], 5)), basis="combinations")
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
    assert earned(found) == "weak"


def test_errors_as_large_as_the_means_are_worth_nothing():
    found = expected_of(made(np.ones((3, 9)), np.ones(9), "R²"), basis="combinations")
    assert found.value == 0 == found.baseline
    reach = 1.96 * track_record.miss("combinations", "R²")
    assert found.low < -0.8 * reach
    assert 0.7 * reach < found.high < 1.2 * reach


def test_a_target_that_never_varies_is_no_forecast():
    assert (
        expected_of(made(np.zeros((1, 9)), np.zeros(9), "R²"), basis="combinations").reason == "the target never varies"
    )


def test_blind_reaches_to_one_answer_for_all():
    sure, base = made(np.ones((3, 20)), np.tile([1, 0, 0, 0], 5)), 0.25
    seeing, blind = (expected_of(sure, basis="combinations", blind=one) for one in (False, True))
    assert seeing.value == blind.value == 1
    assert seeing.low == pytest.approx(1 - 1.96 * track_record.miss("combinations", "accuracy"), abs=1e-3)
    assert blind.low < base
    wrong = made(np.zeros((3, 20)), np.ones(20))
    assert expected_of(wrong, basis="combinations", blind=True).high == 1


def test_shapes_that_do_not_belong_together_are_refused():
    with pytest.raises(SettingError, match="a line for each member"):
        made(np.ones((2, 5)), np.ones(4))


def drawn_twin(ensemble, past, of, rng, draws=60_000):
    """The same by drawing: a member, a miss, and which of all the combinations happen to be known."""
    values = ensemble.by_member
    spread = rng.normal(0, values.std(ddof=1), draws) if len(values) > 1 else 0.0
    mean = ensemble.scores.mean(axis=0)
    left = rng.normal(0, 1, draws) * math.sqrt(mean.var(ddof=1) * (1 / len(mean) - 1 / of)) if of > len(mean) else 0.0
    return np.clip(values.mean() + spread + rng.normal(0, past, draws) + left, 0, 1)


@pytest.mark.parametrize("of", [30, 300])
def test_accuracy_is_what_drawing_gives(of):
    rng = np.random.default_rng(1)
    ensemble = made((rng.random((3, 30)) < [[0.5], [0.6], [0.55]]).astype(float), np.ones(30))
    found = expected_of(ensemble, basis="combinations", of=of)
    drawn = drawn_twin(ensemble, track_record.miss("combinations", "accuracy"), of, rng)
    assert np.allclose([found.low, found.high], np.quantile(drawn, [0.025, 0.975]), atol=0.01)


def test_a_sample_of_few_is_as_sure_as_drawing_them_again(monkeypatch):
    """The known are drawn without replacement from all: the interval holds the score of all as often as it says."""
    no_past(monkeypatch)
    rng, held = np.random.default_rng(2), []
    for _ in range(400):
        right = (rng.random(200) < rng.uniform(0.3, 0.7)).astype(float)
        some = rng.choice(200, 60, replace=False)
        found = expected_of(made(right[some], np.ones(60)), basis="combinations", of=200)
        held.append(found.low <= right.mean() <= found.high)
    assert 0.91 < np.mean(held) < 0.98


def test_the_same_for_a_quotient(monkeypatch):
    no_past(monkeypatch)
    rng, held = np.random.default_rng(3), []
    for _ in range(400):
        base = rng.exponential(1, 200)
        errors = base * rng.uniform(0.2, 0.6) * rng.uniform(0, 2, 200)
        some = rng.choice(200, 60, replace=False)
        found = expected_of(made(errors[some], base[some], "R²"), basis="combinations", of=200)
        held.append(found.low <= 1 - errors.sum() / base.sum() <= found.high)
    assert 0.9 < np.mean(held) < 0.985


def test_log_normal_is_what_drawing_gives():
    rng = np.random.default_rng(4)
    for value, sd in ((0.5, 0.1), (0.9, 0.1), (-0.4, 0.3)):
        missed = 1 - value
        sigma = math.sqrt(math.log(1 + (sd / missed) ** 2))
        drawn = rng.lognormal(math.log(missed) - sigma**2 / 2, sigma, 200_000)
        assert drawn.mean() == pytest.approx(missed, abs=0.01)
        assert drawn.std() == pytest.approx(sd, abs=0.01)
        low, high = ensembles._below_one(value, sd, 1.959964)
        assert np.allclose([1 - high, 1 - low], np.quantile(drawn, [0.025, 0.975]), rtol=0.02)


@examples(60)
@given(st.integers(1, 4), st.integers(5, 30), st.integers(0, 10**6), st.sampled_from(["accuracy", "R²"]), st.booleans())
def test_an_interval_holds_its_value_and_stays_possible(members, combinations, seed, score, blind):
    rng = np.random.default_rng(seed)
    scores = rng.random((members, combinations)) ** 3 * (1 if score == "accuracy" else 3)
    found = expected_of(made(scores, rng.random(combinations) + 0.01, score), basis="examples", of=50, blind=blind)
    assert found.low <= found.value <= found.high <= 1
    assert score == "R²" or found.low >= 0
    assert found.lift[1] == pytest.approx(found.value - found.baseline)


def test_more_disagreement_and_a_worse_record_widen(monkeypatch):
    rng = np.random.default_rng(5)
    base = np.ones(40)
    close, far = ([np.full(40, 0.5), np.full(40, 0.5 + gap)] for gap in (0.05, 0.3))
    width = [
        found.high - found.low for found in (expected_of(made(one, base), basis="examples") for one in (close, far))
    ]
    assert width[0] < width[1]
    one = made(rng.random((3, 40)), base)
    before = expected_of(one, basis="examples")
    no_past(monkeypatch, 0.3)
    after = expected_of(one, basis="examples")
    assert after.high - after.low > before.high - before.low
