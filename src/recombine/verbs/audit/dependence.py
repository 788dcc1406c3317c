"""What factors tell of one another, and of the target: over the rows that were seen, with entropies in nats.

*Dependence* is between two factors. *Redundancy* is what each factor alone, and each pair, tells about the target:
where a shortcut would be. A factor with a value for every row would score perfectly by memory alone, so beside each
score stands the same score with the row itself left out.
"""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recombine.data.support import LabelTarget, NumberTarget, Support, Target
from recombine.numerics.distributions import student_quantile
from recombine.numerics.groups import Codes, Groups, Ints, Numbers, number, totals

NATS_PER_BIT = float(np.log(2))


def entropy(counts: npt.NDArray[Any]) -> float:
    """How uncertain a draw is, from how often each outcome was counted.

    >>> round(entropy(np.array([1, 1])) / NATS_PER_BIT, 6)
    1.0
    """
    positive = counts[counts > 0]
    total = positive.sum()
    return float(np.log(total) - (positive * np.log(positive)).sum() / total) if total else 0.0


@dataclass(frozen=True)
class Dependence:
    """A pair of factors.

    `cramers_v` is bias-corrected (0 independent, 1 one fixes the other), `nmi` the mutual information divided by the
    mean of the two entropies, `spread` how much of each factor's entropy is left when the other is known: 1 all of
    it, 0 none. `cramers_v` and `nmi` are None where the table cannot tell: one of the factors has a single value, most
    rows hold a value that occurs once, or the rows are a list of pairs, each once.
    """

    factors: tuple[str, str]
    cramers_v: float | None
    nmi: float | None
    spread: tuple[float, float]


def dependence(support: Support) -> tuple[Dependence, ...]:
    """Every pair of factors, the most dependent first."""
    ordinary = [k for k in range(len(support.space.factors)) if k not in support.space.set_factors]
    found = [_pair(support, a, b) for a, b in combinations(ordinary, 2)]
    return tuple(sorted(found, key=lambda pair: 1.0 if pair.cramers_v is None else -pair.cramers_v))


def _pair(support: Support, a: int, b: int) -> Dependence:
    groups = support.groups((a, b))
    joint = groups.total(support.counts)
    first = support.codes[groups.representatives]
    there = joint > 0
    met = PairCounts(support.value_counts[a], support.value_counts[b])
    met.add(first[there, a], first[there, b], joint[there])
    return met.dependence((support.space.names[a], support.space.names[b]))


class PairCounts:
    """What two factors tell of each other, added up over pieces of the list of their pairs of values."""

    def __init__(self, counts_a: Numbers, counts_b: Numbers) -> None:
        self._counts = counts_a, counts_b
        self._pairs, self._total, self._logs, self._ratio, self._again = 0, 0.0, 0.0, 0.0, 0.0
        self._listed = True  # whether each pair was counted once

    def add(self, a: Codes, b: Codes, joint: Numbers) -> None:
        """Pairs of values and how many rows hold them, above 0."""
        mine, theirs = (counts[codes] for counts, codes in zip(self._counts, (a, b), strict=True))
        self._pairs += len(joint)
        self._total += float(joint.sum())
        self._logs += float((joint * np.log(joint)).sum())
        self._ratio += float((joint / mine * (joint / theirs)).sum())  # products of weights could leave the range
        self._again += float(joint[(mine > 1) & (theirs > 1)].sum())
        self._listed &= bool((joint == 1).all())

    def dependence(self, names: tuple[str, str]) -> Dependence:
        """The measures, of all pairs that were added."""
        values = int((self._counts[0] > 0).sum()), int((self._counts[1] > 0).sum())
        told = self._tells(values)
        v = corrected_cramers_v(self._ratio - 1, *values, self._total)  # the ratio is 1 + chi-square / N
        h_a, h_b = map(entropy, self._counts)
        h_ab = float(np.log(self._total) - self._logs / self._total) if self._total else 0.0
        shared = max(h_a + h_b - h_ab, 0.0)  # the mutual information; rounding alone could make it negative
        nmi = 2 * shared / (h_a + h_b) if h_a + h_b else 0.0
        spread = (_left(h_a, shared), _left(h_b, shared))
        return Dependence(names, v if told else None, min(nmi, 1.0) if told else None, spread)

    def _tells(self, values: tuple[int, int]) -> bool:
        """Whether counts can say anything of dependence.

        A value that occurs once meets one value of the other factor whether the two depend on each other or not; and in
        a list that names each pair once, counts are no frequencies (unless it names them all).
        """
        listed = self._listed and self._pairs < values[0] * values[1]
        return min(values) > 1 and not listed and self._again >= 0.5 * self._total


def _left(total: float, shared: float) -> float:
    return float(np.clip(1 - shared / total, 0.0, 1.0)) if total > 0 else 0.0


