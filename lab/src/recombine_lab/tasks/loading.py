"""A task's examples through torch's own `DataLoader`, for a training loop of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from recombine.errors import SettingError, nearest
from recombine.seeds import derived
from recombine_lab.tasks.exposure import FiniteSource
from recombine_lab.tasks.splits import split_of
from recombine_lab.tasks.task import Part, Task, factor_columns

_TRAIN = "train"


@final
@dataclass(frozen=True, eq=False)
class PartExamples(Dataset[tuple[Tensor, Tensor]]):
    """The examples of one part of a split, each rendered when it is asked for."""

    task: Task
    latents: Tensor
    part: Part
    seed: int

    def __len__(self) -> int:
        return len(self.latents)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        inputs, targets = self.__getitems__([place])
        return inputs[0], targets[0]

    def __getitems__(self, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """A batch at once, which is how torch's loader asks where it can."""
        seed = derived(self.seed, "render", *places[:1])
        batch = self.task.render(self.latents[list(places)], seed=seed, part=self.part)
        return batch.inputs, batch.targets

    def table(self) -> pa.Table:
        """The factors of each example, in their order, and the target where it is a single value."""
        columns: dict[str, Any] = factor_columns(self.task.space, self.task.combinations(self.latents))
        targets = self.__getitems__(range(len(self)))[1]
        names = self.task.shapes.names
        if self.task.shapes.kind == "classes":
            columns["target"] = pa.array([names[one] if names else one for one in targets.tolist()])
        elif targets.numel() == len(targets):
            columns["target"] = pa.array(targets.reshape(-1).tolist())
        return pa.table(columns)


def loader(
    task: Task, split: Any, *, part: str, batch_size: int, samples: int | None, seed: int
) -> DataLoader[tuple[Tensor, Tensor]]:
    """The batches of a part; see `Task.loader`."""
    parts = split_of(split, task).parts(task, seed=derived(seed, "split"))
    sources = {_TRAIN: parts.train, **parts.tests}
    if part not in sources:
        raise SettingError(
            f"no part {part!r}", why="this split has none of that name", instead=nearest(part, list(sources))
        )
    source = sources[part]
    weighted = isinstance(source, FiniteSource) and source.weights is not None
    listed = source.every()
    if samples is None and weighted and listed is not None:
        samples = len(listed)
    if samples is None and listed is None:
        raise SettingError(
            f"part={part!r} without samples",
            why="the examples are points of a continuous task, and cannot be counted",
            instead="write how many are to be drawn, for example samples=1000",
        )
    latents = listed if samples is None else source.draw(samples, seed=derived(seed, part))
    side: Part = "train" if part == _TRAIN else "test"
    assert latents is not None  # noqa: S101 - counted or drawn
    return DataLoader(
        PartExamples(task, latents, side, seed),
        batch_size=batch_size,
        shuffle=part == _TRAIN,
        collate_fn=lambda batch: batch,  # it is one already
        generator=torch.Generator().manual_seed(derived(seed, "order")),
    )
