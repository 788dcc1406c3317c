"""What is asked for, as configurations: every default written out, the seed and the versions of the numbers with it.

One step of a model on a task before anything is trained or sent to a worker, so that what cannot be ends in words.

The network is built without memory for its weights, and shown shapes alone. Where that works and it is small, or where
that does not work, it is built for real and shown two examples: what a network does with numbers (look them up in a
table, say) is not seen in shapes.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.base.errors import RecombineError, SettingError
from recombine_lab.base.catalogue import Spec, settings_of
from recombine_lab.base.source_versions import TRUSTED, places_in
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model, wrap
from recombine_lab.runs.run import Configuration
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import SPLITS, HeldOut, Source, split_of, split_spec
from recombine_lab.tasks.task import Batch, Shapes, Task
from recombine_lab.training.losses import Loss, answers, loss_of
from recombine_lab.training.member import Job
from recombine_lab.training.recipe import TRAINING_NUMERICS, Recipe, recipe_of

Recipes = Recipe | Mapping[str, Any] | Sequence[Recipe | Mapping[str, Any]]
Seeds = int | Sequence[int] | npt.NDArray[np.integer[Any]]
MOST_RUNS = 1_000_000
"""A run's configuration takes 2 kB (measured): a million of them are listed in 2 GB."""


def numerics(task: Spec, split: Spec, model: Spec) -> str:
    """Which numbers a run would get: the version of each part that produces them, raised by hand where they change.

    It is part of a run's key, so that a store never takes numbers of an older formula for those of today.

    >>> numerics({"name": "bumps"}, {"name": "stripes", "base": {"name": "donut"}}, {"name": "mlp"})
    'task 1, split 1+1, model 1, training 1'
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
    built_task = TASKS.build(task) if isinstance(task, str | Mapping) else _check_kind(task, Task, "task", "sprites")
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
        return describe_thing(shown)
    return found


def describe_thing(thing: Any) -> dict[str, Any]:
    """Something of the user's own: where it is defined, and its settings as they are written.

    >>> from recombine_lab.tasks.task import Range
    >>> describe_thing(Range("x", bins=2))["bins"]
    '2'
    """
    name = {"name": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    if not is_dataclass(thing):
        return name | {"repr": _repr_of(thing)}
    return name | {written: _repr_of(getattr(thing, own)) for written, own in settings_of(type(thing)).items()}


def _repr_of(value: Any) -> str:
    """As it is written, without the place in memory, which is another one in each process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _model(model: Any) -> Model:
    """A model from a name, a spec, a model, or a network's own class."""
    if isinstance(model, str | Mapping):
        made: Model = MODELS.build(model)
        return made
    if isinstance(model, nn.Module) or (callable(model) and not isinstance(model, Model)):
        return wrap(model)
    checked: Model = _check_kind(model, Model, "model", "mlp")
    return checked


def _check_kind(thing: Any, kind: type, word: str, example: str) -> Any:
    if isinstance(thing, kind):
        return thing
    raise SettingError(
        f"{thing!r} is not a {word}",
        why=f"a {word} is a name, a mapping with a name and settings, or a {kind.__name__} of recombine",
        instead=f"write for example {example!r}",
    )


