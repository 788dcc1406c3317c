"""What a task is: factors, a rule, and tensors for any combinations of them.

Letters: n examples, K factors, D latents.

A task has a `space` of combinations. An example is drawn in two steps: a combination becomes *latents* (for a discrete
task its codes; for a continuous one a point within its bins), and latents are rendered as input and target tensors.
Both are batched and depend on nothing but the arguments and the seed.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, Protocol, final, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from recombine.base.checks import WordedSettings, check_choice, check_number
from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data.space import Factor, Space, Value

Codes = npt.NDArray[np.int64]
Part = Literal["train", "test"]
Kind = Literal["values", "classes", "tokens"]
_MOST_LISTED = 10**6


@dataclass(frozen=True)
class Batch:
    """Examples as tensors; the first axis is the example.

    >>> len(Batch(torch.zeros(3, 2), torch.zeros(3, 1)))
    3
    """

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> "Batch":
        return Batch(self.inputs[rows], self.targets[rows])

    def to(self, device: torch.device) -> "Batch":
        """The same examples on a device; itself where they are there."""
        if self.inputs.device == device:
            return self
        return Batch(self.inputs.to(device, non_blocking=True), self.targets.to(device, non_blocking=True))


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """What a model must take and give, without the first axis.

    `values`: targets are floats of shape `outputs`. `classes`: targets are whole numbers below `outputs[0]`. `tokens`:
    inputs and targets are rows of token numbers, 0 for padding; `vocabularies` holds how many there are on each side,
    and `outputs` the longest target. `slots` says into how many equal parts the inputs fall, one for each object;
    `names` what each class stands for, where it is no number.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: Kind
    slots: int = 1
    vocabularies: tuple[int, int] | None = None
    names: tuple[Any, ...] = ()


class Task(metaclass=WordedSettings):
    """Factors, a rule, and tensors. Concrete tasks are frozen dataclasses of settings below one of the two kinds."""

    @property
    @abstractmethod
    def space(self) -> Space:
        """The combinations that could occur."""

    @property
    @abstractmethod
    def shapes(self) -> Shapes:
        """What a model of this task must take and give."""

    @abstractmethod
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Latents as inputs and targets. `part` says which pool of images or words to draw from."""

    @abstractmethod
    def truth(self, combinations: Codes) -> npt.NDArray[Any] | None:
        """The rule: the label or the number that belongs to each combination; None where the target is an image."""

    @abstractmethod
    def latents(self, combinations: Codes, *, seed: int) -> Tensor:
        """A point for each combination."""

    @abstractmethod
    def combinations(self, latents: Tensor) -> Codes:
        """The combination that each point belongs to."""

    @final
    def tensors(self, combinations: Codes | Sequence[Sequence[int]], *, seed: int, part: Part = "train") -> Batch:
        """Inputs and targets for combinations, given as codes (n, K)."""
        codes = np.asarray(combinations, dtype=np.int64)
        points = self.latents(codes, seed=derived(seed, "latents"))
        return self.render(points, seed=derived(seed, "render"), part=part)

    @final
    def loader(
        self,
        split: Any = "everything",
        *,
        part: str = "train",
        batch_size: int = 64,
        samples: int | None = None,
        seed: int = 0,
    ) -> "DataLoader[tuple[Tensor, Tensor]]":
        """Batches (inputs, targets) of one part of a split, as torch's own loader gives them, for a loop of one's own.

        The split is whatever `fit` takes. The part `train` is shuffled; `seen`, `unseen` and others are in their order,
        and `loader.dataset.table()` has the factors and the target of each example. `samples` draws so many, which
        a continuous task needs.

        >>> from recombine_lab.tasks import Addition
        >>> for inputs, targets in Addition(values=5).loader("hold_out_combinations", batch_size=8):
        ...     print(tuple(inputs.shape), tuple(targets.shape))
        (8, 10) (8, 1)
        (8, 10) (8, 1)
        (4, 10) (4, 1)
        """
        # By name: it stands on splits, and those on this file.
        loader = import_module("recombine_lab.tasks.exposure").loader
        made: DataLoader[tuple[Tensor, Tensor]] = loader(
            self, split, part=part, batch_size=batch_size, samples=samples, seed=seed
        )
        return made

    @final
    def every(self) -> Codes:
        """The codes of every combination that could occur, in order; of a task with a list of its own, that list."""
        if isinstance(self, Lists):
            return self.listed()
        if self.space.product > _MOST_LISTED:
            raise SettingError(
                f"this task has {self.space.size:,} combinations",
                why=f"more than {_MOST_LISTED:,} are never written out",
                instead="sample them: give `fit` one of the task's supports instead of a splitter",
            )
        grid = np.indices(self.space.sizes, dtype=np.int64).reshape(len(self.space.sizes), -1).T
        return np.ascontiguousarray(grid[~self.space.is_impossible(grid.astype(np.int32))])

    @final
    def table(self, combinations: Codes | None = None) -> pa.Table:
        """Combinations with their target, as every other part of recombine reads them; all of them, unless given."""
        codes = self.every() if combinations is None else combinations
        columns = factor_columns(self.space, codes)
        truth = self.truth(codes)
        return pa.table(columns if truth is None else columns | {"target": truth})


@runtime_checkable
class Lists(Protocol):
    """A task that can render only some combinations of its space, for example those that a table has rows of."""

    def listed(self) -> Codes:
        """These combinations, in order."""


@runtime_checkable
class Speaks(Protocol):
    """A task of tokens that can say them in words."""

    def in_words(self, targets: Tensor) -> list[str]:
        """Rows of target tokens as texts, each up to its end."""


@runtime_checkable
class DrawsFactors(Protocol):
    """A task whose factors move what is drawn along axes of the output, with nothing left to chance."""

    @property
    def axes(self) -> Mapping[str, int]:
        """The axis of the output that each factor moves along."""

    def factors_alone(self) -> Tensor:
        """Latents with every value of each factor alone, the other factors left out."""


class DiscreteTask(Task):
    """A task whose latents are codes: the first K columns. Those beyond are free, and -1 is a factor left out."""

    @final
    def latents(self, combinations: Codes, *, seed: int) -> Tensor:  # noqa: ARG002 - nothing is left to chance
        """The codes themselves."""
        return torch.from_numpy(np.ascontiguousarray(combinations))

    @final
    def combinations(self, latents: Tensor) -> Codes:
        """The first K columns."""
        return np.ascontiguousarray(latents[:, : len(self.space.factors)].cpu().numpy().astype(np.int64))


@dataclass(frozen=True)
class Range:
    """A continuous latent: a named interval, seen by an audit in equal bins. `levels` names values instead of bins.

    Levels have equal shares of the unit interval, unless `edges` says where one ends and the next begins.

    >>> Range("x", 0.0, 1.0, bins=2).factor.values
    ('[0, 0.5)', '[0.5, 1]')
    >>> Range("shape", levels=("triangle", "square", "circle"), edges=(0.25, 0.75)).limits.tolist()
    [0.0, 0.25, 0.75, 1.0]
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    bins: int = 5
    levels: tuple[Value, ...] = ()
    edges: tuple[float, ...] = ()

    @cached_property
    def factor(self) -> Factor:
        """The latent as an audit sees it."""
        if self.levels:
            return Factor(self.name, self.levels, declared=True)
        edges = [f"{edge:.4g}" for edge in np.linspace(self.low, self.high, self.bins + 1)]
        closing = [")"] * (self.bins - 1) + ["]"]
        pairs = zip(edges[:-1], edges[1:], closing, strict=True)
        return Factor(self.name, tuple(f"[{low}, {high}{end}" for low, high, end in pairs), declared=True)

    @property
    def size(self) -> int:
        """How many bins or levels there are."""
        return len(self.levels) or self.bins

    @cached_property
    def limits(self) -> npt.NDArray[np.float32]:
        """Where the bins or levels begin and end in the unit interval: one more than there are of them."""
        return np.array([0.0, *self.edges, 1.0] if self.edges else np.linspace(0, 1, self.size + 1), dtype=np.float32)


