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

    def at(self, site: int) -> list[Tensor]:
        """The blocks (n, O, C) of one site."""
        return [block[:, site] for block in self.blocks]


def sketched(blocks: Sequence[Tensor], rng: np.random.Generator) -> list[Tensor]:
    """Blocks with few outputs: the same random mixtures for every slot, where there are many."""
    outputs = blocks[0].shape[2]
    if outputs <= MOST_OUTPUTS:
        return list(blocks)
    mixing = torch.as_tensor(rng.standard_normal((MOST_OUTPUTS, outputs)) / np.sqrt(MOST_OUTPUTS))
    return [torch.einsum("qo,npoc->npqc", mixing, block) for block in blocks]


def left_open(seen: Situated, asked: Situated, reach: float, anchors: Sequence[Situated] = ()) -> tuple[Tensor, Tensor]:
    """The variance left at each point asked about, (1 + anchors, m), and what it was before, (m,); over sites and
    outputs. First by the seen points alone, then with each of the anchors besides.

    `reach` is how far a smooth change reaches, in shares of an entry's range.
    """
    among, across = _kernels(seen, seen, reach), _kernels(asked, seen, reach)
    before = torch.zeros(len(asked.values[0]), dtype=torch.float64)
    left = torch.zeros(1 + len(anchors), len(before), dtype=torch.float64)
    for site in range(seen.blocks[0].shape[1]):
        rows, questions = seen.at(site), asked.at(site)
        prior = torch.stack([block.square().sum((1, 2)) for block in questions]).sum(0)
        noise = NOISE * float(prior.mean()) / rows[0].shape[1]
        if noise <= 0:
            continue
        matrix = _covariance(rows, rows, among)
        matrix.diagonal().add_(noise)
        factor = torch.linalg.cholesky(matrix)
        known = torch.linalg.solve_triangular(factor, _covariance(questions, rows, across).T, upper=False)
        rest = (prior - _per_point(known, len(prior))).clamp(min=0)
        before += prior
        left[0] += rest
        for place, anchor in enumerate(anchors):
            # What an anchor adds follows from the factor that is there: no second large system.
            more = anchor.at(site)
            beside = _covariance(more, rows, _kernels(anchor, seen, reach))
            seen_of_it = torch.linalg.solve_triangular(factor, beside.T, upper=False)
            own = _covariance(more, more, _kernels(anchor, anchor, reach)) - seen_of_it.T @ seen_of_it
            own.diagonal().add_(noise)
            shared = _covariance(questions, more, _kernels(asked, anchor, reach)) - known.T @ seen_of_it
            gained = torch.linalg.solve_triangular(torch.linalg.cholesky(own), shared.T, upper=False)
            left[1 + place] += (rest - _per_point(gained, len(prior))).clamp(min=0)
    return left, before


def _per_point(columns: Tensor, points: int) -> Tensor:
    """The squares of columns (…, points · O), added up for each point."""
    return columns.square().sum(0).reshape(points, -1).sum(1)


def anchor_at(seen: Situated, row: int) -> Situated:
    """Every component by itself at one seen point, as rows that see one slot alone."""
    sites, outputs = seen.blocks[0].shape[1:3]
    inputs = [block.shape[3] for block in seen.blocks]
    places = [(slot, first) for slot, count in enumerate(inputs) for first in range(0, count, outputs)]
    blocks = [torch.zeros(len(places), sites, outputs, count, dtype=torch.float64) for count in inputs]
    for place, (slot, first) in enumerate(places):
        some = min(outputs, inputs[slot] - first)
        # Weighed so that the noise of an observation hardly blurs it.
        blocks[slot][place, :, range(some), range(first, first + some)] = 10.0
    return Situated(blocks, [value[[row] * len(places)] for value in seen.values])


def _kernels(one: Situated, other: Situated, reach: float) -> list[Tensor]:
    return [_kernel(a, b, reach) for a, b in zip(one.values, other.values, strict=True)]


def _kernel(one: Tensor, other: Tensor, reach: float) -> Tensor:
    """(m, n) How alike a smooth function is at two values; levels are far apart."""
    return torch.exp(-torch.cdist(one, other).square() / (2 * reach**2))


def _covariance(one: Sequence[Tensor], other: Sequence[Tensor], kernels: Sequence[Tensor]) -> Tensor:
    """(m · O, n · O) The covariance of what is observed at one site, from blocks (m, O, C) and (n, O, C)."""
    total = torch.zeros(len(one[0]), one[0].shape[1], len(other[0]), other[0].shape[1], dtype=torch.float64)
    for left, right, kernel in zip(one, other, kernels, strict=True):
        total += torch.einsum("moc,npc->monp", left, right) * kernel[:, None, :, None]
    return total.flatten(2).flatten(0, 1)
