"""Whether the derivatives of the composition fix a component: ranks, singular values, and what stays free.

Letters: s sets of neighbours, n points in each, P sites, O outputs and C inputs of a block.

The paper asks for full rank of the *sum* of the Jacobians over seen points with the same value of the slot. The same
proof goes through with the Jacobians *stacked*, which is weaker to ask and never below the sum.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

TOLERANCE = 1e-3
"""Singular values below this share of the largest are 0."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Of each set and site (s, P): the best rank of a single Jacobian, of the sum, and of the stack; of `full`.

    `smallest` is the smallest singular value of the stack over √n, `condition` that of the largest over the smallest
    (infinite where it is not of full rank); `free` (s, P, C, C) projects on the directions that the stack leaves open.
    """

    full: int
    single: Tensor
    sum: Tensor
    stack: Tensor
    smallest: Tensor
    condition: Tensor
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
    smallest = roots[..., 0]
    fixed = unfixed.sum(-1) == 0
    return Ranks(
        full=blocks.shape[-1],
        single=(single > least).sum(-1).amax(1),
        sum=(summed > least).sum(-1),
        stack=(1 - unfixed).sum(-1).round().to(torch.int64),
        smallest=smallest,
        condition=torch.where(fixed, roots[..., -1] / smallest.clamp(min=1e-30), torch.inf),
        free=(vectors * unfixed[..., None, :]) @ vectors.mT,
        scale=scale,
    )


def changed(free: Tensor, asked: Tensor, scale: float, *, tolerance: float = TOLERANCE) -> Tensor:
    """(s, P) Whether a direction that the seen points leave open would change what is asked about, to first order.

    `free` (s, P, C, C) is of `ranks`; `asked` (s, P, O, C) the derivatives at the points asked about.
    """
    moved: Tensor = torch.linalg.matrix_norm(asked.to(torch.float64) @ free)
    return moved.gt(max(tolerance * scale, 1e-12))
