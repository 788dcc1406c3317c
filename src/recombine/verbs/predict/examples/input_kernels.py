"""How similar two examples are to a network: the kernels of wide dense ReLU networks, and the plain linear one.

For inputs x, x' of d numbers, scaled to unit mean square by the training rows, a wide ReLU network sees

    S0 = x·x'/d + b, T0 = S0
    c = S/√(Sxx Sx'x'),  θ = arccos c
    S ← √(Sxx Sx'x') (sin θ + (π − θ) c)/π,   T ← T (π − θ)/π + S       once for each hidden layer.

S is the kernel of the last layer on random features ("relu"), T that of all layers trained by small steps ("ntk", the
tangent kernel; Jacot et al. 2018). Sxx stays as it is from layer to layer. On one-hot factors they are the kernels of
the same names in `verbs.predict.kernel.network_kernels` if b is 0, so that without noise the forecast from examples is
the one from combinations. b is the variance of the first layer's biases: with few inputs a network without biases sees
little.

Inputs are not centred: a network takes them as they are. Of the trained networks that were looked at, "relu" on inputs
as they are, with b = 0.1, was nearest to most.

To add a kernel: make a `Kernel` of a function from two sets of rows to a matrix, and one for a row with itself.

Arrays in memory or on a device: the same code for NumPy and for the tensors of the package that knows devices.

Legend used in this room: n training rows, m other rows, d inputs, q outputs, k factors, c combinations.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.base import limits, plugins
from recombine.base.errors import SettingError, TableError, nearest
from recombine.numerics.groups import Numbers
from recombine.verbs.predict.learner import SHARE

_NUMBER = 8  # bytes
_AT_ONCE = 4
"""Matrices that stand beside the kernels: products, angles, one on the way, and a factor. Asked rows double it all."""


def placed(array: Numbers, device: str | None) -> Any:
    """The array itself, or a copy of it on a device, by what the lab brings for that."""
    if device is None:
        return array
    copied = plugins.load("recombine.devices", "torch")
    if copied is None:
        raise SettingError(
            f"device={device!r}",
            why="other devices than the processor are reached through the lab, which is not installed",
            instead=f"{plugins.install_hint('sweep')}, or leave device out",
        )
    return copied(array, device)


def library(array: Any) -> Any:
    """The package that an array is of: NumPy, or torch, whose names for what is used here are the same."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def fetched(array: Any) -> Numbers:
    """Back to NumPy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def most_rows(*, kernels: int = 1) -> int:
    """Rows whose kernels fit into half of the memory."""
    return int((SHARE * limits.memory_here() / (_NUMBER * (_AT_ONCE + kernels) * 2)) ** 0.5)


def refuse_too_large(rows: int, *, kernels: int = 1) -> None:
    """Refuse kernels that would not fit into half of the memory, before any of them is written."""
    if rows > most_rows(kernels=kernels):
        raise TableError(
            f"a kernel of {rows:,} rows",
            why=f"it would take about {gigabytes(rows, kernels=kernels):,.1f} GB of memory, "
            f"and may take {SHARE * limits.memory_here() / 1e9:,.1f} GB here",
            instead=f"take fewer rows, drawn within each combination: "
            f"rows={max(most_rows(kernels=kernels) // 1000 * 1000, 1000)} (--rows)",
        )


def gigabytes(rows: int, *, kernels: int = 1) -> float:
    """What kernels of so many rows would take."""
    return _NUMBER * (_AT_ONCE + kernels) * 2 * float(rows) ** 2 / 1e9


_TINY = 1e-300
DEPTHS = (1, 2, 3)
"""Nobody knows what network will be trained; these are asked, and their spread is part of the interval."""
BIAS = 0.1
"""The variance of biases, where a network is named: next to nothing for many inputs, and much for two."""
_DEEPEST = 100


@dataclass(frozen=True)
class Kernel:
    """A similarity of examples: `between` (n, d), (m, d) -> (n, m); `own` (n, d) -> (n,), each row with itself.

    `scaled` asks for rows that are scaled to unit mean square by the training rows, else they come as they were given.
    """

    name: str
    between: Callable[[Any, Any], Any]
    own: Callable[[Any], Any]
    scaled: bool = True
    dense: "Dense | None" = None


@dataclass(frozen=True)
class Dense:
    """A dense network: its hidden layers, whether all of them are trained, and the variance of its biases."""

    depth: int
    trained: bool
    bias: float = 0.0


@dataclass(frozen=True)
class Scaling:
    """How inputs are brought to unit mean square, all by one number."""

    scale: float

    @classmethod
    def of(cls, inputs: Numbers) -> "Scaling":
        """By these rows, the training rows."""
        return cls(math.sqrt(float(np.square(inputs).mean())) or 1.0)

    def __call__(self, inputs: Numbers, kernel: Kernel | None = None) -> Numbers:
        """Rows as a kernel wants them."""
        return inputs if kernel is not None and not kernel.scaled else inputs / self.scale


def _products(x: Any, z: Any) -> Any:
    return x @ z.T / x.shape[1]


def _squares(x: Any) -> Any:
    return (x * x).sum(1) / x.shape[1]


def _layers(x: Any, z: Any, depth: int, bias: float) -> Iterator[tuple[Any, Any]]:
    """S and T after each hidden layer. Both are kept in units of √(Sxx Sx'x') until they are handed out."""
    xp = library(x)
    sizes = xp.sqrt(_squares(x) + bias)[:, None] * xp.sqrt(_squares(z) + bias)[None, :] + _TINY
    cosine = xp.clip((_products(x, z) + bias) / sizes, -1.0, 1.0)
    total = cosine
    for _ in range(depth):
        facing = 1.0 - xp.arccos(cosine) / math.pi
        cosine = xp.clip(xp.sqrt(1.0 - cosine * cosine) / math.pi + facing * cosine, -1.0, 1.0)
        total = total * facing + cosine
        yield cosine * sizes, total * sizes


def _made(name: str, dense: Dense) -> Kernel:
    def between(x: Any, z: Any) -> Any:
        *_, last = _layers(x, z, dense.depth, dense.bias)
        return last[dense.trained]

    times = dense.depth + 1 if dense.trained else 1
    return Kernel(name, between, lambda x: times * (_squares(x) + dense.bias), dense=dense)


def matrices(kernels: Sequence[Kernel], x: Any, z: Any) -> list[Any]:
    """The matrix of each kernel; networks of several depths share their layers."""
    found = {place: one.between(x, z) for place, one in enumerate(kernels) if one.dense is None}
    asked = [(place, one.dense) for place, one in enumerate(kernels) if one.dense is not None]
    for bias in {dense.bias for _, dense in asked}:
        alike = [(place, dense) for place, dense in asked if dense.bias == bias]
        for layer, both in enumerate(_layers(x, z, max(dense.depth for _, dense in alike), bias), 1):
            found |= {place: both[dense.trained] for place, dense in alike if dense.depth == layer}
    return [found[place] for place in range(len(kernels))]


def tangent(depth: int, *, bias: float = 0.0) -> Kernel:
    """A wide dense ReLU network, all layers trained by small steps.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> tangent(1).between(x, x).round(4).tolist()
    [[1.0, 0.1592], [0.1592, 1.0]]
    """
    return _made(f"ntk:{depth}", Dense(depth, trained=True, bias=bias))


def last_layer(depth: int, *, bias: float = 0.0) -> Kernel:
    """The same network with its last layer trained alone."""
    return _made(f"relu:{depth}", Dense(depth, trained=False, bias=bias))


def linear() -> Kernel:
    """A linear rule on the inputs as features."""
    return Kernel("linear", _products, _squares)


_FAMILIES: dict[str, Callable[..., Kernel]] = {"relu": last_layer, "ntk": tangent}


def kernels_of(given: "str | Kernel | Sequence[Kernel] | None") -> tuple[Kernel, ...]:
    """Kernels by name: "relu" (depths 1 to 3), "relu:2", "ntk:3", "linear"; or as they were made.

    >>> [kernel.name for kernel in kernels_of("relu")]
    ['relu:1', 'relu:2', 'relu:3']
    """
    if given is None:
        given = "relu"
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
        return tuple(_FAMILIES[name](layers, bias=BIAS) for layers in DEPTHS)
    return (_FAMILIES[name](_whole_depth(given, depth), bias=BIAS),)


def _whole_depth(given: str, depth: str) -> int:
    if not depth.isdigit() or not 1 <= int(depth) <= _DEEPEST:
        raise SettingError(
            f"kernel={given!r}",
            why=f"after the colon stands the number of hidden layers, from 1 to {_DEEPEST}",
            instead="write kernel='relu:2'",
        )
    return int(depth)
