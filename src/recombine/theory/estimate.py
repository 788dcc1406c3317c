"""The weights of the conjunctions, estimated from the answers themselves.

Each seen combination's answer is taken as a constant plus one random effect for every conjunction that it holds:

    answer = constant + sum over sets U of effect_U[values in U] + effect_full + error / sqrt(examples)

The variance of the effects of a set is its weight: the kernel of such a model is the kernel of the theory. The weights
are those that make the answers most likely once the constant is projected out (restricted maximum likelihood), found by
Newton steps with the average information. A weight never falls below zero: where a step would take it there it waits
at zero, and it comes back when its slope is positive.

Two ways of writing one likelihood. `_Dual` works with one unknown for each combination, `_Primal` with one for each
conjunction that was seen; the smaller one is taken. Both are exact. Where both are too large, the likelihoods of
several parts of the table are added up. A part holds some values of each factor and every combination among them,
because a conjunction shows its effect only where it is seen together with several others: combinations taken at random
would thin the groups out. Many small parts tell more than one large one at the same cost
(`benchmarks/estimate.py` measures it).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError, TableError
from recombine.factors.groups import Codes, Groups, Ints, Numbers, group
from recombine.factors.support import Support
from recombine.theory.answers import Answers, answers
from recombine.theory.salience import MOST_FACTORS, Salience, members, zeta
from recombine.words import count, listing

MOST = 1_200
"""Unknowns that are solved for at once: about a second at this size, and eight times as long at twice of it."""

_MOST_SINGLE = 15  # weights that are told apart one by one; above that, one for each number of factors
_MOST_CELLS = 2 * 10**7  # sets of factors times combinations
_PARTS = 20  # into which a table is cut that is too large for one likelihood
_FEW_VALUES = 4  # of each factor are in every part
_FLOOR = 1e-5  # of the answers' variance: below it, memory cannot be told from rounding
_TELLING = 0.5
_NOTHING = 1e-30
_ROUNDS = 200
_HALVINGS = 6
_SWEEPS = 100
_EXACT = 1e-2  # of an answer: what may be lost to rounding
_GAIN = 1e-9  # in log-likelihood; where no more is to be had, the climb is over
_SMALL = 96  # triangles below are inverted at once


def estimate(support: Support, *, seed: int = 0, most: int = MOST) -> Salience:
    """The weights that make the answers of a table most likely, with a free constant.

    `most` bounds the work: with more combinations, and also more conjunctions, than that, the weights
    come from parts of the table, chosen by `seed`; the result's note says so.

    >>> import recombine
    >>> table = {"a": [0, 0, 0, 1, 1, 1, 2, 2, 2], "b": [0, 1, 2] * 3, "y": [0.5, 1, 5, 3, 4, 8, 7, 8, 12]}
    >>> fitted = estimate(recombine.read(table, factors=["a", "b"], target="y"))
    >>> fitted.name, [round(weight, 2) for weight in fitted.weights]
    ('fit', [inf, 11.78, 6.67, 0.03])
    """
    _check(len(support.space.sizes), most)
    found = answers(support)
    values, variance = _standardised(found)
    codes = support.codes[found.rows]
    noise = (found.within or 0.0) / variance
    data = _Data(codes, support.space.sizes, values, 1 / found.counts)
    groups, capped = _groups(data)
    components, notes = _components(groups, support.space.names)
    pieces, told = _pieces(data, components, groups, seed=seed, most=most)
    kept, confounded = _tell_apart(pieces, components, support.space.names)
    fit = _fit([piece.restricted(kept) for piece in pieces], noise)
    notes = [*told, *capped, *notes, *confounded, *_about_the_top(found, fit)]
    return _salience(support, [components[place] for place in kept], fit, noise, variance, notes)


def _check(factors: int, most: int) -> None:
    if factors > MOST_FACTORS:
        raise SettingError(
            f"weights for the conjunctions of {factors} factors",
            why=f"{factors} factors have 2**{factors} = {2**factors:,} sets, and each has a weight",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most",
        )
    if most < 3:
        raise SettingError(
            f"weights from at most {most} combinations",
            why="with fewer than three combinations no two weights can be told apart",
            instead=f"write a number from 3 on, such as most={MOST:,}",
        )


def _standardised(found: Answers) -> tuple[Numbers, float]:
    """The answers of every question that has more than one, around their means, in units of their common spread."""
    if len(found) < 3:
        raise TableError(
            f"{len(found)} combinations have a {found.name!r}",
            why="weights are variances, and fewer than three answers do not tell any two of them apart",
            instead="read more combinations, or give the weights: a salience by order or of a network",
        )
    values = found.values - found.values.mean(axis=0)
    size = np.abs(found.values).max(axis=0)
    values = values[:, np.abs(values).max(axis=0) > 1e-12 * size]
    if not values.shape[1]:
        raise TableError(
            f"every combination has the same {found.name!r}",
            why="answers that do not vary say nothing about which factors they depend on",
            instead="choose a target that varies, or give the weights: a salience by order or of a network",
        )
    variance = float((values**2).sum()) / (values.shape[1] * (len(values) - 1))
    return values / math.sqrt(variance), variance


# Components: which sets of factors share a weight, and which have none of their own


@dataclass(frozen=True)
class _Component:
    """Some sets of factors that share one weight."""

    masks: tuple[int, ...]


def _named(mask: int, names: Sequence[str]) -> str:
    return " × ".join(names[place] for place in members(mask))


def _by_set(codes: Codes, sizes: tuple[int, ...], masks: Iterable[int]) -> dict[int, Groups]:
    """The groups of some sets of factors, each built on those without its last factor."""
    known: dict[int, Groups] = {}
    for mask in sorted(masks):
        factors = members(mask)
        known[mask] = group(codes, sizes=sizes, factors=factors, parent=known.get(mask ^ 1 << factors[-1]))
    return known


def _groups(data: "_Data") -> tuple[dict[int, Groups], list[str]]:
    """The groups of every set of factors but the whole; of small sets only, where there are too many."""
    factors, n = len(data.sizes), len(data.codes)
    order = _highest_order(factors, n)
    sets = [mask for mask in range(1, 2**factors - 1) if mask.bit_count() <= order]
    note = f"conjunctions of more than {order} factors are part of the whole combination's weight"
    return _by_set(data.codes, data.sizes, sets), [note] if order < factors - 1 else []


def _components(groups: dict[int, Groups], names: Sequence[str]) -> tuple[list[_Component], list[str]]:
    """One component for each set of factors, or, with many sets, for each number of factors."""
    alone = [mask for mask, one in groups.items() if one.size == len(one.ids)]
    same = [mask for mask, one in groups.items() if one.size == 1]
    notes = []
    if alone:
        notes.append(
            f"{_some(alone, names)}: no two combinations agree on it, so its weight is the whole combination's"
        )
    if same:
        notes.append(f"{_some(same, names)}: all combinations agree on it, so it has no weight")
    useful = sorted(groups.keys() - {*alone, *same}, key=lambda mask: (mask.bit_count(), mask))
    if 2 ** len(names) - 1 <= _MOST_SINGLE:
        return [_Component((mask,)) for mask in useful], notes
    notes.append("conjunctions of the same number of factors share one weight")
    orders = groupby(useful, key=int.bit_count)
    return [_Component(tuple(masks)) for _, masks in orders], notes


def _highest_order(factors: int, combinations: int) -> int:
    """The largest conjunctions whose sets can all be grouped in reasonable time and memory; at least single factors."""
    order, sets = 1, factors
    while order < factors - 1:
        sets += math.comb(factors, order + 1)
        if sets * combinations > _MOST_CELLS:
            break
        order += 1
    return max(min(order, factors - 1), 1)


def _titled(component: _Component, names: Sequence[str]) -> str:
    """A component in a sentence."""
    first = component.masks[0]
    return _named(first, names) if len(component.masks) == 1 else f"conjunctions of {first.bit_count()} factors"


def _some(masks: Sequence[int], names: Sequence[str]) -> str:
    """Sets of factors in a sentence."""
    return _shortened([_named(mask, names) for mask in masks])


def _shortened(items: Sequence[str]) -> str:
    """Things in a sentence, the first few of them."""
    return listing(items) if len(items) <= 3 else f"{', '.join(items[:3])} and {count(len(items) - 3)} more"


def _tell_apart(
    pieces: Sequence["_Piece"], components: Sequence[_Component], names: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The components whose kernels are no mixture of the whole combination's and of those before them.

    Lower orders come first: where two explain the same, the simpler one is kept. What is left of a kernel when the
    others are taken out says how well its weight can be known: sqrt(2 / rest) is its standard error in units of the
    answers' variance, were the others all noise. Where that exceeds twice the variance, the answers do not tell.
    """
    overlap = np.sum([piece.overlap for piece in pieces], axis=0)
    last = len(components)
    kept: list[int] = [last]
    lost: list[int] = []
    for place in range(last):
        inner, edge = overlap[np.ix_(kept, kept)], overlap[kept, place]
        rest = overlap[place, place] - edge @ np.linalg.lstsq(inner, edge, rcond=None)[0]
        (kept if rest > _TELLING * pieces[0].own[place] ** 2 else lost).append(place)
    said = [_titled(components[place], names) for place in lost]
    told = [f"{_shortened(said)}: cannot be told from the others, which hold its weight"] if said else []
    return [place for place in kept if place != last], told


