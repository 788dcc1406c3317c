"""How much of a value's effect reaches unseen combinations, by solving the equations of a design.

A learner is linear in its answers. Suppose that one factor alone has effects u, one number a value. With E and E* the
values of that factor in the seen and in the asked combinations (one-hot), K the kernel with its penalty and k* that
between asked and seen, it answers k* K^-1 E u where E* u would be right. The slope of the one on the other is

    share = <E* u, k* K^-1 E u> / <E* u, E* u>      (centred over the asked combinations)

With three factors it hangs on u: pairs of values carry part of an effect, and some values come in more of them than
others. So u is what the seen answers say, if they add up: the least-squares effects of the factor's values.

What more combinations would do is asked of a stated design: the seen ones, and rounds of combinations that are drawn at
random, in each of which every value of the factor comes once. It is solved for a few sizes. Between and beyond them the
odds share / (1 - share) are taken to grow as a power of the number of combinations; for two factors that is exact, with
power 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.auditing.unseen import draw_unseen
from recombine.tables.support import Support
from recombine.theory.by_size import with_ends
from recombine.theory.salience import Salience
from recombine.theory.similarity import Similarity

LARGEST = 1_500
"""Combinations of a design that is solved: a tenth of a second."""
_ASKED = 400
_GROWN = (2, 4)
_LEAST_LEFT = 0.2  # of the asked combinations, that a grown design has not taken
_ENDS = (1e-6, 1 - 1e-6)
_LEAST_POWER = 0.25


@dataclass(frozen=True)
class Growth:
    """Shares after so many combinations of each value.

    >>> twice = Growth(((2.0, 0.5), (4.0, 0.8)))
    >>> round(twice.share(8.0), 3), twice.combinations(0.9)
    (0.941, 6)
    """

    points: tuple[tuple[float, float], ...]

    def share(self, seen: float) -> float:
        """The share after so many combinations of each value."""
        logs, odds = self._logs
        x = math.log(seen)
        place = min(max(int(np.searchsorted(logs, x)) - 1, 0), max(len(logs) - 2, 0))
        power = self._power(place)
        return 1 / (1 + math.exp(-(odds[place] + power * (x - logs[place]))))

    def combinations(self, goal: float) -> int:
        """The smallest whole number that reaches the goal."""
        _, odds = self._logs
        wanted = math.log(goal / (1 - goal))
        place = min(max(int(np.searchsorted(odds, wanted)) - 1, 0), max(len(odds) - 2, 0))
        logs = self._logs[0]
        return max(1, math.ceil(math.exp(logs[place] + (wanted - odds[place]) / self._power(place)) - 1e-6))

    @property
    def _logs(self) -> tuple[list[float], list[float]]:
        logs = [math.log(seen) for seen, _ in self.points]
        clipped = [min(max(share, _ENDS[0]), _ENDS[1]) for _, share in self.points]
        odds = np.maximum.accumulate([math.log(share / (1 - share)) for share in clipped])
        return logs, odds.tolist()

    def _power(self, place: int) -> float:
        logs, odds = self._logs
        if len(logs) < 2:
            return 1.0
        return max((odds[place + 1] - odds[place]) / (logs[place + 1] - logs[place]), _LEAST_POWER)


def share_carried(
    codes: Codes, salience: Salience, k: int, asked: Codes, *, penalty: Numbers, effects: Numbers | None = None
) -> float:
    """The share of the effects of factor `k` that reaches the `asked` combinations from those in `codes`.

    `penalty` stands beside each seen combination: the weight of the full set, and noise. `effects` holds a line for
    each value; without it, the mean over all effects that it could have.

    >>> rows = [(a, b) for a in range(6) for b in range(6)]
    >>> seen, unseen = (np.array([row for row in rows if (min(row) < 2) is here]) for here in (True, False))
    >>> round(share_carried(seen, Salience.by_order([0, 0.3, 0.4]), 0, unseen, penalty=np.full(len(seen), 0.4)), 9)
    0.6
    """
    free = salience.free_constant
    similarity = Similarity.of(with_ends(salience.weights, full=0.0, constant=0.0 if free else None))
    matrix = similarity.between(codes, codes)
    matrix[np.diag_indices(len(matrix))] += penalty
    values = int(max(codes[:, k].max(), asked[:, k].max())) + 1
    given = np.eye(values) if effects is None else effects
    seen, wanted = given[codes[:, k]], given[asked[:, k]]
    solved = np.linalg.solve(matrix, np.column_stack([seen, np.ones(len(codes))]))
    duals, ones = solved[:, :-1], solved[:, -1]
    if free:
        duals = duals - np.outer(ones, duals.sum(axis=0) / ones.sum())
    said = similarity.between(asked, codes) @ duals
    wanted, said = wanted - wanted.mean(axis=0), said - said.mean(axis=0)
    total = float((wanted * wanted).sum())
    return float((wanted * said).sum()) / total if total > 0 else float("nan")


def main_effects(codes: Codes, sizes: Sequence[int], answers: Numbers) -> list[Numbers]:
    """For each factor, (values, m) what its values add to each of m answers: the smallest by least squares.

    >>> [one.ravel().round(6).tolist() for one in main_effects(np.array([[0, 0], [0, 1], [1, 0]]), (2, 2), np.eye(3))]
    ... # doctest: +ELLIPSIS
    [[...], [...]]
    """
    design = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    found = np.linalg.lstsq(design, answers - answers.mean(axis=0), rcond=1e-9)[0]
    return np.split(found, np.cumsum(sizes)[:-1])


def growth(
    support: Support, salience: Salience, k: int, *, noise: float, effects: Numbers | None = None, seed: int = 0
) -> Growth | None:
    """The share now and after more rounds; None where it is not solved: too many, nothing asked, no penalty."""
    asked = _asked(support, seed)
    if len(support) > LARGEST or len(asked) < 2 or not salience.full + noise > 0:
        return None
    made = _Made(salience, k, noise, effects)
    now = float(np.median(support.groups([k]).combinations))
    found = [(now, made.share(support.codes, support.counts, asked))]
    if not math.isfinite(found[0][1]):
        return None
    for times in _GROWN:
        more = _rounds(support, k, round(now * (times - 1)), seed)
        left = asked[~_among(asked, more)]
        if len(support) + len(more) > LARGEST or not len(more) or len(left) < len(asked) * _LEAST_LEFT:
            break
        codes = np.concatenate([support.codes, more])
        counts = np.concatenate([support.counts, np.ones(len(more))])
        seen = float(np.median(np.bincount(codes[:, k])[np.unique(support.codes[:, k])]))
        share = made.share(codes, counts, left)
        if seen > found[-1][0] and math.isfinite(share):
            found.append((seen, share))
    return Growth(tuple(found))


@dataclass(frozen=True, eq=False)
class _Made:
    """What stays the same from one design to the next."""

    salience: Salience
    k: int
    noise: float
    effects: Numbers | None

    def share(self, codes: Codes, counts: Numbers, asked: Codes) -> float:
        """The share that a design with these combinations carries over to those."""
        penalty = self.salience.full + self.noise / np.maximum(counts, 1.0)
        return share_carried(codes, self.salience, self.k, asked, penalty=penalty, effects=self.effects)


def _asked(support: Support, seed: int) -> Codes:
    """Unseen combinations of seen values: all that a small space has, else some."""
    values: list[Ints] = [np.flatnonzero(counts) for counts in support.value_counts]
    if support.space.product <= 4 * _ASKED:
        every = support.space.every()
        known = np.all([np.isin(column, mine) for column, mine in zip(every.T, values, strict=True)], axis=0)
        unseen = support.groups(range(every.shape[1])).lookup(every) < 0
        return np.asarray(every[known & unseen])
    return draw_unseen(support, values, _ASKED, seed=seed)


def _rounds(support: Support, k: int, rounds: int, seed: int) -> Codes:
    """New combinations: in each round every value of the factor with other values at random."""
    rng = np.random.default_rng([seed, k])
    values = [np.flatnonzero(counts) for counts in support.value_counts]
    parts = []
    for _ in range(rounds):
        columns = [rng.permutation(np.resize(rng.permutation(mine), len(values[k]))) for mine in values]
        columns[k] = values[k]
        parts.append(np.stack(columns, axis=1))
    if not parts:
        return np.empty((0, len(values)), dtype=np.int64)
    new = np.unique(np.concatenate(parts), axis=0)
    return np.asarray(new[~_among(new, support.codes)])


def _among(codes: Codes, others: Codes) -> npt.NDArray[np.bool_]:
    """Which of these combinations are among those."""
    taken = {tuple(row) for row in others.tolist()}
    return np.array([tuple(row) in taken for row in codes.tolist()], dtype=bool)
