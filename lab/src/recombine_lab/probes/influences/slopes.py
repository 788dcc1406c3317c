"""Mean |∂Ŷ_i/∂X_j|: how far each output moves when the inputs of a factor move a little.

For every output i and every factor j the length of the derivative over the entries that hold the factor (of a single
entry its absolute value), averaged over rows. Numbers are followed by column, pictures by region, tokens through their
embedding, since a token has no neighbours. Scores of classes are taken less their mean: a shift of all changes nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recombine_lab.models.layers import BATCH, evaluating, layer_of, length, rows_of, tensor_of
from recombine_lab.probes.influences.answering import Asking, Floats
from recombine_lab.probes.influences.locating import Located, main_of, with_main

MOST_OUTPUTS = 32


def slopes(
    module: nn.Module, asking: Asking, where: Located, *, layer: str | None, seed: int
) -> tuple[dict[str, Floats], list[int]]:
    """The mean derivative of each output (outputs,) by each factor, and which outputs these are."""
    sums: dict[str, list[Floats]] = {factor: [] for factor in where.masks}
    chosen: list[int] = []
    with evaluating(module), frozen(module):
        for start in range(0, length(where.inputs), BATCH):
            batch = rows_of(where.inputs, slice(start, start + BATCH))
            leaf, scores = _followed(module, asking, batch, layer)
            flat = scores.float().reshape(len(scores), -1)
            centred = flat - flat.mean(dim=1, keepdim=True) if asking.kind == "classes" and flat.shape[1] > 1 else flat
            chosen = chosen or _outputs(flat.shape[1], seed)
            moved = [torch.autograd.grad(centred[:, i].sum(), leaf, retain_graph=True)[0] for i in chosen]
            for factor, mask in where.masks.items():
                sums[factor].append(np.stack([_length(one, mask) for one in moved]))
    return {factor: np.concatenate(found, axis=1).mean(axis=1) for factor, found in sums.items()}, chosen


def _outputs(count: int, seed: int) -> list[int]:
    """All of few outputs, some of many."""
    if count <= MOST_OUTPUTS:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, MOST_OUTPUTS, replace=False).tolist())


def _length(gradient: Tensor, mask: Tensor) -> Floats:
    """(n,) The length of each row's derivative over the entries of a factor; an embedding has one axis more."""
    wide = mask.reshape(mask.shape + (1,) * (gradient.ndim - 1 - mask.ndim))
    found = (gradient * wide).flatten(1).double().norm(dim=1)
    return np.asarray(found.detach().cpu().numpy())


def _followed(module: nn.Module, asking: Asking, batch: Any, layer: str | None) -> tuple[Tensor, Tensor]:
    """What derivatives are taken by, and the scores that hang on it."""
    if layer is None:
        leaf = main_of(batch).detach().clone().requires_grad_()
        return leaf, asking.of_batch(module, with_main(batch, leaf))
    kept: dict[str, Tensor] = {}

    def cut(_module: Any, _inputs: Any, output: Any) -> Tensor:
        kept["leaf"] = tensor_of(output, layer).detach().requires_grad_()
        return kept["leaf"]

    hook = layer_of(module, layer).register_forward_hook(cut)
    try:
        scores = asking.of_batch(module, batch)
    finally:
        hook.remove()
    return kept["leaf"], scores


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Weights that want no gradient for a while, and do again afterwards as they did."""
    wanted: Mapping[Tensor, bool] = {weight: weight.requires_grad for weight in module.parameters()}
    for weight in wanted:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight, was in wanted.items():
            weight.requires_grad_(was)
