"""What any rule could explain, against planted noise and planted answers."""

import numpy as np
import pytest

from recombine.numerics.groups import pooled_variance
from recombine.numerics.noise_ceiling import NoiseCeiling, noise_ceiling


def ceiling_of(rows: list[np.ndarray]) -> NoiseCeiling:
    """From all rows of each combination, one-hot or numbers, by hand."""
    counts = np.array([len(one) for one in rows], dtype=float)
    means = np.array([one.mean(axis=0) for one in rows])
    scatter = np.array([np.square(one - one.mean(axis=0)).sum() for one in rows])
    found = noise_ceiling(means, counts, pooled_variance(scatter, counts))
    assert found is not None
    return found


def drawn(rng: np.random.Generator, kind: str, own: float) -> list[np.ndarray]:
    """Combinations with 2 to 12 rows each: numbers, or labels of three uneven classes; `own` is what each adds."""
    counts = rng.integers(2, 13, 30)
    if kind == "number":
        return [rng.normal(own * rng.normal(), 1, (n, 1)) for n in counts]
    usual = np.array([0.6, 0.3, 0.1])
    several = [usual if own == 0 else rng.dirichlet(usual / own) for _ in counts]
    return [rng.multinomial(1, p, n).astype(float) for p, n in zip(several, counts, strict=True)]


@pytest.mark.parametrize("kind", ["number", "label"])
def test_noise_is_taken_for_fixed_answers_as_seldom_as_promised(kind):
    rng = np.random.default_rng(1)
    found = [ceiling_of(drawn(rng, kind, 0.0)) for _ in range(400)]
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(0.05, abs=0.03)
    assert np.mean([one.low > 0 for one in found]) <= 0.045
    assert np.mean([one.kind == "fixed" for one in found]) <= 0.02
    assert np.mean([one.kind == "noise" for one in found]) >= 0.9


def test_the_interval_holds_what_is_explainable():
    """Of numbers whose combinations have a spread of 1 about the mean, and rows of 1 about theirs."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(300):
        rows = drawn(rng, "number", 1.0)
        truth = 1 / (1 + np.mean([1 / len(one) for one in rows]))
        found = ceiling_of(rows)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 300 <= 0.98


def test_labels_of_their_own_are_fixed():
    rng = np.random.default_rng(3)
    assert np.mean([ceiling_of(drawn(rng, "label", 3.0)).kind == "fixed" for _ in range(50)]) >= 0.95


def test_one_row_each_tells_nothing():
    assert noise_ceiling(np.array([[0.0], [1.0]]), np.ones(2), None) is None
