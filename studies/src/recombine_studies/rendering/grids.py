"""What is trained: the presets, and a sweep for each question of the paper."""

from collections.abc import Mapping
from typing import Any

from recombine_lab.tasks.bumps import CODES
from recombine_studies.study import Settings

Plan = dict[str, Any]

_SMOKE: dict[str, Any] = {
    "seeds": 1,
    "image": {"size": 8, "sigma": 0.75, "inverted": False},
    "hole": [2, 5],
    "holes": [[3, 4]],
    "corners": [5],
    "coverage_seeds": 1,
    "mlp": {"hidden": [24, 24], "initialisation": "torch"},
    "mlp_recipe": {"steps": 20, "lr": 2e-3},
    "cnn": {"depth": 2, "channels": 2},
    "cnn_recipe": {"steps": 3, "lr": 3e-3},
    "depths": {"mlp": [3], "cnn": [3]},
    "samples": 200,
    "corner": {"size": 8, "sigma": 1.0, "at": 4},
    "filters_recipe": {"steps": 20, "lr": 3e-3},
    "broadcast": {"width": 8, "depth": 2},
    "broadcast_corner": {"size": 8, "sigma": 1.0, "at": 4},
    "broadcast_recipe": {"steps": 8, "lr": 2e-3},
    "transformer": {"width": 8, "heads": 2, "depth": 1, "inner": 16},
    "transformer_image": {"size": 6, "sigma": 0.75, "inverted": False},
    "transformer_hole": [2, 3],
    "transformer_recipe": {"steps": 4, "lr": 2e-3},
    "scaling": {"sizes": [5, 6], "kept": [0.5, 0.8], "seeds": 1},
    "scaling_image": {"sigma": 1.0, "inverted": False},
    "scaling_model": {"name": "mlp", "hidden": [16], "initialisation": "torch"},
    "scaling_recipe": {"steps": 10, "lr": 3e-3},
    "target": 0.5,
    "repeats": 3,
}
_SMALL: dict[str, Any] = {
    "seeds": 3,
    "image": {"size": 12, "sigma": 0.75, "inverted": False},
    "hole": [2, 9],
    "holes": [[3, 9], [4, 7]],
    "corners": [6, 8],
    "coverage_seeds": 1,
    "mlp": {"hidden": [128, 128, 128], "initialisation": "torch"},
    "mlp_recipe": {"steps": 1500, "lr": 2e-3},
    "cnn": {"depth": 2, "channels": 8},
    "cnn_recipe": {"steps": 600, "lr": 4e-3, "batch": 16},
    "depths": {"mlp": [5, 7], "cnn": [4, 6]},
    "samples": 2000,
    "corner": {"size": 16, "sigma": 1.0, "at": 8},
    "filters_recipe": {"steps": 6000, "lr": 3e-3},
    "broadcast": {"width": 32, "depth": 2},
    "broadcast_corner": {"size": 12, "sigma": 0.75, "at": 6},
    "broadcast_recipe": {"steps": 2000, "lr": 4e-3},
    "transformer": {"width": 16, "heads": 2, "depth": 2, "inner": 32},
    "transformer_image": {"size": 12, "sigma": 0.75, "inverted": False},
    "transformer_hole": [2, 9],
    "transformer_recipe": {"steps": 1000, "lr": 4e-3, "batch": 16},
    "scaling": {"sizes": [8, 11, 16], "kept": [0.13, 0.2, 0.4, 0.6], "seeds": 3},
    "scaling_image": {"sigma": 1.0, "inverted": False},
    "scaling_model": {"name": "mlp", "hidden": [96, 96], "initialisation": "torch"},
    "scaling_recipe": {"steps": 500, "lr": 4e-3},
    "target": 0.5,
    "repeats": 3,
}
# Batches of 32 at 1e-3: 20 epochs of 2,000 samples are 1,250 steps, 50 are 3,125; of 588 cells 2,000 epochs are 36,750.
_PAPER: dict[str, Any] = {
    "seeds": 5,
    "image": {"size": 28, "sigma": 1.0, "inverted": True},
    "hole": [6, 22],
    "holes": [[10, 18]],
    "corners": [14, 20],
    "coverage_seeds": 5,
    "mlp": {"hidden": [256, 256, 256], "initialisation": "torch"},
    "mlp_recipe": {"steps": 1250, "lr": 1e-3},
    "cnn": {"depth": 4, "channels": 64},
    "cnn_recipe": {"steps": 3125, "lr": 1e-3},
    "depths": {"mlp": [4, 5, 6, 7], "cnn": [2, 3, 5, 6, 7, 8, 9, 10]},
    "samples": 2000,
    "corner": {"size": 32, "sigma": 1.5, "at": 12, "centres": 0.5},
    "filters_recipe": {"steps": 20_000, "lr": 1e-3},
    "broadcast": {"width": 256, "depth": 2},
    "broadcast_corner": {"size": 28, "sigma": 1.0, "at": 14},
    "broadcast_recipe": {"steps": 36_750, "lr": 1e-3},
    "transformer": {"width": 128, "heads": 4, "depth": 2, "inner": 512},
    "transformer_image": {"size": 28, "sigma": 1.0, "inverted": True},
    "transformer_hole": [6, 22],
    "transformer_recipe": {"steps": 1250, "lr": 1e-3},
    "scaling": {"sizes": [24, 28, 32, 36, 40], "kept": [0.05, 0.1, 0.2, 0.4, 0.6, 0.8], "seeds": 5},
    "scaling_image": {"sigma": 1.0, "inverted": True},
    "scaling_model": {"name": "cnn_decoder", "depth": 8, "channels": 128},
    "scaling_recipe": {"steps": 3125, "lr": 1e-3},
    "target": 0.5,
    "repeats": 5,
}
PRESETS: Mapping[str, Settings] = {"smoke": _SMOKE, "small": _SMALL, "paper": _PAPER}
PLAIN, BOTH, ALONE = 0.0, 0.5, 1.0
"""The share of stripes among the training examples: bumps alone, both, stripes alone."""


