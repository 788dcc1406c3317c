"""What a model answers on unseen combinations: training examples laid over each other, or something new?

All of it is measured from `rest`, what an output is with nothing on it: of dark bumps on white, everything would else
look like everything. `output_coverage` needs no model and comes before training.

Letters: c combinations, u unseen ones, d outputs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError, TableError
from recombine_lab.base.output_coverage import LEAST_SINGULAR, Coverage, coverage
from recombine_lab.probes.grids.cells import Cells, Numbers, gram_of
from recombine_lab.probes.grids.design import Flags

LIT = 1e-2
"""An output is lit if some training example moves it by more than this share of the largest move of any output."""

Outputs = npt.NDArray[np.floating]


def resting(outputs: Outputs, seen: Flags | None, rest: float | npt.ArrayLike | None) -> Numbers:
    """(d,) or () What an output is with nothing on it: as given, else each output's median over the seen."""
    if rest is None:
        return np.median(outputs if seen is None or not seen.any() else outputs[seen], axis=0).astype(np.float64)
    given = np.asarray(rest, dtype=np.float64)
    if given.ndim and given.size != outputs.shape[1]:
        raise SettingError(
            f"rest of shape {given.shape}",
            why=f"there are {outputs.shape[1]:,} outputs",
            instead="write a number, such as rest=0.0, or one for each output",
        )
    return given.reshape(-1) if given.ndim else given


def output_coverage(targets: npt.ArrayLike, seen: npt.ArrayLike, *, rest: float | npt.ArrayLike = 0.0) -> Coverage:
    """What the seen targets (n, …) leave unlit of the unseen ones. No model is needed: ask before training.

    >>> output_coverage([[1.0, 0.0], [0.5, 0.5]], [True, False])
    Coverage(unlit=0.5, dark=0.5, spanned=0.5)
    """
    given, shown = np.asarray(targets, dtype=np.float64), np.asarray(seen)
    if given.ndim < 2 or shown.shape != given.shape[:1] or shown.dtype != bool or not np.isfinite(given).all():
        raise SettingError(
            f"targets of shape {given.shape} with seen of shape {shown.shape} and type {shown.dtype}",
            why="each row has outputs, which are finite numbers, and was seen or was not",
            instead="give targets as (rows, outputs) and seen as a true or false for each row",
        )
    flat = given.reshape(len(given), -1)
    moved = flat - resting(flat, shown, rest)
    seen_part, unseen_part = moved[shown], moved[~shown]
    if not len(seen_part) or not np.square(unseen_part).sum() > 0:
        raise TableError(
            f"output coverage of {len(unseen_part):,} unseen by {len(seen_part):,} seen rows",
            why="there must be seen rows, and unseen ones that differ from `rest`",
            instead="give both; `rest` is the value of an output with nothing on it",
        )
    return coverage(seen_part, unseen_part, lit=LIT * float(np.abs(moved).max()))


def superposed(cells: Cells) -> Numbers:
    """(c,) For each unseen combination the R² of its vector on the span of its seen neighbours'; NaN elsewhere.

    A neighbour differs in one factor only; with two factors it is whoever shares a value. NaN too without neighbours,
    and for a vector that is at rest.
    """
    found = np.full(len(cells), np.nan)
    if cells.seen is None:
        return found
    own = np.diagonal(cells.gram)
    tall = own > 1e-12 * max(float(own.max(initial=0.0)), 1e-300)
    asked = np.flatnonzero(~cells.seen & tall)
    for start in range(0, len(asked), 512):
        rows = asked[start : start + 512]
        found[rows] = _explained(cells, rows)
    return found


def _explained(cells: Cells, rows: npt.NDArray[np.int64]) -> Numbers:
    assert cells.seen is not None  # noqa: S101 - asked of unseen combinations only
    near = ((cells.codes[rows][:, None] != cells.codes[None]).sum(axis=2) == 1) & cells.seen[None]
    most = int(near.sum(axis=1).max(initial=0))
    if not most:
        return np.full(len(rows), np.nan)
    order = np.argsort(~near, axis=1, kind="stable")[:, :most]
    there = np.take_along_axis(near, order, axis=1)
    inner = cells.gram[order[:, :, None], order[:, None, :]] * (there[:, :, None] & there[:, None, :])
    across = cells.gram[rows[:, None], order] * there
    squares, directions = np.linalg.eigh(inner)
    kept = squares > LEAST_SINGULAR**2 * squares[:, -1:].clip(min=1e-300)
    along = np.einsum("um,umk->uk", across, directions)
    explained = np.where(kept, np.square(along) / np.where(kept, squares, 1.0), 0.0).sum(axis=1)
    own = np.diagonal(cells.gram)[rows]
    return np.where(there.any(axis=1), explained / own, np.nan)


def errors_by_cell(answers: Outputs, truth: Outputs) -> Numbers:
    """(c,) The mean squared error of each combination."""
    return np.asarray(np.square(answers.astype(np.float64) - truth).mean(axis=1))


@dataclass(frozen=True, eq=False)
class Products:
    """(c,) The dot product of two vectors of each combination, and their squares: all that a correlation is made of."""

    both: Numbers
    first: Numbers
    second: Numbers

    def correlation(self, rows: Flags) -> float | None:
        """Over some of the combinations; None where one side does not vary."""
        length = float(np.sqrt(self.first[rows].sum() * self.second[rows].sum()))
        return float(self.both[rows].sum()) / length if length > 0 else None


def partial_input(answers: Outputs, alone: Outputs) -> Products:
    """The answers (c, d) beside the sum of the answers to each factor alone (c, d), for their correlation.

    Each output is measured from its mean over all combinations, so that constants play no part.

    >>> x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[0.0], [3.0], [0.0], [3.0]])
    >>> round(partial_input(x + y, x + y - 7).correlation(np.ones(4, dtype=bool)), 9)
    1.0
    """
    first, second = (one.astype(np.float64) - one.mean(axis=0, dtype=np.float64) for one in (answers, alone))
    pairs = ((first, second), (first, first), (second, second))
    return Products(*(np.einsum("cd,cd->c", one, other) for one, other in pairs))


def about(outputs: Outputs, rest: Numbers) -> Numbers:
    """(c, c) Dot products of outputs measured from rest."""
    return gram_of(outputs.astype(np.float64) - rest)
