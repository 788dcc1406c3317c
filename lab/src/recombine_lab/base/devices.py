"""Arrays of recombine on a device, such as a GPU (the entry point `recombine.devices`)."""

import numpy as np
import numpy.typing as npt
import torch

from recombine.base.errors import SettingError


def on_device(array: npt.NDArray[np.float64], device: str) -> torch.Tensor:
    """A copy of an array on a device.

    >>> on_device(np.ones(2), "cpu").sum().item()
    2.0
    """
    try:
        return torch.as_tensor(array, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"device={device!r}",
            why=f"torch cannot use it: {str(error).splitlines()[0]}",
            instead="write device='cpu', or leave it out",
        ) from error
