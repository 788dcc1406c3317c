"""Scores: on each side and the gap between seen and unseen, by value and pair of values, and of each combination.

By value and by pair: which part is hard, and is it hard on unseen combinations too? Their intervals come from the
spread between the pieces of evidence of a part by formula (Student's, or Wilson's for a share): drawing would give the
same, and there can be 10^5 parts. A part with fewer than five has none.

Each combination's score is pulled towards its side's mean as far as its few rows deserve. A combination with three rows
is not the worst because of luck: how much the combinations of a side truly differ is estimated from all of them, and
what remains of one combination's own evidence decides how far it may stand apart. Shares of right answers follow a
beta-binomial, other scores a normal model; both are estimated by moments, which need no iteration at 10^5 combinations.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from recombine.data.support import NumberTarget
from recombine.numerics.groups import Ints, Numbers, number, totals
from recombine.numerics.intervals import (
    gap_interval,
    interval,
    lowest_mean_intervals,
    lowest_share_intervals,
    student_interval,
)
from recombine.numerics.resampling import FEWEST, IntervalSettings, Resampled, Statistic, macro, mean, r2, resampled
from recombine.verbs.audit.set_coverage import ALONE, TOGETHER
from recombine.verbs.evaluate.outcomes import Mask, Outcomes
from recombine.verbs.evaluate.part_groups import PartGroups, factor_pairs, part_groups

SIDES = ("all", "seen", "unseen", "determined", "undetermined", "novel")
_MOST_PAIRS = 10**6  # lines of a table that somebody may still open
_WEAK = 2.0  # prior rows where too few combinations tell how much they differ
_PRIOR_FREEDOM = 4.0  # rows that the pooled noise counts for: few, so that a combination's own soon outweigh it
_JEFFREYS = 0.5  # right and wrong rows that are added at least, so that a row or two never look certain


@dataclass(frozen=True)
class SideScore:
    """The score on some of the tested combinations.

    `score` counts every row once, as scikit-learn does; `macro` counts every combination once. What cannot be known
    is None, and `note` says why. Where whole blocks were held out, the combinations are so many `pieces` of evidence.
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
    pieces: int | None = None


@dataclass(frozen=True)
class ScoreGap:
    """How much worse the unseen combinations fare than the seen ones; below 0 where they fare better."""

    value: float
    low: float | None
    high: float | None


def masks(outcomes: Outcomes) -> dict[str, Mask]:
    """Which tested combinations belong to each side."""
    rung = outcomes.rung
    found = {"all": np.ones(len(outcomes), dtype=bool), "seen": outcomes.seen, "unseen": outcomes.unseen}
    found |= {name: rung == name for name in ("determined", "undetermined")}
    if outcomes.elements is not None:
        found |= {name: outcomes.unseen & (outcomes.elements == name) for name in (ALONE, TOGETHER)}
    return found | {"novel": outcomes.novel}


def scores(outcomes: Outcomes, settings: IntervalSettings) -> tuple[tuple[SideScore, ...], ScoreGap | None]:
    """The score on every side, tested or not, and the gap between seen and unseen."""
    found: dict[str, SideScore] = {}
    drawn: dict[str, Resampled] = {}
    sides = masks(outcomes)
    for name, mask in sides.items():
        twin = next((other for other in found if np.array_equal(mask, sides[other])), None)
        if twin is not None:  # the same combinations have the same draws
            found[name] = replace(found[twin], name=name)
            continue
        both = (score_of(outcomes, mask), macro_of(outcomes, mask))
        several = [one.by_piece(outcomes.pieces[mask]) for one in both if one is not None]
        enough = several[0].combinations >= FEWEST
        draws = resampled(several, settings, name) if enough else (None,) * len(several)
        found[name] = _side(outcomes, name, list(zip(several, draws, strict=True)), settings)
        if draws[0] is not None:
            drawn[name] = draws[0]
    return tuple(found.values()), _gap(outcomes, settings, drawn)


def _gap(outcomes: Outcomes, settings: IntervalSettings, drawn: dict[str, Resampled]) -> ScoreGap | None:
    """How much worse unseen is than seen; None where one of them was not tested."""
    names = ("seen", "unseen") if outcomes.score.better == "higher" else ("unseen", "seen")
    chosen = (masks(outcomes)[name] for name in names)
    better, worse = (score_of(outcomes, mask).by_piece(outcomes.pieces[mask]) for mask in chosen)
    value = better.of_all - worse.of_all
    if not math.isfinite(value):
        return None
    both = (drawn[names[0]], drawn[names[1]]) if set(names) <= set(drawn) else None
    low, high = gap_interval(better, worse, settings, "gap", share=outcomes.score.is_share, drawn=both) or (None, None)
    return ScoreGap(value, low, high)


