"""A bump in an image: a model gets its two coordinates and must draw it."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from recombine.errors import SettingError, nearest
from recombine.lab.tasks.bumps.codes import CODES, Code, encode, profile
from recombine.lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes
from recombine.tables.space import Factor, Space


@dataclass(frozen=True, kw_only=True)
class Bumps(DiscreteTask):
    """A Gaussian bump of width `sigma` at (x, y) in a size × size image; x is the column, y the row.

    `code` is how the coordinates are told: `bump` (a Gaussian over `size` units each, its variance `widen` times that
    of the image), `onehot`, or `ramp` (the numbers themselves). Pixels lie at whole numbers plus `centres`. `inverted`
    draws 1 - G, a dark bump on white. A coordinate of -1 is left out: its code is empty, and the image is a stripe.

    >>> task = Bumps(size=5, inverted=False)
    >>> task.tensors([[3, 1]], seed=0).targets[0, 0].argmax().item()  # row 1, column 3
    8
    >>> task.render(torch.tensor([[3, -1]]), seed=0, part="train").targets[0, 0, :, 3].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    size: int = 28
    sigma: float = 1.0
    code: Code = "bump"
    widen: float = 1.0
    centres: float = 0.0
    inverted: bool = True

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise SettingError(
                f"code={self.code!r}", why="there is no such code", instead=nearest(str(self.code), CODES)
            )
        if self.size < 2:
            raise SettingError(
                f"size={self.size}", why="each coordinate needs two values or more", instead="write size=28"
            )
        for setting in ("sigma", "widen"):
            if not getattr(self, setting) > 0:
                raise SettingError(
                    f"{setting}={getattr(self, setting)}",
                    why="a bump has a positive width",
                    instead=f"write {setting}=1.0",
                )

    @property
    def space(self) -> Space:
        """Every place."""
        values = tuple(range(self.size))
        return Space((Factor("x", values, declared=True), Factor("y", values, declared=True)))

    @property
    def shapes(self) -> Shapes:
        """Two codes go in, an image comes out."""
        width = 2 if self.code == "ramp" else 2 * self.size
        return Shapes(inputs=(width,), outputs=(1, self.size, self.size), kind="values", slots=2)

    @property
    def blank(self) -> float:
        """The value of a pixel far from the bump."""
        return 1.0 if self.inverted else 0.0

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """The codes, and the image."""
        x, y = latents[:, 0], latents[:, 1]
        spread = self.sigma * self.widen**0.5
        inputs = [encode(values, code=self.code, size=self.size, sigma=spread) for values in (x, y)]
        return Batch(torch.cat(inputs, dim=1), self.images(latents))

    @final
    def images(self, latents: Tensor) -> Tensor:
        """The images of places (n, 2): (n, 1, rows, columns)."""
        columns, rows = (self._profile(latents[:, k]) for k in (0, 1))
        lit = rows[:, None, :, None] * columns[:, None, None, :]
        return 1 - lit if self.inverted else lit

    def _profile(self, values: Tensor) -> Tensor:
        drawn = profile(values, size=self.size, sigma=self.sigma, shift=self.centres)
        return torch.where((values >= 0)[:, None], drawn, 1.0)

    def truth(self, combinations: Codes) -> None:
        """None: the target is an image."""
