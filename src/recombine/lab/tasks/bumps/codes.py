"""How a coordinate is told to a model: as one unit of many, as a little bump over units, or as a number.

Letters: n examples, N values of a coordinate.
"""

from typing import Literal

import torch
from torch import Tensor

Code = Literal["onehot", "bump", "ramp"]
CODES: tuple[Code, ...] = ("onehot", "bump", "ramp")


def profile(values: Tensor, *, size: int, sigma: float, shift: float = 0.0) -> Tensor:
    """A Gaussian around each value, at the places shift, shift + 1, …: (n,) -> (n, N).

    >>> profile(torch.tensor([1]), size=3, sigma=1.0).round(decimals=1).tolist()
    [[0.6000000238418579, 1.0, 0.6000000238418579]]
    """
    places = torch.arange(size, dtype=torch.float32, device=values.device) + shift
    return torch.exp((places - values[:, None]).square() / (-2 * sigma**2))


def encode(values: Tensor, *, code: Code, size: int, sigma: float) -> Tensor:
    """One coordinate's values as inputs, (n,) -> (n, N), or (n, 1) for a ramp; -1 is a coordinate that is left out.

    A coordinate that is left out lights no unit. On a ramp, which has no unit to spare, it stands a whole frame before
    the frame.

    >>> encode(torch.tensor([1, -1]), code="onehot", size=3, sigma=1.0).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    >>> encode(torch.tensor([1, -1]), code="ramp", size=3, sigma=1.0).tolist()
    [[1.0], [-3.0]]
    """
    given = (values >= 0)[:, None]
    if code == "ramp":
        return torch.where(given, values[:, None].to(torch.float32), -float(size))
    if code == "onehot":
        return (values[:, None] == torch.arange(size, device=values.device)).to(torch.float32)
    return profile(values, size=size, sigma=sigma) * given
