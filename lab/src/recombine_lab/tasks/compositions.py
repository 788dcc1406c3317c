"""Composition functions: how the images of the slots become one image.

Letters: n examples, K slots, C channels of a component, O channels of the whole, H rows, W columns.

Slot 0 stands in front. Functions of two images are folded from the back: the last two slots first, then the next one
in front of them. Nothing is written in place, so that each can be differentiated and mapped by `torch.func`.

Each comes with its Jacobian with respect to one slot's image. No pixel depends on another one, so the Jacobian is a
small block (O, C) for each pixel, which is what the rank of a support is judged by.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from recombine.base.checks import check_whole
from recombine.base.errors import SettingError, nearest

COVERED = 0.5  # a hard front covers the pixels whose channels sum to more than this
_RGBA = 4


@dataclass(frozen=True)
class Composition:
    """A composition function, (n, K, C, H, W) -> (n, O, H, W), and its blocks for one slot, (n, H, W, O, C).

    `channels` is the number that each component must have, where it is not free. `weights` is a short cut for
    components that are each one colour within a mask: from the masks (n, K, H, W) and the sums of the colours' channels
    (n, K, 1, 1) it gives what each colour is multiplied by in the whole (n, K, H, W).
    """

    compose: Callable[[Tensor], Tensor]
    jacobian: Callable[[Tensor, int], Tensor]
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
    return found.jacobian(components, slot)


def composition(name: str) -> Composition:
    """The composition function of a name.

    >>> composition("alpha").channels
    4
    """
    if name not in COMPOSITIONS:
        raise SettingError(
            f"no composition {name!r}",
            why="recombine knows none of that name",
            instead=nearest(str(name), COMPOSITIONS),
        )
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


def _add(components: Tensor) -> Tensor:
    return components.sum(1)


def _product(components: Tensor) -> Tensor:
    return reduce(torch.mul, components.unbind(1))


def _concatenation(components: Tensor) -> Tensor:
    return components.flatten(1, 2)


def _soft_occlusion(components: Tensor) -> Tensor:
    return _behind(components, 0, _soft_over)


def _hard_occlusion(components: Tensor) -> Tensor:
    return _behind(components, 0, _hard_over)


def _alpha(components: Tensor) -> Tensor:
    return _alpha_behind(components, 0)


def _soft_over(front: Tensor, back: Tensor) -> Tensor:
    """front σ(s) + back σ(-s), with s the sum of front's channels; written as a step from back towards front."""
    return torch.lerp(back, front, torch.sigmoid(front.sum(1, keepdim=True)))


def _hard_over(front: Tensor, back: Tensor) -> Tensor:
    return torch.where(front.sum(1, keepdim=True) > COVERED, front, back)


