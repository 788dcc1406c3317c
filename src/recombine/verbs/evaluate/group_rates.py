"""Rates of a yes/no target by group, as fairlearn's `MetricFrame` has them: every value, and every pair of values.

False-positive rate, false-negative rate, selection rate and calibration stand beside accuracy, each with an interval;
which pairs have more false positives, or negatives, than their parts give elsewhere is tested as accuracy is
(`deviations`). The later of the two classes counts as the positive one; if the other did, the two rates of errors would
change places. With several classes there are no such rates: which class is asked about would have to be chosen, and a
yes/no column of that choice is a better table.

Rows are the evidence of a group, as they are in the test of groups; combinations, where five or more differ by more.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from recombine.base.words import amount, count, interval_words, listing, named, percent, points
from recombine.data.space import text
from recombine.data.support import Support
from recombine.numerics.groups import Numbers, totals
from recombine.numerics.intervals import lowest_share_intervals, student_ends, wilson
from recombine.numerics.resampling import FEWEST, IntervalSettings
from recombine.verbs.evaluate.deviations import RATE, BadGroup, deviations
from recombine.verbs.evaluate.matched_gap import THIN
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.evaluate.part_groups import PartGroups, factor_pairs, group_label, part_groups, possible_codes
from recombine.verbs.evaluate.scores import piece_variance

RateName = Literal["accuracy", "false_positive_rate", "false_negative_rate", "selection_rate", "calibration"]
ERRORS: tuple[RateName, ...] = ("false_positive_rate", "false_negative_rate")
"""The rates that are better lower, so that a group can be worse than its parts."""
_SPOKEN = dict(zip(ERRORS, ("false-positive", "false-negative"), strict=True))
_LISTED = 200  # groups that a record holds: those with most rows
_NAMED = 3  # groups in one sentence
_MOST_PAIRS = 10**6  # of values: as many as the table of pairs may hold
_RULE_OF_THREE = 1.5  # over the rows: twice that standard error is what nothing seen in n rows leaves open, 3 / n


@dataclass(frozen=True)
class GroupRates:
    """The rates of one group, each as (low, value, high); None where no row tells it. All rows are the group {}.

    `positives` are the rows whose true class is the positive one. Calibration is how much more often that class is
    expected (by the mean of its probabilities; without these, by the answers) than it occurs: 0 is calibrated.
    """

    group: dict[str, str]
    rows: int
    positives: int
    rates: dict[RateName, tuple[float, float, float] | None]


@dataclass(frozen=True)
class RatesByGroup:
    """The rates over all rows and in each group, the values first; of very many groups those with most rows.

    `worse` are the groups with more errors of a kind than their parts give elsewhere; `untested` values and pairs of
    values have no row, and `thin` ones fewer than ten of a class, so that a rate of theirs says next to nothing.
    """

    positive: str
    sentence: str
    overall: GroupRates
    groups: tuple[GroupRates, ...]
    worse: dict[RateName, tuple[BadGroup, ...]]
    untested: tuple[dict[str, str], ...]
    untested_total: int
    thin: tuple[dict[str, str], ...]
    thin_total: int


class _Sums(NamedTuple):
    """Of each tested combination what a rate divides, by how many rows, and the squares of the rows' parts in it."""

    total: Numbers
    rows: Numbers
    squares: Numbers


class _Rate(NamedTuple):
    """One rate of each group; NaN where no row tells it. `worth` independent rows would be as sure."""

    value: Numbers
    low: Numbers
    high: Numbers
    rows: Numbers
    worth: Numbers


def group_rates(outcomes: Outcomes, settings: IntervalSettings) -> RatesByGroup | None:
    """The rates by group; None where answers are not of two classes.

    >>> import recombine
    >>> sex, loan = ["f", "m"] * 50, ["yes", "yes", "no", "no"] * 25
    >>> said = ["yes" if one == "m" else true for one, true in zip(sex, loan)]
    >>> table = {"sex": sex, "town": ["a", "b"] * 25 + ["b", "a"] * 25, "loan": loan, "said": said}
    >>> found = recombine.evaluate(table, factors=["sex", "town"], target="loan", prediction="said").rates
    >>> [(one.group, one.rates["false_positive_rate"][1]) for one in found.groups[:2]]
    [({'sex': 'f'}, 0.0), ({'sex': 'm'}, 1.0)]
    """
    if outcomes.kind != "label" or len(outcomes.classes) != 2 or not len(outcomes.count):
        return None
    return _RateTable(outcomes, settings).assemble()


