"""What is asked for, as configurations: every default written out, the seed and the versions of the numbers with it."""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from recombine.errors import SettingError
from recombine_lab.base.catalogue import Spec, settings_of
from recombine_lab.base.source_versions import TRUSTED, places_in
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model
from recombine_lab.models.own import wrap
from recombine_lab.runs.run import Configuration
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import HeldOut
from recombine_lab.tasks.splits import SPLITS, split_of, split_spec
from recombine_lab.tasks.task import Task
from recombine_lab.training.member import Job
from recombine_lab.training.recipe import TRAINING_NUMERICS, Recipe, recipe_of

Recipes = Recipe | Mapping[str, Any] | Sequence[Recipe | Mapping[str, Any]]
Seeds = int | Sequence[int] | npt.NDArray[np.integer[Any]]
MOST_RUNS = 1_000_000
"""A run's configuration takes 2 kB (measured): a million of them are listed in 2 GB."""


def numerics(task: Spec, split: Spec, model: Spec) -> str:
    """Which numbers a run would get: the version of each part that produces them, raised by hand where they change.

    It is part of a run's key, so that a store never takes numbers of an older formula for those of today.

    >>> numerics({"name": "addition"}, {"name": "own"}, {"name": "odd_one_out", "backbone": {"name": "mlp"}})
    'task 1, split 1, model 1+1, training 1'
    """
    parts = (("task", TASKS, task), ("split", SPLITS, split), ("model", MODELS, model))
    versions = [f"{word} {catalogue.numerics_version(spec)}" for word, catalogue, spec in parts]
    return ", ".join([*versions, f"training {TRAINING_NUMERICS}"])


def configurations(
    task: Task | str | Spec, split: Any, model: Model | str | Spec, recipe: Recipes, seeds: Seeds
) -> list[Configuration]:
    """The runs of a task, a split, a model, a recipe or several, and seeds; in order of recipe, then seed.

    >>> runs = configurations("addition", "hold_out_combinations", "mlp", {"steps": 10}, seeds=(0, 1))
    >>> runs[1].seed, runs[1].recipe["optimiser"], runs[1].model["activation"]
    (1, 'adam', 'relu')
    """
    return [job.configuration for job in jobs(task, split, model, recipe, seeds, named=True)]


def jobs(task: Any, split: Any, model: Any, recipe: Recipes, seeds: Seeds, *, named: bool) -> list[Job]:
    """Like `configurations`, with the built objects; where `named` is false, also those that no catalogue has."""
    recipes = [recipe_of(recipe)] if isinstance(recipe, Recipe | Mapping) else [recipe_of(one) for one in recipe]
    if not recipes:
        raise SettingError("no recipe", why="a run is trained by a recipe", instead="write {steps: 1000}")
    numbers = seeds_of(seeds)
    built_task = TASKS.build(task) if isinstance(task, str | Mapping) else _checked(task, Task, "task", "sprites")
    exposure = split_of(split, built_task)
    built_model = _model(model)
    own_split = exposure.splitter if isinstance(exposure, HeldOut) else exposure
    specs = {
        "task": _spec(TASKS.spec, built_task, built_task, named=named),
        "split": _spec(split_spec, exposure, own_split, named=named),
        "model": _spec(MODELS.spec, built_model, built_model, named=named),
    }
    TRUSTED.update(places_in(specs))
    code = numerics(**specs)
    return [
        Job(
            configuration=Configuration(**specs, recipe=one.plain(), seed=seed, code=code),
            task=built_task,
            exposure=exposure,
            model=built_model,
            recipe=one,
        )
        for one in recipes
        for seed in numbers
    ]


def _spec(of: Any, thing: Any, shown: Any, *, named: bool) -> dict[str, Any]:
    try:
        found: dict[str, Any] = of(thing)
    except SettingError:
        if named:
            raise
        return described(shown)
    return found


def described(thing: Any) -> dict[str, Any]:
    """Something of the user's own: where it is defined, and its settings as they are written.

    >>> from recombine_lab.tasks.task import Range
    >>> described(Range("x", bins=2))["bins"]
    '2'
    """
    name = {"name": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    if not is_dataclass(thing):
        return name | {"repr": _shown(thing)}
    return name | {written: _shown(getattr(thing, own)) for written, own in settings_of(type(thing)).items()}


def _shown(value: Any) -> str:
    """As it is written, without the place in memory, which is another one in each process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _model(given: Any) -> Model:
    """A model from a name, a spec, a model, or a network's own class."""
    if isinstance(given, str | Mapping):
        made: Model = MODELS.build(given)
        return made
    if isinstance(given, nn.Module) or (callable(given) and not isinstance(given, Model)):
        return wrap(given)
    checked: Model = _checked(given, Model, "model", "mlp")
    return checked


def _checked(thing: Any, kind: type, word: str, example: str) -> Any:
    if isinstance(thing, kind):
        return thing
    raise SettingError(
        f"{thing!r} is not a {word}",
        why=f"a {word} is a name, a mapping with a name and settings, or a {kind.__name__} of recombine",
        instead=f"write for example {example!r}",
    )


def seeds_of(given: Any) -> tuple[int, ...]:
    """Seeds as they were listed; a number stands for the first so many.

    >>> seeds_of(3), seeds_of(np.arange(2)), seeds_of([7])
    ((0, 1, 2), (0, 1), (7,))
    """
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        given = range(min(int(given), sys.maxsize))
    if hasattr(given, "__len__") and len(given) > MOST_RUNS:
        raise SettingError(
            f"{len(given):,} seeds",
            why=f"each seed is a run, and {MOST_RUNS:,} are the most for one call",
            instead="write fewer seeds, or call it several times with other ones; a store keeps them together",
        )
    listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    numbers = tuple(given) if listed and np.ndim(given) == 1 else ()
    if not numbers or any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0 for s in numbers):
        raise SettingError(
            f"seeds={given!r}",
            why="each run has a seed, a whole number from 0 on, and there is at least one run",
            instead="write seeds=(0, 1, 2), or seeds=3 for the same",
        )
    seed, times = Counter(map(int, numbers)).most_common(1)[0]
    if times > 1:
        raise SettingError(
            f"the seed {seed} is listed {times} times",
            why="the same seed gives the same run again",
            instead="write each seed once",
        )
    return tuple(map(int, numbers))
