"""Rules by which parts may be put together, and how each is fitted to some combinations.

Letters: K parts, H heads, n combinations, D outputs of the whole, p numbers that a head reads, B fits done as one.

A head is a linear map of one part. Addition, a product, gating and occlusion put the heads of each output together by a
function of their values alone, so that outputs are fitted one by one, by Levenberg's and Marquardt's method, all of
them, all folds and all starts as one batch. A low rank mixes products of heads, which all outputs share: alternating
least squares.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

import torch
from torch import Tensor

Put = Callable[[Tensor], Tensor]
_RIDGE = 1e-6
"""Of the mean square: it only keeps numbers that nothing fixes from growing without end."""
_TRIAL, _STEPS, _SWEEPS = 12, 60, 150
_ENOUGH = 1e-9
"""An error by the mean square below which a fit is exact."""


@dataclass(frozen=True)
class Family:
    """A rule: which part each head reads, which heads are masks, and how the heads (H, …) become the whole (…)."""

    name: str
    reads: tuple[int, ...]
    put: Put
    masks: tuple[bool, ...]
    order: tuple[int, ...] = ()
    starts: int = 1


@dataclass(frozen=True)
class LowRank:
    """A sum of so many products, one linear map of each part in each, spread over the outputs."""

    rank: int
    name: str = "low rank"


def elementwise_families(parts: int) -> list[Family]:
    """Every rule that treats each output by itself, simplest first.

    >>> [family.name for family in elementwise_families(2)]
    ['addition', 'product', 'gating', 'gating', 'occlusion', 'occlusion']
    """
    all_parts = tuple(range(parts))
    plain = (False,) * parts
    found = [
        Family("addition", all_parts, _add, plain),
        Family("product", all_parts, _multiply, plain, starts=6),
    ]
    for gate in all_parts:
        order = (gate, *(part for part in all_parts if part != gate))
        found.append(Family("gating", order, _gate, plain, order[:1], 8))
    for order in permutations(all_parts):
        reads = tuple(part for part in order[:-1] for _ in range(2))
        found.append(Family("occlusion", (*reads, order[-1]), _cover, (False, True) * (parts - 1) + (False,), order, 8))
    return found


def _add(heads: Tensor) -> Tensor:
    return heads.sum(0)


def _multiply(heads: Tensor) -> Tensor:
    return reduce(torch.mul, heads.unbind(0))


def _gate(heads: Tensor) -> Tensor:
    return torch.sigmoid(heads[0]) * heads[1:].sum(0)


def _cover(heads: Tensor) -> Tensor:
    """Each value and its mask from the front on; the last value lies behind all."""
    *front, whole = heads.unbind(0)
    for value, mask in zip(front[-2::-2], front[-1::-2], strict=True):
        whole = torch.lerp(whole, value, torch.sigmoid(mask))
    return whole


# -- outputs one by one ----------------------------------------------------------------------------------------------


def fit_heads(
    family: Family, features: Sequence[Tensor], wholes: Tensor, weights: Tensor, generator: torch.Generator
) -> Tensor:
    """(F, D, p) What the heads are, for each of F weightings (F, n) of the combinations.

    `features` are (n, p) for each head, `wholes` (D, n). From each of several random starts a few steps are taken; the
    best one is followed to its end.
    """
    folds, outputs = len(weights), len(wholes)
    size = sum(one.shape[1] for one in features)
    target = wholes.repeat(family.starts * folds, 1)
    counted = weights.repeat_interleave(outputs, 0)
    starts = torch.randn(family.starts * folds * outputs, size, generator=generator, dtype=wholes.dtype)
    tried, loss = _descend(family.put, features, target, counted.repeat(family.starts, 1), starts, steps=_TRIAL)
    best = loss.reshape(family.starts, -1).argmin(0)
    chosen = tried.reshape(family.starts, -1, size)[best, torch.arange(len(best))]
    if family.starts > 1:
        chosen, _ = _descend(family.put, features, target[: len(best)], counted, chosen, steps=_STEPS)
    return chosen.reshape(folds, outputs, size)


def heads_of(features: Sequence[Tensor], found: Tensor) -> Tensor:
    """(H, …, n) The heads' values: found (…, p) times the features (n, p) of each."""
    parts = torch.split(found, [one.shape[1] for one in features], -1)
    return torch.stack([part @ one.T for part, one in zip(parts, features, strict=True)])


