"""How much one factor tells about another, over the rows that were seen."""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from recombine.auditing.entropy import entropy
from recombine.tables.support import Support


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
    shared = max(h_a + h_b - h_ab, 0.0)
    nmi = 2 * shared / (h_a + h_b) if h_a + h_b else 0.0
    return Dependence(names, v, min(nmi, 1.0), (_left(h_a, shared), _left(h_b, shared)))


def _left(total: float, shared: float) -> float:
    return float(np.clip(1 - shared / total, 0.0, 1.0)) if total > 0 else 0.0


def corrected_cramers_v(phi_squared: float, rows: int, columns: int, total: float) -> float:
    """Cramér's V with Bergsma's correction (2013): what chance alone would give is taken away.

    >>> round(corrected_cramers_v(1.0, 2, 2, 1000), 6)
    1.0
    """
    if total <= 1:
        return 0.0
    excess = max(phi_squared - (rows - 1) * (columns - 1) / (total - 1), 0.0)
    width = min(rows - (rows - 1) ** 2 / (total - 1), columns - (columns - 1) ** 2 / (total - 1)) - 1
    return min(sqrt(excess / width), 1.0) if width > 0 else 0.0
