"""How hard a combination is, and how alike two sets are: against brute force, and in cases that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.verbs.predict.answers import answers
from recombine.verbs.rehearse import holdout_matching
from recombine.verbs.rehearse.difficulty import difficulty
from tests.properties import examples
from tests.rehearse import twins

points = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=6)


@pytest.mark.parametrize("labels", [0, 2, 3])
@pytest.mark.parametrize("sizes", [(4, 3), (3, 3, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_every_number_is_the_twins(sizes, labels, seed) -> None:
    rng = np.random.default_rng(seed)
    every = np.stack(np.unravel_index(rng.permutation(int(np.prod(sizes))), sizes), axis=1)
    seen = every[: len(every) * 2 // 3]
    told = rng.integers(0, labels, size=len(seen)) if labels else rng.normal(size=len(seen)).round(2)
    if labels:
        told[:labels] = np.arange(labels)
    table = {f"f{k}": seen[:, k].tolist() for k in range(len(sizes))}
    values = {f"f{k}": list(range(size)) for k, size in enumerate(sizes)}
    support = recombine.read(
        table | {"y": told.tolist()},
        factors=list(table),
        target="y",
        target_kind="label" if labels else "number",
        domain=values,
    )
    truth = rng.integers(0, labels, size=len(every)).astype(float) if labels else rng.normal(size=len(every))
    found = difficulty(support, answers(support), every.astype(np.int32), truth)
    for place, row in enumerate(every):
        right = int(truth[place]) if labels else truth[place]
        expected = twins.difficulty(seen.tolist(), told.tolist(), sizes, row.tolist(), labels=labels, truth=right)
        if row.tolist() in seen.tolist() and len(sizes) > 2:
            expected["near"] = found.values[place, found.names.index("near")]  # the twin counts it among the others too
        assert list(expected) == list(found.names)
        assert found.values[place] == pytest.approx(list(expected.values()), abs=1e-6)


@given(points, points)
@examples(60)
def test_weights_and_distance_are_the_twins(held, asked) -> None:
    one, other = np.array(held), np.array(asked)
    assert holdout_matching.weights_of(one, other) == pytest.approx(twins.weights(held, asked), abs=1e-9)
    assert holdout_matching.distance(one, other) == pytest.approx(twins.discrepancy(held, asked), abs=1e-5)


def test_one_cloud_is_like_itself_and_unlike_one_far_away() -> None:
    cloud = np.random.default_rng(0).normal(size=(30, 3))
    assert holdout_matching.distance(cloud, cloud) < 1e-6
    assert holdout_matching.overlap(cloud, cloud) == 1
    assert holdout_matching.overlap(cloud, cloud + 50) == 0
    weights = holdout_matching.weights_of(cloud, cloud + 50)
    assert weights.sum() == pytest.approx(1)
    assert holdout_matching.gaps(cloud, np.full(30, 1 / 30), cloud + 50) == pytest.approx([50, 50, 50])
