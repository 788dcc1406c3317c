"""How much the seen points leave open at the points asked about, if components are smooth: one number for all of it.

Letters: n seen points, m points asked about, K slots, P sites, O outputs, C inputs of a block.

A small change of the components changes the whole by SUM_k J_k d_k(z_k), with the blocks J_k of the composition. Let
every d_k be a smooth random function (a Gaussian process). Then the seen points, observed with a little noise, leave a
variance at every point asked about, and this is that variance as a share of what it was before anything was seen.
Coverage, slices, pieces, ranks and what cannot be seen anyway all enter it: values never shown, slots that never move
apart and Jacobians of low rank each leave variance. It is our own, not the paper's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Numbers = npt.NDArray[np.float64]
NOISE = 0.01
"""The variance of an observation's noise, as a share of the variance before anything is seen."""
MOST_ROWS = 1200
"""Observations, points times outputs, that one site is judged by."""
MOST_OUTPUTS = 3
"""More outputs of one site are sketched: so many random mixtures of them."""


@dataclass(frozen=True, eq=False)
class Situated:
    """Points with the blocks (n, P, O, C) of each slot, and the scaled values (n, w) of each slot."""

    blocks: Sequence[Tensor]
    values: Sequence[Tensor]


def sketched(blocks: Sequence[Tensor], rng: np.random.Generator) -> list[Tensor]:
    """Blocks with few outputs: the same random mixtures for every slot, where there are many."""
    outputs = blocks[0].shape[2]
    if outputs <= MOST_OUTPUTS:
        return list(blocks)
    mixing = torch.as_tensor(rng.standard_normal((MOST_OUTPUTS, outputs)) / np.sqrt(MOST_OUTPUTS))
    return [torch.einsum("qo,npoc->npqc", mixing, block) for block in blocks]


def left_open(seen: Situated, asked: Situated, reach: float) -> tuple[Tensor, Tensor]:
    """(m,) The variance that is left at each point asked about, and what it was before; summed over sites and outputs.

    `reach` is how far a smooth change reaches, in shares of an entry's range.
    """
    among = [_kernel(own, own, reach) for own in seen.values]
    across = [_kernel(other, own, reach) for other, own in zip(asked.values, seen.values, strict=True)]
    left = torch.zeros(len(asked.values[0]), dtype=torch.float64)
    before = torch.zeros_like(left)
    for site in range(seen.blocks[0].shape[1]):
        rows, questions = ([block[:, site] for block in one.blocks] for one in (seen, asked))
        prior = torch.stack([block.square().sum((1, 2)) for block in questions]).sum(0)
        noise = NOISE * float(prior.mean()) / rows[0].shape[1]
        if noise <= 0:
            continue
        matrix = _covariance(rows, rows, among)
        matrix.diagonal().add_(noise)
        factor = torch.linalg.cholesky(matrix)
        known = torch.linalg.solve_triangular(factor, _covariance(questions, rows, across).T, upper=False)
        left += (prior - known.square().sum(0).reshape(len(prior), -1).sum(1)).clamp(min=0)
        before += prior
    return left, before


def with_anchor(seen: Situated) -> Situated:
    """The same points, and every component by itself at the first of them: as rows that see one slot alone."""
    sites, outputs = seen.blocks[0].shape[1:3]
    blocks, values = list(seen.blocks), list(seen.values)
    for slot, inputs in enumerate([block.shape[3] for block in seen.blocks]):
        for first in range(0, inputs, outputs):
            for k, block in enumerate(blocks):
                alone = torch.zeros(1, sites, outputs, block.shape[3], dtype=block.dtype)
                if k == slot:
                    some = min(outputs, inputs - first)
                    # Weighed so that the noise of an observation hardly blurs it.
                    alone[0, :, range(some), range(first, first + some)] = 10.0
                blocks[k] = torch.cat([block, alone])
            values = [torch.cat([value, value[:1]]) for value in values]
    return Situated(blocks, values)


def _kernel(one: Tensor, other: Tensor, reach: float) -> Tensor:
    """(m, n) How alike a smooth function is at two values; levels are far apart."""
    return torch.exp(-torch.cdist(one, other).square() / (2 * reach**2))


def _covariance(one: Sequence[Tensor], other: Sequence[Tensor], kernels: Sequence[Tensor]) -> Tensor:
    """(m · O, n · O) The covariance of what is observed at one site, from blocks (m, O, C) and (n, O, C)."""
    total = torch.zeros(len(one[0]), one[0].shape[1], len(other[0]), other[0].shape[1], dtype=torch.float64)
    for left, right, kernel in zip(one, other, kernels, strict=True):
        total += torch.einsum("moc,npc->monp", left, right) * kernel[:, None, :, None]
    return total.flatten(2).flatten(0, 1)
