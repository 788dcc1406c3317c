"""The same network before it has learnt anything: the control of every measure."""

import copy

import torch
from torch import nn

from recombine.base.seeds import derived


def reinitialised(module: nn.Module, *, seed: int) -> tuple[nn.Module, int]:
    """A copy with new random weights, and how many weights had no way to be drawn anew and were shuffled instead.

    Layers are asked to `reset_parameters`, as torch's own can; Hugging Face's models to `_init_weights`. Weights that
    neither reaches keep their numbers in another order, so that nothing learnt is left but their spread.

    >>> made, shuffled = reinitialised(nn.Linear(3, 2), seed=0)
    >>> shuffled, made.weight.shape
    (0, torch.Size([2, 3]))
    """
    made = copy.deepcopy(module)
    reached: set[int] = set()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(derived(seed, "reinitialised"))
        for part in made.modules():
            reset = getattr(part, "reset_parameters", None)
            if callable(reset):
                reset()
                reached |= {id(weight) for weight in part.parameters()}
        start = getattr(made, "_init_weights", None)
        if callable(start):
            made.apply(start)
        left = [weight for weight in made.parameters() if id(weight) not in reached and weight.numel() > 1]
        for weight in left:
            weight.copy_(weight.flatten()[torch.randperm(weight.numel())].view_as(weight))
    return made, sum(weight.numel() for weight in left)
