"""What is trained: small networks on symbols as published, and networks that look at pictures."""

from collections.abc import Iterator, Mapping
from typing import Any

from recombine_studies.study import Settings

Plan = Mapping[str, Any]
LAZY = 1.0
RICH = 1e-6
"""Initial scales: weights that barely move, and weights that have to grow."""
ANCHORS = ((0,), (-4,), (-4, 4), (-2, 2))
"""Extrapolation, asymmetric, interpolation, and both, as the paper calls them."""
BETWEEN = (1e-1, 1e-3)
"""Initial scales between the two."""
DEEP = 100
"""Units a layer of the networks whose depth varies; their initial scale is .1."""
DEPTHS = (1, 2, 3, 4)
APART = (0, 20)
_FULL_BATCH = {"optimiser": "sgd", "batch": None, "samples": "every"}

_CNN = {"name": "cnn", "kernel": 5, "pool": [4], "norm": "batch"}
_VIT = {"name": "vit", "heads": 6, "head": 64, "inner": 256}
_BY_DISTANCE = {"distance": list(APART)}

SMOKE: Settings = {
    "seeds": 1,
    "hidden": 30,
    "wide": 40,
    "lazy": 20,
    "lazy_margin": 20,
    "rich": 20,
    "rich_margin": 20,
    "deep": 20,
    "maps": 1,
    "tests": 200,
    "images": 2,
    "models": {"cnn": {**_CNN, "channels": [2, 2, 2, 2], "dense": [8]}},
    "training": {"cnn": {"steps": 2, "lr": 1e-3, "batch": 16}},
    "data": {"digits": {"images": "synthetic"}},
    "pictures": [
        {"model": "cnn", "data": "digits", "task": "addition", "each": {"anchors": [[0]], **_BY_DISTANCE}},
    ],
    "samples": {"digits addition": 64},
}
SMALL: Settings = {
    "seeds": 6,
    "hidden": 1000,
    "wide": 10_000,
    "lazy": 2000,
    "lazy_margin": 1000,
    "rich": 4000,
    "rich_margin": 3000,
    "deep": 8000,
    "maps": 3,
    "tests": 1500,
    "images": 11,
    "models": {
        "cnn": {**_CNN, "channels": [8, 8, 16, 16], "dense": [64, 128]},
        "resnet": {"name": "resnet", "blocks": [1, 1, 1, 1], "channels": [8, 16, 32, 64]},
        "vit": _VIT,
    },
    "training": {
        "cnn": {"steps": 180, "lr": 2e-3, "batch": 32},
        "resnet": {"steps": 120, "lr": 2e-3, "batch": 32, "evaluations": 1},
        "vit": {"steps": 80, "lr": 5e-4, "batch": 32, "evaluations": 1},
    },
    "data": {
        "digits": {"images": "mnist", "per_class": 200},
        "objects": {"images": "cifar10", "per_class": 1000, "augment": True},
    },
    "pictures": [
        {"model": "cnn", "data": "digits", "task": "addition", "each": {"anchors": [[0], [-4, 4]], **_BY_DISTANCE}},
        {"model": "cnn", "data": "digits", "task": "context", "each": {"k": [1, 3], "distance": [10]}},
        {"model": "cnn", "data": "digits", "task": "equivalence", "each": _BY_DISTANCE},
        {"model": "resnet", "data": "objects", "task": "addition", "each": {"anchors": [[0]]}},
        {"model": "vit", "data": "objects", "task": "addition", "each": {"anchors": [[0]]}},
    ],
    "samples": {"digits addition": 4000, "digits context": 4000, "digits equivalence": 4000, "objects addition": 4000},
}
_ALL_SUMS = {"anchors": [list(anchors) for anchors in ANCHORS]}
_ALL_CONTEXTS = {"k": [1, 2, 3]}
_ALL_DISTANCES = {"distance": [0, 5, 10, 15, 20]}
PAPER: Settings = {
    **SMALL,
    "lazy": 16_000,
    "lazy_margin": 16_000,
    "rich": 16_000,
    "rich_margin": 16_000,
    "deep": 16_000,
    "maps": 10,
    "models": {
        "cnn": {**_CNN, "channels": [32, 32, 64, 64], "dense": [512, 1024]},
        "resnet": {"name": "resnet"},
        "vit": _VIT,
    },
    # Epochs of the published sample sizes at batches of 64: 100 of 30,000, 100 and 200 of 40,000.
    "training": {
        "cnn": {"steps": 46_875, "lr": 1e-4, "batch": 64, "optimiser": "sgd", "momentum": 0.9},
        "resnet": {"steps": 62_500, "lr": 1e-3, "batch": 64},
        "vit": {"steps": 125_000, "lr": 1e-4, "batch": 64},
    },
    "pictures": [
        {"model": "cnn", "data": "digits", "task": "addition", "each": {**_ALL_SUMS, **_ALL_DISTANCES}},
        {"model": "cnn", "data": "digits", "task": "context", "each": {**_ALL_CONTEXTS, **_ALL_DISTANCES}},
        {"model": "cnn", "data": "digits", "task": "equivalence", "each": _ALL_DISTANCES},
        {"model": "resnet", "data": "objects", "task": "addition", "each": _ALL_SUMS},
        {"model": "resnet", "data": "objects", "task": "context", "each": _ALL_CONTEXTS},
        {"model": "vit", "data": "objects", "task": "addition", "each": _ALL_SUMS},
        {"model": "vit", "data": "objects", "task": "context", "each": _ALL_CONTEXTS},
    ],
    "samples": {
        "digits addition": 20_000,
        "digits context": 30_000,
        "digits equivalence": 20_000,
        "objects addition": 40_000,
        "objects context": 40_000,
    },
}


