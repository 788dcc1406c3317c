"""A learner that has been fitted: what it answers on any combination, and what each conjunction contributes.

Its answer is a sum over the conjunctions of the combination that were seen: the constant, each value, each pair, and so
on up to the combination itself. A conjunction that was never seen contributes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.tables.support import Support
from recombine.theory.salience import members
from recombine.theory.squared import Duals, Weights

_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients of every seen conjunction. Legend: m questions, g groups of a set."""

    support: Support  # the combinations that it was fitted to
    weights: Weights
    constant: Numbers  # (m,)
    coefficients: dict[int, Numbers]  # by mask, the full set included: (g, m)
    residual: float
    iterations: int

    @classmethod
    def of(cls, support: Support, weights: Weights, duals: Duals) -> "Fitted":
        """From dual weights: a conjunction's coefficient is its weight times the sum of the duals of its group."""
        full = len(weights) - 1
        given = weights[0] * duals.weights.sum(axis=0) if np.isfinite(weights[0]) else duals.intercept
        coefficients = {
            mask: _sums(support, mask, weights[mask] * duals.weights) for mask in range(1, full) if weights[mask]
        }
        coefficients[full] = weights[full] * duals.weights
        return cls(support, weights, given, coefficients, duals.residual, duals.iterations)

    @property
    def questions(self) -> int:
        """How many scores a combination gets."""
        return len(self.constant)

    def scores(self, codes: Codes) -> Numbers:
        """The answers on any combinations: (rows, m)."""
        found = np.empty((len(codes), self.questions))
        for part in _chunks(len(codes)):
            found[part] = self.constant
            for mask, coefficient in self.coefficients.items():
                place = self.place(mask, codes[part])
                found[part] += np.where(place[:, None] >= 0, coefficient[place], 0.0)
        return found

    def contribution(self, mask: int, codes: Codes) -> Numbers:
        """What the conjunction of one set contributes to each combination: (rows, m); NaN where it was never seen."""
        place = self.place(mask, codes)
        coefficient = self.coefficients.get(mask)
        if coefficient is None:
            return np.where(place[:, None] >= 0, np.zeros(self.questions), np.nan)
        return np.where(place[:, None] >= 0, coefficient[place], np.nan)

    def place(self, mask: int, codes: Codes) -> Ints:
        """The group of each combination, -1 where the conjunction was never seen."""
        return self.support.groups(members(mask)).lookup(codes)


def _sums(support: Support, mask: int, values: Numbers) -> Numbers:
    groups = support.groups(members(mask))
    return np.stack([groups.total(column) for column in values.T], axis=1)


def _chunks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _CHUNK):
        yield slice(start, start + _CHUNK)
