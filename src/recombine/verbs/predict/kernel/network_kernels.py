"""How similar two combinations are to a wide random network, by how many of their factors match.

The factors enter as one-hot inputs of equal weight. A wide network then sees only the number r of matching factors, and
its kernel is a short recursion over the layers. The kernels are those of random features ("relu", "leaky", "step",
"quadratic", "gaussian") and of a whole ReLU network without biases trained by small steps ("ntk"). Lippl and
Stachenfeld, "When does compositional structure yield compositional generalization?", ICLR 2025.

Why shortfalls: what a learner does depends on the differences between the values of the kernel, and those shrink with
depth until nothing of them is left in the values themselves (Gaussian: by 4/5 a layer). The recursions are
therefore written for the shortfall 1 - k(r)/k(K), which stays exact to its last digits at any depth.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from recombine.base.checks import check_listed
from recombine.base.errors import SettingError
from recombine.numerics.groups import Numbers

Layer = Callable[[Numbers], Numbers]
Recursion = Callable[[Numbers, int], tuple[float, Numbers]]

DEEPEST = 1000
"""No network is deeper; beyond some thousand layers the Gaussian's shortfall is too small for a number."""

_LEAK = 0.1
_LEAKY_FULL = (1 - _LEAK) ** 2 / 2 + _LEAK


def kappa(family: str, depth: int, factors: int) -> Numbers:
    """The kernel's value for 0, 1, …, all factors matching.

    >>> kappa("step", 1, 2).round(4).tolist()
    [1.5708, 2.0944, 3.1416]
    """
    full, shortfall = _run(family, depth, factors)
    return full - shortfall


def order_weights(family: str, depth: int, factors: int) -> Numbers:
    """The weight of one conjunction of each order: the r-th difference of the kernel's values, at 0.

    >>> weights = order_weights("relu", 1, 2)
    >>> print(round(weights[1] / (2 * weights[1] + weights[2]), 6))
    0.426422
    """
    full, shortfall = _run(family, depth, factors)
    weights = np.empty(factors + 1)
    weights[0] = full - shortfall[0]
    difference = -shortfall
    for order in range(1, factors + 1):
        difference = np.diff(difference)
        weights[order] = difference[0]
    # These kernels have no negative weight: they are power series in r/K whose terms are all >= 0. What lies below 0 is
    # rounding. Against 120 digits a shortfall is good to 3 units in its last place up to depth 3 and to less than one
    # unit a layer beyond, and a weight of order r adds up 2**r of them. For 12 factors every weight was found good
    # to 1e-12 of k(K) - k(0) up to depth 10 and to 1e-10 at depth 400, four times within this tolerance. The
    # smallest true weight of shallow networks is 3e-7, so nothing real is lost; in deep step networks the lower orders
    # do vanish (1e-33 at depth 100), and noise of either sign must not stand in for them.
    tolerance = 2.0 ** np.arange(factors + 1) * (4 + depth) * np.finfo(float).eps * shortfall[0]
    weights[np.abs(weights) <= tolerance] = 0.0
    return weights


def _run(family: str, depth: int, factors: int) -> tuple[float, Numbers]:
    """The value for all factors matching, and by how much 0, 1, …, all of them matching fall short of it."""
    check_listed(family, FAMILIES, f"no network {family!r}", why="the kernel is known for some kinds of networks only")
    if factors < 1:
        raise SettingError(
            f"a network over {factors} factors",
            why="its kernel compares the values of factors",
            instead="name at least one factor",
        )
    return FAMILIES[family](1 - np.arange(factors + 1) / factors, _whole_depth(depth))


def _whole_depth(depth: Any) -> int:
    try:
        layers = operator.index(depth)
    except TypeError:
        layers = 0
    if isinstance(depth, bool) or not 1 <= layers <= DEEPEST:
        raise SettingError(
            f"a network of depth {depth!r}",
            why=f"the depth is the number of hidden layers, a whole number from 1 to {DEEPEST:,}",
            instead="write a depth such as 1 or 3",
        )
    return layers


# One layer each: the shortfall d after it, as a share of the full value, from the shortfall before. Legend: t is the
# angle between the two inputs, cos t = 1 - d.


def _angle(d: Numbers) -> Numbers:
    return np.asarray(2 * np.arcsin(np.sqrt(d / 2)))  # arccos(1 - d) would lose half of the digits of a small d


def _sine(d: Numbers) -> Numbers:
    return np.sqrt(d * (2 - d))


def _relu(d: Numbers) -> Numbers:
    return d - (_sine(d) - _angle(d) * (1 - d)) / math.pi


def _leaky(d: Numbers) -> Numbers:
    return ((1 - _LEAK) ** 2 / 2 * _relu(d) + _LEAK * d) / _LEAKY_FULL


def _step(d: Numbers) -> Numbers:
    return _angle(d) / math.pi


def _quadratic(d: Numbers) -> Numbers:
    squared = d * (2 - d)
    rest = 3 * _sine(d) * (1 - d) - _angle(d) * (3 - 2 * squared)
    return 2 / 3 * squared - rest / (3 * math.pi)


def _gaussian(d: Numbers) -> Numbers:
    return np.asarray(-np.expm1(-0.5 * np.log1p((8 * d - 4 * d * d) / 5)))


def _random_features(layer: Layer, full: float) -> Recursion:
    """Layer upon layer, each brought back to the same full value."""

    def recursion(shortfall: Numbers, depth: int) -> tuple[float, Numbers]:
        for _ in range(depth):
            shortfall = layer(shortfall)
        return full, full * shortfall

    return recursion


def _tangent(shortfall: Numbers, depth: int) -> tuple[float, Numbers]:
    """Every layer is trained: theta' = sigma' + theta (1 - t / pi), with theta = sigma before the first layer.

    The full value grows by 1 with each layer, so the shortfall of theta follows by taking both sides from l + 1.
    """
    tangent = shortfall
    for layer in range(1, depth + 1):
        turned = _angle(shortfall) / math.pi
        shortfall = _relu(shortfall)
        tangent = shortfall + tangent * (1 - turned) + layer * turned
    return depth + 1.0, tangent


FAMILIES: dict[str, Recursion] = {
    "relu": _random_features(_relu, 1 / 2),
    "leaky": _random_features(_leaky, _LEAKY_FULL),
    "step": _random_features(_step, math.pi),
    "quadratic": _random_features(_quadratic, 3 * math.pi),
    "gaussian": _random_features(_gaussian, 1 / math.sqrt(5)),
    "ntk": _tangent,
}
