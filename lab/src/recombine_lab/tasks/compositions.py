"""Composition functions: how the images of the slots become one image.

Letters: n examples, K slots, C channels of a component, O channels of the whole, H rows, W columns.

Slot 0 stands in front. Functions of two images are folded from the back: the last two slots first, then the next one
in front of them. Nothing is written in place, so that each can be differentiated and mapped by `torch.func`.

No pixel depends on another one. So the Jacobian with respect to one slot's image is a small block (O, C) for each
pixel, which is what the rank of a support is judged by, and as many derivatives as the whole has channels give it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from recombine.base.checks import check_listed, check_whole
from recombine.base.errors import SettingError

COVERED = 0.5  # a hard front covers the pixels whose channels sum to more than this
_RGBA = 4


@dataclass(frozen=True)
class Composition:
    """A composition function, (n, K, C, H, W) -> (n, O, H, W).

    `channels` is the number that each component must have, where it is not free. `weights` is a short cut for
    components that are each one colour within a mask: from the masks (n, K, H, W) and the sums of the colours' channels
    (n, K, 1, 1) it gives what each colour is multiplied by in the whole (n, K, H, W).
    """

    compose: Callable[[Tensor], Tensor]
    channels: int | None = None
    weights: Callable[[Tensor, Tensor], Tensor] | None = None


def compose(name: str, components: Tensor) -> Tensor:
    """The images of the slots (n, K, C, H, W) as one image (n, O, H, W).

    >>> front, back = torch.zeros(3, 1, 1), torch.ones(3, 1, 1)
    >>> compose("soft_occlusion", torch.stack([front, back])[None]).flatten().tolist()
    [0.5, 0.5, 0.5]
    """
    return _checked(name, components).compose(components)


def jacobian(name: str, components: Tensor, slot: int) -> Tensor:
    """The blocks (n, H, W, O, C) of derivatives of each pixel with respect to the same pixel of one slot's image.

    >>> jacobian("soft_occlusion", torch.zeros(1, 2, 3, 1, 1), slot=1)[0, 0, 0].tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]
    """
    found = _checked(name, components)
    last = components.shape[1] - 1
    why = f"the components have {last + 1} slots"
    check_whole("slot", slot, least=0, most=last, why=why, instead=f"give one from 0, in front, to {last}")
    with torch.enable_grad():
        front = components[:, slot].detach().requires_grad_()
        whole = found.compose(torch.cat([components[:, :slot], front[:, None], components[:, slot + 1 :]], dim=1))
    # One channel of the whole asked in every pixel at once: what it hangs on there is a row of that pixel's block.
    asked = torch.eye(whole.shape[1], dtype=front.dtype, device=front.device)[:, :, None, None]
    rows = [torch.autograd.grad(whole, front, one.expand_as(whole), retain_graph=True)[0] for one in asked]
    return torch.stack(rows, dim=-1).movedim(1, -1)


def composition(name: str) -> Composition:
    """The composition function of a name.

    >>> composition("alpha").channels
    4
    """
    check_listed(name, COMPOSITIONS, f"no composition {name!r}", why="recombine knows none of that name")
    return COMPOSITIONS[name]


def composed_channels(name: str, *, slots: int, channels: int) -> int:
    """How many channels the whole has.

    >>> composed_channels("concatenation", slots=2, channels=3), composed_channels("alpha", slots=2, channels=4)
    (6, 3)
    """
    return int(compose(name, torch.empty(1, slots, channels, 1, 1, device="meta")).shape[1])


def _checked(name: str, components: Tensor) -> Composition:
    found = composition(name)
    if found.channels is not None and components.shape[2] != found.channels:
        raise SettingError(
            f"components of {components.shape[2]} channels",
            why=f"the composition {name!r} takes {found.channels}",
            instead=f"give components (n, slots, {found.channels}, rows, columns)",
        )
    return found


# -- the functions ---------------------------------------------------------------------------------------------------


def _soft_over(front: Tensor, back: Tensor) -> Tensor:
    """front σ(s) + back σ(-s), with s the sum of front's channels; written as a step from back towards front."""
    return torch.lerp(back, front, torch.sigmoid(front.sum(1, keepdim=True)))


def _hard_over(front: Tensor, back: Tensor) -> Tensor:
    return torch.where(front.sum(1, keepdim=True) > COVERED, front, back)


def _folded(over: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A function of two images as one of all slots, folded from the back."""

    def compose(components: Tensor) -> Tensor:
        whole, *in_front = reversed(components.unbind(1))
        return reduce(lambda back, front: over(front, back), in_front, whole)

    return compose


def _alpha(components: Tensor) -> Tensor:
    """All slots over opaque black."""
    whole = torch.zeros_like(components[:, 0, :3])
    for component in reversed(components.unbind(1)):
        whole = torch.lerp(whole, component[:, :3], component[:, 3:].clamp(0.0, 1.0))
    return whole


# -- their short cuts for components of one colour -------------------------------------------------------------------


def _soft_occlusion_weights(masks: Tensor, sums: Tensor) -> Tensor:
    return _let_through(masks, torch.sigmoid(masks[:, :-1] * sums[:, :-1]))


def _hard_occlusion_weights(masks: Tensor, sums: Tensor) -> Tensor:
    # 1 where it covers and 0 elsewhere; a comparison that becomes a number is three times slower.
    return _let_through(masks, torch.sign(masks[:, :-1] * sums[:, :-1] - COVERED).clamp(min=0))


def _let_through(masks: Tensor, gates: Tensor) -> Tensor:
    """Each mask times its own gate, times what the gates in front let through; the last may have no gate."""
    through, kept = torch.ones_like(masks[:, :1, :1, :1])[:, 0], []
    for gate in gates.unbind(1):
        kept.append(through * gate)
        through = through - kept[-1]
    weights = [*kept, through][: masks.shape[1]]
    return torch.stack([mask * weight for mask, weight in zip(masks.unbind(1), weights, strict=True)], dim=1)


COMPOSITIONS = {
    "add": Composition(lambda components: components.sum(1), weights=lambda masks, _: masks),
    "alpha": Composition(_alpha, _RGBA, weights=lambda masks, _: _let_through(torch.ones_like(masks), masks)),
    "concatenation": Composition(lambda components: components.flatten(1, 2)),
    "hard_occlusion": Composition(_folded(_hard_over), weights=_hard_occlusion_weights),
    "product": Composition(lambda components: reduce(torch.mul, components.unbind(1))),
    "soft_occlusion": Composition(_folded(_soft_over), weights=_soft_occlusion_weights),
}
"""Every composition function by its name; what is new is added here."""
