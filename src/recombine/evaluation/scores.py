"""The scores on combinations that were seen in training, on unseen and on novel ones, and the gap between them."""

import math
from dataclasses import dataclass, replace

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.statistics.intervals import Interval, gap_interval, interval
from recombine.statistics.resampling import FEWEST, IntervalSettings, Resampled, Statistic, macro, mean, r2, resampled
from recombine.tables.support import NumberTarget

SIDES = ("all", "seen", "unseen", "determined", "undetermined", "novel")


@dataclass(frozen=True)
class Side:
    """The score on some of the tested combinations.

    `score` counts every row once, as scikit-learn does; `macro` counts every combination once. What cannot be known
    is None, and `note` says why.
    """

    name: str
    rows: int
    combinations: int
    score: float | None
    low: float | None
    high: float | None
    macro: float | None
    macro_low: float | None
    macro_high: float | None
    note: str | None


@dataclass(frozen=True)
class Gap:
    """How much worse the unseen combinations fare than the seen ones; below 0 where they fare better."""

    value: float
    low: float | None
    high: float | None


def masks(outcomes: Outcomes) -> dict[str, Mask]:
    """Which tested combinations belong to each side."""
    rung = outcomes.rung
    found = {"all": np.ones(len(outcomes), dtype=bool), "seen": outcomes.seen, "unseen": outcomes.unseen}
    return found | {name: rung == name for name in ("determined", "undetermined")} | {"novel": outcomes.novel}


def scores(outcomes: Outcomes, settings: IntervalSettings) -> tuple[tuple[Side, ...], Gap | None]:
    """The score on every side, tested or not, and the gap between seen and unseen."""
    found: dict[str, Side] = {}
    drawn: dict[str, Resampled] = {}
    chosen = masks(outcomes)
    for name, mask in chosen.items():
        twin = next((other for other in found if np.array_equal(mask, chosen[other])), None)
        if twin is not None:
            found[name] = replace(found[twin], name=name)
            continue
        several = [one for one in (score_of(outcomes, mask), macro_of(outcomes, mask)) if one is not None]
        draws = resampled(several, settings, name) if int(mask.sum()) >= FEWEST else None
        found[name] = _side(outcomes, name, several, draws, settings)
        if draws is not None:
            drawn[name] = draws[0]
    return tuple(found.values()), _gap(outcomes, settings, drawn)


def _gap(outcomes: Outcomes, settings: IntervalSettings, drawn: dict[str, Resampled]) -> Gap | None:
    """How much worse unseen is than seen; None where one of them was not tested."""
    names = ("seen", "unseen") if outcomes.score.better == "higher" else ("unseen", "seen")
    better, worse = (score_of(outcomes, masks(outcomes)[name]) for name in names)
    value = better.of_all - worse.of_all
    if not math.isfinite(value):
        return None
    both = (drawn[names[0]], drawn[names[1]]) if set(names) <= set(drawn) else None
    low, high = gap_interval(better, worse, settings, "gap", share=outcomes.score.is_share, drawn=both) or (None, None)
    return Gap(value, low, high)


def _side(
    outcomes: Outcomes,
    name: str,
    several: list[Statistic],
    drawn: tuple[Resampled, ...] | None,
    settings: IntervalSettings,
) -> Side:
    score, each = several[0], several[1] if len(several) > 1 else None
    found = _interval(outcomes, score, settings, drawn[0] if drawn else None)
    around = None if each is None else _interval(outcomes, each, settings, drawn[1] if drawn else None)
    low, high = found or (None, None)
    macro_low, macro_high = around or (None, None)
    return Side(
        name=name,
        rows=int(masks(outcomes)[name] @ outcomes.rows),
        combinations=score.combinations,
        score=known(score.of_all),
        low=low,
        high=high,
        macro=None if each is None else known(each.of_all),
        macro_low=macro_low,
        macro_high=macro_high,
        note=None if found is not None else _note(outcomes, score.combinations, score.of_all),
    )


def _interval(
    outcomes: Outcomes, statistic: Statistic, settings: IntervalSettings, drawn: Resampled | None
) -> Interval | None:
    least = 0.0 if outcomes.score.never_negative else -math.inf
    return interval(statistic, settings, "", share=outcomes.score.is_share, least=least, drawn=drawn)


def score_of(outcomes: Outcomes, chosen: Mask) -> Statistic:
    """The score of some of the tested combinations, each row counted once."""
    rows, total = outcomes.rows[chosen], outcomes.total[chosen]
    if outcomes.score.name != "r2":
        return mean(rows, total)
    return r2(rows, total, *(part[chosen] for part in truth_of(outcomes)))


def truth_of(outcomes: Outcomes) -> Numbers:
    """The sums of the truth and of its square by combination, about one number near them."""
    truth = outcomes.tested.target
    assert isinstance(truth, NumberTarget)  # noqa: S101 - r2 is refused for anything else
    return np.stack([truth.total, truth.squares])


def macro_of(outcomes: Outcomes, chosen: Mask) -> Statistic | None:
    """The same with each combination counted once; R² of a single combination means nothing."""
    if outcomes.score.name == "r2":
        return None
    return macro(outcomes.rows[chosen], outcomes.total[chosen])


def known(number: float) -> float | None:
    """A number, or None where it is not one: what is missing is never 0."""
    return number if math.isfinite(number) else None


def _note(outcomes: Outcomes, count: int, score: float) -> str:
    if not count and outcomes.training is None:
        return "It was not told what the model was trained on, so seen and unseen combinations cannot be told apart."
    if not count:
        return "No such combination was tested: nothing is known about it."
    if not math.isfinite(score):
        return "The true answers do not vary here, so R² means nothing."
    if count < FEWEST:
        return f"{count} combination{'s are' if count > 1 else ' is'} too few for an interval: {FEWEST} at least."
    return "Every combination has the same score, so there is nothing to build an interval on."
