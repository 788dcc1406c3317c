"""A block held out in closed form, against fitting what is left."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from recombine.numerics.additive_fit import blocks_held_out, design_matrix, leverage_rows
from tests.properties import examples

SIZES = (3, 3, 2)


@examples(40)
@given(st.integers(0, 10**6), st.floats(0.3, 1.0))
def test_it_is_the_fit_of_what_is_left(seed, share):
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int32)
    codes = grid[rng.random(len(grid)) < share]
    if len(codes) < 3:
        return
    values = rng.normal(size=(len(codes), 2))
    keys = codes[:, 0] * 3 + codes[:, 1]
    blocks = [np.flatnonzero(keys == key) for key in np.unique(keys)]
    design = design_matrix(codes, SIZES, constant=False)
    found = blocks_held_out(leverage_rows(design), values, blocks)
    told = dict(zip(found.rows.tolist(), zip(found.said, found.leverage, strict=True), strict=True))
    open_ = 0
    for block in blocks:
        left = np.setdiff1d(np.arange(len(codes)), block)
        inverse = np.linalg.pinv(design[left].T @ design[left], rcond=1e-9)
        effects = inverse @ design[left].T @ values[left]
        for row in block:
            projected = design[row] @ inverse @ design[left].T @ design[left]
            if np.abs(projected - design[row]).max() > 1e-6:
                open_ += 1
                assert row not in told
                continue
            said, leverage = told[row]
            assert np.allclose(said, design[row] @ effects, atol=1e-6)
            assert np.isclose(leverage, design[row] @ inverse @ design[row], atol=1e-6)
    assert found.untestable == open_
