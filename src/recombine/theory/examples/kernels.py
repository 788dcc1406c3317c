"""How similar two examples are to a network: the kernels of wide dense ReLU networks, and the plain linear one.

For inputs x, x' of d numbers, centred and scaled to unit mean square by the training rows, a wide ReLU network sees

    S0 = x·x'/d, T0 = S0
    c = S/√(Sxx Sx'x'),  θ = arccos c
    S ← √(Sxx Sx'x') (sin θ + (π − θ) c)/π,   T ← T (π − θ)/π + S       once for each hidden layer.

S is the kernel of the last layer alone on random features, T that of all layers trained by small steps (the tangent
kernel; Jacot et al. 2018). Sxx stays as it is from layer to layer. On one-hot factors that are not centred S is the
"relu" and T the "ntk" of `theory.networks`.

To add a kernel: make a `Kernel` of a function from two sets of rows to a matrix, and one for a row with itself. The
rows reach it as they were given unless it is `centred`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, nearest
from recombine.theory.examples.arrays import library

_TINY = 1e-300
DEPTHS = (1, 2, 3)
"""Nobody knows what network will be trained; these are asked, and their spread is part of the interval."""
_DEEPEST = 100


@dataclass(frozen=True)
class Kernel:
    """A similarity of examples: `between` (n, d), (m, d) -> (n, m); `own` (n, d) -> (n,), each row with itself.

    `centred` says that rows are centred and scaled by the training rows before they reach it.
    """

    name: str
    between: Callable[[Any, Any], Any]
    own: Callable[[Any], Any]
    centred: bool = True
    dense: tuple[int, bool] | None = None  # of a dense network its depth, and whether all of its layers are trained


@dataclass(frozen=True, eq=False)
class Scaling:
    """How inputs are centred and scaled: each by its mean, all by one number, so that their mean square is 1."""

    centre: Numbers
    scale: float

    @classmethod
    def of(cls, inputs: Numbers) -> "Scaling":
        """By these rows, the training rows."""
        centre = inputs.mean(axis=0)
        spread = math.sqrt(float(np.square(inputs - centre).mean()))
        return cls(centre, spread or 1.0)

    def __call__(self, inputs: Numbers) -> Numbers:
        """Rows as the kernel wants them."""
        return (inputs - self.centre) / self.scale


def _products(x: Any, z: Any) -> Any:
    return x @ z.T / x.shape[1]


def _squares(x: Any) -> Any:
    return (x * x).sum(1) / x.shape[1]


def _layers(x: Any, z: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """S and T after each hidden layer. Both are kept in units of √(Sxx Sx'x') until they are handed out."""
    xp = library(x)
    sizes = xp.sqrt(_squares(x))[:, None] * xp.sqrt(_squares(z))[None, :] + _TINY
    cosine = xp.clip(_products(x, z) / sizes, -1.0, 1.0)
    total = cosine
    for _ in range(depth):
        facing = 1.0 - xp.arccos(cosine) / math.pi
        cosine = xp.clip(xp.sqrt(1.0 - cosine * cosine) / math.pi + facing * cosine, -1.0, 1.0)
        total = total * facing + cosine
        yield cosine * sizes, total * sizes


def _dense(x: Any, z: Any, depth: int, *, tangent: bool) -> Any:
    """T after `depth` layers, or S."""
    *_, last = _layers(x, z, depth)
    return last[tangent]


def matrices(kernels: Sequence[Kernel], x: Any, z: Any) -> list[Any]:
    """The matrix of each kernel; networks of several depths share their layers."""
    deepest = max((kernel.dense[0] for kernel in kernels if kernel.dense), default=0)
    wanted, shared = {kernel.dense for kernel in kernels}, dict[Any, Any]()
    for layer, both in enumerate(_layers(x, z, deepest), 1):
        shared |= {(layer, kind): both[kind] for kind in (False, True) if (layer, kind) in wanted}
    return [shared[one.dense] if one.dense else one.between(x, z) for one in kernels]


def tangent(depth: int) -> Kernel:
    """A wide dense ReLU network, all layers trained by small steps.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> tangent(1).between(x, x).round(4).tolist()
    [[1.0, 0.1592], [0.1592, 1.0]]
    """
    return Kernel(
        f"tangent:{depth}",
        lambda x, z: _dense(x, z, depth, tangent=True),
        lambda x: (depth + 1) * _squares(x),
        dense=(depth, True),
    )


def last_layer(depth: int) -> Kernel:
    """The same network with its last layer trained alone."""
    return Kernel(f"last:{depth}", lambda x, z: _dense(x, z, depth, tangent=False), _squares, dense=(depth, False))


def linear() -> Kernel:
    """A linear rule on the inputs as features."""
    return Kernel("linear", _products, _squares)


_FAMILIES: dict[str, Callable[[int], Kernel]] = {"tangent": tangent, "last": last_layer}


def kernels_of(given: "str | Kernel | Sequence[Kernel] | None") -> tuple[Kernel, ...]:
    """Kernels by name: "tangent" (depths 1 to 3), "tangent:2", "last:3", "linear"; or as they were made.

    >>> [kernel.name for kernel in kernels_of("tangent")]
    ['tangent:1', 'tangent:2', 'tangent:3']
    """
    if given is None:
        given = "tangent"
    if isinstance(given, Kernel):
        return (given,)
    if not isinstance(given, str):
        return tuple(given)
    name, _, depth = given.partition(":")
    if given == "linear":
        return (linear(),)
    if name not in _FAMILIES:
        raise SettingError(
            f"kernel={given!r}",
            why="the kernel is known for some kinds of networks only",
            instead=nearest(name, [*_FAMILIES, "linear"]),
        )
    if not depth:
        return tuple(_FAMILIES[name](layers) for layers in DEPTHS)
    return (_FAMILIES[name](_whole_depth(given, depth)),)


def _whole_depth(given: str, depth: str) -> int:
    if not depth.isdigit() or not 1 <= int(depth) <= _DEEPEST:
        raise SettingError(
            f"kernel={given!r}",
            why=f"after the colon stands the number of hidden layers, from 1 to {_DEEPEST}",
            instead="write kernel='tangent:2'",
        )
    return int(depth)
