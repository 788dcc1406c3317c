"""Two models on the same rows: is one better, and where? Paired, because both met the same combinations.

Another table without ids is compared combination by combination, if both hold the same rows of each.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.base.errors import TableError
from recombine.base.records import Provenance
from recombine.base.words import count, measure, percent
from recombine.data.space import Space
from recombine.numerics.groups import Codes
from recombine.numerics.intervals import difference_interval
from recombine.numerics.resampling import FEWEST, IntervalSettings, Statistic, difference, mean, r2, r2_difference
from recombine.verbs.evaluate.outcome_reader import PairedOutcomes, outcomes_of
from recombine.verbs.evaluate.outcomes import Mask, Outcomes
from recombine.verbs.evaluate.prediction_query import gather
from recombine.verbs.evaluate.scores import known, masks, truth_of
from recombine.verbs.evaluate.scoring import PredictionQuestion, Scoring

Better = Literal["this", "other", "cannot tell"]


@dataclass(frozen=True)
class ComparedScores:
    """Both scores on one side, and the other model's less this one's, with an interval over combinations."""

    name: str
    rows: int
    combinations: int
    own: float | None
    other: float | None
    difference: float | None
    low: float | None
    high: float | None
    better: Better


@dataclass(frozen=True)
class ModelComparison:
    """This model and another, side by side."""

    other: str
    verdict: str
    rows_without: int
    sides: tuple[ComparedScores, ...]


def comparison(
    outcomes: Outcomes, paired: PairedOutcomes, settings: IntervalSettings, *, other: str
) -> ModelComparison:
    """Compare two models on every side, on the rows that both answered."""
    sides = tuple(_compared(outcomes, paired, name, mask, settings) for name, mask in masks(outcomes).items())
    without = int(outcomes.rows.sum() - paired.rows.sum())
    return ModelComparison(other, _verdict(sides, outcomes, settings), without, sides)


def _compared(
    outcomes: Outcomes, paired: PairedOutcomes, name: str, side: Mask, settings: IntervalSettings
) -> ComparedScores:
    chosen = side & (paired.rows > 0)
    own, other, apart = _statistics(outcomes, paired, chosen)
    share = outcomes.score.is_share
    found = difference_interval(apart, settings, f"difference {name}", share=share) if apart.combinations else None
    low, high = found or (None, None)
    return ComparedScores(
        name=name,
        rows=int(paired.rows[chosen].sum()),
        combinations=int(chosen.sum()),
        own=known(own.of_all),
        other=known(other.of_all),
        difference=known(apart.of_all),
        low=low,
        high=high,
        better=_better(low, high, outcomes.score.better),
    )


def _statistics(outcomes: Outcomes, paired: PairedOutcomes, chosen: Mask) -> tuple[Statistic, Statistic, Statistic]:
    rows, own, other = (part[chosen] for part in (paired.rows, paired.own, paired.other))
    if outcomes.score.name != "r2":
        return mean(rows, own), mean(rows, other), difference(rows, own, other)
    share = rows / outcomes.rows[chosen]  # the truth's spread, where the other model left rows unanswered
    total, squares = truth_of(outcomes)[:, chosen] * share
    return (
        r2(rows, own, total, squares),
        r2(rows, other, total, squares),
        r2_difference(rows, own, other, total, squares),
    )


def _better(low: float | None, high: float | None, better: str) -> Better:
    if low is None or high is None or low <= 0 <= high:
        return "cannot tell"
    return "other" if (low > 0) == (better == "higher") else "this"


def _verdict(sides: tuple[ComparedScores, ...], outcomes: Outcomes, settings: IntervalSettings) -> str:
    """The side that matters most: the unseen combinations where there are any, else all of them."""
    unseen, everything = sides[2], sides[0]
    side = unseen if unseen.combinations else everything
    where = f"On {count(side.combinations)} {'unseen' if side is unseen else 'tested'} combinations"
    if side.difference is None:
        return f"{where} no row was answered by both models, so they cannot be compared."
    worded = {
        "other": "the other model is better",
        "this": "this model is better",
        "cannot tell": "neither model is clearly better",
    }[side.better]
    apart = _amount(abs(side.difference), outcomes)
    if side.low is None or side.high is None:
        return f"{where} the models differ by {apart}; {_without_interval(side)}, so that may be luck."
    unit = 100 if outcomes.score.is_share else 1
    around = f"{percent(settings.confidence)} interval of other less this {_ends(unit * side.low, unit * side.high)}"
    return f"{where} {worded}: they differ by {apart} ({around})."


def _without_interval(side: ComparedScores) -> str:
    if side.combinations < FEWEST:
        return f"an interval needs {FEWEST} combinations at least"
    return "they differ alike on every combination, or too unlike for an interval to rule anything out"


def _amount(number: float, outcomes: Outcomes) -> str:
    return f"{100 * number:.3g} points" if outcomes.score.is_share else measure(number)


def _ends(low: float, high: float) -> str:
    return f"{measure(low)} to {measure(high)}"


def paired_by_combination(against: Any, asked: PredictionQuestion, scoring: Scoring, own: Outcomes) -> PairedOutcomes:
    """The other model's sums of scores on the same combinations; refused where the rows are not the same."""
    gathered = gather(against, asked)
    other = outcomes_of(gathered, asked, Provenance(source=gathered.source)).outcomes
    if gathered.scoring.kind != scoring.kind:
        raise _other_rows(f"its answers are {gathered.scoring.kind}s, this one's {scoring.kind}s")
    codes = _recoded(other.tested.codes, other.tested.space, own.tested.space)
    place = own.tested.groups(range(codes.shape[1])).lookup(codes)
    rows, total = np.zeros(len(own)), np.zeros(len(own))
    rows[place[place >= 0]], total[place[place >= 0]] = other.rows[place >= 0], other.total[place >= 0]
    stray, differing = int((place < 0).sum()), int((rows != own.rows).sum())
    if stray or differing:
        raise _other_rows(
            f"{stray:,} of its combinations are not in this table"
            if stray
            else f"{differing:,} combinations have other numbers of scored rows in it"
        )
    return PairedOutcomes(own.rows, own.total, total)


def _other_rows(why: str) -> TableError:
    return TableError(
        "the other table does not hold the same rows",
        why=why,
        instead="name a column that tells the rows apart in both tables: id='image' (--id image)",
    )


def _recoded(codes: Codes, theirs: Space, ours: Space) -> Codes:
    """The other table's combinations in this table's numbers, -1 for a value that it does not have."""
    columns = [
        np.array([mine.code(value) for value in factor.values], dtype=np.int32)[codes[:, k]]
        for k, (factor, mine) in enumerate(zip(theirs.factors, ours.factors, strict=True))
    ]
    return np.stack(columns, axis=1)
