"""The scores on combinations that were seen in training, on unseen and on novel ones, and the gap between them."""

import math
from dataclasses import dataclass, replace

import numpy as np

from recombine.evaluation.intervals import FEWEST, Interval, Sure, gap_interval, interval
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.evaluation.statistic import Statistic, macro_of, score_of

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


def sides(outcomes: Outcomes, sure: Sure) -> tuple[Side, ...]:
    """The score on every side, tested or not."""
    found: dict[str, Side] = {}
    known_masks = masks(outcomes)
    for name, mask in known_masks.items():
        twin = next((other for other in found if np.array_equal(mask, known_masks[other])), None)
        found[name] = _side(outcomes, name, mask, sure) if twin is None else replace(found[twin], name=name)
    return tuple(found.values())


def gap(outcomes: Outcomes, sure: Sure) -> Gap | None:
    """The gap between seen and unseen; None where one of them was not tested."""
    seen, unseen = score_of(outcomes, outcomes.seen), score_of(outcomes, outcomes.unseen)
    better, worse = (seen, unseen) if outcomes.score.better == "higher" else (unseen, seen)
    value = better.of_all - worse.of_all
    if not math.isfinite(value):
        return None
    low, high = gap_interval(better, worse, sure, "gap") or (None, None)
    return Gap(value, low, high)


def _side(outcomes: Outcomes, name: str, chosen: Mask, sure: Sure) -> Side:
    count = int(chosen.sum())
    score, macro = score_of(outcomes, chosen), macro_of(outcomes, chosen)
    found = _interval(outcomes, score, sure, name)
    around = None if macro is None else _interval(outcomes, macro, sure, f"{name} macro")
    low, high = found or (None, None)
    macro_low, macro_high = around or (None, None)
    return Side(
        name=name,
        rows=int(outcomes.rows[chosen].sum()),
        combinations=count,
        score=known(score.of_all),
        low=low,
        high=high,
        macro=None if macro is None else known(macro.of_all),
        macro_low=macro_low,
        macro_high=macro_high,
        note=None if found is not None else _note(outcomes, count),
    )


def _interval(outcomes: Outcomes, statistic: Statistic, sure: Sure, name: str) -> Interval | None:
    least = 0.0 if outcomes.score.never_negative else -math.inf
    return interval(statistic, sure, name, share=outcomes.score.is_share, least=least)


def known(number: float) -> float | None:
    """A number, or None where it is not one: what is missing is never 0."""
    return number if math.isfinite(number) else None


def _note(outcomes: Outcomes, count: int) -> str:
    if not count and outcomes.training is None:
        return "It was not told what the model was trained on, so seen and unseen combinations cannot be told apart."
    if not count:
        return "No such combination was tested: nothing is known about it."
    if count < FEWEST:
        return f"{count} combination{'s are' if count > 1 else ' is'} too few for an interval: {FEWEST} at least."
    return "Every combination has the same score, so there is nothing to build an interval on."
