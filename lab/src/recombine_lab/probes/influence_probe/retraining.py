"""The truth that influence is held against: networks trained again without each combination, as one batched `fit`.

All begin with the same weights and take all rows at every step, so that nothing but the combination differs.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.models.model import Model
from recombine_lab.probes.influence_probe.module_answers import Floats, Network, loss_of
from recombine_lab.probes.influence_probe.probe_examples import ProbeExamples, combinations_of
from recombine_lab.runs.run import Run
from recombine_lab.tasks.exposure import Exposure, FiniteSource, Parts, split_of
from recombine_lab.tasks.task import Part, Shapes, Task
from recombine_lab.training.fit import fit


@dataclass(frozen=True, eq=False)
class LeftOutRuns:
    """The run with every combination, its start, its examples, and what leaving each one out did.

    `change` (U, G) is how the loss of each unseen combination changed without each seen one, in the order of `taught`.
    """

    run: Run
    start: nn.Module
    seen: ProbeExamples
    unseen: ProbeExamples
    change: Floats


def left_out(task: Task, split: Any, model: Model, recipe: dict[str, Any], *, start: int = 0) -> LeftOutRuns:
    """Train a model once with every combination of a split and once without each, from one start.

    >>> from recombine_lab.models import MLP
    >>> from recombine_lab.tasks import Addition
    >>> found = left_out(Addition(values=3), "own", MLP(hidden=(4,)), {"steps": 3})
    >>> found.change.shape
    (4, 5)
    """
    base = split_of(split, task)
    parts = base.parts(task, seed=0)
    shown, asked = parts.train.every(), parts.tests["unseen"].every()
    if shown is None or asked is None:
        raise SettingError(
            f"{type(task).__name__} cannot be gone over combination by combination",
            why="its examples are points that are drawn, not listed",
            instead="take a task whose combinations are one example each",
        )
    whole = {"samples": "every", "batch": None, "evaluations": 1, "together": "always", **recipe}
    many = len(shown) + 1
    runs = fit(task, _Without(base, many), _SameStart(base=model, seed=start), whole, seeds=many, progress=None)
    seen, unseen = _examples(task, shown, "train"), _examples(task, asked, "test")
    losses = np.stack([_losses(run.module(), unseen) for run in runs], axis=1)
    order = [np.argsort(combinations_of(rows.table, rows.table.column_names)[0]) for rows in (unseen, seen)]
    change = (losses[:, 1:] - losses[:, :1])[np.ix_(*order)]
    return LeftOutRuns(runs[0], model.start(task.shapes, seed=start), seen, unseen, change)


@dataclass(frozen=True, kw_only=True)
class _SameStart(Model):
    """A model that begins with the same weights whatever the run's seed is."""

    base: Model
    seed: int

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        return self.base.start(shapes, seed=self.seed)


@dataclass(frozen=True, eq=False)
class _Without(Exposure):
    """A split without one training combination: run k leaves out the kth, run 0 none."""

    base: Exposure
    most: int

    @final
    def parts(self, task: Task, *, seed: int) -> Parts:
        number = {derived(run, "split"): run for run in range(self.most)}[seed]
        parts = self.base.parts(task, seed=0)
        shown = parts.train.every()
        assert shown is not None  # noqa: S101 - the caller has looked
        kept = [k for k in range(len(shown)) if k != number - 1]
        return Parts(FiniteSource(shown[kept]), parts.tests)


def _examples(task: Task, latents: Tensor, part: Part) -> ProbeExamples:
    batch = task.render(latents, seed=0, part=part)
    return ProbeExamples(
        batch.inputs, batch.targets, task.table(task.combinations(latents)).select(list(task.space.names))
    )


def _losses(module: nn.Module, rows: ProbeExamples) -> Floats:
    with torch.no_grad():
        found = loss_of("auto", rows.targets).value(Network.of(module).outputs(rows.inputs), rows.targets)
    return np.asarray(found.numpy())
