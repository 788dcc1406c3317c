"""The nearest seen combinations and one factor alone: against a loop, whichever way they are found."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from recombine.numerics.groups import group
from recombine.numerics.simple_rules import SimpleRules


def brute(codes, values, weights, one, *, own=None, factor=None):
    """The mean over those that agree on the most factors, or on one; NaN where nobody does."""
    others = [e for e in range(len(codes)) if e != own and weights[e] > 0]
    agree = {e: int((codes[e] == one).sum() if factor is None else codes[e, factor] == one[factor]) for e in others}
    most = max(agree.values(), default=0)
    chosen = [e for e in others if agree[e] == most > 0]
    return np.average(values[chosen], axis=0, weights=weights[chosen]) if chosen else np.full(values.shape[1], np.nan)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("way", ["_nearest_by_groups", "_nearest_by_pairs", "nearest"])
def test_rules_equal_a_loop_over_combinations(way: str, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = (3, 4, 5)
    every = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int32)
    drawn = rng.permutation(len(every))
    codes, asked = every[drawn[:9]], np.concatenate([every[drawn[5:25]], [[-1, -1, 0], [-1, -1, -1]]]).astype(np.int32)
    values, weights = rng.normal(size=(9, 2)), np.array([1.0, 3, 0, 1, 2, 1, 5, 1, 1])
    groups = lambda factors: group(codes, sizes=sizes, factors=tuple(factors))  # noqa: E731
    rules = SimpleRules(codes, groups, csr_array(values) if sparse else values, weights)
    said = rules.nearest(asked) if way == "nearest" else getattr(rules, way)(asked, None)
    assert np.allclose(said, [brute(codes, values, weights, one) for one in asked], equal_nan=True)
    own = np.array([1, 4, 8])
    told = rules.nearest(codes[own], own=own) if way == "nearest" else getattr(rules, way)(codes[own], own)
    expected = partial(brute, codes, values, weights)
    assert np.allclose(told, [expected(codes[e], own=e) for e in own], equal_nan=True)
    for k in range(3):
        alone = rules.factors_alone([k], codes[own], own=own)
        assert np.allclose(alone, [expected(codes[e], own=e, factor=k) for e in own], equal_nan=True)
        alone = rules.factors_alone([k], asked)
        assert np.allclose(alone, [expected(one, factor=k) for one in asked], equal_nan=True)