def _descend(
    put: Put, features: Sequence[Tensor], target: Tensor, weights: Tensor, found: Tensor, *, steps: int
) -> tuple[Tensor, Tensor]:
    """Levenberg and Marquardt's steps, each fit of the batch with a damping of its own."""
    usual = (weights * target.square()).sum(1).clamp(min=1e-30)
    damping = torch.full_like(usual, 1e-2)
    identity = torch.eye(found.shape[1], dtype=found.dtype)
    kept = _RIDGE * usual

    def missed(values: Tensor) -> Tensor:
        apart = target - put(heads_of(features, values))
        return (weights * apart.square()).sum(1) + kept * values.square().sum(1)

    loss = missed(found)
    for _ in range(steps):
        heads = heads_of(features, found).requires_grad_()
        whole = put(heads)
        (slopes,) = torch.autograd.grad(whole.sum(), heads)
        moved = torch.cat([slope[..., None] * one for slope, one in zip(slopes, features, strict=True)], -1)
        weighed = (moved * weights[..., None]).mT
        curved = weighed @ moved + kept[:, None, None] * identity
        down = (weighed @ (target - whole.detach())[..., None])[..., 0] - kept[:, None] * found
        spread = curved.diagonal(dim1=1, dim2=2)
        spread = torch.maximum(spread, 1e-6 * spread.amax(1, keepdim=True)).clamp(min=1e-30)
        damped = curved + torch.diag_embed(damping[:, None] * spread)
        there = found + torch.linalg.solve_ex(damped, down)[0]
        after = missed(there)
        better = after < loss
        gained = torch.where(better, loss - after, 0.0)
        found = torch.where(better[:, None], there, found)
        loss = torch.where(better, after, loss)
        damping = torch.where(better, damping / 4, damping * 5).clamp(1e-9, 1e9)
        if bool(((better & (gained < 1e-5 * loss)) | (loss < _ENOUGH * usual) | (damping > 1e6)).all()):
            break
    return found, loss


# -- a low rank ------------------------------------------------------------------------------------------------------


def fit_low_rank(
    rule: LowRank, features: Sequence[Tensor], wholes: Tensor, weights: Tensor, generator: torch.Generator
) -> tuple[list[Tensor], Put, Tensor]:
    """The maps (F, p, R) of each part, how they are put together, and the outputs (F, D, R); weights are (F, n)."""
    folds, dtype, rank, starts = len(weights), wholes.dtype, rule.rank, 3
    counted = weights.repeat(starts, 1)
    maps = [torch.randn(starts * folds, one.shape[1], rank, generator=generator, dtype=dtype) for one in features]
    spread = torch.zeros(starts * folds, len(wholes), rank, dtype=dtype)
    last = torch.full((starts * folds,), torch.inf, dtype=dtype)
    usual = (counted * wholes.square().sum(0)).sum(1)
    for _ in range(_SWEEPS):
        products = [one @ own for one, own in zip(features, maps, strict=True)]
        spread = _least_squares(reduce(torch.mul, products), wholes, counted)
        for part, one in enumerate(features):
            rest = reduce(torch.mul, [own for place, own in enumerate(products) if place != part])
            maps[part] = _map_of(one, rest, spread, wholes, counted)
            maps[part] = maps[part] / maps[part].square().mean(1, keepdim=True).sqrt().clamp(min=1e-12)
            products[part] = one @ maps[part]
        spread = _least_squares(reduce(torch.mul, products), wholes, counted)
        apart = wholes.T - reduce(torch.mul, products) @ spread.mT
        loss = (counted * apart.square().sum(-1)).sum(1)
        if bool(((last - loss < 1e-4 * loss) | (loss < _ENOUGH * usual)).all()):
            break
        last = loss
    best = loss.reshape(starts, folds).argmin(0) * folds + torch.arange(folds)
    return [one[best] for one in maps], _multiply, spread[best]


def _least_squares(products: Tensor, wholes: Tensor, weights: Tensor) -> Tensor:
    """(B, D, R) The outputs that fit best, given the products (B, n, R)."""
    weighed = (products * weights[..., None]).mT
    found: Tensor = torch.linalg.solve_ex(_ridged(weighed @ products), weighed @ wholes.T)[0]
    return found.mT


def _map_of(one: Tensor, rest: Tensor, spread: Tensor, wholes: Tensor, weights: Tensor) -> Tensor:
    """(B, p, R) The map of one part that fits best, given the products of the others (B, n, R)."""
    size, rank = one.shape[1], rest.shape[2]
    own = (rest[..., None, :] * one[..., None]).flatten(2)  # (B, n, p R)
    weighed = (own * weights[..., None]).mT
    shared = (spread.mT @ spread).repeat(1, size, size)
    wanted = (torch.unflatten(weighed, 1, (size, rank)) * (wholes.T @ spread).mT[:, None]).sum(-1)
    found: Tensor = torch.linalg.solve_ex(_ridged((weighed @ own) * shared), wanted.flatten(1))[0]
    return torch.unflatten(found, 1, (size, rank))


def _ridged(square: Tensor) -> Tensor:
    spread = square.diagonal(dim1=-2, dim2=-1).mean(-1).clamp(min=1e-30)
    return square + 1e-8 * spread[..., None, None] * torch.eye(square.shape[-1], dtype=square.dtype)
