"""How sure the learner can be: the posterior variance of its answer, seen as a crossed random-effects model.

    var(z) = w_full + the weights of z's unseen conjunctions + phi' H^-1 phi

with phi the indicator of z's seen lower conjunctions and H the solver's matrix. Three ways, by what is cheapest:
H inverted once (few conjunctions), the kernel's own formula (few combinations), or random draws from the posterior
(everything else), which come with an error bar: draw coefficients and answers from the prior, solve, take the
difference. In each draw the coefficients of z's largest conjunctions are replaced by their mean given all others, and
their variance is added exactly: no seen combination holds two of them, so they are independent then.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.kernel.dense_kernel import DenseKernel
from recombine.verbs.predict.kernel.order_weights import Weights, total, with_ends
from recombine.verbs.predict.kernel.salience import members
from recombine.verbs.predict.kernel.solver import ConjunctionDesign, ConjunctionLayer, Penalty, kernel
from recombine.verbs.predict.kernel.squared_loss import LARGEST_MATRIX, ConjunctionFit, squared

_LARGEST_INVERSE = 2_500
_LARGEST_KERNEL = 2_000
MOST_DRAWN = 2 * 10**8
"""Coefficients of all draws that are kept at once: 1.6 GB. Beyond it the kernel's matrix is smaller."""
_LEAST_EIGENVALUE = 1e-10  # of the largest possible: above it a triangle keeps six digits
_CHUNK_NUMBERS = 10**7
_DRAW_TOLERANCE = 1e-3  # moves a variance by less than a tenth of a percent
_ALMOST_NOTHING = 1e-6
_DRAWS = ((3 * 10**4, 64), (10**6, 32), (math.inf, 16))
"""Draws for up to so many combinations. A variance from d normal draws has the relative error √(2/d): 18, 25, 35 %."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Variances of the answers on any combinations, in the kernel's own units."""

    support: Support
    weights: Weights
    penalty: Penalty
    noise: Numbers  # (n,) the part of each combination's penalty that is noise; the rest is the full set's weight
    seed: int = 0
    inverted: DenseKernel | None = None  # the kernel's inverse, where it is known already

    @property
    def draws(self) -> int:
        """How many draws stand for the posterior where it is sampled: fewer where each takes seconds."""
        return next(draws for most, draws in _DRAWS if len(self.support) <= most)

    def of(self, codes: Codes) -> tuple[Numbers, Numbers]:
        """The variance of each combination's answer, and the standard error of that variance (0 where exact)."""
        variance, error = self._way.of(codes)
        if np.isinf(self.weights[0]):
            variance = variance + self._intercept(codes)
        return np.maximum(variance, 0.0), error

    @cached_property
    def bounded(self) -> Weights:
        """The weights without a free intercept, whose variance is added apart."""
        return with_ends(self.weights, constant=0.0) if np.isinf(self.weights[0]) else self.weights

    @cached_property
    def _way(self) -> "_VarianceMethod":
        if self.inverted is not None:
            return _ByTriangle(self, self.inverted)
        layers = sum(1 for w in self.bounded[:-1] if w)
        usable = self.penalty.typical > 0 and min(self.bounded) >= 0
        if usable and layers**2 <= 4 * max(len(self.support), 100) and self._conjunctions() <= _LARGEST_INVERSE:
            return _ByInverse(self)
        drawn = self.draws * self._conjunctions() if len(self.support) <= LARGEST_MATRIX else 0
        if len(self.support) <= _LARGEST_KERNEL or drawn > MOST_DRAWN:
            return _ByKernel(self)
        return _ByDraws(self)

    def _conjunctions(self) -> int:
        masks = [mask for mask, weight in enumerate(self.bounded[:-1]) if weight and mask]
        return sum(self.support.groups(members(mask)).size for mask in masks)

    def _intercept(self, codes: Codes) -> Numbers:
        """What not knowing the intercept adds: (1 - what ones predict)^2 / (what ones weigh)."""
        if self.inverted is not None:
            return self._intercept_by_matrix(codes, self.inverted)
        fitted, total = self._ones
        return np.asarray((1 - fitted.scores(codes)[:, 0]) ** 2 / total)

    def _intercept_by_matrix(self, codes: Codes, inverted: DenseKernel) -> Numbers:
        dual = inverted.solve(np.ones((len(self.support), 1)))
        said = np.empty(len(codes))
        for part in _parts(len(codes), len(self.support)):
            said[part] = (inverted.similarity.between(codes[part], self.support.codes) @ dual)[:, 0]
        place = self.support.groups(range(codes.shape[1])).lookup(codes)
        said += np.where(place >= 0, self.weights[-1] * dual[place, 0], 0.0)
        return np.asarray((1 - said) ** 2 / float(dual.sum()))

    @cached_property
    def _ones(self) -> tuple[ConjunctionFit, float]:
        bounded = tuple(self.bounded)
        duals = squared(self.support, bounded, self.penalty, np.ones((len(self.support), 1)))
        return ConjunctionFit.of(self.support, bounded, duals), float(duals.weights.sum())

    @cached_property
    def prior(self) -> float:
        """The variance of an answer before anything was seen, the constant left out of account if it is free."""
        return self.bounded[0] + total(self.bounded)

    def prior_of_parts(self, codes: Codes) -> Numbers:
        """(n,) The same of what lies below the full combination, without the constant: more in a larger set."""
        whole = self.prior - self.weights[-1]
        own = np.full(len(codes), whole) if self.inverted is None else self.inverted.similarity.own(codes)
        return np.asarray(own - self.bounded[0])

    def unseen_weight(self, codes: Codes) -> Numbers:
        """The weight of each combination's conjunctions that were never seen, the full set left out."""
        total = np.zeros(len(codes))
        for mask, weight in enumerate(self.bounded[:-1]):
            if weight and mask:
                total += np.where(self.support.groups(members(mask)).lookup(codes) < 0, weight, 0.0)
        return total

    def kept(self, codes: Codes) -> tuple[Numbers, Numbers]:
        """For an answer that has lower variance v: its whole variance is `own` + `share`^2 v.

        An unseen combination adds the full set's weight. A seen one knows its own answer but for the noise.
        """
        place = self.support.groups(range(codes.shape[1])).lookup(codes)
        full = self.weights[-1]
        noise = self.noise[place]
        both = np.maximum(full + noise, 1e-300)
        seen = place >= 0
        return np.where(seen, full * noise / both, full), np.where(seen, noise / both, 1.0)


