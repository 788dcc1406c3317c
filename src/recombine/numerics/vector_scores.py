"""Scores of predicted vectors against measured ones, and the range that each score can move in.

Legend: c combinations, m outputs; y the measured mean vector of a combination, p the predicted one, r a reference.

    R²               1 - Σ|y - p|² / Σ|y - mean|²; the mean is that of the training combinations. Pooled, and by output.
    root mean square √(Σ|y - p|² / cm)
    cosine, Pearson  of y - r with p - r, for each combination; r is the control, or the mean of the training ones
    discrimination   1 - (measured vectors that lie nearer to p than its own y) / c, for each combination: is it *this*
                     combination that was predicted? A tie counts half.

A number says little without its range. The low end is what the mean of the training combinations gets, which for the
cosine of differences from the control is often .8 and more. The high end is what a prediction without any error would
get: y itself is noisy, and two halves of its rows tell how noisy. With halves a and b of equal size |a - b|² / 4 is the
squared noise of y = (a + b) / 2, and

    1 - |a - b|² / 4|y|² = 2k / (1 + k),   k = 2ab / (|a|² + |b|²), the correlation of the halves,

which is the correction of Spearman and Brown (1910). It is the R² of a perfect prediction, and the correlation that a
second experiment of the same size would have with the first. A perfect prediction, which has no noise, has the root of
it. Ranks have no such correction: one half is ranked against the others' other halves, and a perfect prediction does at
least as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Numbers

Vectors = npt.NDArray[Any]
"""(c, m) float32 or float64; or (m,) where all combinations share one."""

MOST_RANKED = 4_000
"""Combinations that are ranked against each other: their distances are a matrix of 128 MB."""
_LINES = 256
_TINY = 1e-24
"""Squared lengths below this share of the largest are rounding: such a vector has no direction."""


@dataclass(frozen=True, eq=False)
class VectorParts:
    """What each combination, and each output, adds to the scores; NaN where a score is not defined.

    >>> truth, said = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> parts = compare(truth, said, mean=np.full(2, 0.5))
    >>> parts.r2, parts.by_output.tolist(), parts.cosine_mean.tolist(), parts.discrimination.tolist()
    (-1.0, [-1.0, -1.0], [1.0, -1.0], [1.0, 0.5])
    """

    error: Numbers  # (c,) |y - p|²
    spread: Numbers  # (c,) |y - mean|²
    output_error: Numbers  # (m,)
    output_spread: Numbers  # (m,)
    cosine_control: Numbers  # (c,)
    pearson_control: Numbers  # (c,)
    cosine_mean: Numbers  # (c,)
    pearson_mean: Numbers  # (c,)
    discrimination: Numbers  # (c,)

    @property
    def r2(self) -> float:
        """Pooled over outputs."""
        return _explained(float(self.error.sum()), float(self.spread.sum()))

    @property
    def by_output(self) -> Numbers:
        """(m,) R² of each output; NaN where it does not vary."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.output_spread > 0, 1 - self.output_error / self.output_spread, np.nan)

    @property
    def rms(self) -> float:
        """Root mean square error."""
        return float(np.sqrt(self.error.sum() / max(len(self.error) * len(self.output_error), 1)))


def compare(
    truth: Vectors, predicted: Vectors, *, mean: Vectors, control: Vectors | None = None, ranked: bool = True
) -> VectorParts:
    """Score predictions (c, m); `control` holds the reference of each combination, NaN where there is none."""
    count, width = truth.shape
    alone = np.full((5, count), np.nan)  # error, cosine and Pearson from the control, then from the mean
    spread, by_output = np.empty(count), np.zeros((2, width))
    for part in _blocks(count):
        y, p, centre = _line(truth, part), _line(predicted, part), _line(mean, part)
        missed, apart = np.square(y - p), np.square(y - centre)
        alone[0, part], spread[part] = missed.sum(axis=1), apart.sum(axis=1)
        by_output += np.stack([missed.sum(axis=0), apart.sum(axis=0)])
        alone[3:, part] = _directions(y - centre, p - centre)
        if control is not None:
            reference = _line(control, part)
            alone[1:3, part] = _directions(y - reference, p - reference)
    found = discrimination(truth, predicted) if ranked and count <= MOST_RANKED else np.full(count, np.nan)
    return VectorParts(
        error=alone[0],
        spread=spread,
        output_error=by_output[0],
        output_spread=by_output[1],
        cosine_control=alone[1],
        pearson_control=alone[2],
        cosine_mean=alone[3],
        pearson_mean=alone[4],
        discrimination=found,
    )


def discrimination(truth: Vectors, predicted: Vectors) -> Numbers:
    """(c,) 1 less the share of measured vectors that lie nearer to a prediction than its own; Euclidean, a tie is half.

    >>> discrimination(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0], [1.0], [5.0]])).round(3).tolist()
    [0.333, 1.0, 1.0]
    """
    count = len(truth)
    if not count:
        return np.zeros(0)
    centre = np.asarray(truth, dtype=np.float64).mean(axis=0)  # products of large numbers would lose their digits
    y = truth - centre
    length = np.square(y).sum(axis=1)
    found = np.empty(count)
    for part in _blocks(count):
        p = _line(predicted, part) - centre
        distance = length - 2 * p @ y.T  # less |p|², which all have
        own = distance[np.arange(len(p)), np.arange(part.start, part.start + len(p))][:, None]
        rounding = 1e-12 * (np.abs(own) + length.max(initial=0.0))
        nearer = (distance < own - rounding).sum(axis=1)
        level = (np.abs(distance - own) <= rounding).sum(axis=1) - 1
        found[part] = 1 - (nearer + level / 2) / count
    return found


