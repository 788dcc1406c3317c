"""Rules for vectors against refits by hand, one combination and one output at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics.additive_fit import design_matrix, held_out
from recombine.numerics.effects import Single
from recombine.numerics.groups import ANY, group
from recombine.numerics.vector_rules import ControlDesign, LeastSquares

SIZES = (4, 3, 2)


def seen(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    every = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), -1).reshape(-1, 3).astype(np.int32)
    codes = np.asfortranarray(every[np.sort(rng.choice(len(every), int(rng.integers(3, 22)), replace=False))])
    return codes, rng.normal(size=(len(codes), 4)), rng


@given(st.integers(0, 10**6))
def test_least_squares_is_a_refit_without_each(seed: int) -> None:
    codes, values, _ = seen(seed)
    design = design_matrix(codes, SIZES, constant=False)
    found = LeastSquares.of(design).held_out(values)
    others = held_out(codes, SIZES, values, np.arange(len(codes)))
    np.testing.assert_array_equal(np.isfinite(found[:, 0]), np.isin(np.arange(len(codes)), others.rows))
    for k in range(len(codes)):
        rest = np.delete(np.arange(len(codes)), k)
        asked = LeastSquares.of(design[rest]).at(values[rest], design[[k]])
        np.testing.assert_allclose(found[[k]], asked, atol=1e-6)
        told = np.linalg.matrix_rank(design[rest]) == np.linalg.matrix_rank(np.vstack([design[rest], design[[k]]]))
        assert told == np.isfinite(asked).all()
        if told:
            for output in range(values.shape[1]):
                effects = np.linalg.lstsq(design[rest], values[rest, output], rcond=None)[0]
                np.testing.assert_allclose(asked[0, output], design[k] @ effects, atol=1e-6)


@given(st.integers(0, 10**6))
def test_control_rules_are_those_of_a_look_up_by_hand(seed: int) -> None:
    codes, values, rng = seen(seed)
    control = np.array([0, 0, rng.choice([0, ANY])])
    places = group(codes, sizes=SIZES, factors=(0, 1, 2))
    rules = ControlDesign(codes, control, places.lookup, [Single(size) for size in SIZES])
    table = {tuple(row): values[k] for k, row in enumerate(codes.tolist())}
    nothing = np.full(values.shape[1], np.nan)
    parts = {}
    for row in codes.tolist():
        changed = [k for k in range(3) if control[k] != ANY and row[k] != control[k]]
        base = [c if k == ANY else k for c, k in zip(row, control.tolist(), strict=True)]
        singles = [[row[j] if j == k else c for j, c in enumerate(base)] for k in changed]
        reference = table.get(tuple(base), nothing)
        total = sum((table.get(tuple(one), nothing) - reference for one in singles), np.zeros(values.shape[1]))
        parts[tuple(row)] = (reference, total if len(changed) >= 2 else nothing)
    no_change, additive = rules.no_change(values, codes), rules.additive(values, codes)
    scaled = rules.scaled(values, codes, np.arange(len(codes)), held_out=True)
    fresh = rules.scaled(values, codes, np.arange(len(codes)), held_out=False)
    for k, row in enumerate(map(tuple, codes.tolist())):
        reference, total = parts[row]
        np.testing.assert_allclose(no_change[k], reference)
        np.testing.assert_allclose(additive[k], reference + total)
        for found, rest in ((scaled, [one for one in parts if one != row]), (fresh, list(parts))):
            usable = [one for one in rest if np.isfinite(parts[one][1]).all()]
            top = sum(float(parts[one][1] @ (table[one] - parts[one][0])) for one in usable)
            bottom = sum(float(parts[one][1] @ parts[one][1]) for one in usable)
            if bottom > 1e-9 and np.isfinite(total).all():
                np.testing.assert_allclose(found[k], reference + top / bottom * total, atol=1e-9)