def _side(
    outcomes: Outcomes, name: str, several: list[tuple[Statistic, Resampled | None]], settings: IntervalSettings
) -> SideScore:
    """One side from its score over rows and, where there is one, over combinations, each with its draws."""
    least = 0.0 if outcomes.score.never_negative else -math.inf
    ends = [
        interval(statistic, settings, "", share=outcomes.score.is_share, least=least, drawn=drawn) or (None, None)
        for statistic, drawn in several
    ]
    values = [known(statistic.of_all) for statistic, _ in several]
    chosen = masks(outcomes)[name]
    score, macro = several[0][0], (values[1], *ends[1]) if len(several) > 1 else (None, None, None)
    return SideScore(
        name=name,
        rows=int(chosen @ outcomes.rows),
        combinations=int(chosen.sum()),
        score=values[0],
        low=ends[0][0],
        high=ends[0][1],
        macro=macro[0],
        macro_low=macro[1],
        macro_high=macro[2],
        note=_note(outcomes, int(chosen.sum()), score) if ends[0][0] is None else None,
        pieces=score.combinations if score.combinations < int(chosen.sum()) else None,
    )


def score_of(outcomes: Outcomes, chosen: Mask | Ints) -> Statistic:
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
    return float(number) if math.isfinite(number) else None


def _note(outcomes: Outcomes, count: int, score: Statistic) -> str:
    if not count and outcomes.training is None:
        return "It was not told what the model was trained on, so seen and unseen combinations cannot be told apart."
    if not count:
        return "No such combination was tested: nothing is known about it."
    if not math.isfinite(score.of_all):
        return "The true answers do not vary here, so R² means nothing."
    if count < FEWEST:
        return f"{count} combination{'s are' if count > 1 else ' is'} too few for an interval: {FEWEST} at least."
    if score.combinations < FEWEST:
        return (
            f"The {count:,} combinations are blocks that were held out whole, {score.combinations} in all: an interval "
            f"takes {FEWEST}."
        )
    return "Every combination has the same score, so there is nothing to build an interval on."


@dataclass(frozen=True)
class ValueScores:
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


def parts(outcomes: Outcomes, settings: IntervalSettings) -> ValueScores:
    """The scores by value and by pair of values, over all tested combinations and over the unseen ones."""
    space = outcomes.tested.space
    values, pairs, left_out, listed = [], [], [], 0
    for k, factor in enumerate(space.factors):
        groups, size = part_groups(outcomes.tested, (k,)), factor.kind.effects
        names = {"factor": pa.repeat(factor.name, size), "value": pa.array(factor.effect_labels, pa.string())}
        every = replace(groups, ids=groups.codes[groups.ids, 0], codes=np.arange(size)[:, None])  # tested or not
        values.append(pa.table(names | _columns(outcomes, every, settings)))
    for pair in factor_pairs(space):
        groups = part_groups(outcomes.tested, pair)
        listed += len(groups)
        if listed > _MOST_PAIRS:
            left_out.append((space.names[pair[0]], space.names[pair[1]]))
            continue
        names = {}
        for letter, k, codes in zip("ab", pair, groups.codes.T, strict=True):
            names[f"factor_{letter}"] = pa.repeat(space.names[k], len(groups))
            names[f"value_{letter}"] = pa.array(space.factors[k].effect_labels, pa.string()).take(pa.array(codes))
        pairs.append(pa.table(names | _columns(outcomes, groups, settings)))
    empty = pa.table({"factor_a": pa.array([], pa.string())})
    return ValueScores(pa.concat_tables(values), pa.concat_tables(pairs) if pairs else empty, tuple(left_out))


