"""An audit speaks of the rule that tells held-out combinations best, and of adding up unless another is better."""

import numpy as np
import pytest

import recombine
from recombine.numerics.interaction_rules import GATED, PRODUCT, SUBSTITUTION
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.rule_choice import choose_rule


def world(kind: str, seed: int) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    sizes = (4, 7, 7) if kind == GATED else (12, 12)
    grid = np.indices(sizes).reshape(len(sizes), -1).T
    effects = [rng.normal(size=size) for size in sizes]
    truth = sum(effect[grid[:, k]] for k, effect in enumerate(effects))
    if kind == PRODUCT:
        truth = truth + 2 * rng.normal(size=12)[grid[:, 0]] * rng.normal(size=12)[grid[:, 1]]
    elif kind == GATED:
        truth = np.where(grid[:, 0] < 2, effects[1][grid[:, 1]], effects[2][grid[:, 2]])
    elif kind == SUBSTITUTION:
        truth = rng.normal(size=(3, 12))[rng.integers(0, 3, 12)[grid[:, 0]], grid[:, 1]]
    seen = np.repeat(np.flatnonzero(rng.random(len(grid)) < 0.75), 2)
    answers = truth[seen] + 0.1 * rng.normal(size=len(seen))
    return {f"f{k}": grid[seen, k].tolist() for k in range(len(sizes))} | {"y": answers.tolist()}


def audited(kind: str, seed: int) -> recombine.Audit:
    table = world(kind, seed)
    return recombine.audit(table, factors=[name for name in table if name != "y"], target="y", target_kind="number")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ADDITIVE, "Adding up one effect for each value explains 9"),
        (PRODUCT, "Adding up one effect for each value and a product of f0 and f1 explains 9"),
        (GATED, "Letting one factor decide which other one counts explains 9"),
        (SUBSTITUTION, "Answering like values that never gave another answer explains"),
    ],
)
def test_the_rule_is_named_in_the_first_sentence(kind, said):
    found = audited(kind, 1)
    assert found.additive.chosen == kind
    assert found.verdict.startswith(said)
    assert found.grade in ("sound", "plausible") if kind == SUBSTITUTION else found.grade == "sound"


def test_the_best_of_several_by_luck_is_not_chosen():
    """Eight rules that are no better than the one beside them, 300 times: one in twenty is allowed."""
    rng = np.random.default_rng(0)
    picked = 0
    for number in range(300):
        own, *others = np.square(rng.standard_t(3, size=(9, 40)))
        named = {str(k): one for k, one in enumerate(others)}
        picked += choose_rule([own], named, np.arange(40), seed=number) is not None
    assert picked <= 15


def test_a_rule_that_is_better_in_one_piece_of_evidence_is_not_chosen():
    own, other = np.ones(60), np.zeros(60)
    assert choose_rule([own], {"other": other}, np.arange(60), seed=0) == "other"
    assert choose_rule([own], {"other": other}, np.repeat([0, 1], 30), seed=0) is None
