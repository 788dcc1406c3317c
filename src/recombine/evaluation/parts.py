"""Scores by value of each factor, and by pair of values: which part is hard, and is it hard on unseen combinations too?

Their intervals come from the spread between the combinations of a part by formula (Student's, or Wilson's for a
share): drawing would give the same and there can be 10^5 parts. A part with fewer than five combinations has none.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Groups, Ints, Numbers, totals
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.evaluation.scores import score_of
from recombine.statistics.intervals import student_interval
from recombine.statistics.resampling import IntervalSettings

_MOST_PAIRS = 10**6


@dataclass(frozen=True)
class Parts:
    """A line for each value of each factor, tested or not, and for each pair of values that was tested.

    `left_out` names the pairs of factors that hold too many pairs of values to be listed.
    """

    values: pa.Table
    pairs: pa.Table
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class PartScores:
    """Scores of groups of combinations, NaN where there is none."""

    rows: Numbers
    combinations: Ints
    score: Numbers
    low: Numbers
    high: Numbers


def parts(outcomes: Outcomes, settings: IntervalSettings) -> Parts:
    """The scores by value and by pair of values, over all tested combinations and over the unseen ones."""
    space = outcomes.tested.space
    values, pairs, left_out, listed = [], [], [], 0
    for factor, size, codes in zip(space.factors, space.sizes, outcomes.tested.codes.T, strict=True):
        names = {"factor": _repeated(factor.name, size), "value": pa.array(factor.labels)}
        values.append(pa.table(names | _columns(outcomes, codes.astype(np.int64), size, settings)))
    for first, second in combinations(range(len(space.factors)), 2):
        groups = outcomes.tested.groups([first, second])
        listed += groups.size
        if listed > _MOST_PAIRS:
            left_out.append((space.names[first], space.names[second]))
            continue
        names = _pair_names(outcomes, groups, first, second)
        pairs.append(pa.table(names | _columns(outcomes, groups.ids, groups.size, settings)))
    empty = pa.table({"factor_a": pa.array([], pa.string())})
    return Parts(pa.concat_tables(values), pa.concat_tables(pairs) if pairs else empty, tuple(left_out))


def part_scores(outcomes: Outcomes, ids: Ints, size: int, chosen: Mask, settings: IntervalSettings) -> PartScores:
    """The score of each group of the chosen combinations, with an interval over combinations."""
    statistic = score_of(outcomes, chosen)
    ids = ids[chosen]
    count = np.bincount(ids, minlength=size)
    rows = totals(ids, outcomes.rows[chosen], size)
    if not len(ids):
        nothing = np.full(size, np.nan)
        return PartScores(rows, count, nothing, nothing, nothing)
    sums = np.stack([totals(ids, part, size) for part in statistic.parts.T], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(count > 0, statistic.value(sums), np.nan)
        moved = np.sum(statistic.parts * statistic.slope(sums)[ids], axis=1)
        error = np.sqrt(totals(ids, moved**2, size) * count / (count - 1))
    low, high = student_interval(score, error, count, settings, share=outcomes.score.is_share)
    if outcomes.score.never_negative:
        low = np.maximum(low, 0.0)
    return PartScores(rows, count, score, low, high)


def _columns(outcomes: Outcomes, ids: Ints, size: int, settings: IntervalSettings) -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    everything = np.ones(len(outcomes), dtype=bool)
    for prefix, chosen in (("", everything), ("seen_", outcomes.seen), ("unseen_", outcomes.unseen)):
        scores = part_scores(outcomes, ids, size, chosen, settings)
        found[f"{prefix}rows"] = pa.array(scores.rows.astype(np.int64))
        found[f"{prefix}combinations"] = pa.array(scores.combinations.astype(np.int64))
        for name in ("score", "low", "high"):
            found[f"{prefix}{name}"] = pa.array(getattr(scores, name), from_pandas=True)
    return found


def _pair_names(outcomes: Outcomes, groups: Groups, first: int, second: int) -> dict[str, pa.Array]:
    factors, codes = outcomes.tested.space.factors, outcomes.tested.codes[groups.representatives]
    found = {}
    for letter, k in (("a", first), ("b", second)):
        found[f"factor_{letter}"] = _repeated(factors[k].name, groups.size)
        found[f"value_{letter}"] = pa.array(factors[k].labels).take(pa.array(codes[:, k]))
    return found


def _repeated(text: str, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), size)
