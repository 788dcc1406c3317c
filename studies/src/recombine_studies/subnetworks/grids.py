"""The networks of the study: what is trained from scratch (grids), and what is pretrained without labels first (steps).

A pretrained network goes on with the very configuration of a run from scratch: the same task, examples, recipe and
seed, from other weights. So the two are compared pair by pair.

The settings of the study: smoke for CI, small for one machine, paper as published.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from recombine.base.errors import RecordError
from recombine.base.seeds import derived
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.training.fit import fit
from recombine_lab.training.pack import job_of
from recombine_studies.rows import Row
from recombine_studies.study import Bench, Evidence, Settings
from recombine_studies.tasks.agreement import TEMPLATES, Agreement
from recombine_studies.tasks.odd_one_out import ITEMS, OddOneOutTask
from recombine_studies.tasks.pretraining import contrastive, masked_tokens

SCENES, VIT, SENTENCES, QUESTIONS = "scenes", "scenes, ViT", "sentences", "two questions"
SCRATCH, PRETRAINED = "from scratch", "pretrained"
_WEIGHTS = "measured/subnetworks/weights"


def grids(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """What is trained from scratch."""
    scenes = {"name": "relations", "rule": {"each": settings["rules"]}, "size": settings["size"]}
    pair = {"name": "agreement", "pair": {"each": settings["pairs"]}, "number": {"each": settings["numbers"]}}
    sentences = pair | {"length": settings["length"]}
    return {
        SCENES: _grid(settings, scenes, "resnet", "scene_width", "scene_recipe"),
        VIT: _grid(settings, scenes, "vit", "scene_width", "vit_recipe"),
        SENTENCES: _grid(settings, sentences, "transformer", "sentence_width", "sentence_recipe"),
        QUESTIONS: {
            "tasks": {"name": "two_questions", "noise": settings["noise"]},
            "splits": {
                "name": "hold_out_combinations",
                "factors": ["first", "second"],
                "test_size": {"each": settings["held_out"]},
                "n_splits": 1,
            },
            "models": settings["question_models"],
            "recipes": settings["question_recipe"],
            "seeds": settings["question_seeds"],
        },
    }


def _grid(settings: Settings, tasks: Any, backbone: str, width: str, recipe: str) -> Mapping[str, Any]:
    model = {"name": "odd_one_out", "backbone": settings[backbone], "width": settings[width]}
    return {
        "tasks": tasks,
        "splits": "own",
        "models": model,
        "recipes": settings[recipe],
        "seeds": settings["seeds"],
    }


def named(row: Row) -> dict[str, Any]:
    """How a run of scenes or sentences is called in tables: its kind, its task, its seed."""
    rule = row.get("task.rule") or f"{row['task.pair']}, {row['task.number']}"
    return {"kind": row["grid"], "task": str(rule).replace("_", " "), "seed": int(row["seed"])}


def pretraining_items(evidence: Evidence) -> Sequence[Row]:
    """One for each kind of network and seed that is pretrained; pictures of all rules, sentences of one pair."""
    items = []
    for row in _pretrained(evidence):
        kind, of, seed = _pretraining_of(row, evidence.settings)
        text = json.dumps(dict(evidence.settings["pretraining"][kind]), sort_keys=True)
        items.append({"kind": kind, "of": of, "seed": seed, "key": row["key"], "settings": text})
    # Runs that share their pretraining are listed once: by the first of them, whose network it is built for.
    return list({(item["kind"], item["of"], item["seed"]): item for item in reversed(items)}.values())[::-1]


def _pretraining_of(row: Row, settings: Settings) -> tuple[str, str, int]:
    """Which pretraining a run starts from: pictures of all rules or sentences of its pair, and a seed."""
    kind = str(row["grid"])
    of = str(row["task.pair"]) if kind == SENTENCES else "all rules"
    return kind, of, int(row["seed"]) % int(settings["pretrainings"][kind])


def _pretrained(evidence: Evidence) -> list[Row]:
    rules = evidence.settings["pretrained_rules"]
    return [
        row
        for row in evidence.runs
        if row["grid"] == SENTENCES or (row["grid"] == SCENES and row["task.rule"] in rules)
    ]


def pretrain(item: Row, bench: Bench) -> Sequence[Row]:
    """Pretrain a network, and keep its weights."""
    job, asked = job_of(bench.run(item["key"])), json.loads(item["settings"])
    task: Any = job.task
    examples, seed = asked.pop("examples"), derived(item["seed"], "pretraining")
    module: nn.Module = job.model.start(task.shapes, seed=seed)
    if isinstance(task, Agreement):
        rows = grammatical(task, examples, seed=seed)
        losses = masked_tokens(module.get_submodule("backbone"), rows, seed=seed, **asked)  # type: ignore[arg-type]
    else:
        losses = contrastive(module.get_submodule("backbone"), scenes(task, examples, seed=seed), seed=seed, **asked)
    tenth = max(1, len(losses) // 10)
    first, last = float(np.mean(losses[:tenth])), float(np.mean(losses[-tenth:]))
    return [{"weights": keep(bench, module.state_dict(), item), "loss at first": first, "loss at last": last}]


def grammatical(task: Agreement, count: int, *, seed: int) -> Tensor:
    """Sentences that agree, singular and plural ones, of all constructions, from the training pool."""
    rng = torch.Generator().manual_seed(seed)
    halves = []
    for number in ("singular", "plural"):
        own = Agreement(pair=task.pair, number=number, length=task.length)
        further = torch.randint(len(TEMPLATES[task.pair]), (-(-count // (2 * ITEMS)), 1), generator=rng)
        kept = torch.ones(len(further), ITEMS, 2, dtype=torch.bool)
        halves.append(own.items(kept, further, seed=derived(seed, number), part="train").flatten(0, 1))
    return torch.cat(halves)


def scenes(task: Any, count: int, *, seed: int) -> Tensor:
    """Pictures of the base sets of all rules; without a label, what they keep or break is not told."""
    rules = ("inside_contact", "inside_number", "contact_number")
    found = []
    for rule in rules:
        own = TASKS.build({"name": "relations", "rule": rule, "size": task.size})
        drawn, _ = problems(own, "base", -(-count // (len(rules) * ITEMS)), seed=seed, part="train")
        found.append(drawn.flatten(0, 1))
    return torch.cat(found)


def problems(task: OddOneOutTask, which: str, count: int, *, seed: int, part: Any) -> tuple[Tensor, Tensor]:
    """Problems of one of the sets of a task, drawn evenly."""
    own = TASKS.build(TASKS.spec(task) | {"set": which})
    every = own.every()
    drawn = np.random.default_rng(derived(seed, which, part)).integers(len(every), size=count)
    batch = own.tensors(every[drawn], seed=derived(seed, "problems"), part=part)
    return batch.inputs, batch.targets


def tuning_items(evidence: Evidence) -> Sequence[Row]:
    """Every run that has a pretrained partner, with the weights that it starts from."""
    there = {(row["kind"], row["of"], row["seed"]): row["weights"] for row in evidence.of("pretraining")}
    items = []
    for row in _pretrained(evidence):
        weights = there.get(_pretraining_of(row, evidence.settings))
        if weights is not None:
            items.append({**named(row), "key": row["key"], "weights": weights})
    return items


def tune(item: Row, bench: Bench) -> Sequence[Row]:
    """The run's own configuration, from pretrained weights."""
    job, start = job_of(bench.run(item["key"])), kept_weights(bench, item["weights"])
    seeds = [job.configuration.seed]
    (run,) = fit(job.task, job.exposure, job.model, job.recipe, seeds=seeds, progress=None, weights=start)
    scores = {name: value for name, value in run.metrics.items() if name.endswith("score")}
    return [{"status": run.status, "tuned": keep(bench, run.module().state_dict(), item), **scores}]


