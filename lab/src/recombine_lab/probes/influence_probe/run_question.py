"""What an influence probe asks of a run of the lab, where nothing else is given: all of it is in its configuration."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.probes.influence_probe.factor_locations import discovered
from recombine_lab.probes.influence_probe.influence_functions import MOST_WEIGHTS
from recombine_lab.probes.influence_probe.probe_examples import Ints, ProbeExamples
from recombine_lab.probes.influence_probe.questions import FactorExamples, InfluenceQuestion, TrainingRows
from recombine_lab.probes.run_inputs import RunInputs, run_name
from recombine_lab.runs.run import Run
from recombine_lab.tasks.exposure import HasRows
from recombine_lab.tasks.task import Batch, Task
from recombine_lab.training.batches import render_chunks

MOST_ROWS = 1_000
_SHOWN = 500


def question_of_run(run: Run, examples: FactorExamples, training: TrainingRows, *, seed: int) -> InfluenceQuestion:
    """What the run's configuration says, under what was given; what cannot be swapped or asked is refused in words."""
    known = RunInputs.of(run)
    _check(run, known.task)
    latents = torch.cat([question.latents for question in known.member.questions])
    some = np.random.default_rng(derived(seed, "rows")).permutation(len(latents))[:MOST_ROWS]
    latents = latents[torch.from_numpy(np.sort(some))]
    own, other = factors_of(known.task, latents)
    target, redundant = examples.target or own, examples.redundant or other
    both = target is not None and redundant is not None
    unseen = next((one for one in known.member.questions if one.name in ("unseen", "test")), None)
    small = sum(weight.numel() for weight in known.module.parameters()) <= MOST_WEIGHTS
    taught = small and unseen is not None
    if not both and not taught:
        raise SettingError(
            f"{run_name(run)} alone",
            why="no single factor of its task fixes the answer, and it has no unseen combinations or too many weights",
            instead="write target= and redundant=, two of its factors",
        )
    exchange = _Exchange(known, latents, derived(seed, "render"))
    batch = exchange.drawn(latents)
    recipe = known.member.job.recipe
    damping = training.damping
    if damping is None and recipe.optimiser == "sgd" and run.steps:
        # gradient descent that is stopped is held back as by a ridge of 1 / (rate times steps)
        damping = 1 / (recipe.lr * run.steps)
    return InfluenceQuestion(
        module=known.module,
        examples=FactorExamples(table=known.table(latents), target=target, redundant=redundant, targets=batch.targets),
        training=replace(
            training,
            seen=training.seen or (_shown(known) if taught else None),
            unseen=training.unseen
            or (exchange.examples(unseen.latents[:_SHOWN]) if taught and unseen is not None else None),
            weight_decay=training.weight_decay or recipe.weight_decay,
            damping=damping,
            start=training.start or known.member.start(),
        ),
        where=discovered(batch.inputs, tuple(known.task.space.names), exchange) if both else None,
        fresh=known.fresh,
    )


def _check(run: Run, task: Task) -> None:
    if isinstance(task, HasRows):
        raise SettingError(
            f"{run_name(run)} was trained on rows of a table",
            why="a factor of a row cannot be exchanged without knowing which inputs hold it",
            instead="give model=run.module(), inputs, table and regions",
        )
    if task.shapes.kind == "tokens":
        raise SettingError(
            f"{run_name(run)} answers in sentences",
            why="whether a sentence hangs on a factor is asked of each word",
            instead="give model=run.module(), inputs, table, regions and a forward that gives the scores of one word",
        )


@dataclass(frozen=True, eq=False)
class _Exchange:
    """Latents with a factor as it is in other rows, rendered with the same chance as before."""

    known: RunInputs
    latents: Tensor
    seed: int

    def __call__(self, factor: str, donors: Ints) -> Tensor:
        place = self.known.task.space.names.index(factor)
        changed = self.latents.clone()
        changed[:, place] = self.latents[torch.from_numpy(donors), place]
        return self.drawn(changed).inputs

    def drawn(self, latents: Tensor) -> Batch:
        return self.known.render_chunks(latents, seed=self.seed)

    def examples(self, latents: Tensor) -> ProbeExamples:
        batch = self.drawn(latents)
        return ProbeExamples(batch.inputs, batch.targets, self.known.table(latents))


def _shown(known: RunInputs) -> ProbeExamples:
    """The training examples; of fresh ones as many as are looked at."""
    seed = derived(known.member.seed, "shown")
    latents, batch = known.shown(_SHOWN, seed=seed)
    latents = latents[: _SHOWN * 4]
    if batch is None:
        batch = render_chunks(known.task, latents, seed=derived(known.member.seed, "shown", "render"), part="train")
    batch = batch[: _SHOWN * 4]
    return ProbeExamples(batch.inputs, batch.targets, known.table(latents))


def factors_of(task: Task, latents: Tensor) -> tuple[str | None, str | None]:
    """The one factor that fixes the answer by itself, and another one; None where it is not one.

    >>> from recombine_lab.tasks import Toy, Addition
    >>> task = Toy()
    >>> factors_of(task, task.latents(task.every(), seed=0))
    ('y1', 'y2')
    >>> task = Addition(values=3)
    >>> factors_of(task, task.latents(task.every(), seed=0))
    (None, None)
    """
    codes = np.unique(task.combinations(latents), axis=0)
    truth = None if (codes < 0).any() else task.truth(codes)
    if truth is None or np.ndim(truth) != 1:
        return None, None
    fixing = [k for k in range(codes.shape[1]) if _fixes(codes[:, k], truth)]
    if len(fixing) != 1 or codes.shape[1] < 2:
        return None, None
    others = [k for k in range(codes.shape[1]) if k != fixing[0] and len(np.unique(codes[:, k])) > 1]
    names = task.space.names
    return names[fixing[0]], names[others[0]] if others else None


def _fixes(codes: Any, truth: Any) -> bool:
    return all(len(np.unique(truth[codes == code])) == 1 for code in np.unique(codes)) and len(np.unique(truth)) > 1
