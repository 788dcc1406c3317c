"""Fit a model to a task: the verb that a researcher uses."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine_lab.base.catalogue import Spec
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Run
from recombine_lab.runs.store import Store
from recombine_lab.tasks.task import Task
from recombine_lab.training.checkpoints import RunStore
from recombine_lab.training.configurations import Recipes, Seeds, jobs, try_model, two_examples
from recombine_lab.training.loop import Callback, TrainingContext, terminating_as_interrupt
from recombine_lab.training.member import Job, Member
from recombine_lab.training.pack import train_jobs
from recombine_lab.training.progress_bar import count_steps, progress_bar


def fit(  # noqa: PLR0913 - each is one plain question, and most have an answer already
    task: Task | str | Spec,
    split: Any,
    model: Model | str | Spec,
    recipe: Recipes,
    *,
    seeds: Seeds = (0,),
    store: RunStore | str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: Progress | None = progress_bar,
    checkpoint_every: int | None = None,
    weights: Mapping[str, Tensor] | None = None,
) -> tuple[Run, ...]:
    """Train a model on what a split shows of a task, and ask it about what was held out.

    Task, split and model are objects, names, or mappings of a name and settings; one of the user's own is its class, or
    `package.module:Class`. The recipe is one, or several of one shape. Seeds are listed, or a number stands for the
    first so many. Runs come in order of recipe, then seed. Before anything is trained the model is asked about two
    examples, so that what does not fit is told in words.

    With a store (opened, or its folder or URL), runs that it holds are not trained again, and an interrupted call is
    taken up where it stood: Ctrl-C, and SIGTERM, which Slurm and Kubernetes send, wait for the end of the step and save
    it; `checkpoint_every` says after how many steps a state is saved else, and without it that is done now and then.

    `progress` is told a text and the share that is done, a few times a second, and draws a bar by default; None is
    silent.

    `weights` is where training starts, in place of each seed's own initial weights: a state dict of this very model, or
    a part of one (from pretraining, for example). A run's address does not say so, and no store takes such runs.

    >>> recipe = {"steps": 20, "lr": 0.01, "samples": "every"}
    >>> runs = fit("addition", {"name": "hold_out_combinations"}, {"name": "mlp", "hidden": [8]}, recipe, seeds=(0, 1))
    >>> [run.status for run in runs]
    ['finished', 'finished']
    """
    kept = _open_store(store)
    _check_start(weights, kept)
    made = jobs(task, split, model, recipe, seeds, named=kept is not None)
    made = [replace(job, weights=weights) for job in made]
    _try(made, kept)
    total = sum(job.recipe.steps for job in made)
    text = f"training {len(made)} runs" if len(made) > 1 else "training"
    stops = terminating_as_interrupt() if kept is not None else nullcontext()
    with stops, count_steps(progress, text, total) as advance:
        context = TrainingContext(store=kept, callbacks=callbacks, checkpoint_every=checkpoint_every, advance=advance)
        return tuple(train_jobs(made, context))


def _try(made: Sequence[Job], store: RunStore | None) -> None:
    """The first run that is to be trained, tried: all have one task, one split and one model."""
    first = next((job for job in made if store is None or not store.has(job.configuration.key)), None)
    if first is not None:
        examples = two_examples(first.task, Member(first).parts.train)
        try_model(first.model, first.task.shapes, examples, first.recipe)


def _check_start(weights: Mapping[str, Tensor] | None, store: RunStore | None) -> None:
    if weights is not None and store is not None:
        raise SettingError(
            "weights with a store",
            why="a run is found by its settings, and these do not say which weights it started from",
            instead="leave the store out, and keep `run.module().state_dict()` yourself",
        )


def _open_store(store: Any) -> RunStore | None:
    """The store that was given, or that is in the place given."""
    if isinstance(store, str | Path):
        return Store.open(store)
    if store is None or isinstance(store, RunStore):
        return store
    raise SettingError(
        f"store={store!r}",
        why="a store is a folder, a URL, or a Store that was opened",
        instead="write for example store='runs'",
    )
