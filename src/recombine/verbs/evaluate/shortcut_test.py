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
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recombine.data.support import LabelTarget
from recombine.numerics.groups import Ints, Numbers, commonest, number, totals
from recombine.verbs.evaluate.outcomes import Outcomes

FOLLOWED = 0.025
"""The chance that any factor at all is called followed where none is: of one direction, as an interval's end."""
_MOST_CLASSES = 64  # that are told apart: those that are answered wrongly most; the rest count as one
_MOST_WORK = 10**7  # shares times draws: beyond, draws are fewer
_ROUNDING = 1e-9

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
        return cls(keys // classes, keys % classes, shares, place)


def _chance(
    outcomes: Outcomes, lines: _AnswerShares, factor: int, draws: int, rng: np.random.Generator
) -> float | None:
    alike = _measured_against(outcomes, lines, factor)
    target = None if outcomes.training is None else outcomes.training.target
    if outcomes.training is not None and isinstance(target, LabelTarget):
        seen = outcomes.training.codes[target.combination, factor].astype(np.int64)
        agreement = _towards_training(outcomes, lines, factor, (seen, target), alike)
    else:
        agreement = _across_truths(outcomes, lines, factor)
    if agreement is None:
        return None
    shift = lines.shares - _means(lines.shares, alike)
    found, order = agreement(shift), np.argsort(alike, kind="stable")
    least = found - _ROUNDING * max(abs(found), 1.0)
    shuffled, at_least = np.empty_like(order), 0
    for _ in range(draws):
        shuffled[order] = np.lexsort((rng.random(len(alike)), alike))
        at_least += agreement(shift[shuffled]) >= least
    return (1 + at_least) / (1 + draws)


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
    sums = np.zeros((int(groups.max()) + 1, numbers.shape[1]))
    np.add.at(sums, groups, numbers)
    return np.asarray((sums / np.bincount(groups)[:, None])[groups])


def _towards_training(
    outcomes: Outcomes, lines: _AnswerShares, factor: int, trained: tuple[Ints, LabelTarget], alike: Ints
) -> _Agreement | None:
    """How far shifts go towards what the value alone predicts; None where that is the same for all that are alike."""
    size, width = outcomes.tested.space.sizes[factor], lines.shares.shape[1]
    seen, target = trained
    counts = totals(seen * width + lines.place[target.label], target.count, size * width).reshape(size, width)
    towards = commonest(counts)[outcomes.tested.codes[lines.combination, factor]]
    towards = towards - _means(towards, alike)
    return (lambda moved: float((moved * towards).sum())) if np.abs(towards).max() > _ROUNDING else None


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
