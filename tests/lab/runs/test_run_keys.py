"""A run's key is its address in every store: moving or renaming code must never change it.

The keys are written down as they were first. One that differs here means that runs which somebody trained are not found
again. Only a raised numerics version (`Catalogue.numerics`, `TRAINING_NUMERICS`) may change the keys that it touches.
"""

from typing import Any

import pytest

from recombine_lab.training.configurations import configurations

_SPRITES = {"name": "sprites", "size": 16}
_BUMPS_SPLIT = {"name": "stripes", "base": {"name": "donut", "hole": [10, 17]}}
_SCHEDULED = {
    "steps": 200,
    "optimiser": "sgd",
    "momentum": 0.9,
    "schedule": "cosine",
    "final_lr": 0.0001,
    "warmup": 10,
    "samples": 500,
    "batch": None,
    "clip": 1.0,
}
_STAIRCASE = {"steps": 50, "schedule": "staircase", "decay": 0.96, "decay_every": 10, "patience": 3, "samples": "every"}
_ON_A_GPU = {"steps": 5, "device": "auto", "precision": "bf16", "deterministic": True, "keep_model": False}
_KEYS: list[tuple[str, Any, Any, Any, dict[str, Any], int]] = [
    ("abae95e4a0b2d0ab1c073aabdcc1ebc1", "addition", "own", "mlp", {"steps": 10}, 0),
    (
        "4f15b5cf0a630018e1fe25b9244fc5ad",
        "addition",
        "hold_out_combinations",
        {"name": "mlp", "hidden": [8]},
        {"steps": 10, "lr": 0.1},
        1,
    ),
    (
        "01183c0480d535d83d1358c7ffc982b4",
        {"name": "addition"},
        {"name": "combination_k_fold", "fold": 1},
        {"name": "odd_one_out", "backbone": {"name": "mlp"}},
        _STAIRCASE,
        0,
    ),
    (
        "2c37ef8843b30564d01918ea9abb2ea0",
        "toy",
        {"name": "hold_out_conjunctions", "conjunctions": 1},
        {"name": "mlp", "scale": 0.5},
        _SCHEDULED,
        7,
    ),
    ("afb2ef4e6357128df9f1aa5ba1a2b897", "invariance", "own", "mlp", _ON_A_GPU, 0),
    (
        "dee0a4a030ba9dfa74ef1c32480ba612",
        "context_dependence",
        "everything",
        "mlp",
        {"steps": 10, "together": "never", "threads": 2},
        3,
    ),
    ("84299780d67aff5d293934b19bb61bd9", "transitive_ordering", "own", "mlp", {"steps": 10, "loss": "hinge"}, 0),
    (
        "d82e17098cfbe8c59f1718d73aa97b81",
        {"name": "digit_pairs", "images": "synthetic"},
        "own",
        "cnn",
        {"steps": 10},
        0,
    ),
    ("7fb646b6fa7e9f2d9957e316318cf0d4", _SPRITES, "random", {"name": "spatial_broadcast"}, _SCHEDULED, 0),
    ("bc54273fa0ad82e898e278cc004ed93b", _SPRITES, {"name": "orthogonal"}, "cnn_decoder", {"steps": 10}, 2),
    (
        "28b75a0f39815b38de8ee292f82eea66",
        {"name": "agreement", "pair": "subject_verb"},
        "own",
        "transformer",
        {"steps": 10},
        0,
    ),
    ("545525f792d812b17caaa9486fbe44dc", {"name": "two_questions"}, "own", "mlp", {"steps": 10}, 0),
    ("72136b1d2348b8378db6fa246546f2ef", "bumps", _BUMPS_SPLIT, "compositional", {"steps": 10}, 0),
    (
        "3acd4f8e909fda01c285b129efd05f30",
        "bumps",
        {"name": "donut", "hole": [10, 17]},
        "monolithic",
        {"steps": 10, "samples": "every"},
        1,
    ),
    (
        "270579260e56b63b85f3a1d075d50456",
        {"name": "relations", "rule": "inside_contact", "size": 32},
        "own",
        "resnet",
        {"steps": 10},
        0,
    ),
]


@pytest.mark.parametrize(("key", "task", "split", "model", "recipe", "seed"), _KEYS)
def test_the_key_of_a_configuration_never_changes(
    key: str, task: Any, split: Any, model: Any, recipe: dict[str, Any], seed: int
) -> None:
    (run,) = configurations(task, split, model, recipe, seeds=[seed])
    assert run.key == key
