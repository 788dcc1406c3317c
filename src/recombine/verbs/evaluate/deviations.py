"""Which groups do worse than their parts: every value, every pair of values, every combination.

If difficulty were additive (a hard camera costs so many points, a rare object so many), a group's score could be told
from all that lies outside of it: a pair's, pooled over the other factors, and a combination's from its values
elsewhere; a value's from the rest, at like values of the other factors. Whether a combination was seen in training is
one more part, where enough of both were tested.

Rows are the evidence within a group. Where combinations differ more than their rows explain, rows are not independent:
each combination may be off by as much as others are that were not taken out, and a group is no surer than its
combinations agree. As many groups are tested at once, the share of false alarms among those named is held at 5 %
(Benjamini and Hochberg 1995), for values by themselves: nearly always some of these are harder than others, and that
must not make it easier to name a pair. What deviates is taken out and all is tested again, so that one bad group does
not make its neighbours look bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.base.words import amount, count, measure, percent, points
from recombine.numerics.additive_design import LARGEST_FIT, AdditiveFit
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.hypothesis_tests import false_discovery
from recombine.numerics.resampling import FEWEST
from recombine.verbs.evaluate.deviation_noise import Noise, beyond_rows
from recombine.verbs.evaluate.outcomes import Mask, Outcomes
from recombine.verbs.evaluate.part_groups import factor_pairs, group_label, part_groups

RATE = 0.05
_POWER = 0.8  # how often a drop is found that is said to be found
_TURNS = 20  # of a drop and its error: each is closer by a third and more
_SPARE = 2  # combinations outside of a group beyond what the parts take to be known: fewer tell nothing of the rest
_PRIOR = 5  # combinations that do not differ, beside those that tell how far they do
_ROUNDS = 6  # of taking out and testing again: it settles in two or three, unless two alarms take turns
_MOST_WORK = 10**9  # multiplications of one round, about a second: beyond, pairs or values are not tested


@dataclass(frozen=True)
class BadGroup:
    """A value, a pair of values or a combination that does worse than its parts give elsewhere.

    `deviation` is its score less what was expected. `q` is the share of those named down to this one that may be luck.
    """

    group: dict[str, str]
    rows: int
    combinations: int
    score: float
    expected: float
    deviation: float
    q: float


@dataclass(frozen=True, eq=False)
class Deviations:
    """For each tested combination: what the others tell, the deviation, its standard error, p-value and q-value.

    NaN where the others do not tell it. `p` is for either direction, `q` for being worse; a combination of a pair that
    was named has the pair's. `groups` are the pairs and combinations that are named, the surest first; `values` the
    values. `sentence` says what was found, and what could have been.
    """

    expected: Numbers
    deviation: Numbers
    error: Numbers
    p: Numbers
    q: Numbers
    rank: int
    testable: int
    groups: tuple[BadGroup, ...]
    values: tuple[BadGroup, ...]
    sentence: str

    @property
    def found(self) -> int:
        """How many combinations are worse by more than luck, by themselves or with a pair that was named."""
        return int((self.q <= RATE).sum())


def deviations(outcomes: Outcomes) -> Deviations:
    """Compare every group of tested combinations with what all that lies outside of it tells."""
    sizes = outcomes.part_sizes
    if outcomes.too_many_parts:
        return _nothing(
            outcomes,
            f"Whether groups do worse than their parts was not tested: beside its largest factor the table has "
            f"{count(sum(sizes) - max(sizes))} values, and {LARGEST_FIT:,} are the most that are solved.",
        )
    codes, parts = _parts(outcomes)
    rank = AdditiveFit.of(codes, parts, weights=outcomes.rows).rank
    if len(outcomes) - rank <= _SPARE:
        return _nothing(
            outcomes,
            f"Whether groups do worse than their parts cannot be told: {amount(len(outcomes), 'combination')} were "
            f"tested, and the parts alone take {count(rank)} of them to be known; {_SPARE + 1} more are needed.",
            rank=rank,
        )
    noise = Noise.of(outcomes)
    if noise is None:
        return _nothing(
            outcomes,
            "Whether groups do worse than their parts cannot be told: each combination has one row, or rows that do "
            "not differ, so luck and difference look alike.",
            rank=rank,
        )
    return _assemble(_GroupTest(outcomes, noise, codes, parts))


def _parts(outcomes: Outcomes) -> tuple[Codes, tuple[int, ...]]:
    """The factors, and with them whether a combination was seen in training, where five are and five are not."""
    codes, sizes = outcomes.part_codes, outcomes.part_sizes
    seen = outcomes.seen
    if min(int(seen.sum()), int((~seen).sum())) < FEWEST:
        return codes, sizes
    return np.asfortranarray(np.column_stack([codes, seen.astype(np.int32)])), (*sizes, 2)


@dataclass(frozen=True, eq=False)
class _Group:
    """The combinations that hold some values of some factors, or elements of a set; of a combination all factors."""

    label: dict[str, str]
    members: Ints
    parts: tuple[tuple[int, int], ...]  # columns of the design, and the value of each


@dataclass(frozen=True, eq=False)
class _Tested:
    """A line for each group: rows and score, what was expected, and how likely it is as low, or as high, by luck."""

    rows: Numbers
    score: Numbers
    expected: Numbers
    error: Numbers
    low: Numbers
    high: Numbers

    @property
    def columns(self) -> tuple[Numbers, ...]:
        """All of them."""
        return self.rows, self.score, self.expected, self.error, self.low, self.high

    @property
    def p(self) -> Numbers:
        """In either direction."""
        return np.asarray(np.minimum(2 * np.minimum(self.low, self.high), 1.0))


@dataclass(frozen=True, eq=False)
class _GroupTest:
    """Scores of groups beside what all else tells. Legend: c combinations, g groups."""

    outcomes: Outcomes
    noise: Noise
    codes: Codes  # (c, parts)
    sizes: tuple[int, ...]

    def fit(self, weights: Numbers, *, without: int | None = None) -> AdditiveFit:
        """The additive fit, if need be as if one factor were not there."""
        if without is None:
            return AdditiveFit.of(self.codes, self.sizes, weights=weights)
        codes = self.codes.copy(order="F")
        codes[:, without] = 0
        sizes = tuple(1 if k == without else size for k, size in enumerate(self.sizes))
        return AdditiveFit.of(codes, sizes, weights=weights)

    @cached_property
    def pairs(self) -> list[_Group]:
        """Every pair of values; where there are two factors only, these are the combinations."""
        return self.groups_of(2) if self.outcomes.part_codes.shape[1] > 2 else []

    def group(self, place: int) -> _Group:
        """One of all pairs and combinations, in this order."""
        first = len(self.pairs)
        if place < first:
            return self.pairs[place]
        at = place - first
        space, codes = self.outcomes.tested.space, self.outcomes.part_codes[at].tolist()
        # a set is told by what it holds: what it does not hold, nearly all others do not hold either
        parts = tuple((k, code) for k, code in enumerate(codes) if code or not self._elements[k])
        return _Group(space.label_row(self.outcomes.tested.codes[at]), np.array([at]), parts)

    @cached_property
    def _elements(self) -> list[bool]:
        """Which columns of the design are a yes or no to one element."""
        return [
            not kind.exclusive
            for kind in (factor.kind for factor in self.outcomes.tested.space.factors)
            for _ in range(1 if kind.exclusive else kind.effects)
        ]

    def _columns_of(self, factor: int, code: int) -> tuple[int, int]:
        """The column of the design, and the value in it, that a value or an element of a factor is."""
        kinds = [one.kind for one in self.outcomes.tested.space.factors]
        start = sum(1 if kind.exclusive else kind.effects for kind in kinds[:factor])
        return (start, code) if kinds[factor].exclusive else (start + code, 1)

    def groups_of(self, order: int) -> list[_Group]:
        """All so many values that more than one combination holds; none where that would take too long."""
        found: list[_Group] = []
        tested = self.outcomes.tested
        free = sum(self.sizes) - max(self.sizes) - sum(self._elements)  # of yes and no, one is free
        each = 10**6 + 500 * len(self.outcomes) + free**3
        for factors in factor_pairs(tested.space) if order == 2 else ((k,) for k in range(len(tested.space.factors))):
            groups = part_groups(tested, factors)
            several = np.flatnonzero(np.bincount(groups.ids, minlength=len(groups)) > 1)
            if (len(found) + (len(several) if tested.space.set_factors else len(groups))) * each > _MOST_WORK:
                return []
            members = groups.members()
            for place in several.tolist():
                if len(members[place]) < len(self.outcomes):
                    codes = groups.codes[place]
                    label = group_label(tested.space, factors, codes)
                    parts = tuple(self._columns_of(k, code) for k, code in zip(factors, codes.tolist(), strict=True))
                    found.append(_Group(label, members[place], parts))
        return found

    def weights(self, outside: Mask, between: float) -> Numbers:
        """What each combination counts for: where they differ, many rows of one do not outvote the others."""
        rows, fitted = self.outcomes.rows, self.fit(self.outcomes.rows * ~outside).fitted(self.outcomes.mean)
        luck = float(self.noise.at(fitted) @ rows / rows.sum())
        each = between * float(self.noise.scale(fitted) @ rows / rows.sum())
        return ~outside * rows / (1 + each * rows / luck)

    def between(self, outside: Mask, *, taken: int) -> float:
        """How far combinations differ beyond their rows, so many groups having been taken out that deviate most.

        Beside the combinations that tell it stand five more that do not differ: rows are the evidence, unless
        combinations say otherwise.
        """
        fit, inside = self.fit(self.outcomes.rows * ~outside), ~outside
        spare = int(inside.sum()) - fit.rank
        if spare <= 0:
            return 0.0
        fitted = fit.fitted(self.outcomes.mean)
        luck, scale = self.noise.at(fitted) / self.outcomes.rows, self.noise.scale(fitted)
        parts = (self.outcomes.mean - fitted, fit.own_leverage, luck, scale)
        found = beyond_rows(*(part[inside] for part in parts), taken=taken / len(inside))
        return found * spare / (spare + _PRIOR)

    def of_groups(self, groups: Sequence[_Group], weights: Numbers, between: float) -> _Tested:
        """Leave each group out by itself. Its combinations that were taken out by themselves do not count."""
        found = np.array([self._one(group, weights, between) for group in groups]).reshape(-1, 5).T
        return self._tested(*found)

    def _one(self, group: _Group, weights: Numbers, between: float) -> tuple[float, ...]:
        """Rows, score, what is expected, the variance by rows, and all other variance."""
        left = group.members[weights[group.members] > 0]
        members = left if len(left) else group.members
        rest = weights.copy()
        rest[members] = 0.0
        fit = self.fit(rest, without=group.parts[0][0] if len(group.parts) == 1 else None)
        rows, total = self.outcomes.rows[members], self.outcomes.total[members]
        score = float(total.sum() / rows.sum())
        if fit.untold()[members].any():
            return float(rows.sum()), score, np.nan, np.nan, np.nan
        share = np.zeros(len(rest))
        share[members] = rows / rows.sum()
        fitted = fit.fitted(self.outcomes.mean)
        luck, each = self.noise.at(fitted) / self.outcomes.rows, between * self.noise.scale(fitted)
        pull = rest * fit.pulled_by(share)
        own, told = float((share**2 * luck).sum()), float(share @ fitted)
        spread = float((pull**2 * (luck + each)).sum() + (share**2 * each).sum())
        if len(members) > 1:  # a group is not bad because one of its combinations is
            apart = (self.outcomes.mean - fitted)[members] - (score - told)
            spare = len(members) - 1
            inside = float(share[members] ** 2 @ apart**2) * len(members) / spare
            spread += max(inside - own - float((share**2 * each).sum()), 0.0) * spare / (spare + _PRIOR)
        return float(rows.sum()), score, told, own, spread

    def of_singles(self, weights: Numbers, between: float) -> _Tested:
        """Each combination, left out by a formula."""
        fit, mean, rows = self.fit(weights), self.outcomes.mean, self.outcomes.rows
        fitted = fit.fitted(mean)
        each = between * self.noise.scale(fitted)
        left = fit.left_out(mean, self.noise.at(fitted) / rows + each)
        return self._tested(rows, mean, left.value, self.noise.at(left.value) / rows, left.variance + each)

    def _tested(self, rows: Numbers, score: Numbers, value: Numbers, own: Numbers, spread: Numbers) -> _Tested:
        low, high = self.noise.tails(rows, score, value, own, spread)
        told = np.clip(value, 0.0, 1.0) if self.outcomes.score.is_share else value  # a sum of parts may leave 0 to 1
        return _Tested(rows, score, told, np.sqrt(own + spread), low, high)

    def worse(self, tested: _Tested) -> Numbers:
        """The chance of being as bad by luck."""
        return tested.low if self.outcomes.score.rows_better == "higher" else tested.high


def _search(test: _GroupTest, between: float) -> tuple[_Tested, list[int]]:
    """Test, take what deviates out of the fit, and test again: one that deviates must not make its neighbours do so.

    Back come the tests of all pairs and combinations, and which were taken out.
    """
    taken: list[int] = []
    tested = _round(test, taken, between)
    for _ in range(_ROUNDS):
        chosen = _strongest(test, tested, taken)
        if chosen == taken:
            break
        again = _round(test, chosen, between)
        if not np.isfinite(again.p[chosen]).all():  # nothing else would tell these: they stay in the fit
            break
        tested, taken = again, chosen
    return tested, taken


def _outside(test: _GroupTest, taken: Sequence[int]) -> Mask:
    found = np.zeros(len(test.outcomes), dtype=bool)
    for place in taken:
        found[test.group(place).members] = True
    return found


def _round(test: _GroupTest, taken: Sequence[int], between: float) -> _Tested:
    """Every pair and combination, with some taken out; a pair of which nothing is left is not told."""
    outside = _outside(test, taken)
    weights = test.weights(outside, between)
    pairs, singles = test.of_groups(test.pairs, weights, between), test.of_singles(weights, between)
    found = _Tested(*(np.concatenate(both) for both in zip(pairs.columns, singles.columns, strict=True)))
    gone = [k for k, one in enumerate(test.pairs) if k not in taken and outside[one.members].all()]
    for column in (found.expected, found.low, found.high):
        column[gone] = np.nan
    return found


def _strongest(test: _GroupTest, tested: _Tested, taken: Sequence[int]) -> list[int]:
    """What is taken out next: of what deviates, in each value the strongest alone; and what is out and still does.

    Of a factor with two values one is worse exactly if the other is better, so what is better must be twice as sure.
    """
    p = _alone(test, tested.p, taken)
    alarms = np.flatnonzero(false_discovery(p) <= RATE)
    z = np.abs(tested.score - tested.expected) / tested.error
    strength = -np.log(np.maximum(p, 1e-300)) + z
    strength[test.worse(tested) > 0.5] /= 2
    order = alarms[np.argsort(-strength[alarms], kind="stable")].tolist()
    kept = [place for place in taken if place in set(order)]
    used: set[tuple[int, int]] = set()
    for place in order:
        values = set(test.group(place).parts)
        if place not in kept and not values & used:
            used |= values
            kept.append(place)
    return sorted(kept)


def _alone(test: _GroupTest, p: Numbers, taken: Sequence[int]) -> Numbers:
    """The same without combinations of a pair that was taken out: they deviate with it, and say nothing more."""
    pairs = [place for place in taken if place < len(test.pairs)]
    covered = len(test.pairs) + np.flatnonzero(_outside(test, pairs))
    found = p.copy()
    found[covered] = np.nan
    return found


def _assemble(test: _GroupTest) -> Deviations:
    """First what rows alone would name; by what is left, how far combinations differ; then what stands beyond that."""
    outcomes, first = test.outcomes, len(test.pairs)
    tested, taken = _search(test, 0.0)
    between = test.between(_outside(test, taken), taken=len(taken))
    if between > 0:
        tested, taken = _search(test, between)
    q = false_discovery(_alone(test, test.worse(tested), taken))
    named = [place for place in np.argsort(tested.p, kind="stable").tolist() if q[place] <= RATE]
    weights = test.weights(_outside(test, taken), between)
    for place in (place for place in named if place < first):
        inside = first + test.group(place).members
        q[inside] = np.fmin(q[inside], q[place])
    by_itself = test.groups_of(1)
    own = test.of_groups(by_itself, weights, between)
    by_value = false_discovery(test.worse(own))
    values = [place for place in np.argsort(own.p, kind="stable").tolist() if by_value[place] <= RATE]
    single = slice(first, None)
    bad = tuple(_bad(test.group(place), tested, place, q[place]) for place in named)
    return Deviations(
        expected=tested.expected[single],
        deviation=outcomes.mean - tested.expected[single],
        error=tested.error[single],
        p=tested.p[single],
        q=q[single],
        rank=test.fit(weights).rank,
        testable=int(np.isfinite(tested.p[single]).sum()),
        groups=bad,
        values=tuple(_bad(by_itself[place], own, place, by_value[place]) for place in values),
        sentence=_sentence(test, tested, bad),
    )


def _bad(group: _Group, tested: _Tested, place: int, q: float) -> BadGroup:
    score, expected, rows = float(tested.score[place]), float(tested.expected[place]), int(tested.rows[place])
    return BadGroup(group.label, rows, len(group.members), score, expected, score - expected, float(q))


def _sentence(test: _GroupTest, tested: _Tested, bad: Sequence[BadGroup]) -> str:
    """What was found, and which drop would have been found in a group of the usual size."""
    first, level = len(test.pairs), RATE / len(tested.rows)  # what the first of all that are tested may err by
    many, drops = [], []
    for part, noun in ((slice(first, None), "combination"), (slice(None, first), "pair")):
        known = np.isfinite(tested.p[part])
        if known.any():
            medians = (float(np.median(one[part][known])) for one in (tested.error, tested.expected, tested.rows))
            error, usual, rows = medians
            usual = usual if test.outcomes.score.is_share else np.nan
            drop = _found_drop(error, level, share=usual, rows=rows)
            many.append(amount(int(known.sum()), noun))
            drops.append(f"{points(drop) if test.outcomes.score.is_share else measure(drop)} in a {noun}")
    if not many:
        return "Whether groups do worse than their parts cannot be told: each rests on itself alone."
    none = "none does worse than its parts give elsewhere by more than luck explains"
    pairs = test.outcomes.part_codes.shape[1] > 2 and not test.outcomes.tested.space.set_factors
    untested = " Pairs of values are too many to be tested." if pairs and not first else ""
    do = "does" if len(bad) == 1 else "do"
    some = f"{count(len(bad))} {do} worse than the parts give elsewhere; about 5 % of those named may be luck"
    return (
        f"Of {' and '.join(many)}, {some if bad else none}. "
        f"A drop of {', or of '.join(drops)}, of the usual size, would have been found {percent(_POWER)} of the time."
        f"{untested}"
    )


def _found_drop(error: float, level: float, *, share: float, rows: float) -> float:
    """The drop that is found as often as is said, of a group with so many rows and, usually, this share.

    A share nearer to one half has larger errors, so that a group which dropped is known less well than the usual one:
    the drop and its error are found in turn. Other scores (a share of NaN) have the same error everywhere.

    >>> [round(_found_drop(0.03, 0.01, share=share, rows=100), 3) for share in (np.nan, 0.9)]
    [0.095, 0.134]
    """
    needed = float(normal_quantile(1 - level) + normal_quantile(_POWER))
    drop = needed * error
    if not 0 < share < 1:
        return drop
    for _ in range(_TURNS):
        lower = max(share - drop, min(share, 0.5))
        more = (lower * (1 - lower) - share * (1 - share)) / rows
        drop = needed * float(np.sqrt(error**2 + more))
    return drop


def _nothing(outcomes: Outcomes, sentence: str, *, rank: int = 0) -> Deviations:
    empty = np.full(len(outcomes), np.nan)
    return Deviations(empty, empty, empty, empty, empty, rank, 0, (), (), sentence)
