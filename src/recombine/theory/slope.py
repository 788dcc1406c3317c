"""How much of a value's effect a learner carries over to unseen combinations, and how many examples more it takes.

For two factors with a shared salience S, a value seen in p combinations carries over the share (document: Lippl and
Stachenfeld, Eq. 3)

    m = p S / (1 + (p - 2) S) = p w_1 / (p w_1 + w_12),   so   p >= m (1 - 2 S) / (S (1 - m))

The second form is that of a ridge. With more factors the equations of the design are solved (`carried_over`), where
that does not take long. Beyond, the formula is an approximation: for factor k, the weight of everything that a new
combination with the value brings along stands in place of w_12 (the sets that hold k and another factor, and the
noise), as if no two combinations shared any of it. They do: three factors of five values with at least two of them at
an end carry over 85 %, and the formula says 73 % (relu:3). Other designs lose where it gains.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.tables.support import Support
from recombine.theory.by_size import total_with
from recombine.theory.carried_over import LARGEST, Growth, growth, main_effects
from recombine.theory.salience import Salience

GOALS = (0.8, 0.9, 0.95)
EXACT = 2
"""Factors for which the formula is exact."""
_NO_EFFECT = 1e-12
_ALIKE = 0.01  # of the spread of seen answers: a line through less than that has any slope
_CURVE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class Needed:
    """For one factor: in how many combinations a value is seen now, and in how many it would have to be.

    `goals` holds pairs (slope, combinations per value); an impossible one has None. `rough` says that it is the formula
    for two factors, where there are more.
    """

    factor: str
    now: float
    slope_now: float
    goals: tuple[tuple[float, int | None], ...]
    rough: bool = False


@dataclass(frozen=True)
class Slope:
    """Predictions on unseen combinations against what they should be: a line through them, and what would raise it."""

    against: str
    value: float
    offset: float
    points: tuple[tuple[float, float, int], ...]
    curve: tuple[tuple[float, float], ...]
    needed: tuple[Needed, ...]


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

    needed: tuple[Needed, ...]
    curve: tuple[tuple[float, float], ...]


def _solved(support: Support, salience: Salience, answers: Numbers, ridge: float) -> list[Growth] | None:
    if len(support) > LARGEST or sum(support.space.sizes) > LARGEST:
        return None
    effects = main_effects(support.codes, support.space.sizes, answers)
    found = []
    for k, own in enumerate(effects):
        mine = own if np.ptp(own[support.codes[:, k]], axis=0).max(initial=0.0) > _NO_EFFECT else None
        grown = growth(support, salience, k, noise=ridge + salience.noise, effects=mine)
        if grown is None:
            return None
        found.append(grown)
    return found


def _told(support: Support, k: int, grown: Growth) -> Needed:
    now, share = grown.points[0]
    goals = tuple((goal, grown.combinations(goal)) for goal in GOALS)
    return Needed(support.space.names[k], now, share, goals)


def _needed(support: Support, salience: Salience, k: int, ridge: float, *, rough: bool) -> Needed:
    now = float(np.median(support.groups([k]).combinations))
    own, rest = _own_and_rest(salience, k)
    rest += ridge + salience.noise
    goals = tuple((goal, _combinations(own, rest, goal)) for goal in GOALS)
    return Needed(support.space.names[k], now, _share(own, rest, now), goals, rough)


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
