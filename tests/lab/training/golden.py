"""Golden numbers of everything that produces numbers: each task, split and model of the catalogues, and training.

A stored run is found by the numerics versions of its parts, which are raised by hand. `test_numerics.py` compares these
numbers with those of the version that `golden.json` names, so that a change of numbers cannot slip in under an old
version. After raising a version:

    python -m tests.lab.training.golden
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recombine_lab.base.catalogue import Catalogue
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model
from recombine_lab.models.sequences import LSTMSeq2Seq, Transformer, TransformerSeq2Seq
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import SPLITS, split_of
from recombine_lab.tasks.table_task import TableTask
from recombine_lab.tasks.task import Shapes
from recombine_lab.training.fit import fit
from recombine_lab.training.recipe import TRAINING_NUMERICS
from recombine_studies.tasks.odd_one_out_model import OddOneOut
from tests.lab.models import cases

FILE = Path(__file__).with_name("golden.json")
Numbers = list[float]

_NEED_FILES = {"cogs", "scan"}
_SETTINGS: dict[str, dict[str, Any]] = {
    "agreement": {"pair": "subject_verb"},
    "digit_pairs": {"images": "synthetic"},
    "from": {
        "source": {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "price": [1.0, 2.0, 4.0, 8.0]},
        "inputs": np.arange(12.0).reshape(4, 3),
        "factors": ("a", "b"),
        "target": "price",
    },
    "relations": {"rule": "inside_contact", "size": 32},
    "sprites": {"size": 16},
}
_SPLITS: dict[str, dict[str, Any]] = {
    "corner": {"at": 2},
    "diagonal": {"width": 0.4},
    "donut": {"hole": (-1, 1)},
    "hold_out_conjunctions": {"conjunctions": 4},
    "orthogonal_planes": {"through": [0, 0]},
    "stripes": {"base": {"name": "donut", "hole": (10, 17)}},
}
_SPLIT_TASK = {
    **{name: {"name": "sprites", "size": 16} for name in ("diagonal_band", "orthogonal", "random")},
    "stripes": {"name": "bumps"},
}
_MORE_MODELS: dict[str, cases.Case] = {
    "odd_one_out": (
        OddOneOut(backbone={"name": "mlp", "hidden": [16]}, width=6),
        Shapes(inputs=(4, 5), outputs=(4,), kind="classes"),
    ),
    "transformer": (Transformer(width=16, heads=2, layers=1, inner=32), cases.SUMS),
    "lstm_seq2seq": (LSTMSeq2Seq(), cases.WORDS),
    "transformer_seq2seq": (TransformerSeq2Seq(width=16, heads=2, layers=1, inner=32), cases.WORDS),
}


@dataclass(frozen=True)
class Part:
    """Something that produces numbers: which version of them it claims to give, and how to get them."""

    kind: str
    name: str
    version: int
    numbers: Callable[[], Numbers]
    needs_files: bool = False


def parts() -> list[Part]:
    """Every entry of the catalogues, models in each of their shapes, and training."""
    tasks = [
        Part("task", name, _version(TASKS, name), partial(of_task, name), name in _NEED_FILES) for name in TASKS.names()
    ]
    splits = [Part("split", name, _version(SPLITS, name), partial(of_split, name)) for name in SPLITS.names()]
    built = [(title, *case) for title, case in (cases.ALL | _MORE_MODELS).items()]
    models = [
        Part("model", title, _version(MODELS, MODELS.spec(model)["name"]), partial(of_model, model, shapes))
        for title, model, shapes in built
    ]
    ways = [Part("training", way, TRAINING_NUMERICS, partial(of_training, way)) for way in ("never", "always")]
    return [*tasks, *splits, *models, *ways]


def of_task(name: str) -> Numbers:
    """What a task draws for a few of its combinations."""
    task = TASKS.build({"name": name} | _SETTINGS.get(name, {})) if name != "from" else TableTask(**_SETTINGS[name])
    few = task.every()[:: max(len(task.every()) // 7, 1)][:7]
    batch = task.tensors(few, seed=3)
    return [*told(batch.inputs), *told(batch.targets)]


def of_split(name: str) -> Numbers:
    """What a split shows of a task, and what it asks."""
    task = TASKS.build(_SPLIT_TASK.get(name, {"name": "addition"}))
    shown = split_of({"name": name} | _SPLITS.get(name, {}), task).parts(task, seed=3)
    return [number for source in (shown.train, *shown.tests.values()) for number in told(source.draw(20, seed=5))]


def of_model(model: Model, shapes: Shapes) -> Numbers:
    """What a new network answers."""
    module = model.start(shapes, seed=3).eval()
    if shapes.kind != "tokens":
        return told(module(cases.inputs(shapes)))
    words = torch.arange(2, 2 + shapes.inputs[0]).expand(3, -1)
    return told(module(words, torch.ones(3, 4, dtype=torch.long)))


def of_training(way: str) -> Numbers:
    """How two short runs end."""
    recipe = {"steps": 12, "lr": 0.01, "batch": 8, "evaluations": 3, "schedule": "cosine", "together": way}
    split = {"name": "hold_out_combinations", "test_size": 0.25}
    runs = fit("addition", split, {"name": "mlp", "hidden": [8]}, recipe, seeds=(0, 1), progress=None)
    return [round(value, 10) for run in runs for _, value in sorted(run.metrics.items()) if value is not None]


def told(values: Tensor) -> Numbers:
    """Numbers that change when any of the values does: their sum, a sum with uneven weights, how many there are."""
    flat = values.detach().to(torch.float64).flatten()
    weights = torch.cos(torch.arange(len(flat), dtype=torch.float64))
    return [round(float(number), 10) for number in (flat.sum(), flat @ weights, len(flat))]


def _version(catalogue: Catalogue, name: str) -> int:
    return int(catalogue.numerics_version({"name": name}))


def main() -> None:
    """Write the golden numbers of today."""
    found: dict[str, dict[str, Any]] = {}
    for part in parts():
        found.setdefault(part.kind, {})[part.name] = {"version": part.version, "numbers": part.numbers()}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
