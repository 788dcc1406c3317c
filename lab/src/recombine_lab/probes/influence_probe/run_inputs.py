"""What a run of the lab says of itself: its network, its factors, what it was shown and asked, and where it began."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.probes.influence_probe.factor_locations import Located, discovered
from recombine_lab.probes.influence_probe.probe_examples import Ints, ProbeExamples
from recombine_lab.runs.run import Run
from recombine_lab.tasks.exposure import HasRows
from recombine_lab.tasks.task import Task, factor_columns
from recombine_lab.training.batches import Fixed, rendered
from recombine_lab.training.member import Member
from recombine_lab.training.pack import job_of

MOST_ROWS = 1_000
_SHOWN = 500


@dataclass(frozen=True, eq=False)
class RunQuestion:
    """The settings of a probe that a run answers itself."""

    module: nn.Module
    start: nn.Module
    fresh: Callable[[int], nn.Module]
    where: Located
    table: pa.Table
    targets: Tensor
    target: str | None
    redundant: str | None
    seen: ProbeExamples
    unseen: ProbeExamples | None
    weight_decay: float
    damping: float | None


def of_run(run: Run, *, target: str | None, redundant: str | None, seed: int) -> RunQuestion:
    """Everything that the run's configuration says; what cannot be swapped or asked is refused in words."""
    module = run.module()
    member = Member(job_of(run))
    task = member.job.task
    _check(run, task)
    names = tuple(task.space.names)
    latents = torch.cat([question.latents for question in member.questions])
    some = np.random.default_rng(derived(seed, "rows")).permutation(len(latents))[:MOST_ROWS]
    latents = latents[torch.from_numpy(np.sort(some))]
    own, other = factors_of(task, latents)
    batch = _drawn(task, latents, seed)
    unseen = next((one for one in member.questions if one.name in ("unseen", "test")), None)
    shown = _shown(member)
    recipe = member.job.recipe
    return RunQuestion(
        module=module,
        start=member.start(),
        fresh=lambda number: member.job.model.start(task.shapes, seed=number),
        where=discovered(batch[0], names, _Exchange(task, latents, seed)),
        table=_table(task, latents),
        targets=batch[1],
        target=target or own,
        redundant=redundant or other,
        seen=shown,
        unseen=None if unseen is None else _examples(task, unseen.latents[:_SHOWN], seed),
        weight_decay=recipe.weight_decay,
        # gradient descent that is stopped is held back as by a ridge of 1 / (rate times steps)
        damping=1 / (recipe.lr * run.steps) if recipe.optimiser == "sgd" and run.steps else None,
    )


def _check(run: Run, task: Task) -> None:
    if isinstance(task, HasRows):
        raise SettingError(
            f"run {run.key[:8]} was trained on rows of a table",
            why="a factor of a row cannot be exchanged without knowing which inputs hold it",
            instead="give model=run.module(), inputs, table and regions",
        )
    if task.shapes.kind == "tokens":
        raise SettingError(
            f"run {run.key[:8]} answers in sentences",
            why="whether a sentence hangs on a factor is asked of each word",
            instead="give model=run.module(), inputs, table, regions and a forward that gives the scores of one word",
        )


@dataclass(frozen=True, eq=False)
class _Exchange:
    """Latents with a factor as it is in other rows, rendered with the same chance as before."""

    task: Task
    latents: Tensor
    seed: int

    def __call__(self, factor: str, donors: Ints) -> Tensor:
        place = self.task.space.names.index(factor)
        changed = self.latents.clone()
        changed[:, place] = self.latents[torch.from_numpy(donors), place]
        return _drawn(self.task, changed, self.seed)[0]


def _drawn(task: Task, latents: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    batch = rendered(task, latents, seed=derived(seed, "render"), part="test")
    return batch.inputs, batch.targets


def _table(task: Task, latents: Tensor) -> pa.Table:
    return pa.table(factor_columns(task.space, task.combinations(latents)))


def _examples(task: Task, latents: Tensor, seed: int) -> ProbeExamples:
    return ProbeExamples(*_drawn(task, latents, seed), _table(task, latents))


def _shown(member: Member) -> ProbeExamples:
    """The training examples; of fresh ones as many as are looked at."""
    made, task = member.examples, member.job.task
    if isinstance(made, Fixed):
        rows = slice(0, _SHOWN * 4)
        return ProbeExamples(made.data.inputs[rows], made.data.targets[rows], _table(task, made.latents[rows]))
    latents = member.parts.train.draw(_SHOWN, seed=derived(member.seed, "shown"))
    batch = rendered(task, latents, seed=derived(member.seed, "shown", "render"), part="train")
    return ProbeExamples(batch.inputs, batch.targets, _table(task, latents))


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
