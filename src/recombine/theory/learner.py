"""One learner: a salience, a loss and a ridge, fitted to a table's answers, with its twin that memorises nothing.

How much memory it would take is told before it is taken (`refuse_too_large`). K factors have 2^K sets, and each has a
group for every seen conjunction: the arrays are small one by one and many together. What is counted here are the arrays
that grow with both sets and combinations, each at the size that it can reach: a table of 12 factors with 5,000
combinations was measured at 1.3 GB, and is counted as 3.3.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.checks import check_choice, check_number, check_seed
from recombine.errors import TableError
from recombine.tables.support import Support
from recombine.theory.answers import Answers
from recombine.theory.margin import margin, refuse_unless_separable
from recombine.theory.salience import Salience
from recombine.theory.solver import TOLERANCE, Penalty
from recombine.theory.squared import LARGEST_MATRIX, MANY_SETS, SMALL, Duals, Fitted, squared
from recombine.theory.variance import MOST_DRAWN, Uncertainty

Loss = Literal["squared", "margin"]
LOSSES = ("squared", "margin")
_NEARLY_NOTHING = 1e-3
"""The share of the full set's weight that stands for none of it, where the limit itself would be slow."""
SHARE = 0.5
"""Of the machine's memory, for one prediction: the rest is for the table, the engine, and whoever else is there."""
_NUMBER = 8  # bytes
_MATRICES = 5  # of combinations by combinations: who agrees on what, the kernel, its factor, and two on the way
_MOST_DRAWS = 64
_LINKED_BY_ONE = 30  # beyond this many sets only those are linked that differ by one factor, as in `design`


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


def refuse_too_large(support: Support, weights: Sequence[float], *, questions: int, rows: int = 0) -> None:
    """Refuse what this machine cannot hold, in words; `rows` are the combinations that will be asked for."""
    sizes, seen = support.space.sizes, len(support)
    room = SHARE * installed()
    if (needed := _needed(sizes, weights, seen, questions, rows)) <= room:
        return
    fewer = [k for k in range(2, len(sizes)) if _needed_by_few(sizes, k, seen, questions, rows) <= room]
    raise TableError(
        f"a prediction over {len(weights):,} sets of {len(sizes)} factors with {seen:,} combinations",
        why=f"it would take about {_gigabytes(needed)} of memory, and may take {_gigabytes(room)} here",
        instead=f"name at most {fewer[-1]} factors: those that matter most"
        if fewer
        else "name fewer factors, or predict from fewer combinations (`where`), or on a larger machine",
    )


def installed() -> float:
    """The machine's memory in bytes, or what a container was given of it."""
    found = float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no such limit, or none set ("max")
        found = min(found, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return found


def _gigabytes(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB"


def _needed_by_few(sizes: Sequence[int], few: int, seen: int, questions: int, rows: int) -> float:
    """The same with only some of the factors, those with most values, if every set of them had a weight."""
    kept = sorted(sizes, reverse=True)[:few]
    return _needed(kept, [1.0] * 2**few, min(seen, int(np.prod(kept, dtype=np.float64))), questions, rows)


def _needed(sizes: Sequence[int], weights: Sequence[float], seen: int, questions: int, rows: int) -> float:
    """Bytes: groups of every set, the coefficients of two learners, and what solving and its variances take."""
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
        links = sum(int(mask).bit_count() for mask in weighty) if len(weighty) > _LINKED_BY_ONE else len(weighty) ** 2
        solved = 2 * links * groups[weighty].mean() + drawn if len(weighty) else 0.0
        solved += rows * len(weighty)
    return float(_NUMBER * (numbered + learnt + solved))


def _groups(sizes: Sequence[int], seen: int) -> Numbers:
    """For each set of factors, as many groups as it can have: its conjunctions, or the seen combinations."""
    conjunctions = np.ones(1)
    for size in sizes:
        conjunctions = np.concatenate([conjunctions, np.minimum(conjunctions * size, seen)])
    return conjunctions