def keep(bench: Bench, state: Mapping[str, Tensor], item: Row) -> str:
    """Weights written beside the runs; where they lie."""
    name = f"{derived(0, json.dumps(dict(item), sort_keys=True)):016x}"
    place = f"{_WEIGHTS}/{name}.safetensors"
    bench.store.files.write(place, bytes_of({key: value.contiguous() for key, value in state.items()}))
    return place


def kept_weights(bench: Bench, name: Any) -> dict[str, Tensor]:
    """Weights that a step kept, under the name that its measurement says: a file of the store, or words."""
    try:
        return tensors_of(bench.store.files.read(str(name)))
    except (OSError, SafetensorError) as error:
        raise RecordError(
            f"the weights {str(name)!r}, named by a measurement in '{bench.place}', cannot be read",
            why=getattr(error, "strerror", None) or str(error),
            instead="remove the folder 'measured' of that store, and run the study again",
        ) from error


_RESNET = {"name": "resnet", "blocks": [1, 1, 1], "channels": [8, 16, 32], "norm": "instance"}
_VIT = {"name": "vit", "patch": 8, "width": 32, "heads": 4, "depth": 2, "inner": 64, "dropout": 0.0}
_TRANSFORMER = {"name": "transformer", "width": 64, "heads": 4, "layers": 2, "inner": 128}
_SCENE_RECIPE = {"batch": 16, "samples": 1500, "evaluations": 3, "test_samples": 150, "schedule": "cosine"}
_SENTENCE_RECIPE = {"steps": 600, "lr": 1e-3, "batch": 32, "samples": 4000, "evaluations": 3, "test_samples": 400}
_QUESTION_MODELS = (
    {"name": "mlp", "hidden": {"each": [[16], [64], [32, 32]]}},
    {"name": "transformer", "width": 16, "heads": 2, "layers": 1, "inner": 32},
)

