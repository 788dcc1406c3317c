"""An audit speaks of the rule that tells held-out combinations best, and of adding up unless another is better."""

import numpy as np
import pytest

import recombine
from recombine.numerics.interaction_rules import GATED, PRODUCT, SUBSTITUTION
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.rule_choice import choose_rule, chosen_rule


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


def read(kind: str, seed: int) -> recombine.Support:
    table = world(kind, seed)
    return recombine.read(table, factors=[name for name in table if name != "y"], target="y", target_kind="number")


@pytest.mark.parametrize("kind", [PRODUCT, GATED, SUBSTITUTION])
def test_whoever_asks_is_told_the_same_rule(kind):
    assert chosen_rule(read(kind, 1)) == audited(kind, 1).additive.chosen == kind


def test_no_rule_is_chosen_where_effects_add_up_or_nothing_is_to_be_learnt():
    assert [chosen_rule(read(ADDITIVE, seed)) for seed in range(5)] == [None] * 5
    noise = world(ADDITIVE, 0)
    found = []
    for seed in range(5):
        noise["y"] = np.random.default_rng(seed).normal(size=len(noise["y"])).tolist()
        found.append(chosen_rule(recombine.read(noise, factors=["f0", "f1"], target="y", target_kind="number")))
    assert found == [None] * 5


def test_an_evaluation_and_a_rehearsal_set_the_chosen_rule_beside_a_model():
    """A model that adds up loses to the product, and is told which rule does better; one that knows is not beaten."""
    rng = np.random.default_rng(3)
    grid = np.indices((12, 12)).reshape(2, -1).T
    effects = [rng.normal(size=12)[grid[:, k]] for k in (0, 1, 0, 1)]
    truth, added = effects[0] + effects[1] + 2 * effects[2] * effects[3], effects[0] + effects[1]
    table = {"f0": grid[:, 0].tolist(), "f1": grid[:, 1].tolist(), "y": truth.tolist(), "adds": added.tolist()}
    table |= {"knows": truth.tolist(), "split": np.where(rng.random(144) < 0.75, "train", "test").tolist()}
    asked = {"factors": ["f0", "f1"], "target": "y"}
    adds, knows = (
        recombine.evaluate(table, **asked, prediction=one, score="r2", split="split") for one in ("adds", "knows")
    )
    assert adds.expected.baseline_name == knows.expected.baseline_name == PRODUCT
    assert "adding up one effect for each value and a product of f0 and f1 reaches" in adds.verdict
    assert adds.expected.lift[2] < 0 <= knows.expected.lift[0]
    rehearsed = recombine.rehearse(world(PRODUCT, 1), "relu:1", factors=["f0", "f1"], target="y", rounds=2)
    assert rehearsed.simple[PRODUCT] > 0.95 > rehearsed.simple[ADDITIVE]
    assert "a product of f0 and f1 is better" in rehearsed.verdict
