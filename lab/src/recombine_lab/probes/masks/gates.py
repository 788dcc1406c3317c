"""From scores to masks: what an estimator multiplies a weight by while it learns, and what is kept of it in the end.

Legend: s a real number for each group of weights, T the temperature, which rises from 1 to 200 while masks are learned.
Whatever the estimator, a group is kept where s > 0 and is taken out elsewhere, at s = 0 too; only such hard masks are
ever judged.
"""

import math
from typing import Literal

import torch
from torch import Tensor

Estimator = Literal["continuous", "hard concrete", "straight through"]
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
