"""One learner: a salience, a loss and a ridge, fitted to a table's answers, with its twin that memorises nothing."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from recombine.algebra.groups import Codes, Ints
from recombine.checks import check_choice, check_number, check_seed
from recombine.tables.support import Support
from recombine.theory.answers import Answers
from recombine.theory.fitted import Fitted
from recombine.theory.margin import margin, refuse_unless_separable
from recombine.theory.memory import refuse_too_large
from recombine.theory.salience import Salience
from recombine.theory.solver import TOLERANCE, Penalty
from recombine.theory.squared import SMALL, Duals, squared
from recombine.theory.variance import Uncertainty

Loss = Literal["squared", "margin"]
LOSSES = ("squared", "margin")
_NEARLY_NOTHING = 1e-3
"""The share of the full set's weight that stands for none of it, where the limit itself would be slow."""


@dataclass(frozen=True, eq=False)
class Learner:
    """A fitted learner, and what it would answer if nothing could be memorised in the full combination."""

    support: Support  # what it was trained on
    answers: Answers  # one line for each combination of `support`
    salience: Salience
    loss: Loss
    ridge: float
    seed: int = 0

    @property
    def noise(self) -> float:
        """The variance of one example around its combination's answer, as far as the learner allows for any."""
        return self.salience.noise + self.ridge

    @cached_property
    def fitted(self) -> Fitted:
        """What it learnt."""
        return Fitted.of(self.support, self.salience.weights, self._duals)

    @cached_property
    def unleaked(self) -> Fitted:
        """What it would have learnt with next to no weight on the full combination."""
        weights = self.salience.weights
        if weights[-1] == 0:
            return self.fitted
        exact = self.loss == "squared" and (len(self.support) <= SMALL or self.noise > 0)
        weights = (*weights[:-1], 0.0 if exact else _NEARLY_NOTHING * weights[-1])
        return Fitted.of(self.support, weights, self._solve(weights, tolerance=1e-7))

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """How sure it can be."""
        noise = self.noise / self.answers.counts
        return Uncertainty(
            self.support, self.salience.weights, self._penalty(self.salience.full), noise, seed=self.seed
        )

    @cached_property
    def scale(self) -> float:
        """The target's variance for one unit of the kernel's, by maximum likelihood; 1 where it was fitted to them."""
        if self.salience.name == "fit" or self.loss == "margin":
            return 1.0
        intercept = np.isinf(self.salience.weights[0])
        free = len(self.answers) - intercept
        values = self.answers.values
        if intercept:  # the duals then sum to 0, so a constant adds nothing but rounding
            values = values - values.mean(axis=0)
        explained = float((values * self._duals.weights).sum())
        return max(explained, 0.0) / max(int(free) * self.answers.questions, 1)

    @cached_property
    def _duals(self) -> Duals:
        return self._solve(self.salience.weights, tolerance=TOLERANCE)

    def _solve(self, weights: tuple[float, ...], *, tolerance: float) -> Duals:
        if not any(weights[:-1]) and weights[-1] + self.noise == 0:
            nothing = np.zeros_like(self.answers.values)
            return Duals(nothing, np.zeros(self.answers.questions), 0.0, 0)
        penalty = self._penalty(weights[-1])
        if self.loss == "margin":
            return margin(self.support, weights, penalty, self.answers.values)
        return squared(self.support, weights, penalty, self.answers.values, tolerance=tolerance)

    def _penalty(self, full: float) -> Penalty:
        return Penalty.of(full, self.noise, self.answers.counts)

    def seen(self, codes: Codes) -> Ints:
        """Where each combination stands among those it was trained on; -1 where it is not among them."""
        return self.support.groups(range(codes.shape[1])).lookup(codes)


def learn(
    support: Support, answers: Answers, salience: Salience, *, loss: Loss, ridge: float, seed: int = 0
) -> Learner:
    """Fit a learner to the combinations that have an answer."""
    check_choice("loss", loss, LOSSES, why="there are two losses", instead="write 'squared' or 'margin'")
    check_number("ridge", ridge, least=0, why="a ridge is a number from 0 on", instead="write ridge=0.0")
    check_seed(seed)
    if loss == "margin":
        refuse_unless_separable(answers)
    salience.check(support.space.sizes, names=support.space.names)
    refuse_too_large(support, salience.weights, questions=answers.questions)
    return Learner(trained(support, answers), answers, salience, loss, ridge, seed)


def trained(support: Support, answers: Answers) -> Support:
    """The combinations that have an answer; the support itself where all of them do."""
    return support if len(answers) == len(support) else support.subset(answers.rows)