def seeds_of(seeds: Any) -> tuple[int, ...]:
    """Seeds as they were listed; a number stands for the first so many.

    >>> seeds_of(3), seeds_of(np.arange(2)), seeds_of([7])
    ((0, 1, 2), (0, 1), (7,))
    """
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        seeds = range(min(int(seeds), sys.maxsize))
    if hasattr(seeds, "__len__") and len(seeds) > MOST_RUNS:
        raise SettingError(
            f"{len(seeds):,} seeds",
            why=f"each seed is a run, and one call takes at most {MOST_RUNS:,}",
            instead="write fewer seeds, or call it several times with other ones; a store keeps them together",
        )
    listed = isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str)
    numbers = tuple(seeds) if listed and np.ndim(seeds) == 1 else ()
    if not numbers or any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0 for s in numbers):
        raise SettingError(
            f"seeds={seeds!r}",
            why="seeds are counted, or listed as whole numbers: each a whole number from 0 on, and at least one run",
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


_SMALL = 20_000_000  # weights, 80 MB: that much is spared on any machine that starts a training
_EXAMPLES = 2


def two_examples(task: Task, source: Source) -> Batch:
    """Two training examples."""
    return task.render(source.draw(_EXAMPLES, seed=0), seed=0, part="train")


def try_model(model: Model, shapes: Shapes, batch: Batch, recipe: Recipe) -> None:
    """Ask a model about a few examples; what does not fit is a `SettingError`."""
    loss = loss_of(recipe, shapes)
    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                small = (
                    _ask_model(model, shapes, Batch(batch.inputs.to("meta"), batch.targets.to("meta")), loss) <= _SMALL
                )
        except RecombineError:
            raise
        except Exception:  # noqa: BLE001 - a network may need numbers, which shapes have not
            small = True
        if small:
            _try_with_numbers(model, shapes, batch, loss)


def _try_with_numbers(model: Model, shapes: Shapes, batch: Batch, loss: Loss) -> None:
    try:
        _ask_model(model, shapes, batch, loss)
    except RecombineError:
        raise
    except Exception as error:
        raise SettingError(
            f"{_model_name(model)} cannot serve this task: it gives inputs {shapes.inputs}, outputs {shapes.outputs},"
            f" kind {shapes.kind!r}",
            why=f"shown two examples, it raised {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
            if str(error).strip()
            else f"shown two examples, it raised {type(error).__name__}",
            instead=f"let it take {_describe_inputs(batch.inputs)}, and give {_wanted_answers(shapes)}",
        ) from error


def _ask_model(model: Model, shapes: Shapes, batch: Batch, loss: Loss) -> int:
    """Build and ask; how many weights there are."""
    module = model.start(shapes, seed=0).train()
    said = answers(module, batch, shapes)
    _check_answers(model, module, shapes, said)
    loss(said.float(), batch.targets)
    return sum(weight.numel() for weight in module.parameters())


def _check_answers(model: Model, module: nn.Module, shapes: Shapes, said: Tensor) -> None:
    given = tuple(said.shape[1:])
    if shapes.kind == "classes" and given != shapes.outputs[:1]:
        raise SettingError(
            f"{_model_name(model)} gives {given} for each example, and this task has {shapes.outputs[0]} classes",
            why="a class is chosen by the largest of its scores, one for each class",
            instead=f"let it give {shapes.outputs[0]} numbers for each example",
        )
    if shapes.kind != "tokens":
        return
    tokens = shapes.vocabularies[1] if shapes.vocabularies else None
    if len(given) != 2 or (tokens is not None and given[1] != tokens):
        raise SettingError(
            f"{_model_name(model)} gives {given} for each example",
            why=f"each token of an answer is chosen among {tokens} by its score",
            instead=f"called with (inputs, targets), let it give (length of the targets, {tokens}) for each example",
        )
    if not callable(getattr(module, "answer", None)):
        raise SettingError(
            f"{_model_name(model)} has no method `answer`",
            why="a model of sentences is asked what it would say by itself, without being told the words before",
            instead="write answer(inputs, length), which gives the tokens (n, length)",
        )


def _model_name(model: Model) -> str:
    named = getattr(model, "adapted", type(model))
    return str(getattr(named, "__qualname__", named))


def _describe_inputs(inputs: Tensor) -> str:
    kind = "numbers" if inputs.is_floating_point() else "whole numbers (tokens)"
    return f"{kind} of shape (n, {', '.join(map(str, inputs.shape[1:]))})"


def _wanted_answers(shapes: Shapes) -> str:
    if shapes.kind == "classes":
        return f"(n, {shapes.outputs[0]}), a score for each class"
    if shapes.kind == "values":
        return f"(n, {', '.join(map(str, shapes.outputs))})"
    return "the scores of each next token, (n, length, tokens)"
