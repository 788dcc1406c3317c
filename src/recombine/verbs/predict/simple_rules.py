"""The simple rules that a forecast must beat: always the same answer, one factor alone, the nearest seen, adding up.

Each is asked in two ways: about combinations that were not among the seen ones, and about each seen one as the others
would answer it (`…_left_out`).
"""

from itertools import combinations

import numpy as np

from recombine.base.errors import TableError
from recombine.data.space import text
from recombine.data.support import Support
from recombine.numerics.additive_fit import held_out
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.kernel.dense_kernel import columns_of, match_counts
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS
from recombine.verbs.predict.kernel.solver import Penalty
from recombine.verbs.predict.kernel.squared_loss import ConjunctionFit, squared

ADDITIVE, NEAREST, MEAN, MAJORITY = "additive", "nearest seen", "mean", "majority"
_ALMOST_NO_PENALTY = 1e-6
_MANY_FACTORS = 6
"""From here on the nearest are found by comparing pairs of combinations, not by the groups of every set of factors."""
_CACHED = 1 << 20


def constant_name(answers: Answers) -> str:
    """What the rule that always gives the same answer is called."""
    return MEAN if answers.kind == "number" else MAJORITY


def alone_name(factor: str) -> str:
    """What the rule is called that looks at one factor.

    >>> alone_name("colour")
    'colour alone'
    """
    return f"{factor} alone"


def always(label: object) -> str:
    """The name of the rule that always gives this answer.

    >>> always("low")
    'always answering "low"'
    """
    return f'always answering "{text(label)}"'


def mean_answer(answers: Answers, codes: Codes) -> Numbers:
    """The same answer everywhere: the mean over the seen combinations (for classes, the commonest one wins)."""
    return np.tile(_constant(answers), (len(codes), 1))


def _constant(answers: Answers) -> Numbers:
    """The mean, or the scores that stand for the class that most combinations have."""
    if answers.kind == "number":
        return np.asarray(answers.values.mean(axis=0))
    classes = max(answers.questions, 2)
    return (
        np.array([2.0 * answers.commonest - 1])
        if answers.questions == 1
        else 2 * np.eye(classes)[answers.commonest] - 1
    )


def commonest(answers: Answers, hits: Numbers) -> tuple[str, Numbers] | None:
    """The rule that always gives the commonest class of these combinations, and where it is right; None where the
    majority of all seen ones is right as often. `hits` (n, classes) is what each class is worth on each of them.

    The hard ones, or the unseen ones, may have another commonest class than the rest, and a learner that has found it
    out is no better than predicting the majority class.
    """
    right = hits.sum(axis=0)[: len(answers.classes)]
    best = int(right.argmax())
    if right[best] == right[answers.commonest]:
        return None
    return always(answers.classes[best]), hits[:, best]


