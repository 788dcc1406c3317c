"""How much of some outputs lies where others have been: the part of it that is arithmetic, for any floor above."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEAST_SINGULAR = 1e-3
"""A direction in which the seen outputs have less than this share of their main one is not theirs."""

Outputs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OutputCoverage:
    """How much of the unseen outputs lies where training has been.

    unlit    share of the outputs that nothing seen moves
    dark     share of the unseen ones' energy on those outputs
    spanned  share of the unseen ones' energy in the span of the seen ones
    """

    unlit: float
    dark: float
    spanned: float


def coverage(seen: Outputs, unseen: Outputs, *, lit: float) -> OutputCoverage:
    """Of rows (n, d) and (m, d), both measured from rest; an output is lit where a seen row moves it more than `lit`.

    >>> coverage(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), lit=0.01)
    OutputCoverage(unlit=0.5, dark=0.5, spanned=0.5)
    """
    energy = float(np.square(unseen).sum())
    dark = ~(np.abs(seen) > lit).any(axis=0)
    squares, directions = np.linalg.eigh(seen.T @ seen)
    held = np.sqrt(squares.clip(min=0))  # the singular values of the seen rows, the largest last
    inside = unseen @ directions[:, held > LEAST_SINGULAR * held[-1]]
    return OutputCoverage(
        unlit=float(dark.mean()),
        dark=float(np.square(unseen[:, dark]).sum()) / energy,
        spanned=float(np.square(inside).sum()) / energy,
    )
