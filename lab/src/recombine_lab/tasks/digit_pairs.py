"""Two digits in one picture, of which one is asked for and the other is redundant: a paired experiment.

In setting A the second digit tells much about the first; in B it tells nothing. All else is equal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.errors import SettingError
from recombine.seeds import derived
from recombine.tables.space import Space
from recombine_lab.tasks.exposure import FiniteSource, Parts
from recombine_lab.tasks.pictures import CLASSES, ImageSet, Layout, Pictures
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, one_of

Rule = Literal["first", "second", "same", "sum", "sum_mod_10"]
Setting = Literal["A", "B", "B-noise"]


@dataclass(frozen=True, kw_only=True)
class DigitPairs(DiscreteTask):
    """Two digits, and a rule that gives the answer.

    Sets of its own: in A the second digit is the first plus one of `offsets`, modulo 10, and the other offsets are
    asked about. In B the second digit is any, so that the pairs asked about have been seen: they are called `test`, not
    `unseen`. B-noise shows the pairs of A, but noise in place of the second image; `noised` asks for them as they are
    shown. The setting says nothing to splitters.

    Rules: `first` and `second` (that digit), `same` (whether they are equal), `sum` (a number) and `sum_mod_10`, the
    two sums over the digits' values: a digit is its own value, unless `mapping`, a seed, exchanges them.

    >>> task = DigitPairs(images="synthetic")
    >>> batch = task.tensors([[3, 4], [0, 9]], seed=0)
    >>> batch.inputs.shape, batch.targets
    (torch.Size([2, 1, 28, 56]), tensor([3, 0]))
    """

    images: ImageSet = "mnist"
    layout: Layout = "side"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False
    setting: Setting = "A"
    rule: Rule = "first"
    offsets: tuple[int, ...] = (0, 1)
    mapping: int | None = None

    def __post_init__(self) -> None:
        one_of("setting", self.setting, Setting)
        one_of("rule", self.rule, Rule)
        # raises where the pictures themselves make no sense
        _ = self._pictures.shape(2)
        if not 0 < len({offset % CLASSES for offset in self.offsets}) < CLASSES:
            raise SettingError(
                f"offsets={self.offsets!r}",
                why="some of the ten offsets are shown, and the others are asked about",
                instead="write for example offsets=(0, 1)",
            )

    @property
    @final
    def space(self) -> Space:
        """The first digit and the second."""
        return Space.of({"first": range(CLASSES), "second": range(CLASSES)})

    @property
    @final
    def shapes(self) -> Shapes:
        """A picture, and a digit, a yes or no, or a number."""
        slots = 2 if self.layout == "channels" else 1
        outputs = {"same": 2, "sum": 1}.get(self.rule, CLASSES)
        kind: Literal["values", "classes"] = "values" if self.rule == "sum" else "classes"
        return Shapes(inputs=self._pictures.shape(2), outputs=(outputs,), kind=kind, slots=slots)

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """What the rule gives for each pair."""
        first, second = combinations[:, 0], combinations[:, 1]
        asked = {"first": first, "second": second}.get(self.rule, combinations)
        if (asked < 0).any():
            raise SettingError(
                f"rule={self.rule!r} with a digit left out",
                why="its answer depends on that digit",
                instead="write rule='first', or give both digits",
            )
        if self.rule == "same":
            return np.asarray(first == second, dtype=np.int64)
        if self.rule in ("first", "second"):
            return np.asarray(asked, dtype=np.int64)
        sums = self._values[first] + self._values[second]
        return sums.astype(np.float64) if self.rule == "sum" else np.asarray(sums % CLASSES, dtype=np.int64)

    @final
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Pictures and answers. A third column that is not 0, or a digit left out, puts noise in the digit's place."""
        codes = latents[:, :2].cpu().long()
        hidden = codes < 0
        if latents.shape[1] > 2:
            hidden[:, 1] |= latents[:, 2].cpu() != 0
        pictures = self._pictures.render(codes, hidden, seed=seed, part=part)
        answers = torch.from_numpy(self.truth(codes.numpy()))
        answers = answers.float().unsqueeze(1) if self.rule == "sum" else answers
        return Batch(pictures.to(latents.device), answers.to(latents.device))

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the pairs are fixed
        """The pairs that the setting shows, and those of the other offsets."""
        codes = self.every()
        shown = self._is_shown(codes)
        band, others = torch.from_numpy(codes[shown]), torch.from_numpy(codes[~shown])
        if self.setting == "B":
            everything = FiniteSource(torch.from_numpy(codes))
            return Parts(everything, {"seen": everything, "test": FiniteSource(others)})
        asked = {"seen": FiniteSource(band), "unseen": FiniteSource(others)}
        if self.setting == "A":
            return Parts(asked["seen"], asked)
        noised = FiniteSource(torch.cat([band, torch.ones_like(band[:, :1])], dim=1))
        return Parts(noised, asked | {"noised": noised})

    def _is_shown(self, codes: Codes) -> npt.NDArray[np.bool_]:
        offsets = [offset % CLASSES for offset in self.offsets]
        return np.isin((codes[:, 1] - codes[:, 0]) % CLASSES, offsets)

    @property
    def _pictures(self) -> Pictures:
        return Pictures(
            images=self.images,
            layout=self.layout,
            distance=self.distance,
            canvas=self.canvas,
            per_class=self.per_class,
            augment=self.augment,
        )

    @cached_property
    def _values(self) -> npt.NDArray[np.int64]:
        return permutation(self.mapping)


def permutation(seed: int | None) -> npt.NDArray[np.int64]:
    """The ten classes in their own order, or in one drawn by a seed."""
    if seed is None:
        return np.arange(CLASSES)
    return np.random.default_rng(derived(seed, "mapping")).permutation(CLASSES)
