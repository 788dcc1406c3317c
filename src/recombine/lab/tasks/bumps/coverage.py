"""Output coverage: could the training images, by themselves, make up the unseen ones? No model is needed to ask."""

from dataclasses import dataclass

import torch
from torch import Tensor

from recombine.errors import TableError

LIT = 0.01  # a pixel that differs by more than this from blank in some training image is lit
LEAST_SINGULAR = 1e-3  # a direction in which training has less than this share of its main one is not its own


@dataclass(frozen=True)
class Coverage:
    """How much of the unseen images lies where training has been.

    unlit    share of the pixels that no training image lights
    dark     share of the unseen images' energy on those pixels
    spanned  share of the unseen images' energy within the span of the training images
    """

    unlit: float
    dark: float
    spanned: float


def output_coverage(seen: Tensor, unseen: Tensor, *, blank: float = 0.0) -> Coverage:
    """What the training images (n, …) leave unlit of the unseen ones (m, …), both measured from `blank`.

    >>> output_coverage(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5]]))
    Coverage(unlit=0.5, dark=0.5, spanned=0.5)
    """
    shown, asked = ((images.flatten(1) - blank).to(torch.float64) for images in (seen, unseen))
    energy = asked.square().sum()
    if not len(shown) or not energy > 0:
        raise TableError(
            f"output coverage of {len(asked)} unseen by {len(shown)} seen images",
            why="there must be seen images, and unseen ones that are not blank",
            instead="give images of both sides; `blank` is the value of a pixel with nothing on it",
        )
    dark = ~(shown.abs() > LIT).any(0)
    squares, directions = torch.linalg.eigh(shown.mT @ shown)
    held = squares.clamp(min=0).sqrt()  # the singular values of the training images, the largest last
    inside = (asked @ directions[:, held > LEAST_SINGULAR * held[-1]]).square().sum()
    found = (dark.to(torch.float64).mean(), asked[:, dark].square().sum() / energy, inside / energy)
    return Coverage(*(float(share) for share in found))
