"""Linear probes: can each factor be read off a layer, for combinations that the probe was not fitted on?

Ridge regression in closed form, on dot products. The probe of an ordered factor gives its place (R²), that of another
its value (the share of right answers above chance); both are 1 where it can be read off and 0 at chance. Random
features pass it, a table of unrelated vectors does not.
"""

from dataclasses import dataclass

import numpy as np

from recombine_lab.probes.grids.cells import Cells, Numbers
from recombine_lab.probes.grids.design import Flags, Ints

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Read:
    """(c, K) Errors of the probes and of always giving the mean (or the commonest); NaN where a probe was not asked."""

    errors: Numbers
    trivial: Numbers

    def score(self, factor: int, rows: Flags | None = None) -> float | None:
        """1 less the share of the errors that is left."""
        asked = ~np.isnan(self.errors[:, factor])
        asked &= asked if rows is None else rows
        trivial = float(self.trivial[asked, factor].sum())
        return 1 - float(self.errors[asked, factor].sum()) / trivial if trivial > 0 else None

    def mean(self, rows: Flags | None = None) -> float | None:
        """The mean score over the factors."""
        found = [self.score(factor, rows) for factor in range(self.errors.shape[1])]
        known = [one for one in found if one is not None]
        return float(np.mean(known)) if len(known) == len(found) else None


def probes(cells: Cells, *, seed: int, folds: int = FOLDS) -> tuple[Read, Read | None]:
    """Every combination asked once by a probe fitted on other folds; and the unseen ones, by one fitted on the seen.

    One inverse serves them all: with A = (K + ridge)^-1, the errors on combinations S that were not fitted are
    (A_SS)^-1 (A y)_S. The second is None where there are no seen or no unseen combinations.
    """
    order = np.random.default_rng(seed).permutation(len(cells))
    parts = [np.sort(order[fold::folds]) for fold in range(folds)]
    unseen = None if cells.seen is None or cells.seen.all() or not cells.seen.any() else np.flatnonzero(~cells.seen)
    inverse = cells.inverse
    targets, places = _targets(cells)
    middle = targets.mean(axis=0)
    turned = inverse @ (targets - middle)

    def read(asked: list[Ints]) -> Read:
        left = np.full(targets.shape, np.nan)
        for rows in asked:
            left[rows] = np.linalg.solve(inverse[np.ix_(rows, rows)], turned[rows])
        return _scored(cells, left, targets, middle, places)

    return read(parts), None if unseen is None else read([unseen])


def _scored(cells: Cells, left: Numbers, targets: Numbers, middle: Numbers, places: list[Ints]) -> Read:
    errors = np.full((len(cells), len(cells.sizes)), np.nan)
    trivial = np.ones_like(errors)
    answers = targets - left
    asked = ~np.isnan(left[:, 0])
    for factor, columns in enumerate(places):
        own = cells.codes[:, factor]
        if cells.ordered and cells.ordered[factor]:
            errors[:, factor] = np.square(left[:, columns[0]])
            trivial[:, factor] = np.square(middle[columns[0]] - own)
        else:
            wrong = np.nan_to_num(answers[:, columns]).argmax(axis=1) != own
            errors[:, factor] = np.where(asked, wrong, np.nan)
            trivial[:, factor] = 1 - 1 / len(columns)
    return Read(errors, trivial)


def _targets(cells: Cells) -> tuple[Numbers, list[Ints]]:
    """(c, t) The place of ordered values, a column for each value of other factors; and which columns are whose."""
    columns, places, start = [], [], 0
    for factor, size in enumerate(cells.sizes):
        codes = cells.codes[:, factor]
        is_ordered = bool(cells.ordered) and cells.ordered[factor]
        part = codes[:, None].astype(np.float64) if is_ordered else (codes[:, None] == np.arange(size)) * 1.0
        columns.append(part)
        places.append(np.arange(start, start + part.shape[1]))
        start += part.shape[1]
    return np.concatenate(columns, axis=1), places