# The likelihood


@dataclass(frozen=True, eq=False)
class _Data:
    """Combinations, what they answer, and how the noise of one example spreads over each of them."""

    codes: Codes
    sizes: tuple[int, ...]
    values: Numbers  # (n, m)
    spread: Numbers  # (n,) one over the number of examples

    def part(self, keep: Ints) -> "_Data":
        """Some of the combinations alone."""
        return replace(self, codes=self.codes[keep], values=self.values[keep], spread=self.spread[keep])


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The restricted log-likelihood at some weights, its slope, and the average information: the curvature."""

    value: float
    slope: Numbers
    information: Numbers

    def __add__(self, other: "_Likelihood") -> "_Likelihood":
        information = self.information + other.information
        return _Likelihood(self.value + other.value, self.slope + other.slope, information)


@dataclass(frozen=True, eq=False)
class _Piece(ABC):
    """Combinations with one likelihood. Legend: n combinations, m questions, c components, the last of them the whole.

    V = sum of weight times kernel + noise, P = V^-1 with the constant projected out.
    """

    data: _Data
    components: tuple[_Component, ...]
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

    def restricted(self, keep: Sequence[int]) -> "_Piece":
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
    def likelihood(self, weights: Numbers, noise: float) -> _Likelihood:
        """The restricted log-likelihood, but for a constant."""

    def _check_rounding(self, weights: Numbers, noise: float, projected: Numbers, images: Numbers) -> None:
        """V P y is y, but for a constant: where it is not, rounding has eaten the answer."""
        lost = np.tensordot(weights, images, 1) + noise * self.data.spread[:, None] * projected - self.data.values
        if not np.abs(lost - lost.mean(axis=0)).max() <= _EXACT:
            raise np.linalg.LinAlgError

    def _assembled(
        self, logarithm: float, projected: Numbers, traces: Numbers, images: Numbers, again: Numbers
    ) -> _Likelihood:
        """From log|V| + log(1' V^-1 1), Py, tr(P G), G P y and P G P y."""
        questions = projected.shape[1]
        value = -(questions * logarithm + float((self.data.values * projected).sum())) / 2
        slope = -(questions * traces - np.einsum("nm,cnm->c", projected, images)) / 2
        return _Likelihood(value, slope, np.einsum("cnm,dnm->cd", images, again) / 2)


def _group_sums(groups: Groups, vectors: Numbers) -> Numbers:
    """(n, m) -> (groups, m)."""
    width = vectors.shape[1]
    place = groups.ids if width == 1 else (groups.ids[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(place, weights=vectors.ravel(), minlength=groups.size * width)
    return sums.astype(np.float64, copy=False).reshape(groups.size, width)


class _Dual(_Piece):
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

    def likelihood(self, weights: Numbers, noise: float) -> _Likelihood:
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


class _Primal(_Piece):
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

    def likelihood(self, weights: Numbers, noise: float) -> _Likelihood:
        diagonal = weights[-1] + noise * self.data.spread
        roots = np.sqrt(weights[self._owner])
        gram = self.together(1 / diagonal)
        scaled = gram * roots
        core, logarithm = inverse(np.eye(len(roots)) + roots[:, None] * scaled)
        solver = _Solver(self, diagonal, roots, core)
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
class _Solver:
    """Products with V^-1 and with P, from the inverse of M."""

    piece: _Primal
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


# Parts of a table that is too large


def _pieces(
    data: _Data, components: Sequence[_Component], groups: dict[int, Groups], *, seed: int, most: int
) -> tuple[list[_Piece], list[str]]:
    """The whole table where one likelihood can hold it; else parts of it, with a word about that."""
    n, chosen = len(data.codes), tuple(components)
    unknowns = sum(groups[mask].size for mask in _masks(chosen))
    if 0 < unknowns <= min(most, 0.7 * n):
        return [_Primal(data, chosen, groups)], []
    if n <= most:
        return [_Dual(data, chosen, groups)], []
    parts = parts_of(data.codes, data.sizes, parts=_PARTS, most=max(most // 3, 3), seed=seed)
    used = len(np.unique(np.concatenate(parts)))
    pieces: list[_Piece] = [
        _Dual(part, chosen, _by_set(part.codes, part.sizes, _masks(chosen))) for part in map(data.part, parts)
    ]
    return pieces, [f"estimated from {count(used)} of {count(n)} combinations"]


def _masks(components: Iterable[_Component]) -> list[int]:
    return [mask for component in components for mask in component.masks]


def parts_of(codes: Codes, sizes: tuple[int, ...], *, parts: int, most: int, seed: int) -> list[Ints]:
    """Combinations of each of several parts: among some values of each factor, all that were seen.

    The values of each factor are put in a random order. A combination is in the part when all of its values come
    early enough in theirs; how early is as late as `most` combinations allow.
    """
    chance = np.random.default_rng(seed)
    return [_subgrid(codes, sizes, most, chance) for _ in range(parts)]


def _subgrid(codes: Codes, sizes: tuple[int, ...], most: int, chance: np.random.Generator) -> Ints:
    level = np.zeros(len(codes))
    for column, size in zip(codes.T, sizes, strict=True):
        place = chance.permutation(size)
        level = np.maximum(level, np.where(place < _FEW_VALUES, 0.0, (place + 1) / size)[column])
    level += chance.random(len(codes)) / (2 * max(sizes))  # among the last value's, some
    return np.sort(np.argsort(level, kind="stable")[:most])


# Newton


@dataclass(frozen=True, eq=False)
class _Fit:
    """Where the climb ended, in units of the answers' variance."""

    weights: Numbers
    likelihood: _Likelihood
    floor: Numbers
    settled: bool = True


def _fit(pieces: Sequence[_Piece], noise: float) -> _Fit:
    """Climb from the moments to the top."""
    climb = _Climb(pieces, noise)
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
        return _Fit(weights, here, climb.floor, settled=False)
    return _Fit(weights, here, climb.floor)


class _Climb:
    """The steps of one estimate."""

    def __init__(self, pieces: Sequence[_Piece], noise: float) -> None:
        self.pieces, self.noise = pieces, noise
        self.levels = np.sum([piece.levels for piece in pieces], axis=0)
        self.floor = np.zeros(len(self.levels))
        self.floor[-1] = _FLOOR

    def at(self, weights: Numbers) -> _Likelihood:
        """The likelihood, summed over the pieces; worse than any other where a matrix has no inverse."""
        try:
            found = [piece.likelihood(weights, self.noise) for piece in self.pieces]
        except np.linalg.LinAlgError:
            nothing = np.zeros(len(weights))
            return _Likelihood(-math.inf, nothing, np.diag(nothing))
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

    def newton(self, weights: Numbers, here: _Likelihood) -> Numbers | None:
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

    def onward(self, weights: Numbers, here: _Likelihood, step: Numbers | None) -> tuple[Numbers, _Likelihood]:
        """The longest of the step, its half, its quarter … that gains; where none does, a surer and shorter one."""
        for halving in range(0 if step is None else _HALVINGS):
            there = np.maximum(weights + step / 2**halving, self.floor)
            found = self.at(there)
            if found.value >= here.value:
                return there, found
        return self.expectation(weights, here)

    def expectation(self, weights: Numbers, here: _Likelihood) -> tuple[Numbers, _Likelihood]:
        """A step of expectation-maximisation: slow, but it never loses, except to rounding."""
        questions = self.pieces[0].data.values.shape[1]
        there = np.maximum(weights + 2 * weights**2 * here.slope / (questions * self.levels), self.floor)
        found = self.at(there)
        return (there, found) if found.value >= here.value else (weights, here)


# The result


def _about_the_top(found: Answers, fit: _Fit) -> list[str]:
    notes = []
    if found.within is None:
        notes.append("no combination has two examples, so the whole combination's weight holds the noise too")
    if fit.weights[-1] <= fit.floor[-1]:
        notes.append("nothing is left for the whole combination: its weight is the smallest that can be worked with")
    if not fit.settled:
        notes.append("the weights had not quite settled when the search was stopped")
    return notes


def _salience(
    support: Support, components: Sequence[_Component], fit: _Fit, noise: float, variance: float, notes: Sequence[str]
) -> Salience:
    factors = len(support.space.sizes)
    weights = np.zeros(2**factors)
    for component, weight in zip(components, fit.weights, strict=False):
        weights[list(component.masks)] = weight * variance
    weights[0], weights[-1] = math.inf, fit.weights[-1] * variance
    return Salience(factors, tuple(weights.tolist()), noise=noise * variance, name="fit", note="; ".join(notes))
