"""A model of the lab is rehearsed: trained anew in every round with several seeds, each of which counts."""

import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import recombine
import recombine_lab as lab
from recombine.base.errors import RecombineError, SettingError
from recombine.verbs.rehearse.learners import Estimator
from recombine.verbs.rehearse.round_examples import examples_of
from recombine_lab.sweeps.ray_pool import _answer_round, _heard

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


@pytest.mark.cluster
@pytest.mark.canary
@pytest.mark.timeout(240)
def test_rounds_over_ray_come_to_the_same_answers() -> None:
    """A real Ray of two workers, real training; what a worker is refused for is said as it is here."""
    pytest.importorskip("ray")
    import ray  # noqa: PLC0415 - heavy, and only here

    made = lab.learner({"name": "mlp", "hidden": []}, RECIPE | {"steps": 30}, seeds=2)
    how = {"factors": FACTORS, "target": "y", "rounds": 2}
    here = recombine.rehearse(table(lambda a, b: (a - b) / 3), made, **how)
    there = recombine.rehearse(table(lambda a, b: (a - b) / 3), lab.over_ray(made, workers=2), **how)
    assert there.learner == here.learner
    assert [one.score for one in there.rounds] == pytest.approx([one.score for one in here.rounds], abs=1e-4)
    assert not ray.is_initialized(), "what was started for it has ended with it"


def test_what_a_worker_is_refused_for_is_said_in_the_same_words() -> None:
    """Between two processes there is a pickle, which an error of ours would not survive."""
    told = table(lambda a, b: (a - b) / 3)
    support = recombine.read(told, factors=FACTORS, target="y")
    examples = examples_of(support, told, {"factors": FACTORS, "target": "y"}, rows=True)
    sent = pickle.dumps(_answer_round(Estimator(_Refuses()), examples, examples, 0))
    ray = SimpleNamespace(get=pickle.loads, exceptions=SimpleNamespace(RayTaskError=(), RayError=()))
    with pytest.raises(SettingError, match="_Refuses failed: refuses"):
        _heard(ray, sent)


class _Refuses:
    def fit(self, *_):
        raise ValueError("refuses")

    def predict(self, _):
        return []


def test_no_workers() -> None:
    with pytest.raises(RecombineError, match="workers=0"):
        lab.over_ray("additive", workers=0)
