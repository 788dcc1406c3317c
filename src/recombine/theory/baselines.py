"""What a prediction must beat: the mean, the nearest seen combination, and the best additive rule."""

from itertools import combinations

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.tables.support import Support
from recombine.theory.answers import Answers
from recombine.theory.fitted import Fitted
from recombine.theory.solver import Penalty
from recombine.theory.squared import squared

_ALMOST_NO_PENALTY = 1e-6


def mean(answers: Answers, codes: Codes) -> Numbers:
    """The same answer everywhere: the mean over the seen combinations (for classes, the commonest one wins)."""
    return np.tile(answers.values.mean(axis=0), (len(codes), 1))


def nearest(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The mean answer of the seen combinations that agree on the most factors.

    Where none agrees on more than r factors, each that agrees on r is in exactly one group of r factors, so group sums
    find them all.

    >>> import recombine
    >>> from recombine.theory.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [1.0, 3.0, 7.0]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> nearest(seen, answers(seen), np.array([[1, 1]])).tolist()
    [[5.0]]
    """
    factors = codes.shape[1]
    middle = answers.values.mean(axis=0)
    apart = answers.values - middle  # sums of large numbers that hardly differ would lose their digits
    found = np.zeros((len(codes), answers.questions))
    open_ = np.ones(len(codes), dtype=bool)
    for order in range(factors, 0, -1):
        total, count = np.zeros((len(codes), answers.questions)), np.zeros(len(codes))
        for chosen in combinations(range(factors), order):
            groups = support.groups(chosen)
            place = groups.lookup(codes)
            there = place >= 0
            sums = np.stack([groups.total(column) for column in apart.T], axis=1)
            total[there] += sums[place[there]]
            count[there] += groups.combinations[place[there]]
        hit = open_ & (count > 0)
        found[hit] = total[hit] / count[hit, None]
        open_ &= ~hit
    return np.asarray(found + middle)


def additive(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The sum of one number a value that fits the seen answers best; the smallest such numbers where several do."""
    factors = codes.shape[1]
    weights = [0.0] * 2**factors
    weights[0] = np.inf
    for k in range(factors):
        weights[1 << k] = 1.0
    duals = squared(support, tuple(weights), Penalty(_ALMOST_NO_PENALTY), answers.values)
    return Fitted.of(support, tuple(weights), duals).scores(codes)
