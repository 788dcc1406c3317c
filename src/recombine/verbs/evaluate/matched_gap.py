"""The gap between seen and unseen combinations, matched: like is compared with like.

Unseen combinations often hold harder classes and rarer values than seen ones. Then they fare worse even with a model to
which it makes no difference whether a combination was seen. So the seen ones are weighted until they hold the same
classes and values as the unseen ones: the score of the seen ones is fitted by one number for each value of each factor
(together with the true class where the table allows it), and the fit is read off at the unseen ones. What the unseen
ones lack of it is the matched gap. Those that hold what no seen one tells are not matched, and it is said how many.

The matched gap is a weighted sum of the scores, Σ aᵢ sᵢ, over seen and unseen ones. Its variance is Σ aᵢ² vᵢ, where
vᵢ is the squared residual, over what the fit leaves free of it, of one fit to both with a number for being unseen: any
noise within and between combinations is in it, rows of one combination are one piece of evidence, and few combinations
that carry much weight widen Student's quantile (Satterthwaite).

Groups that hold the true class: balanced accuracy, and the worst group.

Whoever always answers the commonest class gets most rows right where one class is common. The mean of the classes' own
shares (balanced accuracy) does not reward that, and the worst of the groups "class and background" even less. A group
with a handful of rows is untested: it is neither the worst nor left out of the worst case.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from recombine.base.grades import FAILING_BELOW, MOST_MATCHED, SOUND_FROM, Grade
from recombine.base.words import listing
from recombine.data.support import LabelTarget
from recombine.numerics.additive_design import AdditiveFit
from recombine.numerics.groups import Codes, Ints, Numbers, number, totals
from recombine.numerics.intervals import Interval, lowest_share_intervals, student_ends, student_interval
from recombine.numerics.resampling import FEWEST, IntervalSettings
from recombine.verbs.evaluate.baselines import Rules
from recombine.verbs.evaluate.outcomes import Mask, Outcomes
from recombine.verbs.evaluate.scores import known

_ENOUGH = 0.5  # of the unseen rows, that a way of matching must reach
_DIGITS = 12  # of a gap; what is left below is rounding
_ALONE = 1e-6  # what is left of a residual below this is nothing but rounding


@dataclass(frozen=True)
class MatchedGap:
    """How much worse unseen combinations fare than seen ones that hold the same classes and values.

    `seen` is the score of the seen ones, weighted like the unseen ones, and `unseen` that of the unseen ones that could
    be matched: `matched` is their share of the unseen rows. `on` names what they were matched on. Where nothing could
    be matched the numbers are None, and `reason` says why.
    """

    value: float | None
    low: float | None
    high: float | None
    seen: float | None
    unseen: float | None
    on: str | None
    matched: float
    combinations: int
    reason: str | None

    @property
    def speaks_for_most(self) -> bool:
        """Whether it tells how the unseen ones fare, and not only those that happen to have a match."""
        return self.value is not None and self.matched >= MOST_MATCHED


class _MatchedCells(NamedTuple):
    """What is matched: a combination, or the rows of one class within one."""

    combination: Ints
    codes: Codes
    label: Ints | None
    rows: Numbers
    total: Numbers


class _Design(NamedTuple):
    """One way of matching: a code for each thing that is matched on, and what to call it."""

    codes: Codes
    sizes: tuple[int, ...]
    on: str


@dataclass(frozen=True, eq=False)
class Matching:
    """How like is set against like: which cells are compared, and the weight of each.

    It hangs on what was trained on and tested, not on what was answered, so that it can be made once and asked about
    the answers of every epoch. The score of the seen ones that look like the unseen ones is Σ `weight` · score, that of
    the unseen ones Σ `asked` · score, over cells.
    """

    cells: _MatchedCells
    both: AdditiveFit  # to the seen and the matched unseen ones, with a number for being unseen
    spare: int  # cells beyond what that fit can go through
    used: Mask
    weight: Numbers
    asked: Numbers
    on: str
    share: float
    met: tuple[int, int]  # combinations that are looked at: seen ones, unseen ones
    pieces: int  # of evidence on the side that has fewer

    def scores(self, outcomes: Outcomes, score: Numbers) -> tuple[float, float]:
        """The score of the seen ones, weighted like the unseen ones, and that of the unseen ones."""
        seen, unseen = float((self.weight * score).sum()), float(self.asked @ score)
        return (min(max(seen, 0.0), 1.0) if outcomes.score.is_share else seen), unseen

    def gap(self, outcomes: Outcomes, score: Numbers) -> float:
        """How much worse the unseen ones fare, from the mean score of each cell."""
        seen, unseen = self.scores(outcomes, score)
        unit = self.unit(score)
        return round((seen - unseen) * (1 if outcomes.score.better == "higher" else -1) / unit, _DIGITS) * unit + 0.0

    def unit(self, score: Numbers) -> float:
        """About the largest score, as a power of two, which costs no digits: what rounding is told by, in any unit."""
        return math.ldexp(1.0, math.frexp(float(np.abs(score[self.used]).max(initial=0.0)) or 1.0)[1] - 1)


def matched_gap(outcomes: Outcomes, settings: IntervalSettings) -> MatchedGap | None:
    """The gap between seen and unseen combinations that hold the same classes and values.

    None where seen or unseen ones were not tested.
    """
    if not (outcomes.seen.any() and outcomes.unseen.any()):
        return None
    if outcomes.score.name == "r2":
        return _no_match("R² is no mean over rows, so the gap is not matched; --score mse has a matched one")
    way = matching(outcomes)
    if way is None:
        return _no_match(
            "too few seen combinations hold the classes and values of the unseen ones, so the gap could not be matched"
        )
    score = way.cells.total / way.cells.rows
    seen, unseen = way.scores(outcomes, score)
    value = way.gap(outcomes, score)
    error, freedom = _error(outcomes, way, score)
    low = high = None
    # an error that is nothing but rounding would promise a gap to the last digit
    if way.pieces >= FEWEST and error > 10**-_DIGITS * way.unit(score):
        most = 1.0 if outcomes.score.is_share else math.inf
        low, high = map(float, student_ends(value, error, freedom, settings, least=-most, most=most))
    return MatchedGap(value, low, high, seen, unseen, way.on, way.share, way.met[1], None)


def matching(outcomes: Outcomes) -> Matching | None:
    """How seen and unseen combinations can be matched; None where they cannot.

    The finest way is taken that leaves something to test with: each factor's value together with the true class; both
    side by side; the class alone.
    """
    if outcomes.tested.space.set_factors and outcomes.too_many_parts:
        return None
    cells = _cells(outcomes)
    seen, unseen = outcomes.seen[cells.combination], outcomes.unseen[cells.combination]
    for design in _designs(outcomes, cells):
        if AdditiveFit.too_large((*design.sizes, 2)):
            continue
        fit = AdditiveFit.of(design.codes, design.sizes, weights=cells.rows * seen)
        chosen = unseen & ~fit.alone
        share = float(cells.rows[chosen].sum() / cells.rows[unseen].sum())
        if share < _ENOUGH:
            continue
        asked = cells.rows * chosen / cells.rows[chosen].sum()
        weight = fit.weights * fit.pulled_by(asked)  # how the seen ones are weighted to look like the unseen ones
        used, looked = seen | chosen, seen & (np.abs(weight) > 0)
        side = chosen.astype(np.int64)
        both = AdditiveFit.of(_columns(*design.codes.T, side), (*design.sizes, 2), weights=cells.rows * used)
        spare = int(used.sum()) - both.rank
        if spare >= FEWEST:
            met = (len(np.unique(cells.combination[looked])), len(np.unique(cells.combination[chosen])))
            piece = outcomes.pieces[cells.combination]
            pieces = min(len(np.unique(piece[looked])), len(np.unique(piece[chosen])))
            return Matching(cells, both, spare, used, weight, asked, design.on, share, met, pieces)
    return None


def _no_match(reason: str) -> MatchedGap:
    return MatchedGap(None, None, None, None, None, None, 0.0, 0, reason)


def _cells(outcomes: Outcomes) -> _MatchedCells:
    """The rows of each class within each combination where right and wrong ones are told by class."""
    codes, target = outcomes.part_codes, outcomes.tested.target
    if outcomes.kind != "label" or not outcomes.score.is_share:
        label = None
        if isinstance(target, LabelTarget) and len(target.combination) == len(outcomes):  # each has one class only
            label = np.zeros(len(outcomes), dtype=np.int64)
            label[target.combination] = target.label
        return _MatchedCells(np.arange(len(outcomes)), codes, label, outcomes.rows, outcomes.total)
    classes = len(outcomes.classes)
    keys, ids = number(outcomes.combination * classes + outcomes.truth, len(outcomes) * classes)
    right = totals(ids, outcomes.count * (outcomes.truth == outcomes.said), len(keys))
    combination = keys // classes
    return _MatchedCells(combination, codes[combination], keys % classes, totals(ids, outcomes.count, len(keys)), right)


def _designs(outcomes: Outcomes, cells: _MatchedCells) -> list[_Design]:
    sizes, target = outcomes.part_sizes, outcomes.tested.target
    names, called = listing(list(outcomes.tested.space.names)), "" if target is None else target.name
    if cells.label is None:
        return [_Design(cells.codes, sizes, names)]
    label, classes = cells.label, len(outcomes.classes)
    both = [
        number(column.astype(np.int64) * classes + label, size * classes)
        for column, size in zip(cells.codes.T, sizes, strict=True)
    ]
    together = tuple(len(keys) for keys, _ in both)
    return [
        _Design(_columns(*(ids for _, ids in both)), together, f"{called} with {names}"),
        _Design(_columns(*cells.codes.T, label), (*sizes, classes), f"{called} and {names}"),
        _Design(_columns(label, np.zeros_like(label)), (classes, 1), called),
    ]


def _columns(*columns: Ints) -> Codes:
    return np.asfortranarray(np.stack(columns, axis=1).astype(np.int32))


def _error(outcomes: Outcomes, way: Matching, score: Numbers) -> tuple[float, float]:
    """The standard error of the matched gap, and its degrees of freedom."""
    cells, used, weight = way.cells, way.used, way.weight - way.asked
    residual = np.where(used, score - way.both.fitted(score), 0.0)
    left = 1 - np.clip(way.both.own_leverage, 0.0, 1.0)
    own = residual / np.sqrt(np.maximum(left, _ALONE))
    usual = float((cells.rows * residual**2).sum()) / way.spare  # of one row: for cells that the fit goes through
    alone = used & (left <= _ALONE)
    piece = outcomes.pieces[cells.combination]
    moved = totals(piece, weight * np.where(alone, 0.0, own), len(outcomes)) ** 2
    moved += totals(piece, np.where(alone, weight**2 * usual / cells.rows, 0.0), len(outcomes))
    if not moved.any():
        return 0.0, float(way.spare)
    freedom = max(float(moved.sum() ** 2 / (moved**2).sum()), 1.0)  # which it is, but for rounding
    return float(np.sqrt(moved.sum())), min(freedom, float(way.spare))


THIN = 10
"""A group with fewer tested rows is untested."""


@dataclass(frozen=True)
class Balanced:
    """The mean of the classes' shares of right answers on one side, with an interval over pieces of evidence."""

    side: str
    score: float
    low: float | None
    high: float | None
    classes: int


