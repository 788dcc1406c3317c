"""What the conjunction tasks share: a code for the factors, the answers' form, and the sets that are shown and asked.

A task says which factors there are, what the answer is, and which combinations are shown; the rest is done here.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from recombine.errors import SettingError
from recombine.lab.tasks.checks import one_of
from recombine.lab.tasks.digits.images import CLASSES, ImageSet
from recombine.lab.tasks.digits.pairs import permutation
from recombine.lab.tasks.digits.pictures import Pictures
from recombine.lab.tasks.exposure import Cells, Parts
from recombine.lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes
from recombine.tables.space import Space

Code = Literal["onehot", "images"]
Form = Literal["classes", "values"]


@dataclass(frozen=True, kw_only=True)
class ConjunctionTask(DiscreteTask):
    """Settings of the code, the same for all of these tasks.

    `onehot`: a one-hot vector for each factor, one after the other; a factor left out is all zero. `images`: each
    value is a class of a data set of images, each factor has channels of its own, and its image is drawn anew every
    time. The factors' images stand `distance` pixels apart, on a canvas of a fixed width where `canvas` is given;
    `per_class` limits the training images of each class; `augment` shifts and mirrors them; `mapping`, a seed, says
    which class stands for which value.
    """

    code: Code = "onehot"
    images: ImageSet = "mnist"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False
    mapping: int | None = None

    @final
    def __post_init__(self) -> None:
        one_of("code", self.code, Code)
        one_of("target", self.form, Form)
        self.check_settings()
        most = max(self.space.sizes)
        if self.code == "images":
            _ = self._pictures.shape(len(self.space.factors))
            if most > CLASSES:
                raise SettingError(
                    f"code='images' with {most} values",
                    why=f"there are images of {CLASSES} classes only",
                    instead="write code='onehot', or ask for fewer values",
                )

    @abstractmethod
    def check_settings(self) -> None:
        """Refuse settings that mean nothing."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Whether an answer is a class or a number."""

    @abstractmethod
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The answer to each combination, as a number; -1 and +1 where there are two classes."""

    @abstractmethod
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Which combinations the paper trains on."""

    @property
    @final
    def shapes(self) -> Shapes:
        """A vector or a picture, and one number or two classes."""
        sizes = self.space.sizes
        if self.code == "images":
            inputs: tuple[int, ...] = self._pictures.shape(len(sizes))
        else:
            inputs = (sum(sizes),)
        equal = self.code == "images" or len(set(sizes)) == 1
        outputs = (1,) if self.form == "values" else (2,)
        return Shapes(inputs=inputs, outputs=outputs, kind=self.form, slots=len(sizes) if equal else 1)

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The answers: numbers, or the classes 0 (for -1) and 1 (for +1)."""
        if (combinations < 0).any():
            raise SettingError(
                "a combination with a factor left out",
                why="the answer depends on every factor",
                instead="give a value for each factor",
            )
        answers = self.answers(combinations)
        return answers if self.form == "values" else np.asarray(answers > 0, dtype=np.int64)

    @final
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Codes or pictures, and answers."""
        codes = latents[:, : len(self.space.factors)].cpu().long()
        if self.code == "images":
            classes = torch.from_numpy(permutation(self.mapping))[codes]
            inputs = self._pictures.render(classes, codes < 0, seed=seed, part=part)
        else:
            inputs = multi_hot(codes, self.space.sizes)
        answers = torch.from_numpy(self.truth(codes.numpy()))
        answers = answers.float().unsqueeze(1) if self.form == "values" else answers
        return Batch(inputs.to(latents.device), answers.to(latents.device))

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the combinations are fixed
        """What the paper shows, and the rest of the space as `unseen`."""
        codes = self.every()
        shown = self.is_shown(codes)
        tests = {"seen": Cells(torch.from_numpy(codes[shown])), "unseen": Cells(torch.from_numpy(codes[~shown]))}
        return Parts(tests["seen"], tests)

    @property
    def _pictures(self) -> Pictures:
        return Pictures(
            images=self.images,
            layout="channels",
            distance=self.distance,
            canvas=self.canvas,
            per_class=self.per_class,
            augment=self.augment,
        )


@dataclass(frozen=True, kw_only=True)
class SignTask(ConjunctionTask):
    """A task whose answer is -1 or +1: as `target`, the classes 0 and 1, or these values."""

    target: Form = "classes"

    @property
    @final
    def form(self) -> Form:
        """As set."""
        return self.target


def multi_hot(codes: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A one-hot vector for each factor, one after the other.

    >>> multi_hot(torch.tensor([[1, 0]]), (2, 3))
    tensor([[0., 1., 1., 0., 0.]])
    """
    hots = [one_hot(codes[:, k] + 1, size + 1)[:, 1:] for k, size in enumerate(sizes)]
    return torch.cat(hots, dim=1).float()


def two_items(values: list[Any]) -> Space:
    """A space of two factors that take the same values."""
    return Space.of({"first": values, "second": values})
