"""Whether answers go with the value of a factor, whatever the truth: what tells a shortcut from difficulty.

Combinations differ in how hard they are. Then swapping any factor changes answers, and none of them is followed. Who
follows a factor gives one answer for one of its values *whatever the truth is*. So the answers to each combination are
set against those to others that differ in this factor alone, have the same truth, and were seen in training or not as
it was: what is left is a shift of each class's share. A factor is followed if these shifts go towards the class that
its value alone had most often in training. Where training is not known: if the shifts of two combinations with the same
value and another truth point the same way; where the value is merely hard they point opposite ways, because each gains
what the other loses.

What chance does is seen by shuffling the shifts among the combinations that they were measured against. That leaves how
hard each of them is, and each truth's confusions, as they are; it breaks only the tie to the value. Where shuffling
changes nothing (the value alone predicts one and the same class for all of them), nothing can be claimed.

Where no factor is followed, it is asked how much of it would have been found: answers are shuffled as above, so that no
tie is left, and each row is answered with what the factor points to with some chance; the chance is looked for at which
four of five such tables would be called followed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.data.support import LabelTarget
from recombine.numerics.distributions import normal_quantile, normal_tail
from recombine.numerics.groups import Ints, Numbers, commonest, number, totals
from recombine.verbs.evaluate.outcomes import Outcomes

FOLLOWED = 0.025
"""The chance that any factor at all is called followed where none is: of one direction, as an interval's end."""
_MOST_CLASSES = 64  # that are told apart: those that are answered wrongly most; the rest count as one
_MOST_WORK = 10**7  # shares times draws: beyond, draws are fewer
_ROUNDING = 1e-9
_NORMAL_FROM, _MOST_NORMAL_CLASSES = 20_000, 12
"""Lines from which on the chance of an agreement is computed instead of drawn, and classes up to which."""
_LARGEST_GROUP = 0.01  # of the variance: then the sum over groups is normal, to the digits of 160 draws
POWER = 0.8
"""How often a factor is found that is said to be found."""
_PLANTED = 60  # tables for each chance that is tried
_HALVINGS = 6  # of the chance: it is known to a sixty-fourth

_Agreement = Callable[[Numbers], float]


