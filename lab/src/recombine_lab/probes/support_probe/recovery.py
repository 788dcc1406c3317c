"""How well learned components match the true ones, up to what no data under this composition could tell.

Letters: n points, K slots, C channels, P sites.

What cannot be told: under addition a constant may go from one slot to another; under a product a factor may. The colour
of a clear pixel, and behind everything else how opaque a pixel is apart from its colour, are never seen under `alpha`;
nor is a front pixel that covers nothing, under hard occlusion. Directions that no seen point fixes to first order are
left out as well.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from recombine_lab.tasks.compositions import COVERED

LEFT_OUT = {
    "add": "up to a constant that goes from one slot to another",
    "product": "up to a factor that goes from one slot to another",
    "alpha": "where it is opaque; behind everything, only colour times opacity",
    "hard_occlusion": "where it covers anything",
}
"""What is left out of the comparison, in words."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """What is moved from slot to slot, found at seen points: `shift` and `factor` (K, C, P)."""

    shift: Tensor
    factor: Tensor

    def of(self, learned: Tensor) -> Tensor:
        """Learned outputs (n, K, C, P), in the true ones' terms."""
        return learned * self.factor + self.shift


def aligned(name: str | None, learned: Tensor, true: Tensor) -> Alignment:
    """What brings learned outputs nearest to the true ones without any change of the whole.

    >>> true = torch.rand(50, 2, 1, 1)
    >>> learned = true + torch.tensor([1.0, -1.0]).reshape(1, 2, 1, 1)
    >>> torch.allclose(aligned("add", learned, true).of(learned), true, atol=1e-5)
    True
    """
    shift, factor = torch.zeros_like(true[0]), torch.ones_like(true[0])
    if name == "add":
        apart = (true - learned).mean(0)
        shift = apart - apart.mean(0, keepdim=True)
    if name == "product":
        fitted = (true * learned).sum(0) / learned.square().sum(0).clamp(min=1e-12)
        # Factors of all slots multiply to 1, or the whole would change; signs may go in pairs.
        size = fitted.abs().clamp(min=1e-12)
        evened = size / size.log().mean(0, keepdim=True).exp()
        sign = torch.where(fitted < 0, -1.0, 1.0)
        paired = (sign.prod(0, keepdim=True) > 0).to(sign.dtype)
        factor = evened * (sign * paired + (1 - paired))
    return Alignment(shift, factor)


def visible(name: str | None, outputs: Tensor, slot: int) -> Tensor:
    """(n, C', P) What of one slot's outputs (n, K, C, P) can show at all."""
    own = outputs[:, slot]
    last = slot == outputs.shape[1] - 1
    if name == "alpha":
        opacity = own[:, 3:].clamp(0.0, 1.0)
        shown = own[:, :3] * opacity
        return shown if last else torch.cat([shown, opacity], 1)
    if name == "hard_occlusion" and not last:
        return own * (own.sum(1, keepdim=True) > COVERED)
    return own


@dataclass(frozen=True, eq=False)
class Mismatch:
    """(n,) The squared difference at each point, and what it is held against: the usual distance from the mean."""

    wrong: Tensor
    usual: float

    def recovered(self, rows: Tensor | None = None) -> float | None:
        """1 for the true component, 0 for one as far off as its mean would be; None where it never varies."""
        wrong = self.wrong if rows is None else self.wrong[rows]
        if self.usual <= 0 or not len(wrong):
            return None
        return 1 - float(wrong.mean()) / self.usual


def mismatch(name: str | None, learned: Tensor, true: Tensor, slot: int, free: Tensor | None) -> Mismatch:
    """Learned against true outputs (n, K, C, P), aligned; `free` (n, P, C, C) is what no seen point fixes."""
    one, other = (visible(name, outputs, slot) for outputs in (learned, true))
    apart, around = one - other, other - other.mean(0, keepdim=True)
    if free is not None and name != "alpha":
        kept = torch.eye(free.shape[-1], dtype=free.dtype) - free
        apart, around = (torch.einsum("npcd,ndp->ncp", kept, each) for each in (apart, around))
    return Mismatch(apart.square().sum((1, 2)), float(around.square().sum((1, 2)).mean()))


def rescaled(name: str | None, seen: tuple[Tensor, Tensor], asked: tuple[Tensor, Tensor], slot: int) -> Mismatch:
    """The mismatch that a scale of the slot and a shift of each of its outputs, found at seen points, cannot mend.

    Without an anchor such changes can be made up for in other slots, nearly or exactly: a network may well learn them.
    """
    one, other = (visible(name, outputs, slot) for outputs in seen)
    centred, wanted = one - one.mean(0), other - other.mean(0)
    scale = (centred * wanted).sum() / centred.square().sum().clamp(min=1e-30)
    shift = other.mean(0) - scale * one.mean(0)
    learned, true = (visible(name, outputs, slot) for outputs in asked)
    around = true - true.mean(0, keepdim=True)
    return Mismatch((learned * scale + shift - true).square().sum((1, 2)), float(around.square().sum((1, 2)).mean()))


def exchanged(seen: tuple[Tensor, Tensor], asked: Tensor) -> Tensor:
    """Learned outputs (n, 2, C, P), less what soft occlusion lets two slots hand to each other unnoticed.

    If the back gains a constant u at a pixel, whose channels sum to 0, and the front loses u exp(-s) there, with s the
    sum of its own channels, no picture changes, whatever the support. So no data can fix u; here it is chosen such that
    the outputs at seen points, learned and true, come nearest to each other.

    >>> from recombine_lab.tasks.compositions import compose
    >>> learned, true = torch.rand(50, 2, 3, 4), torch.rand(50, 2, 3, 4)
    >>> moved = exchanged((learned, true), learned)
    >>> whole = [compose("soft_occlusion", one[..., None]) for one in (learned, moved)]
    >>> torch.allclose(*whole, atol=1e-5)
    True
    """
    learned, true = seen
    faded = torch.exp(-learned[:, 0].sum(1, keepdim=True))
    apart = true - learned
    wanted = (apart[:, 1] - faded * apart[:, 0]).sum(0) / (1 + faded.square()).sum(0)
    gained = wanted - wanted.mean(0, keepdim=True)
    lost = gained * torch.exp(-asked[:, 0].sum(1, keepdim=True))
    return torch.stack([asked[:, 0] - lost, asked[:, 1] + gained], 1)
