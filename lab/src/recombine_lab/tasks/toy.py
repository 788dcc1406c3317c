"""The smallest task with an unseen combination: two numbers, of which only the first matters."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import Tensor

from recombine.checks import check_choice
from recombine_lab.tasks.exposure import Parts, source_of
from recombine_lab.tasks.task import Batch, Codes, ContinuousTask, Part, Range, Shapes

_MIDDLE = 1 - 2.0**-24  # the number below 1, so that a number is above 0 exactly where its factor is 1
_TRAINING = {
    "A": [(0, 0), (0, 1), (1, 0)],
    # The same share of each y1 as in A, but both y2 alike: x2 is then uniform on [-1, 1], whatever y1 is.
    "B": [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 1)],
}


@dataclass(frozen=True, kw_only=True)
class Toy(ContinuousTask):
    """Inputs x1 and x2 in [-1, 1]; the class is y1 = [x1 > 0]. A factor is 1 where its number is above 0.

    With the task's own sets, training has (0, 0), (0, 1) and (1, 0) evenly, and `unseen` asks for (1, 1). So x2 tells
    something of y1. In setting B it does not: in training x2 is uniform on [-1, 1], whatever y1 is. (1, 1) is then no
    longer unseen, which cannot be helped; it keeps its name so that A and B can be held against each other.

    >>> batch = Toy().tensors([[0, 1], [1, 0]], seed=0)
    >>> (batch.inputs > 0).tolist(), batch.targets.tolist()
    ([[False, True], [True, False]], [0, 1])
    """

    setting: Literal["A", "B"] = "A"

    def __post_init__(self) -> None:
        check_choice(
            "setting",
            self.setting,
            _TRAINING,
            why="the second number either tells something of the class, or does not",
            instead="write setting='A' if it shall, setting='B' if not",
        )

    @property
    def ranges(self) -> tuple[Range, ...]:
        """x1 and x2, of which an audit sees the sign."""
        return (Range("y1", -1.0, 1.0, levels=(0, 1)), Range("y2", -1.0, 1.0, levels=(0, 1)))

    @property
    def shapes(self) -> Shapes:
        """Two numbers go in, two classes come out."""
        return Shapes(inputs=(2,), outputs=(2,), kind="classes")

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """The numbers, and the class of the first."""
        return Batch(2 * latents - _MIDDLE, (latents[:, 0] >= 0.5).long())

    def truth(self, combinations: Codes) -> Codes:
        """y1."""
        return combinations[:, 0]

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - sources draw with seeds of their own
        """The training combinations of the setting, and (1, 1)."""
        train = source_of(self, np.array(_TRAINING[self.setting], dtype=np.int64))
        return Parts(train, {"seen": train, "unseen": source_of(self, np.array([[1, 1]], dtype=np.int64))})
