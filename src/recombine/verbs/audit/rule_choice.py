"""Which rule tells unseen combinations best: adding up, or one that says more.

A rule that says more must be better than adding up, and than one answer for all, in each of two halves of what was held
out: on the mean, and more often better than worse, beyond chance. Then the luck that made it the best of several in one
half does not count. How often it is better is asked, and not by how much, since squared errors have heavy tails.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from recombine.data.support import Support
from recombine.numerics.distributions import beta_below
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.hypothesis_tests import bonferroni
from recombine.numerics.interaction_rules import RULES, SeenTable, rules_for

_FOLDS_TO_CHOOSE = 5
_FOLDS_TO_SCORE = 20  # a rule of many numbers does worse without a fifth of a small table than it will do with all
_FEWEST_HELD_OUT = 20  # combinations: ten in each half
_MOST_SEEN = 3_000  # combinations: up to there all rules take some seconds
_MOST_NUMBERS = 8  # classes
_CHANCE = 0.05


def richer_answers(
    known: Support, values: Numbers, noise: Numbers, asked: Ints, *, seed: int, quick: bool, only: str | None = None
) -> dict[str, Numbers]:
    """What the rules that say more answer for some of the known combinations, each held out with a fifth of the others;
    `only` one of them, as it is worth: with a twentieth. None where there are too few to choose by, or too many to try.
    Products take long, and are not among those that are `quick`.
    """
    if len(asked) < _FEWEST_HELD_OUT or len(known) > _MOST_SEEN or values.shape[1] > _MOST_NUMBERS:
        return {}
    seen = SeenTable(known.codes, known.space.sizes, values, noise)
    folds = _FOLDS_TO_CHOOSE if only is None else min(_FOLDS_TO_SCORE, len(known))
    fold = np.random.default_rng(seed).permutation(len(known)) % folds
    found: dict[str, Numbers] = {}
    for name, rule in rules_for(seen, quick=quick).items() if only is None else ((only, RULES[only]),):
        said = np.empty_like(values)
        for one in range(folds):
            test = np.flatnonzero(fold == one)
            said[test] = rule(seen.subset(np.flatnonzero(fold != one)), known.codes[test])
        found[name] = said[asked]
    return found


def choose_rule(than: Sequence[Numbers], others: Mapping[str, Numbers], pieces: Ints, *, seed: int) -> str | None:
    """The rule that loses less `than` each of these, beyond chance in both halves of the pieces of evidence; None where
    none does.

    >>> rng = np.random.default_rng(0)
    >>> own, lucky, better = rng.random(100), rng.random(100), 0.1 * rng.random(100)
    >>> choose_rule([own], {"lucky": lucky, "better": better}, np.arange(100), seed=0)
    'better'
    >>> choose_rule([own], {"lucky": lucky}, np.arange(100), seed=0) is None
    True
    """
    _, place = np.unique(pieces, return_inverse=True)
    half = np.random.default_rng(seed).permutation(place.max(initial=-1) + 1)[place] % 2 if len(place) else place
    if not others or min(np.bincount(half, minlength=2)) < _FEWEST_HELD_OUT // 2:
        return None
    error = math.sqrt(bonferroni(_CHANCE, len(others)))  # of one half: by chance it is better in both that often
    better = [
        name
        for name, lost in others.items()
        if all(_is_better((own - lost)[half == one], place[half == one], error) for own in than for one in (0, 1))
    ]
    return min(better, key=lambda name: float(others[name].mean()), default=None)


def _is_better(gained: Numbers, pieces: Ints, error: float) -> bool:
    """Whether something is gained on the mean, and by more pieces of evidence than chance explains: a sign test."""
    by_piece = np.bincount(np.unique(pieces, return_inverse=True)[1], weights=gained)
    won, lost = float((by_piece > 0).sum()), float((by_piece < 0).sum())
    if won == 0 or gained.mean() <= 0:
        return False
    # at least `won` of all by tossing a coin: a binomial tail is that of a beta
    return bool(beta_below(np.array(0.5), np.array(won), np.array(lost + 1)) < error)
