"""What a component uses of a network: the groups of weights that its answers hang on, all of them.

A learned mask is a part that is enough for a component, and the sparsest such part says little about the rest: a wide
branch does without it, by its spare units, and a shared layer hardly misses it. Whether two components have parts of
their own is asked of everything that each of them uses. No mask is learned for that, and nothing of it is chosen by
what is left of anybody's test.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from recombine_lab.probes.subnetwork_probe.components import ComponentData
from recombine_lab.probes.subnetwork_probe.mask_search import highest
from recombine_lab.probes.subnetwork_probe.masked_network import Asker, ParameterLayout, State, by_group

CORE = 0.95
"""Of a component's use: parts are shared only if the others are lost with this much of it already."""
NEARLY_ALL = (0.99, 0.999, 0.9999)
"""Parts are separate only if the others do without nearly all of it. Less than a hundredth may leak anywhere; more is
taken only where so little is not enough to do the component, as many small weights of a deep network can be."""
AS_GOOD = 0.02
"""Of held-out examples: enough is what does a component as well as the whole network, but for this."""
NETWORKS, MASKS = 8, 24
"""Re-initialised networks and random masks beside it. They are at chance, each in its own way, and a mean of three
would be too unsure to hold anything against."""
_ROWS = 1024
_PASSES = 8
"""Each is a random sum over rows; the mean square of so many is the sum of squares over rows within some 50 %."""


def usage(
    asker: Asker, state: State, layouts: Sequence[ParameterLayout], data: ComponentData, seed: int
) -> dict[str, Tensor]:
    """How much each group is used: |weight times slope|, root mean square over rows, summed over the group.

    The slope is that of log(loss + median loss). The loss itself is flat where a network is sure of its answers, and
    rows on which it is unsure would speak for all. Rows get random signs, since slopes of a trained network cancel.
    """
    weights = {layout.name: state[layout.name].clone().requires_grad_() for layout in layouts}
    fixed = {name: value for name, value in state.items() if name not in weights}
    rows = data.rows(slice(0, _ROWS))
    answers = asker.answers(weights, fixed, rows.inputs)
    felt = _felt(asker.score(answers, rows.targets)[0].float(), answers)
    total = {layout.name: torch.zeros_like(state[layout.name]) for layout in layouts}
    chance = torch.Generator().manual_seed(seed)
    for _ in range(_PASSES):
        signs = torch.randn(felt.shape, generator=chance).to(felt.device)
        slopes = torch.autograd.grad((signs * felt).sum(), list(weights.values()), retain_graph=True, allow_unused=True)
        for layout, slope in zip(layouts, slopes, strict=True):
            if slope is not None:
                total[layout.name] += (state[layout.name] * slope).square()
    return {layout.name: by_group(layout, total[layout.name].sqrt_()).cpu() for layout in layouts}


def _felt(loss: Tensor, answers: Tensor) -> Tensor:
    """What slopes are taken of, row by row; of a network so sure that no row has a loss, the answers themselves."""
    above = loss - loss.detach().min().clamp(max=0.0)  # a loss of one's own may be negative
    positive = above.detach()[above.detach() > 0]
    return (above + positive.median()).log() if len(positive) else answers.float()


def used_mask(use: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """The fewest groups that make up a share of all use, in the whole network.

    Shares are not taken layer by layer: a branch that a component never enters would then be part of it.

    >>> use = {"a": torch.tensor([8.0, 1.0, 0.0]), "b": torch.tensor([1.0, 90.0])}
    >>> {name: mask.tolist() for name, mask in used_mask(use, 0.97).items()}
    {'a': [True, False, False], 'b': [False, True]}
    """
    wanted = share * sum(float(one.double().sum()) for one in use.values())
    return highest(use, use, wanted)
