"""Continuous sparsification with its slope by hand, so that a mask of a large network costs little.

Autograd would keep a mask as large as the weights, twice. Here it is computed a second time on the way back. What stays
is 12 bytes a weight (the score and two moments of Adam), and 4 more, the masked weights, while the network is asked.
"""

from typing import Any

import torch
from torch import Tensor

from recombine_lab.probes.masks.network import Layout


class Continuous(torch.autograd.Function):
    """(b, …) Weights times sigmoid(T s) times a scale, and (b,) the sum of the sigmoids, with the slope of both.

    What autograd would keep for the way back, a mask as large as the weights, is computed a second time.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, weight: Tensor, heat: Tensor, scale: Tensor, layout: Layout
    ) -> tuple[Tensor, Tensor]:
        """Of scores (b, mask), weights (b or 1, …), temperatures and scales (b, 1, …)."""
        ctx.save_for_backward(scores, weight, heat, scale)
        ctx.layout = layout
        mask = (scores * heat).sigmoid_()
        opened = mask.flatten(1).sum(1)
        return layout.times(weight, mask.mul_(scale)), opened

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_opened: Tensor) -> tuple[Tensor | None, ...]:
        """The slope of sigmoid(T s) is T m (1 - m)."""
        scores, weight, heat, scale = ctx.saved_tensors
        felt = ctx.layout.times(grad, ctx.layout.seen(weight)).reshape(len(scores), *ctx.layout.view)
        felt = felt.float().sum_to_size(scores.shape)
        felt = felt.mul_(heat * scale).add_(heat * grad_opened.reshape(heat.shape))
        mask = (scores * heat).sigmoid_()
        return torch.ops.aten.sigmoid_backward(felt, mask), None, None, None, None