def part_scores(outcomes: Outcomes, groups: PartGroups, chosen: Mask, settings: IntervalSettings) -> PartScores:
    """The score of each group of the chosen combinations, with an interval over its pieces of evidence.

    Combinations of a block that was held out whole are one piece, as they are in the score of all.
    """
    entries = chosen[groups.of]
    of, ids, size = groups.of[entries], groups.ids[entries], len(groups)
    statistic = score_of(outcomes, of)
    count = np.bincount(ids, minlength=size)
    rows = totals(ids, outcomes.rows[of], size)
    if not len(ids):
        nothing = np.full(size, np.nan)
        return PartScores(rows, count, nothing, nothing, nothing)
    sums = np.stack([totals(ids, part, size) for part in statistic.parts.T], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(count > 0, statistic.value(sums), np.nan)
        moved = np.sum(statistic.parts * statistic.slope(sums)[ids], axis=1)
    between, pieces = piece_variance(moved, ids, outcomes.pieces[of], size)
    low, high = student_interval(score, np.sqrt(between), pieces, settings, share=outcomes.score.is_share)
    if outcomes.score.never_negative:
        low = np.maximum(low, 0.0)
    return PartScores(rows, count, score, low, high)


def piece_variance(moved: Numbers, ids: Ints, pieces: Ints, size: int) -> tuple[Numbers, Ints]:
    """The variance of each group's score by how far its pieces of evidence differ, and how many it has.

    `moved` is by how much each combination moves the score of its group; those of one piece move it together.
    """
    width = int(pieces.max(initial=0)) + 1
    keys, place = number(ids * width + pieces, size * width)
    group = keys // width
    count = np.bincount(group, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals(group, totals(place, moved, len(keys)) ** 2, size) * count / (count - 1), count


def _columns(outcomes: Outcomes, groups: PartGroups, settings: IntervalSettings) -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    everything = np.ones(len(outcomes), dtype=bool)
    for prefix, chosen in (("", everything), ("seen_", outcomes.seen), ("unseen_", outcomes.unseen)):
        scores = part_scores(outcomes, groups, chosen, settings)
        found[f"{prefix}rows"] = pa.array(scores.rows.astype(np.int64))
        found[f"{prefix}combinations"] = pa.array(scores.combinations.astype(np.int64))
        for name in ("score", "low", "high"):
            found[f"{prefix}{name}"] = pa.array(getattr(scores, name), from_pandas=True)
    return found


@dataclass(frozen=True, eq=False)
class Shrunk:
    """For each tested combination the shrunk score and its interval; NaN where nothing tells its noise."""

    score: Numbers
    low: Numbers
    high: Numbers


def shrunk_scores(outcomes: Outcomes) -> Numbers:
    """The shrunk scores without their intervals, which take far longer."""
    found = np.full(len(outcomes), np.nan)
    for chosen in _sides(outcomes):
        if outcomes.score.is_share:
            right, wrong = _beta(outcomes, chosen)
            found[chosen] = right / (right + wrong)
        else:
            pulled = _pull(outcomes, chosen)
            found[chosen] = outcomes.mean[chosen] if pulled is None else pulled[0]
    return found


def worst_first(outcomes: Outcomes, score: Numbers) -> Ints:
    """The places of the tested combinations, the worst by their shrunk scores first; of two alike the larger."""
    sign = 1 if outcomes.score.rows_better == "higher" else -1
    return np.lexsort((-outcomes.rows, sign * score))


def shrunk(outcomes: Outcomes, settings: IntervalSettings) -> Shrunk:
    """Every combination pulled towards the mean of its side: seen, unseen or novel.

    Its interval also holds for those that are picked as the worst of all tested ones.

    An interval around a shrunk score is one for a combination that nobody picked, of a side whose combinations differ
    as the model of the shrinkage says. Of one bad combination among 63 good ones it held the truth in 17 of 60
    tables. So these rest on the combination's own rows, and know that it was picked; they reach the shrunk score.

    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> from recombine.data.space import Space
    >>> from recombine.data.support import Support
    >>> space = Space.of({"a": list("abcdef"), "b": [0, 1]})
    >>> codes = np.asfortranarray([[v, 0] for v in range(6)], dtype=np.int32)
    >>> rows, right = np.array([3.0, 90, 90, 90, 90, 90]), np.array([1.0, 81, 85, 76, 84, 45])
    >>> none, zero = np.zeros(0, int), np.zeros(0)
    >>> found = Outcomes(Support(space, codes, rows), None, "score", (), none, none, none, zero, right, right, None,
    ...     Score("accuracy", "higher"))
    >>> pulled = shrunk(found, IntervalSettings())  # one of three right is not yet worse than a half of ninety
    >>> pulled.score.round(2).tolist()
    [0.59, 0.9, 0.94, 0.84, 0.93, 0.51]
    >>> [float(part[5].round(2)) for part in (pulled.low, pulled.high)]
    [0.4, 0.62]
    """
    score = shrunk_scores(outcomes)
    sign = 1 if outcomes.score.rows_better == "higher" else -1
    if outcomes.score.is_share:
        good = outcomes.total if sign > 0 else outcomes.rows - outcomes.total
        low, high = lowest_share_intervals(good, outcomes.rows, settings)
        low, high = (low, high) if sign > 0 else (1 - high, 1 - low)
    else:
        error, freedom = _own_error(outcomes), outcomes.rows - 1 + _PRIOR_FREEDOM
        ends = lowest_mean_intervals(sign * outcomes.mean, error, freedom, settings)
        low, high = ends if sign > 0 else (-ends[1], -ends[0])
        low = np.maximum(low, 0.0) if outcomes.score.never_negative else low
    return Shrunk(score, np.minimum(low, score), np.maximum(high, score))


def _own_error(outcomes: Outcomes) -> Numbers:
    """The standard error of each combination's own mean; NaN where nothing tells the noise."""
    found = np.full(len(outcomes), np.nan)
    for chosen in _sides(outcomes):
        if outcomes.have_luck(chosen):
            found[chosen] = np.sqrt(_noise(outcomes, chosen))
    return found


def _sides(outcomes: Outcomes) -> list[Mask]:
    if outcomes.training is None:
        return [np.ones(len(outcomes), dtype=bool)]
    return [mask for mask in (outcomes.seen, outcomes.unseen, outcomes.novel) if mask.any()]


def _beta(outcomes: Outcomes, chosen: Mask) -> tuple[Numbers, Numbers]:
    """The beta-binomial: so many right and wrong rows of the side's mean are added to each combination's own.

    Where all rows of a combination agree, in every combination, the moments say that a row tells all about its
    combination. Half a right and half a wrong row are added even then, as Jeffreys would.
    """
    rows, right = outcomes.rows[chosen], outcomes.total[chosen]
    middle = (right.sum() + 0.5) / (rows.sum() + 1)
    strength = _strength(rows, right / rows)
    return max(middle * strength, _JEFFREYS) + right, max((1 - middle) * strength, _JEFFREYS) + rows - right


def _strength(rows: Numbers, shares: Numbers) -> float:
    """How many rows the side's mean is worth, from how much the combinations differ beyond the luck of their rows."""
    total = rows.sum()
    middle = float((rows * shares).sum() / total)
    luck = middle * (1 - middle)
    if len(rows) < FEWEST or not luck:
        return _WEAK if len(rows) < FEWEST else float(total)
    apart = float((rows * (shares - middle) ** 2).sum())
    free = float((1 - rows / total).sum())
    more = float((rows * (1 - rows / total)).sum()) - free
    alike = (apart - luck * free) / (luck * more) if more > 0 else 0.0
    # between worth all rows together and worth next to none: at the ends the beta would have no shape
    alike = min(max(alike, 1 / (total + 1)), 0.999)  # of rows of one combination, beyond those of different ones
    return float(1 / alike - 1)


def _pull(outcomes: Outcomes, chosen: Mask) -> tuple[Numbers, Numbers] | None:
    """The normal model's score and its standard error; None where nothing tells the noise."""
    if not outcomes.have_luck(chosen):
        return None
    score, noise = outcomes.mean[chosen], _noise(outcomes, chosen)
    between = _between(score, noise)
    precision = 1 / (between + noise)
    middle = float((precision * score).sum() / precision.sum())
    pull = noise * precision
    return score + pull * (middle - score), np.sqrt(between * pull + pull**2 / precision.sum())


def _noise(outcomes: Outcomes, chosen: Mask) -> Numbers:
    """The variance of each combination's mean by the luck of its rows, pulled towards the side's pooled one."""
    rows = outcomes.rows[chosen]
    free = rows - 1
    own = np.nan_to_num(outcomes.spread[chosen]) * free
    pooled = own.sum() / free.sum()
    return np.asarray(np.maximum((own + _PRIOR_FREEDOM * pooled) / (free + _PRIOR_FREEDOM) / rows, 1e-300))


def _between(score: Numbers, noise: Numbers) -> float:
    """The variance between combinations beyond their noise (DerSimonian and Laird)."""
    unit = float(noise.max())  # squares of variances of very small scores would vanish
    weight = unit / noise
    middle = (weight * score).sum() / weight.sum()
    apart = (weight * (score - middle) ** 2).sum() / unit - (len(score) - 1)
    scale = (weight.sum() - (weight**2).sum() / weight.sum()) / unit
    return float(max(apart / scale, 0.0)) if scale > 0 else 0.0