@dataclass(frozen=True)
class WorstGroup:
    """The group, a combination with the true class as a factor, of which the fewest rows are answered right.

    `thin` groups have fewer than ten tested rows, and `missing` ones none at all: none of them passes. The interval is
    over the group's rows, and allows for its being picked: the worst of many is low by luck too. `baseline` is the best
    that a simple rule gets in its own worst group.
    """

    label: str
    combination: dict[str, str] | None
    rows: int
    score: float | None
    low: float | None
    high: float | None
    groups: int
    thin: tuple[dict[str, str], ...]
    missing: int
    baseline: float | None
    baseline_name: str | None

    @property
    def picked_from(self) -> int:
        """How many groups it is the worst of: those with enough rows."""
        return self.groups - len(self.thin)

    @property
    def grade(self) -> Grade:
        """Earned by the worst group, and by none where a group could not be tested."""
        if self.score is None or self.low is None or self.high is None:
            return "untested"
        if self.high < max(FAILING_BELOW, self.baseline or 0.0):
            return "failing"
        if self.thin or self.missing or self.baseline is None:
            return "untested"
        if self.low <= self.baseline:
            return "weak"
        return "sound" if self.low >= SOUND_FROM else "plausible"


def balanced_accuracy(outcomes: Outcomes, sides: dict[str, Mask], settings: IntervalSettings) -> tuple[Balanced, ...]:
    """Balanced accuracy on every side that was tested; nothing for numbers.

    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> from recombine.data.space import Space
    >>> from recombine.data.support import Support
    >>> space, code = Space.of({"a": [0, 1], "b": [0, 1]}), np.asfortranarray([[0, 0], [1, 0]], dtype=np.int32)
    >>> answers = [np.array(x) for x in ([0, 1], [0, 1], [0, 0])]  # always class 0, of nine to one
    >>> found = Outcomes(Support(space, code, np.array([9.0, 1])), None, "label", (0, 1), *answers,
    ...     np.array([9.0, 1.0]), np.array([9.0, 0]), np.array([9.0, 0]), None, Score("accuracy", "higher"))
    >>> balanced_accuracy(found, {"all": np.ones(2, bool)}, IntervalSettings())[0].score
    0.5
    """
    if outcomes.kind != "label" or not len(outcomes.count):
        return ()
    return tuple(_balanced_side(outcomes, side, mask, settings) for side, mask in sides.items() if mask.any())