def grids(settings: Settings) -> dict[str, Plan]:
    """Every sweep of the study; those on pictures apart for each seed, since a seed says which class means what."""
    return {**dict(_on_symbols(settings)), **dict(_on_pictures(settings))}


def _on_symbols(settings: Settings) -> Iterator[tuple[str, Plan]]:
    hidden, wide, seeds = [settings["hidden"]], [settings["wide"]], settings["seeds"]

    def plan(tasks: Plan, scale: float, steps: int, lr: float, **model: Any) -> Plan:
        return {
            "tasks": tasks,
            "splits": "own",
            "models": {"name": "mlp", "hidden": hidden, "scale": scale, **model},
            "recipes": {"steps": steps, "lr": lr, **_FULL_BATCH},
            "seeds": seeds,
        }

    sums = {"name": "addition", "anchors": {"each": [list(anchors) for anchors in ANCHORS]}}
    both = {"each": ["normal", "width"]}
    yield "sums, lazy", plan(sums, LAZY, settings["lazy"], 0.01, initialisation=both)
    yield "sums, rich", plan(sums, RICH, settings["rich"], 0.01, initialisation=both)
    dispersed = {"name": "addition", "dispersed": True, "shuffle": {"each": [0, 1, 2]}}
    yield "dispersed sums, lazy", plan(dispersed, LAZY, settings["lazy"], 0.01)
    yield "dispersed sums, rich", plan(dispersed, RICH, settings["rich"], 0.01)
    for scale in BETWEEN:
        yield f"sums, {scale:g}", plan(sums, scale, settings["rich"], 0.01)
    layers = {"each": [[DEEP] * depth for depth in DEPTHS]}
    deep = plan(sums, 0.1, settings["deep"], 1e-4, hidden=layers)
    yield "sums, by depth", {**deep, "recipes": {**deep["recipes"], "optimiser": "adam"}}
    context = {"name": "context_dependence"}
    # Cross-entropy first; then squared errors of the same answers, which is another story.
    yield "context, lazy", plan({**context, "k": {"each": [1, 2, 3]}}, LAZY, settings["lazy_margin"], 0.05)
    yield "context, rich", plan({**context, "k": 3}, RICH, settings["rich_margin"], 0.05)
    yield "context, squared", plan({**context, "k": 3, "target": "values"}, LAZY, settings["lazy"], 0.008)
    same = {"name": "transitive_equivalence"}
    yield "equivalence, lazy", plan(same, LAZY, settings["lazy_margin"], 0.005, hidden=wide)
    yield "equivalence, rich", plan(same, RICH, settings["rich_margin"], 0.05, hidden=wide)
    order = {"name": "transitive_ordering"}
    yield "ordering, lazy", plan(order, LAZY, settings["lazy_margin"], 0.05)
    yield "ordering, rich", plan(order, RICH, settings["rich_margin"], 0.05)
    for name in ("invariance", "partial_exposure"):
        yield f"{name}, lazy", plan({"name": name, "target": "values"}, LAZY, settings["lazy"], 0.001)


_TASKS: Mapping[str, Plan] = {
    "addition": {"name": "addition", "code": "images"},
    "context": {"name": "context_dependence", "code": "images"},
    "equivalence": {"name": "transitive_equivalence", "classes": [5, 5], "trained": 4, "code": "images"},
}


def _on_pictures(settings: Settings) -> Iterator[tuple[str, Plan]]:
    for seed in range(settings["maps"]):
        for asked in settings["pictures"]:
            model, what = asked["model"], f"{asked['data']} {asked['task']}"
            varied = {name: {"each": values} for name, values in asked["each"].items()}
            recipe = {"evaluations": 2, **settings["training"][model], "samples": settings["samples"][what]}
            yield (
                f"{what}, {model}, map {seed}",
                {
                    "tasks": {**_TASKS[asked["task"]], **settings["data"][asked["data"]], **varied, "mapping": seed},
                    "splits": "own",
                    "models": settings["models"][model],
                    "recipes": {**recipe, "test_samples": settings["tests"], "keep_model": False},
                    "seeds": [seed],
                },
            )
