"""One learner: a salience, a loss and a ridge, fitted to a table's answers, with its twin that memorises nothing.

How much memory it would take is told before it is taken (`refuse_too_large`). K factors have 2^K sets, and each has a
group for every seen conjunction: the arrays are small one by one and many together. What is counted here are the arrays
that grow with both sets and combinations, each at the size that it can reach: a table of 12 factors with 5,000
combinations was measured at 1.3 GB, and is counted as 3.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from recombine.base import limits
from recombine.base.checks import check_choice, check_number, check_seed
from recombine.base.errors import SettingError, TableError
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.kernel.dense_kernel import LARGEST, DenseKernel, Similarity, order_weights
from recombine.verbs.predict.kernel.hard_margin import margin, refuse_unless_separable
from recombine.verbs.predict.kernel.margin_matrix import MarginMatrix
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS, Weights, WeightsBySize, with_ends
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.solver import TOLERANCE, Penalty
from recombine.verbs.predict.kernel.squared_loss import (
    FEWEST_FACTORS,
    LARGEST_MATRIX,
    MANY_SETS,
    SMALL,
    ConjunctionFit,
    Duals,
    DualWeights,
    parts_of,
    squared,
)
from recombine.verbs.predict.kernel.variance import MOST_DRAWN, Uncertainty

Loss = Literal["squared", "margin"]
LOSSES = ("squared", "margin")
_NEARLY_NOTHING = 1e-3
"""The share of the full set's weight that stands for none of it, where the limit itself would be slow."""
_ALMOST_NO_PENALTY = 1e-7  # of a combination's similarity to itself, where the learner has none
LARGEST_CLOSED_FORM = 3_000
"""Combinations up to which a matrix is inverted to hold out every one of them: a second or two."""
MOST_HELD_OUT = 2_000
"""Of more combinations than that, so many are held out: their score is known to a percent or so."""
SHARE = 0.5
"""Of the machine's memory, for one prediction: the rest is for the table, the engine, and whoever else is there."""
_NUMBER = 8  # bytes
_MATRICES = 5  # of combinations by combinations: who agrees on what, the kernel, its factor, and two on the way
_DENSE_MATRICES = 2.5  # the factor, its inverse where all are held out, and what is compared at a time
_MOST_DRAWS = 64


@dataclass(frozen=True)
class FitSettings:
    """By which loss a learner learns, and how much noise it allows for in each example (`ridge`).

    "margin" is what cross-entropy tends to, "squared" what regression minimises. Without a loss: margin for labels and
    squared for numbers, and squared where a `salience` is given.
    """

    loss: Loss | None = None
    ridge: float = 0.0