def grids(settings: Settings) -> dict[str, Plan]:
    """A sweep for each question; a run that two of them ask for is trained once."""
    return {
        "mlp": _plain(settings, "mlp"),
        "cnn": _plain(settings, "cnn"),
        "mlp, other depths": _other_depths(settings, "mlp"),
        "cnn, other depths": _other_depths(settings, "cnn"),
        "mlp stripes": _striped(settings, "mlp", [settings["hole"]], [], shares=(BOTH, ALONE)),
        "cnn stripes": _striped(settings, "cnn", [settings["hole"]], [], shares=(BOTH, ALONE)),
        "regularised filters": _filters(settings, entropy=0.1, variance=0.01),
        "filters without penalties": _filters(settings, entropy=0.0, variance=0.0),
        "spatial broadcast": _broadcast(settings),
        "pixel transformer": _transformer(settings),
        "mlp coverage": _covering(settings, "mlp"),
        "cnn coverage": _covering(settings, "cnn"),
        **_scaling(settings),
    }


def _plain(settings: Settings, model: str) -> Plan:
    """A plain decoder with each of the three codes, on the donut."""
    return {
        "tasks": _bumps(settings["image"], code={"each": list(CODES)}),
        "splits": _donut(settings["hole"]),
        "models": _model(settings, model),
        "recipes": _recipe(settings, f"{model}_recipe", samples=settings["samples"]),
        "seeds": settings["seeds"],
    }


def _other_depths(settings: Settings, model: str) -> Plan:
    """A plain decoder with the bump code and another number of layers, on the same donut."""
    depths = settings["depths"][model]
    width = settings["mlp"]["hidden"][0]
    depth = {"mlp": {"hidden": {"each": [[width] * depth for depth in depths]}}, "cnn": {"depth": {"each": depths}}}
    plan = _plain(settings, model)
    return plan | {"tasks": _bumps(settings["image"]), "models": {**plan["models"], **depth[model]}}


