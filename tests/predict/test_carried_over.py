"""How much of an effect reaches unseen combinations: against fitting drawn effects one by one, and the formula."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.numerics.additive_fit import main_effects
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.effect_transfer import Growth, expected_slope, growth, share_carried
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.learner import learn


def anchored(size, factors, anchors):
    grid = np.array(list(product(range(size), repeat=factors)))
    seen = (grid < anchors).sum(axis=1) >= factors - 1
    return grid[seen], grid[~seen]


@pytest.mark.parametrize("anchors", [1, 2, 3])
@pytest.mark.parametrize("share", [0.2, 0.3, 0.45])
def test_two_factors_are_the_formula(anchors, share):
    seen, asked = anchored(7, 2, anchors)
    salience = Salience.by_order([0.1, share, 1 - 2 * share])
    found = share_carried(seen, salience, 1, asked, penalty=np.full(len(seen), salience.full))
    assert found == pytest.approx(expected_slope(salience=share, seen=anchors))


@pytest.mark.parametrize(("name", "free"), [("relu:1", False), ("relu:3", False), ("relu:2", True)])
def test_three_factors_are_what_fitting_gives(name, free):
    """Twin: effects are drawn, the table is made, learnt and predicted, and a line drawn through what comes out."""
    rng = np.random.default_rng(0)
    grid = np.array(list(product(range(4), range(3), range(5))))
    kept = rng.random(len(grid)) < 0.5
    salience = Salience.parse(name, names=["f0", "f1", "f2"])
    if free:
        salience = Salience(3, (np.inf, *salience.weights[1:]), noise=0.05)
    effects = rng.normal(size=(5, 1))
    table = {f"f{k}": grid[kept, k].tolist() for k in range(3)} | {"y": effects[grid[kept, 2], 0].tolist()}
    support = recombine.read(table, factors=["f0", "f1", "f2"], target="y", target_kind="number")
    learner = learn(support, answers(support), salience, loss="squared", ridge=0.0)
    asked = grid[~kept].astype(np.int32)
    said, should = learner.fitted.scores(asked)[:, 0], effects[asked[:, 2], 0]
    found = share_carried(
        support.codes,
        salience,
        2,
        asked,
        penalty=np.full(len(support), salience.full + salience.noise),
        effects=effects,
    )
    assert found == pytest.approx(np.polyfit(should, said, 1)[0])


def test_the_mean_over_all_effects_is_that_over_many_drawn_ones():
    rng = np.random.default_rng(1)
    seen, asked = anchored(5, 3, 2)
    salience = Salience.parse("relu:3", names=list("abc"))
    penalty = np.full(len(seen), salience.full)
    whole = share_carried(seen, salience, 0, asked, penalty=penalty)
    drawn = share_carried(seen, salience, 0, asked, penalty=penalty, effects=rng.normal(size=(5, 4000)))
    assert whole == pytest.approx(drawn, abs=0.01)


def test_effects_of_a_sum_are_its_parts():
    grid = np.array(list(product(range(4), repeat=3)))
    own = grid @ np.array([1.0, 2.0, -1.0])
    effects, rank = main_effects(grid, (4, 4, 4), (own - own.mean())[:, None], constant=False)
    assert rank == 10
    for found, times in zip(np.split(effects, 3), (1, 2, -1), strict=True):
        assert np.allclose(found[:, 0] - found[0, 0], times * np.arange(4))


def test_more_combinations_carry_over_more():
    seen, _ = anchored(6, 3, 1)
    table = {f"f{k}": seen[:, k].tolist() for k in range(3)} | {"y": seen.sum(axis=1).tolist()}
    support = recombine.read(table, factors=["f0", "f1", "f2"], target="y", target_kind="number")
    found = growth(support, Salience.parse("relu:2", names=["f0", "f1", "f2"]), 0, noise=0.0)
    shares = [share for _, share in found.points]
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert [found.combinations(goal) for goal in (0.8, 0.9, 0.95)] == sorted(
        found.combinations(goal) for goal in (0.8, 0.9, 0.95)
    )


def test_nothing_to_solve_is_none():
    grid = np.array(list(product(range(2), repeat=3)))
    table = {f"f{k}": grid[:, k].tolist() for k in range(3)} | {"y": grid.sum(axis=1).tolist()}
    support = recombine.read(table, factors=["f0", "f1", "f2"], target="y", target_kind="number")
    assert growth(support, Salience.parse("relu:2", names=["f0", "f1", "f2"]), 0, noise=0.0) is None


def test_one_point_grows_by_the_formula_for_two():
    one = Growth(((2.0, 0.6),))
    assert one.share(4.0) == pytest.approx(0.75)  # odds of 1.5 doubled
    assert one.combinations(0.9) == 12
