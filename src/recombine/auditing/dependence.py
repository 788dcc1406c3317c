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

from recombine.algebra.groups import Groups, Ints, Numbers, number, totals
from recombine.tables.support import LabelTarget, NumberTarget, Support, Target

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
    it, 0 none.
    """

    factors: tuple[str, str]
    cramers_v: float
    nmi: float
    spread: tuple[float, float]


def dependence(support: Support) -> tuple[Dependence, ...]:
    """Every pair of factors, the most dependent first."""
    found = [_pair(support, a, b) for a, b in combinations(range(len(support.space.factors)), 2)]
    return tuple(sorted(found, key=lambda pair: -pair.cramers_v))


def _pair(support: Support, a: int, b: int) -> Dependence:
    names = (support.space.names[a], support.space.names[b])
    counts_a, counts_b = support.value_counts[a], support.value_counts[b]
    groups = support.groups((a, b))
    joint = groups.total(support.counts)
    first = support.codes[groups.representatives]
    there = joint > 0
    shares = [joint[there] / counts[first[there, k]] for k, counts in ((a, counts_a), (b, counts_b))]
    ratio = float((shares[0] * shares[1]).sum())  # 1 + chi-square / N; products of weights could leave the range
    v = corrected_cramers_v(ratio - 1, int((counts_a > 0).sum()), int((counts_b > 0).sum()), support.total)
    h_a, h_b, h_ab = entropy(counts_a), entropy(counts_b), entropy(joint)
    shared = max(h_a + h_b - h_ab, 0.0)  # the mutual information; rounding alone could make it negative
    nmi = 2 * shared / (h_a + h_b) if h_a + h_b else 0.0
    return Dependence(names, v, min(nmi, 1.0), (_left(h_a, shared), _left(h_b, shared)))


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
class Part:
    """Some factors and what they tell of the target.

    `told` is the share of the target's entropy (label) or variance (number), `score` the best accuracy or R² from these
    factors alone, `score_left_out` the same when each row is predicted from the others.
    """

    factors: tuple[str, ...]
    told: float
    bits: float | None
    score: float
    score_left_out: float


@dataclass(frozen=True)
class Redundancy:
    """A target, what guessing without any factor scores, and what each part tells.

    Of a target that never varies nothing can be told: it has no parts, and `nothing` says why.
    """

    target: str
    kind: Literal["label", "number"]
    baseline: float
    entropy_bits: float | None
    parts: tuple[Part, ...]
    nothing: str | None = None


def redundancy(support: Support) -> Redundancy | None:
    """Every factor, every pair, and all factors together; the most telling single factors first."""
    if support.target is None:
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


class _Labels:
    kind: Literal["label"] = "label"

    def __init__(self, target: LabelTarget) -> None:
        self._target = target
        self._classes = np.bincount(target.label, weights=target.count, minlength=len(target.classes))
        self._total = float(self._classes.sum())
        self._entropy = entropy(self._classes)
        self.baseline = float(self._classes.max() / self._total) if self._total else 0.0
        self.entropy_bits = self._entropy / NATS_PER_BIT

    def part(self, groups: Groups, names: tuple[str, ...]) -> Part:
        width = len(self._target.classes)
        raw = groups.ids[self._target.combination] * width + self._target.label
        keys, ids = number(raw, groups.size * width)
        counts = totals(ids, self._target.count, len(keys))
        group, label = np.divmod(keys, width)
        size = totals(group, counts, groups.size)
        shared = max(self._entropy + entropy(size) - entropy(counts), 0.0)
        best = np.zeros(groups.size)
        np.maximum.at(best, group, counts)
        return Part(
            factors=tuple(names[k] for k in groups.factors),
            told=min(shared / self._entropy, 1.0) if self._entropy > 0 else 0.0,
            bits=shared / NATS_PER_BIT,
            score=float(best.sum() / self._total) if self._total else 0.0,
            score_left_out=self._left_out(counts, group, label, size),
        )

    def _left_out(self, counts: Numbers, group: Ints, label: Ints, size: Numbers) -> float:
        """Accuracy when each row is predicted by the other rows of its group; ties count half, a lone row takes the
        commonest class.
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
        return float((won * counts).sum() / self._total) if self._total else 0.0


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

    def part(self, groups: Groups, names: tuple[str, ...]) -> Part:
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
        return Part(
            factors=tuple(names[k] for k in groups.factors),
            told=told,
            bits=None,
            score=told,
            score_left_out=self._explained(float(np.where(lone, alone, stretched).sum())),
        )

    def _explained(self, residual: float) -> float:
        """R²: 1 all of the variation, 0 none, below 0 worse than the mean."""
        return 1 - residual / self._variation if self._variation > 0 else 0.0