class ContinuousTask(Task):
    """A task whose latents are points of the unit cube (n, D), one entry for each `Range`."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range, ...]:
        """The latents, in order."""

    @property
    @final
    def space(self) -> Space:
        """The bins of the latents."""
        return Space(tuple(latent.factor for latent in self.ranges))

    @final
    def latents(self, combinations: Codes, *, seed: int) -> Tensor:
        """A point drawn evenly within each combination's bins."""
        rng = torch.Generator().manual_seed(seed)
        codes = np.asarray(combinations, dtype=np.int64)
        columns = [(latent.limits, codes[:, k]) for k, latent in enumerate(self.ranges)]
        low = torch.from_numpy(np.stack([limits[code] for limits, code in columns], axis=1))
        high = torch.from_numpy(np.stack([limits[code + 1] for limits, code in columns], axis=1))
        points = low + (high - low) * torch.rand(low.shape, generator=rng)
        return torch.minimum(points, torch.nextafter(high, low))  # rounding must not carry a point into the next bin

    @final
    def combinations(self, latents: Tensor) -> Codes:
        """The bin that each entry lies in: a limit belongs to the bin above it, and 1 to the last."""
        points = latents.detach().cpu().numpy()
        inner = [latent.limits[1:-1] for latent in self.ranges]
        found = [np.searchsorted(limits, points[:, k], side="right") for k, limits in enumerate(inner)]
        return np.stack(found, axis=1).astype(np.int64)


def factor_columns(space: Space, codes: Codes) -> dict[str, pa.Array]:
    """Codes as columns of values, one for each factor; a factor left out (-1) is missing."""
    return {
        factor.name: pa.array(list(factor.values)).take(pa.array(codes[:, k], mask=codes[:, k] < 0))
        for k, factor in enumerate(space.factors)
    }


def one_of(setting: str, given: object, kind: object) -> None:
    """Refuse what is none of the words of a `Literal`.

    >>> from typing import Literal
    >>> one_of("rule", "summ", Literal["first", "sum"])
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: rule='summ'
      why      rule has no such value
      instead  did you mean 'sum'?
    """
    check_choice(setting, given, get_args(kind), why=f"{setting} has no such value")


def at_least(setting: str, given: int, least: int) -> None:
    """Refuse a number that is too small."""
    check_number(setting, given, least=least, why=f"it is below {least}", instead=f"write {setting}={least} or more")
