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
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recombine.algebra.additive import AdditiveFit
from recombine.algebra.groups import Codes, Ints, Numbers, number, totals
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.statistics.distributions import student_quantile
from recombine.statistics.resampling import FEWEST, IntervalSettings
from recombine.tables.support import LabelTarget
from recombine.words import listing

_ENOUGH = 0.5  # of the unseen rows, that a way of matching must reach
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


class _Cells(NamedTuple):
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


def matched_gap(outcomes: Outcomes, settings: IntervalSettings) -> MatchedGap | None:
    """The gap between seen and unseen combinations that hold the same classes and values.

    The finest way of matching is taken that leaves something to test with: each factor's value together with the true
    class; both side by side; the class alone. None where seen or unseen ones were not tested.
    """
    if not (outcomes.seen.any() and outcomes.unseen.any()):
        return None
    if outcomes.score.name == "r2":
        return _unmatched("R² is no mean over rows, so the gap is not matched; --score mse has a matched one")
    cells = _cells(outcomes)
    seen, unseen = outcomes.seen[cells.combination], outcomes.unseen[cells.combination]
    for design in _designs(outcomes, cells):
        if AdditiveFit.too_large((*design.sizes, 2)):
            continue
        fit = AdditiveFit.of(design.codes, design.sizes, weights=cells.rows * seen)
        told = np.isfinite(fit.left_out(cells.total / cells.rows, np.zeros(len(seen))).value)
        chosen = unseen & told
        share = float(cells.rows[chosen].sum() / cells.rows[unseen].sum())
        if share >= _ENOUGH:
            found = _measured(outcomes, cells, design, fit, seen, chosen, share, settings)
            if found is not None:
                return found
    return _unmatched(
        "too few seen combinations hold the classes and values of the unseen ones, so the gap could not be matched"
    )


def _unmatched(reason: str) -> MatchedGap:
    return MatchedGap(None, None, None, None, None, None, 0.0, 0, reason)


def _cells(outcomes: Outcomes) -> _Cells:
    """The rows of each class within each combination where right and wrong ones are told by class."""
    codes = outcomes.tested.codes
    if outcomes.kind != "label" or not outcomes.score.is_share:
        label = _one_class(outcomes)
        return _Cells(np.arange(len(outcomes)), codes, label, outcomes.rows, outcomes.total)
    classes = len(outcomes.classes)
    keys, ids = number(outcomes.combination * classes + outcomes.truth, len(outcomes) * classes)
    right = totals(ids, outcomes.count * (outcomes.truth == outcomes.said), len(keys))
    combination = keys // classes
    return _Cells(combination, codes[combination], keys % classes, totals(ids, outcomes.count, len(keys)), right)


def _one_class(outcomes: Outcomes) -> Ints | None:
    """The class of each combination, where each has one only."""
    target = outcomes.tested.target
    if not isinstance(target, LabelTarget) or len(target.combination) != len(outcomes):
        return None
    found = np.zeros(len(outcomes), dtype=np.int64)
    found[target.combination] = target.label
    return found


def _designs(outcomes: Outcomes, cells: _Cells) -> list[_Design]:
    space, target = outcomes.tested.space, outcomes.tested.target
    names, called = listing(list(space.names)), "" if target is None else target.name
    if cells.label is None:
        return [_Design(cells.codes, space.sizes, names)]
    label, classes = cells.label, len(outcomes.classes)
    both = [
        number(column.astype(np.int64) * classes + label, size * classes)
        for column, size in zip(cells.codes.T, space.sizes, strict=True)
    ]
    joint = _Design(_columns(*(ids for _, ids in both)), tuple(len(keys) for keys, _ in both), f"{called} with {names}")
    beside = _Design(_columns(*cells.codes.T, label), (*space.sizes, classes), f"{called} and {names}")
    alone = _Design(_columns(label, np.zeros_like(label)), (classes, 1), called)
    return [joint, beside, alone]


def _columns(*columns: Ints) -> Codes:
    return np.asfortranarray(np.stack(columns, axis=1).astype(np.int32))


def _measured(
    outcomes: Outcomes,
    cells: _Cells,
    design: _Design,
    fit: AdditiveFit,
    seen: Mask,
    chosen: Mask,
    share: float,
    settings: IntervalSettings,
) -> MatchedGap | None:
    """The gap and its interval; None where nothing is left to tell its noise by."""
    score, asked = cells.total / cells.rows, cells.rows * chosen / cells.rows[chosen].sum()
    weight = fit.weights * fit.pulled_by(asked)  # how the seen ones are weighted to look like the unseen ones
    error, freedom = _error(outcomes, cells, design, weight - asked, seen | chosen)
    if freedom < 1:
        return None
    looked = seen & (np.abs(weight) > 0)
    like, own = float((weight * score)[seen].sum()), float(asked @ score)
    if outcomes.score.is_share:
        like = min(max(like, 0.0), 1.0)
    value = round((like - own) * (1 if outcomes.score.better == "higher" else -1), 12) + 0.0
    met = [len(np.unique(cells.combination[part])) for part in (looked, chosen)]
    reach = float(student_quantile(1 - settings.tail, freedom)) * error
    low, high = (value - reach, value + reach) if min(met) >= FEWEST and error > 0 else (None, None)
    if outcomes.score.is_share and low is not None and high is not None:
        low, high = max(low, -1.0), min(high, 1.0)
    return MatchedGap(value, low, high, like, own, design.on, share, met[1], None)


def _error(outcomes: Outcomes, cells: _Cells, design: _Design, weight: Numbers, used: Mask) -> tuple[float, float]:
    """The standard error of a weighted sum of the scores, and its degrees of freedom: 0 if it cannot be told."""
    side = outcomes.unseen[cells.combination].astype(np.int64)
    both = AdditiveFit.of(_columns(*design.codes.T, side), (*design.sizes, 2), weights=cells.rows * used)
    spare = int(used.sum()) - both.rank
    if spare < FEWEST:
        return 0.0, 0.0
    score = cells.total / cells.rows
    residual = np.where(used, score - both.fitted(score), 0.0)
    left = 1 - np.clip(both.left_out(score, np.zeros(len(score))).leverage, 0.0, 1.0)
    own = residual / np.sqrt(np.maximum(left, _ALONE))
    usual = float((cells.rows * residual**2).sum()) / spare  # of one row: for cells that the fit goes through
    alone = used & (left <= _ALONE)
    moved = totals(cells.combination, weight * np.where(alone, 0.0, own), len(outcomes)) ** 2
    moved += totals(cells.combination, np.where(alone, weight**2 * usual / cells.rows, 0.0), len(outcomes))
    if not moved.any():
        return 0.0, float(spare)
    return float(np.sqrt(moved.sum())), min(float(moved.sum() ** 2 / (moved**2).sum()), float(spare))