def corrected_cramers_v(phi_squared: float, rows: int, columns: int, total: float) -> float:
    """Cramér's V with Bergsma's correction (2013): what chance alone would give is taken away.

    V² = φ² / (min(rows, columns) - 1) with φ² = χ² / N. Between independent factors φ² is (r - 1)(c - 1) / (N - 1) on
    average, which is subtracted; and r and c are shrunk to r - (r - 1)² / (N - 1), so that a perfect one stays 1.

    >>> round(corrected_cramers_v(1.0, 2, 2, 1000), 6)
    1.0
    """
    if total <= 1:
        return 0.0
    excess = max(phi_squared - (rows - 1) * (columns - 1) / (total - 1), 0.0)
    width = min(rows - (rows - 1) ** 2 / (total - 1), columns - (columns - 1) ** 2 / (total - 1)) - 1
    return min(sqrt(excess / width), 1.0) if width > 0 else 0.0


@dataclass(frozen=True)
class FactorSet:
    """Some factors and what they tell of the target.

    `told` is the share of the target's entropy (label) or variance (number), `score` the best accuracy or R² from these
    factors alone, `score_left_out` the same when each row is predicted from the others. `gain` is what that gains over
    guessing, between the ends of a 95 % interval over combinations.
    """

    factors: tuple[str, ...]
    told: float
    bits: float | None
    score: float
    score_left_out: float
    gain: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Redundancy:
    """A target, what guessing without any factor scores, and what each part tells.

    Of a target that never varies nothing can be told: it has no parts, and `nothing` says why.
    """

    target: str
    kind: Literal["label", "number"]
    baseline: float
    entropy_bits: float | None
    parts: tuple[FactorSet, ...]
    nothing: str | None = None

    @property
    def shortcut(self) -> FactorSet | None:
        """The factor that gains most over guessing, if one gains beyond chance."""
        firm = [part for part in self.parts if len(part.factors) == 1 and part.gain is not None and part.gain[0] > 0]
        return max(firm, key=lambda part: part.score_left_out, default=None)


def redundancy(support: Support) -> Redundancy | None:
    """Every factor, every pair, and all factors together; the most telling single factors first."""
    if support.target is None or support.space.set_factors:  # an element's share is in no group of whole sets
        return None
    measure = _Labels(support.target) if isinstance(support.target, LabelTarget) else _Numbers(support.target)
    nothing = _nothing_to_tell(support.target)
    if nothing is not None:
        found = (measure.kind, measure.baseline, measure.entropy_bits)
        return Redundancy(support.target.name, *found, parts=(), nothing=nothing)
    width = len(support.space.factors)
    chosen: list[tuple[int, ...]] = [(k,) for k in range(width)]
    chosen += combinations(range(width), 2)
    if width > 2:
        chosen.append(tuple(range(width)))
    parts = [measure.part(support.groups(factors), support.space.names) for factors in chosen]
    parts.sort(key=lambda part: (len(part.factors), -part.told))
    return Redundancy(support.target.name, measure.kind, measure.baseline, measure.entropy_bits, tuple(parts))


def _nothing_to_tell(target: Target) -> str | None:
    if not target.count.sum() > 0:
        return f"No row has a {target.name}, so there is nothing for the factors to tell."
    return None if target.varies else f"{target.name} never varies, so there is nothing for the factors to tell."


_FEW = 8  # combinations, below which rows are the unit of chance: there is no spread between combinations to tell


def _gain(gained: Numbers, units: Numbers, total: float, candidates: int) -> tuple[float, float, float] | None:
    """What is gained in all over `total`, from what each unit gained; as sure as the best of several candidates can be.

    The units are whole combinations, so that rows of one combination do not pass for evidence about another.
    """
    if len(gained) < 2 or not total > 0:
        return None
    value = float(gained.sum()) / total
    spread = gained - units * float(gained.sum()) / float(units.sum())
    error = sqrt(float((spread**2).sum()) * len(gained) / (len(gained) - 1)) / total
    reach = _reach(candidates, len(gained) - 1) * error
    return value - reach, value, value + reach


def _reach(candidates: int, freedom: float) -> float:
    """Standard errors on each side of a 95 % interval that holds for all candidates at once."""
    return float(student_quantile(1 - 0.025 / candidates, max(freedom, 1.0)))


