"""Stripes: examples that show one coordinate alone, mixed into the training examples of any split."""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from recombine.errors import SettingError
from recombine.lab.tasks.bumps.task import Bumps
from recombine.lab.tasks.exposure import Cells, Exposure, Parts, Source, as_exposure
from recombine.lab.tasks.task import Task
from recombine.seeds import derived

LEFT_OUT = -1


def stripes(task: Bumps) -> Tensor:
    """Every value of every factor alone, the other factor left out: (2N, 2).

    >>> stripes(Bumps(size=2)).tolist()
    [[0, -1], [1, -1], [-1, 0], [-1, 1]]
    """
    values = torch.arange(task.size)
    without = torch.full_like(values, LEFT_OUT)
    return torch.cat([torch.stack([values, without], dim=1), torch.stack([without, values], dim=1)])


@dataclass(frozen=True, eq=False)
class Mixed(Source):
    """Two sources in one: an example comes from the second with the chance `share`."""

    first: Source
    second: Source
    share: float

    @final
    def draw(self, n: int, *, seed: int) -> Tensor:
        """n examples, in random order."""
        chance = torch.Generator().manual_seed(derived(seed, "which"))
        second = torch.rand(n, generator=chance) < self.share
        firsts = self.first.draw(n, seed=derived(seed, "first"))
        return torch.where(second[:, None], self.second.draw(n, seed=derived(seed, "second")), firsts)

    @final
    def every(self) -> Tensor | None:
        """Each of both once, where both can be counted; the share plays no part in that."""
        both = [source.every() for source in (self.first, self.second)]
        counted = [latents for latents in both if latents is not None]
        return torch.cat(counted) if len(counted) == len(both) else None


@dataclass(frozen=True, eq=False)
class Stripes(Exposure):
    """Another split of `Bumps`, with stripes mixed into its training examples; the tests stay as they are.

    `base` is a splitter or an exposure (in a sweep's file: its name and settings). `share` is how much of the training
    examples are stripes: every value of either factor alone, in its full range.

    >>> from recombine.lab.tasks.exposure import Everything
    >>> parts = Stripes(base=Everything(), share=0.5).parts(Bumps(size=4), seed=0)
    >>> len(parts.train.every()), len(parts.tests["seen"].every())
    (24, 16)
    """

    base: Any
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SettingError(
                f"share={self.share}",
                why="it is the part of the training examples that are stripes",
                instead="write a number between 0 and 1, for example share=0.5",
            )

    @final
    def parts(self, task: Task, *, seed: int) -> Parts:
        """The base's parts, its training examples mixed with stripes."""
        if not isinstance(task, Bumps):
            raise SettingError(
                f"stripes for {type(task).__name__}",
                why="a stripe shows one coordinate of a bump alone; other tasks cannot leave a factor out",
                instead="use them with Bumps(…), or give the base split by itself",
            )
        base = as_exposure(self.base).parts(task, seed=seed)
        return Parts(Mixed(base.train, Cells(stripes(task)), self.share), base.tests)
