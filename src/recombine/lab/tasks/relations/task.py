"""Relational scenes: which of four images of random outlines breaks the rule?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final, get_args

import torch
from torch import Tensor

from recombine.errors import SettingError, nearest
from recombine.lab.tasks.odd_one_out import ITEMS, OddOneOutTask, ProblemSet
from recombine.lab.tasks.relations.drawing import lines
from recombine.lab.tasks.relations.scenes import Proportions, Scenes, clumps, nested_pairs, one_pair
from recombine.lab.tasks.task import Part, Shapes
from recombine.seeds import derived
from recombine.tables.space import Value

Rule = Literal["inside_contact", "inside_number", "contact_number"]
_NUMBERS = (2, 3)
_SMALLEST, _FINE = 32, 128
_AT_ONCE = 64
_DARKEST, _LIGHTEST = 0.0, 0.6


@dataclass(frozen=True, kw_only=True)
class Relations(OddOneOutTask):
    """Odd-one-out of four images of random outlines. The first component of a rule stands first in its name.

    - `inside_contact`: a small outline inside a large one, touching it. Broken: outside; apart from it.
    - `inside_number`: N pairs, a small outline inside a large one. Broken: one pair beside each other; N − 1 or N + 1.
    - `contact_number`: a clump of N outlines. Broken: one of them apart; N − 1 or N + 1. A clump of one touches; where
      one outline would have to be apart from itself, there are N + 1.

    N is 2 or 3 and the same for all four images; it is the factor `number`. Outlines touch where their middle lines
    come as near as 1/500 of the frame. They are apart from 3 % of the frame on, or from 2½ pixels where that is more
    (1¾ where contact is not asked for). Below 128 pixels they are drawn larger, so that this can be seen. Each image
    has a line colour of its own. Pixels x are given as (x − mean) / deviation.

    >>> problems = Relations(rule="inside_contact", size=32).tensors([(0, 2), (1, 3)], seed=0)
    >>> problems.inputs.shape, problems.targets
    (torch.Size([2, 4, 3, 32, 32]), tensor([2, 3]))
    """

    rule: Rule
    set: ProblemSet = "base"
    size: int = 128
    mean: float = 0.9
    deviation: float = 0.1

    def __post_init__(self) -> None:
        self.check_set()
        if self.rule not in get_args(Rule):
            raise SettingError(
                f"rule={self.rule!r}",
                why=f"the rules are {', '.join(get_args(Rule))}",
                instead=nearest(str(self.rule), get_args(Rule)),
            )
        if self.size < _SMALLEST:
            raise SettingError(
                f"size={self.size!r}",
                why=f"below {_SMALLEST} pixels lines that touch and lines that do not look the same",
                instead=f"write size={_SMALLEST}, 64 or 128",
            )
        if not self.deviation > 0:
            raise SettingError(
                f"deviation={self.deviation!r}",
                why="pixels are divided by it",
                instead="write deviation=0.1, or mean=0, deviation=1 for pixels from 0 to 1",
            )

    @property
    @final
    def both_in_base(self) -> bool:
        """A third of the base set breaks both components."""
        return True

    @property
    @final
    def further(self) -> Mapping[str, Sequence[Value]]:
        """How many there are, where the rule counts."""
        return {} if self.rule == "inside_contact" else {"number": _NUMBERS}

    @property
    @final
    def shapes(self) -> Shapes:
        """Four images in, one of four classes out."""
        return Shapes(inputs=(ITEMS, 3, self.size, self.size), outputs=(ITEMS,), kind="classes")

    @final
    def items(self, kept: Tensor, further: Tensor, *, seed: int, part: Part) -> Tensor:  # noqa: ARG002 - in the seed
        """Four images for each problem, (n, 4, 3, size, size)."""
        images = torch.empty(len(kept), ITEMS, 3, self.size, self.size)
        for number, start in enumerate(range(0, len(kept), _AT_ONCE)):
            rows = slice(start, start + _AT_ONCE)
            scenes = self.scenes(kept[rows], further[rows], seed=derived(seed, "scenes", number))
            chance = torch.Generator().manual_seed(derived(seed, "colours", number))
            colours = _DARKEST + (_LIGHTEST - _DARKEST) * torch.rand(len(scenes.present), 3, generator=chance)
            covered = lines(scenes.outlines, scenes.present, size=self.size, width=self._width)
            # White, less what the line takes away of it, already in the units of the inputs.
            white, ink = torch.tensor((1 - self.mean) / self.deviation), (colours - 1) / self.deviation
            drawn = torch.addcmul(white, covered[:, None], ink[..., None, None])
            images[rows] = drawn.reshape(-1, *images.shape[1:])
        return images

    @final
    def scenes(self, kept: Tensor, further: Tensor, *, seed: int) -> Scenes:
        """The outlines of each image: `kept` (n, 4, 2) says which components each keeps, `further` (n, …) codes N."""
        chance = torch.Generator().manual_seed(seed)
        first, second = kept.flatten(0, 1).unbind(dim=1)
        if self.rule == "inside_contact":
            return one_pair(first, second, self.proportions, chance=chance)
        counts = torch.tensor(_NUMBERS)[further[:, 0]].repeat_interleave(ITEMS)
        more = torch.rand(len(counts), generator=chance) < 0.5
        if self.rule == "inside_number":
            counts = torch.where(second, counts, counts + 2 * more - 1)
            return nested_pairs(first, counts, self.proportions, chance=chance)
        more |= ~first & (counts == _NUMBERS[0])
        counts = torch.where(second, counts, counts + 2 * more - 1)
        return clumps(first, counts, self.proportions, chance=chance)

    @cached_property
    def proportions(self) -> Proportions:
        """How large outlines are, by the rule; enlarged where pixels are few."""
        fine = self.size >= _FINE
        # Where contact is asked for, lines that do not touch must leave more than a pixel of white between them.
        apart = max(0.03, (1.75 if self.rule == "inside_number" else 2.5) / self.size)
        if self.rule == "inside_contact":
            large = (0.25, 0.5) if fine else (0.4, 0.55)
        elif self.rule == "inside_number":
            large = (0.2, 0.32) if fine else (0.26, 0.32)
        else:
            large = (0.14, 0.26) if fine else (0.18, 0.26)
        return Proportions(large=large, small=(1 / 4, 1 / 2.5), apart=apart)

    @property
    def _width(self) -> float:
        return max(1.0, self.size / 80)
