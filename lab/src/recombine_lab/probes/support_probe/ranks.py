"""Whether the derivatives of the composition fix a component: ranks, singular values, and what stays free.

Letters: s sets of neighbours, n points in each, P sites, O outputs and C inputs of a block.

The paper asks for full rank of the *sum* of the Jacobians over seen points with the same value of the slot. The same
proof goes through with the Jacobians *stacked*, which is weaker to ask and never below the sum.

Ranks of derivatives that are too large to be written down: products with vectors, and Lanczos.

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

TOLERANCE = 1e-3
"""Singular values below this share of the largest are 0."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Of each set and site (s, P): the best rank of a single Jacobian, of the sum, and of the stack; of `full`.

    `smallest` is the smallest singular value of the stack over √n; `free` (s, P, C, C) projects on the directions that
    the stack leaves open.
    """

    full: int
    single: Tensor
    sum: Tensor
    stack: Tensor
    smallest: Tensor
    free: Tensor
    scale: float


def ranks(blocks: Tensor, *, tolerance: float = TOLERANCE) -> Ranks:
    """The ranks of blocks (s, n, P, O, C).

    >>> two = torch.stack([torch.eye(2), torch.diag(torch.tensor([1.0, -1.0]))])[None, :, None]
    >>> found = ranks(two)
    >>> int(found.single), int(found.sum), int(found.stack)
    (2, 1, 2)
    """
    blocks = blocks.to(torch.float64)
    single = torch.linalg.svdvals(blocks)
    scale = float(single.max()) if single.numel() else 0.0
    least = max(tolerance * scale, 1e-12)
    n = blocks.shape[1]
    summed = torch.linalg.svdvals(blocks.sum(1)) / n
    gram = (blocks.mT @ blocks).sum(1) / n
    values, vectors = torch.linalg.eigh(gram)
    roots = values.clamp(min=0).sqrt()
    # A root of an eigenvalue is exact to 1e-8 of the largest only, far below the tolerance.
    unfixed = (roots <= least).to(torch.float64)
    return Ranks(
        full=blocks.shape[-1],
        single=(single > least).sum(-1).amax(1),
        sum=(summed > least).sum(-1),
        stack=(1 - unfixed).sum(-1).round().to(torch.int64),
        smallest=roots[..., 0],
        free=(vectors * unfixed[..., None, :]) @ vectors.mT,
        scale=scale,
    )


def changed(free: Tensor, asked: Tensor, scale: float, *, tolerance: float = TOLERANCE) -> Tensor:
    """(s, P) Whether a direction that the seen points leave open would change what is asked about, to first order.

    `free` (s, P, C, C) is of `ranks`; `asked` (s, P, O, C) the derivatives at the points asked about.
    """
    moved: Tensor = torch.linalg.matrix_norm(asked.to(torch.float64) @ free)
    return moved.gt(max(tolerance * scale, 1e-12))


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
