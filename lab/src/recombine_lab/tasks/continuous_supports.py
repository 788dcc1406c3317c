"""Supports over continuous latents: where in the unit cube the training examples lie.

Letters: n examples, D latents, K slots, E entries of a slot, so that D = K · E.

Each is an exposure for any continuous task whose latents fall into equal slots. `seen` asks within the support and
`all` in the whole cube; `unseen` asks outside of the support, where the support fills a part of the cube. Planes fill
none of it: of `all` next to nothing was seen.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.checks import check_choice
from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.tasks.exposure import Exposure, Parts, Source
from recombine_lab.tasks.task import ContinuousTask, Task

Variant = Literal["plain", "plus", "star", "normal", "gap"]
GAP = (0.05, 0.45)
"""The values of slot 0's first entry that the gap leaves out."""


# -- sources ---------------------------------------------------------------------------------------------------------


class CubePoints(Source, ABC):
    """Points of the unit cube. There are too many to list."""

    @final
    def every(self) -> None:
        """Points cannot be counted."""


@dataclass(frozen=True)
class Uniform(CubePoints):
    """The whole cube, evenly.

    >>> Uniform(10).draw(3, seed=0).shape
    torch.Size([3, 10])
    """

    width: int

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points."""
        return torch.rand(n, self.width, generator=torch.Generator().manual_seed(seed))


class Rejecting(CubePoints, ABC):
    """Points that are proposed, and kept where they are right."""

    @abstractmethod
    def proposed(self, n: int, rng: torch.Generator) -> Tensor:
        """n proposals, (n, …)."""

    @abstractmethod
    def right(self, points: Tensor) -> Tensor:
        """Which of them to keep, (n,)."""

    @final
    def kept(self, n: int, *, seed: int) -> Tensor:
        """Proposals until n are right."""
        rng = torch.Generator().manual_seed(seed)
        found: list[Tensor] = []
        missing = n
        while missing > 0:
            proposals = self.proposed(missing + missing // 4 + 16, rng)
            found.append(proposals[self.right(proposals)][:missing])
            missing -= len(found[-1])
        return torch.cat(found) if found else self.proposed(0, rng)


@dataclass(frozen=True)
class Band(Rejecting):
    """Each entry lies near the diagonal over the slots: at most `delta` away from it, evenly, and within the cube."""

    slots: int
    entries: int
    delta: float

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points; an entry's values over the slots are drawn together, and apart from the other entries."""
        return self.kept(n * self.entries, seed=seed).reshape(n, self.entries, self.slots).mT.flatten(1)

    def proposed(self, n: int, rng: torch.Generator) -> Tensor:
        """A place on the diagonal, and an offset across it: a direction, and a length that fills the ball evenly."""
        even = torch.rand(n, 2, generator=rng)
        across = torch.randn(n, self.slots, generator=rng)
        across = across - across.mean(1, keepdim=True)
        across = across / across.square().sum(1, keepdim=True).sqrt()
        return even[:, :1] + self.delta * even[:, 1:].pow(1 / (self.slots - 1)) * across

    def right(self, points: Tensor) -> Tensor:
        """Within the cube."""
        return ((points >= 0) & (points <= 1)).all(1)


@dataclass(frozen=True)
class OutsideBand(Rejecting):
    """The cube without a band: at least one entry is further from the diagonal."""

    band: Band

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points."""
        return self.kept(n, seed=seed)

    def proposed(self, n: int, rng: torch.Generator) -> Tensor:
        """Anywhere."""
        return torch.rand(n, self.band.slots * self.band.entries, generator=rng)

    def right(self, points: Tensor) -> Tensor:
        """Outside."""
        entries = points.reshape(len(points), self.band.slots, self.band.entries)
        away = (entries - entries.mean(1, keepdim=True)).square().sum(1).sqrt()
        return (away > self.band.delta).any(1)


@dataclass(frozen=True)
class CubeHole(CubePoints):
    """The whole cube, but the first entry lies within the gap."""

    width: int

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points."""
        points = Uniform(self.width).draw(n, seed=seed)
        low, high = GAP
        return torch.cat([low + (high - low) * points[:, :1], points[:, 1:]], dim=1)


