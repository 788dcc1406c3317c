"""Masks that nobody searched for, as large as one that was: random, by magnitude, by gradient."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from recombine_lab.probes.masks.data import Data
from recombine_lab.probes.masks.learning import Mask
from recombine_lab.probes.masks.network import Asker, Layout, State

_MOST = 1024
"""Rows that a gradient is taken over."""


def random_mask(like: Mask, layouts: Sequence[Layout], seed: int) -> dict[str, Tensor]:
    """Groups drawn at random from the whole network, until they have as many weights as the mask has.

    Not layer by layer: where a part is a whole layer, as many weights of that layer are the very same mask.
    """
    chance = torch.Generator().manual_seed(seed)
    drawn = {one.name: torch.rand(one.mask, generator=chance) for one in layouts}
    sizes = {one.name: torch.tensor(one.size / one.groups).expand(one.mask) for one in layouts}
    wanted = sum(float(like[one.name].sum()) * one.size / one.groups for one in layouts)
    return highest(drawn, sizes, wanted)


def highest(scores: Mask, worth: Mask, wanted: float) -> dict[str, Tensor]:
    """The groups of the whole network with the highest scores, as few as are worth so much together.

    >>> scores = {"a": torch.tensor([0.8, 0.1]), "b": torch.tensor([0.5])}
    >>> {name: mask.tolist() for name, mask in highest(scores, {"a": torch.ones(2), "b": torch.ones(1)}, 2).items()}
    {'a': [True, False], 'b': [True]}
    """
    order = torch.cat([one.flatten() for one in scores.values()]).argsort(descending=True)
    each = torch.cat([worth[name].flatten() for name in scores])[order].double()
    chosen = torch.zeros(len(order), dtype=torch.bool)
    chosen[order] = each.cumsum(0) - each < wanted  # what comes before is not enough yet
    parts = torch.split(chosen, [one.numel() for one in scores.values()])
    return {name: part.reshape(one.shape) for (name, one), part in zip(scores.items(), parts, strict=True)}


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
    return {layout.name: by_group(layout, state[layout.name].abs()) for layout in layouts}


def saliency(asker: Asker, state: State, layouts: Sequence[Layout], data: Data) -> dict[str, Tensor]:
    """How much each group is felt: |weight times gradient of the loss|, summed, over some examples of the component."""
    weights = {layout.name: state[layout.name].clone().requires_grad_() for layout in layouts}
    shared = {name: value for name, value in state.items() if name not in weights}
    rows = data.rows(slice(0, _MOST))
    loss = asker.one(weights, shared, rows.inputs, rows.targets)[0].mean()
    grads = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    felt = zip(layouts, grads, strict=True)
    return {
        one.name: by_group(one, (state[one.name] * (torch.zeros_like(state[one.name]) if grad is None else grad)).abs())
        for one, grad in felt
    }


def by_group(layout: Layout, values: Tensor) -> Tensor:
    """(mask) Values of weights (shape), summed over each group."""
    summed = values.float().reshape(layout.view)
    for axis, size in enumerate(layout.mask):
        if size == 1:
            summed = summed.sum(axis, keepdim=True)
    return summed