@dataclass(frozen=True, eq=False)
class ReplicateCeiling:
    """What a prediction without error would score on these noisy measurements; NaN where no combination has two halves.

    >>> first, second = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.2], [0.2, 1.0]])
    >>> ceiling = replicate_ceiling(first, second, np.full(2, 2.0), mean=np.full(2, 0.55))
    >>> round(ceiling.r2, 3), ceiling.combinations
    (0.975, 2)
    """

    r2: float
    rms: float
    cosine_control: float
    pearson_control: float
    cosine_mean: float
    pearson_mean: float
    discrimination: float
    by_output: Numbers  # (m,) R² of each output
    combinations: int  # with two halves


def replicate_ceiling(
    first: Vectors, second: Vectors, count: Numbers, *, mean: Vectors, control: Vectors | None = None
) -> ReplicateCeiling:
    """From the means of two halves of the rows of each combination, and how many `count` rows it has; NaN where there
    is no second half.
    """
    known = np.flatnonzero((count > 1) & np.isfinite(second[:, 0]))
    share = np.floor(count / 2) * np.ceil(count / 2) / np.square(np.maximum(count, 1))  # 1/4 for halves of equal size
    sums = np.zeros((2, len(known)))  # noise and spread
    by_output, directions = np.zeros((2, first.shape[1])), np.full((4, len(known)), np.nan)
    for part in _blocks(len(known)):
        rows = known[part]
        a, b, centre = first[rows], second[rows], _line(mean, rows)
        weight = share[rows][:, None]
        later = (np.floor(count[rows] / 2) / count[rows])[:, None]
        y, apart = a + later * (b - a), np.square(b - a) * weight
        squares = np.square(y - centre)
        sums[0, part], sums[1, part] = apart.sum(axis=1), squares.sum(axis=1)
        by_output += np.stack([apart.sum(axis=0), squares.sum(axis=0)])
        directions[2:, part] = _reliable(y - centre, b - a, weight)
        if control is not None:
            directions[:2, part] = _reliable(y - _line(control, rows), b - a, weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = 1 - by_output[0] / by_output[1]
    ranks = discrimination(first[known], second[known]) if 1 < len(known) <= MOST_RANKED else np.full(1, np.nan)
    rms = float(np.sqrt(sums[0].sum() / (len(known) * first.shape[1]))) if len(known) else float("nan")
    return ReplicateCeiling(
        r2=_explained(float(sums[0].sum()), float(sums[1].sum())),
        rms=rms,
        cosine_control=known_mean(directions[0]),
        pearson_control=known_mean(directions[1]),
        cosine_mean=known_mean(directions[2]),
        pearson_mean=known_mean(directions[3]),
        discrimination=known_mean(ranks),
        by_output=each,
        combinations=len(known),
    )


def reached(value: float, negative: float, positive: float) -> float | None:
    """How far a score lies from what the mean gets to what can be reached; None where the two are not apart.

    >>> reached(0.5, 0.0, 1.0), reached(2.0, 3.0, 1.0), reached(0.5, 0.5, 0.5) is None
    (0.5, 0.5, True)
    """
    room = positive - negative
    known = np.isfinite([value, negative, positive]).all() and abs(room) > 1e-9 * max(abs(positive), abs(negative))
    return (value - negative) / room if known else None


def known_mean(values: Numbers) -> float:
    """The mean of those that are defined; NaN where none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _directions(y: Numbers, p: Numbers) -> Numbers:
    """(2, c) The cosine and the Pearson correlation of two vectors of each combination."""
    centred = y - y.mean(axis=1, keepdims=True), p - p.mean(axis=1, keepdims=True)
    return np.stack([_cosine(y, p), _cosine(*centred)])


def _cosine(y: Numbers, p: Numbers) -> Numbers:
    one, other = np.square(y).sum(axis=1), np.square(p).sum(axis=1)
    told = (one > _TINY * np.nanmax(one, initial=0.0)) & (other > _TINY * np.nanmax(one, initial=0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("cm,cm->c", y, p) / np.sqrt(one * other)
    return np.where(told, np.clip(found, -1.0, 1.0), np.nan)


def _reliable(y: Numbers, apart: Numbers, weight: Numbers) -> Numbers:
    """(2, c) The root of 2k / (1 + k), for the cosine and for Pearson; 0 where there is more noise than anything."""
    found = []
    for centred in (False, True):
        signal, noise = (one - one.mean(axis=1, keepdims=True) if centred else one for one in (y, apart))
        length = np.square(signal).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 1 - weight[:, 0] * np.square(noise).sum(axis=1) / length
        found.append(np.where(length > 0, np.sqrt(np.clip(share, 0.0, 1.0)), np.nan))
    return np.stack(found)


def _explained(missed: float, spread: float) -> float:
    return 1 - missed / spread if spread > 0 else float("nan")


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _LINES, count)) for start in range(0, count, _LINES))


def _line(vectors: Vectors, part: Any) -> Numbers:
    """Some lines in float64; one vector for all stays one."""
    chosen = vectors[part] if vectors.ndim > 1 else vectors
    return np.asarray(chosen, dtype=np.float64)
