"""The additive design against the matrices written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics import additive_design
from recombine.numerics.additive_design import AdditiveDesign, AdditiveFit, DenseLeverage, Elimination, inverse_on_range
from recombine.verbs.audit.determinacy import determinacy
from tests.properties import examples
from tests.twins import brute_leverage, every, one_hot, support_of, supports


@given(supports())
def test_the_design_is_one_hot(support) -> None:
    design = AdditiveDesign(support.codes, support.space.sizes)
    written = one_hot(support.codes, support.space.sizes)
    np.testing.assert_array_equal(np.eye(design.width)[design.columns].sum(axis=1), written)
    np.testing.assert_array_equal(design.gram(), written.T @ written)
    np.testing.assert_array_equal(design.sparse_gram().toarray(), written.T @ written)


@given(supports(), st.booleans())
def test_elimination_is_the_schur_complement(support, ridged: bool) -> None:
    sizes, rng = support.space.sizes, np.random.default_rng(0)
    weights = rng.random(len(support)) + 0.1
    ridge = tuple((1.0 + np.arange(len(sizes))).tolist()) if ridged else None
    made = Elimination.of(support.codes, sizes, weights, ridge)
    written = one_hot(support.codes, sizes)
    gram = written.T @ (weights[:, None] * written)
    if ridge is not None:
        gram += np.diag(np.repeat(ridge, sizes))
    mine = np.repeat(np.arange(len(sizes)), sizes) == made.eliminated
    beside, pivots = gram[~mine][:, mine], gram[mine][:, mine]
    assert sizes[made.eliminated] == max(sizes)
    np.testing.assert_array_equal(pivots, np.diag(np.diag(pivots)))
    np.testing.assert_allclose(
        made.schur, gram[~mine][:, ~mine] - beside @ np.linalg.pinv(pivots) @ beside.T, atol=1e-9
    )


@examples(60)
@given(supports())
def test_leverages_need_no_support(support) -> None:
    found, codes = determinacy(support), every(support.space.sizes)
    codes = codes[found.determined(codes)]
    dense = DenseLeverage.of(support.codes, support.space.sizes, found.islands, deficit=found.deficit)
    wanted = brute_leverage(support)[found.determined(every(support.space.sizes))]
    np.testing.assert_allclose(dense.at(codes), wanted, atol=1e-7)


@examples(60)
@given(supports())
def test_an_inverse_gives_back_what_lies_in_the_range(support) -> None:
    """On the whole design, with values never seen and with open directions that are not shifts."""
    found, design = determinacy(support), AdditiveDesign(support.codes, support.space.sizes)
    width = len(support.space.sizes)
    shifts = np.eye(width)
    shifts[0], shifts[:, 0] = -1.0, -1.0
    shifts[0, 0] = width - 1
    factor = np.repeat(np.arange(width), support.space.sizes)
    rank = found.rank if found.deficit else None
    inverse = inverse_on_range(design.gram(), np.concatenate(found.islands), factor, shifts, rank=rank)
    np.testing.assert_allclose(design.gram() @ inverse.matrix @ design.gram(), design.gram(), atol=1e-6)
    assert np.isfinite(inverse.condition)


def test_a_combination_left_out_is_told_by_a_new_fit() -> None:
    """The formula against refitting without it, with weights."""
    rng = np.random.default_rng(1)
    codes = every((3, 4, 2))
    codes = codes[rng.permutation(len(codes))[:20]]
    weights, score = rng.random(20) + 0.5, rng.random(20)
    found = AdditiveFit.of(codes, (3, 4, 2), weights=weights).left_out(score, np.ones(20))
    design = one_hot(codes, (3, 4, 2))
    for place in range(20):
        others = np.arange(20) != place
        root = np.sqrt(weights[others])
        numbers = np.linalg.lstsq(root[:, None] * design[others], root * score[others], rcond=None)[0]
        assert found.value[place] == pytest.approx(design[place] @ numbers, abs=1e-9)


@examples(60)
@given(supports())
def test_a_fit_by_blocks_is_that_of_the_whole(support) -> None:
    """Where values fall apart, each part is solved for itself, and all that is told stays the same."""
    rng, size = np.random.default_rng(3), len(support)
    weights = rng.random(size) * (rng.random(size) < 0.7)
    score, noise = rng.random(size), rng.random(size)
    whole = AdditiveFit.of(support.codes, support.space.sizes, weights=weights)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(additive_design, "_FEW_VALUES", 0)
        parts = AdditiveFit.of(support.codes, support.space.sizes, weights=weights)
    assert parts.rank == whole.rank
    np.testing.assert_allclose(parts.open_, whole.open_, atol=1e-6)
    one, other = (fit.left_out(score, noise) for fit in (parts, whole))
    for name in ("value", "variance", "leverage"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-6)


def test_one_combination_leaves_itself_open() -> None:
    lonely = AdditiveFit.of(np.array([[0, 0], [1, 1]], dtype=np.int32), (2, 2), weights=np.ones(2))
    assert np.isnan(lonely.left_out(np.ones(2), np.ones(2)).value).all()


def test_a_table_without_any_shared_value_has_leverage_one() -> None:
    support = support_of([(0, 0), (1, 1), (2, 2)])
    found = determinacy(support)
    dense = DenseLeverage.of(support.codes, support.space.sizes, found.islands, deficit=found.deficit)
    np.testing.assert_allclose(dense.at(support.codes), 1.0)