@dataclass(frozen=True, eq=False)
class FittedLearner:
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
    def orders(self) -> tuple[float, ...] | None:
        """The weight of each order, where many factors make that the shorter way; else None.

        A free constant weighs 0 here.
        """
        many = isinstance(self.salience.weights, WeightsBySize) or self.salience.factors >= FEWEST_FACTORS
        if not many or len(self.support) > LARGEST or self.loss != "squared" or self.salience.full + self.noise <= 0:
            return None
        found = order_weights(self._bounded)
        return found if found is not None and min(found) >= 0 and self._inverted is not None else None

    @property
    def _bounded(self) -> Weights:
        """The weights without a free constant, which is solved for apart."""
        return with_ends(self.salience.weights, constant=0.0 if self.salience.free_constant else None)

    @cached_property
    def fitted(self) -> ConjunctionFit | DualWeights:
        """What it learnt."""
        if self.orders is not None:
            return DualWeights(self.support, self.orders, self._duals)
        return ConjunctionFit.of(self.support, tuple(self.salience.weights), self._duals)

    @cached_property
    def unleaked(self) -> ConjunctionFit | DualWeights:
        """What it would have learnt with next to no weight on the full combination."""
        if self.salience.full == 0:
            return self.fitted
        if self.orders is not None and (found := self._unleaked_by_matches(self.orders)) is not None:
            return found
        exact = self.loss == "squared" and (len(self.support) <= SMALL or self.noise > 0)
        weights = (*self.salience.weights[:-1], 0.0 if exact else _NEARLY_NOTHING * self.salience.full)
        return ConjunctionFit.of(self.support, weights, self._solve(weights, tolerance=1e-7))

    def _unleaked_by_matches(self, orders: tuple[float, ...]) -> DualWeights | None:
        full = 0.0 if self.noise > 0 else _NEARLY_NOTHING * orders[-1]
        made = self._inverted
        found = None if made is None else made.solve_with_less(self._bordered(), orders[-1] - full)
        return None if found is None else DualWeights(self.support, (*orders[:-1], full), self._unbordered(found))

    def _bordered(self) -> Numbers:
        """The answers, and beside them a column of ones where the constant is free."""
        values = self.answers.values
        if not self.salience.free_constant:
            return values
        return np.column_stack([values - values.mean(axis=0), np.ones(len(values))])

    def _unbordered(self, found: Numbers) -> Duals:
        """Dual weights from those of the bordered answers."""
        nothing = np.zeros(self.answers.questions)
        if not self.salience.free_constant:
            return Duals(found, nothing, 0.0, 0)
        solved, ones = found[:, :-1], found[:, -1]
        intercept = solved.sum(axis=0) / ones.sum()
        return Duals(solved - ones[:, None] * intercept, self.answers.values.mean(axis=0) + intercept, 0.0, 0)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """How sure it can be."""
        noise = self.noise / self.answers.counts
        return Uncertainty(
            self.support,
            self.salience.weights,
            self._penalty(self.salience.full),
            noise,
            seed=self.seed,
            inverted=None if self.orders is None else self._inverted,
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
        if self.orders is not None and self._inverted is not None:
            return self._unbordered(self._inverted.solve(self._bordered()))
        return self._solve(tuple(self.salience.weights), tolerance=TOLERANCE)

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

    def margin_left_out(self) -> Numbers | None:
        """What the others would answer of each combination, by the margin loss; None where there are too many."""
        made = MarginMatrix.of(self.support, tuple(self.salience.weights), self._penalty(self.salience.full))
        return None if made is None else made.left_out(self.answers.values)

    def inverted(self, *, most: int) -> DenseKernel | None:
        """Its kernel written out and inverted, for up to so many combinations; None where digits would be lost."""
        return self._inverted if len(self.support) <= most or self.orders is not None else None

    @cached_property
    def _inverted(self) -> DenseKernel | None:
        similarity = Similarity.of(with_ends(self._bounded, full=0.0), parts_of(self.support))
        own = self.salience.full + self.noise / self.answers.counts
        if not own.any():  # no penalty is the limit of a small one
            own = own + _ALMOST_NO_PENALTY * float(similarity.table[-1])
        return DenseKernel.of(self.support.codes, similarity, own, self._tested)

    @cached_property
    def _tested(self) -> Ints | None:
        """Which combinations are held out one at a time: all, or a sample that tells as much in less time."""
        if len(self.support) <= LARGEST_CLOSED_FORM:
            return None
        return np.random.default_rng(self.seed).choice(len(self.support), MOST_HELD_OUT, replace=False)

    def seen(self, codes: Codes) -> Ints:
        """Where each combination stands among those it was trained on; -1 where it is not among them."""
        return self.support.groups(range(codes.shape[1])).lookup(codes)


def learn(
    support: Support, answers: Answers, salience: Salience, *, loss: Loss, ridge: float, seed: int = 0
) -> FittedLearner:
    """Fit a learner to the combinations that have an answer."""
    check_choice("loss", loss, LOSSES, why="there are two losses", instead="write 'squared' or 'margin'")
    check_number("ridge", ridge, least=0, why="a ridge is a number from 0 on", instead="write ridge=0.0")
    check_seed(seed)
    if loss == "margin":
        refuse_unless_separable(answers)
    if support.space.set_factors:
        salience.check_signs()
    else:
        salience.check(support.space.sizes, names=support.space.names)
    refuse_too_large(support, salience.weights, questions=answers.questions)
    learner = FittedLearner(trained(support, answers), answers, salience, loss, ridge, seed)
    if isinstance(salience.weights, WeightsBySize):
        _refuse_unless_matched(learner)
    return learner


def _refuse_unless_matched(learner: FittedLearner) -> None:
    """With so many factors, or with sets, there is one way only: by the number of matches, in one matrix."""
    sets, seen = bool(learner.support.space.set_factors), len(learner.support)
    over = "sets" if sets else f"{learner.salience.factors} factors"
    where = "of sets" if sets else f"above {MOST_FACTORS} factors"
    fewer = "" if sets else f", or name at most {MOST_FACTORS} factors"
    if learner.loss != "squared":
        raise SettingError(
            f"the margin loss over {over}",
            why=f"{where} the squared loss alone is worked out, by how much two combinations share",
            instead=f"write loss='squared' (--loss squared){fewer}",
        )
    if seen > LARGEST:
        raise TableError(
            f"a prediction over {over} from {seen:,} combinations",
            why=f"{where} it takes a matrix of combinations by combinations, at most {LARGEST:,}",
            instead=f"predict from fewer combinations (`where`){fewer}"
            + ("; recombine.audit(…).explain says what adding up the elements gives" if sets else ""),
        )
    if learner.orders is None:
        raise SettingError(
            f"a prediction over {over} with next to no weight on the full combination",
            why=f"{where} one matrix is solved, and without a penalty it loses its digits",
            instead="add a ridge: ridge=0.01 (--ridge 0.01)",
        )


def trained(support: Support, answers: Answers) -> Support:
    """The combinations that have an answer; the support itself where all of them do."""
    return support if len(answers) == len(support) else support.subset(answers.rows)


def refuse_too_large(support: Support, weights: Weights, *, questions: int, rows: int = 0) -> None:
    """Refuse what this machine cannot hold, in words; `rows` are the combinations that will be asked for."""
    sizes, seen = support.space.sizes, len(support)
    if seen > LARGEST and isinstance(weights, WeightsBySize):
        return  # refused for that, below
    room = SHARE * limits.memory_here()
    if (needed := _needed(sizes, weights, seen, questions, rows)) <= room:
        return
    fewer = [
        k
        for k in range(2, min(len(sizes), MOST_FACTORS + 1))
        if _needed_by_few(sizes, k, seen, questions, rows) <= room
    ]
    raise TableError(
        f"a prediction over {len(weights):,} sets of {len(sizes)} factors with {seen:,} combinations",
        why=f"it would take about {_gigabytes(needed)} of memory, and may take {_gigabytes(room)} here",
        instead=f"name at most {fewer[-1]} factors: those that matter most"
        if fewer
        else "name fewer factors, or predict from fewer combinations (`where`), or on a larger machine",
    )


def _gigabytes(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB"


def _needed_by_few(sizes: Sequence[int], few: int, seen: int, questions: int, rows: int) -> float:
    """The same with only some of the factors, those with most values, if every set of them had a weight."""
    kept = sorted(sizes, reverse=True)[:few]
    return _needed(kept, (1.0,) * 2**few, min(seen, int(np.prod(kept, dtype=np.float64))), questions, rows)


def _needed(sizes: Sequence[int], weights: Weights, seen: int, questions: int, rows: int) -> float:
    """Bytes: groups of every set, the coefficients of two learners, and what solving and its variances take."""
    by_matches = seen <= LARGEST and (len(sizes) >= FEWEST_FACTORS or isinstance(weights, WeightsBySize))
    if by_matches and order_weights(with_ends(weights, constant=0.0)) is not None:
        return float(_NUMBER * (_DENSE_MATRICES * float(seen) ** 2 + 2 * seen * questions * len(sizes)))
    groups = _groups(sizes, seen)
    weighty = np.flatnonzero(np.asarray(weights)[1:-1]) + 1
    numbered = seen * len(groups) + 2 * groups.sum()  # a number for each combination, a key and one member a group
    learnt = 2 * questions * groups[weighty].sum()
    drawn = _MOST_DRAWS * groups[weighty].sum()
    if seen <= LARGEST_MATRIX and len(weighty) > MANY_SETS:
        solved = _MATRICES * float(seen) ** 2 + min(drawn, MOST_DRAWN)
    elif seen <= SMALL:
        solved = _MATRICES * float(seen) ** 2
    else:
        # each set is linked with those that have one factor less; a link is a number, and a sparse entry in products
        links = sum(int(mask).bit_count() for mask in weighty)
        solved = 3 * (seen + links * groups[weighty].mean()) + drawn if len(weighty) else 0.0
        solved += rows * len(weighty)
    return float(_NUMBER * (numbered + learnt + solved))


def _groups(sizes: Sequence[int], seen: int) -> Numbers:
    """For each set of factors, as many groups as it can have: its conjunctions, or the seen combinations."""
    conjunctions = np.ones(1)
    for size in sizes:
        conjunctions = np.concatenate([conjunctions, np.minimum(conjunctions * size, seen)])
    return conjunctions
