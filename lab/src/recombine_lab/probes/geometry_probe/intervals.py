"""How sure a measure is: what it would be with other values of the factors, and how controls vary from seed to seed.

A grid has every combination of its values, so that nothing is drawn but the values themselves: they are left out in
blocks, factor by factor (the jackknife), and the variances of the factors add up.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from recombine.numerics.intervals import jackknife_interval, prediction_interval
from recombine.numerics.resampling import IntervalSettings
from recombine_lab.probes.geometry_probe.design import Flags, Ints

BLOCKS = range(10, 4, -1)
"""How many blocks of neighbouring values are left out of each factor, one at a time: what gives the most even ones."""

Ends = tuple[float | None, float | None]


def left_out(codes: Ints, among: Flags | None = None) -> list[list[Flags]]:
    """For each factor the combinations (c, K) that stay when a block of its values goes; none of a factor with two.

    Only values that occur `among` some of them are left out, where what is measured is of those alone.

    >>> [len(one) for one in left_out(np.indices((2, 9)).reshape(2, -1).T)]
    [0, 9]
    """
    found = []
    for factor in range(codes.shape[1]):
        values = np.unique(codes[:, factor] if among is None else codes[among, factor])
        parts = np.array_split(values, _blocks(len(values))) if len(values) > 2 else []
        found.append([~np.isin(codes[:, factor], part) for part in parts])
    return found


def _blocks(size: int) -> int:
    """As many blocks as there are values, or those that are most even where they are many."""
    return size if size <= max(BLOCKS) else min(BLOCKS, key=lambda count: -size % count)


def jackknife(
    estimate: Callable[[Flags], float | None],
    value: float | None,
    kept: Sequence[Sequence[Flags]],
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Ends:
    """The ends of a measure's interval of 95 %, from its values without each block; none where there are no blocks.

    >>> numbers = np.arange(9.0)
    >>> low, high = jackknife(lambda rows: numbers[rows].mean(), 4.0, [[np.arange(9) != k for k in range(9)]])
    >>> round(low, 2), round(high, 2)  # as Student's interval of the nine numbers
    (1.89, 6.11)
    """
    without = []
    for masks in kept:
        found = np.array([math.nan if one is None else one for one in map(estimate, masks)])
        if len(found) and np.isfinite(found).all():
            without.append(found)
    ends = None if value is None else jackknife_interval(value, without, least=least, most=most)
    return ends or (None, None)


def predicted(
    draws: Sequence[float | None], *, least: float = -math.inf, most: float = math.inf
) -> tuple[float | None, Ends]:
    """The mean of a control over seeds, and where one more seed would fall (95 %); no ends with fewer than three.

    >>> mean, (low, high) = predicted([0.5, 0.6, 0.7], least=0, most=1)
    >>> round(mean, 2), round(low, 2), round(high, 2)
    (0.6, 0.1, 1.0)
    """
    known = np.array([one for one in draws if one is not None and math.isfinite(one)])
    if not len(known):
        return None, (None, None)
    mean = float(known.mean())
    if len(known) < 3:
        return mean, (None, None)
    low, high = prediction_interval(known, IntervalSettings(), least=least, most=most)
    return mean, (float(low), float(high))
