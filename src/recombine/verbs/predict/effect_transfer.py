"""How much of a value's effect a learner carries over to unseen combinations, and how many examples more it takes.

For two factors with a shared salience S, a value seen in p combinations carries over the share (Lippl and
Stachenfeld, ICLR 2025, Eq. 3)

    m = p S / (1 + (p - 2) S) = p w_1 / (p w_1 + w_12),   so   p >= m (1 - 2 S) / (S (1 - m))

The second form is that of a ridge. With more factors the equations of the design are solved (below), where
that does not take long. Beyond, the formula is an approximation: for factor k, the weight of everything that a new
combination with the value brings along stands in place of w_12 (the sets that hold k and another factor, and the
noise), as if no two combinations shared any of it. They do: three factors of five values with at least two of them at
an end carry over 85 %, and the formula says 73 % (relu:3). Other designs lose where it gains.

How much of a value's effect reaches unseen combinations, by solving the equations of a design.

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
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from recombine.base.decoding import SAVED_AS
from recombine.data.support import Support
from recombine.numerics.additive_fit import main_effects
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.unseen_combinations import draw_unseen
from recombine.verbs.predict.kernel.dense_kernel import Similarity
from recombine.verbs.predict.kernel.order_weights import total_with, with_ends
from recombine.verbs.predict.kernel.salience import Salience

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


def growth(
    support: Support, salience: Salience, k: int, *, noise: float, effects: Numbers | None = None, seed: int = 0
) -> Growth | None:
    """The share now and after more rounds; None where it is not solved: too many, nothing asked, no penalty."""
    asked = _asked(support, seed)
    if len(support) > LARGEST or len(asked) < 2 or not salience.full + noise > 0:
        return None
    made = _DesignParts(salience, k, noise, effects)
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
class _DesignParts:
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


GOALS = (0.8, 0.9, 0.95)
EXACT = 2
"""Factors for which the formula is exact."""
_NO_EFFECT = 1e-12
_ALIKE = 0.01  # of the spread of seen answers: a line through less than that has any slope
_CURVE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class ExamplesNeeded:
    """For one factor: in how many combinations a value is seen now, and in how many it would have to be.

    `goals` holds pairs (slope, combinations per value); an impossible one has None. `rough` says that it is the formula
    for two factors, where there are more.
    """

    factor: str
    now: float
    slope_now: float
    goals: tuple[tuple[float, int | None], ...] = field(metadata={SAVED_AS: "for"})
    rough: bool = False


@dataclass(frozen=True)
class Slope:
    """Predictions on unseen combinations against what they should be: a line through them, and what would raise it."""

    against: str
    value: float
    offset: float
    points: tuple[tuple[float, float, int], ...]
    curve: tuple[tuple[float, float], ...]
    needed: tuple[ExamplesNeeded, ...]


def expected_slope(*, salience: float, seen: float) -> float:
    """Two factors, shared salience S(1;2): the share of a value's effect that is carried over after p combinations.

    >>> expected_slope(salience=0.3, seen=2)
    0.6
    """
    return seen * salience / (1 + (seen - 2) * salience)


def combinations_needed(*, salience: float, slope: float) -> float:
    """Two factors: how many combinations of each value a slope takes.

    >>> round(combinations_needed(salience=0.3, slope=0.6), 9)
    2.0
    """
    return slope * (1 - 2 * salience) / (salience * (1 - slope))


def needed(support: Support, salience: Salience, answers: Numbers, *, ridge: float) -> "Forwards":
    """For each factor, where its values stand and what they would need; and the slope by combinations."""
    grown = _solved(support, salience, answers, ridge) if salience.factors > EXACT else None
    if grown is None:
        rough = salience.factors > EXACT
        told = tuple(_needed(support, salience, k, ridge, rough=rough) for k in range(salience.factors))
        return Forwards(told, _curve(salience, ridge=ridge))
    told = tuple(_told(support, k, one) for k, one in enumerate(grown))
    shares = [(float(p), float(np.mean([one.share(p) for one in grown]))) for p in _CURVE]
    return Forwards(told, tuple(shares))


@dataclass(frozen=True)
class Forwards:
    """What each factor needs, and the slope after p combinations of each value, for the average factor."""

    needed: tuple[ExamplesNeeded, ...]
    curve: tuple[tuple[float, float], ...]


def _solved(support: Support, salience: Salience, answers: Numbers, ridge: float) -> list[Growth] | None:
    if len(support) > LARGEST or sum(support.space.sizes) > LARGEST:
        return None
    sizes = support.space.sizes
    effects, _ = main_effects(support.codes, sizes, answers - answers.mean(axis=0), constant=False)
    found = []
    for k, own in enumerate(np.split(effects, np.cumsum(sizes)[:-1])):
        mine = own if np.ptp(own[support.codes[:, k]], axis=0).max(initial=0.0) > _NO_EFFECT else None
        grown = growth(support, salience, k, noise=ridge + salience.noise, effects=mine)
        if grown is None:
            return None
        found.append(grown)
    return found


def _told(support: Support, k: int, grown: Growth) -> ExamplesNeeded:
    now, share = grown.points[0]
    goals = tuple((goal, grown.combinations(goal)) for goal in GOALS)
    return ExamplesNeeded(support.space.names[k], now, share, goals)


def _needed(support: Support, salience: Salience, k: int, ridge: float, *, rough: bool) -> ExamplesNeeded:
    now = float(np.median(support.groups([k]).combinations))
    own, rest = _own_and_rest(salience, k)
    rest += ridge + salience.noise
    goals = tuple((goal, _combinations(own, rest, goal)) for goal in GOALS)
    return ExamplesNeeded(support.space.names[k], now, _share(own, rest, now), goals, rough)


def _own_and_rest(salience: Salience, k: int) -> tuple[float, float]:
    own = salience.mask_weight(k)
    return own, total_with(salience.weights, k) - own


def _share(own: float, rest: float, seen: float) -> float:
    return seen * own / (seen * own + rest) if own > 0 else 0.0


def _combinations(own: float, rest: float, goal: float) -> int | None:
    """The ridge's formula, turned round. The smallest whole number that reaches the goal."""
    return max(1, math.ceil(rest / own * goal / (1 - goal) - 1e-9)) if own > 0 else None


def _curve(salience: Salience, *, ridge: float) -> tuple[tuple[float, float], ...]:
    pairs = [_own_and_rest(salience, k) for k in range(salience.factors)]
    own = sum(pair[0] for pair in pairs) / len(pairs)
    rest = sum(pair[1] for pair in pairs) / len(pairs) + ridge + salience.noise
    return tuple((float(p), _share(own, rest, p)) for p in _CURVE)


def line(x: Numbers, y: Numbers, *, among: Numbers | None = None) -> tuple[float, float] | None:
    """Slope and offset of the least-squares line; None where all x are alike, beside those that they stand `among`.

    >>> line(np.array([1.0, 1.0001]), np.array([0.0, 1.0]), among=np.array([-1.0, 1.0])) is None
    True
    """
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    if len(x) < 2 or np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())):
        return None
    if among is not None and np.ptp(x) <= _ALIKE * np.ptp(among):
        return None
    centred = x - x.mean()
    slope = float(centred @ (y - y.mean()) / (centred @ centred))
    return slope, float(y.mean() - slope * x.mean())


def thinned(points: Sequence[int], most: int, *, seed: int) -> list[int]:
    """At most so many of them, drawn at random, in their order."""
    if len(points) <= most:
        return list(points)
    drawn = np.random.default_rng(seed).choice(len(points), size=most, replace=False)
    return [points[place] for place in sorted(drawn.tolist())]
