"""The way from a first guess to the weights at which the likelihood is largest.

Newton steps with the average information, because they need few looks at a likelihood that is dear. A weight never
falls below zero: where a step would take it there it waits at zero, and it comes back when its slope is positive.
Where a step does not gain, it is halved; where that does not help either, a step of expectation-maximisation is taken,
which is slow and sure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.theory.estimation.likelihood import Likelihood, Piece

_FLOOR = 1e-5  # of the answers' variance: below it, memory cannot be told from rounding
_NOTHING = 1e-30
_ROUNDS = 200
_HALVINGS = 6
_SWEEPS = 100
_GAIN = 1e-9  # in log-likelihood; where no more is to be had, the climb is over


@dataclass(frozen=True, eq=False)
class Fit:
    """Where the climb ended, in units of the answers' variance."""

    weights: Numbers
    likelihood: Likelihood
    floor: Numbers
    settled: bool = True


def fit(pieces: Sequence[Piece], noise: float) -> Fit:
    """Climb from the moments to the top."""
    climb = Climb(pieces, noise)
    weights = climb.start()
    here = climb.at(weights)
    for _ in range(_ROUNDS):
        step = climb.newton(weights, here)
        if step is not None and step @ here.slope < 2 * _GAIN:
            break
        before, (weights, here) = here, climb.onward(weights, here, step)
        if here.value - before.value < _GAIN:
            break
    else:
        return Fit(weights, here, climb.floor, settled=False)
    return Fit(weights, here, climb.floor)


class Climb:
    """The steps of one estimate."""

    def __init__(self, pieces: Sequence[Piece], noise: float) -> None:
        self.pieces, self.noise = pieces, noise
        self.levels = np.sum([piece.levels for piece in pieces], axis=0)
        self.floor = np.zeros(len(self.levels))
        self.floor[-1] = _FLOOR

    def at(self, weights: Numbers) -> Likelihood:
        """The likelihood, summed over the pieces; worse than any other where a matrix has no inverse."""
        try:
            found = [piece.likelihood(weights, self.noise) for piece in self.pieces]
        except np.linalg.LinAlgError:
            nothing = np.zeros(len(weights))
            return Likelihood(-math.inf, nothing, np.diag(nothing))
        return sum(found[1:], found[0])

    def start(self) -> Numbers:
        """Products of answers regressed on the kernels (Haseman and Elston; MINQUE(0)), kept away from zero."""
        overlap = np.sum([piece.overlap for piece in self.pieces], axis=0)
        moments = np.sum([piece.moments(self.noise) for piece in self.pieces], axis=0)
        weights = np.zeros(len(moments))
        for place in [*range(len(weights))] * _SWEEPS:
            left = moments[place] - overlap[place] @ weights
            weights[place] = max(0.0, weights[place] + left / overlap[place, place])
        return np.asarray(0.9 * weights + 0.1 / (self.pieces[0].own * len(weights)))

    def newton(self, weights: Numbers, here: Likelihood) -> Numbers | None:
        """The step to the top of the parabola, among weights that are not below the floor; None where there is none."""
        step = np.zeros(len(weights))
        free = ((weights > self.floor) | (here.slope > 0)) & (here.information.diagonal() > _NOTHING)
        while free.any():
            inner = here.information[np.ix_(free, free)]
            pull = here.slope[free] - here.information[np.ix_(free, ~free)] @ step[~free]
            scale = np.sqrt(inner.diagonal())
            try:
                step[free] = np.linalg.solve(inner / np.outer(scale, scale), pull / scale) / scale
            except np.linalg.LinAlgError:
                return None
            low = free & (weights + step < self.floor)
            if not low.any():
                return step if np.isfinite(step).all() else None
            step[low] = (self.floor - weights)[low]
            free &= ~low
        return step

    def onward(self, weights: Numbers, here: Likelihood, step: Numbers | None) -> tuple[Numbers, Likelihood]:
        """The longest of the step, its half, its quarter … that gains; where none does, a surer and shorter one."""
        for halving in range(0 if step is None else _HALVINGS):
            there = np.maximum(weights + step / 2**halving, self.floor)
            found = self.at(there)
            if found.value >= here.value:
                return there, found
        return self.expectation(weights, here)

    def expectation(self, weights: Numbers, here: Likelihood) -> tuple[Numbers, Likelihood]:
        """A step of expectation-maximisation: slow, but it never loses, except to rounding."""
        questions = self.pieces[0].data.values.shape[1]
        there = np.maximum(weights + 2 * weights**2 * here.slope / (questions * self.levels), self.floor)
        found = self.at(there)
        return (there, found) if found.value >= here.value else (weights, here)
