"""Masks that nobody searched for, as large in every layer as one that was: random, by magnitude, by gradient."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from recombine.probes.masks.data import Data
from recombine.probes.masks.learning import Mask
from recombine.probes.masks.network import Asker, Layout, State

_MOST = 1024
"""Rows that a gradient is taken over."""


def random_mask(like: Mask, seed: int) -> dict[str, Tensor]:
    """As many groups in every layer as the mask has, drawn at random."""
    chance = torch.Generator().manual_seed(seed)
    found = {}
    for name, mask in like.items():
        order = torch.randperm(mask.numel(), generator=chance)
        found[name] = mask.flatten()[order].reshape(mask.shape)
    return found


def top_mask(like: Mask, worth: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """As many groups in every layer as the mask has: those that are worth most."""
    found = {}
    for name, mask in like.items():
        best = worth[name].flatten().topk(int(mask.sum())).indices
        chosen = torch.zeros(mask.numel(), dtype=torch.bool)
        chosen[best.cpu()] = True
        found[name] = chosen.reshape(mask.shape)
    return found


def magnitude(state: State, layouts: Sequence[Layout]) -> dict[str, Tensor]:
    """What each group weighs: the sum of its absolute values."""
    return {layout.name: _grouped(layout, state[layout.name].abs()) for layout in layouts}


def saliency(asker: Asker, state: State, layouts: Sequence[Layout], data: Data) -> dict[str, Tensor]:
    """How much each group is felt: |weight times gradient of the loss|, summed, over some examples of the component."""
    weights = {layout.name: state[layout.name].clone().requires_grad_() for layout in layouts}
    shared = {name: value for name, value in state.items() if name not in weights}
    rows = data.rows(slice(0, _MOST))
    loss = asker.one(weights, shared, rows.inputs, rows.targets)[0].mean()
    grads = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    felt = zip(layouts, grads, strict=True)
    return {
        one.name: _grouped(one, (state[one.name] * (torch.zeros_like(state[one.name]) if grad is None else grad)).abs())
        for one, grad in felt
    }


def _grouped(layout: Layout, values: Tensor) -> Tensor:
    """Summed over each group."""
    summed = values.float().reshape(layout.view)
    for axis, size in enumerate(layout.mask):
        if size == 1:
            summed = summed.sum(axis, keepdim=True)
    return summed