class _VarianceMethod(Protocol):
    def of(self, codes: Codes) -> tuple[Numbers, Numbers]: ...


class _ByInverse:
    """H inverted: a combination's variance is the sum over all pairs of its seen conjunctions."""

    def __init__(self, uncertainty: Uncertainty) -> None:
        self._uncertainty = uncertainty
        design = ConjunctionDesign.of(uncertainty.support, uncertainty.bounded)
        self._layers = design.layers
        self._starts = np.concatenate([[0], np.cumsum([layer.size for layer in design.layers])])
        self._inverse = np.zeros((1, 1))  # place -1 stands for "never seen": a last row and column of zeros
        if design.layers:
            matrix = np.linalg.inv(_normal_matrix(design.layers, self._starts, uncertainty.penalty))
            self._inverse = np.pad(matrix, ((0, 1), (0, 1)))

    def of(self, codes: Codes) -> tuple[Numbers, Numbers]:
        lower = self._uncertainty.unseen_weight(codes)
        places = [_place(self._uncertainty.support, layer, codes) for layer in self._layers]
        ends = [np.where(p >= 0, p + start, -1) for p, start in zip(places, self._starts, strict=False)]
        for position, one in enumerate(ends):
            lower += self._inverse[one, one]
            for other in ends[:position]:
                lower += 2 * self._inverse[one, other]
        own, share = self._uncertainty.kept(codes)
        return own + share**2 * lower, np.zeros(len(codes))


