"""The settings of the study: smoke for CI, small for one machine, paper as published."""

from collections.abc import Mapping
from typing import Any

from recombine_studies.subnetworks.networks import QUESTIONS, SCENES, SENTENCES

_RESNET = {"name": "resnet", "blocks": [1, 1, 1], "channels": [8, 16, 32], "norm": "instance"}
_VIT = {"name": "vit", "patch": 8, "width": 32, "heads": 4, "depth": 2, "inner": 64, "dropout": 0.0}
_TRANSFORMER = {"name": "transformer", "width": 16, "heads": 2, "layers": 2, "inner": 32}
_SCENE_RECIPE = {"batch": 16, "samples": 1500, "evaluations": 3, "test_samples": 150, "schedule": "cosine"}
_SENTENCE_RECIPE = {"steps": 600, "lr": 3e-3, "batch": 32, "samples": 4000, "evaluations": 3, "test_samples": 400}
_QUESTION_MODELS = (
    {"name": "mlp", "hidden": {"each": [[16], [64], [32, 32]]}},
    {"name": "transformer", "width": 16, "heads": 2, "layers": 1, "inner": 32},
)

_TINY = {"batch_size": 4, "rates": [0.05], "penalties": [1.0], "seeds": 1, "problems": 20, "tests": 16}

SMALL: Mapping[str, Any] = {
    "seeds": 3,
    "condition": 0.9,
    "rules": ["inside_contact"],
    "size": 32,
    "resnet": _RESNET,
    "vit": _VIT,
    "scene_width": 32,
    "scene_recipe": {"steps": 400, "lr": 5e-3, **_SCENE_RECIPE},
    "vit_recipe": {"steps": 400, "lr": 2e-3, **_SCENE_RECIPE},
    "pairs": ["subject_verb"],
    "numbers": ["singular"],
    "length": 16,
    "transformer": _TRANSFORMER,
    "sentence_width": 16,
    "sentence_recipe": _SENTENCE_RECIPE,
    "pretrained_rules": [],
    "pretrainings": {SCENES: 1, SENTENCES: 3},
    "pretraining": {
        SCENES: {"steps": 150, "batch": 32, "lr": 2e-3, "temperature": 0.1, "examples": 2400},
        SENTENCES: {"steps": 400, "batch": 64, "lr": 3e-3, "examples": 8000},
    },
    "noise": 0.25,
    "held_out": [0.3, 0.6],
    "question_models": list(_QUESTION_MODELS),
    "question_recipe": {
        "steps": {"each": [150, 600]},
        "lr": 0.01,
        "batch": 64,
        "evaluations": 2,
        "test_samples": 1000,
    },
    "question_seeds": 3,
    "search": {
        SCENES: {
            "steps": 60,
            "batch_size": 8,
            "rates": [0.05],
            "penalties": [0.1, 1.0],
            "seeds": 2,
            "problems": 300,
            "tests": 120,
        },
        SENTENCES: {
            "steps": 120,
            "batch_size": 16,
            "rates": [0.03],
            "penalties": [0.1, 0.3, 1.0],
            "seeds": 2,
            "problems": 800,
            "tests": 200,
        },
        QUESTIONS: {
            "steps": 150,
            "batch_size": 64,
            "sufficient": 0.8,
            "rates": [0.01, 0.03],
            "penalties": [0.1, 1.0],
            "seeds": 2,
            "problems": 800,
            "tests": 400,
        },
    },
}

