"""What a model's answer hangs on: does it change when one factor changes and the truth does not?

Two tested combinations that differ in one factor are a swap of that factor. Over all such pairs, and all rows of the
two that share the truth: how often do the answers differ (the model relies on the factor though it does not matter)?
And where the truth differs: how often does the answer stay (the model overlooks a factor that does matter)?

Two rows of one and the same combination can differ too, by everything that is not a factor. The mean of that rate over
the two combinations of each pair stands beside it, and only what lies above it is put down to the swap. That excess
is half the squared distance between the two combinations' answers: nothing if they answer alike, however unsurely.

Combinations differ in how hard they are, and then swapping any factor changes answers. So a factor is named if the
answers go with its value whatever the truth (`shortcut_test`); else no factor is said to be followed, and how much
following would have been found.

Every combination counts alike, whatever its rows. Pairs are never listed: a group of all factors but one holds the
combinations that differ in that one, and the number of pairs with some property is a square of sums less a sum of
squares. Its derivative by how often a combination counts is a sum too, so every draw has a standard error of its own,
and the intervals are studentised. To count the predictions for swapped inputs, put their rows, with their swapped
values, into the table.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recombine.base.words import listing, percent
from recombine.numerics.groups import Flags, Ints, Numbers, number, totals
from recombine.numerics.intervals import resampled_difference_interval, resampled_interval
from recombine.numerics.resampling import IntervalSettings, Resampled, influence_error, times_drawn
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.shortcut_test import POWER, followed, following_chances, found_following

Moved = tuple[float, Numbers]
"""A number, and its derivative by how often each combination counts."""

_DRAWS = 400  # studentised draws need fewer than the quantiles of plain ones
_FEWEST_DRAWS, _MOST_WORK = 100, 2 * 10**7  # lines times draws: beyond, draws are fewer, and never fewer than 100
_NOTHING = 1e-9  # of a pair: what the squares' rounding leaves where there is none


@dataclass(frozen=True)
class Rate:
    """A share of pairs with its 95 % interval; None where there are no pairs, or too few for an interval."""

    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FactorSwap:
    """What swapping one factor does.

    `changed`: the answer changes though the truth does not. `within`: how often two rows of one combination differ;
    `excess`: how much more often those of two do, both over pairs whose combinations have two rows or more. `stayed`:
    the answer stays though the truth changes. `pairs` of combinations share the truth, and `other_pairs` do not; where
    the rows of a combination differ in their truth, a pair counts in part for each. `by_chance`: how likely the answers
    go with its values as much by chance, whatever the truth; None where no value was tested with two truths. Where no
    factor is followed, `found_from`: the share of rows that a model would have to follow it in to be found, four times
    of five.
    """

    factor: str
    combinations: int
    pairs: float
    changed: Rate
    within: float | None
    excess: Rate
    other_pairs: float
    stayed: Rate
    sentence: str
    by_chance: float | None = None
    found_from: float | None = None


@dataclass(frozen=True)
class SwapTest:
    """One line for each factor, in their order."""

    verdict: str
    factors: tuple[FactorSwap, ...]
    draws: int


def swap_test(outcomes: Outcomes, *, draws: int = _DRAWS, seed: int = 0) -> SwapTest | None:
    """Swap each factor, over all tested combinations; None where the answers are not classes.

    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> from recombine.data.space import Space
    >>> from recombine.data.support import Support
    >>> space = Space.of({"bird": ["gull", "wren"], "place": ["sea", "land"]})
    >>> codes = np.asfortranarray([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> place, bird = codes[:, 1].astype(int), codes[:, 0].astype(int)
    >>> right = (place == bird).astype(float)
    >>> said_by_place = Outcomes(
    ...     tested=Support(space, codes, np.ones(4)), training=None, kind="label", classes=("gull", "wren"),
    ...     combination=np.arange(4), truth=bird, said=place, count=np.ones(4), total=right, squares=right,
    ...     prediction_total=None, score=Score("accuracy", "higher"))
    >>> [(one.factor, one.changed.share, one.stayed.share) for one in swap_test(said_by_place).factors]
    [('bird', None, 1.0), ('place', 1.0, None)]
    """
    if outcomes.kind != "label" or not len(outcomes.count):
        return None
    size, swaps, rng = len(outcomes), _swaps(outcomes), np.random.default_rng([seed, 2])
    chances = following_chances(outcomes, draws=draws, seed=seed)
    draws = min(draws, max(_FEWEST_DRAWS, _MOST_WORK // len(outcomes.count)))
    resampled = np.empty((draws, len(swaps), 2, 4))
    for draw in range(draws):
        times = times_drawn(rng, 1, size)[0]
        resampled[draw] = [one.rates(times) for one in swaps]
    settings = IntervalSettings(draws=draws)
    names = outcomes.tested.space.names
    power = (None,) * len(names) if any(followed(chances)) else found_following(outcomes, seed=seed)
    found = tuple(
        replace(_describe(name, swaps[k], resampled[:, k], settings), by_chance=chances[k], found_from=power[k])
        for k, name in enumerate(names)
    )
    return SwapTest(_verdict(found), found, draws)


def _swaps(outcomes: Outcomes) -> list["_Swap"]:
    truth, said = (outcomes.truth,), (outcomes.said,)
    often, differ = _repeated_rows(outcomes)
    cells = [_cells(outcomes, parts) for parts in ((), truth, said, truth + said)]
    cells += [_cells(outcomes, parts, among=often) for parts in (truth, truth + said)]
    width = len(outcomes.tested.space.factors)
    found = []
    for swapped in range(width):
        rest = [k for k in range(width) if k != swapped]
        ids = outcomes.tested.groups(rest).ids if rest else np.zeros(len(outcomes), dtype=np.int64)
        found.append(_Swap(ids, differ, *(one.pairs(ids, int(ids.max()) + 1) for one in cells)))
    return found


def _cells(outcomes: Outcomes, parts: tuple[Ints, ...], *, among: Flags | None = None) -> "_ClassCells":
    """Each combination's rows as shares, by some of truth and answer; of some of the lines, if they are named."""
    rows = totals(outcomes.combination, outcomes.count, len(outcomes))
    share = outcomes.count / rows[outcomes.combination]
    width, key, bound = max(len(outcomes.classes), 1), outcomes.combination, len(outcomes)
    for part in parts:
        key, bound = key * width + part, bound * width
    chosen = slice(None) if among is None else among
    keys, ids = number(key[chosen], bound)
    combination, label = np.divmod(keys, width ** len(parts))
    return _ClassCells(combination, label, totals(ids, share[chosen], len(keys)), width ** len(parts))


def _repeated_rows(outcomes: Outcomes) -> tuple[Flags, Numbers]:
    """Lines whose combination has two rows of the same truth or more, and how often two such rows differ.

    The second is in the order of combination and truth, as cells are.
    """
    width = len(outcomes.classes)
    keys, ids = number(outcomes.combination * width + outcomes.truth, len(outcomes) * width)
    rows = totals(ids, outcomes.count, len(keys))
    alike = totals(ids, outcomes.count * np.maximum(outcomes.count - 1, 0), len(keys))
    often = rows >= 2
    return often[ids], 1 - alike[often] / (rows * (rows - 1))[often]


@dataclass(frozen=True, eq=False)
class _ClassCells:
    """A line for each combination and class (or pair of classes), with its share of the combination's rows."""

    combination: Ints
    label: Ints
    share: Numbers
    labels: int

    def pairs(self, groups: Ints, size: int) -> "_PairCounter":
        """The same, ready to be added up by group and label."""
        keys, ids = number(groups[self.combination] * self.labels + self.label, size * self.labels)
        return _PairCounter(ids, len(keys), self.combination, self.share)


@dataclass(frozen=True, eq=False)
class _PairCounter:
    """Counts pairs of different combinations in one group that share a label."""

    ids: Ints
    size: int
    combination: Ints
    share: Numbers

    def total(self, times: Numbers) -> Moved:
        """The square of each group's sum, less each combination's own square, over two.

        Half of (Σ w)² - Σ w² moves with one w by the sum of the others.
        """
        weighted = times[self.combination] * self.share
        others = totals(self.ids, weighted, self.size)[self.ids] - weighted
        return float(weighted @ others) / 2, self._by_combination(others, len(times))

    def average(self, times: Numbers, numbers: Numbers) -> Moved:
        """The sum over the same pairs of the mean of their two numbers."""
        weighted = times[self.combination] * self.share
        others = totals(self.ids, weighted, self.size)[self.ids] - weighted
        numbered = numbers * weighted
        theirs = totals(self.ids, numbered, self.size)[self.ids] - numbered
        return float(numbered @ others) / 2, self._by_combination((numbers * others + theirs) / 2, len(times))

    def _by_combination(self, slope: Numbers, size: int) -> Numbers:
        return totals(self.combination, self.share * slope, size)


@dataclass(frozen=True, eq=False)
class _Swap:
    """All that is added up for one factor: any pair, same truth, same answer, both the same; and for repeated rows."""

    ids: Ints
    differ: Numbers  # how often two rows of one combination and truth do
    any: _PairCounter
    truth: _PairCounter
    answer: _PairCounter
    both: _PairCounter
    repeated_truth: _PairCounter
    repeated_both: _PairCounter

    @property
    def paired(self) -> int:
        """How many combinations have a partner."""
        return int((np.bincount(self.ids)[self.ids] > 1).sum())

    def rates(self, times: Numbers) -> tuple[list[float], list[float]]:
        """Changed, within, excess and stayed, and their standard errors; NaN where there is nothing to divide by."""
        same_truth, both, repeated = (one.total(times) for one in (self.truth, self.both, self.repeated_truth))
        other_truth = _less(self.any.total(times), same_truth)
        overlooked = _less(self.answer.total(times), both)
        within = _ratio(self.repeated_truth.average(times, self.differ), repeated)
        changed_too = _ratio(_less(repeated, self.repeated_both.total(times)), repeated)
        changed = _ratio(_less(same_truth, both), same_truth)
        found = (changed, within, _less(changed_too, within), _ratio(overlooked, other_truth))
        errors = [influence_error(len(times) * slope, times) if len(times) > 1 else float("nan") for _, slope in found]
        return [value for value, _ in found], errors


def _less(one: Moved, other: Moved) -> Moved:
    return one[0] - other[0], one[1] - other[1]


def _ratio(part: Moved, whole: Moved) -> Moved:
    if whole[0] <= _NOTHING:
        return float("nan"), np.full(len(whole[1]), np.nan)
    value = part[0] / whole[0]
    return value, (part[1] - value * whole[1]) / whole[0]


def _describe(name: str, swap: _Swap, resampled: Numbers, settings: IntervalSettings) -> FactorSwap:
    once = np.ones(len(swap.ids))
    estimates = [
        Resampled(value, error, swap.paired, resampled[:, 0, k], resampled[:, 1, k])
        for k, (value, error) in enumerate(zip(*swap.rates(once), strict=True))
    ]
    changed, excess, stayed = (
        _rate(estimates[k], settings, difference=difference) for k, difference in ((0, False), (2, True), (3, False))
    )
    same = max(swap.truth.total(once)[0], 0.0)
    return FactorSwap(
        factor=name,
        combinations=swap.paired,
        pairs=round(same, 6),
        changed=changed,
        within=_exact(estimates[1].value) if np.isfinite(estimates[1].value) else None,
        excess=excess,
        other_pairs=round(max(swap.any.total(once)[0] - same, 0.0), 6),
        stayed=stayed,
        sentence=_sentence(name, swap.paired, changed, stayed),
    )


def _rate(drawn: Resampled, settings: IntervalSettings, *, difference: bool) -> Rate:
    if not np.isfinite(drawn.value):
        return Rate(None, None, None)
    exact, ends = replace(drawn, value=_exact(drawn.value)), None
    if np.isfinite(drawn.values).mean() >= 0.5:  # else most draws hold no such pair, and the rest are a choice of draws
        around = resampled_difference_interval if difference else partial(resampled_interval, share=True)
        ends = around(exact, settings)
    low, high = (None, None) if ends is None else map(_exact, ends)
    return Rate(exact.value, low, high)


def _exact(share: float) -> float:
    """Without what is left of the squares' rounding."""
    return round(float(share), 9) + 0.0


def _sentence(name: str, combinations: int, changed: Rate, stayed: Rate) -> str:
    if not combinations:
        return f"No two tested combinations differ in {name} alone, so what hangs on it cannot be told."
    said = []
    if changed.share is not None:
        said.append(f"the answer changes in {percent(changed.share)} of the swaps that leave the truth as it is")
    if stayed.share is not None:
        said.append(f"it stays in {percent(stayed.share)} of those that change the truth")
    return f"When {name} is swapped, {' and '.join(said)}."


def _verdict(swaps: tuple[FactorSwap, ...]) -> str:
    tested = [one for one in swaps if one.changed.share is not None]
    if not tested:
        return "No two tested combinations differ in one factor alone and share the truth: nothing can be swapped."
    measured = [one for one in tested if one.excess.share is not None]
    sure = [one for one in measured if one.excess.low is not None]
    if not sure:
        most = max(measured or tested, key=lambda one: (one.excess if measured else one.changed).share or 0.0)
        changes = (
            f"Swapping {most.factor} changes {percent(most.changed.share or 0.0)} of the answers where it should not"
        )
        why = "in no such pair do both combinations have two rows of that truth, so how much is chance cannot be told"
        if measured:
            changes += f", against {percent(most.within or 0.0)} between two rows of one combination"
            why = "too few combinations can be swapped for an interval, so how much is chance cannot be told"
        return f"{changes}; {why}."
    chances = followed(tuple(one.by_chance for one in swaps))
    named = [one for one, yes in zip(swaps, chances, strict=True) if yes and one in sure]
    relied = [one for one in sure if (one.excess.low or 0.0) > _NOTHING]
    if not (named or relied):
        names = listing([one.factor for one in sure])
        return f"Swapping {names} where it does not matter changes the answers no more than chance does.{_power(swaps)}"
    first = max(named or relied, key=lambda one: one.excess.share or 0.0)
    changes = (
        f"{percent(first.changed.share or 0.0)} of the answers, "
        f"against {percent(first.within or 0.0)} between two rows of one combination"
    )
    if named:
        return f"The answer hangs on {first.factor} where it should not: swapping it changes {changes}."
    return (
        f"Swapping {first.factor} where it does not matter changes {changes}, but no factor is followed: answers go "
        f"with no factor's values by more than chance. Combinations differ in how hard they are.{_power(swaps)}"
    )


def _power(swaps: tuple[FactorSwap, ...]) -> str:
    """How much following would have been found."""
    known = [f"{one.factor} in {percent(one.found_from)} of the rows" for one in swaps if one.found_from is not None]
    if not known:
        return " That a model follows a factor could hardly have been found here."
    comma = "," if len(known) > 1 else ""
    return f" That it follows {', or '.join(known)}{comma} would have been found {percent(POWER)} of the time."
