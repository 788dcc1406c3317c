"""How likely the answers are at some weights, and which way is up.

Two ways of writing one likelihood. `Dual` works with one unknown for each combination, `Primal` with one for each
conjunction that was seen; the smaller one is taken. Both are exact, and both also give the slope and the average
information, which is all that a Newton step needs. Where rounding has eaten the answer they raise `LinAlgError` rather
than return a wrong number.

From a first guess to the weights at which the likelihood is largest lead Newton steps with the average information,
because they need few looks at a likelihood that is dear. A weight never falls below zero: where a step would take it
there it waits at zero, and it comes back when its slope is positive. Where a step does not gain, it is halved; where
that does not help either, a step of expectation-maximisation is taken, which is slow and sure.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Codes, Groups, Ints, Numbers
from recombine.verbs.predict.kernel.salience import zeta

_EXACT = 1e-2  # of an answer: what may be lost to rounding
_SMALL = 96  # triangles below are inverted at once
_FLOOR = 1e-5  # of the answers' variance: below it, memory cannot be told from rounding
_NOTHING = 1e-30  # of information: such a weight moves the likelihood by nothing, and dividing by it would overflow
_ROUNDS = 200  # steps, after which an estimate is handed on as one that has not settled
_HALVINGS = 6  # of a step that gains nothing, before a step of expectation-maximisation is taken
_SWEEPS = 100  # of coordinate descent on the moments: they only start the climb, so it need not converge
_GAIN = 1e-9  # in log-likelihood; where no more is to be had, the climb is over


@dataclass(frozen=True)
class WeightComponent:
    """Some sets of factors that share one weight."""

    masks: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LikelihoodData:
    """Combinations, what they answer, and how the noise of one example spreads over each of them."""

    codes: Codes
    sizes: tuple[int, ...]
    values: Numbers  # (n, m)
    spread: Numbers  # (n,) one over the number of examples

    def part(self, keep: Ints) -> "LikelihoodData":
        """Some of the combinations alone."""
        return replace(self, codes=self.codes[keep], values=self.values[keep], spread=self.spread[keep])


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The restricted log-likelihood at some weights, its slope, and the average information: the curvature."""

    value: float
    slope: Numbers
    information: Numbers

    def __add__(self, other: "Likelihood") -> "Likelihood":
        information = self.information + other.information
        return Likelihood(self.value + other.value, self.slope + other.slope, information)


@dataclass(frozen=True, eq=False)
class LikelihoodPiece(ABC):
    """Combinations with one likelihood. Legend: n combinations, m questions, c components, the last of them the whole.

    V = sum of weight times kernel + noise, P = V^-1 with the constant projected out.
    """

    data: LikelihoodData
    components: tuple[WeightComponent, ...]
    groups: dict[int, Groups]

    @property
    def own(self) -> Numbers:
        """(c,) each component's kernel of a combination with itself: how many sets it has."""
        return np.array([*(len(one.masks) for one in self.components), 1.0])

    @property
    def levels(self) -> Numbers:
        """(c,) how many effects each component has."""
        sizes = [sum(self.groups[mask].size for mask in one.masks) for one in self.components]
        return np.array([*sizes, len(self.data.codes)], dtype=np.float64)

    def restricted(self, keep: Sequence[int]) -> "LikelihoodPiece":
        """The same with some of the components alone."""
        return replace(self, components=tuple(self.components[place] for place in keep))

    def along(self, vectors: Numbers) -> Numbers:
        """(n, m) -> (c, n, m): each component's kernel times the vectors, by group sums."""
        images = np.zeros((len(self.components) + 1, *vectors.shape))
        images[-1] = vectors
        for place, component in enumerate(self.components):
            for mask in component.masks:
                images[place] += _group_sums(self.groups[mask], vectors)[self.groups[mask].ids]
        return images

    @cached_property
    def _reach(self) -> Numbers:
        """(c, n) each component's kernel times one."""
        return self.along(np.ones((len(self.data.codes), 1)))[:, :, 0]

    @cached_property
    def overlap(self) -> Numbers:
        """(c, c) traces of the products of two kernels, both centred: counts of pairs that agree."""
        reach, n = self._reach, len(self.data.codes)
        total = reach.sum(axis=1)
        return self._raw_overlap() - 2 / n * reach @ reach.T + np.outer(total, total) / n**2

    def moments(self, noise: float) -> Numbers:
        """(c,) what the overlaps times the weights are expected to be: products of answers that share a group."""
        centred = self.data.values - self.data.values.mean(axis=0)
        n, questions = centred.shape
        found = np.einsum("nm,cnm->c", centred, self.along(centred)) / questions
        expected = self.own[:, None] - 2 / n * self._reach + self._reach.sum(axis=1)[:, None] / n**2
        return np.asarray(found - noise * expected @ self.data.spread)

    @abstractmethod
    def _raw_overlap(self) -> Numbers:
        """The same, not centred."""

    @abstractmethod
    def likelihood(self, weights: Numbers, noise: float) -> Likelihood:
        """The restricted log-likelihood, but for a constant."""

    def _check_rounding(self, weights: Numbers, noise: float, projected: Numbers, images: Numbers) -> None:
        """V P y is y, but for a constant: where it is not, rounding has eaten the answer."""
        lost = np.tensordot(weights, images, 1) + noise * self.data.spread[:, None] * projected - self.data.values
        if not np.abs(lost - lost.mean(axis=0)).max() <= _EXACT:
            raise np.linalg.LinAlgError

    def _assembled(
        self, logarithm: float, projected: Numbers, traces: Numbers, images: Numbers, again: Numbers
    ) -> Likelihood:
        """From log|V| + log(1' V^-1 1), Py, tr(P G), G P y and P G P y."""
        questions = projected.shape[1]
        value = -(questions * logarithm + float((self.data.values * projected).sum())) / 2
        slope = -(questions * traces - np.einsum("nm,cnm->c", projected, images)) / 2
        return Likelihood(value, slope, np.einsum("cnm,dnm->cd", images, again) / 2)


