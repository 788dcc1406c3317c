"""The additive rule where rows are not equally long: its inverse, leverages, fits, and each combination held out.

`additive_design` does the same for one-hot rows, and eliminates its largest factor first. A set's block of the normal
matrix is not diagonal, so here all effects are inverted at once where they are few, by eigenvalues: how many of these
are zero is known exactly (`null_space`). Where they are many, `sparse_solver` solves for one combination at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recombine.numerics.additive_fit import LeaveOneOut, without_own
from recombine.numerics.effects import Effects, IncidenceDesign
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.sparse_solver import SparseLeverage

LARGEST = 1_500
"""Effects up to which they are inverted at once: a second."""
_ROUNDING = 1e-9
_OPEN = 1e-6  # the squared length of a row outside the span of the seen ones, as in `additive_design`
_MOST_ENTRIES = 2 * 10**7  # of rows times effects, at a time: 160 MB


@dataclass(frozen=True, eq=False)
class IncidenceFit:
    """The inverse of A'WA on its range. Legend: n seen rows, w effects, m numbers.

    >>> singles_and_control = IncidenceRows.listed([[0, 2], [1, 2], [2]], width=3)
    >>> fit = IncidenceFit.of(singles_and_control)
    >>> fit.leverage(IncidenceRows.listed([[0, 1, 2]], width=3)).round(6).tolist()  # A + B - control
    [3.0]
    >>> fit.effects(np.array([[3.0], [5.0], [1.0]])).round(6).ravel().tolist()
    [2.0, 4.0, 1.0]
    """

    rows: IncidenceRows
    weights: Numbers | None
    inverse: Numbers  # (w, w)
    condition: float

    @classmethod
    def of(cls, rows: IncidenceRows, *, weights: Numbers | None = None, rank: int | None = None) -> "IncidenceFit":
        """Invert; where the `rank` is not known, eigenvalues below a 10⁻⁹ of the largest are zeros."""
        values, vectors = np.linalg.eigh(rows.gram(weights))
        rank = int((values > _ROUNDING * values[-1]).sum()) if rank is None else rank
        kept, held = values[len(values) - rank :], vectors[:, len(values) - rank :]
        condition = float(values[-1] / kept[0]) if rank and kept[0] > 0 else float(rank and np.inf)
        return cls(rows, weights, np.asarray((held / np.where(kept > 0, kept, np.inf)) @ held.T), condition)

    def effects(self, answers: Numbers) -> Numbers:
        """(w, m) The smallest effects that fit some answers (n, m) best."""
        heavy = answers if self.weights is None else answers * self.weights[:, None]
        return np.asarray(self.inverse @ self.rows.back(heavy))

    def leverage(self, asked: IncidenceRows) -> Numbers:
        """a (A'WA)+ a' of any rows, which must be determined."""
        return np.maximum(asked.quadratic(self.inverse), 0.0)


def incidence_answers(effects: Effects, codes: Codes, values: Numbers, weights: Numbers, asked: Codes) -> Numbers:
    """(c, m) What the effects that fit `values` (n, m) best add up to; NaN where the seen combinations leave it open.
    `additive_fit.additive_answers` for rows that are not equally long, of as many effects as are inverted at once.
    """
    rows, wanted = effects.rows(codes), effects.rows(asked)
    fit = IncidenceFit.of(rows, weights=weights)
    within = fit.inverse @ rows.gram(weights)  # onto what the seen rows span
    said = wanted.sums(fit.effects(values))
    step = max(1, _MOST_ENTRIES // max(wanted.width, 1))
    for start in range(0, len(asked), step):
        part = wanted.take(np.arange(start, min(start + step, len(asked))))
        said[start : start + step][np.square(part.dense() - part.sums(within)).sum(axis=1) > _OPEN] = np.nan
    return np.asarray(said)


def nearest_answers(
    effects: Effects,
    seen: Codes,
    values: Numbers,
    asked: Codes,
    own: Ints | None = None,
    *,
    weights: Numbers | None = None,
) -> Numbers:
    """(c, m) The mean answer of the seen combinations that differ least, by values and elements that are not shared.

    `own` are the places of what is asked among the seen ones, each of which is then left out for its own answer.
    `weights` are the rows of each combination where rows count alike; one without any is not asked.
    """
    if weights is not None:
        known = weights > 0
        seen, values, weights = seen[known], values[known], weights[known]
    found = np.empty((len(asked), values.shape[1]))
    for part, apart in effects.distances(asked, seen):
        if own is not None:
            apart[np.arange(len(apart)), own[part]] = np.inf
        near = (apart == apart.min(axis=1, keepdims=True)) * (1.0 if weights is None else weights)
        found[part] = (near @ values) / near.sum(axis=1)[:, None]
    return found


def fitted_effects(design: IncidenceDesign, answers: Numbers) -> tuple[Numbers, Callable[[IncidenceRows], Numbers]]:
    """(w, m) The effects that fit the answers (n, m) of the seen combinations best, and who tells leverages of others.

    All at once where they are few, else by iterations; NaN for an answer that these do not settle on. Of effects that
    the answers leave open the smallest are taken: what adds up to a determined combination does not hang on them.
    """
    if design.width <= LARGEST:
        fit = IncidenceFit.of(design.seen)
        return fit.effects(answers), fit.leverage
    solver = SparseLeverage(design)
    effects, passed = solver.effects(design.seen.back(answers))
    effects[:, ~passed] = np.nan
    return effects, solver.at_rows


def rows_held_out(design: IncidenceDesign, answers: Numbers, tried: Ints) -> LeaveOneOut:
    """Hold out each of the `tried` combinations in turn: `additive_fit.held_out` for rows that are not equally long."""
    rows = design.seen
    asked = rows.take(tried)
    effects, leverage_of = fitted_effects(design, answers)
    leverage = leverage_of(asked)
    fitted = asked.sums(effects)
    square = float((effects * rows.back(answers)).sum())
    return without_own(answers, tried, fitted, np.clip(leverage, 0, 1), square=square)