_ESTIMATORS = ["continuous", "hard concrete", "gradient"]
_QUICKLY: Mapping[str, Any] = {
    "estimator": _ESTIMATORS,
    "steps": 40,
    "rates": {"continuous": [0.1], "hard concrete": [0.3]},
    "penalties": [0.03, 0.1],
    "seeds": 3,
}
"""The smallest budget at which planted parts are found by all three (`benchmarks/planted_sentences.py`). Scores of hard
concrete begin at 2 and have further to go, so that their rate is larger."""
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
    "sentence_width": 64,
    "sentence_recipe": _SENTENCE_RECIPE,
    "pretrained_rules": [],
    "pretrainings": {SCENES: 1, SENTENCES: 3},
    "pretraining": {
        SCENES: {"steps": 150, "batch": 32, "lr": 2e-3, "temperature": 0.1, "examples": 2400},
        SENTENCES: {"steps": 400, "batch": 64, "lr": 1e-3, "examples": 8000},
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
        SCENES: {**_QUICKLY, "steps": 25, "batch_size": 8, "problems": 300, "tests": 120},
        SENTENCES: {**_QUICKLY, "batch_size": 16, "problems": 800, "tests": 200},
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
    "search": {
        SCENES: {**_TINY, "steps": 4},
        SENTENCES: {**_TINY, "steps": 4, "estimator": ["continuous", "gradient"]},
        QUESTIONS: {**_TINY, "steps": 4},
    },
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
    # Nine networks of published size, a gradient of every problem for each, would take half an hour: the control is
    # tried by the smaller presets.
    "search": {
        kind: {**_TINY, "problems": 10, "tests": 6, "steps": 2, "controls": ["random"]}
        for kind in (SCENES, SENTENCES, QUESTIONS)
    },
}
"""Two updates of everything, on a few examples; networks that answer nothing rightly are looked into too."""
