"""How hard a combination is, given those that were seen: a few numbers that decide whether two of them are alike.

A seen combination that is held out stands for an unseen one only if what is left says as much about it. So both are
described by the same numbers, each given what the learner would be trained on:

- *open*: whether the others leave its answer open even if the factors add up (1), or fix it (0);
- *doubt*: how much the noise of the others is amplified where they fix it: h / (1 + h) of the leverage h, 1 where open;
- *fewest*, *most*: the combinations left that share its rarest and its commonest value, in doublings;
- *near*, *strange*: from three factors on, the combinations left that differ from it in one factor, in doublings; and
  the pairs of its values that were never seen together, counted alike;
- *others*, of sets: whether one of its elements is left with other elements only, and never alone;
- *conflict*: how far apart the answers are that two of its values suggest, each taken alone, at most. A shortcut lives
  where all of them suggest the same, and fails where they do not;
- *best*, *worst*, where the true answers are known: how far the factor that suggests the right answer most, and the
  one that does least, are right.

Where a factor's value is a set, each of its elements is what a value is elsewhere. Each number has a unit: what apart
makes two combinations somewhat unlike, on a scale that depends on no data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.combination_status import parts_seen
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.leverage import Leverage
from recombine.verbs.audit.set_coverage import ALONE, element_rungs
from recombine.verbs.predict.answers import Answers

OPEN, DOUBT, FEWEST, MOST = "open", "doubt", "fewest", "most"
NEAR, STRANGE, CONFLICT, OTHERS = "near", "strange", "conflict", "others"
BEST, WORST = "best", "worst"
UNITS: Mapping[str, float] = {
    OPEN: 0.25,
    DOUBT: 0.2,
    FEWEST: 1.0,
    MOST: 1.0,
    NEAR: 1.0,
    STRANGE: 0.5,
    OTHERS: 0.5,
    CONFLICT: 0.2,
    BEST: 0.25,
    WORST: 0.25,
}
"""What apart makes two combinations somewhat unlike: a fifth of the way from firm to open, a factor of two, …"""
_FAR = 3.0  # standard deviations between two suggestions: further apart is no more of a conflict


@dataclass(frozen=True, eq=False)
class Difficulty:
    """The same numbers for each of some combinations. Legend: c combinations, f numbers."""

    names: tuple[str, ...]
    values: Numbers  # (c, f)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def scaled(self) -> Numbers:
        """(c, f) In units, so that a distance of 1 means somewhat unlike."""
        return np.asarray(self.values / [UNITS[name] for name in self.names])

    def column(self, name: str) -> Numbers:
        """One number of each combination."""
        return np.asarray(self.values[:, self.names.index(name)])

    @classmethod
    def stacked(cls, several: "list[Difficulty]") -> "Difficulty":
        """Several sets of combinations as one."""
        return cls(several[0].names, np.concatenate([one.values for one in several]))


def difficulty(known: Support, answers: Answers, codes: Codes, truth: Numbers | None = None) -> Difficulty:
    """How hard these combinations are for who has seen the `known` ones, each of which has an answer in `answers`.

    `truth` are their right answers (a class's place, or a number), where somebody knows them.

    >>> import recombine
    >>> from recombine.verbs.predict.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [1.0, 3.0, 7.0]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> found = difficulty(seen, answers(seen), np.array([[1, 1]], dtype=np.int32))
    >>> dict(zip(found.names, found.values[0].round(2).tolist()))
    {'open': 0.0, 'doubt': 0.75, 'fewest': 1.0, 'most': 1.0, 'conflict': 1.6}
    """
    fixed = determinacy(known)
    leverage = Leverage(known, fixed).of(codes)
    open_ = ~fixed.determined(codes)
    doubt = np.where(np.isfinite(leverage), leverage / (1 + leverage), 1.0)
    parts = _parts(known, codes)
    shared = known.space.effects.rows(known.codes).counts()[parts]
    found = {
        OPEN: open_.astype(np.float64),
        DOUBT: doubt,
        FEWEST: np.log2(1 + shared.min(axis=1)),
        MOST: np.log2(1 + shared.max(axis=1)),
    }
    if known.space.parts > 2:
        found[NEAR] = np.log2(1 + _near(known, codes))
        found[STRANGE] = np.log2(1 + _strange(known, codes))
    if known.space.set_factors:
        found[OTHERS] = np.array([rung != ALONE for rung in element_rungs(known, codes)], dtype=np.float64)
    suggested = suggestions(known, answers, codes)
    found[CONFLICT] = _conflict(suggested, answers)
    if truth is not None:
        right = agreement(suggested, answers, truth)
        found[BEST], found[WORST] = right.max(axis=1), right.min(axis=1)
    return Difficulty(tuple(found), np.stack(list(found.values()), axis=1))


def _parts(known: Support, codes: Codes) -> Ints:
    """(c, p) The effects of each combination: its values, and the elements of its sets. One that has fewer than others
    has its first one again, which changes no largest and no smallest number; the empty set has the constant.
    """
    effects = known.space.effects
    rows = effects.rows(codes)
    lengths = rows.lengths - int(effects.constant)  # which stands last
    place = np.arange(max(int(lengths.max(initial=1)), 1))
    return np.asarray(rows.columns[rows.starts[:-1, None] + np.where(place < lengths[:, None], place, 0)])


def _near(known: Support, codes: Codes) -> Ints:
    """(c,) How many of the known combinations differ in one factor, or one element, itself not among them."""
    if known.space.set_factors:
        apart = known.space.effects.distances(codes, known.codes)
        return np.concatenate([np.zeros(0, dtype=np.int64), *((one == 1).sum(axis=1) for _, one in apart)])
    factors = range(codes.shape[1])
    total = np.zeros(len(codes), dtype=np.int64)
    itself = known.groups(factors).lookup(codes) >= 0
    for left_out in factors:
        groups = known.groups([k for k in factors if k != left_out])
        place = groups.lookup(codes)
        total += np.where(place >= 0, groups.combinations[place], 0) - itself
    return total


def _strange(known: Support, codes: Codes) -> Ints:
    """(c,) How many pairs of its values none of the known combinations holds."""
    if known.space.set_factors:
        held = parts_seen(known, codes)
        return held.pairs - held.pairs_seen
    total = np.zeros(len(codes), dtype=np.int64)
    for pair in combinations(range(codes.shape[1]), 2):
        total += known.groups(pair).lookup(codes) < 0
    return total


def suggestions(known: Support, answers: Answers, codes: Codes) -> Numbers:
    """(parts, c, m) What each value or element alone suggests: the share of each class, or the mean in standard
    deviations.
    """
    shares = _as_shares(answers)
    held = known.space.effects.rows(known.codes)
    count = held.counts().astype(np.float64)
    means = np.where(count[:, None] > 0, held.back(shares) / np.maximum(count, 1)[:, None], shares.mean(axis=0))
    return np.asarray(means[_parts(known, codes).T])


def _as_shares(answers: Answers) -> Numbers:
    """(n, m) The share of each class among a combination's rows; a number in standard deviations from the mean."""
    if answers.kind == "number":
        return np.asarray((answers.values - answers.values.mean(axis=0)) / _spread(answers))
    shares = (answers.values + 1) / 2
    return np.column_stack([1 - shares, shares]) if answers.questions == 1 else np.asarray(shares)


def _spread(answers: Answers) -> float:
    return float(answers.values.std()) or 1.0


def _conflict(suggested: Numbers, answers: Answers) -> Numbers:
    """(c,) The largest distance between what two values suggest: of shares half the sum of differences."""
    largest = np.zeros(suggested.shape[1])
    for one, other in combinations(range(len(suggested)), 2):
        largest = np.maximum(largest, np.abs(suggested[one] - suggested[other]).sum(axis=1))
    return np.asarray(largest / 2 if answers.kind == "label" else np.minimum(largest, _FAR))


def agreement(suggested: Numbers, answers: Answers, truth: Numbers) -> Numbers:
    """(c, factors) How far each value alone suggests the right answer: the right class's share, or exp(-miss² / 2).

    Where the right answer is not known it is taken to be the usual one.
    """
    known = np.isfinite(truth)
    if answers.kind == "number":
        miss = suggested[:, :, 0] - np.where(known, (truth - answers.values.mean()) / _spread(answers), 0.0)
        return np.asarray(np.exp(-np.square(miss) / 2).T)
    place = np.where(known, truth, 0).astype(np.int64)
    return np.asarray(suggested[:, np.arange(len(place)), place].T)