def _striped(
    settings: Settings, model: str, holes: list[list[int]], corners: list[int], *, shares: tuple[float, ...]
) -> Plan:
    """A plain decoder with the bump code on donuts and corners, with several shares of stripes."""
    bases = [*map(_donut, holes), *({"name": "corner", "at": at} for at in corners)]
    return {
        "tasks": _bumps(settings["image"]),
        "splits": [base if share == PLAIN else _mixed(base, share) for base in bases for share in shares],
        "models": _model(settings, model),
        "recipes": _recipe(settings, f"{model}_recipe", samples=settings["samples"]),
        "seeds": settings["seeds"],
    }


def _covering(settings: Settings, model: str) -> Plan:
    """More splits, with and without stripes."""
    plan = _striped(settings, model, settings["holes"], settings["corners"], shares=(PLAIN, BOTH))
    return plan | {"seeds": settings["coverage_seeds"]}


def _filters(settings: Settings, *, entropy: float, variance: float) -> Plan:
    return _cornered(settings, "corner", "filters_recipe") | {
        "models": {"name": "low_rank_filters", "entropy": entropy, "variance": variance}
    }


def _broadcast(settings: Settings) -> Plan:
    return _cornered(settings, "broadcast_corner", "broadcast_recipe") | {
        "models": {"name": "spatial_broadcast", **settings["broadcast"]}
    }


def _cornered(settings: Settings, where: str, recipe: str) -> Plan:
    """Every seen place of a corner split again and again, bright bumps told 1-hot, as published."""
    corner = dict(settings[where])
    at = corner.pop("at")
    return {
        "tasks": {"name": "bumps", "code": "onehot", "inverted": False, **corner},
        "splits": {"name": "corner", "at": at},
        "recipes": _recipe(settings, recipe, samples="every", weight_decay=1e-4),
        "seeds": settings["seeds"],
    }


def _transformer(settings: Settings) -> Plan:
    return {
        "tasks": _bumps(settings["transformer_image"]),
        "splits": _donut(settings["transformer_hole"]),
        "models": {"name": "pixel_transformer", **settings["transformer"]},
        "recipes": _recipe(settings, "transformer_recipe", samples=settings["samples"]),
        "seeds": settings["seeds"],
    }


def _scaling(settings: Settings) -> dict[str, Plan]:
    """A random part of all places is shown, another one for each seed: how many must it be?"""
    asked = settings["scaling"]
    return {f"scaling, seed {seed}": _scaled(settings, seed) for seed in range(asked["seeds"])}


def _scaled(settings: Settings, seed: int) -> Plan:
    asked = settings["scaling"]
    shown = [_some(share, seed) for share in asked["kept"]]
    return {
        "tasks": _bumps({"size": {"each": asked["sizes"]}, **settings["scaling_image"]}),
        "splits": [*shown, *(_mixed(base, BOTH) for base in shown)],
        "models": settings["scaling_model"],
        "recipes": _recipe(settings, "scaling_recipe", samples="every"),
        "seeds": [seed],
    }


def _some(kept: float, seed: int) -> Plan:
    """A share of all combinations, drawn by chance, in which every value occurs."""
    return {
        "name": "hold_out_combinations",
        "test_size": round(1 - kept, 3),
        "n_splits": 1,
        "random_state": seed,
    }


def _bumps(image: Plan, *, code: Any = "bump") -> Plan:
    return {"name": "bumps", "code": code, **image}


def _donut(hole: list[int]) -> Plan:
    return {"name": "donut", "hole": hole}


def _mixed(base: Plan, share: float) -> Plan:
    return {"name": "stripes", "base": base, "share": share}


def _model(settings: Settings, name: str) -> Plan:
    return {"name": {"mlp": "mlp", "cnn": "cnn_decoder"}[name], **settings[name]}


def _recipe(settings: Settings, name: str, **more: Any) -> Plan:
    usual = {"optimiser": "adamw", "weight_decay": 0.01, "batch": 32, "evaluations": 4, "together": "never"}
    return {**usual, **settings[name], **more}