def _behind(components: Tensor, first: int, over: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The slots from `first` on, folded from the back."""
    whole, *in_front = reversed(components[:, first:].unbind(1))
    return reduce(lambda back, front: over(front, back), in_front, whole)


def _alpha_behind(components: Tensor, first: int) -> Tensor:
    """The slots from `first` on over opaque black."""
    black = torch.zeros_like(components[:, 0, :3])
    for component in reversed(components[:, first:].unbind(1)):
        black = torch.lerp(black, component[:, :3], _opacity(component))
    return black


def _opacity(component: Tensor) -> Tensor:
    return component[:, 3:].clamp(0.0, 1.0)


# -- their short cuts for components of one colour -------------------------------------------------------------------


def _add_weights(masks: Tensor, sums: Tensor) -> Tensor:  # noqa: ARG001 - the same for every colour
    return masks


def _soft_occlusion_weights(masks: Tensor, sums: Tensor) -> Tensor:
    return _let_through(masks, torch.sigmoid(masks[:, :-1] * sums[:, :-1]))


def _hard_occlusion_weights(masks: Tensor, sums: Tensor) -> Tensor:
    # 1 where it covers and 0 elsewhere; a comparison that becomes a number is three times slower.
    return _let_through(masks, torch.sign(masks[:, :-1] * sums[:, :-1] - COVERED).clamp(min=0))


def _alpha_weights(masks: Tensor, sums: Tensor) -> Tensor:  # noqa: ARG001 - the same for every colour
    return _let_through(torch.ones_like(masks), masks)


def _let_through(masks: Tensor, gates: Tensor) -> Tensor:
    """Each mask times its own gate, times what the gates in front let through; the last may have no gate."""
    through, kept = torch.ones_like(masks[:, :1, :1, :1])[:, 0], []
    for gate in gates.unbind(1):
        kept.append(through * gate)
        through = through - kept[-1]
    weights = [*kept, through][: masks.shape[1]]
    return torch.stack([mask * weight for mask, weight in zip(masks.unbind(1), weights, strict=True)], dim=1)


# -- their Jacobians -------------------------------------------------------------------------------------------------


def _scaled_identity(weights: Tensor) -> Tensor:
    """Weights of each pixel and channel (n, C, H, W) as diagonal blocks (n, H, W, C, C)."""
    return torch.diag_embed(weights.movedim(1, -1))


def _add_jacobian(components: Tensor, slot: int) -> Tensor:
    return _scaled_identity(torch.ones_like(components[:, slot]))


def _product_jacobian(components: Tensor, slot: int) -> Tensor:
    others = [component for k, component in enumerate(components.unbind(1)) if k != slot]
    return _scaled_identity(reduce(torch.mul, others, torch.ones_like(components[:, slot])))


def _concatenation_jacobian(components: Tensor, slot: int) -> Tensor:
    blocks = [torch.ones_like(component) * (k == slot) for k, component in enumerate(components.unbind(1))]
    return torch.cat([_scaled_identity(block) for block in blocks], dim=-2)


def _soft_occlusion_jacobian(components: Tensor, slot: int) -> Tensor:
    """Let through by the slots in front; then g I + g (1 - g) (a - b) 1ᵀ, or I for the last, which has no gate."""
    gates = torch.sigmoid(components.sum(2, keepdim=True))
    through = reduce(torch.mul, (1 - gates[:, :slot]).unbind(1), torch.ones_like(gates[:, 0]))
    front = components[:, slot]
    if slot == components.shape[1] - 1:
        return _scaled_identity(through * torch.ones_like(front))
    gate = gates[:, slot]
    pull = through * gate * (1 - gate) * (front - _behind(components, slot + 1, _soft_over))
    own = _scaled_identity(through * gate * torch.ones_like(front))
    return own + pull.movedim(1, -1)[..., None] * torch.ones_like(own)


def _hard_occlusion_jacobian(components: Tensor, slot: int) -> Tensor:
    covered = (components.sum(2, keepdim=True) > COVERED).to(components.dtype)
    last = slot == components.shape[1] - 1
    own = torch.ones_like(covered[:, slot]) if last else covered[:, slot]
    visible = reduce(torch.mul, (1 - covered[:, :slot]).unbind(1), own)
    return _scaled_identity(visible * torch.ones_like(components[:, slot]))


def _alpha_jacobian(components: Tensor, slot: int) -> Tensor:
    """Let through by the slots in front; then [alpha I, a - b], with b all that lies behind, already composed."""
    clear = [1 - _opacity(component) for component in components[:, :slot].unbind(1)]
    front = components[:, slot]
    through = reduce(torch.mul, clear, torch.ones_like(front[:, :1]))
    colour = _scaled_identity(through * _opacity(front) * torch.ones_like(front[:, :3]))
    free = ((front[:, 3:] >= 0) & (front[:, 3:] <= 1)).to(front.dtype)  # a clamped alpha no longer moves anything
    opacity = through * free * (front[:, :3] - _alpha_behind(components, slot + 1))
    return torch.cat([colour, opacity.movedim(1, -1)[..., None]], dim=-1)


COMPOSITIONS = {
    "add": Composition(_add, _add_jacobian, weights=_add_weights),
    "alpha": Composition(_alpha, _alpha_jacobian, channels=_RGBA, weights=_alpha_weights),
    "concatenation": Composition(_concatenation, _concatenation_jacobian),
    "hard_occlusion": Composition(_hard_occlusion, _hard_occlusion_jacobian, weights=_hard_occlusion_weights),
    "product": Composition(_product, _product_jacobian),
    "soft_occlusion": Composition(_soft_occlusion, _soft_occlusion_jacobian, weights=_soft_occlusion_weights),
}
"""Every composition function by its name; what is new is added here."""