def _normal_matrix(layers: tuple[ConjunctionLayer, ...], starts: Ints, penalty: Penalty) -> Numbers:
    """Phi' V Phi + W^-1, written out."""
    matrix = np.zeros((int(starts[-1]), int(starts[-1])))
    precision = penalty.precision
    for a, one in enumerate(layers):
        for b, other in enumerate(layers[: a + 1]):
            together = np.bincount(one.ids * other.size + other.ids, weights=precision, minlength=one.size * other.size)
            block = together.reshape(one.size, other.size) / penalty.typical
            matrix[starts[a] : starts[a + 1], starts[b] : starts[b + 1]] = block
            matrix[starts[b] : starts[b + 1], starts[a] : starts[a + 1]] = block.T
    matrix[np.diag_indices(len(matrix))] += np.repeat([1 / layer.weight for layer in layers], np.diff(starts))
    return matrix


def _place(support: Support, layer: ConjunctionLayer, codes: Codes) -> Ints:
    return support.groups(members(layer.mask)).lookup(codes) if layer.mask else np.zeros(len(codes), dtype=np.int64)


class _ByKernel:
    """k(z, z) - k(z, seen) (k(seen, seen) + noise)^-1 k(seen, z)."""

    def __init__(self, uncertainty: Uncertainty) -> None:
        self._uncertainty = uncertainty
        codes = uncertainty.support.codes
        matrix = kernel(codes, codes, uncertainty.bounded)
        matrix[np.diag_indices(len(matrix))] += uncertainty.noise
        # no eigenvalue is below the full set's weight and the noise, and none above n times the prior's
        least, most = uncertainty.bounded[-1] + uncertainty.noise.min(), len(codes) * uncertainty.prior
        self._firm = min(uncertainty.bounded) >= 0 and least > _LEAST_EIGENVALUE * most
        if self._firm:
            self._root = np.linalg.cholesky(matrix)
        else:
            self._root = np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)

    def of(self, codes: Codes) -> tuple[Numbers, Numbers]:
        uncertainty = self._uncertainty
        found = np.empty(len(codes))
        for part in _parts(len(codes), len(uncertainty.support)):
            between = kernel(codes[part], uncertainty.support.codes, uncertainty.bounded)
            found[part] = uncertainty.prior - self._known(between)
        return found, np.zeros(len(codes))

    def _known(self, between: Numbers) -> Numbers:
        """The variance that the seen combinations take away: k' K^-1 k, by the triangle of K or by its inverse."""
        if not self._firm:
            return np.asarray(np.einsum("ij,ij->i", between @ self._root, between))
        from scipy.linalg import solve_triangular  # noqa: PLC0415 - loaded where it is first needed

        half = solve_triangular(self._root, between.T, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", half, half))


class _ByTriangle:
    """The same from an inverse that is there already: k of the lower parts alone, the rest is in the penalty."""

    def __init__(self, uncertainty: Uncertainty, inverted: DenseKernel) -> None:
        self._uncertainty = uncertainty
        self._inverted = inverted

    def of(self, codes: Codes) -> tuple[Numbers, Numbers]:
        before = self._inverted.similarity.own(codes)
        lower = np.maximum(before - self._inverted.explained(codes), 0.0)
        own, share = self._uncertainty.kept(codes)
        return own + share**2 * lower, np.zeros(len(codes))


class _ByDraws:
    """Draws from the posterior, all of them kept as coefficients of the seen conjunctions."""

    def __init__(self, uncertainty: Uncertainty) -> None:
        if uncertainty.penalty.typical == 0:  # no penalty is the limit of a small one
            uncertainty = replace(uncertainty, penalty=Penalty(_ALMOST_NOTHING * uncertainty.prior))
        self._uncertainty = uncertainty
        self._design = ConjunctionDesign.of(uncertainty.support, uncertainty.bounded)
        full = len(uncertainty.weights) - 1
        order = full.bit_count() - 1
        self._top = [layer.mask.bit_count() == order for layer in self._design.layers]
        precision = 1.0 if uncertainty.penalty.precision is None else uncertainty.penalty.precision
        ones = np.ones(self._design.rows) * precision / uncertainty.penalty.typical
        self._precision = self._design.sums(ones)

    @cached_property
    def _draws(self) -> tuple[list[Numbers], list[Numbers]]:
        """For each layer the coefficients, a column a draw, and with the top ones replaced by their conditional means.

        Each array ends with a line of zeros, for the place -1; what both have in common is held once.
        """
        rng, draws = np.random.default_rng(self._uncertainty.seed), self._uncertainty.draws
        batch = max(1, min(draws, _CHUNK_NUMBERS // self._design.rows))
        found = [self._batch(rng, min(batch, draws - start)) for start in range(0, draws, batch)]
        plain = [_with_nothing(parts) for parts in zip(*(errors for errors, _ in found), strict=True)]
        means = [_with_nothing(parts) for parts in zip(*(tops for _, tops in found), strict=True)]
        taken = iter(means)
        return plain, [next(taken) if top else same for top, same in zip(self._top, plain, strict=True)]

    def _batch(self, rng: np.random.Generator, size: int) -> tuple[list[Numbers], list[Numbers]]:
        uncertainty, design = self._uncertainty, self._design
        precision = 1.0 if uncertainty.penalty.precision is None else uncertainty.penalty.precision
        spread = np.sqrt(uncertainty.penalty.typical / precision)
        each = [[np.sqrt(layer.weight) * rng.normal(size=layer.size) for layer in design.layers] for _ in range(size)]
        priors = [np.stack(columns, axis=1) for columns in zip(*each, strict=True)]
        noise = np.stack([spread * rng.normal(size=design.rows) for _ in range(size)], axis=1)
        problem = (uncertainty.support, tuple(uncertainty.bounded), uncertainty.penalty)
        duals = squared(*problem, design.spread(priors) + noise, tolerance=_DRAW_TOLERANCE).weights
        errors = [p - layer.weight * s for p, layer, s in zip(priors, design.layers, design.sums(duals), strict=True)]
        return errors, self._conditioned(errors)

    def _conditioned(self, errors: list[Numbers]) -> list[Numbers]:
        """The means of the top layers' coefficients given all others."""
        penalty = self._uncertainty.penalty
        sums = self._design.sums(penalty.weighed(self._design.spread(errors)) / penalty.typical)
        return [
            (n[:, None] * error - s) / (n + 1 / layer.weight)[:, None]
            for layer, top, n, s, error in zip(
                self._design.layers, self._top, self._precision, sums, errors, strict=True
            )
            if top
        ]

    def of(self, codes: Codes) -> tuple[Numbers, Numbers]:
        uncertainty = self._uncertainty
        places = [_place(uncertainty.support, layer, codes) for layer in self._design.layers]
        seen = uncertainty.support.groups(range(codes.shape[1])).lookup(codes) >= 0
        sampled = np.empty(len(codes))
        plain, conditioned = self._draws
        for rows, draws in ((np.flatnonzero(seen), plain), (np.flatnonzero(~seen), conditioned)):
            sampled[rows] = _mean_square([place[rows] for place in places], draws)
        lower = sampled + uncertainty.unseen_weight(codes)
        for layer, top, n, place in zip(self._design.layers, self._top, self._precision, places, strict=True):
            if top:
                lower += np.where((place >= 0) & ~seen, 1 / (n[place] + 1 / layer.weight), 0.0)
        own, share = uncertainty.kept(codes)
        return own + share**2 * lower, share**2 * sampled * np.sqrt(2 / uncertainty.draws)


def _with_nothing(parts: Sequence[Numbers]) -> Numbers:
    """Columns side by side, above a line of zeros."""
    return np.concatenate([np.concatenate(parts, axis=1), np.zeros((1, sum(part.shape[1] for part in parts)))])


def _mean_square(places: list[Ints], draws: Sequence[Numbers]) -> Numbers:
    """Over the draws, the mean square of the sum of each combination's coefficients; a place of -1 adds the last: 0."""
    found = np.empty(len(places[0]))
    for part in _parts(len(found), 64 * draws[0].shape[1]):
        total = draws[0][places[0][part]]
        for coefficient, place in zip(draws[1:], places[1:], strict=True):
            total += coefficient[place[part]]
        found[part] = np.einsum("ij,ij->i", total, total)
    return np.asarray(found / draws[0].shape[1])


def _parts(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _CHUNK_NUMBERS // max(width, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)
