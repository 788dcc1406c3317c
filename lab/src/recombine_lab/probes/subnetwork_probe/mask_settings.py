"""How masks are searched for: the grid of configurations, as published and as we would do it.

From scores to masks: what an estimator multiplies a weight by while it learns, and what is kept of it in the end.

Legend: s a real number for each group of weights, T the temperature, which rises from 1 to 200 while masks are learned.
The gradient learns nothing: its s are slopes, with their sign turned.
Whatever the estimator, a group is kept where s > 0 and is taken out elsewhere, at s = 0 too; only such hard masks are
ever judged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Literal

import torch
from torch import Tensor

from recombine.base.checks import check_choice, check_number, check_whole
from recombine.base.errors import SettingError
from recombine_lab.probes.probe import SettingsGroup

Estimator = Literal["continuous", "hard concrete", "straight through", "gradient"]
FINAL = 200.0
"""The temperature at the end."""
LOW, HIGH, BETA = -0.1, 1.1, 2 / 3
"""Hard concrete: the ends of the stretch, and the fixed temperature (Louizos et al. 2018)."""


def temperature(progress: float, final: float = FINAL) -> float:
    """From 1 to the final temperature, by the same factor at every step.

    >>> round(temperature(1 / 90), 6), round(temperature(1.0), 9)
    (1.060638, 200.0)
    """
    return float(final**progress)


def start_scale(start: float, progress: float) -> float:
    """What masks are multiplied by, so that the masked network starts as the network that it is a part of.

    1 / sigmoid(start) at the first step, and 1 at the last one, where the mask is hard and must not be scaled.

    >>> round(start_scale(0.0, 0.0), 3), start_scale(0.0, 1.0)
    (2.0, 1.0)
    """
    return float((1 + math.exp(-start)) ** (1 - progress))


def soft_mask(estimator: Estimator, scores: Tensor, heat: Tensor, noise: Tensor | None = None) -> Tensor:
    """What weights are multiplied by while a mask is learned; `noise` are logits of uniform numbers (hard concrete).

    >>> soft_mask("continuous", torch.tensor([-0.05, 0.0, 0.05, 0.1]), torch.tensor(1.0)).round(decimals=4).tolist()
    [0.48750001192092896, 0.5, 0.512499988079071, 0.5249999761581421]
    """
    if estimator == "continuous":
        return torch.sigmoid(heat * scores)
    if estimator == "hard concrete":
        drawn = torch.sigmoid((scores + (0.0 if noise is None else noise)) / (BETA if noise is not None else 1.0))
        return (drawn * (HIGH - LOW) + LOW).clamp(0.0, 1.0)
    smooth = torch.sigmoid(scores)
    return smooth + ((scores > 0).to(smooth.dtype) - smooth).detach()


def expected_open(estimator: Estimator, scores: Tensor, heat: Tensor) -> Tensor:
    """What the penalty counts: how much of each group is open, or how likely it is to be."""
    if estimator == "continuous":
        return torch.sigmoid(heat * scores)
    if estimator == "hard concrete":
        return torch.sigmoid(scores - BETA * math.log(-LOW / HIGH))
    return torch.sigmoid(scores)


def hard_mask(scores: Tensor) -> Tensor:
    """What is kept; its complement is what is taken out, so that the two add up to everything.

    >>> hard_mask(torch.tensor([-1.0, 0.0, 1.0])).tolist()
    [False, False, True]
    """
    return scores > 0


ESTIMATORS = ("continuous", "hard concrete", "straight through", "gradient")
GROUPS = ("weight", "row", "channel", "head")
ABLATIONS = ("zero", "mean", "resample", "re-init")
CONTROLS = ("re-initialised", "random", "shuffled", "magnitude", "saliency")
PUBLISHED_EPOCHS = 90
_STEPS = 300


@dataclass(frozen=True)
class MaskConfiguration:
    """One point of the search: learning rate, score at the start, weight of the penalty."""

    rate: float
    start: float
    penalty: float


@dataclass(frozen=True, kw_only=True)
class Search:
    """Everything that shapes a mask but the network and the data."""

    configurations: tuple[MaskConfiguration, ...]
    estimator: Estimator = "continuous"
    steps: int | None = _STEPS
    """None: as many as `PUBLISHED_EPOCHS` epochs take."""
    batch: int = 64
    scaled: bool = True
    """Start as the whole network: masks are multiplied by 1 / sigmoid(start), less and less."""
    penalty_shared: bool = True
    """The penalty is divided by the number of masked weights."""
    per_epoch: bool = False
    """The temperature rises once an epoch, not at every step."""
    spread: float = 0.01
    """Standard deviation of the scores at the start, which breaks ties between copies of the same part."""
    eps: float = 1e-12
    against: float = 0.0
    """Weight of the term that lowers the other components; 0 for none."""
    final: float = FINAL
    published: bool = False

    def without_penalty(self) -> "Search":
        """The same search for masks that nothing makes sparse, and that lower no other component."""
        made = dict.fromkeys(replace(one, penalty=0.0) for one in self.configurations)
        return replace(self, configurations=tuple(made), against=0.0)

    def plain(self) -> dict[str, Any]:
        """As it stands in the provenance."""
        return asdict(self)


_USUAL: dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = {
    "continuous": ((0.01, 0.03), (0.1,), (0.1, 1.0)),
    "hard concrete": ((0.05, 0.2), (2.0,), (0.1, 1.0)),
    "straight through": ((0.01, 0.03), (0.1,), (0.1, 1.0)),
    "gradient": ((0.0,), (0.0,), (0.1, 1.0)),
}
"""Rates, starts and penalties that are tried for each estimator. The gradient is taken once: it has no rate."""
_PUBLISHED = ((1e-2, 1e-4), (-0.05, 0.0, 0.05, 0.1), (1e-8,))


Numbers = Sequence[float] | Mapping[str, Sequence[float]]
"""Numbers to try, for all estimators or by the name of each."""


@dataclass(frozen=True, kw_only=True)
class MaskSearch(SettingsGroup):
    """How masks are searched for.

    - `estimator`: "continuous" sparsification, "hard concrete", "straight through", or "gradient": the mask that is
      best by the slope of the loss in the whole network, for which nothing is learned. Several can be asked, in a list:
      the outcome is the one that all agree on (`agreement`), and "unclear" where they do not.
    - `published`: the published settings (no scaling, penalty summed, temperature by epoch, 90 epochs).
    - `against`: the weight of a term that lowers the other components while a mask is learned; it stands in the
      published text and not in the published code.
    - `rates`, `starts`, `penalties`: learning rates, scores at the start and weights of the penalty. Every combination
      of them is tried, and the sparsest mask that is sufficient on held-out examples of its own component is chosen.
      Where estimators need numbers of their own, by name: `rates={"continuous": [0.1], "hard concrete": [0.3]}`.
    - `steps`, `batch_size`: how long a mask is learned, and from how many examples at a time.
    """

    estimator: str | Sequence[str] = "continuous"
    published: bool = False
    against: float = 0.0
    rates: Numbers | None = None
    starts: Numbers | None = None
    penalties: Numbers | None = None
    steps: int | None = None
    batch_size: int = 64

    def searches(self) -> tuple[Search, ...]:
        """The search of each estimator that is asked for, with what was left out filled in."""
        names = [self.estimator] if isinstance(self.estimator, str) else list(self.estimator)
        for name in names:
            check_choice("estimator", name, ESTIMATORS)
        if not names or len(set(names)) < len(names):
            raise SettingError(
                f"estimator={names!r}",
                why="one or more are asked, each once",
                instead='write estimator=["continuous", "gradient"]',
            )
        return tuple(self._of(name, several=len(names) > 1).resolved() for name in names)

    def _of(self, estimator: str, *, several: bool) -> "MaskSearch":
        """These settings for one of the estimators: its own numbers, and of those for all, the ones that it has."""
        numbers = ("rates", "starts", "penalties")
        own: dict[str, Any] = {name: _numbers_of(getattr(self, name), estimator) for name in numbers}
        if several and estimator == "gradient":
            own |= {name: None for name in ("rates", "starts") if not isinstance(getattr(self, name), Mapping)}
            return replace(self, estimator=estimator, **own, steps=None)
        return replace(self, estimator=estimator, **own)

    def resolved(self) -> Search:
        """The search of the one estimator that is asked for."""
        check_choice("estimator", self.estimator, ESTIMATORS)
        assert isinstance(self.estimator, str)  # noqa: S101 - it is one of the choices
        check_whole("batch_size", self.batch_size, least=1)
        check_number("against", self.against, least=0)
        if self.steps is not None:
            check_whole("steps", self.steps, least=1)
        if self.published and self.estimator != "continuous":
            raise SettingError(
                f"published=True with estimator={self.estimator!r}",
                why="what was published is continuous sparsification",
                instead="leave one of the two out",
            )
        given = {"rates": self.rates, "starts": self.starts, "steps": self.steps}
        if self.estimator == "gradient" and (useless := [name for name, one in given.items() if one is not None]):
            raise SettingError(
                f"{useless[0]}={given[useless[0]]!r} with estimator='gradient'",
                why="the gradient is taken once, and nothing is learned in steps",
                instead=f"leave {useless[0]} out",
            )
        usual = _PUBLISHED if self.published else _USUAL[self.estimator]
        asked = (self.rates, self.starts, self.penalties)
        grid: list[Any] = [known if one is None else one for one, known in zip(asked, usual, strict=True)]
        _check_grid(grid, learned=self.estimator != "gradient")
        made = Search(
            configurations=tuple(MaskConfiguration(*map(float, point)) for point in product(*grid)),
            estimator=self.estimator,  # type: ignore[arg-type]  # it is one of the choices
            steps=self.steps,
            batch=self.batch_size,
            scaled=self.estimator == "continuous",
            against=self.against,
        )
        if not self.published:
            return made if self.steps is not None else replace(made, steps=_STEPS)
        return replace(made, scaled=False, penalty_shared=False, per_epoch=True, spread=0.0, eps=1e-8, published=True)


@dataclass(frozen=True, kw_only=True)
class MaskedWeights(SettingsGroup):
    """Which weights are masked, what of them is kept or left out as one, and how a part is taken out.

    - `parameters`: names or patterns of what is masked; else every matrix but embeddings.
    - `group`: "weight", "row" (all that leads into one output), "channel" (all that leaves one input), or "head", of
      which there are `heads`.
    - `ablation`: "zero" and "re-init" of weights ask whether a part can be carved out, "mean" and "resample" of the
      activations of rows, channels or heads whether it is used.
    """

    parameters: str | Sequence[str] | None = None
    group: str = "weight"
    heads: int | None = None
    ablation: str = "zero"

    def __post_init__(self) -> None:
        check_choice("group", self.group, GROUPS)
        check_choice("ablation", self.ablation, ABLATIONS)


@dataclass(frozen=True, kw_only=True)
class MaskEvidence(SettingsGroup):
    """What masks are held against before anything is concluded from them.

    - `controls`: who gets the same search: "re-initialised", "random", "shuffled", "magnitude", "saliency".
    - `seeds`: masks that are learned with the chosen settings, and judged.
    - `sufficient`: the accuracy that a part reaches alone, to be called enough for its component.
    - `base_accuracy`: the accuracy that the whole network must reach on every test.
    - `chance`: the accuracy of one answer for all, where targets are no classes.
    - `allow_repeats`: whether examples that masks are learned from may be among those that judge them.
    """

    controls: Sequence[str] = CONTROLS
    seeds: int = 4
    sufficient: float = 0.9
    base_accuracy: float = 0.9
    chance: float | None = None
    allow_repeats: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.controls, str):
            raise SettingError(
                f"controls={self.controls!r}", why="they are listed", instead=f"write controls=[{self.controls!r}]"
            )
        for control in self.controls:
            check_choice("controls", control, CONTROLS)
        check_whole("seeds", self.seeds, least=1)
        check_number("sufficient", self.sufficient, above=0, most=1)
        check_number("base_accuracy", self.base_accuracy, least=0, most=1)
        if self.chance is not None:
            check_number("chance", self.chance, least=0, below=1)


def _numbers_of(given: Numbers | None, estimator: str) -> Sequence[float] | None:
    """What was given for all estimators, or for this one; None for what is usual."""
    if not isinstance(given, Mapping):
        return given
    for name in given:
        check_choice("estimator", name, ESTIMATORS)
    return given.get(estimator)


def _check_grid(grid: Sequence[Any], *, learned: bool) -> None:
    for name, values in zip(("rates", "starts", "penalties"), grid, strict=True):
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise SettingError(
                f"{name}={values!r}", why="the search tries each of some numbers", instead=f"write {name}=(0.01, 0.1)"
            )
        for value in values:
            if name == "starts":
                check_number(name, value, above=-20, below=20)
            else:
                positive = name == "rates" and learned
                check_number(name, value, above=0 if positive else None, least=None if positive else 0)
