"""Whether the parts of a grid go together, tried before anything is trained."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from recombine.errors import RecombineError, SettingError
from recombine.lab.models.catalogue import MODELS
from recombine.lab.runs.run import Configuration
from recombine.lab.tasks.catalogue import TASKS
from recombine.lab.tasks.exposure import Parts
from recombine.lab.training.configurations import split_of

_T = TypeVar("_T")
Where = Callable[[str, Any], str]
"""Where in the file a part of a run stands: `'models', entry 2`, of the name of the field and the part."""


def try_all(runs: Sequence[Configuration], where: Where) -> None:
    """Try each split and each model once on each task that it is to meet; the first that does not fit is told.

    A split is made, and one example of the task drawn, so that data that are missing are told too. A model is built
    without memory for its weights.
    """
    tasks: dict[str, Any] = {}
    tried: set[tuple[str, str, str]] = set()
    for run in runs:
        on = json.dumps(run.task)
        new = on not in tasks
        task = tasks[on] if on in tasks else tasks.setdefault(on, TASKS.build(run.task))
        here = where("tasks", run.task)
        if (split := (on, "split", json.dumps(run.split))) not in tried:
            parts = _tried(partial(_parts, run.split, task), f"{where('splits', run.split)} on {here}")
            if new:
                _tried(partial(_example, parts, task), here)
        if (model := (on, "model", json.dumps(run.model))) not in tried:
            _tried(partial(_build, run.model, task), f"{where('models', run.model)} on {here}")
        tried |= {split, model}


def _tried(attempt: Callable[[], _T], place: str) -> _T:
    try:
        return attempt()
    except RecombineError as error:
        raise type(error)(f"{place}: {error.what}", why=error.why, instead=error.instead) from error
    except Exception as error:
        raise SettingError(
            f"{place}: it cannot be made",
            why=f"{type(error).__name__}: {error}",
            instead="change its settings, or leave the pair out with a rule under skip",
        ) from error


def _parts(split: Any, task: Any) -> Parts:
    return split_of(split, task).parts(task, seed=0)


def _example(parts: Parts, task: Any) -> None:
    task.render(parts.train.draw(1, seed=0), seed=0, part="train")


def _build(model: Any, task: Any) -> None:
    with torch.device("meta"):
        MODELS.build(model).start(task.shapes, seed=0)