def following_chances(outcomes: Outcomes, *, draws: int, seed: int = 0) -> tuple[float | None, ...]:
    """For each factor, how likely answers go with its values as much by chance; None where that cannot be asked.

    >>> from recombine.data.space import Space
    >>> from recombine.data.support import Support
    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> space = Space.of({"bird": list("abcd"), "place": list("wxyz")})
    >>> codes = np.asfortranarray([[b, p] for b in range(4) for p in range(4)], dtype=np.int32)
    >>> bird, place = codes.T.astype(int) % 2
    >>> right = (bird == place).astype(float)
    >>> by_place = Outcomes(Support(space, codes, np.ones(16)), None, "label", (0, 1), np.arange(16), bird, place,
    ...     np.ones(16), right, right, None, Score("accuracy", "higher"))
    >>> bird_chance, place_chance = following_chances(by_place, draws=200)
    >>> bird_chance is None, place_chance <= 0.05
    (True, True)
    """
    lines = _AnswerShares.of(outcomes)
    width = len(outcomes.tested.space.factors)
    fewest = int(2 * width / FOLLOWED)  # with fewer draws no chance could be as small as is asked for
    draws = min(draws, max(fewest, _MOST_WORK // lines.shares.size))
    rng = np.random.default_rng([seed, 3])
    return tuple(_chance(outcomes, lines, factor, draws, rng) for factor in range(width))


def found_following(outcomes: Outcomes, *, seed: int = 0) -> tuple[float | None, ...]:
    """For each factor, the share of rows from which on following it would be found four times of five.

    None where that cannot be asked, and where even a model that always followed it would not be found.
    """
    lines = _AnswerShares.of(outcomes)
    questions = [_question(outcomes, lines, factor) for factor in range(len(outcomes.tested.space.factors))]
    asked = sum(one is not None for one in questions)
    planted = max(_PLANTED // 3, min(_PLANTED, _MOST_WORK // (2 * _HALVINGS * lines.shares.size)))
    return tuple(
        None if one is None else _least_found(lines, one, FOLLOWED / asked, planted, np.random.default_rng([seed, 4]))
        for one in questions
    )


def followed(chances: tuple[float | None, ...]) -> tuple[bool, ...]:
    """Which factors are followed, by more than chance: as many as could be asked about share one error.

    >>> followed((None, 0.02)), followed((0.5, 0.02))
    ((False, True), (False, False))
    """
    asked = sum(chance is not None for chance in chances)
    return tuple(chance is not None and chance <= FOLLOWED / asked for chance in chances)


@dataclass(frozen=True, eq=False)
class _AnswerShares:
    """A line for each combination and truth, with the share of each answer; `place` is the column of each class."""

    combination: Ints
    truth: Ints
    rows: Numbers
    shares: Numbers
    place: Ints

    @classmethod
    def of(cls, outcomes: Outcomes) -> "_AnswerShares":
        classes = len(outcomes.classes)
        keys, ids = number(outcomes.combination * classes + outcomes.truth, len(outcomes) * classes)
        wrong = totals(outcomes.said, outcomes.count * (outcomes.said != outcomes.truth), classes)
        place = np.empty(classes, dtype=np.int64)
        place[np.argsort(-wrong, kind="stable")] = np.minimum(np.arange(classes), _MOST_CLASSES - 1)
        rows = totals(ids, outcomes.count, len(keys))
        shares = np.zeros((len(keys), min(classes, _MOST_CLASSES)))
        np.add.at(shares, (ids, place[outcomes.said]), outcomes.count / np.maximum(rows[ids], _ROUNDING))
        return cls(keys // classes, keys % classes, rows, shares, place)


@dataclass(frozen=True, eq=False)
class _Question:
    """One factor: which lines are alike but for it, how far shifts agree with its values, and what these point to.

    `points` is a line of class shares for each value; None where training does not tell it.
    """

    alike: Ints
    agreement: _Agreement
    value: Ints  # of each line
    points: Numbers | None
    size: int
    towards: Numbers | None = None  # for each line what its value points to, beyond those that are alike

    def shift(self, shares: Numbers) -> Numbers:
        """How far each line's answers are from those of the lines that are alike."""
        return shares - _means(shares, self.alike)

    def shuffle(self, rng: np.random.Generator) -> Ints:
        """The places of the lines, shuffled among those that are alike."""
        found = np.arange(len(self.alike))
        found[self._company] = self._company[np.argsort(self._turn + rng.random(len(found))[self._company])]
        return found

    @cached_property
    def _company(self) -> Ints:
        """The lines that are alike others, those that are alike side by side."""
        order = np.argsort(self.alike, kind="stable")
        return order[np.bincount(self.alike)[self.alike[order]] > 1]

    @cached_property
    def _turn(self) -> Numbers:
        return self.alike[self._company].astype(np.float64)  # a number from 0 to 1 more keeps them side by side


def _question(outcomes: Outcomes, lines: _AnswerShares, factor: int) -> _Question | None:
    alike = _measured_against(outcomes, lines, factor)
    value, size = outcomes.tested.codes[lines.combination, factor].astype(np.int64), outcomes.tested.space.sizes[factor]
    target = None if outcomes.training is None else outcomes.training.target
    if outcomes.training is None or not isinstance(target, LabelTarget):
        agreement = _across_truths(outcomes, lines, factor)
        return None if agreement is None else _Question(alike, agreement, value, None, size)
    seen, width = outcomes.training.codes[target.combination, factor].astype(np.int64), lines.shares.shape[1]
    counts = totals(seen * width + lines.place[target.label], target.count, size * width).reshape(size, width)
    points = commonest(counts)
    towards = points[value] - _means(points[value], alike)
    if np.abs(towards).max() <= _ROUNDING:  # what the value alone predicts is the same for all that are alike
        return None
    return _Question(alike, lambda moved: float((moved * towards).sum()), value, points, size, towards)


def _shuffled(question: _Question, shift: Numbers, draws: int, rng: np.random.Generator) -> Numbers:
    """The agreement by chance, so many times."""
    return np.array([question.agreement(shift[question.shuffle(rng)]) for _ in range(draws)])


def _shuffled_error(question: _Question, shift: Numbers) -> float | None:
    """How far shuffling moves the agreement, which is 0 on average, where so many small groups add up to it that it is
    normal; None where it must be drawn, or would take as long.

    A group of n lines with the centred shifts S and directions T adds Σ (s't)² / (n - 1), over each s and each t
    (Hoeffding 1951), which is the sum of the entries of S'S times those of T'T.
    """
    towards, width = question.towards, shift.shape[1]
    if towards is None or len(shift) < _NORMAL_FROM or width > _MOST_NORMAL_CLASSES:
        return None
    size = int(question.alike.max()) + 1
    variance = np.zeros(size)
    for k in range(width):
        for other in range(k + 1):
            both = (totals(question.alike, one[:, k] * one[:, other], size) for one in (shift, towards))
            variance += math.prod(both) * (1 if k == other else 2)
    variance /= np.maximum(np.bincount(question.alike) - 1, 1)
    whole = float(variance.sum())
    return math.sqrt(whole) if 0 < variance.max() <= _LARGEST_GROUP * whole else None


def _chance(
    outcomes: Outcomes, lines: _AnswerShares, factor: int, draws: int, rng: np.random.Generator
) -> float | None:
    question = _question(outcomes, lines, factor)
    if question is None:
        return None
    shift = question.shift(lines.shares)
    found = question.agreement(shift)
    error = _shuffled_error(question, shift)
    if error is not None:
        return float(normal_tail(np.array(found / error)))
    at_least = _shuffled(question, shift, draws, rng) >= found - _ROUNDING * max(abs(found), 1.0)
    return float((1 + at_least.sum()) / (1 + draws))


def _least_found(
    lines: _AnswerShares, question: _Question, level: float, planted: int, rng: np.random.Generator
) -> float | None:
    """The share of rows that follow the factor at which so many planted tables are found, by halving."""
    reach = float(normal_quantile(1 - level))  # standard deviations: where errors are few, draws are too few to tell it
    low, high = 0.0, 1.0
    if _power(lines, question, 1.0, reach, planted, rng) < POWER:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = _power(lines, question, middle, reach, planted, rng) >= POWER
        low, high = (low, middle) if found else (middle, high)
    return high


def _power(
    lines: _AnswerShares, question: _Question, share: float, reach: float, planted: int, rng: np.random.Generator
) -> float:
    """How often a factor would be called followed that so many of the rows follow."""
    agreements, width = np.empty((2, planted)), lines.shares.shape[1]
    for draw in range(planted):
        points = question.points
        if points is None:  # each value points to some class, and every class is pointed to alike
            points = np.eye(width)[rng.permutation(question.size) % width]
        follow = (rng.binomial(lines.rows.astype(np.int64), share) / np.maximum(lines.rows, 1))[:, None]
        answers = (1 - follow) * lines.shares[question.shuffle(rng)] + follow * points[question.value]
        shift = question.shift(answers)
        agreements[:, draw] = question.agreement(shift), question.agreement(shift[question.shuffle(rng)])
    with_tie, by_chance = agreements
    least = by_chance.mean() + reach * by_chance.std(ddof=1)
    return float((with_tie > least + _ROUNDING).mean())


def _measured_against(outcomes: Outcomes, lines: _AnswerShares, factor: int) -> Ints:
    """Lines of one group have the same truth and other factors, and were all seen in training, or not."""
    width, classes = len(outcomes.tested.space.factors), len(outcomes.classes)
    rest = [k for k in range(width) if k != factor]
    others = outcomes.tested.groups(rest).ids if rest else np.zeros(len(outcomes), dtype=np.int64)
    side = outcomes.unseen + 2 * outcomes.novel
    key = (others[lines.combination] * classes + lines.truth) * 3 + side[lines.combination]
    return number(key, (int(others.max()) + 1) * classes * 3)[1]


def _means(numbers: Numbers, groups: Ints) -> Numbers:
    """For each line the mean of its group."""
    size = int(groups.max()) + 1
    sums = np.stack([totals(groups, column, size) for column in numbers.T], axis=1)
    return np.asarray((sums / np.bincount(groups)[:, None])[groups])


def _across_truths(outcomes: Outcomes, lines: _AnswerShares, factor: int) -> _Agreement | None:
    """The sum, over pairs with one value and two truths, of the product of their shifts: a square less its diagonal."""
    classes, width = len(outcomes.classes), lines.shares.shape[1]
    value = outcomes.tested.codes[lines.combination, factor].astype(np.int64)
    keys, by_truth = number(value * classes + lines.truth, outcomes.tested.space.sizes[factor] * classes)
    values = keys // classes
    if len(np.unique(values)) == len(values):  # no value was tested with two truths
        return None

    def agreement(moved: Numbers) -> float:
        each, merged = np.zeros((len(keys), width)), np.zeros((int(values.max()) + 1, width))
        np.add.at(each, by_truth, moved)
        np.add.at(merged, values, each)
        return float(np.square(merged).sum() - np.square(each).sum()) / 2

    return agreement
