"""What a run of a store gives to any probe: its network, its task, what it was shown and asked, and where it began.

Everything is built again from the run's configuration; a probe takes what it needs and makes its own question of it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from torch import Tensor, nn

from recombine_lab.runs.run import Run
from recombine_lab.tasks.task import Batch, Task, factor_columns
from recombine_lab.training.batches import Fixed, render_chunks
from recombine_lab.training.member import Member
from recombine_lab.training.pack import job_of


@dataclass(frozen=True, eq=False)
class RunInputs:
    """A run, and what its configuration names."""

    run: Run
    member: Member

    @classmethod
    def of(cls, run: Run) -> "RunInputs":
        """The run as it was before training, with nothing drawn yet."""
        return cls(run, Member(job_of(run)))

    @property
    def task(self) -> Task:
        """What it was trained on."""
        return self.member.job.task

    @cached_property
    def module(self) -> nn.Module:
        """The trained network."""
        return self.run.module()

    def fresh(self, seed: int) -> nn.Module:
        """The same network with other weights, drawn as the run draws its own."""
        return self.member.job.model.start(self.task.shapes, seed=seed)

    def shown(self, count: int, *, seed: int) -> tuple[Tensor, Batch | None]:
        """The training examples: a fixed set as latents and as tensors; of fresh ones `count` latents like them."""
        made = self.member.examples
        if isinstance(made, Fixed):
            return made.latents, made.data
        return self.member.parts.train.draw(count, seed=seed), None

    def render_chunks(self, latents: Tensor, *, seed: int) -> Batch:
        """Latents as inputs and targets, as the run is asked about them."""
        return render_chunks(self.task, latents, seed=seed, part="test")

    def table(self, latents: Tensor) -> pa.Table:
        """The factors' values of each row."""
        return pa.table(factor_columns(self.task.space, self.task.combinations(latents)))

    def was_shown(self, table: pa.Table) -> npt.NDArray[np.bool_]:
        """Whether each row's combination was in training."""
        shown = {_values(row) for row in self.run.tables["support"].select(table.column_names).to_pylist()}
        return np.array([_values(row) in shown for row in table.to_pylist()])


def run_name(run: Run) -> str:
    """A run as reports name it."""
    return f"run {run.key[:8]}"


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.values())