@dataclass(frozen=True, eq=False)
class Planes(CubePoints):
    """Planes through the cube: on each some entries are free and the others stand still; all have the same share.

    `fixed` holds a row for each plane, NaN where it is free.
    """

    fixed: npt.NDArray[np.float64]
    variant: Variant = "plain"

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points, each on a plane of its own choice."""
        rng = torch.Generator().manual_seed(derived(seed, "planes"))
        fixed = torch.from_numpy(self.fixed).to(torch.float32)[torch.randint(len(self.fixed), (n,), generator=rng)]
        return torch.where(fixed.isnan(), self._free(n, derived(seed, "points")), fixed)

    def _free(self, n: int, seed: int) -> Tensor:
        points = Uniform(self.fixed.shape[1]).draw(n, seed=seed)
        if self.variant == "normal":
            return _normal_within(points)
        if self.variant == "gap":
            return torch.cat([_without_gap(points[:, :1]), points[:, 1:]], dim=1)
        return points


def _normal_within(points: Tensor) -> Tensor:
    """Even numbers in [0, 1] as those of N(0.5, 1) that fall into it: by the inverse of the distribution function."""
    low, high = torch.special.ndtr(torch.tensor([-0.5, 0.5], dtype=points.dtype))
    return torch.clamp(0.5 + torch.special.ndtri(low + (high - low) * points), 0.0, 1.0)


def _without_gap(points: Tensor) -> Tensor:
    """Even numbers in [0, 1] spread over what the gap leaves."""
    low, high = GAP
    places = points * (1 - (high - low))
    return torch.where(places < low, places, places + (high - low))


# -- exposures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Random(Exposure):
    """Everywhere: what was seen is all there is."""

    def parts(self, task: Task, *, seed: int) -> Parts:  # noqa: ARG002 - sources draw with seeds of their own
        """The cube, thrice."""
        whole = Uniform(_width(task))
        return Parts(whole, {"seen": whole, "all": whole})


@dataclass(frozen=True)
class Orthogonal(Exposure):
    """Planes on which one slot is free and the others stand still, all with the same share.

    Slot 0, in front, is free with the others at 1; each other slot is free with slot 0 at 0, and again with slot 0 at
    0.5, so that what slot 0 hides on the one plane lies open on the other. A slot that stands still has the same value
    in every entry, but is as small as can be (0 in entries called `scale`). Variants:

    - `plus`: other places. Slot 0 is free with the others at 1 or 0.7; the others with slot 0 at 0 or 0.3;
    - `star`: no third plane, so what lies behind slot 0 at 0 is never uncovered;
    - `normal`: the free slot comes from a normal distribution around the middle, of deviation 1, within the cube;
    - `gap`: the first entry of slot 0 is never within `GAP`; `unseen` asks there.

    >>> Orthogonal(variant="gap")
    Orthogonal(variant='gap')
    """

    variant: Variant = "plain"

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, _STILL, why="there is no such variant of the orthogonal support")

    def parts(self, task: Task, *, seed: int) -> Parts:  # noqa: ARG002 - sources draw with seeds of their own
        """The planes, and the cube; within the gap too, where there is one."""
        slots, entries = _slots(task, self)
        planes = Planes(self._fixed(slots, _still(task, entries)), self.variant)
        tests: dict[str, Source] = {"seen": planes, "all": Uniform(slots * entries)}
        if self.variant == "gap":
            tests["unseen"] = CubeHole(slots * entries)
        return Parts(planes, tests)

    def _fixed(self, slots: int, still: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        others, firsts = _STILL[self.variant]
        places = [(0, 0.0, other) for other in others]
        places += [(free, first, others[0]) for free in range(1, slots) for first in firsts]
        rows = np.stack([[first * still] + [other * still] * (slots - 1) for _, first, other in places])
        for row, (free, _, _) in zip(rows, places, strict=True):
            row[free] = np.nan
        return rows.reshape(len(places), -1)


_STILL: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "plain": ((1.0,), (0.0, 0.5)),
    "plus": ((1.0, 0.7), (0.0, 0.3)),
    "star": ((1.0,), (0.0,)),
    "normal": ((1.0,), (0.0, 0.5)),
    "gap": ((1.0,), (0.0, 0.5)),
}
"""Where the other slots stand still while slot 0 is free, and where slot 0 does while one of the others is."""


@dataclass(frozen=True)
class DiagonalBand(Exposure):
    """The slots are nearly alike: each entry lies at most `delta` from the diagonal over the slots.

    With two slots, |z0 - z1| is at most √2 · delta in each entry. `unseen` asks outside of the band.

    >>> DiagonalBand(delta=0.1).delta
    0.1
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        if not self.delta >= 0:
            raise SettingError(
                f"delta={self.delta}",
                why="it is the largest distance from the diagonal",
                instead="write for example delta=0.1; 0 is the diagonal itself",
            )

    def parts(self, task: Task, *, seed: int) -> Parts:  # noqa: ARG002 - sources draw with seeds of their own
        """The band, the cube, and the cube without the band."""
        slots, entries = _slots(task, self)
        furthest = math.sqrt((slots // 2) * ((slots + 1) // 2) / slots)
        if self.delta >= furthest:
            raise SettingError(
                f"delta={self.delta}",
                why=f"with {slots} slots no point is further than {furthest:.3f} from the diagonal: all would be seen",
                instead="write a smaller one, for example delta=0.1, or Random() to see everything",
            )
        band = Band(slots, entries, self.delta)
        return Parts(band, {"seen": band, "all": Uniform(slots * entries), "unseen": OutsideBand(band)})


def _width(task: Task) -> int:
    if not isinstance(task, ContinuousTask):
        raise SettingError(
            f"a support over continuous latents for {type(task).__name__}",
            why="the latents of that task are whole numbers, not points of a cube",
            instead="give a splitter, for example HoldOutCombinations(factors=[…])",
        )
    return len(task.ranges)


def _slots(task: Task, support: Exposure) -> tuple[int, int]:
    """How many slots there are, and how many entries each has."""
    width, slots = _width(task), task.shapes.slots
    if slots < 2 or width % slots:
        raise SettingError(
            f"{support!r} for {type(task).__name__}, which has {slots} slot{'s' * (slots != 1)} and {width} latents",
            why="that support holds one slot against the others, so there must be two or more, of equal size",
            instead="give Random(), or a task with slots, for example Sprites(slots=2)",
        )
    return slots, width // slots


def _still(task: Task, entries: int) -> npt.NDArray[np.float64]:
    """What a slot that stands still has in each entry, as a multiple of its place: 0 for its scale, else 1."""
    assert isinstance(task, ContinuousTask)  # noqa: S101 - known since its slots were counted
    return np.array([0.0 if latent.name.startswith("scale") else 1.0 for latent in task.ranges[:entries]])