SMOKE: Mapping[str, Any] = {
    **SMALL,
    "seeds": 1,
    "condition": 0.0,
    "rules": ["inside_contact"],
    "pretrained_rules": ["inside_contact"],
    "numbers": ["singular"],
    "resnet": {"name": "resnet", "blocks": [1, 1], "channels": [4, 8], "norm": "instance"},
    "scene_recipe": {"steps": 2, "lr": 5e-3, **_SCENE_RECIPE, "batch": 4, "samples": 8, "test_samples": 8},
    "vit_recipe": {"steps": 2, "lr": 5e-3, **_SCENE_RECIPE, "batch": 4, "samples": 8, "test_samples": 8},
    "transformer": {"name": "transformer", "width": 8, "heads": 2, "layers": 1, "inner": 8},
    "sentence_width": 8,
    "sentence_recipe": {"steps": 20, "lr": 1e-2, "batch": 8, "samples": 64, "evaluations": 1, "test_samples": 64},
    "pretraining": {
        SCENES: {"steps": 2, "batch": 4, "examples": 12},
        SENTENCES: {"steps": 4, "batch": 16, "lr": 1e-2, "examples": 64},
    },
    "held_out": [0.3],
    "question_models": [{"name": "mlp", "hidden": {"each": [[8], [16]]}}],
    "question_recipe": {"steps": {"each": [10, 60]}, "lr": 0.01, "evaluations": 1, "test_samples": 100},
    "question_seeds": 1,
    "search": {kind: {**_TINY, "steps": 4} for kind in (SCENES, SENTENCES, QUESTIONS)},
}

_EPOCHS = 100
_BATCH = 32
_PUBLISHED_RECIPE = {"lr": 1e-3, "batch": _BATCH, "evaluations": 20, "test_samples": 1000, "device": "auto"}
_PUBLISHED_SEARCH = {"published": True, "batch_size": 64, "seeds": 3}

PAPER: Mapping[str, Any] = {
    **SMALL,
    "rules": ["inside_contact", "inside_number", "contact_number"],
    "size": 128,
    # Two narrow stages stand for the stem, which leaves a quarter of each side.
    "resnet": {
        "name": "resnet",
        "blocks": [1, 1, 3, 4, 6, 3],
        "channels": [8, 16, 64, 128, 256, 512],
        "norm": "instance",
    },
    "vit": {"name": "vit", "patch": 16, "width": 512, "heads": 8, "depth": 6, "inner": 2048, "dropout": 0.0},
    "scene_width": 128,
    "scene_recipe": {"steps": _EPOCHS * 10_000 // _BATCH, **_PUBLISHED_RECIPE},
    "vit_recipe": {"steps": _EPOCHS * 10_000 // _BATCH, **_PUBLISHED_RECIPE, "lr": 1e-4},
    "pairs": ["subject_verb", "reflexive"],
    "length": 50,
    "transformer": {"name": "transformer", "width": 512, "heads": 8, "layers": 4, "inner": 2048},
    "sentence_width": 128,
    "sentence_recipe": {"steps": _EPOCHS * 9_500 // _BATCH, "samples": 9_500, **_PUBLISHED_RECIPE, "lr": 1e-4},
    "pretrained_rules": ["inside_contact", "inside_number", "contact_number"],
    "pretrainings": {SCENES: 1, SENTENCES: 1},
    "pretraining": {
        SCENES: {"steps": _EPOCHS * 60_000 // 128, "batch": 128, "lr": 5e-4, "temperature": 0.07, "examples": 60_000},
        SENTENCES: {"steps": 20_000, "batch": 256, "lr": 1e-4, "examples": 100_000},
    },
    "search": {
        SCENES: {**_PUBLISHED_SEARCH, "problems": 10_000, "tests": 1000},
        SENTENCES: {**_PUBLISHED_SEARCH, "problems": 9_500, "tests": 300},
        QUESTIONS: SMALL["search"][QUESTIONS],
    },
}

_SHORT = {"steps": 2, "lr": 1e-3, "batch": 2, "samples": 4, "evaluations": 1, "test_samples": 8}
TRIAL: Mapping[str, Any] = {
    "seeds": 1,
    "condition": -1.0,
    **dict.fromkeys(("scene_recipe", "vit_recipe", "sentence_recipe", "question_recipe"), _SHORT),
    "question_seeds": 1,
    "pretraining": {kind: {"steps": 2, "batch": 2, "examples": 12} for kind in (SCENES, SENTENCES)},
    "search": {kind: {**_TINY, "steps": 2} for kind in (SCENES, SENTENCES, QUESTIONS)},
}
"""Two updates of everything, on a few examples; networks that answer nothing rightly are looked into too."""
