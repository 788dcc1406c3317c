"""Entropies of counts, in nats."""

from typing import Any

import numpy as np
import numpy.typing as npt

NATS_PER_BIT = float(np.log(2))


def entropy(counts: npt.NDArray[Any]) -> float:
    """How uncertain a draw is, from how often each outcome was counted.

    >>> round(entropy(np.array([1, 1])) / NATS_PER_BIT, 6)
    1.0
    """
    positive = counts[counts > 0]
    total = positive.sum()
    return float(np.log(total) - (positive * np.log(positive)).sum() / total) if total else 0.0
