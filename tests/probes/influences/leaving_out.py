"""Networks trained again without each combination, as one batched `fit`: all from one start, on all rows at once."""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from recombine.lab import fit
from recombine.lab.models.model import Model
from recombine.lab.tasks.exposure import Exposure, FiniteSource, Parts
from recombine.lab.tasks.splits import split_of
from recombine.probes.influences.examples import Examples, combinations_of
from recombine.seeds import derived


@dataclass(frozen=True, kw_only=True)
class SameStart(Model):
    """A model that begins with the same weights whatever the run's seed is."""

    base: Model
    seed: int = 0

    def build(self, shapes):
        return self.base.start(shapes, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Without(Exposure):
    """A split without one training combination: run k leaves out the kth, run 0 none."""

    base: Exposure
    most: int

    def parts(self, task, *, seed):
        number = {derived(one, "split"): one for one in range(self.most + 1)}[seed]
        parts = self.base.parts(task, seed=0)
        shown = parts.train.every()
        kept = [k for k in range(len(shown)) if k != number - 1]
        return Parts(FiniteSource(shown[kept]), parts.tests)


def left_out_by_fit(task, split, model, recipe, start: int = 0):
    """The run with everything, its examples, and (unseen, seen) how the loss changes without each combination."""
    base = split_of(split, task)
    parts = base.parts(task, seed=0)
    shown, asked = parts.train.every(), parts.tests["unseen"].every()
    together = {"together": "always", **recipe}
    runs = fit(
        task,
        Without(base, len(shown)),
        SameStart(base=model, seed=start),
        together,
        seeds=len(shown) + 1,
        progress=False,
    )
    seen, unseen = (_examples(task, latents, part) for latents, part in ((shown, "train"), (asked, "test")))
    losses = np.stack([_losses(run.module(), unseen) for run in runs], axis=1)
    truth = losses[:, 1:] - losses[:, :1]
    places = [np.argsort(combinations_of(one.table, one.table.column_names)[0]) for one in (unseen, seen)]
    return runs[0], seen, unseen, truth[np.ix_(*places)]


def _examples(task, latents, part):
    batch = task.render(latents, seed=0, part=part)
    table = task.table(task.combinations(latents)).select(list(task.space.names))
    return Examples(batch.inputs, batch.targets, table)


def _losses(module, rows):
    with torch.no_grad():
        said = module(rows.inputs)
    if rows.targets.is_floating_point():
        return (said - rows.targets).square().mean(1).numpy()
    return functional.cross_entropy(said, rows.targets, reduction="none").numpy()
