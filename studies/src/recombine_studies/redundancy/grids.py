"""What is trained: the toy, pairs of digits and SCAN, in A with a redundant input that tells something, in B without.

The same seed starts from the same weights in every setting, so that settings are compared pair by pair. Beside the full
runs stand short ones of the same seeds: training is constant in its settings, so that a run of four steps is the longer
one stopped there, and what a network hangs on can be asked from its first step on.
"""

from collections.abc import Mapping
from typing import Any

from recombine_studies.study import Settings

TOY, DIGITS, SCAN = "toy", "digits", "scan"
TOY_EARLY, DIGITS_EARLY = "toy early", "digits early"
EARLY = {TOY: TOY_EARLY, DIGITS: DIGITS_EARLY}
"""The grid of short runs that goes with each grid of full ones."""


def grids(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """A plan for each grid."""
    toy = {"splits": "own", "models": {"name": "mlp", "hidden": [8, 8, 8], "initialisation": "he"}}
    digits = {"splits": "own", "models": "cnn"}
    images = {"name": "digit_pairs", "images": settings["images"]}
    return {
        TOY: toy
        | {"tasks": {"name": "toy", "setting": {"each": ["A", "B"]}}, "seeds": settings["toy_seeds"]}
        | {"recipes": _toy(settings) | {"steps": settings["toy_steps"], "evaluations": settings["toy_evaluations"]}},
        TOY_EARLY: toy
        | {"tasks": {"name": "toy", "setting": {"each": ["A", "B"]}}, "seeds": settings["toy_early_seeds"]}
        | {"recipes": _toy(settings) | {"steps": {"each": settings["toy_early"]}, "evaluations": 1}},
        DIGITS: digits
        | {"tasks": images | {"setting": {"each": ["A", "B", "B-noise"]}}, "seeds": settings["digit_seeds"]}
        | {"recipes": _digits(settings) | {"steps": settings["digit_steps"], "evaluations": settings["evaluations"]}},
        DIGITS_EARLY: digits
        | {"tasks": images | {"setting": {"each": ["A", "B"]}}, "seeds": settings["digit_seeds"]}
        | {"recipes": _digits(settings) | {"steps": {"each": settings["digit_early"]}, "evaluations": 1}},
        SCAN: {
            "tasks": {"name": "scan", "setting": {"each": ["A", "B-all", "B-jump"]}},
            "splits": "own",
            "models": "lstm_seq2seq",
            "recipes": _scan(settings),
            "seeds": settings["scan_seeds"],
        },
    }


def _toy(settings: Settings) -> dict[str, Any]:
    """Appendix C: rate .1, batches of 10; plain gradient descent and the cross-entropy are our reading."""
    return {
        "lr": 0.1,
        "optimiser": "sgd",
        "batch": 10,
        "test_samples": settings["toy_samples"],
        "together": "always",
    }


def _digits(settings: Settings) -> dict[str, Any]:
    """Appendix A: the hinge loss, Adam at .001, batches of 64, new pictures at every step."""
    return {
        "lr": 0.001,
        "loss": "hinge",
        "batch": settings["digit_batch"],
        "test_samples": settings["digit_samples"],
        "together": "never",
    }


def _scan(settings: Settings) -> dict[str, Any]:
    """Appendix B: Adam at .01, times .96 after every 100 steps, batches of 256 lines drawn with replacement."""
    return {
        "steps": settings["scan_steps"],
        "lr": 0.01,
        "schedule": "staircase",
        "decay": 0.96,
        "decay_every": 100,
        "batch": settings["scan_batch"],
        "evaluations": settings["scan_evaluations"],
        "test_samples": settings["scan_samples"],
        "together": "never",
    }


PRESETS: Mapping[str, Settings] = {
    "smoke": {
        "images": "synthetic",
        "toy_seeds": 2,
        "toy_early_seeds": 2,
        "toy_steps": 32,
        "toy_early": [1, 4],
        "toy_evaluations": 7,
        "toy_samples": 100,
        "digit_seeds": 1,
        "digit_steps": 4,
        "digit_early": [1],
        "digit_batch": 8,
        "digit_samples": 80,
        "evaluations": 4,
        "scan_seeds": 1,
        "scan_steps": 3,
        "scan_batch": 16,
        "scan_evaluations": 3,
        "scan_samples": 40,
        "rows": 40,
        "digit_rows": 100,
        "followed": 10,
        "pictured": 4,
        "side": 9,
    },
    "small": {
        "images": "mnist",
        "toy_seeds": 300,
        "toy_early_seeds": 100,
        "toy_steps": 1024,
        "toy_early": [1, 4, 16, 64, 256],
        "toy_evaluations": 12,
        "toy_samples": 1000,
        "digit_seeds": 5,
        "digit_steps": 200,
        "digit_early": [1, 4, 16, 64],
        "digit_batch": 64,
        "digit_samples": 240,
        "evaluations": 8,
        "scan_seeds": 3,
        "scan_steps": 2000,
        "scan_batch": 256,
        "scan_evaluations": 20,
        "scan_samples": 500,
        "rows": 1000,
        "digit_rows": 400,
        "followed": 50,
        "pictured": 12,
        "side": 21,
    },
    "paper": {
        "images": "mnist",
        "toy_seeds": 300,
        "toy_early_seeds": 300,
        "toy_steps": 1024,
        "toy_early": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
        "toy_evaluations": 12,
        "toy_samples": 4000,
        "digit_seeds": 10,
        "digit_steps": 200,
        "digit_early": [1, 2, 4, 8, 16, 32, 64, 128],
        "digit_batch": 64,
        "digit_samples": 4000,
        "evaluations": 40,
        "scan_seeds": 10,
        "scan_steps": 2000,
        "scan_batch": 256,
        "scan_evaluations": 40,
        "scan_samples": 4000,
        "rows": 4000,
        "digit_rows": 4000,
        "followed": 1000,
        "pictured": 12,
        "side": 41,
    },
}
"""The recipes are the published ones in *small* as in *paper*; what differs is how many seeds there are, and how often
and about how many examples networks are asked."""