@dataclass(frozen=True, eq=False)
class _RateTable:
    """All rates of all groups. Legend: c combinations, g groups."""

    outcomes: Outcomes
    settings: IntervalSettings

    @cached_property
    def sums(self) -> dict[RateName, _Sums]:
        """What each rate is made of, by combination."""
        found, size = self.outcomes, len(self.outcomes)
        truth, said = found.truth == 1, found.said == 1
        yes, selected, false, missed = (
            totals(found.combination, found.count * chosen, size)
            for chosen in (truth, said, said & ~truth, truth & ~said)
        )
        right, no = found.rows - false - missed, found.rows - yes
        expected, squares = selected, false + missed
        if found.prediction_total is not None and found.prediction_squares is not None:
            expected, squares = found.prediction_total, found.prediction_squares
        return {
            "accuracy": _Sums(right, found.rows, right),
            "false_positive_rate": _Sums(false, no, false),
            "false_negative_rate": _Sums(missed, yes, missed),
            "selection_rate": _Sums(selected, found.rows, selected),
            "calibration": _Sums(expected - yes, found.rows, squares),
        }

    @cached_property
    def kinds(self) -> list[PartGroups]:
        """All rows, the values of each factor, the pairs of each two; not of the target, whose values are classes."""
        tested = self.outcomes.tested
        target = "" if tested.target is None else tested.target.name
        free = [k for k, name in enumerate(tested.space.names) if name != target]
        everything = np.arange(len(tested))
        found, pairs = [PartGroups((), everything, np.zeros_like(everything), np.zeros((1, 0), dtype=np.int64))], 0
        for factors in [*((k,) for k in free), *(pair for pair in factor_pairs(tested.space) if {*pair} <= {*free})]:
            groups = part_groups(tested, factors)
            pairs += len(groups) if len(factors) == 2 else 0
            if pairs <= _MOST_PAIRS:
                found.append(groups)
        return found

    @cached_property
    def rates(self) -> dict[RateName, _Rate]:
        """Every rate of all groups, one kind of groups after the other: all rows first."""
        each = {name: [self._rate(name, groups) for groups in self.kinds] for name in self.sums}
        return {name: _Rate(*map(np.concatenate, zip(*found, strict=True))) for name, found in each.items()}

    def _rate(self, name: RateName, groups: PartGroups) -> _Rate:
        """Rows are the evidence; where five pieces or more differ by more than their rows explain, they are."""
        of, ids, size, settings = groups.of, groups.ids, len(groups), self.settings
        sums = _Sums(*(part[of] for part in self.sums[name]))
        rows, told = totals(ids, sums.rows, size), sums.rows > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = totals(ids, sums.total, size) / rows
            moved = ((sums.total - value[ids] * sums.rows) / rows[ids])[told]
            between, pieces = piece_variance(moved, ids[told], self.outcomes.pieces[of][told], size)
            luck = np.maximum(totals(ids, sums.squares, size) / rows - value**2, 0.0) / rows
            differ = (pieces >= FEWEST) & (between > luck)
            variance, freedom = np.where(differ, between, luck), np.where(differ, pieces - 1, np.inf)
            if name == "calibration":  # a difference of two shares
                error = np.sqrt(np.maximum(variance, (_RULE_OF_THREE / rows) ** 2))
                return _Rate(value, *student_ends(value, error, freedom, settings, least=-1.0, most=1.0), rows, rows)
            worth = np.maximum(np.where(variance > 0, value * (1 - value) / variance, rows), 1.0)
            return _Rate(value, *wilson(value, worth, freedom, settings), rows, worth)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Which kind each group is of, and its place among these."""
        return [(kind, place) for kind, groups in enumerate(self.kinds) for place in range(len(groups))]

    def label(self, group: int) -> dict[str, str]:
        """A group as people read it."""
        kind, place = self.places[group]
        groups = self.kinds[kind]
        return group_label(self.outcomes.tested.space, groups.factors, groups.codes[place])

    def one(self, group: int) -> GroupRates:
        """A group with all its rates."""
        rows, positives = (int(self.rates[name].rows[group]) for name in ("accuracy", "false_negative_rate"))
        ends = {
            name: (float(rate.low[group]), float(rate.value[group]), float(rate.high[group]))
            for name, rate in self.rates.items()
        }
        known = {name: found if math.isfinite(found[1]) else None for name, found in ends.items()}
        return GroupRates(self.label(group), rows, positives, known)

    def assemble(self) -> RatesByGroup:
        """All of it."""
        most = 1 + np.sort(np.argsort(-self.rates["accuracy"].rows[1:], kind="stable")[:_LISTED])
        few = np.minimum(*(self.rates[name].rows for name in ERRORS)) < THIN
        untested, total = self._untested()
        found = RatesByGroup(
            positive=text(self.outcomes.classes[1]),
            sentence="",
            overall=self.one(0),
            groups=tuple(map(self.one, most.tolist())),
            worse={name: self._worse(name) for name in ERRORS},
            untested=untested,
            untested_total=total,
            thin=tuple(map(self.label, np.flatnonzero(few).tolist()[:_LISTED])),
            thin_total=int(few.sum()),
        )
        return replace(found, sentence=" ".join([*self._extremes(), *_worse_words(found), *_unknown(found)]))

    def _worse(self, name: RateName) -> tuple[BadGroup, ...]:
        """Groups with more of one kind of errors than their parts give elsewhere; both kinds share one rate."""
        sums, tested = self.sums[name], self.outcomes.tested
        told = sums.rows > 0
        if not told.any():
            return ()
        right, nothing = (sums.rows - sums.total)[told], np.zeros(0, dtype=np.int64)
        of_class = replace(
            self.outcomes,
            tested=Support(tested.space, np.asfortranarray(tested.codes[told]), sums.rows[told]),
            kind="score",
            classes=(),
            combination=nothing,
            truth=nothing,
            said=nothing,
            count=np.zeros(0),
            total=right,
            squares=right,
            score=Score("accuracy", "higher"),
        )
        found = [one for one in deviations(of_class).groups if one.q <= RATE / len(ERRORS)]
        return tuple(
            replace(one, score=1 - one.score, expected=1 - one.expected, deviation=-one.deviation) for one in found
        )

    def _untested(self) -> tuple[tuple[dict[str, str], ...], int]:
        """The possible values and pairs of values without a row: some of them, and how many there are."""
        tested, total = self.outcomes.tested, 0
        found: list[dict[str, str]] = []
        for groups in self.kinds[1:]:
            sizes = [tested.space.factors[k].kind.effects for k in groups.factors]
            if math.prod(sizes) > _MOST_PAIRS:
                continue
            codes = possible_codes(tested.space, groups.factors)
            met = np.zeros(sizes, dtype=bool)
            met[tuple(groups.codes.T)] = True
            missing = ~met[tuple(codes.T)]
            if len(groups.factors) > 1:  # a value without a row is named once, not with each partner
                for k, column in zip(groups.factors, codes.T, strict=True):
                    missing &= tested.effect_counts[k][column] > 0
            total += int(missing.sum())
            listed = codes[missing][: _LISTED - len(found)]
            found += [group_label(tested.space, groups.factors, row) for row in listed]
        return tuple(found), total

    def _extremes(self) -> list[str]:
        """Each rate of errors over all rows, and where it is highest, allowing for its being picked."""
        said = []
        for name in ERRORS:
            rate = self.rates[name]
            enough = 1 + np.flatnonzero(rate.rows[1:] >= THIN)
            if not len(enough) or not rate.rows[0]:
                continue
            worth, at = rate.worth[enough], int(np.argmax(rate.value[enough]))
            ends = lowest_share_intervals((1 - rate.value[enough]) * worth, worth, self.settings)
            place, low, high = int(enough[at]), 1 - float(ends[1][at]), 1 - float(ends[0][at])
            most = f"{interval_words(float(rate.value[place]), low, high)} where {named(self.label(place))}"
            said.append(f"{_SPOKEN[name]} rate {percent(float(rate.value[0]))}, at most {most}")
        positive = text(self.outcomes.classes[1])
        return [f"Counting {positive!r} as positive: {'; '.join(said)}."] if said else []


def _worse_words(found: RatesByGroup) -> list[str]:
    """Which groups have more errors of a kind than their parts."""
    said = []
    for name in ERRORS:
        first = [f"{named(one.group)} by {points(one.deviation)}" for one in found.worse[name][:_NAMED]]
        more = [f"{count(len(found.worse[name]) - _NAMED)} more"] if len(found.worse[name]) > _NAMED else []
        if first:
            said.append(f"More {_SPOKEN[name].replace('-', ' ')}s than the parts give: {listing(first + more)}.")
    return said


def _unknown(found: RatesByGroup) -> list[str]:
    """The groups whose rates are not known."""
    said = []
    if found.untested_total:
        first = listing([named(one) for one in found.untested[:_NAMED]])
        said.append(f"{amount(found.untested_total, 'value or pair')} of values never tested, such as {first}")
    if found.thin:
        first = listing([named(one) for one in found.thin[:_NAMED]])
        said.append(f"{amount(found.thin_total, 'group')} with fewer than {THIN} rows of a class, such as {first}")
    return [f"Rates not known: {'; '.join(said)}."] if said else []