def _balanced_side(outcomes: Outcomes, side: str, chosen: Mask, settings: IntervalSettings) -> Balanced:
    lines = chosen[outcomes.combination]
    truth, rows = outcomes.truth[lines], outcomes.count[lines]
    piece = outcomes.pieces[outcomes.combination[lines]]
    right = rows * (truth == outcomes.said[lines])
    size = len(outcomes.classes)
    every, good = totals(truth, rows, size), totals(truth, right, size)
    met = every > 0
    recall = np.divide(good, every, out=np.zeros(size), where=met)
    score = float(recall[met].mean())
    moved = totals(piece, (right - recall[truth] * rows) / every[truth] / met.sum(), len(outcomes))
    count = len(np.unique(piece))
    error = np.sqrt((moved**2).sum() * count / max(count - 1, 1))
    low, high = student_interval(np.array(score), error, np.array(count), settings, share=True)
    return Balanced(side, score, known(float(low)), known(float(high)), int(met.sum()))


def worst_group(outcomes: Outcomes, rules: Rules, missing: int, settings: IntervalSettings) -> WorstGroup | None:
    """The worst of the groups, where the true class is one of the factors; None elsewhere."""
    target = outcomes.tested.target
    if target is None or not holds_class(outcomes):
        return None
    enough = outcomes.rows >= THIN
    thin = tuple(outcomes.labels(int(place)) for place in np.flatnonzero(~enough))
    found = WorstGroup(target.name, None, 0, None, None, None, len(outcomes), thin, missing, None, None)
    if not enough.any():
        return found
    place, (low, high) = pick_worst(outcomes, enough, settings)
    least = {name: float((right / outcomes.rows)[enough].min()) for name, right in rules.gained.items()}
    best = max(least, key=lambda name: least[name], default=None)
    return replace(
        found,
        combination=outcomes.labels(place),
        rows=int(outcomes.rows[place]),
        score=float(outcomes.mean[place]),
        low=low,
        high=high,
        baseline=None if best is None else least[best],
        baseline_name=best,
    )


def holds_class(outcomes: Outcomes) -> bool:
    """Whether the true class is one of the factors, so that each combination is a group with one class."""
    target = outcomes.tested.target
    return target is not None and target.name in outcomes.tested.space.names and outcomes.score.is_share


def pick_worst(outcomes: Outcomes, enough: Mask, settings: IntervalSettings) -> tuple[int, Interval]:
    """Where the group with the smallest share of right answers stands, of those with enough rows; and an interval that
    knows that it was picked.
    """
    ends = lowest_share_intervals(outcomes.total[enough], outcomes.rows[enough], settings)
    place = int(np.argmin(outcomes.mean[enough]))
    return int(np.flatnonzero(enough)[place]), (round(float(ends[0][place]), 9), round(float(ends[1][place]), 9))
