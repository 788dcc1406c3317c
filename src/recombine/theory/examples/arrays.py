"""Arrays in memory or on a device: the same code for NumPy and for torch, which is loaded when it is asked for.

Legend used in this room: n training rows, m other rows, d inputs, q outputs, k factors, c combinations.
"""

from importlib import import_module
from typing import Any

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, TableError
from recombine.extras import needed
from recombine.theory.learner import SHARE, installed

_NUMBER = 8  # bytes
_AT_ONCE = 4
"""Matrices that stand beside the kernels: products, angles, one on the way, and a factor. Asked rows double it all."""


def placed(array: Numbers, device: str | None) -> Any:
    """The array itself, or a copy of it on a device, by torch."""
    if device is None:
        return array
    torch = needed("torch", f"device={device!r}", extra="train", instead=", or leave device out")
    try:
        return torch.as_tensor(array, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"device={device!r}",
            why=f"torch cannot use it: {str(error).splitlines()[0]}",
            instead="write device='cpu', or leave it out",
        ) from error


def library(array: Any) -> Any:
    """NumPy, or torch for its tensors: the names that are used here are the same in both."""
    return np if isinstance(array, np.ndarray) else import_module("torch")


def fetched(array: Any) -> Numbers:
    """Back to NumPy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def most_rows(*, kernels: int = 1) -> int:
    """Rows whose kernels fit into half of the memory."""
    return int((SHARE * installed() / (_NUMBER * (_AT_ONCE + kernels) * 2)) ** 0.5)


def refuse_too_large(rows: int, *, kernels: int = 1) -> None:
    """Refuse kernels that would not fit into half of the memory, before any of them is written."""
    if rows > most_rows(kernels=kernels):
        raise TableError(
            f"a kernel of {rows:,} rows",
            why=f"it would take about {gigabytes(rows, kernels=kernels):,.1f} GB of memory, "
            f"and may take {SHARE * installed() / 1e9:,.1f} GB here",
            instead=f"take fewer rows, drawn within each combination: "
            f"rows={max(most_rows(kernels=kernels) // 1000 * 1000, 1000)} (--rows)",
        )


def gigabytes(rows: int, *, kernels: int = 1) -> float:
    """What kernels of so many rows would take."""
    return _NUMBER * (_AT_ONCE + kernels) * 2 * float(rows) ** 2 / 1e9
