"""Two models on the same rows: is one better, and where? Paired, because both met the same combinations.

Another table without ids is compared combination by combination, if both hold the same rows of each.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.base.errors import TableError
from recombine.base.records import Provenance
from recombine.base.words import count, measure, percent
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
    """Both scores on one side, and the other model's less this one's, with an interval over combinations.

    Where whole blocks were held out, the combinations are so many `pieces` of evidence.
    """

    name: str
    rows: int
    combinations: int
    own: float | None
    other: float | None
    difference: float | None
    low: float | None
    high: float | None
    better: Better
    pieces: int | None = None


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
    sides = tuple(_compare_side(outcomes, paired, name, mask, settings) for name, mask in masks(outcomes).items())
    without = int(outcomes.rows.sum() - paired.rows.sum())
    return ModelComparison(other, _verdict(sides, outcomes, settings), without, sides)


def _compare_side(
    outcomes: Outcomes, paired: PairedOutcomes, name: str, side: Mask, settings: IntervalSettings
) -> ComparedScores:
    chosen = side & (paired.rows > 0)
    own, other, apart = _statistics(outcomes, paired, chosen)
    apart = apart.by_piece(outcomes.pieces[chosen])
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
        pieces=apart.combinations if apart.combinations < int(chosen.sum()) else None,
    )


def _statistics(outcomes: Outcomes, paired: PairedOutcomes, chosen: Mask) -> tuple[Statistic, Statistic, Statistic]:
    rows, own, other = (part[chosen] for part in (paired.rows, paired.own, paired.other))
    if outcomes.score.name != "r2":
        return mean(rows, own), mean(rows, other), difference(rows, own, other)
    share = rows / outcomes.rows[chosen]  # the truth's spread, where the other model left rows unanswered
    total, squares = truth_of(outcomes)[:, chosen] * share
    spread = (total, squares)
    return r2(rows, own, *spread), r2(rows, other, *spread), r2_difference(rows, own, other, *spread)


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
    size, unit = abs(side.difference), 100 if outcomes.score.is_share else 1
    apart = f"{100 * size:.3g} points" if outcomes.score.is_share else measure(size)
    if side.low is None or side.high is None:
        why = "they differ alike on every combination, or too unlike for an interval to rule anything out"
        if (side.pieces or side.combinations) < FEWEST:
            what = "combinations" if side.pieces is None else "pieces of evidence"
            why = f"an interval needs {FEWEST} {what} at least"
        return f"{where} the models differ by {apart}; {why}, so that may be luck."
    ends = f"{measure(unit * side.low)} to {measure(unit * side.high)}"
    around = f"{percent(settings.confidence)} interval of other less this {ends}"
    return f"{where} {worded}: they differ by {apart} ({around})."


def paired_by_combination(
    against: Any, question: PredictionQuestion, scoring: Scoring, own: Outcomes
) -> PairedOutcomes:
    """The other model's sums of scores on the same combinations; refused where the rows are not the same."""
    gathered = gather(against, question)
    other = outcomes_of(gathered, question, Provenance(source=gathered.source)).outcomes
    if gathered.scoring.kind != scoring.kind:
        raise _other_rows(f"its answers are {gathered.scoring.kind}s, this one's {scoring.kind}s")
    # the other table's combinations in this table's numbers, -1 for a value that it does not have
    factors = zip(other.tested.space.factors, own.tested.space.factors, strict=True)
    codes = np.stack(
        [
            np.array([mine.code(value) for value in theirs.values], dtype=np.int32)[other.tested.codes[:, k]]
            for k, (theirs, mine) in enumerate(factors)
        ],
        axis=1,
    )
    place = own.tested.groups(range(codes.shape[1])).lookup(codes)
    rows, total = np.zeros(len(own)), np.zeros(len(own))
    rows[place[place >= 0]], total[place[place >= 0]] = other.rows[place >= 0], other.total[place >= 0]
    if (place < 0).any():
        raise _other_rows(f"{int((place < 0).sum()):,} of its combinations are not in this table")
    if (rows != own.rows).any():
        raise _other_rows(f"{int((rows != own.rows).sum()):,} combinations have other numbers of scored rows in it")
    return PairedOutcomes(own.rows, own.total, total)


def _other_rows(why: str) -> TableError:
    return TableError(
        "the other table does not hold the same rows",
        why=why,
        instead="name a column that tells the rows apart in both tables: id='image' (--id image)",
    )
