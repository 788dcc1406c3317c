"""A model of the lab is rehearsed: trained anew in every round with several seeds, each of which counts."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine import lab
from recombine.errors import RecombineError

SEEN = [(a, b) for a, b in product(range(6), range(6)) if (a + 2 * b) % 5]
FACTORS = ["a", "b"]
RECIPE = {"steps": 150, "lr": 0.02, "batch": None, "samples": "every", "evaluations": 2}


def table(answer):
    return {"a": [f"a{a}" for a, _ in SEEN], "b": [f"b{b}" for _, b in SEEN], "y": [answer(a, b) for a, b in SEEN]}


def test_a_linear_model_adds_up() -> None:
    made = lab.learner({"name": "mlp", "hidden": []}, RECIPE | {"lr": 0.1}, seeds=2)
    found = recombine.rehearse(table(lambda a, b: (a - b) / 3), made, factors=FACTORS, target="y", rounds=2)
    assert found.learner == "mlp (2 seeds)"
    assert found.expected.value is None or found.expected.value > 0.8
    assert found.naive.value > 0.8


def test_labels_and_inputs_of_ones_own() -> None:
    told = table(lambda a, b: "high" if a + b > 5 else "low")
    inputs = np.concatenate([np.eye(6)[[a for a, _ in SEEN]], np.eye(6)[[b for _, b in SEEN]]], axis=1)
    made = lab.learner({"name": "mlp", "hidden": [16]}, RECIPE, seeds=1)
    found = recombine.rehearse(told, made, inputs=inputs, factors=FACTORS, target="y", rounds=2)
    assert found.naive.value > 0.5
    assert found.score == "accuracy"


def test_no_seeds() -> None:
    with pytest.raises(RecombineError, match="seeds=0"):
        lab.learner("mlp", RECIPE, seeds=0)
