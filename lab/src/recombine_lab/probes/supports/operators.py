"""Ranks of derivatives that are too large to be written down: products with vectors, and Lanczos.

Letters: n points of one neighbour set, M outputs of a component, v one direction (M,).

A derivative is only ever multiplied: with a direction (`jvp`) or from the left (`vjp`). From s random starts Lanczos
finds, for each, a few Ritz values of A'A with their weights; the share of eigenvalues above a tolerance is the mean of
the weights above it (stochastic Lanczos quadrature), and the smallest Ritz value bounds the smallest eigenvalue from
above. For M = 12,288 a set of 8 points takes 2 · 8 products a step and no matrix beyond (M, steps).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Compose = Callable[[Tensor], Tensor]
Product = Callable[[Tensor], Tensor]
STARTS = 2
STEPS = 16


@dataclass(frozen=True)
class Spectrum:
    """The share of eigenvalues above the tolerance, the smallest Ritz value and the largest, as singular values."""

    share: float
    smallest: float
    largest: float


def products(compose: Compose, outputs: Tensor, slot: int) -> tuple[Product, Product]:
    """v -> A'Av for A the sum over the points and for A their stack, both over n; outputs are (n, K, …)."""
    n, shape = len(outputs), outputs[0, slot].shape

    def whole(own: Tensor) -> Tensor:
        parts = [own if k == slot else outputs[:, k] for k in range(outputs.shape[1])]
        return compose(torch.stack(parts, 1))

    back: Any = torch.func.vjp(whole, outputs[:, slot])[1]

    def forward(v: Tensor) -> Tensor:
        same = v.reshape(shape).expand(n, *shape)
        moved: Tensor = torch.func.jvp(whole, (outputs[:, slot],), (same,))[1]
        return moved

    def summed(v: Tensor) -> Tensor:
        moved = forward(v)
        turned: Tensor = back(moved.mean(0, keepdim=True).expand_as(moved).contiguous())[0]
        return turned.mean(0).flatten()

    def stacked(v: Tensor) -> Tensor:
        turned: Tensor = back(forward(v))[0]
        return turned.mean(0).flatten()

    return summed, stacked


def spectrum(product: Product, size: int, *, tolerance: float, seed: int, scale: float | None = None) -> Spectrum:
    """The spectrum of a positive operator on vectors of a size; the tolerance is of singular values.

    >>> diagonal = torch.cat([torch.zeros(25, dtype=torch.float64), torch.ones(75, dtype=torch.float64)])
    >>> found = spectrum(lambda v: diagonal * v, 100, tolerance=1e-3, seed=0)
    >>> 0.65 < found.share < 0.85, round(found.largest, 6), round(found.smallest, 6)
    (True, 1.0, 0.0)
    """
    generator = torch.Generator().manual_seed(seed)
    ritz: list[Tensor] = []
    weights: list[Tensor] = []
    for _ in range(STARTS):
        start = torch.randn(size, generator=generator, dtype=torch.float64)
        values, vectors = torch.linalg.eigh(_lanczos(product, start / start.norm(), min(STEPS, size)))
        ritz.append(values.clamp(min=0).sqrt())
        weights.append(vectors[0].square())
    largest = max(float(values.max()) for values in ritz)
    least = max(tolerance * (scale or largest), 1e-12)
    # Ritz values carry rounding of the largest eigenvalue, whose root is 1e-7 of the largest singular value.
    shares = [float(weight[values > least].sum()) for values, weight in zip(ritz, weights, strict=True)]
    return Spectrum(sum(shares) / STARTS, min(float(values.min()) for values in ritz), largest)


def _lanczos(product: Product, start: Tensor, steps: int) -> Tensor:
    """The tridiagonal matrix of a Lanczos process, with every vector kept orthogonal to all before it."""
    basis = [start]
    diagonal: list[Tensor] = []
    beside: list[Tensor] = []
    for _ in range(steps):
        moved = product(basis[-1])
        diagonal.append(basis[-1] @ moved)
        for _again in range(2):
            for vector in basis:
                moved = moved - (vector @ moved) * vector
        length = moved.norm()
        if float(length) < 1e-9 * max(1e-30, float(torch.stack(diagonal).abs().max())) or len(diagonal) == steps:
            break
        beside.append(length)
        basis.append(moved / length)
    made = torch.diag(torch.stack(diagonal))
    for place, length in enumerate(beside[: len(diagonal) - 1]):
        made[place, place + 1] = made[place + 1, place] = length
    return made
