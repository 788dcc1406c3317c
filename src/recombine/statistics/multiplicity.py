"""Many tests at once: how many of the alarms may be false."""

import numpy as np

from recombine.algebra.groups import Numbers


def false_discovery(p: Numbers) -> Numbers:
    """Benjamini and Hochberg's q-values; NaN stays NaN and takes no part.

    >>> false_discovery(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - scipy.stats takes half a second to import

    q = np.full(len(p), np.nan)
    known = np.isfinite(p)
    if known.any():
        q[known] = false_discovery_control(np.minimum(p[known], 1.0), method="bh")
    return q


def bonferroni(error: float, comparisons: int) -> float:
    """The error that each of several comparisons may have, so that all together have at most this one.

    >>> bonferroni(0.05, 5)
    0.01
    """
    return error / comparisons