def _group_sums(groups: Groups, vectors: Numbers) -> Numbers:
    """(n, m) -> (groups, m)."""
    width = vectors.shape[1]
    place = groups.ids if width == 1 else (groups.ids[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(place, weights=vectors.ravel(), minlength=groups.size * width)
    return sums.astype(np.float64, copy=False).reshape(groups.size, width)


class Dual(LikelihoodPiece):
    """One unknown for each combination: an n x n matrix."""

    @cached_property
    def _agreement(self) -> npt.NDArray[np.intp]:
        """(n, n) the set of factors on which two combinations agree: every kernel is a function of it."""
        columns = self.data.codes.T
        agreed = np.zeros((columns.shape[1],) * 2, dtype=np.intp)
        for place, column in enumerate(columns):
            agreed += (column[:, None] == column[None]).astype(np.intp) << place
        return agreed

    @cached_property
    def _kernels(self) -> Numbers:
        """(c, sets) the kernel of each component where two combinations agree on a set: how many sets lie in it."""
        factors = self.data.codes.shape[1]
        table = np.zeros((len(self.components) + 1, 2**factors))
        table[-1, -1] = 1
        for row, component in zip(table, self.components, strict=False):
            row[list(component.masks)] = 1
        return np.array([zeta(row) for row in table])

    def _raw_overlap(self) -> Numbers:
        pairs = np.bincount(self._agreement.ravel(), minlength=self._kernels.shape[1])
        return (self._kernels * pairs) @ self._kernels.T

    def likelihood(self, weights: Numbers, noise: float) -> Likelihood:
        """From the inverse of V itself."""
        covariance = (weights @ self._kernels)[self._agreement]
        covariance.flat[:: len(covariance) + 1] += noise * self.data.spread
        projector, logarithm = inverse(covariance)
        ones = projector.sum(axis=1)
        projector -= np.outer(ones, ones / ones.sum())
        within = np.bincount(self._agreement.ravel(), weights=projector.ravel(), minlength=self._kernels.shape[1])
        projected = projector @ self.data.values
        images = self.along(projected)
        self._check_rounding(weights, noise, projected, images)
        again = np.matmul(projector, images)
        return self._assembled(logarithm + _log(float(ones.sum())), projected, self._kernels @ within, images, again)


class Primal(LikelihoodPiece):
    """One unknown for each conjunction that was seen: V = R + Z W Z' with diagonal R and W, M = I + W^½ Z'R^-1Z W^½."""

    @cached_property
    def _sets(self) -> list[Groups]:
        return [self.groups[mask] for component in self.components for mask in component.masks]

    @cached_property
    def _owner(self) -> Ints:
        """(q,) the component of each conjunction."""
        owners = [place for place, component in enumerate(self.components) for _ in component.masks]
        return np.repeat(np.array(owners, dtype=np.int64), [groups.size for groups in self._sets])

    def together(self, amounts: Numbers) -> Numbers:
        """(q, q) Z' diag(amounts) Z."""
        starts = np.concatenate([[0], np.cumsum([groups.size for groups in self._sets])])
        table = np.zeros((int(starts[-1]),) * 2)
        for first, one in enumerate(self._sets):
            for second in range(first + 1):
                other = self._sets[second]
                key = one.ids * other.size + other.ids
                block = np.bincount(key, weights=amounts, minlength=one.size * other.size)
                rows, columns = (slice(starts[place], starts[place + 1]) for place in (first, second))
                table[rows, columns] = block.reshape(one.size, other.size)
                table[columns, rows] = table[rows, columns].T
        return table

    def summed(self, vectors: Numbers) -> Numbers:
        """(n, m) -> (q, m): Z' vectors."""
        nothing = np.zeros((0, vectors.shape[1]))
        return np.concatenate([nothing, *(_group_sums(groups, vectors) for groups in self._sets)])

    def _raw_overlap(self) -> Numbers:
        n, inner = len(self.data.codes), len(self.components)
        squares = self.together(np.ones(n)) ** 2
        starts = np.searchsorted(self._owner, np.arange(inner))
        overlap = np.full((inner + 1, inner + 1), float(n))
        overlap[:-1, :-1] = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
        sets = np.array([len(component.masks) for component in self.components], dtype=np.float64)
        overlap[-1, :-1] = overlap[:-1, -1] = n * sets
        return overlap

    def likelihood(self, weights: Numbers, noise: float) -> Likelihood:
        """From the inverse of M, which stands in for that of V."""
        diagonal = weights[-1] + noise * self.data.spread
        roots = np.sqrt(weights[self._owner])
        gram = self.together(1 / diagonal)
        scaled = gram * roots
        core, logarithm = inverse(np.eye(len(roots)) + roots[:, None] * scaled)
        solver = _LikelihoodSolver(self, diagonal, roots, core)
        among = (
            gram.diagonal()
            - ((scaled @ core) * scaled).sum(axis=1)
            - self.summed(solver.ones)[:, 0] ** 2 / solver.total
        )
        traces = np.bincount(self._owner, weights=among, minlength=len(self.components))
        projected = solver.project(self.data.values)
        images = self.along(projected)
        self._check_rounding(weights, noise, projected, images)
        flat = np.moveaxis(images, 0, 1).reshape(len(diagonal), -1)
        again = np.moveaxis(solver.project(flat).reshape(len(diagonal), *images.shape[::2]), 1, 0)
        logarithm += float(np.log(diagonal).sum()) + _log(solver.total)
        return self._assembled(logarithm, projected, np.append(traces, solver.trace()), images, again)

    def spread_out(self, effects: Numbers) -> Numbers:
        """(q, m) -> (n, m): Z effects."""
        answer, start = np.zeros((len(self.data.codes), effects.shape[1])), 0
        for groups in self._sets:
            answer += effects[start : start + groups.size][groups.ids]
            start += groups.size
        return answer


@dataclass(frozen=True, eq=False)
class _LikelihoodSolver:
    """Products with V^-1 and with P, from the inverse of M."""

    piece: Primal
    diagonal: Numbers  # (n,) R
    roots: Numbers  # (q,) W^½
    core: Numbers  # (q, q) M^-1

    def solve(self, vectors: Numbers) -> Numbers:
        """V^-1 vectors."""
        first = vectors / self.diagonal[:, None]
        effects = self.roots[:, None] * (self.core @ (self.roots[:, None] * self.piece.summed(first)))
        return np.asarray(first - self.piece.spread_out(effects) / self.diagonal[:, None])

    @cached_property
    def ones(self) -> Numbers:
        """(n, 1) V^-1 1."""
        return self.solve(np.ones((len(self.diagonal), 1)))

    @cached_property
    def total(self) -> float:
        """1' V^-1 1."""
        return float(self.ones.sum())

    def project(self, vectors: Numbers) -> Numbers:
        """P vectors."""
        return np.asarray(self.solve(vectors) - self.ones * (self.ones.T @ vectors / self.total))

    def trace(self) -> float:
        """The trace of P."""
        taken = self.roots[:, None] * self.piece.together(self.diagonal**-2.0) * self.roots
        return float((1 / self.diagonal).sum() - (self.core * taken).sum() - (self.ones**2).sum() / self.total)


def _log(total: float) -> float:
    """The logarithm of 1' V^-1 1; where rounding made it negative, V has no inverse to speak of."""
    if not total > 0:
        raise np.linalg.LinAlgError
    return math.log(total)


def inverse(matrix: Numbers) -> tuple[Numbers, float]:
    """The inverse of a positive definite matrix and the logarithm of its determinant.

    Through the Cholesky factor: as exact as `np.linalg.inv`, and the determinant comes with it, in less time.
    """
    factor = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    turned = _inverse_of_lower(factor)
    return np.asarray(turned.T @ turned), 2 * float(np.log(factor.diagonal()).sum())


def _inverse_of_lower(factor: Numbers) -> Numbers:
    """The inverse of a lower triangle, half by half, so that nearly all of it is matrix products."""
    n = len(factor)
    if n <= _SMALL:
        return np.asarray(np.linalg.inv(factor), dtype=np.float64)
    half = n // 2
    whole = np.zeros_like(factor)
    whole[:half, :half] = _inverse_of_lower(factor[:half, :half])
    whole[half:, half:] = _inverse_of_lower(factor[half:, half:])
    whole[half:, :half] = -whole[half:, half:] @ (factor[half:, :half] @ whole[:half, :half])
    return whole


@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Where the climb ended, in units of the answers' variance."""

    weights: Numbers
    likelihood: Likelihood
    floor: Numbers
    settled: bool = True


def fit(pieces: Sequence[LikelihoodPiece], noise: float) -> LikelihoodFit:
    """Climb from the moments to the top."""
    climb = Climb(pieces, noise)
    weights = climb.start()
    here = climb.at(weights)
    for _ in range(_ROUNDS):
        step = climb.newton(weights, here)
        if step is not None and step @ here.slope < 2 * _GAIN:
            break
        before, (weights, here) = here, climb.onward(weights, here, step)
        if here.value - before.value < _GAIN:
            break
    else:
        return LikelihoodFit(weights, here, climb.floor, settled=False)
    return LikelihoodFit(weights, here, climb.floor)


class Climb:
    """The steps of one estimate."""

    def __init__(self, pieces: Sequence[LikelihoodPiece], noise: float) -> None:
        self.pieces, self.noise = pieces, noise
        self.levels = np.sum([piece.levels for piece in pieces], axis=0)
        self.floor = np.zeros(len(self.levels))
        self.floor[-1] = _FLOOR

    def at(self, weights: Numbers) -> Likelihood:
        """The likelihood, summed over the pieces; worse than any other where a matrix has no inverse."""
        try:
            found = [piece.likelihood(weights, self.noise) for piece in self.pieces]
        except np.linalg.LinAlgError:
            nothing = np.zeros(len(weights))
            return Likelihood(-math.inf, nothing, np.diag(nothing))
        return sum(found[1:], found[0])

    def start(self) -> Numbers:
        """Products of answers regressed on the kernels (Haseman and Elston; MINQUE(0)), kept away from zero."""
        overlap = np.sum([piece.overlap for piece in self.pieces], axis=0)
        moments = np.sum([piece.moments(self.noise) for piece in self.pieces], axis=0)
        weights = np.zeros(len(moments))
        for place in [*range(len(weights))] * _SWEEPS:
            left = moments[place] - overlap[place] @ weights
            weights[place] = max(0.0, weights[place] + left / overlap[place, place])
        return np.asarray(0.9 * weights + 0.1 / (self.pieces[0].own * len(weights)))

    def newton(self, weights: Numbers, here: Likelihood) -> Numbers | None:
        """The step to the top of the parabola, among weights that are not below the floor; None where there is none."""
        step = np.zeros(len(weights))
        free = ((weights > self.floor) | (here.slope > 0)) & (here.information.diagonal() > _NOTHING)
        while free.any():
            inner = here.information[np.ix_(free, free)]
            pull = here.slope[free] - here.information[np.ix_(free, ~free)] @ step[~free]
            scale = np.sqrt(inner.diagonal())
            try:
                step[free] = np.linalg.solve(inner / np.outer(scale, scale), pull / scale) / scale
            except np.linalg.LinAlgError:
                return None
            low = free & (weights + step < self.floor)
            if not low.any():
                return step if np.isfinite(step).all() else None
            step[low] = (self.floor - weights)[low]
            free &= ~low
        return step

    def onward(self, weights: Numbers, here: Likelihood, step: Numbers | None) -> tuple[Numbers, Likelihood]:
        """The longest of the step, its half, its quarter … that gains; where none does, a surer and shorter one."""
        for halving in range(0 if step is None else _HALVINGS):
            there = np.maximum(weights + step / 2**halving, self.floor)
            found = self.at(there)
            if found.value >= here.value:
                return there, found
        return self.expectation(weights, here)

    def expectation(self, weights: Numbers, here: Likelihood) -> tuple[Numbers, Likelihood]:
        """A step of expectation-maximisation: slow, but it never loses, except to rounding."""
        questions = self.pieces[0].data.values.shape[1]
        there = np.maximum(weights + 2 * weights**2 * here.slope / (questions * self.levels), self.floor)
        found = self.at(there)
        return (there, found) if found.value >= here.value else (weights, here)
