"""Four items of which one is odd, and the sets of such problems that tell two components of a rule apart.

The rule has two components, called *first* and *second* here. An item keeps both, unless the set says otherwise:

| set | the three others | the odd one |
|---|---|---|
| `base` | keep both | breaks the first, the second, or (scenes, not sentences) both |
| `mask_first` | keep the first, the second is left to chance | breaks the first, the second is left to chance |
| `mask_second` | the same with the two exchanged | |
| `both_violated` | keep both | breaks both |
| `target_first`, `other_second` | keep both | breaks only the first |
| `target_second`, `other_first` | keep both | breaks only the second |

A *target* set needs the component that it names, an *other* set needs the one that it does not name.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.checks import check_choice
from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data.space import Space, Value
from recombine_lab.tasks.exposure import FiniteSource, Parts
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part

ProblemSet = Literal[
    "base",
    "mask_first",
    "mask_second",
    "both_violated",
    "target_first",
    "target_second",
    "other_first",
    "other_second",
]
ITEMS = 4
BROKEN = ("first", "second", "both")
_BREAKS = torch.tensor([[True, False], [False, True], [True, True]])
_NEITHER, _FIRST, _SECOND = -1, 0, 1


@dataclass(frozen=True)
class _Contents:
    """What a set holds: which breaks the odd item can show, and which component chance decides in the others."""

    broken: tuple[int, ...]
    by_chance: int = _NEITHER


_CONTENTS: Mapping[str, _Contents] = {
    "base": _Contents((0, 1, 2)),
    "mask_first": _Contents((0, 2), _SECOND),
    "mask_second": _Contents((1, 2), _FIRST),
    "both_violated": _Contents((2,)),
    "target_first": _Contents((0,)),
    "target_second": _Contents((1,)),
    "other_first": _Contents((1,)),
    "other_second": _Contents((0,)),
}


class OddOneOutTask(DiscreteTask):
    """Which of four items is the odd one? The class is its position, 0 to 3.

    Factors: `broken`, what the odd item breaks; `odd`, where it stands; and what a concrete task adds. A latent row may
    carry one column more: the component that chance decides in the other items (0 or 1), or -1 for neither. Without it
    the task's own set decides.
    """

    set: ProblemSet

    @property
    @abstractmethod
    def both_in_base(self) -> bool:
        """Whether the odd item of the base set can break both components."""

    @property
    @abstractmethod
    def further(self) -> Mapping[str, Sequence[Value]]:
        """The factors besides `broken` and `odd`."""

    @abstractmethod
    def items(self, kept: Tensor, further: Tensor, *, seed: int, part: Part) -> Tensor:
        """Four items for each problem: `kept` (n, 4, 2) says which components each keeps, `further` the other codes."""

    @property
    @final
    def space(self) -> Space:
        """The problems of this set."""
        values: dict[str, Sequence[Value]] = {"broken": BROKEN, "odd": range(ITEMS), **self.further}
        absent = [name for code, name in enumerate(BROKEN) if code not in self._contents.broken]
        return Space.of(values, impossible=[{"broken": name} for name in absent])

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """Where the odd item stands."""
        return np.asarray(combinations[:, 1])

    @final
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Problems with new items; nothing but the seed and the part decides what chance decides."""
        factors = 2 + len(self.further)
        own = torch.full_like(latents[:, :1], self._contents.by_chance)
        by_chance = (latents[:, factors:] if latents.shape[1] > factors else own)[:, 0]
        self._check(latents[:, :factors], by_chance)
        broken, odd = latents[:, 0], latents[:, 1]
        kept = _kept(broken.cpu(), odd.cpu(), by_chance.cpu(), seed=derived(seed, "kept", part))
        items = self.items(kept, latents[:, 2:factors].cpu(), seed=derived(seed, "items", part), part=part)
        return Batch(items.to(latents.device), odd.to(torch.int64))

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - all of each set, nothing is drawn
        """This set to train on; it, the target and the other set to ask about, seen from the component of this set."""
        first = not self.set.endswith("second")
        shown = FiniteSource(self._cells(self._contents))
        tests = {
            "seen": shown,
            "target": FiniteSource(self._cells(_Contents((0,) if first else (1,)))),
            "other": FiniteSource(self._cells(_Contents((1,) if first else (0,)))),
        }
        return Parts(shown, tests)

    @final
    def check_set(self) -> None:
        """Refuse a set that is not one."""
        check_choice("set", self.set, _CONTENTS, why=f"the sets are {', '.join(_CONTENTS)}")

    @property
    def _contents(self) -> _Contents:
        found = _CONTENTS[self.set]
        return found if self.both_in_base or self.set != "base" else _Contents((0, 1))

    def _cells(self, contents: _Contents) -> Tensor:
        sizes = (len(contents.broken), ITEMS, *(len(values) for values in self.further.values()))
        grid = torch.cartesian_prod(*(torch.arange(size) for size in sizes))
        broken = torch.tensor(contents.broken)[grid[:, :1]]
        return torch.cat([broken, grid[:, 1:], torch.full_like(broken, contents.by_chance)], dim=1)

    def _check(self, codes: Tensor, by_chance: Tensor) -> None:
        if bool((codes < 0).any()):
            raise SettingError(
                "a problem with a factor left out",
                why="four items cannot be drawn before it is known what is odd, where, and how",
                instead=f"give a code for each of {', '.join(self.space.names)}",
            )
        masked = 1 - by_chance
        undecided = (by_chance >= 0) & ~_BREAKS[codes[:, 0].cpu(), masked.clamp(0, 1).cpu()].to(codes.device)
        if bool(undecided.any()):
            component = BROKEN[int(masked[undecided][0])]
            raise SettingError(
                f"a problem of the set {self.set!r} whose odd item keeps the {component} component",
                why="the other component is left to chance in all four items, so that none would be odd",
                instead=f"let it break the {component} component, or both",
            )


def _kept(broken: Tensor, odd: Tensor, by_chance: Tensor, *, seed: int) -> Tensor:
    """Which components each item keeps (n, 4, 2)."""
    rng = torch.Generator().manual_seed(seed)
    coins = torch.rand(len(broken), ITEMS, generator=rng) < 0.5
    free = by_chance[:, None] == torch.arange(2)
    kept = torch.where(free[:, None, :], coins[:, :, None], torch.ones(1, dtype=torch.bool))
    is_odd = odd[:, None] == torch.arange(ITEMS)
    return torch.where(is_odd[:, :, None], ~_BREAKS[broken][:, None, :], kept)