def nearest_seen(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The mean answer of the seen combinations that agree on the most factors.

    >>> import recombine
    >>> from recombine.verbs.predict.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [1.0, 3.0, 7.0]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> nearest_seen(seen, answers(seen), np.array([[1, 1]])).tolist()
    [[5.0]]
    """
    return _nearest(support, answers, codes, itself=False)


def nearest_left_out(support: Support, answers: Answers) -> Numbers:
    """The same for each seen combination, from the others."""
    return _nearest(support, answers, support.codes, itself=True)


def _nearest(support: Support, answers: Answers, codes: Codes, *, itself: bool) -> Numbers:
    middle = answers.values.mean(axis=0)
    apart = answers.values - middle  # sums of large numbers that hardly differ would lose their digits
    by_pairs = codes.shape[1] >= _MANY_FACTORS
    return np.asarray(middle + (_by_pairs if by_pairs else _by_groups)(support, apart, codes, itself=itself))


def _by_groups(support: Support, apart: Numbers, codes: Codes, *, itself: bool) -> Numbers:
    """Where none agrees on more than r factors, each that agrees on r is in exactly one group of r factors."""
    factors = codes.shape[1]
    found = np.zeros((len(codes), apart.shape[1]))
    open_ = np.ones(len(codes), dtype=bool)
    for order in range(factors - itself, 0, -1):
        total, count = np.zeros_like(found), np.zeros(len(codes))
        for chosen in combinations(range(factors), order):
            groups = support.groups(chosen)
            place = groups.lookup(codes)
            there = place >= 0
            sums = np.stack([groups.total(column) for column in apart.T], axis=1)
            total[there] += sums[place[there]] - (apart[there] if itself else 0.0)
            count[there] += groups.combinations[place[there]] - itself
        hit = open_ & (count > 0)
        found[hit] = total[hit] / count[hit, None]
        open_ &= ~hit
    return found


def _by_pairs(support: Support, apart: Numbers, codes: Codes, *, itself: bool) -> Numbers:
    """With many factors: count the matches of every pair, a few rows at a time."""
    found = np.zeros((len(codes), apart.shape[1]))
    left, right = columns_of(codes), columns_of(np.where(support.codes < 0, -2, support.codes))
    step = max(1, _CACHED // max(len(support), 1))
    for start in range(0, len(codes), step):
        matches = match_counts([column[start : start + step] for column in left], right).astype(np.int16)
        if itself:
            rows = np.arange(len(matches))
            matches[rows, start + rows] = -1
        most = matches.max(axis=1, keepdims=True)
        nearest = ((matches == most) & (most > 0)).astype(np.float64)
        found[start : start + step] = nearest @ apart / np.maximum(nearest.sum(axis=1), 1.0)[:, None]
    return found


def factor_alone(support: Support, answers: Answers, codes: Codes, factor: int) -> Numbers:
    """The mean answer of the seen combinations with the same value of one factor; the constant where there is none."""
    groups = support.groups([factor])
    place = groups.lookup(codes)
    means = _group_means(support, answers, factor)
    return np.where(place[:, None] >= 0, means[place], mean_answer(answers, codes))


def factor_alone_left_out(support: Support, answers: Answers, factor: int) -> Numbers:
    """The same for each seen combination, from the others."""
    groups = support.groups([factor])
    middle = answers.values.mean(axis=0)
    apart = answers.values - middle
    sums = np.stack([groups.total(column) for column in apart.T], axis=1)
    others = groups.combinations[groups.ids] - 1
    means = middle + (sums[groups.ids] - apart) / np.maximum(others, 1)[:, None]
    return np.where(others[:, None] > 0, means, mean_answer(answers, support.codes))


def _group_means(support: Support, answers: Answers, factor: int) -> Numbers:
    groups = support.groups([factor])
    middle = answers.values.mean(axis=0)
    sums = np.stack([groups.total(column) for column in (answers.values - middle).T], axis=1)
    return np.asarray(middle + sums / groups.combinations[:, None])


def additive_rule(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The sum of one number a value that fits the seen answers best; the smallest such numbers where several do."""
    factors = codes.shape[1]
    if factors > MOST_FACTORS:
        raise TableError(
            f"the additive rule over {factors} factors of so many values",
            why=f"above {MOST_FACTORS} factors it is fitted only where one matrix holds all their values",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most",
        )
    weights = [0.0] * 2**factors
    weights[0] = np.inf
    for k in range(factors):
        weights[1 << k] = 1.0
    duals = squared(support, tuple(weights), Penalty(_ALMOST_NO_PENALTY), answers.values)
    return ConjunctionFit.of(support, tuple(weights), duals).scores(codes)


def additive_left_out(support: Support, answers: Answers) -> Numbers:
    """The same for each seen combination, from the others; NaN where the others leave it open."""
    middle = answers.values.mean(axis=0)
    found = held_out(support.codes, support.space.sizes, answers.values - middle, np.arange(len(support)))
    said = np.full(answers.values.shape, np.nan)
    said[found.rows] = found.said + middle
    return said