class _Labels:
    kind: Literal["label"] = "label"

    def __init__(self, target: LabelTarget) -> None:
        self._target = target
        self._classes = np.bincount(target.label, weights=target.count, minlength=len(target.classes))
        self._total = float(self._classes.sum())
        self._entropy = entropy(self._classes)
        self.baseline = float(self._classes.max() / self._total) if self._total else 0.0
        self.entropy_bits = self._entropy / NATS_PER_BIT

    def part(self, groups: Groups, names: tuple[str, ...]) -> FactorSet:
        """What these factors tell."""
        width = len(self._target.classes)
        raw = groups.ids[self._target.combination] * width + self._target.label
        keys, ids = number(raw, groups.size * width)
        counts = totals(ids, self._target.count, len(keys))
        group, label = np.divmod(keys, width)
        size = totals(group, counts, groups.size)
        shared = max(self._entropy + entropy(size) - entropy(counts), 0.0)
        best = np.zeros(groups.size)
        np.maximum.at(best, group, counts)
        won = self._left_out(counts, group, label, size)
        return FactorSet(
            factors=tuple(names[k] for k in groups.factors),
            told=min(shared / self._entropy, 1.0) if self._entropy > 0 else 0.0,
            bits=shared / NATS_PER_BIT,
            score=float(best.sum() / self._total) if self._total else 0.0,
            score_left_out=float((won * counts).sum() / self._total) if self._total else 0.0,
            gain=self._gain(won[ids], len(names)),
        )

    def _gain(self, won: Numbers, candidates: int) -> tuple[float, float, float] | None:
        """What each line of the target gains over the commonest class, by combination or, with few of these, by row."""
        target = self._target
        more = won - (target.label == int(np.argmax(self._classes)))
        place = np.unique(target.combination, return_inverse=True)[1]
        sizes = totals(place, target.count, int(place.max(initial=-1)) + 1)
        if len(sizes) >= _FEW:
            return _gain(totals(place, more * target.count, len(sizes)), sizes, self._total, candidates)
        value = float((more * target.count).sum()) / self._total
        error = sqrt(float((target.count * (more - value) ** 2).sum())) / self._total
        reach = _reach(candidates, self._total - 1) * error
        return value - reach, value, value + reach

    def _left_out(self, counts: Numbers, group: Ints, label: Ints, size: Numbers) -> Numbers:
        """Of each line the chance to be right when a row is told by the other rows of its group; ties count half, a
        lone row takes the commonest class.
        """
        order = np.lexsort((-counts, group))
        first = np.flatnonzero(np.diff(group[order], prepend=-1))
        top, second = np.zeros(len(size)), np.zeros(len(size))
        top[group[order[first]]] = counts[order[first]]
        runner = np.delete(order, first)
        np.maximum.at(second, group[runner], counts[runner])
        leader = np.zeros(len(counts), dtype=bool)
        leader[order[first]] = True
        rival = np.where(leader, second[group], top[group])
        won = np.where(counts - 1 > rival, 1.0, np.where((counts - 1 == rival) & (rival > 0), 0.5, 0.0))
        lone = size[group] <= 1
        won[lone] = label[lone] == int(np.argmax(self._classes))
        return np.asarray(won)


class _Numbers:
    kind: Literal["number"] = "number"
    baseline = 0.0
    entropy_bits = None

    def __init__(self, target: NumberTarget) -> None:
        self._target = target
        self._count = float(target.count.sum())
        self._mean = float(target.total.sum()) / self._count if self._count else 0.0
        self._variation = max(float(target.squares.sum()) - self._count * self._mean**2, 0.0)
        # both about the target's shift: what is explained does not depend on where 0 lies

    def part(self, groups: Groups, names: tuple[str, ...]) -> FactorSet:
        count, total, squares = (
            groups.total(x) for x in (self._target.count, self._target.total, self._target.squares)
        )
        full = count > 0
        count, total, squares = count[full], total[full], squares[full]
        within = np.maximum(squares - total**2 / count, 0.0)
        # The mean of a row's n - 1 companions misses it by n / (n - 1) times as much as the mean of all n does. A lone
        # row has no companions: it is foretold by the mean of all other rows.
        lone = count <= 1
        others = np.where(lone, count, count - 1)
        stretched = within * (count / others) ** 2
        alone = (total / count - self._mean) ** 2 * count * (self._count / max(self._count - 1, 1)) ** 2
        told = self._explained(float(within.sum()))
        return FactorSet(
            factors=tuple(names[k] for k in groups.factors),
            told=told,
            bits=None,
            score=told,
            score_left_out=self._explained(float(np.where(lone, alone, stretched).sum())),
            gain=self._gain(groups, len(names)),
        )

    def _gain(self, groups: Groups, candidates: int) -> tuple[float, float, float] | None:
        """What each combination gains in squares over the mean, both without the row itself."""
        target = self._target
        kept = np.flatnonzero(target.count > 0)
        mine = target.subset(kept)
        size, total = (groups.total(x)[groups.ids[kept]] for x in (target.count, target.total))
        mean, lone = mine.total / mine.count, size <= 1
        beside = (self._count / max(self._count - 1, 1)) ** 2 * (mine.scatter + mine.count * (mean - self._mean) ** 2)
        own = mine.scatter + mine.count * (mean - total / size) ** 2
        own = own * (size / np.where(lone, size, size - 1)) ** 2
        return _gain(np.where(lone, 0.0, beside - own), mine.count, self._variation, candidates)

    def _explained(self, residual: float) -> float:
        """R²: 1 all of the variation, 0 none, below 0 worse than the mean."""
        return 1 - residual / self._variation if self._variation > 0 else 0.0
