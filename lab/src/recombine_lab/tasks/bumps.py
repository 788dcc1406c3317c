"""Bumps: a model gets two coordinates and must draw a bump at that place of an image.

How a coordinate is told: as one unit of many, as a little bump over units, or as a number. Stripes are examples that
show one coordinate alone, mixed into the training examples of any split. `output_coverage` asks, without any model,
whether the training images by themselves could make up the unseen ones.

Letters: n examples, N values of a coordinate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from recombine.base.checks import check_choice, check_number, check_whole
from recombine.base.errors import SettingError, TableError
from recombine.base.seeds import derived
from recombine.data.space import Factor, Space
from recombine_lab.base.output_coverage import OutputCoverage, coverage
from recombine_lab.tasks.exposure import Exposure, FiniteSource, Parts, Source, as_exposure
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, Task

Code = Literal["onehot", "bump", "ramp"]
CODES: tuple[Code, ...] = ("onehot", "bump", "ramp")
LEFT_OUT = -1
LIT = 0.01  # a pixel that differs by more than this from blank in some training image is lit


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
        check_choice("code", self.code, CODES, why="there is no such code")
        check_whole("size", self.size, least=2, why="each coordinate needs two values or more", instead="write size=28")
        for setting in ("sigma", "widen"):
            why = "a bump has a positive width"
            check_number(setting, getattr(self, setting), above=0, why=why, instead=f"write {setting}=1.0")

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
    def axes(self) -> Mapping[str, int]:
        """Columns are the last axis of an image, rows the one before."""
        return {"x": -1, "y": -2}

    def factors_alone(self) -> Tensor:
        """Stripes: every value of every factor alone, the other factor left out: (2N, 2).

        >>> Bumps(size=2).factors_alone().tolist()
        [[0, -1], [1, -1], [-1, 0], [-1, 1]]
        """
        values = torch.arange(self.size)
        without = torch.full_like(values, LEFT_OUT)
        return torch.cat([torch.stack([values, without], dim=1), torch.stack([without, values], dim=1)])

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


def profile(values: Tensor, *, size: int, sigma: float, shift: float = 0.0) -> Tensor:
    """A Gaussian around each value, at the places shift, shift + 1, …: (n,) -> (n, N).

    >>> profile(torch.tensor([1]), size=3, sigma=1.0).round(decimals=1).tolist()
    [[0.6000000238418579, 1.0, 0.6000000238418579]]
    """
    places = torch.arange(size, dtype=torch.float32, device=values.device) + shift
    return torch.exp((places - values[:, None]).square() / (-2 * sigma**2))


def encode(values: Tensor, *, code: Code, size: int, sigma: float) -> Tensor:
    """One coordinate's values as inputs, (n,) -> (n, N), or (n, 1) for a ramp; -1 is a coordinate that is left out.

    A coordinate that is left out lights no unit. On a ramp, which has no unit to spare, it stands a whole frame before
    the frame.

    >>> encode(torch.tensor([1, -1]), code="onehot", size=3, sigma=1.0).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    >>> encode(torch.tensor([1, -1]), code="ramp", size=3, sigma=1.0).tolist()
    [[1.0], [-3.0]]
    """
    given = (values >= 0)[:, None]
    if code == "ramp":
        return torch.where(given, values[:, None].to(torch.float32), -float(size))
    if code == "onehot":
        return (values[:, None] == torch.arange(size, device=values.device)).to(torch.float32)
    return profile(values, size=size, sigma=sigma) * given


@dataclass(frozen=True, eq=False)
class Mixed(Source):
    """Two sources in one: an example comes from the second with the chance `share`."""

    first: Source
    second: Source
    share: float

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n examples, in random order."""
        rng = torch.Generator().manual_seed(derived(seed, "which"))
        second = torch.rand(n, generator=rng) < self.share
        firsts = self.first.draw(n, seed=derived(seed, "first"))
        return torch.where(second[:, None], self.second.draw(n, seed=derived(seed, "second")), firsts)

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

    >>> from recombine_lab.tasks.exposure import Everything
    >>> parts = Stripes(base=Everything(), share=0.5).parts(Bumps(size=4), seed=0)
    >>> len(parts.train.every()), len(parts.tests["seen"].every())
    (24, 16)
    """

    base: Any
    share: float = 0.5

    def __post_init__(self) -> None:
        check_number(
            "share",
            self.share,
            least=0,
            most=1,
            why="it is the part of the training examples that are stripes",
            instead="write a number between 0 and 1, for example share=0.5",
        )

    def parts(self, task: Task, *, seed: int) -> Parts:
        """The base's parts, its training examples mixed with stripes."""
        if not isinstance(task, Bumps):
            raise SettingError(
                f"stripes for {type(task).__name__}",
                why="a stripe shows one coordinate of a bump alone; other tasks cannot leave a factor out",
                instead="use them with Bumps(…), or give the base split by itself",
            )
        base = as_exposure(self.base).parts(task, seed=seed)
        return Parts(Mixed(base.train, FiniteSource(task.factors_alone()), self.share), base.tests)


def output_coverage(seen: Tensor, unseen: Tensor, *, blank: float = 0.0) -> OutputCoverage:
    """What the training images (n, …) leave unlit of the unseen ones (m, …), both measured from `blank`.

    >>> output_coverage(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5]]))
    OutputCoverage(unlit=0.5, dark=0.5, spanned=0.5)
    """
    shown, asked = ((images.flatten(1) - blank).to(torch.float64).numpy() for images in (seen, unseen))
    if not len(shown) or not (asked**2).sum() > 0:
        raise TableError(
            f"output coverage of {len(asked)} unseen by {len(shown)} seen images",
            why="there must be seen images, and unseen ones that are not blank",
            instead="give images of both sides; `blank` is the value of a pixel with nothing on it",
        )
    return coverage(shown, asked, lit=LIT)
